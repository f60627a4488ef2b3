"""Summary of the records of experiments: per paper, numbers that agree, verdicts, and kinds of reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import polars as pl

from multihop_papers import comparison
from multihop_papers.explanations import MEANING, Explained
from multihop_papers.index import Record, listed
from multihop_papers.verdicts import HELD, NOT_DECIDED, NOT_HELD

SHORT = {
    "numbers": "all",
    "within 5%": "5%",
    "within 15%": "15%",
    "within 30%": "30%",
    HELD: "held",
    NOT_HELD: "not",
    NOT_DECIDED: "open",
    str(Explained.SWITCH): "switch",
    str(Explained.TEXT): "text",
    str(Explained.NOT): "?",
}
"""The columns of a screen, and their short names."""
HEADS = f"{'':13}{'numbers within':>24}{'claims held':>18}{'not held explained by':>24}"
NOTES = [f"{SHORT[str(kind)]}: {text}" for kind, text in MEANING.items()]
COUNTED = {
    Explained.SWITCH: "explained by a switch",
    Explained.TEXT: "not knowable by the paper's text",
    Explained.NOT: "unexplained",
}


def by_paper(records: Sequence[Record]) -> pl.DataFrame:
    """A row for each paper: numbers that agree, verdicts, and why claims are not held."""
    rows = []
    for paper in dict.fromkeys(one.paper for one in records):
        of = [one for one in records if one.paper == paper]
        verdicts = [row for one in of for row in one.verdicts]
        if verdicts or any(one.errors for one in of):
            errors = [error for one in of for _, error in one.errors]
            rows.append({"paper": paper, **comparison.counted(errors), **_counted(verdicts)})
    return pl.DataFrame(rows)


def by_experiment(records: Sequence[Record]) -> pl.DataFrame:
    """A row for each experiment with numbers of its paper."""
    rows = []
    for one in records:
        if one.errors:
            what, error = max(one.errors, key=lambda pair: abs(pair[1]))
            row = {"experiment": one.id, "where": one.place.split(", section")[0]}
            worst = {"largest difference": f"{error:+.0%}, {what}"}
            rows.append({**row, **comparison.counted([error for _, error in one.errors]), **worst})
    return pl.DataFrame(rows)


def every_claim(rows: Sequence[dict[str, str]]) -> pl.DataFrame:
    """All claims; rows that were written without a column have it empty."""
    columns = ("experiment", "claim", "verdict", "reason", "explanation", "by", "ours")
    return pl.DataFrame([{name: row.get(name, "") for name in columns} for row in rows])


def explanations(rows: Sequence[dict[str, str]]) -> str:
    """Text that says how many of the claims that are not held have which explanation; empty if all hold."""
    kinds = [row.get("explanation", "") for row in rows if row["verdict"] == NOT_HELD]
    text = listed({text: kinds.count(str(kind)) for kind, text in COUNTED.items()})
    return f" Not held: {text}." if text else ""


def screen(records: Sequence[Record]) -> str:
    """The table of papers on one screen of 80 columns."""
    table = by_paper(records)
    body = [[row["paper"], *(row[name] for name in SHORT)] for row in table.to_dicts()]
    total = [str(sum(int(row[column]) for row in body)) for column in range(1, len(SHORT) + 1)]
    lines = [["", *SHORT.values()], *body, ["all", *total]]
    text = (f"{line[0]:13}" + "".join(f"{word:>6}" for word in line[1:]) for line in lines)
    return "\n".join((HEADS, *text, "", *NOTES))


def _counted(rows: Sequence[dict[str, str]]) -> dict[str, str]:
    """How many claims have which verdict, and what explains those that are not held."""
    found = Counter(row["verdict"] for row in rows)
    kinds = Counter(row.get("explanation", "") for row in rows if row["verdict"] == NOT_HELD)
    return {name: str(found[name]) for name in (HELD, NOT_HELD, NOT_DECIDED)} | {
        str(kind): str(kinds[kind]) for kind in Explained
    }
