#!/usr/bin/env python3
"""Compare stations that take turns with others, in generated networks: docs/models/turns.md.

python3 tools/compare_turns.py --out DIR                     100 networks for validation
python3 tools/compare_turns.py --out DIR --seeds 1001-1130   other networks
python3 tools/compare_turns.py --out DIR --ablation          parts of the rule left out or changed

Each network runs with plain queues, with `mac.turns`, with FQ-CoDel, and with both. The score of a network
is the mean over its flows of ln(1 + goodput in kb/s), as in `compare_networks.py`. Differences are those
from plain queues, paired over networks, with 95% intervals.

DIR keeps finished runs, so that the same command goes on where it was interrupted. Run it in the
environment that has the package: `.venv/bin/python` after `make build`.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import Any

from compare_networks import Score, parser_of, percent, print_table, score, seeds
from compare_settings import mac, run
from multihop.journal import Journal
from multihop.progress import Progress
from multihop.runs import Where, complete
from multihop.stats import interval
from multihop_papers.gauntlet.generated import Network, network

PLAIN = {"discipline": "drop-tail", "turns": False}
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "plain": PLAIN,
    "turns": {**PLAIN, "turns": True},
    "FQ-CoDel": {**PLAIN, "discipline": "fq-codel"},
    "FQ-CoDel and turns": {"discipline": "fq-codel", "turns": True},
}
"""Keys of `[mac]` of each variant, the base first."""
ABLATION: Mapping[str, Mapping[str, Any]] = {
    "plain": PLAIN,
    "turns": {**PLAIN, "turns": True},
    **{
        title: {**PLAIN, "turns": keys}
        for title, keys in {
            "requests are not passed on": {"pass_on": 0.0},
            "airtimes are not compared": {"ratio": 0.0},
            "stations that wait request no turns": {"patience": 1000.0},
            "pauses of up to 5 ms": {"longest": 0.005},
            "pauses of up to 50 ms": {"longest": 0.05},
        }.items()
    },
}
"""Variants without a part of the rule, or with another constant."""
TRANSPORTS = ("mesh", "cubic")


def main() -> int:
    """Run what is missing, and print the tables."""
    options = parse()
    networks = [network(seed) for seed in options.seeds]
    variants = ABLATION if options.ablation else VARIANTS
    transports = TRANSPORTS[:1] if options.ablation else TRANSPORTS
    runs = {
        (transport, title, place): run(drawn, transport, partial(mac, **keys))
        for transport in transports
        for title, keys in variants.items()
        for place, drawn in enumerate(networks)
    }
    journal = Journal(options.out)
    complete(list(runs.values()), journal, Where(options.jobs, options.on), Progress("networks"))
    scores = {key: score(networks[key[2]], journal.result(found.key)) for key, found in runs.items()}
    for heading, places in groups(networks).items():
        print(f"\n{heading}: {len(places)} networks")
        print_table(
            [
                row(
                    f"`{transport}`, {title}",
                    *([scores[transport, one, place] for place in places] for one in (title, "plain")),
                )
                for transport in transports
                for title in variants
            ]
        )
    return 0


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = parser_of(__doc__)
    parser.add_argument(
        "--seeds", type=seeds, default=range(2001, 2101), metavar="A-B", help="default 2001-2100"
    )
    parser.add_argument("--ablation", action="store_true", help="variants of the rule, with mesh alone")
    return parser.parse_args()


def groups(networks: Sequence[Network]) -> dict[str, list[int]]:
    """Places of the networks of each table."""
    flows = [len(drawn.judged) for drawn in networks]
    return {
        "all networks": list(range(len(networks))),
        "one flow": [place for place, count in enumerate(flows) if count == 1],
        "several flows": [place for place, count in enumerate(flows) if count > 1],
        "four flows or more": [place for place, count in enumerate(flows) if count > 3],
    }


def row(title: str, found: Sequence[Score], plain: Sequence[Score]) -> dict[str, str]:
    """The row of a variant beside plain queues."""
    gained = interval([one.utility - other.utility for one, other in zip(found, plain, strict=True)])
    pairs = list(zip(found, plain, strict=True))
    delays = [math.log(one.delay / other.delay) for one, other in pairs if one.delay and other.delay]
    sums = [math.log1p(one.goodput) - math.log1p(other.goodput) for one, other in pairs]
    return {
        "variant": title,
        "score": f"{fmean(one.utility for one in found):.3f}",
        "difference": "-" if found == plain else f"{gained.mean:+.3f} ± {gained.half:.3f}",
        "goodput, geometric mean": f"{100 * math.expm1(gained.mean):+.0f}%",
        "sum": f"{100 * math.expm1(fmean(sums)):+.0f}%",
        "Jain's index over 2 s": f"{fmean(one.jain for one in found):.3f}",
        "p95 of delay": f"{100 * math.expm1(fmean(delays)):+.0f}%",
        "better, worse by 0.02": f"{percent(one.utility > other.utility + 0.02 for one, other in pairs)}, "
        f"{percent(one.utility < other.utility - 0.02 for one, other in pairs)}",
    }


if __name__ == "__main__":
    sys.exit(main())
