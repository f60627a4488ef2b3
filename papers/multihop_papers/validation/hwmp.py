"""HWMP: fast links instead of few, on demand."""

from __future__ import annotations

from typing import Any

from multihop_papers.declare import GOODPUT, Axis, Claim, Effort, Metric, Plot, versus
from multihop_papers.measures import weighted
from multihop_papers.validation.olsrv2 import (
    LADDER,
    MAC,
    NEAR,
    PAIRS,
    RADIO,
    SLOW,
    SLOWEST,
    WARMUP,
    apart,
    control,
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
    "Does the metric prefer two fast links to a slow one, and only then? The three nodes of validation-olsrv2-relay: the outer ones hear each "
    f"other, at a distance of {NEAR} m at 11 Mb/s, {SLOW} m at 2 Mb/s and {SLOWEST} m at 1 Mb/s, where the links to the node between them have "
    f"11, 11 and 5.5 Mb/s. {LADDER} Saturated with datagrams of 1460 bytes from 20 s on; 100 s simulated, the first 40 s not counted.",
    Effort(2, {"duration": 60.0}),
    full=Effort(10),
    scenario={
        "duration": 100.0,
        "warmup": 40.0,
        "radio": RADIO,
        "mac": MAC,
        "topology": {"kind": "chain", "hops": 2},
        "flow": [{"app": "cbr", "rate_kbps": 8000.0, "size": 1460, "start": 20.0}],
    },
    axes=[
        Axis("distance", {metres: apart(metres) for metres in (NEAR, SLOW, SLOWEST)}, "distance of the outer nodes, m"),
        Axis("routing", {name: {"routing": routing} for name, routing in ROUTINGS.items()}),
    ],
    metrics=(GOODPUT, Metric("hops", "links crossed", "flows.*.mean_hops")),
    claims=[
        *(
            versus(
                f"At {metres} m the airtime metric delivers more than hops do",
                "goodput",
                AIRTIME,
                HOPS,
                axis="routing",
                at={"distance": metres},
            )
            for metres in (SLOW, SLOWEST)
        ),
        *(
            Claim(f"At {metres} m it takes two links", "hops", {"distance": metres, "routing": AIRTIME}, at_least=1.95)
            for metres in (SLOW, SLOWEST)
        ),
        Claim("Where the direct link is fast it takes that", "hops", {"distance": NEAR, "routing": AIRTIME}, at_most=1.05),
    ],
    plots=(Plot("bar", "goodput", x="routing", by="distance", caption="Goodput from one outer node to the other."),),
)
NETWORKS = PAGE.experiment(
    "hwmp-networks",
    "fast links in random networks, on demand",
    f"What is it worth where there are many paths? The networks of validation-olsrv2-networks: 30 nodes at random in a square of 500 m; {PAIRS} "
    f"pairs of them have one NewReno connection each from 30 s on. {LADDER} 240 s simulated, the first {WARMUP:.0f} s not counted.",
    Effort(3, {"duration": 120.0}),
    full=Effort(20),
    scenario={
        "duration": 240.0,
        "warmup": WARMUP,
        "radio": RADIO,
        "mac": MAC,
        "topology": {"kind": "random", "nodes": 30, "area": [500.0, 500.0]},
        "flow": [{"from": 2 * pair, "to": 2 * pair + 1, "transport": "newreno", "start": 30.0} for pair in range(PAIRS)],
    },
    axes=[Axis("routing", {name: {"routing": routing} for name, routing in ROUTINGS.items()})],
    metrics=(
        GOODPUT,
        Metric("hops", "links of a path", lambda one: weighted(one, lambda flow: flow["mean_hops"])),
        Metric("control", "routing, kb/s", control),
    ),
    claims=[
        versus("The airtime metric delivers more than hops do", "goodput", AIRTIME, HOPS, axis="routing"),
        versus("It delivers more than AODV", "goodput", AIRTIME, AODV, axis="routing"),
        versus("It delivers more than OLSRv2", "goodput", AIRTIME, OLSRV2, axis="routing"),
        versus("Its paths are longer than those of least hops", "hops", AIRTIME, HOPS, axis="routing"),
    ],
    plots=(Plot("bar", "goodput", x="routing", caption="Goodput of all connections."),),
)
EXPERIMENTS = (RELAY, NETWORKS)
