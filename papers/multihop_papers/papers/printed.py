"""Gains that a paper has in its text: the least or the most of them over all layouts of an experiment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from multihop_papers.declare import Cell
from multihop_papers.measures import change
from multihop_papers.study import Study

Extreme = Callable[[Sequence[float]], float]


@dataclass(frozen=True)
class Gain:
    """Share by which a transport delivers more than another, over all layouts that are run: the least or the most of it."""

    text: str
    of: str
    against: str
    printed: float
    extreme: Extreme = max
    at: Cell | None = None

    def __call__(self, study: Study) -> float:
        """Value of the printed gain in this study."""
        left, right = (study.select({"transport": name, **(self.at or {})}) for name in (self.of, self.against))
        return self.extreme([change(study, "goodput", a, b) for a, b in zip(left, right, strict=True)])


def in_text(*gains: Gain) -> Callable[[Study], None]:
    """An analysis that puts gains of the text beside ours."""

    def analyse(study: Study) -> None:
        found = [(one, one(study)) for one in gains]
        study.compared += [(one.text, one.printed, ours, True) for one, ours in found]
        rows = [{"gain": one.text, "the paper": f"{one.printed:+.1%}", "ours": f"{ours:+.1%}"} for one, ours in found]
        study.table(pl.DataFrame(rows), "Gains in the text of the paper, and ours")

    return analyse
