"""An experiment of the validation, as a part of one of its pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from multihop.experiments.declare import VALIDATION, Effort
from multihop.experiments.study import Experiment


@dataclass(frozen=True)
class Page:
    """What the experiments of one page have in common."""

    name: str
    source: str
    """What the simulator is compared with."""
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
