"""Every experiment, in the order of the report."""

from __future__ import annotations

from difflib import get_close_matches

from multihop_papers.emulated.catalogue import EXPERIMENTS as EMULATED
from multihop_papers.gauntlet.catalogue import EXPERIMENTS as GAUNTLET
from multihop_papers.gauntlet.pieces import PIECES
from multihop_papers.papers.catalogue import EXPERIMENTS as PAPERS
from multihop_papers.study import Experiment
from multihop_papers.validation.catalogue import EXPERIMENTS as VALIDATION

EXPERIMENTS: tuple[Experiment, ...] = (*PAPERS, *VALIDATION, *EMULATED, *GAUNTLET, PIECES)


def find(name: str) -> Experiment:
    """An experiment by its name; KeyError, with one that is spelt like it, if there is none."""
    for experiment in EXPERIMENTS:
        if experiment.id == name:
            return experiment
    alike = get_close_matches(name, [experiment.id for experiment in EXPERIMENTS], n=1)
    hint = f"did you mean {alike[0]!r}? " if alike else ""
    raise KeyError(f"there is no experiment {name!r}; {hint}multihop papers list has all")
