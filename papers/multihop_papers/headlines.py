"""Findings as sentences: what a figure or a table shows, from the numbers of which it is made."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import polars as pl

from multihop.run_charts import SERIES_LABELS
from multihop.stats import Interval
from multihop_papers.declare import Axis, Plot
from multihop_papers.recorded import Recorded
from multihop_papers.sentences import differ, extremes, gap, no_difference
from multihop_papers.study import Values

NUMBER = re.compile(r"(-?[\d.]+(?:e[+-]?\d+)?)(?: ± ([\d.]+))?")


def of_study(study: Recorded) -> str:
    """The finding of the first figure of a study that has one; empty if no sentence can state it."""
    return next((found for plot in study.experiment.plots if (found := of_plot(study, plot))), "")


def of_plot(study: Recorded, plot: Plot) -> str:
    """The finding of a figure; empty if no sentence can state it."""
    if plot.kind not in study.kinds and not study.means:
        return ""
    kinds = {"line": _of_lines, "bar": _of_bars, "scatter": _of_dots, "time": _of_series}
    return kinds[plot.kind](study, plot)


def of_tables(blocks: Sequence[str]) -> str:
    """The largest and the smallest mean in the first table of means that some blocks of a page have."""
    for before, block in zip(["", *blocks], blocks, strict=False):
        lines = block.splitlines()
        if len(lines) < 4 or not lines[1].startswith("| ---"):
            continue
        head, _, *rows = [
            [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines if line[:1] == "|"
        ]
        first = next((place for place, cell in enumerate(rows[0]) if "±" in cell), 0)
        columns = [place for place in range(first, len(head)) if all(_interval(row[place]) for row in rows)]
        if not first or not columns:
            continue
        label, spread = before.split(". ", 1)[0], SPREAD.match(before)
        if ", " in head[columns[0]]:
            label, columns = head[columns[0]], columns[:1]
        elif not spread:
            continue
        names = {
            (place, number): ", ".join(
                [*_words(head[:first], row), *([head[place]] if len(columns) > 1 else [])]
            )
            for place in columns
            for number, row in enumerate(rows)
        }
        found = {names[place, number]: _interval(rows[number][place]) for place, number in names}
        return extremes(label, {name: mean for name, mean in found.items() if mean is not None})
    return ""


def _words(head: Sequence[str], row: Sequence[str]) -> list[str]:
    """The first cells of a row; a number follows the head of its column."""
    return [
        f"{name} {cell}" if re.fullmatch(r"[\d.]+", cell) else cell
        for name, cell in zip(head, row, strict=False)
    ]


def _interval(text: str) -> Interval | None:
    found = NUMBER.fullmatch(text)
    return Interval(float(found[1]), float(found[2] or 0), 2, 0.95) if found else None


def _of_lines(study: Recorded, plot: Plot) -> str:
    """Compare the lines at the value of the axis at which they differ most clearly."""
    axis = _axis(study, plot.x)
    cells = _cells(study, plot)
    points = {
        value: {
            _named(study, cell, plot.by): found
            for cell, found in cells.items()
            if plot.by and _value(study, cell, plot.x) == value
        }
        for value in reversed(list(axis.values))
    }
    points = {value: here for value, here in points.items() if len(here) > 1}
    if not points:
        ends = {
            _at(axis, _value(study, cell, plot.x)).removeprefix("with "): found
            for cell, found in cells.items()
        }
        return extremes(_label(study, plot), ends, _where(study, plot))
    if len({str(found) for here in points.values() for found in here.values()}) == 1:
        return extremes(_label(study, plot), points[next(iter(points))], _where(study, plot))
    if len(points) > 1 and not any(differ(here.values()) for here in points.values()):
        kind, place = _noun(_axis(study, plot.by)), _noun(axis)
        every = f"{'with' if any(isinstance(value, str) for value in points) else 'at'} every {place}"
        return no_difference(_label(study, plot), kind, every, _where(study, plot))
    value = max(points, key=lambda value: gap(points[value].values()))
    return extremes(_label(study, plot), points[value], _both(_where(study, plot), _at(axis, value)))


def _noun(axis: Axis) -> str:
    """The label of an axis without its unit, as a singular noun."""
    name, comma, unit = (axis.label or axis.name).rpartition(", ")
    noun = {"v": "speed"}.get(name, name.removeprefix("v, ")) if comma else unit
    is_count = noun.endswith("s") and all(type(value) is int for value in axis.values)
    return f"number of {noun}" if is_count else noun


def _of_bars(study: Recorded, plot: Plot) -> str:
    names = [name for name in (plot.by, plot.x) if name]
    found = {
        ", ".join(_named(study, cell, name) for name in names): mean
        for cell, mean in _cells(study, plot).items()
    }
    return extremes(_label(study, plot), found, _where(study, plot))


def _of_dots(study: Recorded, plot: Plot) -> str:
    pairs = [
        (x[seed], y[seed])
        for cell in study.cells()
        for x, y in [(study.samples(plot.x, cell), study.samples(plot.metric, cell))]
        for seed in x
        if seed in y
    ]
    below = sum(y < x for x, y in pairs)
    if not pairs:
        return ""
    names = [_metric(study, name).rpartition(", ")[0] or name for name in (plot.metric, plot.x)]
    return f"In {below} of {len(pairs)} runs the {names[0]} is less than the {names[1]}."


def _of_series(study: Recorded, plot: Plot) -> str:
    found: dict[str, tuple[float, float]] = {}
    for cell in _select(study, plot):
        series = study.series(cell)
        part = series.filter(pl.col("series") == plot.metric) if series is not None else None
        if part is not None and part.height:
            name = str(_value(study, cell, plot.by)) if plot.by else "the flow"
            values = part["value"].to_list()
            found.setdefault(name, (min(values), max(values)))
    if not found:
        return ""
    label, _, unit = SERIES_LABELS.get(plot.metric, plot.metric).rpartition(", ")
    label, unit = (label, unit) if label else (unit, "")
    spread = {name: high - low for name, (low, high) in found.items()}
    widest = max(spread, key=lambda name: spread[name])
    low, high = found[widest]
    return f"With {widest} the {label} varies most, from {low:.3g} to {high:.3g} {unit}".strip() + "."


SPREAD = re.compile(r"([^.|]+, \S+|share of [^.|]+)\. ")
"""The metric in front of the caption of a table whose columns are values of an axis."""


def _cells(study: Recorded, plot: Plot) -> dict[Values, Interval]:
    """The cells of the first panel of a figure, and their means."""
    return {
        cell: found for cell in _select(study, plot) if (found := study.mean(plot.metric, cell)) is not None
    }


def _select(study: Recorded, plot: Plot) -> list[Values]:
    panel = {plot.panel: next(iter(_axis(study, plot.panel).values))} if plot.panel else {}
    wanted = {**panel, **plot.at}
    return [
        cell
        for cell in study.cells()
        if all(
            _value(study, cell, name) in value
            if isinstance(value, list)
            else _value(study, cell, name) == value
            for name, value in wanted.items()
        )
    ]


def _where(study: Recorded, plot: Plot) -> str:
    """Name of the first panel of a figure."""
    if not plot.panel:
        return ""
    axis = _axis(study, plot.panel)
    return _at(axis, next(iter(axis.values)))


def _both(one: str, other: str) -> str:
    """Two names that begin with the same word, or the one that is not empty."""
    return f"{one} and {other.removeprefix('with ')}" if one else other


def _named(study: Recorded, cell: Values, name: str) -> str:
    """The value of an axis in a cell; a number, *on* or *off* after the name of the axis."""
    value = _value(study, cell, name)
    if isinstance(value, int | float) or value in ("on", "off"):
        return _at(_axis(study, name), value).removeprefix("with ")
    return str(value)


def _at(axis: Axis, value: Any) -> str:
    """An axis and a value of it, with the unit that follows the last comma of its label."""
    name, comma, unit = (axis.label or axis.name).rpartition(", ")
    name = "speed" if name == "v" else name.removeprefix("v, ")
    if isinstance(value, bool):
        value = "on" if value else "off"
    if value in ("on", "off"):
        return f"with {unit} {value}"
    number = f"{value:g}" if isinstance(value, float) else str(value)
    if not comma and isinstance(value, int) and unit.endswith("s"):
        return f"with {number} {unit if value != 1 else unit.removesuffix('s')}"
    return f"with {name} {number} {unit}" if comma else f"with {unit} {number}"


def _label(study: Recorded, plot: Plot) -> str:
    return _metric(study, plot.metric)


def _metric(study: Recorded, name: str) -> str:
    return next(metric.label for metric in study.experiment.metrics if metric.name == name)


def _axis(study: Recorded, name: str) -> Axis:
    return next(axis for axis in study.axes if axis.name == name)


def _value(study: Recorded, cell: Values, name: str) -> Any:
    names = [axis.name for axis in study.axes]
    return cell[names.index(name)] if name else None
