"""Verdicts of a study on claims, and their reasons."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from multihop.stats import Interval
from multihop_papers.reasons import Reason

HELD, NOT_HELD, NOT_DECIDED, NOT_RUN = "held", "not held", "not decided", "not run"


@dataclass(frozen=True)
class Verdict:
    """Verdict of the simulator's numbers on one claim."""

    text: str
    verdict: str
    why: str
    reason: Reason | None = None
    """Why it does not hold, if it does not."""
    by_mean: bool = False
    """The interval has both signs and is so narrow that its mean decides."""

    @property
    def kind(self) -> str:
        """The kind of the reason; empty if the claim holds or the reason is not classified."""
        return str(self.reason.kind) if self.reason is not None and self.reason.kind is not None else ""


def decide(found: Interval) -> str:
    """Decision whether a value is above zero, by its interval."""
    if found.low >= 0:
        return HELD
    return NOT_HELD if found.high < 0 else NOT_DECIDED


def decide_at_a_look(found: Interval) -> str:
    """Decision between looks whether a value is above zero.

    Few samples that are all equal, like heads in a row, decide nothing.
    """
    few = 1 + math.ceil(-math.log2(1 - found.level))
    return NOT_DECIDED if found.half == 0 and found.n < few else decide(found)


def narrow(found: Interval, matters: float) -> bool:
    """Whether an interval with both signs is so narrow that its mean decides: an error would not matter."""
    return found.low < 0 <= found.high and found.half <= matters


def word(held: bool | None) -> str:
    """The verdict of a check; none is one that the intervals do not decide."""
    return NOT_DECIDED if held is None else HELD if held else NOT_HELD


def worst(text: str, errors: Mapping[str, float], limit: float) -> Verdict:
    """Whether the largest of some relative differences stays within a limit."""
    name = max(errors, key=lambda key: abs(errors[key]))
    why = f"largest difference {errors[name]:+.2%}, {name}"
    return Verdict(f"{text} within {limit:.1%}", word(abs(errors[name]) <= limit), why)
