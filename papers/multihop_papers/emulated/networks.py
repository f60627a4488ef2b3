"""Flows that cross, stations that move, and the testbeds of two papers with real programs."""

from __future__ import annotations

from typing import Any

from multihop_papers.declare import Axis, Metric, Plot, Settings
from multihop_papers.emulated.part import experiment
from multihop_papers.emulated.programs import (
    AGAIN,
    FAIRNESS,
    FEW,
    GOODPUT,
    LATE,
    TRANSPORTS,
    choice,
    flow,
    flows_of,
    pairs,
)
from multihop_papers.papers.adtcp_testbed import CLEAR, HOPS, SINGLE, SPACING, WALKING

MAC = {"arp": "queueing"}
COMPARED = {name: TRANSPORTS[name] for name in FEW}
FIELD = {"mac": {"arp": "queueing", "flavour": "standard", "rts_threshold": 100}}

CROSS = experiment(
    "cross",
    "two flows that cross",
    "Two chains of four hops share their middle station; both flows use the same program.",
    flows=2,
    runs=5,
    scenario={"mac": MAC, "topology": {"kind": "cross"}, "program": pairs((4, 0), (8, 5))},
    axes=[choice(TRANSPORTS, 2)],
    metrics=(GOODPUT, FAIRNESS, AGAIN, LATE),
    plots=(Plot("bar", "goodput", x="transport", caption="Aggregate goodput of two flows that cross, 95% intervals."),),
)

MOVING = experiment(
    "moving",
    "moving stations",
    "One flow among 20 stations in 1000 m x 300 m that move at 5 m/s without pause (random waypoint, another movement for each seed). AODV runs "
    "inside the simulated network.",
    flows=1,
    runs=10,
    scenario={
        "mac": MAC,
        "topology": {"kind": "random", "nodes": 20, "area": [1000.0, 300.0]},
        "mobility": {"kind": "random-waypoint", "speed": [5.0, 5.0], "pause": 0.0},
        "routing": {"protocol": "aodv"},
        "program": pairs((19, 0)),
    },
    axes=[choice(COMPARED)],
    metrics=(GOODPUT, AGAIN, LATE),
    plots=(Plot("bar", "goodput", x="transport", caption="Goodput between moving stations, 95% intervals."),),
)

ROUTING = Axis(
    "routing",
    {
        "AODV": {"routing.protocol": "aodv", "routing.preset": "uu", "routing.link_failure": "hello"},
        "OLSR": {"routing.protocol": "olsr"},
    },
)
SETTLED = 15.0
"""Seconds after which OLSR has found its routes."""
TESTBED: dict[str, Any] = {**FIELD, "radio": {"frame_loss": 0.03}}


CHAIN = experiment(
    "tpa-chain",
    "the chains of TPA's testbed",
    "TPA's section 4.3 with real programs: one flow over 2 and 4 hops that lose 3% of their frames, over AODV with HELLOs and over OLSR. The paper "
    "compares with the TCP of its kernel, a NewReno.",
    flows=1,
    runs=3,
    start=SETTLED,
    scenario={**TESTBED, "topology": {"kind": "chain", "hops": 4}, "program": pairs((4, 0))},
    axes=[
        Axis("hops", {n: {"topology.hops": n, "program.1.node": n} for n in (2, 4)}, "hops"),
        ROUTING,
        choice({name: TRANSPORTS[name] for name in ("reno", "cubic", "TPA 3")}),
    ],
    metrics=(GOODPUT, AGAIN, LATE),
    spread="hops",
    plots=(Plot("line", "goodput", x="hops", by="transport", panel="routing", caption="Goodput over the chains of the testbed."),),
)

CROSSING = experiment(
    "tpa-cross",
    "the crossing flows of TPA's testbed",
    "TPA's section 4.4 with real programs: two flows between the ends of two chains of four stations, N1 to N4 and N5 to N8, that cross.",
    flows=2,
    runs=3,
    start=SETTLED,
    scenario={**TESTBED, "topology": {"kind": "cross-testbed"}, "program": pairs((0, 3), (4, 7))},
    axes=[
        ROUTING,
        choice({name: TRANSPORTS[name] for name in ("reno", "cubic", "TPA 3")}, 2),
    ],
    metrics=(GOODPUT, FAIRNESS, AGAIN, LATE),
    plots=(Plot("bar", "goodput", x="transport", panel="routing", caption="Aggregate goodput of the crossing flows."),),
)

