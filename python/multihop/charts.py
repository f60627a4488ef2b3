"""Charts of pages: what a figure of matplotlib shows, as SVG that fits every width, and as a table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedFormatter, FuncFormatter

from multihop.stats import format_mean
from multihop.theme import NAMES, known, other, style

HEIGHT = 230
"""Height of a panel, px. Its width is that of the window, in thousandths."""
NARROWEST = 270
"""The width of a panel on a telephone, px: tick labels must fit."""
WIDE = 600
"""Width of a panel on a desk, px, where long labels need not be tilted; page.css has it, too."""
LETTER = 6.7
"""The width of a letter of a tick label, px."""
MOST_ROWS = 400
"""Largest number of rows of a table that stands beside a chart."""
MOST_MARKERS = 40
"""Largest number of markers on one curve."""
MARKERS = {
    "o": "o",
    "s": "s",
    "D": "d",
    "^": "u",
    "v": "v",
    "P": "p",
    "x": "x",
    "X": "x",
    ".": "o",
    "|": "i",
    "<": "l",
    ">": "r",
    "*": "a",
    "h": "h",
}
"""The symbols of the page for markers of matplotlib."""
DASHES = {"-": "solid", "--": "dashed", "-.": "dashdot", ":": "dotted"}


@dataclass(frozen=True)
class Point:
    """A value, with half its interval."""

    x: float
    y: float
    half: float = 0.0

    def __str__(self) -> str:
        return format_mean(self.y, self.half) if self.half else f"{self.y:.6g}"


@dataclass
class Curve:
    """Values with one look."""

    name: str
    colour: str
    points: list[Point]
    dash: str = ""
    """Empty if the points are not joined."""
    marker: str = ""
    hollow: bool = False
    width: float = 0.0
    """Width of bars, in units of x."""
    steps: bool = False
    marked: tuple[int, int] = (0, 1)
    """The first point with a marker, and the number of points from one marker to the next."""


@dataclass(frozen=True)
class Scale:
    """An axis: values to shares of its length."""

    low: float
    high: float
    log: bool

    def __call__(self, value: float) -> float:
        """The share of a value."""
        low, high, at = (
            map(math.log, (self.low, self.high, value)) if self.log else (self.low, self.high, value)
        )
        return (at - low) / (high - low) if high > low else 0.5


@dataclass
class Panel:
    """One set of axes."""

    title: str
    x_label: str
    y_label: str
    x: Scale
    y: Scale
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]
    categories: bool
    curves: list[Curve]
    bands: list[tuple[str, list[tuple[float, float]]]]
    """Areas: colour and corners."""
    rules: list[tuple[str, float]]
    """Vertical lines: colour and place."""
    rows: list[Row] = field(default_factory=list)

    def across(self, x: float) -> str:
        """A place in the chart, in thousandths of its width."""
        return f"{1000 * self.x(x):.1f}".removesuffix(".0")

    def percent(self, x: float) -> str:
        """Position of `x` in the chart, as a percentage of its width."""
        return f"{100 * self.x(x):.2f}%"

    def down(self, y: float) -> str:
        """A place in the chart, in px from its top."""
        share = self.y(y) if y > 0 or not self.y.log else 0.0
        return f"{HEIGHT * (1 - min(1.0, max(0.0, share))):.1f}".removesuffix(".0")

    def path(self, curve: Curve) -> str:
        """The corners of a curve."""
        corners = []
        for number, point in enumerate(curve.points):
            if curve.steps and number:
                corners.append((point.x, curve.points[number - 1].y))
            corners.append((point.x, point.y))
        return self.corners(corners)

    def corners(self, places: Iterable[tuple[float, float]]) -> str:
        """Corners of a line or area."""
        return " ".join(f"{self.across(x)},{self.down(y)}" for x, y in places)

    def marked(self, curve: Curve) -> list[Point]:
        """The points that have a marker."""
        first, every = curve.marked
        if curve.dash:
            every = max(every, math.ceil(len(curve.points) / MOST_MARKERS))
        return [one for one in curve.points[first::every] if self.shows(one)]

    def shows(self, point: Point) -> bool:
        """Whether a point is within the axes."""
        return self.x.low <= point.x <= self.x.high and self.y.low <= point.y <= self.y.high

    @property
    def tilted(self) -> str:
        """Where labels of categories are too long to stand side by side: nowhere, if narrow, or always."""
        longest = max((len(text) for _, text in self.x_ticks), default=0)
        room = (longest + 1) * LETTER * len(self.x_ticks) if self.categories else 0
        return "always" if room > WIDE else "narrow" if room > NARROWEST else ""

    @property
    def below(self) -> int:
        """Space that tilted labels need, px."""
        return round(0.8 * LETTER * max(len(text) for _, text in self.x_ticks))

    @property
    def columns(self) -> list[str]:
        """The names of the curves in the table."""
        return list(dict.fromkeys(one.name or self.y_label for one in self.curves))


@dataclass
class Row:
    """A line of the table beside a chart."""

    x: str
    place: str
    """Position of the line's values in the chart, in thousandths of its width."""
    height: str
    """Distance of the line's value from the chart's top, in px; empty if the line has several
    values.
    """
    cells: list[str]


