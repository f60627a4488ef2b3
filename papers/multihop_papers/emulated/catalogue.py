"""The experiments with real programs, in the order of their page."""

from __future__ import annotations

from multihop_papers.emulated import chain, kernel, lateness, linux, networks, outage, recovery, routing
from multihop_papers.study import Experiment

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
