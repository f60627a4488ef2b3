"""The experiments of the validation, in the order of its pages."""

from __future__ import annotations

from multihop_papers.study import Experiment
from multihop_papers.validation import (
    adtcp,
    apdr,
    apdr_long,
    apdr_networks,
    babel,
    bianchi,
    chain,
    edca,
    hwmp,
    mobile,
    ns2_table,
    ofdm,
    olsrv2,
    one_hop,
    pacing,
    pacing_options,
    placements,
    propagation,
    rates,
    rates_ofdm,
    stationarity,
    wires,
)

EXPERIMENTS: tuple[Experiment, ...] = (
    *one_hop.EXPERIMENTS,
    *bianchi.EXPERIMENTS,
    *ofdm.EXPERIMENTS,
    *edca.EXPERIMENTS,
    *rates.EXPERIMENTS,
    *rates_ofdm.EXPERIMENTS,
    *chain.EXPERIMENTS,
    *ns2_table.EXPERIMENTS,
    *propagation.EXPERIMENTS,
    *stationarity.EXPERIMENTS,
    *wires.EXPERIMENTS,
    *placements.EXPERIMENTS,
    *mobile.EXPERIMENTS,
    *pacing.EXPERIMENTS,
    *pacing_options.EXPERIMENTS,
    *adtcp.EXPERIMENTS,
    *apdr.EXPERIMENTS,
    *apdr_networks.EXPERIMENTS,
    *apdr_long.EXPERIMENTS,
    *babel.EXPERIMENTS,
    *olsrv2.EXPERIMENTS,
    *hwmp.EXPERIMENTS,
)
