"""Self-contained HTML reports: text, tables and figures in one file."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import math
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import matplotlib.style
import polars as pl
from jinja2 import Environment, PackageLoader, StrictUndefined
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

import multihop._core as _core
from multihop.charts import HEIGHT, Chart, read
from multihop.files import make_folder, write_text
from multihop.scenario import Request
from multihop.stats import Interval
from multihop.theme import DARK, NAMES, PAGE, STYLE_SHEET, Style, style
from multihop.wording import in_words

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
        """Add a paragraph to the report."""
        self.parts.append({"kind": "text", "text": text})

    def bullets(self, lines: Iterable[str]) -> None:
        """Add a list to the report."""
        self.parts.append({"kind": "bullets", "lines": list(lines)})

    def verdicts(self, found: Iterable[tuple[str, str]]) -> None:
        """Add a list of verdicts, each with its text."""
        self.parts.append({"kind": "verdicts", "lines": list(found)})

    def command(self, command: str) -> None:
        """Add a command that the reader can repeat."""
        self.parts.append({"kind": "command", "text": command})

    def repeat(self, command: str, request: Request) -> None:
        """Add the scenario, the settings that replace its keys, and the command that runs it again."""
        # A scenario that Python has made has no file; others are files or examples.
        path = "scenario.json" if request.name == "scenario" else request.name
        text = request.text
        if request.format == "json":
            text = json.dumps(json.loads(text), indent=2)
        settings = [f"--set {shlex.quote(f'{key}={value}')}" for key, value in request.overrides]
        self.heading("Scenario, settings and command")
        self.text(
            f"The scenario {path} with these settings gives the results above; multihop {_core.build()}."
        )
        self.command(" ".join([f"multihop {command} {shlex.quote(path)}", *settings]))
        if request.overrides:
            data = {
                "key": [key for key, _ in request.overrides],
                "value": [value for _, value in request.overrides],
            }
            self.table(pl.DataFrame(data), "Settings that replace keys of the scenario")
        self.command(text.strip())

    def table(self, table: pl.DataFrame, caption: str, links: Mapping[str, str] = NO_LINKS) -> None:
        """Add a table; entries in its first column may be links."""
        rows = [
            [Cell.of(value, name) for name, value in zip(table.columns, row, strict=True)]
            for row in table.iter_rows()
        ]
        choices = sorted(set(table[VERDICT].to_list())) if VERDICT in table.columns else []
        self.parts.append(
            {
                "kind": "table",
                "caption": caption,
                "head": table.columns,
                "rows": rows,
                "links": links,
                "choices": choices,
                "filtered": bool(choices) or table.height > FILTERED,
            }
        )

    def figure(self, figure: Figure, caption: str) -> None:
        """Add a figure, drawn into the page."""
        self.chart(read(figure), caption)

    def chart(self, chart: Chart, caption: str) -> None:
        """Add a chart to the report."""
        self.parts.append({"kind": "figure", "chart": chart, "caption": caption})

    def html(self) -> str:
        """The page: one file with everything, which asks for nothing else."""
        style, script = stylesheet(), SCRIPT.read_text("utf-8").strip()
        policy = (
            f"default-src 'none'; style-src {digest(style)}; script-src {digest(script)}; "
            "base-uri 'none'; form-action 'none'"
        )
        return PAGES.get_template("page.html").render(
            title=self.title,
            parts=self.parts,
            style=style,
            script=script,
            policy=policy,
            height=HEIGHT,
            made_by=_core.build(),
        )

    def write(self, path: str | PathLike[str]) -> Path:
        """Write the page and return its path."""
        target = Path(path)
        make_folder(target.parent)
        write_text(target, self.html())
        return target


@dataclass(frozen=True)
class Cell:
    """A value in a table."""

    text: str
    style: str
    """Style of the column's cells: numbers, verdicts, texts that are broken into lines, or none."""

    @classmethod
    def of(cls, value: object, column: str = "") -> Cell:
        """How a value is shown."""
        text = _plain(value)
        if column == VERDICT:
            return cls(text, "v")
        return cls(text, "n" if NUMBER.fullmatch(text) else "t" if len(text) > LONG else "")


def stylesheet() -> str:
    """The styles of a page, with the colours of its figures."""
    pairs = PAGE | {NAMES[light]: (light, dark) for light, dark in DARK.items()}
    tables = ["".join(f"--{name}: {pair[shade]}; " for name, pair in pairs.items()) for shade in (0, 1)]
    return (
        f":root {{ {tables[0]}}}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {tables[1]}}} }}\n"
        + "".join(f".c-{name} {{ color: var(--{name}); }}\n" for name in NAMES.values())
        + STYLES_OF_PAGES.read_text("utf-8").strip()
    )


def digest(text: str) -> str:
    """Hash of a style or script of the page itself, as a content security policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def drawing() -> AbstractContextManager[None]:
    """The settings under which figures are made and saved: the same numbers give the same file."""
    return matplotlib.style.context(STYLE_SHEET)


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


HATCHES = {"-": "", "--": "//", "-.": "xx", ":": ".."}
"""Patterns of bars, for the lines of curves."""


def bar(
    axes: Axes,
    place: float,
    mean: float,
    half: float,
    look: Style,
    *,
    width: float = 0.6,
    label: str | None = None,
    horizontal: bool = False,
) -> None:
    """Draw a bar with its interval, upright or horizontal.

    The members of one family of transports have one colour and differ in hatches.
    """
    draw = axes.barh if horizontal else axes.bar
    interval: dict[str, Any] = {"xerr" if horizontal else "yerr": half if math.isfinite(half) else 0.0}
    draw(
        place,
        mean,
        width,
        **interval,
        capsize=3,
        label=label,
        facecolor=[0.5 + 0.5 * part for part in to_rgb(look.colour)],
        edgecolor=look.colour,
        hatch=HATCHES.get(look.line, ""),
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


def flow_tables(flows: pl.DataFrame) -> list[pl.DataFrame]:
    """Tables of all metrics that are narrow enough for a page: few flows are columns, many are rows."""
    known = ["id", *(name for name in flows.columns if name != "id" and flows[name].count() > 0)]
    words: dict[str, str] = {}
    for name in known[1:]:
        text = in_words(name)
        words[name] = name if text in words.values() else text
    if flows.height <= FEW_FLOWS:
        rows = [[words[name], *map(_plain, flows[name])] for name in words]
        return [pl.DataFrame(rows, schema=["", *(f"flow {number}" for number in flows["id"])], orient="row")]
    names = list(words)
    parts = [names[first : first + MOST_COLUMNS] for first in range(0, len(names), MOST_COLUMNS)]
    return [flows.select("id", *(pl.col(name).alias(words[name]) for name in part)) for part in parts]


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


FEW_FLOWS = 8
"""Flows that are columns of a table."""
MOST_COLUMNS = 9
"""Largest number of columns of a table with a row for each flow, so that it fits a page."""
LONG = 40
"""Characters of a cell that is broken into lines."""
FILTERED = 12
"""A table with more rows has a filter, and so has every table of verdicts."""
VERDICT = "verdict"
"""The column whose values have a badge."""
NUMBER = re.compile(r"[-+]?\d[\d.]*(e[-+]?\d+)?%?( ± [\d.]+)?")
SCRIPT = Path(__file__).parent / "templates" / "page.js"
STYLES_OF_PAGES = SCRIPT.with_suffix(".css")

PAGES = Environment(
    loader=PackageLoader("multihop"),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=StrictUndefined,
)
