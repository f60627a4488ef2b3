"""Figures of one run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from multihop.report import bar, new_figure
from multihop.theme import distinct, other, style

if TYPE_CHECKING:
    from multihop.results import Result

SERIES_LABELS = {
    "goodput_kbps": "goodput, kb/s",
    "hops": "path, hops",
    "shortest": "shortest path, hops",
    "cwnd": "congestion window, segments",
    "rtt_ms": "round-trip time, ms",
    "cov": "coefficient of variation",
    "queue": "queue, packets",
}
"""Labels of recorded series, with their units."""
SHARES = ("transmit", "receive", "busy", "sleep")
"""Shares of a node's time that are drawn; the rest is idle."""
MOST_LINES = 8
"""Flows or nodes in one figure."""
MARKED = 12
"""Points of a recorded series that have a marker."""


def goodput(result: Result) -> Figure:
    """A bar for each flow, in the colour of its transport."""
    figure, axes = new_figure("flow", "goodput, kb/s")
    names = []
    looks = distinct(style(transport) for transport in result.flows["transport"])
    for place, flow in enumerate(result.flows.iter_rows(named=True)):
        bar(axes, place, flow["goodput_kbps"], 0.0, looks[place])
        names.append(f"{flow['id']}: {flow['transport']}")
    axes.set_xticks(range(len(names)), names)
    return figure


def airtime(result: Result) -> Figure:
    """A point for each node and share of its time, apart from the idle time."""
    figure, axes = new_figure("node", "share of time")
    nodes = result.nodes
    for name, look in zip(SHARES, distinct(other(number) for number in range(len(SHARES))), strict=True):
        shares = nodes[f"airtime.{name}"]
        axes.plot(
            nodes["id"], shares, color=look.colour, marker=look.marker, linestyle="", label=f"{name} share"
        )
    axes.set_ylim(0, 1)
    axes.legend()
    return figure


def recorded(result: Result) -> Iterator[tuple[Figure, str]]:
    """A figure for each recorded series."""
    series = result.series
    for (name,), part in series.group_by("series", maintain_order=True):
        label = SERIES_LABELS.get(str(name), str(name))
        figure, axes = new_figure("time, s", label)
        drawn = sorted(part.group_by("subject", "id", maintain_order=True), key=lambda group: group[0])
        for number, ((subject, place), values) in enumerate(drawn[:MOST_LINES]):
            look = other(number)
            axes.plot(
                values["time"],
                values["value"],
                color=look.colour,
                linestyle=look.line,
                marker=look.marker,
                markersize=5,
                markevery=marks(number, values.height),
                label=f"{subject} {place}",
            )
        axes.set_ylim(bottom=0)
        left_out = len(drawn) - MOST_LINES
        rest = f"; {left_out} more are not drawn" if left_out > 0 else ""
        yield figure, f"{label[0].upper()}{label[1:]}, over time{rest}."


def marks(number: int, points: int) -> tuple[int, int]:
    """The first point with a marker and the step to the next one; curves have theirs at different places."""
    every = max(1, points // MARKED)
    return (number * every // MOST_LINES, every)
