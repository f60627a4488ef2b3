"""The experiments of the papers, in the order of the report."""

from __future__ import annotations

from multihop_papers.papers import (
    across,
    adtcp,
    apdr,
    apdr_settings,
    elfn,
    elfn_notices,
    tcp_ap,
    tcp_ap_flows,
    tcp_ap_random,
    tcp_ap_rules,
    today,
    tpa,
    tpa_cross,
    tpa_hold,
    tpa_networks,
    tpa_simulation,
    unstated,
)
from multihop_papers.study import Experiment

EXPERIMENTS: tuple[Experiment, ...] = (
    *tpa.EXPERIMENTS,
    *tpa_cross.EXPERIMENTS,
    *tpa_simulation.EXPERIMENTS,
    *tpa_networks.EXPERIMENTS,
    *tpa_hold.EXPERIMENTS,
    *tcp_ap.EXPERIMENTS,
    *tcp_ap_flows.EXPERIMENTS,
    *tcp_ap_random.EXPERIMENTS,
    *tcp_ap_rules.EXPERIMENTS,
    *elfn.EXPERIMENTS,
    *elfn_notices.EXPERIMENTS,
    *adtcp.EXPERIMENTS,
    *apdr.EXPERIMENTS,
    *apdr_settings.EXPERIMENTS,
    *across.EXPERIMENTS,
    *today.EXPERIMENTS,
    *unstated.EXPERIMENTS,
)
