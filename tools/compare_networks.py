#!/usr/bin/env python3
"""Compare transports in generated networks, each with one run of each transport.

python3 tools/compare_networks.py --out DIR                    all transports, 60 networks for training
python3 tools/compare_networks.py --out DIR --seeds 2001-2100 --transports mesh cubic bbr
python3 tools/compare_networks.py --out DIR --radios n ac ax   networks of these radios alone
python3 tools/compare_networks.py --out DIR --worst 10         also networks where the first one loses most
python3 tools/compare_networks.py --out DIR --losses           also its losses by kind of network
python3 tools/compare_networks.py --out DIR --commit HASH      200 networks that judge the rule of a commit
python3 tools/compare_networks.py --out DIR --optimum          also goodput relative to the optimum
python3 tools/compare_networks.py --out DIR --again 4          how much of the result is chance
python3 tools/compare_networks.py --out DIR --figure           and docs/which-transport.svg

With `--again N` the first transport and the best other one of each network run N times more, with other
seeds: the best of many transports is often the one that had luck in this run.

`multihop_papers.gauntlet.generated` draws the networks. Seeds 1001 to 2000 are for the choice of
constants, 2001 to 3000 confirm or reject a choice, 3001 to 4000 explain losses (`mesh_losses.py`). The score
of a network is the mean over its flows of ln(1 + goodput in kb/s); voice and background traffic do not
count. Differences are those from the first transport, paired over networks, with 95% intervals. A
transport is a name, or a table in JSON:
'{"kind": "tpa", "cwnd_max": 12}'. `cubic-linux` and `bbr-linux` have Linux's preset.

DIR keeps finished runs, so that the same command goes on where it was interrupted. Run it in the
environment that has the package: `.venv/bin/python` after `make build`.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any

import networks_figure
from multihop.journal import Journal
from multihop.progress import Progress
from multihop.results import Result
from multihop.runs import Run, Where, complete
from multihop.scenario import request
from multihop.stats import interval
from multihop_papers.gauntlet import optimum
from multihop_papers.gauntlet.generated import Network, judging_seeds, network
from multihop_papers.papers.across import EVERY

LINUX = "linux-6"
"""The preset of Linux's TCP."""
ALL = (
    "mesh",
    *(name for name in EVERY if name != "mesh"),
    "cubic",
    "vegas",
    "westwood",
    "bbr",
    "bbr3",
    "newreno+dyn",
)
PRESETS: Mapping[str, Mapping[str, str]] = {
    f"{kind}-linux": {"kind": kind, "preset": LINUX} for kind in ("cubic", "bbr")
}
"""Names of this command for transports with Linux's preset."""
STARVED = 0.25
"""A flow starves if it has less than this share of the goodput that another transport gives it."""
LARGE_LOSS = 0.1
"""Loss of score that counts as large."""
FAIR = 0.8
"""Jain's index above which the goodput of a transport counts as reached fairly."""
JUDGING = 200
"""Networks that judge the rule of a commit."""


@dataclass(frozen=True)
class Score:
    """Values that a transport reaches in one network."""

    utility: float
    """Mean over flows of ln(1 + goodput in kb/s)."""
    goodput: float
    """Sum over flows, kb/s."""
    delay: float | None
    """95% quantile of the one-way delay, ms."""
    jain: float
    """Jain's index over 2 s."""
    flows: Sequence[float] = ()
    """Goodput of each flow, kb/s."""


def main() -> int:
    """Run what is missing, and print the tables."""
    options = parse()
    networks = [network(seed) for seed in options.seeds]
    networks = [one for one in networks if not options.radios or one.radio in options.radios]
    journal = Journal(options.out)
    runs = {
        (place, name): run(one, name) for place, one in enumerate(networks) for name in options.transports
    }
    where = Where(options.jobs, options.on)
    complete(list(runs.values()), journal, where, Progress("networks"))
    scores = {
        name: [score(one, journal.result(runs[place, name].key)) for place, one in enumerate(networks)]
        for name in options.transports
    }
    for title, places in by_radio(networks).items():
        print(f"\n{title}: {len(places)} networks")
        print_table(standings({name: [found[p] for p in places] for name, found in scores.items()}))
    if options.optimum:
        print_table(beside_optimum(optima(networks, journal, where), scores))
    if options.figure:
        utilities = {name: [one.utility for one in found] for name, found in scores.items()}
        print(networks_figure.write([one.radio for one in networks], utilities))
    if options.losses:
        print_table(losses(networks, scores, options.transports[0]))
    if options.again:
        print_table(chance(networks, again(networks, scores, options.again, journal, where)))
    if options.worst:
        print_table(worst(networks, scores, options.transports[0], options.worst))
    return 0


