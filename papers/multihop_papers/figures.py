"""Figures in the shape of the papers'."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend

from multihop import report, theme
from multihop.run_charts import SERIES_LABELS
from multihop_papers.declare import Axis, Plot
from multihop_papers.study import Study, Values

WIDEST = 3
"""Panels in a row."""
LABEL_WIDTH = 0.04
"""Width of the label of a tick, as a share of the axis."""
LONG_NAMES = 50
"""Characters of all names of bars together above which bars are horizontal, each beside its name."""
BAR_HEIGHT = 0.3
"""Height of a horizontal bar with its margin, in inches."""


def draw(study: Study, plot: Plot) -> Figure | None:
    """A figure of a study; none if nothing of it was run."""
    if not study.accepted():
        return None
    kinds = {"line": _lines, "bar": _bars, "time": _series, "scatter": _scatter}
    panels = _panels(study, plot)
    columns = min(len(panels), WIDEST)
    lines = math.ceil(len(panels) / columns)
    with report.drawing():
        figure = Figure(figsize=_size(study, plot, lines, columns), layout="constrained")
        shared = plot.kind != "time" and not plot.apart
        horizontal = _horizontal(study, plot)
        grid = figure.subplots(lines, columns, squeeze=False, sharex=shared and horizontal, sharey=shared)
    for axes, panel in zip(grid.flat, panels, strict=False):
        kinds[plot.kind](axes, study, plot, _at(plot, panel))
        if panel is not None:
            axes.set_title(_panel_title(_axis(study, plot.panel), panel), fontsize=10)
    for axes in grid.flat[: len(panels)]:
        # Once all are drawn: a limit that is set stays, and holds for all panels that share it.
        if horizontal:
            axes.set_xlim(left=0)
        else:
            axes.set_ylim(bottom=0)
    for axes in list(grid.flat)[len(panels) :]:
        axes.set_visible(False)
    _legend(figure, [axes for axes in grid.flat if axes.get_visible()], study.experiment.reference)
    return figure


def _panels(study: Study, plot: Plot) -> Sequence[Any]:
    """Values of the axis that gives each panel of a figure; None alone for a figure without such an axis."""
    return list(_axis(study, plot.panel).values) if plot.panel else [None]


def _panel_title(axis: Axis, value: Any) -> str:
    """The name of an axis and a value of it, with the unit that follows the last comma of the name."""
    name, _, unit = (axis.label or axis.name).rpartition(", ")
    number = f"{value:g}" if isinstance(value, float) else str(value)
    return f"{name}: {number} {unit}" if name else f"{unit} {number}"


def _at(plot: Plot, panel: Any) -> dict[str, Any]:
    """The cells of a panel."""
    return {**plot.at, **({} if panel is None else {plot.panel: panel})}


def first_cells(study: Study, plot: Plot) -> list[Values]:
    """The cells whose first runs a figure of series shows."""
    return [cells[0] for panel in _panels(study, plot) for _, cells in _groups(study, plot, _at(plot, panel))]


def _lines(axes: Axes, study: Study, plot: Plot, at: dict[str, Any]) -> None:
    x_axis = _axis(study, plot.x)
    for value, cells in _groups(study, plot, at):
        points = [(cell, found) for cell in cells if (found := study.mean(plot.metric, cell))]
        if points:
            x = [_number(_value(study, cell, plot.x), x_axis) for cell, _ in points]
            means = [found for _, found in points]
            label = str(value)
            report.curve(axes, x, means, str(value), label, look=_look(study, plot, value))
        _theirs(
            axes, study, plot, cells, str(value), [_number(_value(study, c, plot.x), x_axis) for c in cells]
        )
    _label_axes(axes, study, plot, x_axis)


def _bars(axes: Axes, study: Study, plot: Plot, at: dict[str, Any]) -> None:
    x_axis = _axis(study, plot.x)
    groups = list(_groups(study, plot, at))
    horizontal = _horizontal(study, plot)
    width = 0.8 / max(1, len(groups))
    for number, (value, cells) in enumerate(groups):
        x = [
            _place(_value(study, cell, plot.x), x_axis) + width * (number - (len(groups) - 1) / 2)
            for cell in cells
        ]
        for place, cell in zip(x, cells, strict=True):
            found = study.mean(plot.metric, cell)
            if found is not None:
                look = _look(study, plot, value if plot.by else _value(study, cell, plot.x))
                label = str(value) if plot.by and cell is cells[0] else None
                report.bar(
                    axes,
                    place,
                    found.mean,
                    found.half,
                    look,
                    width=width * 0.9,
                    label=label,
                    horizontal=horizontal,
                )
        _theirs(axes, study, plot, cells, "", x, horizontal=horizontal)
    names = [str(value) for value in x_axis.values]
    if horizontal:
        axes.set(xlabel=_metric_label(study, plot.metric))
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.4, -0.6)  # the first name on top
    else:
        _label_axes(axes, study, plot, x_axis)
        axes.set_xticks(range(len(names)), names)


def _horizontal(study: Study, plot: Plot) -> bool:
    """Whether the bars of a figure are horizontal: their names are too long to stand below them."""
    return plot.kind == "bar" and sum(len(str(value)) for value in _axis(study, plot.x).values) > LONG_NAMES


def _size(study: Study, plot: Plot, lines: int, columns: int) -> tuple[float, float]:
    """Width and height of a figure, in inches."""
    height = 4.4 if lines == 1 else 3.0 * lines
    if _horizontal(study, plot):
        bars = len(_groups_of(study, plot)) * len(_axis(study, plot.x).values)
        height = max(2.4, 1.2 + BAR_HEIGHT * bars) * lines
    return max(7.2, 4.0 * columns), height


def _groups_of(study: Study, plot: Plot) -> Sequence[Any]:
    """Values of the axis that gives several bars to each name."""
    return list(_axis(study, plot.by).values) if plot.by else [OURS]


def _series(axes: Axes, study: Study, plot: Plot, at: dict[str, Any]) -> None:
    for value, cells in _groups(study, plot, at):
        every = study.series(cells[0])
        if every is None:
            continue
        series = every.filter(pl.col("series") == plot.metric)
        for (subject, number), part in series.group_by("subject", "id", maintain_order=True):
            several = series["id"].n_unique() > 1
            name = f"{value}, {subject} {number}" if several else str(value)
            look = _look(study, plot, value)
            gap = 1.65 + 2 * (list(_axis(study, plot.by).values).index(value) if plot.by else 0)
            line = look.line if number == 0 else (0, (1, gap))
            axes.plot(
                part["time"], part["value"], color=look.colour, linestyle=line, linewidth=1.1, label=name
            )
    axes.set(xlabel="time, s", ylabel=SERIES_LABELS.get(plot.metric, plot.metric))


def _scatter(axes: Axes, study: Study, plot: Plot, at: dict[str, Any]) -> None:
    largest = 0.0
    for value, cells in _groups(study, plot, at):
        x_y = [
            (x[s], y[s])
            for c in cells
            for x, y in [(study.samples(plot.x, c), study.samples(plot.metric, c))]
            for s in x
            if s in y
        ]
        look = _look(study, plot, value)
        axes.plot(
            [x for x, _ in x_y],
            [y for _, y in x_y],
            color=look.colour,
            marker=look.marker,
            linestyle="none",
            markersize=4,
            alpha=0.8,
            label=str(value),
        )
        largest = max([largest, *(v for pair in x_y for v in pair)])
    report.reference(axes, [0, largest], [0, largest], "equal", "--")
    axes.set(xlabel=_metric_label(study, plot.x), ylabel=_metric_label(study, plot.metric))


def _theirs(
    axes: Axes,
    study: Study,
    plot: Plot,
    cells: Sequence[Values],
    name: str,
    x: Sequence[float],
    *,
    horizontal: bool = False,
) -> None:
    """The paper's numbers as hollow diamonds; on horizontal bars with places and numbers exchanged."""
    printed = [(place, study.published(plot.metric, cell)) for place, cell in zip(x, cells, strict=True)]
    points = [
        (place, value if isinstance(value, tuple) else (value, 0.0))
        for place, value in printed
        if value is not None
    ]
    if not points:
        return
    colour = theme.style(name).colour if theme.known(name) else theme.BLACK
    known = axes.get_legend_handles_labels()[1]
    places, means = [place for place, _ in points], [mean for _, (mean, _) in points]
    halves = [half for _, (_, half) in points]
    axes.errorbar(
        means if horizontal else places,
        places if horizontal else means,
        xerr=halves if horizontal else None,
        yerr=None if horizontal else halves,
        color=colour,
        marker="D",
        markerfacecolor="white",
        linestyle="none",
        markersize=5,
        capsize=2,
        zorder=3,
        label=None if study.experiment.reference in known else study.experiment.reference,
    )


