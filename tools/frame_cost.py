#!/usr/bin/env python3
"""Measure the cost of a frame among 100 to 100,000 moving nodes at constant density.

python3 tools/frame_cost.py                   the table: time, instructions and memory
python3 tools/frame_cost.py --rounds 9        the best of more rounds, on a machine that does other things
python3 tools/frame_cost.py --figure          and docs/performance-frame.svg
python3 tools/frame_cost.py --city            a million nodes with 20 flows over 3 s: time and memory

The networks are those of the benchmark's mobile-100 with other numbers of nodes: a tenth of the nodes sends
datagrams over three hops. A round measures every size once, in turn, and the best round of each size
counts. Needs valgrind for instructions (`--no-instructions` goes without).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from instructions import by_file

ROOT = Path(__file__).resolve().parent.parent
BENCH = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "profiling" / "multihop-bench"
PICTURE = ROOT / "docs" / "performance-frame.svg"
CASE = "mobile-100"
BEGIN = 2.0
"""Simulated seconds before the measured stretch: all flows begin within the first."""
CITY_NODES, CITY_SECONDS = 1_000_000, 3.0


@dataclass(frozen=True)
class Size:
    """How a number of nodes is measured."""

    networks: int
    """Networks with different seeds that are measured together: a small one alone depends on its places."""
    seconds: float
    """Simulated seconds that are timed."""
    counted: float
    """Simulated seconds over which instructions are counted."""


SIZES = {
    100: Size(10, 20.0, 1.0),
    1_000: Size(3, 5.0, 0.5),
    10_000: Size(1, 2.0, 0.1),
    100_000: Size(1, 0.5, 0.01),
}


@dataclass
class Cost:
    """The cost of a frame in a network of some size."""

    nodes: int
    stations: float
    """Stations that a frame reaches, from its events: each has the first and the last bit."""
    microseconds: float
    instructions: float | None
    kilobytes: float
    """Peak memory of the process for each node."""


def main() -> int:
    """Measure all sizes and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="measurements of each size")
    parser.add_argument("--sizes", type=int, nargs="+", choices=list(SIZES), default=list(SIZES), metavar="N")
    parser.add_argument("--no-instructions", action="store_true", help="do not count instructions")
    parser.add_argument("--figure", action="store_true", help=f"write {PICTURE.relative_to(ROOT)}")
    parser.add_argument("--city", action="store_true", help="only the million nodes")
    options = parser.parse_args()
    if options.figure and importlib.util.find_spec("matplotlib") is None:
        parser.error(
            "--figure needs matplotlib: run .venv/bin/python tools/frame_cost.py (made by `make build`)"
        )
    build = ["cargo", "build", "--quiet", "--profile", "profiling", "--locked"]
    build += ["-p", "multihop-bench", "--bin", "multihop-bench"]
    subprocess.run(build, cwd=ROOT, check=True)
    if options.city:
        print(city())
        return 0
    costs = measured(options)
    print(table(costs))
    if options.figure:
        PICTURE.write_text(draw(costs), encoding="utf-8")
        print(f"\nwritten: {PICTURE.relative_to(ROOT)}")
    return 0


def measured(options: argparse.Namespace) -> list[Cost]:
    """Run every size in turn, and count the instructions of each."""
    best: dict[int, dict[str, float]] = {}
    for _ in range(options.rounds):
        for nodes in options.sizes:
            sample = together(nodes, BEGIN, BEGIN + SIZES[nodes].seconds)
            if nodes not in best or per_frame(sample) < per_frame(best[nodes]):
                best[nodes] = sample
    return [cost(nodes, best[nodes], counts=not options.no_instructions) for nodes in options.sizes]


def together(nodes: int, begin: float, end: float) -> dict[str, float]:
    """The sum over all networks of a size, and the highest peak of memory."""
    samples = [run(CASE, nodes, begin, end, seed=1 + n) for n in range(SIZES[nodes].networks)]
    sums = {key: float(sum(sample[key] for sample in samples)) for key in ("cpu_seconds", "frames", "events")}
    return sums | {"peak_bytes": float(max(sample["peak_bytes"] for sample in samples))}


