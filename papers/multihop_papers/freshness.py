"""Whether the simulator of today computes what a page shows, by one run of each cell.

The index of the pages has a digest of every metric in the first run of each cell. Where it differs the
experiment has to be run again.
"""

from __future__ import annotations

import hashlib

from multihop_papers.study import Study, Values, batches, pick

SAME, DIFFERS, UNKNOWN = "same", "differs", "no digest"
"""Results of comparing the digest on a page with that of today."""
OLDER = "Runs of an older simulator"
DIGITS = 16
"""Hexadecimal digits of a digest."""


def digest(study: Study) -> str:
    """A digest of every metric in the first run of each cell; empty if an experiment has no runs."""
    lines = [line for cell in study.accepted() if study.done(cell) for line in _lines(study, cell)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:DIGITS] if lines else ""


def compared(before: str, today: str) -> str:
    """Result of comparing two digests."""
    return UNKNOWN if not before else SAME if before == today else DIFFERS


def note(found: str, version: str) -> str:
    """Note of a page on runs whose digest is not that of today; empty if it is."""
    if found == SAME:
        return ""
    why = (
        "computes other numbers"
        if found == DIFFERS
        else "may compute other numbers: there is no digest to compare with"
    )
    return f"{OLDER}{', ' if version else ''}{version}. The simulator of today {why}."


def _lines(study: Study, cell: Values) -> list[str]:
    result, count = study.result(cell), study.experiment.batches
    documents = batches(result, count) if count else [result.data]
    values = [(metric.name, pick(one, metric)) for one in documents for metric in study.experiment.metrics]
    return [f"{cell} {name} {'-' if value is None else format(value, '.9g')}" for name, value in values]
