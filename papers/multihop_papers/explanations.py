"""Explanations of claims that are not held: a setting under which one holds, or the paper's own text."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from multihop_papers.reasons import Kind
from multihop_papers.verdicts import HELD, NOT_HELD

Row = dict[str, str]
Name = tuple[str, str]
"""The ID of an experiment and the text of one of its claims."""
MOST_NAMED = 3
"""Settings that a table names for one claim; the page of the search has all."""


class Explained(StrEnum):
    """Kind of an explanation, as tables show it."""

    SWITCH = "switch"
    TEXT = "paper's text"
    NOT = "unexplained"


MEANING = {
    Explained.SWITCH: "holds under a value of a setting that the paper does not state",
    Explained.TEXT: "the paper's text or its intervals show that it cannot be known",
    Explained.NOT: "neither; the section of the experiment says what was tried",
}


def explain(rows: Iterable[Row], searched: Iterable[Row]) -> None:
    """Write into the rows of all claims what explains those that are not held."""
    every = list(rows)
    held = {(row["experiment"], row["claim"]) for row in every if row["verdict"] == HELD}
    switches: dict[Name, list[str]] = {}
    for one in searched:
        if one["verdict"] == HELD:
            switches.setdefault((one["experiment"], one["claim"]), []).append(one["setting"])
    for row in every:
        found = switches.get((row["experiment"], row["claim"]), [])
        kind, by = _explained(row, found, held) if row["verdict"] == NOT_HELD else ("", "")
        row["explanation"], row["by"] = str(kind), by


def _explained(row: Row, settings: list[str], held: set[Name]) -> tuple[Explained, str]:
    if settings:
        rest = len(settings) - MOST_NAMED
        return Explained.SWITCH, "; ".join(settings[:MOST_NAMED]) + (f"; and {rest} more" if rest > 0 else "")
    shown = (row.get("switch_experiment", ""), row.get("switch_claim", ""))
    if shown in held:
        return Explained.SWITCH, f"{row['switch']} ({shown[0]}: {shown[1]})"
    if row.get("allowed"):
        return Explained.TEXT, f"the paper's intervals: {row['allowed']}"
    if row.get("reason") == Kind.NOT_KNOWABLE:
        return Explained.TEXT, "an argument in the section of the experiment"
    return Explained.NOT, ""