def _look(study: Study, plot: Plot, value: Any) -> theme.Style:
    """The style of a curve. Curves of one figure differ in marker or line, also without colour."""
    axis = next((axis for axis in study.axes if axis.name == (plot.by or plot.x)), None)
    values = list(axis.values) if axis else []
    if value not in values:
        return _own_look(study, plot, value)
    return theme.distinct(_own_look(study, plot, one) for one in values)[values.index(value)]


def _own_look(study: Study, plot: Plot, value: Any) -> theme.Style:
    """A transport has its style, "elfn, 2 s" the colour of ELFN; others go by their place."""
    if theme.known(str(value)):
        return theme.style(str(value))
    axes = [axis for axis in study.axes if axis.name == (plot.by or plot.x)]
    family = _family(value)
    others = [one for axis in axes for one in axis.values if _family(one) == family]
    # The plain member of a family has the look before those of the others.
    place = others.index(value) + bool(family) if value in others else 0
    look = theme.other(place)
    return replace(look, colour=theme.style(family).colour) if family else look


def _family(value: Any) -> str:
    """The transport that a value with more words is a variant of."""
    family, comma, _ = str(value).partition(",")
    return family if comma and theme.known(family) else ""


def _groups(study: Study, plot: Plot, at: dict[str, Any]) -> list[tuple[Any, list[Values]]]:
    """The cells of a panel, by what has a look of its own."""
    if not plot.by:
        return [(OURS, study.select(at))]
    given = at.get(plot.by, list(_axis(study, plot.by).values))
    values = given if isinstance(given, list) else [given]
    return [(value, cells) for value in values if (cells := study.select({**at, plot.by: value}))]


