"""Tests of the comparison of stations that take turns."""

from __future__ import annotations

from functools import partial

import compare_turns
from compare_networks import Score
from compare_settings import mac, run
from multihop_papers.gauntlet.generated import network


def test_every_variant_is_a_valid_network_of_its_own() -> None:
    """Every variant is a run that differs from all others, and the two tables share two of them."""
    drawn = network(2003)
    keys = {
        run(drawn, "mesh", partial(mac, **found)).key
        for found in (*compare_turns.VARIANTS.values(), *compare_turns.ABLATION.values())
    }
    assert len(keys) == len(compare_turns.VARIANTS) + len(compare_turns.ABLATION) - 2


def test_a_row_compares_with_plain_queues() -> None:
    """Differences of scores are means over networks, those of sums and delays geometric means."""
    plain = [Score(2.0, 99.0, 10.0, 0.5), Score(4.0, 99.0, None, 0.7)]
    found = [Score(2.5, 49.0, 20.0, 0.9), Score(3.99, 399.0, 5.0, 0.9)]
    assert compare_turns.row("turns", found, plain) == {
        "variant": "turns",
        "score": "3.245",
        "difference": "+0.245 ± 3.240",
        "goodput, geometric mean": "+28%",
        "sum": "+41%",
        "Jain's index over 2 s": "0.900",
        "p95 of delay": "+100%",
        "better, worse by 0.02": "50%, 0%",
    }
    assert compare_turns.row("plain", plain, plain)["difference"] == "-"
