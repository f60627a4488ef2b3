"""An experiment of the validation, as a part of one of its pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from multihop_papers.declare import VALIDATION, Effort
from multihop_papers.study import Experiment


@dataclass(frozen=True)
class Page:
    """Parts that the experiments of one page share."""

    name: str
    source: str
    """Source of the values with which the simulator is compared."""
    setting: str = ""
    """Ends the description of each experiment."""

    def experiment(self, name: str, title: str, found: str, quick: Effort, *, full: Effort | None = None, **more: Any) -> Experiment:
        """An experiment of this page."""
        return Experiment(
            id=f"validation-{name}",
            paper=VALIDATION,
            sheet=self.name,
            place=self.source,
            title=title,
            found=f"{found} {self.setting}".strip(),
            quick=quick,
            full=full or quick,
            **more,
        )