def _axis(study: Study, name: str) -> Axis:
    return next(axis for axis in study.axes if axis.name == name)


def _value(study: Study, cell: Values, name: str) -> Any:
    names = [axis.name for axis in study.experiment.axes]
    return cell[names.index(name)]


def _number(value: Any, axis: Axis) -> float:
    return float(value) if isinstance(value, int | float) else _place(value, axis)


def _place(value: Any, axis: Axis) -> float:
    return float(list(axis.values).index(value))


def _label_axes(axes: Axes, study: Study, plot: Plot, x_axis: Axis) -> None:
    axes.set(xlabel=x_axis.label or x_axis.name, ylabel=_metric_label(study, plot.metric))
    if plot.kind == "line":
        if all(isinstance(value, int | float) for value in x_axis.values):
            axes.set_xticks(list(x_axis.values), _tick_labels(list(x_axis.values)))
        else:
            axes.set_xticks(range(len(x_axis.values)), [str(value) for value in x_axis.values])


def _tick_labels(values: Sequence[float]) -> list[str]:
    """The values as labels of ticks; empty where a label would cover the one before it."""
    labels, last = [], -math.inf
    for value in values:
        near = abs(value - last) < LABEL_WIDTH * (max(values) - min(values))
        labels.append("" if near else f"{value:g}")
        last = last if near else value
    return labels


def _metric_label(study: Study, name: str) -> str:
    return next(metric.label for metric in study.experiment.metrics if metric.name == name)


def _legend(figure: Figure, panels: Sequence[Axes], reference: str) -> None:
    found = [pair for axes in panels for pair in zip(*axes.get_legend_handles_labels(), strict=True)]
    unique = {label: handle for handle, label in reversed(found)}
    labels = list(dict.fromkeys(label for _, label in found))
    handles = [unique[label] for label in labels]
    order = sorted(range(len(labels)), key=lambda place: labels[place] == reference)
    handles, labels = [handles[place] for place in order], [labels[place] for place in order]
    if len(labels) > 1 or labels == [reference]:
        draw_legend(figure, handles, labels)


def draw_legend(figure: Figure, handles: Sequence[Any], labels: Sequence[str]) -> Legend:
    """Draw a legend below the panels, with as many columns as fit into the figure, and at most five."""
    columns = min(len(labels), 5)
    while True:
        legend = figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=9)
        if columns == 1 or legend.get_window_extent().width <= figure.bbox.width:
            return legend
        legend.remove()
        columns -= 1


OURS = "ours"
"""The name of a curve that has no other."""
