"""Tables on the terminal: columns that do not fit are left out and named below. Files and pipes get all."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import polars as pl
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

NO_LIMIT = 100_000
"""Columns of an output that is not a terminal."""


def show(table: pl.DataFrame, *, indent: int = 0, numbers: bool = False, elsewhere: str = "") -> None:
    """Print a table; with `numbers`, all columns but the first are aligned to the right.

    The last columns are left out first, the first never. `elsewhere` says where all of them are.
    """
    console = Console(highlight=False, emoji=False, markup=False)
    width = console.width if console.is_terminal else NO_LIMIT
    names = fitting(table, console, width - indent, numbers)
    drawn = drawing(table.select(names), numbers)
    lines = console.render_lines(drawn, console.options.update(width=NO_LIMIT), pad=False)
    for line in lines:
        text = "".join(segment.text for segment in line)
        console.print(" " * indent + text.rstrip(), soft_wrap=True)
    hidden = [name for name in table.columns if name not in names]
    if hidden:
        console.print(
            f"{' ' * indent}columns that do not fit: {', '.join(hidden)}{elsewhere}", soft_wrap=True
        )


def sentence(text: str, *, indent: int = 0) -> None:
    """Print a sentence; on a terminal it is broken between words, and later lines are indented further."""
    console = Console()
    print(broken(text, console.width if console.is_terminal else NO_LIMIT, indent))


def broken(text: str, width: int, indent: int) -> str:
    """The lines of a sentence."""
    begin, later = " " * indent, " " * (indent + 2)
    return textwrap.fill(text, width, initial_indent=begin, subsequent_indent=later, break_on_hyphens=False)


def fitting(table: pl.DataFrame, console: Console, width: int, numbers: bool) -> Sequence[str]:
    """The first columns, as many as fit."""
    names = table.columns
    options = console.options.update(width=NO_LIMIT)
    while len(names) > 1:
        needed = Measurement.get(console, options, drawing(table.select(names), numbers)).maximum
        if needed <= width:
            break
        names = names[:-1]
    return names


def drawing(table: pl.DataFrame, numbers: bool) -> Table:
    """The table without lines around cells."""
    drawn = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for place, name in enumerate(table.columns):
        drawn.add_column(name, justify="right" if numbers and place else "left", no_wrap=True)
    for row in table.iter_rows():
        drawn.add_row(*(str(value) for value in row))
    return drawn