@dataclass(frozen=True)
class Chart:
    """Contents of one figure: its panels, curves and labels."""

    panels: list[Panel]
    legend: list[Curve]


def read(figure: Figure) -> Chart:
    """Contents of a figure of matplotlib, for a page."""
    panels = [panel_of(axes) for axes in figure.axes if axes.get_visible()]
    labels = [panel.x_label for panel in panels]
    for place, panel in enumerate(panels):
        # Panels that share an axis carry its label once.
        panel.x_label = panel.x_label or next((one for one in labels[place:] if one), "")
        panel.y_label = panel.y_label or panels[0].y_label
        panel.rows = list(rows_of(panel))
    named = {curve.name: curve for panel in panels for curve in panel.curves if curve.name}
    told = len(named) > 1 or any(curve.hollow for curve in named.values())
    return Chart(panels, list(named.values()) if told else [])


def panel_of(axes: Axes) -> Panel:
    """One set of axes."""
    curves = list(curves_of(axes))
    points = [point for curve in curves for point in curve.points]
    categories = isinstance(axes.xaxis.get_major_formatter(), FixedFormatter | FuncFormatter)
    x = scale(axes.get_xlim(), axes.get_xscale(), [] if categories else [point.x for point in points])
    y = scale(axes.get_ylim(), axes.get_yscale(), [point.y for point in points])
    texts = [one.get_text() for one in axes.get_xticklabels()] if categories else None
    return Panel(
        title=axes.get_title(),
        x_label=axes.get_xlabel(),
        y_label=axes.get_ylabel(),
        x=x,
        y=y,
        x_ticks=fitting(ticks(axes.get_xticks(), x, texts))
        if not categories
        else ticks(axes.get_xticks(), x, texts),
        y_ticks=ticks(axes.get_yticks(), y),
        categories=categories,
        curves=curves,
        bands=[
            (colour(one.get_facecolor()), corners(one))
            for one in axes.collections
            if isinstance(one, PolyCollection)
        ],
        rules=[
            (colour(one.get_color()), float(abscissae(one)[0])) for one in axes.lines if is_rule(one, axes)
        ],
    )


def scale(limits: tuple[float, float], kind: str, values: Sequence[float]) -> Scale:
    """An axis; one of values that are all positive does not begin below zero."""
    low, high = map(float, limits)
    if values and min(values) >= 0:
        low = max(low, 0.0)
    return Scale(low, high, kind == "log")


def ticks(
    places: Iterable[float], along: Scale, texts: Sequence[str] | None = None
) -> list[tuple[float, str]]:
    """The ticks within an axis."""
    named = zip(places, texts or [f"{float(place):g}" for place in places], strict=True)
    slack = 1e-9 * (along.high - along.low)
    return [(float(place), text) for place, text in named if along.low - slack <= place <= along.high + slack]


def fitting(found: list[tuple[float, str]]) -> list[tuple[float, str]]:
    """Every so many ticks, so that their texts have room."""
    room = sum(len(text) + 2 for _, text in found) * LETTER
    return found[:: max(1, math.ceil(room / NARROWEST))]


def curves_of(axes: Axes) -> Iterator[Curve]:
    """All curves of a panel: points, lines and bars."""
    yield from bars_of(axes)
    parts: set[Line2D] = set()
    for container in axes.containers:
        if isinstance(container, ErrorbarContainer):
            line, caps, _ = container.lines
            parts |= {line, *caps}
            if line is not None:
                yield curve_of(line, label(container), errors_of(container))
    for line in axes.lines:
        if line not in parts and not is_rule(line, axes):
            yield curve_of(line, label(line), [])


