"""Parts that several experiments of a paper share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from multihop_papers.declare import Unstated
from multihop_papers.study import Experiment


class Common:
    """Parts of an experiment that others of its paper share.

    Each may have its own instead; keys of the scenario and points left open are added.
    """

    def __init__(self, paper: str, *, scenario: Mapping[str, Any], unstated: Sequence[Unstated] = (), **parts: Any) -> None:
        self.scenario = scenario
        self.unstated = unstated
        self.parts = {"paper": paper, **parts}

    def __call__(
        self,
        id: str,
        place: str,
        title: str,
        found: str,
        *,
        scenario: Mapping[str, Any] | None = None,
        unstated: Sequence[Unstated] = (),
        **own: Any,
    ) -> Experiment:
        """Create one experiment from the shared parts and its own."""
        return Experiment(
            id=id,
            place=place,
            title=title,
            found=found,
            scenario={**self.scenario, **(scenario or {})},
            unstated=(*self.unstated, *unstated),
            **{**self.parts, **own},
        )
