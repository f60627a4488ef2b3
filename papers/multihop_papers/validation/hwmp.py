"""HWMP: fast links instead of few, on demand."""

from __future__ import annotations

from typing import Any

from multihop_papers.declare import GOODPUT, Effort, versus
from multihop_papers.validation.olsrv2 import (
    CONTROL,
    DISTANCES,
    LADDER,
    NEAR,
    NETWORKS_PLOTS,
    NETWORKS_SCENARIO,
    PAIRS,
    PATH_HOPS,
    RELAY_METRICS,
    RELAY_PLOTS,
    RELAY_SCENARIO,
    SLOW,
    SLOWEST,
    WARMUP,
    relay_claims,
    routing_axis,
)
from multihop_papers.validation.part import Page

PAGE = Page("hwmp", "IEEE Std 802.11-2020, clause 14.10, HWMP path selection protocol")
AODV, OLSRV2, AIRTIME, HOPS = "AODV", "OLSRv2", "HWMP", "HWMP, hops"
OVERHEAD = 870e-6
"""Overhead of a frame of 802.11b: DIFS, half of the least window, long preamble, SIFS, and an ACK
at 1 Mb/s: 50 + 310 + 192 + 10 + 304 us, rounded.
"""
ROUTINGS: dict[str, dict[str, Any]] = {
    AODV: {"protocol": "aodv"},
    OLSRV2: {"protocol": "olsrv2"},
    HOPS: {"protocol": "hwmp", "metric": "hops"},
    AIRTIME: {"protocol": "hwmp", "overhead": OVERHEAD},
}
RELAY = PAGE.experiment(
    "hwmp-relay",
    "two fast links or a slow one, on demand",
    "Does the metric prefer two fast links to a slow one, and only then? "
    "The three nodes are those of validation-olsrv2-relay. The outer ones hear each other, at a distance of "
    f"{NEAR} m at 11 Mb/s, {SLOW} m at 2 Mb/s and {SLOWEST} m at 1 Mb/s"
    ". The links to the node between them then have 11, 11 and 5.5 Mb/s. "
    f"{LADDER} Saturated with datagrams of 1460 bytes from 20 s on; 100 s simulated, the first 40 s not counted.",
    Effort(2, {"duration": 60.0}),
    full=Effort(10),
    scenario=RELAY_SCENARIO,
    axes=[DISTANCES, routing_axis(ROUTINGS)],
    metrics=RELAY_METRICS,
    claims=relay_claims(AIRTIME, HOPS),
    plots=RELAY_PLOTS,
)
NETWORKS = PAGE.experiment(
    "hwmp-networks",
    "fast links in random networks, on demand",
    f"What is it worth where there are many paths? The networks of validation-olsrv2-networks: 30 nodes at random in a square of 500 m; {PAIRS} "
    f"pairs of them have one NewReno connection each from 30 s on. {LADDER} 240 s simulated, the first {WARMUP:.0f} s not counted.",
    Effort(3, {"duration": 120.0}),
    full=Effort(20),
    scenario=NETWORKS_SCENARIO,
    axes=[routing_axis(ROUTINGS)],
    metrics=(GOODPUT, PATH_HOPS, CONTROL),
    claims=[
        versus("The airtime metric delivers more than hops do", "goodput", AIRTIME, HOPS, axis="routing"),
        versus("It delivers more than AODV", "goodput", AIRTIME, AODV, axis="routing"),
        versus("HWMP delivers more than OLSRv2", "goodput", AIRTIME, OLSRV2, axis="routing"),
        versus("Its paths are longer than those of least hops", "hops", AIRTIME, HOPS, axis="routing"),
    ],
    plots=NETWORKS_PLOTS,
)
EXPERIMENTS = (RELAY, NETWORKS)
