#!/usr/bin/env python3
"""Pages with the results of `tools/net_study.py`: answer, claims, figure, setting, command, folded tables.

.venv/bin/python tools/net_pages.py     draw the figures and write the pages anew, from the pages' tables
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

PAGES = Path(__file__).resolve().parent.parent / "docs" / "validation"
OPENED = '<details markdown="1">\n<summary>All tables</summary>'
CLOSED = "</details>"
RULE = (
    "A claim is not decided if the intervals of its two means overlap, or if one of the two has a single run."
)
NUMBER = re.compile(r"([\d.]+)(?: ± ([\d.]+))?")
TABLE = re.compile(r"(?P<caption>[^\n]*):\n\n(?P<rows>(?:\|[^\n]*\n)+)")


@dataclass(frozen=True)
class Table:
    """Means of one kind: a row for each program, a column for each path or value."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def cell(self, row: str, column: str) -> str:
        """Text of a cell."""
        found = next(one for one in self.rows if one[0] == row)
        return found[list(self.columns).index(column)]

    def text(self) -> str:
        """The table in Markdown: texts in the first column, numbers in the others."""
        return f"{self.caption}:\n\n{table(self.columns, self.rows)}"


@dataclass(frozen=True)
class Measured:
    """Results of one study, before they are judged."""

    title: str
    setting: str
    command: str
    tables: Sequence[Table]


@dataclass(frozen=True)
class Claim:
    """A statement about two means in one column of a table, and which of the two has to be larger."""

    text: str
    column: str
    more: str
    less: str
    place: int = 0
    """Number of the table."""
    shown: str = ""
    """The program whose claim it is, if it is not the one with more."""


def verdict(claim: Claim, tables: Sequence[Table]) -> str:
    """Line of a page with the verdict on a claim and its numbers; values of single runs decide nothing."""
    cells = [tables[claim.place].cell(name, claim.column) for name in (claim.more, claim.less)]
    (low, high), (low_other, high_other) = (ends(cell) for cell in cells)
    word = "HELD" if low > high_other else "NOT HELD" if high < low_other else "NOT DECIDED"
    pairs = list(zip((claim.more, claim.less), cells, strict=True))
    numbers = "; ".join(
        f"{name}: {cell}{'' if is_mean(cell) else ', one run'}"
        for name, cell in (pairs[::-1] if claim.shown else pairs)
    )
    return f"* {word if all(map(is_mean, cells)) else 'NOT DECIDED'}: {claim.text} ({numbers})"


def is_mean(cell: str) -> bool:
    """Whether a cell has a mean of several runs; the value of a single run has no interval."""
    return "±" in cell


def ends(cell: str) -> tuple[float, float]:
    """The ends of the interval in a cell."""
    found = NUMBER.fullmatch(cell)
    if found is None:
        raise ValueError(f"found {cell!r}, allowed: a mean, with its interval")
    mean, half = float(found[1]), float(found[2] or 0)
    return mean - half, mean + half


def more(text: str, column: str, *pair: str, place: int = 0) -> Claim:
    """A claim that the first of two has more."""
    return Claim(text, column, pair[0], pair[1], place)


def less(text: str, column: str, *pair: str, place: int = 0) -> Claim:
    """A claim that the first of two has less."""
    return Claim(text, column, pair[1], pair[0], place, pair[0])


CPU = "CPU seconds per 10^9 bytes"
QUIC = "QUIC (quinn, cubic)"
INTACT = "hash matches"


@dataclass(frozen=True)
class Layout:
    """Answer, claims and figure of a page, from its numbers."""

    answer: Callable[[Sequence[Table]], str]
    claims: Sequence[Claim]
    finding: Callable[[Sequence[Table]], str]
    caption: str


def lossy_answer(tables: Sequence[Table]) -> str:
    """Goodput at the largest loss."""
    mesh, bbr, cubic = (tables[0].cell(name, "10%") for name in ("mesh", "TCP bbr", "TCP cubic"))
    return f"With 10% loss mesh delivers {mesh} Mb/s, TCP bbr {bbr} Mb/s, and TCP cubic {cubic} Mb/s."


def long_answer(tables: Sequence[Table]) -> str:
    """Goodput with few and many losses."""
    few, many = (
        f"With {loss} loss mesh delivers {tables[0].cell('mesh', loss)} Mb/s, "
        f"and TCP bbr {tables[0].cell('TCP bbr', loss)} Mb/s."
        for loss in ("0.1%", "2%")
    )
    return f"{few} {many}"


def local_answer(tables: Sequence[Table]) -> str:
    """CPU time of encrypted bytes."""
    mesh, quic = (tables[0].cell(name, CPU) for name in ("mesh, encrypted", QUIC))
    return f"On loopback, 10^9 encrypted bytes cost mesh {mesh} CPU seconds, and QUIC {quic} CPU seconds."


