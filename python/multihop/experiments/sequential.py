"""Add seeds until every claim of an experiment is decided: a group-sequential design.

The number of seeds doubles from one look at the claims to the next. Each of K looks decides at a level of
alpha / K (Bonferroni's correction), so that the chance of a false decision at any of them is at most alpha,
wherever it stops. An interval that is narrower than the smallest difference that matters decides by its mean:
a false decision is then about a difference that does not matter.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path

from multihop.experiments import claims
from multihop.experiments.study import Study
from multihop.experiments.verdicts import NOT_DECIDED
from multihop.files import write_text
from multihop.progress import Progress
from multihop.runs import Where


@dataclass(frozen=True)
class Limits:
    """When no more seeds are added."""

    looks: int = 1
    """How often the claims may be judged; with one look the number of seeds is fixed."""
    seconds: float = math.inf
    """CPU time of an experiment; a look that would probably exceed it is not begun."""


def schedule(first: int, looks: int) -> list[int]:
    """The number of seeds at each look."""
    return [first * 2**look for look in range(looks)]


def run(study: Study, where: Where, progress: Progress, limits: Limits) -> None:
    """Run a study with as many seeds as its claims need, within the limits."""
    study.looks = limits.looks if study.experiment.claims else 1
    last = max(study.effort.most, schedule(study.effort.seeds, study.looks)[-1])
    study.repeat(study.effort.seeds)
    while True:
        study.run(where, progress)
        if study.missing:
            return
        study.stopped = _reason(study, limits, last)
        if study.stopped:
            return
        study.repeat(min(2 * study.seeds, last))


def _judged(study: Study) -> tuple[int, int]:
    """How many claims are open, and how many the mean of a narrow interval has decided."""
    found = [claims.judge(study, claim) for claim in study.experiment.claims]
    return sum(one.verdict == NOT_DECIDED for one in found), sum(one.by_mean for one in found)


def _reason(study: Study, limits: Limits, last: int) -> str:
    """Why no seeds are added; empty if more are needed."""
    wide = study.seeds < study.effort.most and not study.precise()
    sequential = study.seeds < schedule(study.effort.seeds, study.looks)[-1]
    still_open, by_mean = _judged(study) if study.looks > 1 else (0, 0)
    if not wide and not (sequential and still_open):
        if study.looks == 1:
            return "the intervals are narrow" if study.effort.most else "the number of seeds is fixed"
        return f"{_open(still_open)} after the last look" if still_open else _decided(by_mean)
    if study.spent() * min(2.0, last / study.seeds) > limits.seconds:
        return f"the next look would exceed {limits.seconds:g} s of CPU time; {_open(still_open)}"
    return ""


def _decided(by_mean: int) -> str:
    """By which rule, if not by intervals alone."""
    return "all claims are decided" + (f", {by_mean} by the mean of a narrow interval" if by_mean else "")


def _open(count: int) -> str:
    return f"{count} claim is open" if count == 1 else f"{count} claims are open"


def save(study: Study, folder: Path) -> None:
    """Write down how far a complete study went, for reports."""
    path = folder / NAME
    write_text(path, json.dumps({"seeds": study.seeds, "looks": study.looks, "stopped": study.stopped}))


def restore(study: Study, folder: Path) -> None:
    """Read runs without adding any: as many seeds as the last complete study had."""
    path = folder / NAME
    found = json.loads(path.read_text()) if path.is_file() else {}
    study.looks = found.get("looks", 1)
    study.stopped = found.get("stopped", "")
    study.repeat(found.get("seeds", study.effort.seeds))
    study.run(None, Progress("", quiet=True))


NAME = "stopped.json"
