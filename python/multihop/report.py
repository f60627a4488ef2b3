"""Self-contained HTML reports: text, tables and figures in one file."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import matplotlib as mpl
import polars as pl
from jinja2 import Environment, PackageLoader, StrictUndefined
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from multihop.files import complete_file
from multihop.stats import Interval

# Okabe and Ito's palette, which colour-blind people can tell apart.
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILION, PURPLE = (
    "#000000",
    "#e69f00",
    "#56b4e9",
    "#009e73",
    "#f0e442",
    "#0072b2",
    "#d55e00",
    "#cc79a7",
)


@dataclass(frozen=True)
class Style:
    """The style of a transport in figures."""

    colour: str
    marker: str
    line: str = "-"


# The family chooses the colour, the member marker and line.
STYLES = {
    "udp": Style(BLACK, "s"),
    "paced": Style(BLACK, "D", "--"),
    "reno": Style(SKY, "v"),
    "newreno": Style(BLUE, "o"),
    "newreno+da": Style(BLUE, "^", "--"),
    "newreno+dyn": Style(BLUE, "x", ":"),
    "cubic": Style(SKY, "^", "--"),
    "vegas": Style(SKY, "P", "-."),
    "westwood": Style(SKY, "x", ":"),
    "tcp-uc": Style(SKY, "o", "--"),
    "tcp-2": Style(SKY, "s", "-."),
    "tcp-3": Style(SKY, "D", ":"),
    "tcp-cwl": Style(BLUE, "P", "-."),
    "tcp-ap": Style(GREEN, "o"),
    "tcp-ap+da": Style(GREEN, "^", "--"),
    "tcp-ap+dyn": Style(GREEN, "x", ":"),
    "tcp-ap-sync": Style(GREEN, "s", "-."),
    "elfn": Style(ORANGE, "o"),
    "elfn-w": Style(ORANGE, "s", "--"),
    "elfn-rto-w": Style(ORANGE, "^", ":"),
    "adtcp": Style(PURPLE, "o"),
    "tpa-2": Style(VERMILION, "s", "--"),
    "tpa-3": Style(VERMILION, "D", "-."),
    "tpa*-2": Style(VERMILION, "^", ":"),
    "tpa*-3": Style(VERMILION, "o"),
    "tpa-ap-2": Style(YELLOW, "s", "--"),
    "tpa-ap-3": Style(YELLOW, "D", "-."),
    "tpa*-ap-3": Style(YELLOW, "o"),
}


# Styles for other curves, by index.
OTHERS = [
    Style(BLUE, "o"),
    Style(VERMILION, "s", "--"),
    Style(GREEN, "D", "-."),
    Style(PURPLE, "^", ":"),
    Style(BLACK, "v"),
    Style(ORANGE, "P", "--"),
    Style(SKY, "X", "-."),
]


def known(transport: str) -> bool:
    """Whether a transport has its own style."""
    return transport.replace("tpa-star", "tpa*").split("+")[0] in STYLES


def style(transport: str) -> Style:
    """The style of a transport, the same in every figure."""
    name = transport.replace("tpa-star", "tpa*")
    return STYLES.get(name) or STYLES.get(name.split("+")[0]) or Style(PURPLE, "x", ":")


NO_LINKS: Mapping[str, str] = {}


class Report:
    """A page, filled from top to bottom."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.parts: list[dict[str, Any]] = []

    def heading(self, text: str, anchor: str = "") -> None:
        """Begin a section; one with an anchor is listed at the top of the page."""
        self.parts.append({"kind": "heading", "text": text, "anchor": anchor})

    def text(self, text: str) -> None:
        """Add a paragraph."""
        self.parts.append({"kind": "text", "text": text})

    def bullets(self, lines: Iterable[str]) -> None:
        """Add a list."""
        self.parts.append({"kind": "bullets", "lines": list(lines)})

    def command(self, command: str) -> None:
        """Add a command that the reader can repeat."""
        self.parts.append({"kind": "command", "text": command})

    def table(self, table: pl.DataFrame, caption: str, links: Mapping[str, str] = NO_LINKS) -> None:
        """Add a table; entries in its first column may be links."""
        rows = [[Cell.of(value) for value in row] for row in table.iter_rows()]
        self.parts.append(
            {"kind": "table", "caption": caption, "head": table.columns, "rows": rows, "links": links}
        )

    def figure(self, figure: Figure, caption: str) -> None:
        """Add a figure, drawn into the page."""
        self.parts.append({"kind": "figure", "svg": svg(figure), "caption": caption})

    def write(self, path: str | PathLike[str]) -> Path:
        """Write the page and return its path."""
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        page = PAGES.get_template("page.html").render(title=self.title, parts=self.parts)
        with complete_file(target) as part:
            part.write_text(page, "utf-8")
        return target


