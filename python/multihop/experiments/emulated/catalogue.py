"""The experiments with real programs, in the order of their page."""

from __future__ import annotations

from multihop.experiments.emulated import chain, lateness, networks, routing
from multihop.experiments.study import Experiment

EXPERIMENTS: tuple[Experiment, ...] = (*chain.EXPERIMENTS, *networks.EXPERIMENTS, *routing.EXPERIMENTS, *lateness.EXPERIMENTS)