def bars_of(axes: Axes) -> Iterator[Curve]:
    """Bars, those with one look together."""
    found: dict[tuple[str, str], Curve] = {}
    for container in axes.containers:
        if isinstance(container, BarContainer):
            errors = container.errorbar
            halves = errors_of(errors) if errors is not None else []
            for number, bar in enumerate(container.patches):
                # The edge has the colour of the transport, the face may be paler.
                look = colour(
                    bar.get_edgecolor()
                    if to_hex(bar.get_edgecolor(), keep_alpha=True)[-2:] != "00"
                    else bar.get_facecolor()
                )
                curve = found.setdefault((look, bar.get_hatch() or ""), Curve(label(container), look, []))
                curve.width = bar.get_width()
                curve.marker = MARKERS[sign(curve.name, list(found).index((look, bar.get_hatch() or "")))]
                half = halves[number] if number < len(halves) else 0.0
                curve.points.append(Point(bar.get_x() + bar.get_width() / 2, bar.get_height(), half))
    return iter(found.values())


def sign(name: str, place: int) -> str:
    """The marker on a bar: that of a transport, or another for each look."""
    return style(name).marker if known(name) else other(place).marker


def curve_of(line: Line2D, name: str, halves: Sequence[float]) -> Curve:
    """A line with its markers."""
    marker = str(line.get_marker())
    pairs = list(zip(abscissae(line), numbers(line.get_ydata()), strict=True))
    spread = halves if len(halves) == len(pairs) else [0.0] * len(pairs)
    return Curve(
        name,
        colour(line.get_color()),
        [
            Point(x, y, half)
            for (x, y), half in zip(pairs, spread, strict=True)
            if math.isfinite(x) and math.isfinite(y)
        ],
        dash=DASHES.get(str(line.get_linestyle()), ""),
        marker=MARKERS.get(marker, ""),
        hollow=to_hex(line.get_markerfacecolor()) == "#ffffff",
        steps=str(line.get_drawstyle()).startswith("steps"),
        marked=marked_of(line),
    )


def marked_of(line: Line2D) -> tuple[int, int]:
    """The first point with a marker, and the number of points from one marker to the next."""
    match line.get_markevery():
        case (int(first), int(every)):
            return first, every
        case _:
            return 0, 1


def rows_of(panel: Panel) -> Iterator[Row]:
    """The values of a panel by x, no more than MOST_ROWS lines."""
    columns = panel.columns
    names = {round(place): text for place, text in panel.x_ticks} if panel.categories else {}
    found: dict[float, list[list[Point]]] = {}
    for curve in panel.curves:
        column = columns.index(curve.name or panel.y_label)
        for point in curve.points:
            x = float(round(point.x)) if names else point.x
            found.setdefault(x, [[] for _ in columns])[column].append(point)
    every = max(1, math.ceil(len(found) / MOST_ROWS))
    for x in sorted(found)[::every]:
        points = [point for cell in found[x] for point in cell]
        height = panel.down(points[0].y) if len(points) == 1 else ""
        cells = ["; ".join(map(str, cell)) for cell in found[x]]
        yield Row(names.get(round(x), f"{x:.6g}"), panel.across(x), height, cells)


def errors_of(container: ErrorbarContainer) -> list[float]:
    """Half the lengths of error bars; those of missing values have no ends."""
    _, _, bars = container.lines
    ends = (line for one in bars for line in one.get_segments())
    return [float(line[1][1] - line[0][1]) / 2 if len(line) else 0.0 for line in ends]


def corners(band: PolyCollection) -> list[tuple[float, float]]:
    """The outline of an area."""
    x, y = np.asarray(band.get_paths()[0].vertices, dtype=float).T
    return list(zip(numbers(x), numbers(y), strict=True))


def is_rule(line: Line2D, axes: Axes) -> bool:
    """Whether a line is as high as the axes, whatever the scale."""
    return line.get_transform() != axes.transData


def abscissae(line: Line2D) -> list[float]:
    """The x of a line."""
    return numbers(line.get_xdata())


def numbers(values: Any) -> list[float]:
    """Values of matplotlib as numbers."""
    return [float(value) for value in np.asarray(values, dtype=float)]


def label(artist: Any) -> str:
    """The name of an artist in the legend; empty if it is not there."""
    text = str(artist.get_label() or "")
    return "" if text.startswith("_") else text


def colour(value: Any) -> str:
    """The name of a colour for the style sheet of the page."""
    return NAMES.get(to_hex(value), "muted")