def arrived(tables: Sequence[Table]) -> str:
    """Line of a page with the verdict on the transfers."""
    found = [tables[0].cell(row[0], INTACT) == "yes" for row in tables[0].rows]
    word = "HELD" if all(found) else "NOT HELD"
    number = f"{sum(found)} of {len(found)} configurations, one run each"
    return f"* {word}: the hash of the received file matches ({number})"


def relay_answer(tables: Sequence[Table]) -> str:
    """Whether files arrive, and how fast."""
    rows = tables[0].rows
    intact = sum(tables[0].cell(row[0], INTACT) == "yes" for row in rows)
    shares = sorted(float(row[-1].rstrip("%")) for row in rows)
    number = "all" if intact == len(rows) else f"{intact} of"
    return (
        f"The file arrives intact in {number} {len(rows)} configurations, "
        f"at {shares[0]:g} to {shares[-1]:g}% of the relay's rate."
    )


def lossy_finding(tables: Sequence[Table]) -> str:
    """Share of goodput that two programs lose by the largest loss."""
    lost = [
        1 - _mean(tables[0].cell(name, "10%")) / _mean(tables[0].cell(name, "none"))
        for name in ("mesh", "TCP cubic")
    ]
    return f"With 10% loss mesh loses {lost[0]:.0%} of its goodput, and TCP cubic {lost[1]:.0%}."


def long_finding(tables: Sequence[Table]) -> str:
    """Goodput of two programs with few losses."""
    mesh, cubic = (_mean(tables[0].cell(name, "0.1%")) for name in ("mesh", "TCP cubic"))
    return f"With 0.1% loss mesh delivers {mesh / cubic:.1f} times as much as TCP cubic."


def spread(what: str, column: str) -> Callable[[Sequence[Table]], str]:
    """A finding: the range of a column, which has seconds."""

    def finding(tables: Sequence[Table]) -> str:
        values = {row[0]: _mean(tables[0].cell(row[0], column)) for row in tables[0].rows}
        low, high = min(values, key=lambda name: values[name]), max(values, key=lambda name: values[name])
        return f"{what} from {values[low]:g} s ({low}) to {values[high]:g} s ({high})."

    return finding


def _mean(cell: str) -> float:
    return sum(ends(cell)) / 2


LAYOUTS = {
    "lossy": Layout(
        lossy_answer,
        (
            more("mesh delivers more than TCP cubic with 2% loss", "2%", "mesh", "TCP cubic"),
            more("mesh delivers more than TCP cubic with 10% loss", "10%", "mesh", "TCP cubic"),
            more("mesh delivers more than QUIC with 10% loss", "10%", "mesh", QUIC),
            more("mesh delivers more than TCP bbr with 10% loss", "10%", "mesh", "TCP bbr"),
            more("mesh delivers more than TCP cubic without losses", "none", "mesh", "TCP cubic"),
            more(
                "TPA with a window of 12 delivers more than TCP cubic with 10% loss",
                "10%",
                "TPA, cwnd_max 12",
                "TCP cubic",
            ),
            more(
                "TPA with a window of 12 delivers more than QUIC with 10% loss",
                "10%",
                "TPA, cwnd_max 12",
                QUIC,
            ),
        ),
        lossy_finding,
        "Goodput by packet loss, with 95% intervals.",
    ),
    "long": Layout(
        long_answer,
        (
            more("mesh delivers more than TCP cubic with 0.1% loss", "0.1%", "mesh", "TCP cubic"),
            more("mesh delivers more than TCP bbr with 0.1% loss", "0.1%", "mesh", "TCP bbr"),
            more("mesh delivers more than TCP bbr with 2% loss", "2%", "mesh", "TCP bbr"),
            more("mesh delivers more than TCP cubic without losses", "none", "mesh", "TCP cubic"),
        ),
        long_finding,
        "Goodput by packet loss, with 95% intervals.",
    ),
    "local": Layout(
        local_answer,
        (
            less(
                "mesh takes less CPU time than QUIC, both encrypted, on loopback",
                CPU,
                "mesh, encrypted",
                QUIC,
            ),
            less(
                "mesh takes less CPU time than QUIC, both encrypted, over a veth pair",
                CPU,
                "mesh, encrypted",
                QUIC,
                place=1,
            ),
            less(
                "mesh takes less CPU time than TPA with a window of 12, both encrypted, on loopback",
                CPU,
                "mesh, encrypted",
                "TPA, cwnd_max 12, encrypted",
            ),
            less(
                "TPA with a window of 3 takes less CPU time than QUIC, both encrypted, on loopback",
                CPU,
                "TPA, cwnd_max 3, encrypted",
                QUIC,
            ),
            less(
                "mesh without encryption takes less CPU time than TCP in the kernel, on loopback",
                CPU,
                "mesh, plain",
                "TCP cubic",
            ),
        ),
        spread("CPU time ranges", CPU),
        "CPU time of both ends for 10^9 bytes on loopback, with 95% intervals.",
    ),
    "relay": Layout(
        relay_answer,
        (),
        spread("The transfer takes", "seconds"),
        "Time of the transfer in each configuration, one run each.",
    ),
}


