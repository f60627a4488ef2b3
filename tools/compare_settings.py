#!/usr/bin/env python3
"""Compare settings of stations, and ideas added to CUBIC and BBR, in generated networks.

python3 tools/compare_settings.py --out DIR                     settings: RTS, aggregates, radios, queues
python3 tools/compare_settings.py --out DIR --ideas             ideas of the papers, added to CUBIC and BBR
python3 tools/compare_settings.py --out DIR --seeds 2001-2060   networks; default 2001-2100
python3 tools/compare_settings.py --out DIR --figure            and the figure in docs/

Each network runs with and without a change. The value of the change is the mean over networks of the
difference of scores, with its 95% interval. The score of a network is the mean over its flows of
ln(1 + goodput in kb/s), as in `compare_networks.py`.

DIR keeps finished runs, so that the same command goes on where it was interrupted. Run it in the
environment that has the package: `.venv/bin/python` after `make build`.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from compare_networks import parser_of, print_table, score, seeds
from multihop import figure_files, report, theme
from multihop.journal import Journal
from multihop.progress import Progress
from multihop.runs import Run, Where, complete
from multihop.scenario import request
from multihop.stats import Interval, interval
from multihop_papers.gauntlet.generated import Network, network, with_second_radio

DOCS = Path(__file__).resolve().parent.parent / "docs"
AGGREGATING = ("n", "ac", "ax")
Group = Callable[[Network], bool]
"""Whether a network belongs to a panel and a table."""
GROUPS: Mapping[str, Group] = {
    "802.11b and g": lambda drawn: drawn.radio not in AGGREGATING,
    "802.11n, ac and ax": lambda drawn: drawn.radio in AGGREGATING,
}
"""Networks of each panel and of each table."""
ROUTED: Mapping[str, Group] = {
    "AODV and OLSR": lambda drawn: drawn.scenario["routing"]["protocol"] != "static"
}
"""Networks in which ideas that need notices have some; networks of all radios."""
TRANSPORTS = ("mesh", "cubic")
"""Transports under which settings are compared."""
Change = Callable[[dict[str, Any]], dict[str, Any]]
"""Makes one scenario of another one."""


@dataclass(frozen=True)
class Setting:
    """A setting, and the one that it is compared with."""

    title: str
    changed: Change
    base: Change
    radios: Sequence[str] = ("b", "g", *AGGREGATING)


def mac(scenario: dict[str, Any], **keys: Any) -> dict[str, Any]:
    """The scenario with these keys of `[mac]`."""
    return {**scenario, "mac": {**scenario.get("mac", {}), **keys}}


def one_radio(scenario: dict[str, Any]) -> dict[str, Any]:
    """The scenario with its first radio alone, and the routes that two radios have."""
    radio = scenario["radio"]
    both = with_second_radio(scenario) if isinstance(radio, dict) else scenario
    return {**both, "radio": both["radio"][0]}


def two_radios(scenario: dict[str, Any]) -> dict[str, Any]:
    """The scenario with two radios on separate channels."""
    return with_second_radio(scenario) if isinstance(scenario["radio"], dict) else scenario


def _aggregates(limit: int | str) -> Setting:
    title = "no aggregates" if limit == "off" else f"at most {limit} packets in a frame"
    return Setting(title, partial(mac, ampdu=limit), partial(mac, ampdu=64), AGGREGATING)


SETTINGS = (
    Setting("RTS before all data", partial(mac, rts_threshold=0), partial(mac, rts_threshold="off")),
    _aggregates("off"),
    _aggregates(4),
    _aggregates(16),
    _aggregates(32),
    Setting("two radios", two_radios, one_radio, AGGREGATING),
    Setting(
        "FQ-CoDel at stations", partial(mac, discipline="fq-codel"), partial(mac, discipline="drop-tail")
    ),
)
"""Settings of stations, each with its opposite; aggregates beside those of 64 packets."""


def _added(base: str) -> dict[str, dict[str, Any]]:
    """A transport with each idea."""
    return {
        "window of 3 segments": {"kind": base, "window_max": 3},
        "window of 24 segments": {"kind": base, "window_max": 24},
        "dynamic ACKs": {"kind": f"{base}+dyn"},
        "window of 24 segments, dynamic ACKs": {"kind": f"{base}+dyn", "window_max": 24},
        "ACKs as in TACK": {"kind": f"{base}+tack"},
        "stand-by at failures (ELFN)": {"kind": f"{base}+elfn"},
        "mesh in its place": {"kind": "mesh"},
    }


IDEAS: Mapping[str, Mapping[str, Any]] = {
    **{f"{base}: {title}": change for base in ("cubic", "bbr") for title, change in _added(base).items()},
    "cubic: pacing over four hops": {"kind": "cubic+ap"},
}
"""Ideas of the papers and of TACK, added to transports that have none of them. BBR has a pace of its own."""


@dataclass(frozen=True)
class Pair:
    """Two runs of a network that differ in one thing."""

    row: str
    drawn: Network
    base: Run
    changed: Run


def main() -> int:
    """Run what is missing, and print the tables."""
    options = parse()
    networks = [network(seed) for seed in options.seeds]
    pairs = ideas(networks) if options.ideas else settings(networks)
    groups = {**GROUPS, **ROUTED} if options.ideas else GROUPS
    journal = Journal(options.out)
    runs = {run.key: run for pair in pairs for run in (pair.base, pair.changed)}
    complete(list(runs.values()), journal, Where(options.jobs, options.on), Progress("networks"))
    found: dict[str, dict[str, Interval]] = {}
    for title, belongs in groups.items():
        heading = f"{title} ({sum(map(belongs, networks))})"
        found[heading] = values([pair for pair in pairs if belongs(pair.drawn)], journal)
        print(f"\n{heading}")
        print_table(rows(found[heading]))
    if options.figure:
        path = DOCS / ("which-ideas.svg" if options.ideas else "which-settings.svg")
        path.write_text(draw(found), encoding="utf-8")
        print(path)
    return 0


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = parser_of(__doc__)
    parser.add_argument(
        "--seeds", type=seeds, default=range(2001, 2101), metavar="A-B", help="default 2001-2100"
    )
    parser.add_argument("--ideas", action="store_true", help="ideas added to CUBIC and BBR, not settings")
    parser.add_argument("--figure", action="store_true", help="draw the figure in docs/")
    return parser.parse_args()


def settings(networks: Sequence[Network]) -> list[Pair]:
    """Pairs of runs for each setting, transport and network."""
    return [
        Pair(f"{name}: {one.title}", drawn, run(drawn, name, one.base), run(drawn, name, one.changed))
        for one in SETTINGS
        for name in TRANSPORTS
        for drawn in networks
        if drawn.radio in one.radios
    ]


def ideas(networks: Sequence[Network]) -> list[Pair]:
    """Pairs of runs for each idea and network."""
    return [
        Pair(row, drawn, run(drawn, row.partition(":")[0]), run(drawn, change))
        for row, change in IDEAS.items()
        for drawn in networks
    ]


def run(drawn: Network, transport: str | Mapping[str, Any], change: Change = dict) -> Run:
    """The run of a changed network with this transport."""
    flows = [
        {**flow, "transport": transport} if place in drawn.judged else flow
        for place, flow in enumerate(drawn.scenario["flow"])
    ]
    return Run.of(request({**change(drawn.scenario), "flow": flows, "seed": drawn.seed}, {}))


def values(pairs: Sequence[Pair], journal: Journal) -> dict[str, Interval]:
    """Mean differences of scores, one for each change."""
    gaps: dict[str, list[float]] = {}
    for pair in pairs:
        base, changed = (score(pair.drawn, journal.result(run.key)) for run in (pair.base, pair.changed))
        gaps.setdefault(pair.row, []).append(changed.utility - base.utility)
    return {row: interval(found) for row, found in gaps.items()}


def rows(found: Mapping[str, Interval]) -> list[dict[str, str]]:
    """A row for each change."""
    return [
        {
            "change": row,
            "score": f"{one.mean:+.3f} ± {one.half:.3f}",
            "goodput": f"{100 * math.expm1(one.mean):+.0f}%",
        }
        for row, one in found.items()
    ]


def draw(found: Mapping[str, Mapping[str, Interval]]) -> str:
    """A panel for each group of radios, and a row for each change, as SVG."""
    names = list(dict.fromkeys(row for group in found.values() for row in group))[::-1]
    with report.drawing():
        figure = report.Picture(
            figsize=(3.0 + 3.0 * len(found), 0.28 * len(names) + 1.2), layout="constrained"
        )
        panels = figure.subplots(1, len(found), sharex=True, sharey=True)
    for panel, (title, group) in zip(panels, found.items(), strict=True):
        for row, one in group.items():
            look = theme.style(row.partition(":")[0])
            panel.errorbar(
                one.mean,
                names.index(row),
                xerr=one.half,
                marker=look.marker,
                color=look.colour,
                capsize=2,
            )
        panel.axvline(0.0, linewidth=0.8, color="gray", linestyle=":")
        panel.set(title=title)
    panels[0].set_yticks(range(len(names)), names)
    figure.supxlabel("score beside that without the change: mean of ln(goodput), and its 95% interval")
    return figure_files.figure_file(figure)


if __name__ == "__main__":
    sys.exit(main())
