"""The experiments with real programs, in the order of their page."""

from __future__ import annotations

from multihop.experiments.emulated import chain, kernel, lateness, linux, networks, outage, recovery, routing
from multihop.experiments.study import Experiment

EXPERIMENTS: tuple[Experiment, ...] = (
    *chain.EXPERIMENTS,
    *networks.EXPERIMENTS,
    *kernel.EXPERIMENTS,
    *linux.EXPERIMENTS,
    *routing.EXPERIMENTS,
    *recovery.EXPERIMENTS,
    *outage.EXPERIMENTS,
    *lateness.EXPERIMENTS,
)
