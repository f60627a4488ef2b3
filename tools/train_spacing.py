#!/usr/bin/env python3
"""Measure how far apart trains of segments must be on a chain of 802.11n, for docs/models/mesh.md.

    .venv/bin/python tools/train_spacing.py            the table
    .venv/bin/python tools/train_spacing.py --figure   and docs/models/mesh-trains.svg

A source without ACKs puts 24 datagrams at once into the queue of the first node, again after each interval.
They leave as a train. In the other direction nothing returns, or a small datagram for each train or for every
second one, which leaves when the train should have arrived. The first table has two senders on the chain,
each with as much as its link carries.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl

import multihop
from multihop import figure_files, report, theme

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "models" / "mesh-trains.svg"
HOPS = 8
TRAIN = 24
"""Segments of a train: the most that `mesh` sends at once."""
PAYLOAD = 1484
"""Payload of a datagram, bytes: what a segment of `mesh` has with 1460 bytes of data and its headers."""
DATA = 1460
ACK = 60
"""Payload of a datagram in the other direction, bytes."""
CROSSING = 0.0377
"""Time in which a train crosses the chain, s."""
INTERVALS = (29, 30, 31, 32, 34, 36, 40)
"""Times between two trains, ms."""
SEEDS = range(1, 6)
Point = tuple[float, int]
"""Time in ms, and node."""
Way = tuple[bool, tuple[Point, ...], Point | None]
"""Whether a packet goes back, where it was, and where it was lost."""
FILE = tomllib.loads((ROOT / "scenarios" / "mesh-trains.toml").read_text(encoding="utf-8"))
BASE: dict[str, Any] = {
    **{key: FILE[key] for key in ("radio", "mac")},
    "topology": {"kind": "chain", "hops": HOPS},
    "warmup": 2.0,
    "duration": 12.0,
}
"""The chain of scenarios/mesh-trains.toml."""


def main() -> int:
    """Print the table, and draw the figure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--figure", action="store_true", help="draw docs/models/mesh-trains.svg")
    options = parser.parse_args()
    print("| hops between two senders | Mb/s of the first one |")
    print("|---|---|")
    for apart in range(3, 7):
        print(f"| {apart} | {reused(apart):.1f} |")
    print("\n| ms between trains | Mb/s, no ACKs | one for every second train | for each | ACKs heard |")
    print("|---|---|---|---|---|")
    for interval in INTERVALS:
        cells = [measured(interval / 1000, per_ack) for per_ack in (0, 2, 1)]
        goodput = " | ".join(f"{cell[0]:.1f}" for cell in cells)
        print(f"| {interval} | {goodput} | {100 * cells[-1][1]:.0f}% |")
    if options.figure:
        PICTURE.write_text(draw(), encoding="utf-8")
        print(PICTURE)
    return 0


def trains(interval: float, per_ack: int) -> dict[str, Any]:
    """The scenario with a train in each interval, s, and a datagram back for so many trains; 0 means none."""
    flow = {"app": "cbr", "size": PAYLOAD, "rate_kbps": PAYLOAD * 8 / interval / 1000, "start": 1.0}
    flows = [{"from": 0, "to": HOPS, **flow} for _ in range(TRAIN)]
    if per_ack > 0:
        rate = ACK * 8 / (interval * per_ack) / 1000
        flows.append({"from": HOPS, "to": 0, **flow, "size": ACK, "rate_kbps": rate, "start": 1.0 + CROSSING})
    return {**BASE, "flow": flows}


def reused(apart: int) -> float:
    """Goodput in Mb/s from the first node to the second, while a node so many hops further sends as much."""
    flow = {"app": "cbr", "size": PAYLOAD, "rate_kbps": 60_000.0}
    flows = [{"from": node, "to": node + 1, **flow, "start": 1.0 + node / 10_000} for node in (0, apart)]
    scenario = {**BASE, "topology": {"kind": "chain", "hops": apart + 1}, "flow": flows}
    runs = [multihop.run({**scenario, "seed": seed}).data["flows"] for seed in SEEDS]
    return fmean(run[0]["goodput_kbps"] for run in runs) / 1000


def measured(interval: float, per_ack: int) -> tuple[float, float]:
    """Goodput in Mb/s, counted as `mesh` counts it, and the share of the datagrams back that arrive."""
    runs = [multihop.run({**trains(interval, per_ack), "seed": seed}).data["flows"] for seed in SEEDS]
    goodput = fmean(sum(flow["goodput_kbps"] for flow in run[:TRAIN]) for run in runs)
    backwards = [flow["delivery_ratio"] for run in runs for flow in run[TRAIN:]]
    return goodput / 1000 * DATA / PAYLOAD, fmean(backwards) if backwards else 1.0


MESH: dict[str, Any] = {**BASE, "flow": [{"start": 1.0, "transport": "mesh"}]}
SHOWN = (
    ("mesh: one train at a time", MESH, 8.0),
    ("mesh: two trains at a time", MESH, 10.0),
    ("a train every 30 ms, no ACKs", trains(0.030, 0), 8.0),
    ("a train every 30 ms, an ACK for each", trains(0.030, 1), 8.0),
)
"""Panels of the figure: title, scenario, and its first second."""
SPAN = 0.3
"""Seconds that a panel shows."""


def draw() -> str:
    """The way of segments and ACKs over the chain: time against node, as SVG."""
    with report.drawing():
        figure = report.Picture(figsize=(6.0, 8.0), layout="constrained")
        panels: Sequence[Any] = figure.subplots(len(SHOWN), 1, sharex=True)
    for panel, (title, scenario, start) in zip(panels, SHOWN, strict=True):
        for back, way, lost in ways(scenario, start, start + SPAN):
            colour, width = (theme.OTHERS[3].colour, 1.8) if back else (theme.OTHERS[0].colour, 0.8)
            panel.plot(*zip(*way, strict=True), color=colour, linewidth=width)
            if lost is not None:
                panel.plot(*lost, "X", color=theme.PAGE["lost"][0])
        panel.set(ylabel="node", title=title, xlim=(0, 1000 * SPAN), yticks=range(0, HOPS + 1, 2))
    panels[-1].set_xlabel("time, ms")
    return figure_files.figure_file(figure)


def ways(scenario: dict[str, Any], start: float, stop: float) -> list[Way]:
    """The way of each packet; those of one frame have one."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "packets.txt"
        multihop.run(scenario, trace=path)
        trace = multihop.read_trace(path)
    trace = trace.filter(pl.col("time").is_between(start - 1.0, stop) & pl.col("from").is_not_null())
    found: dict[Way, None] = {}
    for _, packet in trace.group_by("uid", maintain_order=True):
        events = packet.select("evt", 1000 * (pl.col("time") - start), "node").rows()
        points = tuple((round(time, 2), node) for _, time, node in events)
        if points[-1][0] >= 0:
            found[packet["from"][0] == HOPS, points, points[-1] if events[-1][0] == "D" else None] = None
    return list(found)


if __name__ == "__main__":
    sys.exit(main())
