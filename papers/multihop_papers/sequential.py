"""Add seeds until every claim of an experiment is decided: a group-sequential design.

From one look at the claims to the next the number of seeds doubles in the cells of claims that are open.
Each of K looks decides at a level of alpha / K (Bonferroni's correction), so that the chance of a false
decision at any of them is at most alpha, wherever it stops. An interval that is narrower than the smallest
difference that matters decides by its mean: a false decision is then about a difference that does not matter.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path

from multihop.files import write_text
from multihop.progress import Progress
from multihop.runs import Where
from multihop_papers import claims
from multihop_papers.declare import Claim, Effort
from multihop_papers.study import Study, Values
from multihop_papers.verdicts import NOT_DECIDED

LOOKS, BUDGET, BUDGET_FULL = 4, 20.0, 600.0
"""Looks, and CPU time of short and of full runs in seconds, of experiments that declare none."""

LAST_LOOK = "after the last look"
"""Why no seeds are added to claims that no planned look has decided."""


@dataclass(frozen=True)
class Limits:
    """When no more seeds are added."""

    looks: int = 1
    """How often the claims may be judged; with one look the number of seeds is fixed."""
    seconds: float = math.inf
    """CPU time of an experiment; a look that would probably exceed it is not begun."""

    @staticmethod
    def planned(effort: Effort, full: bool) -> Limits:
        """The limits that an effort declares, or the usual ones."""
        return Limits(effort.looks or LOOKS, effort.seconds or (BUDGET_FULL if full else BUDGET))


def schedule(first: int, looks: int) -> list[int]:
    """The number of seeds at each look."""
    return [first * 2**look for look in range(looks)]


def run(study: Study, where: Where, progress: Progress, limits: Limits) -> None:
    """Run a study with as many seeds as its claims need, within the limits."""
    study.looks = limits.looks if study.experiment.claims else 1
    study.repeat(study.effort.seeds)
    while True:
        study.run(where, progress)
        if study.missing:
            return
        if study.experiment.deepen is not None and not study.extra:
            study.repeat(study.seeds, study.experiment.deepen(study))
            study.run(where, progress)
            return
        study.stopped = _reason(study, limits)
        if study.stopped:
            return
        _add_seeds(study)


def _add_seeds(study: Study) -> None:
    """Double the seeds: of all cells while intervals are wide, then of the cells of open claims."""
    if _is_wide(study):
        last = max(study.effort.most, _last(study))
        study.repeat(min(2 * study.seeds, last), study.extra)
    else:
        more = min(2 * study.most_seeds, _last(study))
        study.repeat(study.seeds, {**study.extra, **dict.fromkeys(_open_cells(study), more)})


def _last(study: Study) -> int:
    """The number of seeds at the last look."""
    return schedule(study.effort.seeds, study.looks)[-1]


def _is_wide(study: Study) -> bool:
    return study.seeds < study.effort.most and not study.precise()


def _judged(study: Study) -> tuple[list[Claim], int]:
    """The claims that are open, and how many the mean of a narrow interval has decided."""
    found = [(claim, claims.judge(study, claim)) for claim in study.experiment.claims]
    still_open = [claim for claim, verdict in found if verdict.verdict == NOT_DECIDED]
    return still_open, sum(verdict.by_mean for _, verdict in found)


def _open_cells(study: Study) -> set[Values]:
    """The cells of the claims that are open."""
    return {cell for claim in _judged(study)[0] for cell in claims.open_cells(study, claim)}


def _reason(study: Study, limits: Limits) -> str:
    """Why no seeds are added; empty if more are needed."""
    still_open, by_mean = _judged(study) if study.looks > 1 else ([], 0)
    wide = _is_wide(study)
    if not wide and not (still_open and study.most_seeds < _last(study)):
        if study.looks == 1:
            return "the intervals are narrow" if study.effort.most else "the number of seeds is fixed"
        return f"{_open(len(still_open))} {LAST_LOOK}" if still_open else _decided(by_mean)
    next_look = study.spent() + (study.spent() if wide else study.spent(_open_cells(study)))
    if next_look > limits.seconds:
        return f"the next look would exceed {limits.seconds:g} s of CPU time; {_open(len(still_open))}"
    return ""


def _decided(by_mean: int) -> str:
    """Text about the rule by which a claim is decided, if not by intervals alone."""
    return "all claims are decided" + (f", {by_mean} by the mean of a narrow interval" if by_mean else "")


def _open(count: int) -> str:
    return f"{count} claim is open" if count == 1 else f"{count} claims are open"


def save(study: Study, folder: Path) -> None:
    """Write down how far a complete study went, for reports."""
    path = folder / NAME
    extra = [[*cell, seeds] for cell, seeds in study.extra.items()]
    found = {"seeds": study.seeds, "extra": extra, "looks": study.looks, "stopped": study.stopped}
    write_text(path, json.dumps(found))


def restore(study: Study, folder: Path) -> None:
    """Read runs without adding any: as many seeds as the last complete study had."""
    path = folder / NAME
    found = json.loads(path.read_text()) if path.is_file() else {}
    study.looks = found.get("looks", 1)
    study.stopped = found.get("stopped", "")
    extra = {tuple(cell): seeds for *cell, seeds in found.get("extra", [])}
    study.repeat(found.get("seeds", study.effort.seeds), extra)
    study.run(None, Progress("", quiet=True))


NAME = "stopped.json"
