"""Our numbers beside those that a paper prints: how many agree, and how well."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from multihop_papers import claims
from multihop_papers.declare import Cell, Claim
from multihop_papers.study import Study, Values

WITHIN = (0.05, 0.15, 0.30)


@dataclass(frozen=True)
class Number:
    """A number of a paper and ours."""

    what: str
    printed: float
    ours: float

    gain: bool = False
    """Whether the printed and the measured number are growths, as shares."""

    @property
    def error(self) -> float:
        """The relative difference; of gains, which are relative, the difference."""
        return self.ours - self.printed if self.gain else self.ours / self.printed - 1


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
    """Growths and declines whose size the paper gives, without other readings."""
    return [
        Number(claim.text, claim.size, ratio - 1, gain=True)
        for claim in study.experiment.claims
        if claim.size and not _other(study, claim.of)
        for ratio in claims.ratios(study, claim)
    ]


def allowed(study: Study, claim: Claim) -> list[tuple[float, float]]:
    """The growths that the paper's own intervals of the two means allow, at each of the claim's values.

    Empty where neither the paper's tables nor its text bound the means.
    """
    found = []
    for one in claims.each(claim) if claim.against is not None and claim.near is None else ():
        left, right = (_printed(study, one, cell) for cell in (one.of, one.against or {}))
        if left is not None and right is not None:
            growth, shares = left[0] / right[0], (left[1] / left[0], right[1] / right[0])
        elif claim.size and claim.uncertain:
            growth, shares = 0.0, (claim.uncertain, claim.uncertain)
        else:
            return []
        growth, width = (1 + claim.size if claim.size else growth), math.hypot(*shares)
        found.append((growth * (1 - width) - 1, growth * (1 + width) - 1))
    return found


def allows(study: Study, claim: Claim, ours: Sequence[float]) -> str:
    """The growths that the paper's own intervals allow, in words, if ours are among them."""
    bounds = allowed(study, claim)
    if not bounds or len(bounds) != len(ours):
        return ""
    both = list(zip(bounds, ours, strict=True))
    if any(not low <= one <= high for (low, high), one in both):
        return ""
    return "; ".join(f"{one:+.1%} is within {low:+.1%} to {high:+.1%}" for (low, high), one in both)


def _printed(study: Study, claim: Claim, cell: Cell) -> tuple[float, float] | None:
    """The best printed mean of some cells with half its interval; None where the paper has none."""
    values = [study.published(claim.metric, one) for one in study.select(cell)]
    pairs = [one for one in values if isinstance(one, tuple) and one[0] > 0]
    if not pairs or len(pairs) != len(values):
        return None
    return (min if claim.lowest else max)(pairs)


def agreement(found: Sequence[Number]) -> str:
    """Text that says how many of some numbers agree."""
    near = ", ".join(
        f"{count} within {limit:.0%}"
        for limit, count in zip(WITHIN, _near([one.error for one in found]), strict=True)
    )
    worst = max(found, key=lambda one: abs(one.error))
    return f"{len(found)} numbers, {near}. The largest difference is {worst.error:+.0%}, {worst.what}"


def gain_table(found: Sequence[Number]) -> pl.DataFrame:
    """Growths and declines beside the paper's."""
    return pl.DataFrame(
        [{"gain": one.what, "the paper": f"{one.printed:+.1%}", "ours": f"{one.ours:+.1%}"} for one in found]
    )


def counted(errors: Sequence[float]) -> dict[str, str]:
    """How many numbers there are, and how many agree, as columns."""
    columns = {f"within {limit:.0%}": str(count) for limit, count in zip(WITHIN, _near(errors), strict=True)}
    return {"numbers": str(len(errors)), **columns}


def _near(errors: Sequence[float]) -> list[int]:
    return [sum(abs(one) <= limit for one in errors) for limit in WITHIN]


def _other(study: Study, cell: Cell) -> bool:
    """Whether a claim names a value of another reading, not only in a list, which stands for the best."""
    return any(
        value in study.experiment.other_readings for value in cell.values() if not isinstance(value, list)
    )


def _counts(study: Study, cell: Values) -> bool:
    return not any(value in study.experiment.other_readings for value in cell)
