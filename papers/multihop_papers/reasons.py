"""Why a claim of a paper does not hold here: a kind, a text, and the experiments that show it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

Explanation = str | Callable[[Any], str]
"""A text, or what makes it of a study, so that its numbers are those of the page."""


class Kind(StrEnum):
    """Kind of a reason, as tables show it."""

    OUR_MODEL = "our model"
    LEFT_OPEN = "left open"
    NOT_IN_NS2 = "not in ns-2"
    NOT_KNOWABLE = "not knowable"
    NOT_KNOWN = "not known"


MEANING = {
    Kind.OUR_MODEL: "a rule of our model is not the paper's; a variant with that rule brings the claim back",
    Kind.LEFT_OPEN: "the paper does not state what decides it; of two settings one holds and one does not",
    Kind.NOT_IN_NS2: "ns-2 does not show it either",
    Kind.NOT_KNOWABLE: "the paper's own text shows that the number cannot be known",
    Kind.NOT_KNOWN: "the reason is not known",
}


@dataclass(frozen=True)
class Switch:
    """A setting under which a finding of the paper holds, and the claim that shows it."""

    setting: str
    experiment: str
    claim: str


@dataclass(frozen=True)
class Reason:
    """Why a claim does not hold: what differs, what traces show, what the paper's set-up may have had."""

    text: Explanation
    kind: Kind | None = None
    """Kind of the reason; None while it is not classified;
    `test_every_claim_that_is_not_held_has_a_kind` counts these.
    """
    shown: tuple[str, ...] = ()
    """Evidence for the reason: IDs of experiments, each with the cells after a colon, or commands.
    """
    switch: Switch | None = None
    """Repetition of the finding under another value of a setting that the paper does not state."""

    def of(self, study: Any) -> Reason:
        """Reason whose text has the numbers of a study."""
        return replace(self, text=self.text(study)) if callable(self.text) else self

    def __str__(self) -> str:
        shown = f"Shown by {' and '.join(self.shown)}. " if self.shown else ""
        return f"{shown}{self.text}"

    def verdict(self, claim: str) -> str:
        """A claim that the reason is about, its verdict, and the kind of the reason."""
        return f"{claim}: not held{f' ({self.kind})' if self.kind else ''}"


def our_model(text: Explanation, shown: str, switch: Switch | None = None) -> Reason:
    """A rule of ours differs; the result of `shown`, which has the other rule, brings the claim back."""
    return Reason(text, Kind.OUR_MODEL, (shown,), switch)


def left_open(text: Explanation, holds: str, fails: str, switch: Switch | None = None) -> Reason:
    """The paper does not state what decides it: with one setting the claim holds, with the other not."""
    return Reason(text, Kind.LEFT_OPEN, (holds, fails), switch)


def not_in_ns2(text: Explanation, shown: str) -> Reason:
    """The claim does not survive: ns-2 shows the same as this simulator."""
    return Reason(text, Kind.NOT_IN_NS2, (shown,))


def not_knowable(text: Explanation) -> Reason:
    """The paper's own text shows that the number cannot be known; the text names the sections."""
    return Reason(text, Kind.NOT_KNOWABLE)


def not_known(text: Explanation) -> Reason:
    """Reason of a finding that nothing explained, with a text about the attempts."""
    return Reason(text, Kind.NOT_KNOWN)