def optima(networks: Sequence[Network], journal: Journal, where: Where) -> dict[int, float]:
    """The optimum of each network that has one, by its place in the list, kb/s."""
    probes = {
        place: {links: Run.of(request(probe, {})) for links, probe in optimum.probes(one).items()}
        for place, one in enumerate(networks)
        if optimum.is_known(one)
    }
    runs = [run for found in probes.values() for run in found.values()]
    complete(runs, journal, where, Progress("links"))
    found = {}
    for place, links in probes.items():
        goodput = {
            chosen: [flow["goodput_kbps"] for flow in journal.result(run.key).data["flows"]]
            for chosen, run in links.items()
        }
        found[place] = optimum.optimum(networks[place], goodput)
    # Fixed traffic may leave no time.
    return {place: best for place, best in found.items() if best > 0.0}


def beside_optimum(best: Mapping[int, float], scores: Mapping[str, Sequence[Score]]) -> list[dict[str, str]]:
    """The geometric mean of the goodput of flows, relative to its optimum: a row for each transport."""
    rows = []
    for name, found in scores.items():
        shares = sorted(math.expm1(found[place].utility) / most for place, most in best.items())
        quarter = len(shares) // 4
        rows.append(
            {
                "transport": name,
                "networks": str(len(shares)),
                "median share of the optimum": f"{median(shares):.2f}",
                "middle half": f"{shares[quarter]:.2f} to {shares[-quarter - 1]:.2f}",
            }
        )
    return sorted(rows, key=lambda row: row["median share of the optimum"], reverse=True)


