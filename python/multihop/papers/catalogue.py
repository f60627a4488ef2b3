"""Every experiment, in the order of the report."""

from __future__ import annotations

from multihop.papers import across, adtcp, apdr, elfn, tcp_ap, tpa, tpa_simulation
from multihop.papers.declare import Experiment

EXPERIMENTS: tuple[Experiment, ...] = (
    *tpa.EXPERIMENTS,
    *tpa_simulation.EXPERIMENTS,
    *tcp_ap.EXPERIMENTS,
    *elfn.EXPERIMENTS,
    *adtcp.EXPERIMENTS,
    *apdr.EXPERIMENTS,
    *across.EXPERIMENTS,
)


def find(name: str) -> Experiment:
    """An experiment by its name."""
    for experiment in EXPERIMENTS:
        if experiment.id == name:
            return experiment
    names = ", ".join(experiment.id for experiment in EXPERIMENTS)
    raise KeyError(f"there is no experiment {name!r}; allowed: {names}")
