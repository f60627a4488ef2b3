"""`multihop break PROTOCOL`: the command line of the search."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from multihop._core import RunError, ScenarioError
from multihop.breaking import measures, space
from multihop.breaking.explain import explain
from multihop.breaking.measures import Measure
from multihop.breaking.network import Network, toml
from multihop.breaking.search import Found, Judge, MissingError, Scores, search
from multihop.breaking.shrink import MARGIN, SEEDS, shrink
from multihop.cluster import ClusterError
from multihop.files import make_folder, write_text
from multihop.runs import Where
from multihop.stats import interval

RIVALS = ("newreno", "cubic", "bbr3", "tpa", "tcp-ap", "mesh")
"""Transports that run in each network beside the one under test."""
ROUTING = ("aodv", "dsr", "olsr", "apdr", "olsrv2", "babel", "batman", "hwmp")
LAST_SEEDS = tuple(range(3001, 3011))
"""Seeds of the last runs: neither the search nor the shrinking has seen them."""
CHECKED = 3
"""Worst networks that `--first` runs with other seeds."""
MAX_NODES = 12
MAX_SECONDS = 120.0


def main(arguments: Sequence[str]) -> int:
    """Search, shrink, run again with other seeds, and print what was found."""
    options = parse(arguments)
    try:
        return run(options)
    except KeyboardInterrupt:
        print(f"multihop: interrupted: the same command goes on from {options.out}", file=sys.stderr)
        return 128 + signal.SIGINT
    except (OSError, ValueError, ScenarioError) as error:
        print(f"multihop break: {error}", file=sys.stderr)
        return 2
    except (ClusterError, MissingError, RunError) as error:
        print(f"multihop break: {error}", file=sys.stderr)
        return 1


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="multihop break",
        description="Search for small networks in which a transport or a routing protocol does badly",
        epilog="The folder keeps the score of each network. The command continues with more --minutes, and "
        "searches for other protocols use the scores, too.",
    )
    parser.add_argument("protocol", help=f"a transport, or one of {', '.join(ROUTING)}")
    parser.add_argument(
        "--measure",
        choices=[*measures.TRANSPORTS, *measures.ROUTING],
        help="share: goodput relative to the best rival (default for transports); delay, fairness: relative "
        "to rivals with similar goodput; hole: silence although a path exists (default for routing); "
        "loop: packets that circulate",
    )
    parser.add_argument(
        "--against", nargs="+", default=RIVALS, metavar="TRANSPORT", help=f"rivals ({', '.join(RIVALS)})"
    )
    parser.add_argument("--nodes", type=int, default=5, help=f"most nodes, 2 to {MAX_NODES} (5)")
    parser.add_argument("--seconds", type=float, default=10.0, help=f"seconds, 2 to {MAX_SECONDS:g} (10)")
    parser.add_argument(
        "--flows",
        type=int,
        default=space.MAX_FLOWS,
        help=f"most flows of a transport, 1 to {space.MAX_FLOWS} ({space.MAX_FLOWS})",
    )
    parser.add_argument("--minutes", type=float, default=5.0, help="CPU minutes of simulations (5)")
    parser.add_argument(
        "--first", action="store_true", help="end with the first network that is bad enough with other seeds"
    )
    parser.add_argument("--seed", type=int, default=1, help="another number is another search (1)")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", default=Path("break"), help="folder of scores and results (break)"
    )
    parser.add_argument("--jobs", type=int, metavar="N", help="parallel runs (one for each processor)")
    parser.add_argument("--on", metavar="ADDRESS", help="run on the Dask cluster of this scheduler")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print only the result and errors")
    options = parser.parse_args(arguments)
    kind = measures.ROUTING if options.protocol in ROUTING else measures.TRANSPORTS
    options.measure = options.measure or next(iter(kind))
    if options.measure not in kind:
        parser.error(
            f"--measure {options.measure} does not apply to {options.protocol}, allowed: {', '.join(kind)}"
        )
    if not 2 <= options.nodes <= MAX_NODES:
        parser.error(f"--nodes is {options.nodes}, allowed: 2 to {MAX_NODES}")
    if not 2.0 <= options.seconds <= MAX_SECONDS:
        parser.error(f"--seconds is {options.seconds:g}, allowed: 2 to {MAX_SECONDS:g}")
    if not 1 <= options.flows <= space.MAX_FLOWS:
        parser.error(f"--flows is {options.flows}, allowed: 1 to {space.MAX_FLOWS}")
    if not 0.0 < options.minutes < float("inf"):
        parser.error(f"--minutes is {options.minutes:g}, allowed: above 0")
    return options


def run(options: argparse.Namespace) -> int:
    """Search and report; the exit code is 0 also if nothing was found."""
    judge, places = prepare(options)
    found = None
    for found in search(places, judge, options.minutes, options.seed):
        if not options.quiet and sys.stderr.isatty():
            line = f"{found.looked_at} networks, {judge.minutes():.1f} CPU minutes, worst {found.badness:.2f}"
            print(f"\r{line} ", end="", file=sys.stderr, flush=True)
        if options.first and is_bad_enough(found, judge):
            break
    assert found is not None, "a search has at least one generation"
    if not options.quiet and sys.stderr.isatty():
        print("\nmaking the network smaller", file=sys.stderr)
    report = conclude(options, judge, found, shrink(found.networks(), judge))
    text = json.dumps(report.data) if options.json else report.text
    print(text)
    write_text(
        options.out / f"{options.protocol}-{options.measure}.json", json.dumps(report.data, indent=1) + "\n"
    )
    return 0


def is_bad_enough(found: Found, judge: Judge) -> bool:
    """Whether one of the worst networks is bad enough with the seeds of `shrink`, too."""
    enough = MARGIN * judge.measure.bad
    return found.badness >= enough and max(judge.badness(found.networks()[:CHECKED], SEEDS)) >= enough


def prepare(options: argparse.Namespace) -> tuple[Judge, space.Space]:
    """Judge of the protocol under test, and the space of networks to be searched."""
    make_folder(options.out)
    bounds = space.Bounds(options.nodes, options.seconds, options.flows)
    is_routing = options.protocol in ROUTING
    measure = (measures.ROUTING if is_routing else measures.TRANSPORTS)[options.measure]
    judge = Judge(
        protocol=options.protocol,
        rivals=[name for name in options.against if name != options.protocol],
        measure=measure,
        scenario=Network.with_routing if is_routing else Network.with_transport,
        scores=Scores(options.out / "scores.jsonl"),
        where=Where(options.jobs, options.on),
    )
    if measure.has_rivals and not judge.rivals:
        raise ValueError("--against names no rival")
    return judge, (space.routing if is_routing else space.transports)(bounds)


@dataclass(frozen=True)
class Report:
    """The outcome of a search, for people and for programs."""

    text: str
    data: Mapping[str, Any]


def conclude(options: argparse.Namespace, judge: Judge, found: Found, network: Network) -> Report:
    """Run the shrunk network with unseen seeds, and say what happens in it."""
    by_seed = judge.results(network, LAST_SEEDS)
    values = [judge.measure.badness(network, judge.protocol, results) for results in by_seed]
    estimate = interval(values)
    path = options.out / f"{options.protocol}-{options.measure}.toml"
    scenario = judge.scenario(network, judge.protocol, LAST_SEEDS[0])
    write_text(path, toml({**scenario, "sweep": judge.axis() | {"seeds": len(LAST_SEEDS)}}))
    is_bad = fmean(values) >= judge.measure.bad
    verdict = "found" if is_bad else "nothing below the bound was found; the worst network"
    half = (estimate.high - estimate.low) / 2
    lines = [
        f"{options.protocol}, {judge.measure.words}: {verdict}",
        f"  {network.words()}",
        f"  {outcome(judge.measure, options.measure, estimate.mean, half)} with {len(values)} other seeds",
        *(f"  {line}" for line in explain(judge.protocol, judge.measure, network, by_seed)),
        f"{found.looked_at} networks in {judge.minutes():.1f} CPU minutes. The network is in {path}:",
        f"  multihop view {path}",
        f"  multihop sweep {path}",
    ]
    data = {
        "protocol": options.protocol,
        "measure": options.measure,
        "is_found": is_bad,
        "badness": {"mean": estimate.mean, "low": estimate.low, "high": estimate.high, "seeds": len(values)},
        "networks": found.looked_at,
        "cpu_minutes": round(judge.minutes(), 2),
        "scenario": scenario,
    }
    return Report("\n".join(lines), data)


def outcome(measure: Measure, name: str, mean: float, half: float) -> str:
    """Badness in the unit of the measure."""
    if not measure.has_rivals:
        return f"{mean:.1f} ± {half:.1f} s"
    if name == "fairness":
        return f"{mean:.2f} ± {half:.2f} below the fairest rival"
    if name == "delay":
        return f"the best rival's delay is {1 - mean:.0%} ± {half:.0%} of it"
    return f"{1 - mean:.0%} ± {half:.0%} of the best rival's goodput"
