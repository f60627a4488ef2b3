"""Babel with round-trip times beside routes by delay: which routes oscillate, and what keeps them from it."""

from __future__ import annotations

from typing import Any

from multihop_papers.declare import Axis, Effort, Plot, versus
from multihop_papers.validation.apdr import APDR, DIAMOND, METRICS, OLSR
from multihop_papers.validation.apdr_networks import BASE as NETWORKS
from multihop_papers.validation.apdr_networks import METRICS as NETWORK_METRICS
from multihop_papers.validation.part import Page

SOURCE = "B. Jonglez, J. Chroboczek, Delay-Based Metric Extension for the Babel Routing Protocol, RFC 9616, 2024"
PAGE = Page("babel", SOURCE)
BABEL, RTT, BARE, DELAY, RESERVED = "Babel", "Babel-RTT", "Babel-RTT, bare", "APDR 0.8", "APDR-PR"
BABELS: dict[str, dict[str, Any]] = {
    BABEL: {"protocol": "babel"},
    RTT: {"protocol": "babel", "rtt": True},
}
# The latest round trip alone decides, over the whole range of delays, and news spreads as fast as under APDR.
UNDAMPED = {"min": 0.0, "max": 1.0, "penalty": 1000, "smoothing": 0.0}
ROUTINGS: dict[str, dict[str, Any]] = {
    "OLSR": OLSR,
    "APDR 0.2": APDR["APDR 0.2"],
    DELAY: APDR[DELAY],
    RESERVED: {"protocol": "apdr-pr"},
    **BABELS,
    BARE: {"protocol": "babel", "hello_interval": 2.0, "update_interval": 2.0, "hysteresis": 0.0, "rtt": UNDAMPED},
}
DIAMOND_SETTING = (
    "The diamond of validation-apdr-diamond: two paths of four links, 11 Mb/s, one NewReno connection with a window of 44 segments from 50 "
    "s on. A run takes 1800 s (600 s with --quick). "
    "Nothing moves, so that every change of a route is the answer to a measurement."
)
STABLE = PAGE.experiment(
    "babel-diamond",
    "Babel-RTT and APDR, one flow and two paths",
    "Both protocols route by measured delay. Which of them oscillates? "
    "A change is a packet whose next hop differs from that of the packet before it, at the same node to the same "
    "destination. A reversed change returns to a next hop that was left less than 10 s before. "
    "Bare is Babel-RTT without what dampens it. Only the latest round trip counts, over a range of 0 to 1 s. There is no "
    "hysteresis, and all routes are announced every 2 s. "
    "The rest of its difference from APDR is feasibility. While routes change, packets under APDR go back and "
    "forth between nodes that know different costs until their TTL expires. Under Babel that is rare, because no two nodes route through each "
    "other at the same instant. "
    f"{DIAMOND_SETTING}",
    Effort(3, {"duration": 600.0}),
    full=Effort(4),
    scenario=DIAMOND,
    axes=[Axis("routing", {name: {"routing": routing} for name, routing in ROUTINGS.items()})],
    metrics=METRICS,
    claims=[
        versus("Babel-RTT changes routes less often than APDR 0.8", "changes", RTT, DELAY, axis="routing", at_most=1.0),
        versus("Babel-RTT changes routes less often than APDR 0.2", "changes", RTT, "APDR 0.2", axis="routing", at_most=1.0),
        versus("Babel-RTT delivers more than APDR 0.8", "goodput", RTT, DELAY, axis="routing"),
        versus("Babel-RTT delivers more than APDR 0.2", "goodput", RTT, "APDR 0.2", axis="routing"),
        versus("Babel-RTT delivers as much as a reserved path", "goodput", RTT, RESERVED, axis="routing"),
        versus("Without its remedies Babel-RTT changes routes more often", "changes", BARE, RTT, axis="routing"),
        versus("Round trips are shorter under Babel-RTT than under Babel", "rtt", RTT, BABEL, axis="routing", at_most=1.0),
    ],
    plots=(
        Plot("bar", "changes", x="routing", caption="Route changes."),
        Plot("bar", "goodput", x="routing", caption="Throughput."),
        Plot("bar", "rtt", x="routing", caption="Round-trip time."),
    ),
)
# What round trips add to the cost of a link, 256 without losses.
COSTS: dict[str, dict[str, float]] = {
    "nothing": {"routing.rtt.penalty": 0},
    "10 to 120 ms": {"routing.rtt.min": 0.01, "routing.rtt.max": 0.12, "routing.rtt.penalty": 150},
    "0 to 1 s": {"routing.rtt.min": 0.0, "routing.rtt.max": 1.0, "routing.rtt.penalty": 1000},
}
WIDE = "0 to 1 s"
AVERAGE, LATEST = "average", "latest"
HALF_LIFE, NONE = "4 s", "none"
SWITCHES = PAGE.experiment(
    "babel-switches",
    "what keeps Babel-RTT stable",
    "RFC 9616 has three remedies for oscillation, and each has a switch here. The round-trip time is averaged (0.836 of the average before, or "
    "the latest alone). A route is replaced only by one that is better now and was better on a second average (half-life 4 s, or none). "
    "The cost saturates (it grows from 10 to 120 ms; or from 0 to 1 s, up to four links' worth, which makes it a delay as under APDR; or not "
    "at all, which leaves the losses of Hellos). Hellos and updates are sent every 2 s, so that news spreads as fast as under APDR. "
    f"{DIAMOND_SETTING}",
    Effort(3, {"duration": 600.0}),
    full=Effort(4),
    scenario={**DIAMOND, "routing": {"protocol": "babel", "hello_interval": 2.0, "update_interval": 2.0, "rtt": {}}},
    axes=[
        Axis("cost", COSTS),
        Axis("round trips", {AVERAGE: {"routing.rtt.smoothing": 0.836}, LATEST: {"routing.rtt.smoothing": 0.0}}),
        Axis("hysteresis", {HALF_LIFE: {"routing.hysteresis": 4.0}, NONE: {"routing.hysteresis": 0.0}}),
    ],
    metrics=METRICS,
    claims=[
        versus(f"{text}, {WIDE}", "changes", of, against, axis=axis, at={"cost": WIDE, **at}, at_most=1.0)
        for text, axis, of, against, at in (
            ("Hysteresis alone reduces route changes", "hysteresis", HALF_LIFE, NONE, {"round trips": LATEST}),
            ("The average alone reduces route changes", "round trips", AVERAGE, LATEST, {"hysteresis": NONE}),
            ("Hysteresis reduces route changes further than the average alone", "hysteresis", HALF_LIFE, NONE, {"round trips": AVERAGE}),
        )
    ],
    plots=tuple(
        Plot("bar", metric, x="round trips", by="hysteresis", panel="cost", caption=caption)
        for metric, caption in (("changes", "Route changes."), ("goodput", "Throughput."))
    ),
)
WALKS: dict[str, dict[str, Any]] = {
    "OLSR": OLSR,
    DELAY: APDR[DELAY],
    "APDR-PR, reselect": {"protocol": "apdr-pr", "on_break": "reselect"},
    **BABELS,
    "Babel-RTT, 2 s": {"protocol": "babel", "rtt": True, "hello_interval": 2.0},
}
WALKING = PAGE.experiment(
    "babel-networks",
    "Babel-RTT and APDR in random networks",
    "Who follows nodes that move, and at what price? The networks of validation-apdr-networks: a square of 1 km, 11 Mb/s, 10% of the frames "
    "damaged, walks of up to 2 m/s or none, ten NewReno transfers at a time. Runs of 600 s (200 s with --quick). OLSR and APDR send HELLOs every 2 s, "
    "Babel every 4 s unless the name says 2 s. An invalid route is a packet sent to a node that is out of reach.",
    Effort(3, {"duration": 200.0}, {"nodes": [30]}),
    full=Effort(16),
    scenario={**NETWORKS, "duration": 600.0},
    axes=[
        Axis("network", {"walking": {}, "standing": {"mobility": {"kind": "static"}}}),
        Axis("nodes", {n: {"topology.nodes": n} for n in (30, 50)}, "nodes"),
        Axis("routing", {name: {"routing": routing} for name, routing in WALKS.items()}),
    ],
    metrics=NETWORK_METRICS,
    claims=[
        versus(f"{text}, 50 nodes {network}", metric, of, against, axis="routing", at={"network": network, "nodes": 50}, **bounds)
        for network in ("walking", "standing")
        for text, metric, of, against, bounds in (
            ("Babel-RTT changes routes less often than APDR 0.8", "changes", RTT, DELAY, {"at_most": 1.0}),
            ("Babel-RTT delivers more than APDR 0.8", "total", RTT, DELAY, {}),
            ("Babel-RTT delivers more than OLSR", "total", RTT, "OLSR", {}),
            ("Babel-RTT has fewer invalid routes than OLSR", "invalid", RTT, "OLSR", {"at_most": 1.0}),
            ("Babel-RTT sends less than APDR 0.8 for routing", "control", RTT, DELAY, {"at_most": 1.0}),
        )
    ],
    plots=tuple(
        Plot("bar", metric, x="routing", by="network", panel="nodes", caption=caption)
        for metric, caption in (
            ("total", "Everything delivered."),
            ("changes", "Route changes."),
            ("invalid", "Packets without a valid route."),
        )
    ),
)
EXPERIMENTS = (STABLE, SWITCHES, WALKING)
