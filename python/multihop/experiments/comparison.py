"""Our numbers beside those that a paper prints: how many agree, and how well."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from multihop.experiments import claims
from multihop.experiments.study import Study, Values
from multihop.experiments.verdicts import HELD, NOT_DECIDED, NOT_HELD

WITHIN = (0.05, 0.15, 0.30)


@dataclass(frozen=True)
class Number:
    """A number of a paper and ours."""

    what: str
    printed: float
    ours: float

    @property
    def error(self) -> float:
        """The relative difference."""
        return self.ours / self.printed - 1


def numbers(study: Study) -> list[Number]:
    """Printed means and ours, without other readings of the same numbers, and what `more` has compared."""
    found = [Number(*one) for one in study.compared if one[1]]
    for name, printed in study.experiment.published.items():
        for cell, value in printed.items():
            theirs = value[0] if isinstance(value, tuple) else value
            ours = study.mean(name, cell) if _counts(study, cell) else None
            if ours is not None and theirs:
                found.append(Number(f"{name} of {' '.join(map(str, cell))}", theirs, ours.mean))
    return found


def gains(study: Study) -> list[Number]:
    """Growths and declines whose size the paper gives, as ratios."""
    return [
        Number(claim.text, 1 + claim.size, ratio)
        for claim in study.experiment.claims
        if claim.size
        for ratio in claims.ratios(study, claim)
    ]


def agreement(found: Sequence[Number]) -> str:
    """How many of some numbers agree, in words."""
    near = ", ".join(f"{count} within {limit:.0%}" for limit, count in zip(WITHIN, _near(found), strict=True))
    worst = max(found, key=lambda one: abs(one.error))
    return f"{len(found)} numbers, {near}; the largest difference is {worst.error:+.0%}, {worst.what}"


def gain_table(found: Sequence[Number]) -> pl.DataFrame:
    """Growths and declines beside the paper's."""
    return pl.DataFrame(
        [
            {"gain": one.what, "the paper": f"{one.printed - 1:+.1%}", "ours": f"{one.ours - 1:+.1%}"}
            for one in found
        ]
    )


def by_paper(studies: Sequence[Study]) -> pl.DataFrame:
    """A row for each paper: numbers that agree, and verdicts."""
    papers = dict.fromkeys(study.experiment.paper for study in studies)
    rows = []
    for paper in papers:
        of = [study for study in studies if study.experiment.paper == paper]
        verdicts = [one.verdict for study in of for one in claims.verdicts(study)]
        counts = {name: str(verdicts.count(name)) for name in (HELD, NOT_HELD, NOT_DECIDED)}
        both = [one for study in of for one in (*numbers(study), *gains(study))]
        rows.append({"paper": paper, **_counted(both), **counts})
    return pl.DataFrame(rows)


def by_experiment(studies: Iterable[Study]) -> pl.DataFrame:
    """A row for each experiment with numbers of its paper."""
    rows = []
    for study in studies:
        both = [*numbers(study), *gains(study)]
        if both:
            worst = max(both, key=lambda one: abs(one.error))
            row = {"experiment": study.experiment.id, "where": study.experiment.place.split(", section")[0]}
            rows.append({**row, **_counted(both), "largest difference": f"{worst.error:+.0%}, {worst.what}"})
    return pl.DataFrame(rows)


def _counted(found: Sequence[Number]) -> dict[str, str]:
    columns = {f"within {limit:.0%}": str(count) for limit, count in zip(WITHIN, _near(found), strict=True)}
    return {"numbers": str(len(found)), **columns}


def _near(found: Sequence[Number]) -> list[int]:
    return [sum(abs(one.error) <= limit for one in found) for limit in WITHIN]


def _counts(study: Study, cell: Values) -> bool:
    return not any(value in study.experiment.other_readings for value in cell)
