"""Figures of sweeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
from matplotlib.figure import Figure

from multihop.report import OTHERS, Style, curve, known, new_figure, style
from multihop.stats import interval

if TYPE_CHECKING:
    from multihop.sweeping import Sweep


def over_an_axis(sweep: Sweep, x: str, metric: str, by: str | None) -> Figure:
    """A metric over one axis of a sweep, with a curve for each value of another."""
    along, among = axis(sweep, x), axis(sweep, by) if by is not None else None
    others = set(sweep.axes) - {along, among}
    if others:
        raise ValueError(f"the sweep also varies {', '.join(sorted(others))}: filter its runs, or pass `by`")
    if metric not in sweep.runs.columns:
        raise ValueError(f"no metric {metric!r}, allowed: {', '.join(metrics(sweep))}")
    figure, axes = new_figure(short(along), metric)
    groups = sweep.runs.group_by([among], maintain_order=True) if among else [((metric,), sweep.runs)]
    for number, ((value,), runs) in enumerate(groups):
        points = [
            (place, interval(samples))
            for (place,), group in runs.group_by([along], maintain_order=True)
            if len(samples := group[metric].drop_nulls()) > 0
        ]
        curve(
            axes,
            [place for place, _ in points],
            [mean for _, mean in points],
            str(value),
            look=look(value, number),
        )
    axes.set_ylim(bottom=0)
    if among:
        axes.legend(title=short(among))
    return figure


def axis(sweep: Sweep, name: str) -> str:
    """The axis of this name, which may be the last part of its whole name."""
    found = [one for one in sweep.axes if name in (one, short(one))]
    if len(found) != 1:
        raise ValueError(f"no axis {name!r}, allowed: {', '.join(map(short, sweep.axes)) or 'none'}")
    return found[0]


def short(key: str) -> str:
    """The last part of a dotted key."""
    return key.rpartition(".")[2]


def metrics(sweep: Sweep) -> list[str]:
    """The columns that can be drawn."""
    runs = sweep.runs.select(pl.selectors.numeric())
    return [name for name in runs.columns if "." in name and name not in sweep.axes]


def look(value: Any, number: int) -> Style:
    """The style of a transport, or the next one of other curves."""
    return style(str(value)) if known(str(value)) else OTHERS[number % len(OTHERS)]
