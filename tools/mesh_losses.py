#!/usr/bin/env python3
"""Explain the generated networks in which `mesh` loses most; writes docs/validation/mesh-losses.md.

python3 tools/mesh_losses.py --out DIR                 run what is missing, and print the page
python3 tools/mesh_losses.py --out DIR --write         and write it
python3 tools/mesh_losses.py --out DIR --dump FOLDER   and write the scenarios, for `multihop run --trace`
python3 tools/mesh_losses.py --out DIR --commit HASH   the 200 networks that judge the rule of a commit

Each network runs once with every built-in transport. The loss of `mesh` is the difference of scores from the
best of the others. The ten networks with the largest loss then run with further seeds, with `mesh` and with
the best one. `mesh_losses.toml` has explanations, which were written by hand after reading traces.

DIR keeps finished runs, also those of `compare_networks.py`, so that the same command goes on where it was
interrupted. Run it in the environment that has the package: `.venv/bin/python` after `make build`.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from compare_networks import ALL, Score, judging, run, score, seeds
from multihop import figure_files, report, theme
from multihop.journal import Journal
from multihop.progress import Progress
from multihop.runs import Where, complete
from multihop_papers.gauntlet.generated import EXPLAINED, Network, network

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "validation" / "mesh-losses.md"
PICTURE = PAGE.with_suffix(".svg")
TEXTS = Path(__file__).with_suffix(".toml")
MESH = "mesh"
NETWORKS = EXPLAINED[:20]
WORST = 10
"""Networks that are explained."""
REPEATS = 3
"""Seeds of each of these networks."""
Flow = Mapping[str, Any]


@dataclass(frozen=True)
class Loss:
    """A network in which another transport is ahead of `mesh`."""

    drawn: Network
    winner: str
    mesh: Score
    best: Score

    @property
    def gap(self) -> float:
        """Score of the best transport less that of `mesh`."""
        return self.best.utility - self.mesh.utility


@dataclass(frozen=True)
class Repeated:
    """Results of one transport in one network, one for each seed."""

    scores: Sequence[Score]
    results: Sequence[Mapping[str, Any]]

    def first(self, *path: str | int) -> float:
        """A value of the first result; 0 if it was not measured."""
        found: Any = self.results[0]
        for step in path:
            found = None if found is None else found[step]
        return 0.0 if found is None else float(found)


def main() -> int:
    """Run what is missing, print the page, and write it."""
    options = parse()
    networks = [network(seed) for seed in options.seeds]
    where = Where(options.jobs)
    journal = Journal(options.out)
    found = losses(networks, journal, where)
    worst = sorted(found, key=lambda loss: -loss.gap)[: options.worst]
    if options.dump is not None:
        dump(worst, options.dump)
    again = repeated(worst, Journal(options.out / "again"), where)
    texts = tomllib.loads(TEXTS.read_text(encoding="utf-8"))
    page = "\n".join(lines(found, again, texts)) + "\n"
    print(page)
    if options.write:
        PAGE.write_text(page, encoding="utf-8")
        PICTURE.write_text(figure(read(page)), encoding="utf-8")
    return 0


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder of finished runs")
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument(
        "--seeds",
        type=seeds,
        default=NETWORKS,
        metavar="A-B",
        help=f"default {NETWORKS[0]}-{NETWORKS[-1]}",
    )
    chosen.add_argument(
        "--commit", dest="seeds", type=judging, metavar="HASH", help="networks that follow from a commit"
    )
    parser.add_argument(
        "--worst", type=int, default=WORST, metavar="N", help=f"networks to explain; default {WORST}"
    )
    parser.add_argument("--write", action="store_true", help="write docs/validation/mesh-losses.md")
    parser.add_argument("--dump", type=Path, metavar="FOLDER", help="write the scenarios of these networks")
    parser.add_argument(
        "--jobs", type=int, metavar="N", help="parallel runs; default: one for each processor"
    )
    return parser.parse_args()


def losses(networks: Sequence[Network], journal: Journal, where: Where) -> list[Loss]:
    """The best transport of each network beside `mesh`."""
    runs = {(drawn.seed, name): run(drawn, name) for drawn in networks for name in ALL}
    complete(list(runs.values()), journal, where, Progress("networks"))
    found = []
    for drawn in networks:
        scores = {name: score(drawn, journal.result(runs[drawn.seed, name].key)) for name in ALL}
        winner = max(scores, key=lambda name: (scores[name].utility, name == MESH))
        found.append(Loss(drawn, winner, scores[MESH], scores[winner]))
    return found


def repeated(worst: Sequence[Loss], journal: Journal, where: Where) -> list[tuple[Loss, Repeated, Repeated]]:
    """Results with every seed, with `mesh` and with the winner."""
    plan = {
        (loss.drawn.seed, name): [
            run(loss.drawn, name, loss.drawn.seed + STEP * number) for number in range(REPEATS)
        ]
        for loss in worst
        for name in (MESH, loss.winner)
    }
    complete([one for runs in plan.values() for one in runs], journal, where, Progress("seeds"))

    def of(loss: Loss, name: str) -> Repeated:
        results = [journal.result(one.key) for one in plan[loss.drawn.seed, name]]
        return Repeated([score(loss.drawn, result) for result in results], [one.data for one in results])

    return [(loss, of(loss, MESH), of(loss, loss.winner)) for loss in worst]


STEP = 100_000
"""Difference of the seeds of a network."""


def dump(worst: Sequence[Loss], folder: Path) -> None:
    """Write each network as scenarios, one with `mesh` and one with the winner."""
    folder.mkdir(parents=True, exist_ok=True)
    for loss in worst:
        for name in (MESH, loss.winner):
            text = json.dumps(json.loads(run(loss.drawn, name).request.text), indent=1)
            path = folder / f"{loss.drawn.seed}-{name.replace('*', '-star')}.json"
            path.write_text(text + "\n", encoding="utf-8")


@dataclass(frozen=True)
class Row:
    """A row of the table of losses."""

    seed: str
    title: str
    winner: str
    drawn: str
    mean: str
    low: str
    high: str
    cause: str

    @property
    def verdict(self) -> str:
        """Whether the best transport is ahead with every seed, with none, or with some."""
        if float(self.low) > 0:
            return "HELD"
        return "NOT HELD" if float(self.high) < 0 else "NOT DECIDED"


def rows(again: Sequence[tuple[Loss, Repeated, Repeated]], texts: Mapping[str, Any]) -> Iterator[Row]:
    """The loss in each network, in the draw and with all seeds."""
    networks = texts["network"]
    for loss, mesh, best in again:
        gaps = [one.utility - other.utility for one, other in zip(best.scores, mesh.scores, strict=True)]
        drawn, mean, low, high = (f"{value:.2f}" for value in (loss.gap, fmean(gaps), min(gaps), max(gaps)))
        cause = networks.get(str(loss.drawn.seed), {}).get("group", "not explained")
        yield Row(str(loss.drawn.seed), loss.drawn.title, loss.winner, drawn, mean, low, high, cause)


def lines(
    found: Sequence[Loss], again: Sequence[tuple[Loss, Repeated, Repeated]], texts: Mapping[str, Any]
) -> Iterator[str]:
    """Lines of the page in Markdown."""
    yield from top(list(rows(again, texts)), sum(loss.winner != MESH for loss in found), len(found), texts)
    yield ""
    yield "## Networks"
    for loss, mesh, best in again:
        yield ""
        yield from section(loss, mesh, best, texts["network"].get(str(loss.drawn.seed), {}).get("text", ""))


def top(worst: Sequence[Row], ahead: int, drawn: int, texts: Mapping[str, Any]) -> Iterator[str]:
    """Lines above the sections of networks: answer, claims, figure, setting, command, table, causes."""
    yield "# Where mesh loses"
    yield ""
    yield texts["answer"].strip()
    yield ""
    for row in worst:
        claim = f"`{row.winner}` is ahead of `mesh` in network {row.seed}"
        yield f"* {row.verdict}: {claim} ({row.mean}, from {row.low} to {row.high})"
    yield ""
    finding, caption = f"**{finding_of(worst)}**", "Mean loss with all seeds, and its range."
    yield f"![{finding_of(worst)} {caption}]({PICTURE.name})"
    yield ""
    yield f"{finding} {caption}"
    yield ""
    yield (
        f"**Setting.** In {ahead} of {drawn} networks drawn at random, one of {len(ALL) - 1} other "
        "transports has a higher score than `mesh`: the mean over flows of ln(1 + goodput in kb/s). In the "
        f"{len(worst)} networks with the largest loss, the best transport and `mesh` then run with {REPEATS} "
        "seeds. A claim is held if the best transport is ahead with every seed. No constant was chosen on "
        "these networks."
    )
    yield ""
    yield "```"
    yield f".venv/bin/python tools/mesh_losses.py --out DIR {texts['networks']} --dump FOLDER --write"
    yield "multihop run FOLDER/SEED-TRANSPORT.json --trace --out TRACE"
    yield "```"
    yield ""
    yield '<details markdown="1">'
    yield "<summary>Table of losses</summary>"
    yield ""
    yield "| seed | network | best | loss in the draw | loss with 3 seeds | cause |"
    yield "|---|---|---|--:|--:|---|"
    for row in worst:
        first = (f"[{row.seed}](#{row.seed})", row.title, f"`{row.winner}`")
        yield f"| {' | '.join(first)} | {row.drawn} | {row.mean} ({row.low} to {row.high}) | {row.cause} |"
    yield ""
    yield "A seed also draws the places of fields and of walking nodes; other networks keep theirs."
    yield ""
    yield "</details>"
    yield ""
    yield "## Causes"
    yield ""
    yield "Causes and explanations were written by hand, from traces."
    for group in texts["group"]:
        yield ""
        yield f"**{group['name'].capitalize()}.** {group['text'].strip()}"


def finding_of(worst: Sequence[Row]) -> str:
    """Title of the figure: in how many networks the loss is there with every seed."""
    sure = sum(row.verdict == "HELD" for row in worst)
    return f"In {sure} of {len(worst)} networks `mesh` loses with every seed."


def read(page: str) -> list[Row]:
    """The rows in the table of a page."""
    return [Row(*match.groups()) for match in ROW.finditer(page)]


ROW = re.compile(
    r"^\| \[(\d+)\]\(#\d+\) \| (.+?) \| `(.+?)` \| (\S+) \| (\S+) \((\S+) to (\S+)\) \| (.+?) \|$",
    re.MULTILINE,
)


def figure(worst: Sequence[Row]) -> str:
    """The losses and their ranges, as SVG."""
    drawn, axes = report.new_figure("score of the best transport less that of mesh", "")
    look = theme.other(0)
    for place, row in enumerate(worst):
        mean, low, high = (float(value) for value in (row.mean, row.low, row.high))
        error = [[mean - low], [high - mean]]
        axes.errorbar(mean, place, xerr=error, color=look.colour, marker=look.marker, linestyle="", capsize=3)
    axes.axvline(0.0, color="0.45", linewidth=1.2)
    axes.set_yticks(range(len(worst)), [f"{row.seed}: {row.winner}" for row in worst])
    axes.invert_yaxis()
    return figure_files.figure_file(drawn)


def section(loss: Loss, mesh: Repeated, best: Repeated, text: str) -> Iterator[str]:
    """Explanation of a network, and its flows with both transports."""
    yield f"### {loss.drawn.seed}"
    yield ""
    yield f"{loss.drawn.title[0].upper()}{loss.drawn.title[1:]}. Values of the first seed:"
    yield ""
    names = (MESH, loss.winner)
    columns = [f"{value}, {name}" for value in ("kb/s", "repeated", "p95, ms") for name in names]
    yield "| flow | " + " | ".join(columns) + " |"
    yield "|---|" + "--:|" * len(columns)
    for place in loss.drawn.judged:
        flow = loss.drawn.scenario["flow"][place]
        cells = [
            *(f"{one.first('flows', place, 'goodput_kbps'):.0f}" for one in (mesh, best)),
            *(f"{100 * one.first('flows', place, 'retransmission_index'):.1f}%" for one in (mesh, best)),
            *(f"{one.first('flows', place, 'delay_ms', 'p95'):.0f}" for one in (mesh, best)),
        ]
        yield f"| {place}: {flow['from']} to {flow['to']}, {flow['app']} | " + " | ".join(cells) + " |"
    yield ""
    collisions, given_up = (
        [one.first("mac", key) for one in (mesh, best)] for key in ("collisions", "drops")
    )
    yield (
        f"Collisions: {collisions[0]:.0f} with `mesh`, {collisions[1]:.0f} with `{loss.winner}`. "
        f"Packets that a station gave up: {given_up[0]:.0f} and {given_up[1]:.0f}."
    )
    if text:
        yield ""
        yield text.strip()


if __name__ == "__main__":
    sys.exit(main())
