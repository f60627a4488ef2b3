"""Tests of the comparison of transports in generated networks."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence

import pytest

import compare_networks
from compare_networks import Score
from multihop_papers.gauntlet.generated import network


def scores(goodput: Sequence[float]) -> list[Score]:
    """Scores of a transport in networks of one flow with this goodput, kb/s."""
    return [Score(math.log1p(kbps), kbps, 10.0, 1.0) for kbps in goodput]


def test_networks_that_judge_follow_from_a_commit() -> None:
    """A hash gives 200 seeds; what is no hash is named."""
    seeds = compare_networks.judging("0faffae5651299d1efcfccc4392ead2add89c54e")
    assert (seeds.start, len(seeds)) == (1_000_000 + 0x0FAFFAE5, 200)
    assert compare_networks.judging("0faffae5") == seeds
    with pytest.raises(argparse.ArgumentTypeError, match="found main, allowed: 8 to 40 digits"):
        compare_networks.judging("main")


def test_goodput_is_compared_with_the_optimum_of_networks_that_have_one() -> None:
    """The median over the networks with an optimum; the best transport is first."""
    found = {"cubic": scores([100.0, 999.0, 300.0, 400.0]), "mesh": scores([500.0, 0.0, 800.0, 900.0])}
    rows = compare_networks.beside_optimum({0: 1000.0, 2: 1000.0, 3: 1000.0}, found)
    assert [(row["transport"], row["median share of the optimum"]) for row in rows] == [
        ("mesh", "0.80"),
        ("cubic", "0.30"),
    ]
    assert {row["networks"] for row in rows} == {"3"}


def test_the_best_transport_of_each_network_counts() -> None:
    """`standings` counts networks in which a transport is best, and in which it is close to the best."""
    rows = compare_networks.standings({"mesh": scores([100.0, 100.0]), "cubic": scores([104.0, 50.0])})
    assert [(row["transport"], row["best in"], row["at most 0.05 below the best"]) for row in rows] == [
        ("mesh", "50%", "100%"),
        ("cubic", "50%", "50%"),
    ]


def test_a_loss_is_divided_by_kinds_of_networks_and_by_starving_flows() -> None:
    """A flow that has a hundredth of its goodput starves; one that has half of it does not."""

    def reached(*flows: float) -> Score:
        return Score(sum(math.log1p(kbps) for kbps in flows) / len(flows), sum(flows), 10.0, 1.0, flows)

    found = {"mesh": [reached(99.0, 4999.0), reached(400.0, 400.0)], "elfn": [reached(9999.0, 9999.0)] * 2}
    rows = compare_networks.losses([network(1020), network(1026)], found, "mesh")
    every = next(row for row in rows if row["networks"] == "all")
    assert (every["number"], every["loss above 0.1"]) == ("2", "100%")
    (wired,) = (row for row in rows if row["networks"] == "wire: yes")
    assert wired["number"] == "1"
    assert (wired["mean loss"], wired["of flows that starve"], wired["of other flows"]) == (
        "2.649",
        "2.303",
        "0.347",
    )


def test_further_runs_tell_luck_from_what_lasts() -> None:
    """A network counts as ahead or behind beyond the interval only if the further runs agree."""
    found = [([5.0, 5.1], [4.0, 4.1]), ([5.0, 7.0], [5.5, 5.5]), ([3.0, 3.1], [4.0, 4.1])]
    every, *radios = compare_networks.chance([network(seed) for seed in (1001, 1002, 1003)], found)
    assert (every["networks"], every["number"]) == ("all", "3")
    assert every["mean at least that of the other"] == "67%"
    assert every["ahead beyond the interval"] == every["behind beyond the interval"] == "33%"
    assert every["median deviation within a network"] == "0.07"
    assert sum(int(row["number"]) for row in radios) == 3
