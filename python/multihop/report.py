"""Self-contained HTML reports: text, tables and figures in one file."""

from __future__ import annotations

import html
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
        self.parts: list[str] = []
        self.contents: list[tuple[str, str]] = []

    def heading(self, text: str, anchor: str = "") -> None:
        """Begin a section; one with an anchor is listed at the top of the page."""
        where = f' id="{html.escape(anchor)}"' if anchor else ""
        self.parts.append(f"<h2{where}>{html.escape(text)}</h2>")
        if anchor:
            self.contents.append((anchor, text))

    def text(self, text: str) -> None:
        """Add a paragraph."""
        self.parts.append(f"<p>{html.escape(text)}</p>")

    def bullets(self, lines: Iterable[str]) -> None:
        """Add a list."""
        self.parts.append(f"<ul>{''.join(f'<li>{html.escape(line)}</li>' for line in lines)}</ul>")

    def command(self, command: str) -> None:
        """Add a command that the reader can repeat."""
        self.parts.append(f"<pre>{html.escape(command)}</pre>")

    def table(self, table: pl.DataFrame, caption: str, links: Mapping[str, str] = NO_LINKS) -> None:
        """Add a table; entries in its first column may be links."""
        head = "".join(f"<th>{html.escape(name)}</th>" for name in table.columns)
        rows = "".join(
            f"<tr>{_cell(first, links.get(str(first)))}{''.join(_cell(value) for value in others)}</tr>"
            for first, *others in table.iter_rows()
        )
        self.parts.append(
            f"<table><caption>{html.escape(caption)}</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        )

    def figure(self, figure: Figure, caption: str) -> None:
        """Add a figure, drawn into the page."""
        text = html.escape(caption)
        self.parts.append(f"<figure>{svg(figure)}<figcaption>{text}</figcaption></figure>")

    def write(self, path: str | PathLike[str]) -> Path:
        """Write the page and return its path."""
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        links = "".join(
            f'<li><a href="#{html.escape(a)}">{html.escape(t)}</a></li>' for a, t in self.contents
        )
        contents = [f"<nav><ul>{links}</ul></nav>"] if links else []
        body = "\n".join([*contents, *self.parts])
        with complete_file(target) as part:
            part.write_text(PAGE.format(title=html.escape(self.title), body=body), "utf-8")
        return target


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


def new_figure(x_label: str, y_label: str, title: str = "") -> tuple[Figure, Axes]:
    """An empty figure with one set of axes; labels carry their units."""
    with drawing():
        figure = Figure(figsize=(7.2, 4.4), layout="constrained")
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


def _cell(value: object, link: str | None = None) -> str:
    shown = _plain(value)
    number, long = isinstance(value, int | float), len(shown) > LONG
    kind = ' class="n"' if number else ' class="t"' if long else ""
    text = html.escape(shown)
    inner = f'<a href="{html.escape(link)}">{text}</a>' if link else text
    return f"<td{kind}>{inner}</td>"


LONG = 40
"""Characters of a cell that is broken into lines."""


PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto;
  padding: 0 1rem; color: #222; }}
table {{ border-collapse: collapse; margin: 1rem 0; display: block; overflow-x: auto; }}
caption {{ text-align: left; font-weight: 600; padding: .3rem 0; }}
th, td {{ border-bottom: 1px solid #ddd; padding: .25rem .7rem; text-align: left; white-space: nowrap; }}
td.t {{ white-space: normal; min-width: 15rem; }}
td.n {{ text-align: right; font-variant-numeric: tabular-nums; }}
figure {{ margin: 1.5rem 0; }}
figure svg {{ max-width: 100%; height: auto; }}
figcaption {{ color: #555; }}
nav ul {{ columns: 2; font-size: .9rem; list-style: none; padding: 0; }}
pre {{ background: #f5f5f5; padding: .7rem 1rem; overflow-x: auto; }}
</style>
</head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""
