#!/usr/bin/env python3
"""Draw the phase plane of the control law of `mesh` for docs/models/mesh.md.

    .venv/bin/python tools/phase_plane.py

A model without noise: flows of fluid share one queue, and correct their rates at each ACK, by the mean delay
of what it covers. Left: one flow, a point for each ACK. Right: two flows, a point for each second. The
constants are the defaults of scenario files; those without a key are in
crates/multihop-transport/src/mesh/control.rs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import multihop
from multihop import figure_files, report, theme

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "models" / "mesh-phase.svg"
STEP = 0.005
"""Time step of the model, s."""
SHORTEST = 0.04
"""The shortest round trip, s."""
SLOW, FAST = 30.0, 1000.0
"""Capacities: of a chain of some hops, and of a fast path, segments per second."""
STARTS = [(0.0, 1.5), (0.0, 0.2), (1.5, 1.0), (3.0, 1.2), (3.0, 0.6), (1.5, 0.2)]
"""Backlog in segments, and rate as a share of the capacity."""
PAIRS = [(0.95, 0.05), (0.05, 0.95), (0.8, 0.5), (0.5, 0.8)]
"""Rates of two flows, as shares of the capacity."""
SECONDS = 40
ACKS = 60
PATIENCE, SPARSE, MAX_GROWTH = 20.0, 0.5, 0.5

Point = tuple[float, float]


@dataclass(frozen=True)
class Law:
    """The constants of the control law."""

    backlog: float
    delay: float
    correction: float
    gain: float
    ack_every: float


@dataclass
class Flow:
    """A sender: rates in segments per second, times in seconds."""

    law: Law
    rate: float
    error: float = 0.0
    spare: float = 0.0
    sent: float = 0.0
    waited: float = 0.0
    acks: int = 0

    def advance(self, queueing: float) -> float:
        """Segments that leave in a step, while the queue delays them for so long."""
        segments = self.rate * (1 + self.law.correction * self.error) * STEP
        self.sent += segments
        self.waited += segments * queueing
        if self.sent >= max(self.law.ack_every, self.rate * SHORTEST / 4):
            self.correct(self.waited / self.sent)
            self.sent = self.waited = 0.0
        return segments

    def correct(self, queueing: float) -> None:
        """Apply the law to one ACK, which measures this queueing delay."""
        law, rate = self.law, self.rate
        interval = law.ack_every + rate * SHORTEST
        target, backlog = law.backlog + rate * law.delay, rate * queueing
        self.error = max(-1.0, min(1.0, (target - backlog) / interval))
        part = min(1.0, self.sent / interval)
        self.spare = self.spare + part if backlog < target else 0.0
        boost = 1 + max(0.0, self.spare - PATIENCE) ** 2
        self.rate *= 1 + min(MAX_GROWTH, law.gain * self.error * boost) * part
        if backlog < target / 2:
            self.rate = max(self.rate, min(rate + self.sent / SHORTEST, SPARSE / SHORTEST))
        self.acks += 1


def defaults() -> Law:
    """Default values of the law's keys in scenario files."""
    properties = next(found for found in dictionaries(multihop.schema()) if "correction" in found)
    return Law(**{name: float(properties[name]["default"]) for name in Law.__annotations__})


def dictionaries(document: Any) -> Iterator[dict[str, Any]]:
    """Every object in a document."""
    if isinstance(document, dict):
        yield document
    if isinstance(document, dict | list):
        for inner in document.values() if isinstance(document, dict) else document:
            yield from dictionaries(inner)


def one_flow(law: Law, start: Point, acks: int = ACKS) -> list[Point]:
    """Backlog and rate at each ACK; the flow has the path for itself."""
    queue, share = start
    flow = Flow(law, share * SLOW)
    points = [start]
    while len(points) < acks:
        queue = max(0.0, queue + flow.advance(queue / SLOW) - SLOW * STEP)
        if flow.acks == len(points):
            points.append((queue, flow.rate / SLOW))
    return points


def two_flows(law: Law, start: Point, capacity: float) -> list[Point]:
    """Rates of two flows in one queue as shares of its capacity, second by second."""
    flows = [Flow(law, share * capacity) for share in start]
    queue = 0.0
    points = [start]
    for step in range(1, round(SECONDS / STEP) + 1):
        arrived = sum(flow.advance(queue / capacity) for flow in flows)
        queue = max(0.0, queue + arrived - capacity * STEP)
        if step % round(1 / STEP) == 0:
            points.append((flows[0].rate / capacity, flows[1].rate / capacity))
    return points


def draw(law: Law) -> str:
    """The picture, as SVG."""
    with report.drawing():
        figure = report.Picture(figsize=(9.6, 4.4), layout="constrained")
        left, right = figure.subplots(1, 2)
    light = [name for name in theme.DARK if name != theme.BLACK]
    left.set(
        xlabel="backlog, segments", ylabel="rate / capacity", title=f"one flow, {SLOW:g} segments per second"
    )
    for start, colour in zip(STARTS, light, strict=False):
        trace(left, one_flow(law, start), colour)
    right.set(
        xlabel="rate of the first flow / capacity",
        ylabel="rate of the second / capacity",
        title="two flows",
    )
    for capacity, marker, colour in ((SLOW, "o", light[0]), (FAST, "s", light[1])):
        for number, start in enumerate(PAIRS):
            label = f"{capacity:g} segments per second" if number == 0 else ""
            trace(right, two_flows(law, start, capacity), colour, marker, label)
    report.reference(right, [0, 1], [0, 1], "equal", ":")
    report.reference(right, [0, 1], [1, 0], "capacity", "--")
    right.legend(fontsize=8)
    return figure_files.figure_file(figure)


def trace(axes: Any, points: list[Point], colour: str, marker: str = "o", label: str = "") -> None:
    """One trajectory; its start is an open mark."""
    x, y = zip(*points, strict=True)
    axes.plot(x, y, color=colour, marker=marker, markersize=2, linewidth=0.8, label=label)
    axes.plot(x[:1], y[:1], color=colour, marker=marker, markersize=6, fillstyle="none")


if __name__ == "__main__":
    PICTURE.write_text(draw(defaults()), encoding="utf-8")
    print(PICTURE)