# From one hop to three and back, faster than on foot.
STANDS, WALKS, WALK_SECONDS = 10.0, 15.0, 60
NEAR, FAR = [200.0, 50.0], [600.0, 50.0]
ROAMS: list[list[float]] = [
    [SETTLED + STANDS, *NEAR],
    [SETTLED + STANDS + WALKS, *FAR],
    [SETTLED + 2 * STANDS + WALKS, *FAR],
    [SETTLED + 2 * STANDS + 2 * WALKS, *NEAR],
]
ROAMING = experiment(
    "tpa-roaming",
    "the roaming station of TPA's testbed",
    "TPA's section 4.5 with real programs: N4 sends to N1 for 60 s, and goes from one hop to three hops away and back; each way takes 15 s.",
    flows=1,
    runs=2,
    seconds=WALK_SECONDS,
    start=SETTLED,
    scenario={
        **TESTBED,
        "topology": {"kind": "list", "positions": [[0.0, 0.0], [200.0, 0.0], [400.0, 0.0], NEAR]},
        "mobility": {"kind": "waypoints", "waypoints": [[], [], [], [[0.0, *NEAR], *ROAMS]]},
        "program": pairs((3, 0)),
    },
    axes=[ROUTING, choice({name: TRANSPORTS[name] for name in ("reno", "cubic", "TPA 3")})],
    metrics=(GOODPUT, AGAIN, LATE),
    plots=(Plot("bar", "goodput", x="transport", panel="routing", caption="Goodput of the roaming station."),),
)

AWAY, ROUND = 100.0, 10.0


def walk() -> Settings:
    """A receiver that goes away and back all the time, in reach for half of each round."""
    home, rounds = HOPS * SPACING, 10
    path = [[n * ROUND / 2, home + AWAY * (n % 2), 0.0] for n in range(2 * rounds + 1)]
    return {"mobility": {"kind": "waypoints", "waypoints": [*([[]] * HOPS), path]}}


CHANNELS: dict[str, Settings] = {CLEAR: {}, SINGLE: {"radio.frame_loss": 0.25}, WALKING: walk()}
PAIRS = {"TPA 3 beside reno": ("TPA 3", "reno"), "cubic beside reno": ("cubic", "reno"), "reno beside reno": ("reno", "reno")}


def share(number: int, label: str) -> Metric:
    """The goodput of one of two flows."""
    return Metric(label.split(",", maxsplit=1)[0], label, lambda document: flows_of(document)[number])


ADTCP = experiment(
    "adtcp-testbed",
    "two transfers over the laptops of ADTCP's testbed",
    "ADTCP's section 6 with real programs: two transfers side by side over four hops. The channel is clear, or it loses a quarter of all frames, or "
    "the receiver goes 100 m away and back every 10 s. The kernel has no ADTCP; TPA takes its place beside the kernel's Reno.",
    flows=2,
    runs=3,
    scenario={
        "mac": {"arp": "queueing", "flavour": "standard", "rts_threshold": 0},
        "topology": {"kind": "chain", "hops": HOPS, "spacing": SPACING},
        "program": pairs((0, HOPS), (0, HOPS)),
    },
    axes=[
        Axis("channel", CHANNELS),
        Axis("transports", {name: flow(0, TRANSPORTS[one]) | flow(1, TRANSPORTS[two]) for name, (one, two) in PAIRS.items()}),
    ],
    metrics=(share(0, "first, kb/s"), share(1, "second, kb/s"), FAIRNESS, LATE),
    plots=(Plot("bar", "first", x="channel", by="transports", caption="Goodput of the first of the two flows."),),
)

EXPERIMENTS = (CROSS, MOVING, CHAIN, CROSSING, ROAMING, ADTCP)