@dataclass(frozen=True)
class Cell:
    """A value in a table."""

    text: str
    style: str
    """Of numbers, of texts that are broken into lines, or none."""

    @classmethod
    def of(cls, value: object) -> Cell:
        """How a value is shown."""
        text = _plain(value)
        return cls(text, "n" if isinstance(value, int | float) else "t" if len(text) > LONG else "")


def drawing() -> AbstractContextManager[None]:
    """The settings under which figures are made and saved.

    No time of day and no random ids, so that the same numbers give the same file.
    """
    return mpl.rc_context(
        {
            "axes.grid": True,
            "font.size": 10.0,
            "grid.alpha": 0.3,
            "svg.fonttype": "none",
            "svg.hashsalt": "multihop",
        }
    )


class Picture(Figure):
    """A figure that notebooks show without further ado."""

    def _repr_svg_(self) -> str:
        return svg(self)


def new_figure(x_label: str, y_label: str, title: str = "") -> tuple[Figure, Axes]:
    """An empty figure with one set of axes; labels carry their units."""
    with drawing():
        figure = Picture(figsize=(7.2, 4.4), layout="constrained")
        axes = figure.subplots()
    axes.set(xlabel=x_label, ylabel=y_label, title=title)
    return figure, axes


def curve(
    axes: Axes,
    x: Sequence[float],
    y: Iterable[Interval],
    transport: str,
    label: str = "",
    *,
    marker: str = "",
    joined: bool = True,
    look: Style | None = None,
) -> None:
    """Draw means with their intervals in the transport's style; only markers unless `joined`."""
    look = look or style(transport)
    points = list(y)
    halves = [point.half if math.isfinite(point.half) else 0.0 for point in points]
    axes.errorbar(
        x,
        [point.mean for point in points],
        yerr=halves,
        color=look.colour,
        marker=marker or look.marker,
        linestyle=look.line if joined else "none",
        markersize=5,
        capsize=3,
        label=label or transport,
    )


def reference(axes: Axes, x: Sequence[float], y: Sequence[float], label: str, line: str) -> None:
    """Draw a theoretical curve, in grey and without markers."""
    axes.plot(x, y, color="0.45", linestyle=line, linewidth=1.2, label=label, zorder=1)


def svg(figure: Figure) -> str:
    """The figure as SVG text for a page."""
    with drawing():
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def names_and_values(table: Mapping[str, Any]) -> pl.DataFrame:
    """A row for each value, under dotted names."""
    names, values = [], []
    for name, value in table.items():
        if isinstance(value, dict):
            inner = names_and_values(value)
            names += [f"{name}.{one}" for one in inner["what"]]
            values += inner["value"].to_list()
        else:
            names.append(name)
            values.append(_plain(value))
    return pl.DataFrame({"what": names, "value": values}, schema={"what": pl.String, "value": pl.String})


def _plain(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        return ", ".join(_plain(one) for one in value)
    return str(value)


LONG = 40
"""Characters of a cell that is broken into lines."""

PAGES = Environment(
    loader=PackageLoader("multihop"),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=StrictUndefined,
)