def parser_of(about: str | None) -> argparse.ArgumentParser:
    """A parser with the options of every comparison of generated networks."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder of finished runs")
    parser.add_argument(
        "--jobs", type=int, metavar="N", help="parallel runs; default: one for each processor"
    )
    parser.add_argument("--on", metavar="ADDRESS", help="Dask scheduler to run on")
    return parser


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = parser_of(__doc__)
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument(
        "--seeds", type=seeds, default=range(1001, 1061), metavar="A-B", help="default 1001-1060"
    )
    chosen.add_argument(
        "--commit", dest="seeds", type=judging, metavar="HASH", help="networks that follow from a commit"
    )
    parser.add_argument(
        "--transports", nargs="+", default=list(ALL), metavar="NAME", help="default: all built-in ones"
    )
    parser.add_argument("--radios", nargs="+", choices=("b", "g", "n", "ac", "ax"), help="default: all")
    parser.add_argument("--worst", type=int, default=0, metavar="N", help="networks to list; default 0")
    parser.add_argument(
        "--losses", action="store_true", help="losses of the first transport by kind of network"
    )
    parser.add_argument(
        "--optimum", action="store_true", help="compare with the optimum where rates and routes are fixed"
    )
    parser.add_argument(
        "--again",
        type=int,
        default=0,
        metavar="N",
        help="further runs, at least 2, of the first and the best",
    )
    parser.add_argument("--figure", action="store_true", help="draw docs/which-transport.svg")
    return parser.parse_args()


def seeds(text: str) -> range:
    """The range `A-B`, both included."""
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def judging(commit: str) -> range:
    """Seeds of the networks that judge the rule of a commit."""
    if re.fullmatch("[0-9a-f]{8,40}", commit) is None:
        raise argparse.ArgumentTypeError(f"found {commit}, allowed: 8 to 40 digits of a commit's hash")
    return judging_seeds(commit, JUDGING)


def run(drawn: Network, name: str, seed: int | None = None) -> Run:
    """The run of a network with this transport, and with this seed instead of that of the network."""
    transport = json.loads(name) if name.startswith("{") else PRESETS.get(name, name)
    flows = [
        {**flow, "transport": transport} if place in drawn.judged else flow
        for place, flow in enumerate(drawn.scenario["flow"])
    ]
    return Run.of(request({**drawn.scenario, "flow": flows, "seed": seed or drawn.seed}, {}))


def score(drawn: Network, result: Result) -> Score:
    """Score of a run: its values for the flows that are judged."""
    flows: Sequence[Mapping[str, Any]] = result.data["flows"]
    reached = [flows[place]["goodput_kbps"] for place in drawn.judged]
    totals = result.data["totals"]
    return Score(
        fmean(math.log1p(kbps) for kbps in reached),
        math.fsum(reached),
        (totals["delay_ms"] or {}).get("p95"),
        totals["jain_instant"] or 0.0,
        reached,
    )


def standings(scores: Mapping[str, Sequence[Score]]) -> list[dict[str, str]]:
    """A row for each transport, the best first."""
    first = next(iter(scores.values()))
    best = [max(one.utility for one in column) for column in zip(*scores.values(), strict=True)]
    fairest = [
        max((one.goodput for one in column if one.jain > FAIR), default=0.0)
        for column in zip(*scores.values(), strict=True)
    ]
    rows = []
    for name, found in sorted(scores.items(), key=lambda item: -fmean(one.utility for one in item[1])):
        gaps = [most - one.utility for one, most in zip(found, best, strict=True)]
        delays = [
            one.delay / other.delay
            for one, other in zip(found, first, strict=True)
            if one.delay and other.delay
        ]
        rows.append(
            {
                "transport": name,
                "score": f"{fmean(one.utility for one in found):.3f}",
                "difference": difference(found, first),
                "best in": percent(gap <= 0.0 for gap in gaps),
                "at most 0.05 below the best": percent(gap <= 0.05 for gap in gaps),
                "goodput at least 95% of the highest fair one": percent(
                    one.goodput >= 0.95 * most for one, most in zip(found, fairest, strict=True)
                ),
                "median p95 of delay": f"{median(delays):.2f} times" if delays else "-",
            }
        )
    return rows


def difference(found: Sequence[Score], first: Sequence[Score]) -> str:
    """The mean difference of the scores of two transports, with its interval."""
    if found is first:
        return "-"
    gained = interval([one.utility - other.utility for one, other in zip(found, first, strict=True)])
    return f"{gained.mean:+.3f} ± {gained.half:.3f}"


def losses(
    networks: Sequence[Network], scores: Mapping[str, Sequence[Score]], name: str
) -> list[dict[str, str]]:
    """Loss of a transport relative to the best one of each network: a row for each kind of network."""
    found = [
        loss(column[name], max(column.values(), key=lambda one: one.utility))
        for column in ({other: of[place] for other, of in scores.items()} for place in range(len(networks)))
    ]
    groups: dict[str, list[int]] = defaultdict(list)
    for place, drawn in enumerate(networks):
        for kind in kinds(drawn):
            groups[kind].append(place)
    return [
        {
            "networks": kind,
            "number": str(len(places)),
            f"loss above {LARGE_LOSS}": percent(found[place][0] > LARGE_LOSS for place in places),
            "mean loss": f"{fmean(found[place][0] for place in places):.3f}",
            "of flows that starve": f"{fmean(found[place][1] for place in places):.3f}",
            "of other flows": f"{fmean(found[place][0] - found[place][1] for place in places):.3f}",
        }
        for kind, places in sorted(groups.items())
    ]


def loss(own: Score, best: Score) -> tuple[float, float]:
    """Loss of score, and the part of it that flows cause which starve."""
    changes = [math.log1p(most) - math.log1p(kbps) for kbps, most in zip(own.flows, best.flows, strict=True)]
    starved = math.fsum(change for change in changes if change > -math.log(STARVED))
    return best.utility - own.utility, starved / max(len(changes), 1)


def kinds(drawn: Network) -> list[str]:
    """Kinds of networks to which a network belongs."""
    scenario, flows = drawn.scenario, len(drawn.judged)
    radios = scenario["radio"] if isinstance(scenario["radio"], list) else [scenario["radio"]]
    return [
        "all",
        f"flows: {'4 and more' if flows > 3 else flows}",
        f"layout: {drawn.shape}",
        f"radio: 802.11{drawn.radio}",
        f"rate: {'fixed' if 'rate' in radios[0] else 'control'}",
        f"routing: {scenario['routing']['protocol']}",
        f"wire: {'yes' if 'host' in scenario else 'no'}",
    ]


def again(
    networks: Sequence[Network],
    scores: Mapping[str, Sequence[Score]],
    times: int,
    journal: Journal,
    where: Where,
) -> list[tuple[list[float], list[float]]]:
    """Scores of the first transport and of the best other one of each network, with seeds 1 to `times`."""
    first, *others = scores
    pairs = [
        (first, max(others, key=lambda name: scores[name][place].utility)) for place in range(len(networks))
    ]
    runs = [
        [[run(drawn, name, seed) for seed in range(1, times + 1)] for name in pair]
        for drawn, pair in zip(networks, pairs, strict=True)
    ]
    complete([one for pair in runs for side in pair for one in side], journal, where, Progress("again"))

    def scored(drawn: Network, side: Sequence[Run]) -> list[float]:
        return [score(drawn, journal.result(one.key)).utility for one in side]

    return [
        (scored(drawn, own), scored(drawn, best)) for drawn, (own, best) in zip(networks, runs, strict=True)
    ]


def chance(
    networks: Sequence[Network], found: Sequence[tuple[Sequence[float], Sequence[float]]]
) -> list[dict[str, str]]:
    """The first transport beside the best other one of each network, by runs that did not choose it."""
    gaps = [interval([a - b for a, b in zip(own, best, strict=True)]) for own, best in found]
    return [
        {
            "networks": title,
            "number": str(len(places)),
            "mean at least that of the other": percent(gaps[p].mean >= 0.0 for p in places),
            "at most 0.05 below it": percent(gaps[p].mean >= -0.05 for p in places),
            "ahead beyond the interval": percent(gaps[p].mean > gaps[p].half for p in places),
            "behind beyond the interval": percent(gaps[p].mean < -gaps[p].half for p in places),
            "mean difference": f"{fmean(gaps[p].mean for p in places):+.3f}",
            "median deviation within a network": f"{median(stdev(found[p][0]) for p in places):.2f}",
        }
        for title, places in by_radio(networks).items()
    ]


def by_radio(networks: Sequence[Network]) -> dict[str, list[int]]:
    """Places of all networks, and of those of each radio."""
    return {"all": list(range(len(networks)))} | {
        radio: [place for place, one in enumerate(networks) if one.radio == radio]
        for radio in sorted({one.radio for one in networks})
    }


def worst(
    networks: Sequence[Network], scores: Mapping[str, Sequence[Score]], name: str, count: int
) -> list[dict[str, str]]:
    """The networks in which a transport loses most."""

    def gap(place: int) -> float:
        return scores[name][place].utility - max(found[place].utility for found in scores.values())

    rows = []
    for place in sorted(range(len(networks)), key=gap)[:count]:
        winner = max(scores, key=lambda other: scores[other][place].utility)
        rows.append(
            {
                "seed": str(networks[place].seed),
                "network": networks[place].title,
                name: summary(scores[name][place]),
                "best": f"{winner}: {summary(scores[winner][place])}",
            }
        )
    return rows


def summary(found: Score) -> str:
    """A score in words."""
    delay = "-" if found.delay is None else f"{found.delay:.0f} ms"
    return f"{found.utility:.2f}, {found.goodput:.0f} kb/s, {delay}, Jain {found.jain:.2f}"


def percent(is_true: Iterable[bool]) -> str:
    """The share of what is true."""
    return f"{100 * fmean(is_true):.0f}%"


def print_table(rows: Sequence[Mapping[str, str]]) -> None:
    """Print rows as a table of Markdown."""
    print("| " + " | ".join(rows[0]) + " |")
    print("|" + "---|" * len(rows[0]))
    for row in rows:
        print("| " + " | ".join(row.values()) + " |")


if __name__ == "__main__":
    sys.exit(main())