def cost(nodes: int, sample: dict[str, float], *, counts: bool) -> Cost:
    """The cost of a frame in the best round of a size."""
    before = together(nodes, 0.0, BEGIN)["events"]
    return Cost(
        nodes,
        stations=(sample["events"] - before) / sample["frames"] / 2,
        microseconds=1e6 * per_frame(sample),
        instructions=instructions(nodes) if counts else None,
        kilobytes=sample["peak_bytes"] / nodes / 1e3,
    )


def per_frame(sample: dict[str, float]) -> float:
    """Seconds of processor time for a frame."""
    return sample["cpu_seconds"] / sample["frames"]


def instructions(nodes: int) -> float:
    """Instructions for a frame, counted by callgrind."""
    with tempfile.TemporaryDirectory() as scratch:
        found = Path(scratch) / "callgrind.out"
        tool = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={found}"]
        sample = run(CASE, nodes, BEGIN, BEGIN + SIZES[nodes].counted, tool=tool, more=["--counted"])
        with found.open() as lines:
            files, _ = by_file(lines)
    return sum(costs["Ir"] for costs in files.values()) / float(sample["frames"])


def run(
    case: str,
    nodes: int,
    begin: float,
    end: float,
    seed: int = 1,
    tool: Sequence[str] = (),
    more: Sequence[str] = (),
) -> dict[str, Any]:
    """One run of the benchmark."""
    size = ["--nodes", str(nodes), "--from", str(begin), "--seconds", str(end), "--seed", str(seed)]
    command = [*tool, str(BENCH), "--one", case, *size, *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return dict(json.loads(done.stdout))


def table(costs: Sequence[Cost]) -> str:
    """All sizes as a table of Markdown, relative to the first."""
    first = costs[0]
    lines = [
        "| nodes | stations that a frame reaches | instructions a frame | relative | time a frame, us "
        "| relative | time a frame and station, ns | relative | memory for a node, kB |",
        "|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for one in costs:
        counted, ratio = "", ""
        if one.instructions is not None and first.instructions is not None:
            counted, ratio = f"{one.instructions:,.0f}", f"{one.instructions / first.instructions:.2f}"
        of_station = [1e3 * each.microseconds / each.stations for each in (one, first)]
        cells = [
            f"{one.nodes:,}",
            f"{one.stations:.1f}",
            counted,
            ratio,
            f"{one.microseconds:.2f}",
            f"{one.microseconds / first.microseconds:.2f}",
            f"{of_station[0]:.0f}",
            f"{of_station[0] / of_station[1]:.2f}",
            f"{one.kilobytes:.1f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def draw(costs: Sequence[Cost]) -> str:
    """Time, instructions and stations of a frame relative to the smallest network, as SVG."""
    sys.path.insert(0, str(ROOT / "python"))
    from multihop import figure_files, report, theme

    first = costs[0]
    curves = {
        "processor time": [one.microseconds / first.microseconds for one in costs],
        "stations reached": [one.stations / first.stations for one in costs],
    }
    if first.instructions is not None:
        counted = [(one.instructions or 0.0) / first.instructions for one in costs]
        curves["instructions"] = counted
    with report.drawing():
        figure, axes = report.new_figure("nodes", f"cost of a frame relative to {first.nodes} nodes")
        looks = theme.distinct(theme.other(number) for number in range(len(curves)))
        for (name, values), look in zip(curves.items(), looks, strict=True):
            style: dict[str, Any] = {"color": look.colour, "marker": look.marker, "linestyle": look.line}
            axes.plot([one.nodes for one in costs], values, label=name, **style)
        axes.set(xscale="log")
        axes.set_ylim(bottom=0)
        axes.legend()
        return figure_files.figure_file(figure)


def city() -> str:
    """A million nodes in one sentence; the time is that of the whole process."""
    before = processor_time()
    sample = run("city", CITY_NODES, 0.0, CITY_SECONDS)
    return (
        f"{CITY_NODES:,} moving nodes, AODV, 20 flows, {CITY_SECONDS:g} simulated s: "
        f"{processor_time() - before:.1f} s of processor time, {sample['peak_bytes'] / 1e9:.2f} GB, "
        f"{sample['frames']:,} frames"
    )


def processor_time() -> float:
    """Seconds of processor time of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