def page(name: str, measured: Measured) -> str:
    """The page of a study."""
    layout = LAYOUTS[name]
    tables = measured.tables
    claims = [verdict(claim, tables) for claim in layout.claims] or [arrived(tables)]
    finding = layout.finding(tables)
    blocks = [
        f"# {measured.title}",
        f"**{layout.answer(tables)}**",
        "\n".join(claims),
        f"![{finding} {layout.caption}](net-{name}.svg)\n\n**{finding}** {layout.caption}",
        *_measured(measured, RULE if layout.claims else ""),
    ]
    return "\n\n".join(blocks) + "\n"


def bare(measured: Measured) -> str:
    """A page with the results alone, from which `read` reads them."""
    return "\n\n".join([f"# {measured.title}", *_measured(measured)]) + "\n"


def _measured(measured: Measured, rule: str = "") -> Iterator[str]:
    """Blocks of a page with setting, command and tables."""
    yield f"**Setting.** {measured.setting}"
    yield f"```\n{measured.command}\n```"
    yield OPENED
    if rule:
        yield rule
    yield from (one.text() for one in measured.tables)
    yield CLOSED


def read(text: str) -> Measured:
    """The numbers, setting and command in a page that `page` or `bare` has written."""
    title = text.split("\n", 1)[0].removeprefix("# ")
    setting = re.search(r"^\*\*Setting\.\*\* (.*?)\n\n```\n(.*?)\n```", text, re.DOTALL | re.MULTILINE)
    if setting is None:
        raise ValueError(f"{title}: no setting and command")
    tables = [Table(one["caption"], *_cells(one["rows"])) for one in TABLE.finditer(text.split(OPENED)[1])]
    return Measured(title, setting[1], setting[2], tables)


def _cells(rows: str) -> tuple[list[str], list[list[str]]]:
    head, _, *body = [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows.splitlines()]
    return head, body


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table whose first column is text and the others numbers."""
    lines = [columns, ["---", *["--:"] * (len(columns) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def figure(name: str, tables: Sequence[Table]) -> str:
    """The figure of a page, as SVG."""
    # Only here: studies run without the package.
    from multihop import figure_files, report, theme
    from multihop.stats import Interval

    def interval(cell: str) -> Interval:
        low, high = ends(cell)
        return Interval((low + high) / 2, (high - low) / 2, 2, 0.95)

    first = tables[0]
    if name in ("lossy", "long"):
        drawn, axes = report.new_figure("packet loss", "goodput, Mb/s")
        losses = list(first.columns[1:])
        looks = theme.distinct(map(theme.other, range(len(first.rows))))
        for number, (program, *cells) in enumerate(first.rows):
            # Side by side, so that intervals do not cover each other.
            x = [place + 0.05 * (number - (len(first.rows) - 1) / 2) for place in range(len(losses))]
            means, look = [interval(cell) for cell in cells], looks[number]
            ordered = sum("bursts" not in loss for loss in losses)
            report.curve(axes, x[:ordered], means[:ordered], program, look=look)
            if ordered < len(losses):
                report.curve(axes, x[ordered:], means[ordered:], program, "_", look=look, joined=False)
        axes.set_xticks(range(len(losses)), losses)
        axes.set_ylim(bottom=0)
        drawn.legend(loc="outside right upper")
    else:
        column = CPU if name == "local" else "seconds"
        drawn, axes = report.new_figure(column, "")
        names = [row[0] for row in first.rows]
        for place, row in enumerate(names):
            found = interval(first.cell(row, column))
            report.bar(axes, place, found.mean, found.half, theme.other(0), horizontal=True)
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
    return figure_files.figure_file(drawn)


def studies() -> Iterator[tuple[str, Path]]:
    """Names and pages of the studies."""
    for name in LAYOUTS:
        yield name, PAGES / f"net-{name}.md"


def main() -> int:
    """Write all pages and figures from the numbers in the pages."""
    for name, path in studies():
        measured = read(path.read_text(encoding="utf-8"))
        path.write_text(page(name, measured), encoding="utf-8")
        path.with_suffix(".svg").write_text(figure(name, measured.tables), encoding="utf-8")
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
