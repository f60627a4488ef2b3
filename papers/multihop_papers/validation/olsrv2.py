"""OLSRv2 with the directional airtime metric: fast links instead of few, and how stable its routes are."""

from __future__ import annotations

from typing import Any

from multihop_papers.declare import GOODPUT, Axis, Claim, Document, Effort, Metric, Plot, Settings, versus
from multihop_papers.measures import weighted
from multihop_papers.validation.apdr import APDR, DIAMOND, METRICS, OLSR
from multihop_papers.validation.part import Page

PAGE = Page("olsrv2", "H. Rogge, E. Baccelli, Directional Airtime Metric Based on Packet Sequence Numbers for OLSRv2, RFC 7779, 2016")
AIRTIME, HOPS = "OLSRv2", "OLSRv2, hops"
OLSRV2: dict[str, dict[str, Any]] = {
    HOPS: {"protocol": "olsrv2", "metric": "hops"},
    AIRTIME: {"protocol": "olsrv2"},
}
ROUTINGS: dict[str, dict[str, Any]] = {"OLSR": OLSR, "Babel": {"protocol": "babel"}, **OLSRV2}
RANGES = {"1M": 250.0, "2M": 200.0, "5.5M": 150.0, "11M": 100.0}
RADIO = {"rate": "11M", "range": RANGES}
MAC = {"flavour": "standard", "rts_threshold": "off", "arp": "oracle", "rate_control": "minstrel"}
LADDER = (
    "The radio is 802.11b with Minstrel, which begins at 11 Mb/s. Packets reach 100 m at 11 Mb/s, 150 m at 5.5 Mb/s and "
    "200 m at 2 Mb/s. Routing messages are broadcast at 1 Mb/s and reach 250 m. "
    "Standard flavour without RTS/CTS."
)


def apart(metres: int) -> Settings:
    """A node half way between two others."""
    return {"topology.spacing": metres / 2}


NEAR, SLOW, SLOWEST = 90, 190, 240
RELAY_SCENARIO: Settings = {
    "duration": 100.0,
    "warmup": 40.0,
    "radio": RADIO,
    "mac": MAC,
    "topology": {"kind": "chain", "hops": 2},
    "flow": [{"app": "cbr", "rate_kbps": 8000.0, "size": 1460, "start": 20.0}],
}
DISTANCES = Axis("distance", {metres: apart(metres) for metres in (NEAR, SLOW, SLOWEST)}, "distance of the outer nodes, m")
RELAY_METRICS = (GOODPUT, Metric("hops", "links crossed", "flows.*.mean_hops"))
RELAY_PLOTS = (Plot("bar", "goodput", x="routing", by="distance", caption="Goodput from one outer node to the other."),)


def routing_axis(routings: dict[str, dict[str, Any]]) -> Axis:
    """Routing protocols by their names, one after the other."""
    return Axis("routing", {name: {"routing": routing} for name, routing in routings.items()})


def relay_claims(airtime: str, hops: str) -> list[Claim]:
    """Claims about the relay under a protocol with the airtime metric, and under the same protocol with hops."""
    return [
        *(
            versus(
                f"At {metres} m the airtime metric delivers more than hops do",
                "goodput",
                airtime,
                hops,
                axis="routing",
                at={"distance": metres},
            )
            for metres in (SLOW, SLOWEST)
        ),
        *(
            Claim(f"At {metres} m the airtime metric takes two links", "hops", {"distance": metres, "routing": airtime}, at_least=1.95)
            for metres in (SLOW, SLOWEST)
        ),
        Claim("Where the direct link is fast it takes that", "hops", {"distance": NEAR, "routing": airtime}, at_most=1.05),
    ]


RELAY = PAGE.experiment(
    "olsrv2-relay",
    "two fast links or a slow one",
    "Does the metric prefer two fast links to a slow one, and only then? "
    "Three nodes stand in a row. The outer ones hear each other, at a distance of "
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


def control(document: Document) -> float:
    """Rate of routing messages, kb/s."""
    return 8e-3 * float(sum(document["routing"]["bytes"].values())) / (float(document["sim_seconds"]) - WARMUP)


WARMUP = 60.0
PAIRS = 4
NETWORKS_SCENARIO: Settings = {
    "duration": 240.0,
    "warmup": WARMUP,
    "radio": RADIO,
    "mac": MAC,
    "topology": {"kind": "random", "nodes": 30, "area": [500.0, 500.0]},
    "flow": [{"from": 2 * pair, "to": 2 * pair + 1, "transport": "newreno", "start": 30.0} for pair in range(PAIRS)],
}
PATH_HOPS = Metric("hops", "links of a path", lambda one: weighted(one, lambda flow: flow["mean_hops"]))
CONTROL = Metric("control", "routing, kb/s", control)
NETWORKS_PLOTS = (Plot("bar", "goodput", x="routing", caption="Goodput of all connections."),)
NETWORKS = PAGE.experiment(
    "olsrv2-networks",
    "fast links in random networks",
    f"What is it worth where there are many paths? 30 nodes at random in a square of 500 m; {PAIRS} pairs of them have one NewReno connection each "
    f"from 30 s on. {LADDER} 240 s simulated, the first {WARMUP:.0f} s not counted.",
    Effort(3, {"duration": 120.0}),
    full=Effort(20),
    scenario=NETWORKS_SCENARIO,
    axes=[routing_axis(ROUTINGS)],
    metrics=(GOODPUT, PATH_HOPS, Metric("changes", "route changes", "routing.route_changes"), CONTROL),
    claims=[
        versus("The airtime metric delivers more than hops do", "goodput", AIRTIME, HOPS, axis="routing"),
        versus("It delivers more than OLSR", "goodput", AIRTIME, "OLSR", axis="routing"),
        versus("Its paths are longer than those of least hops", "hops", AIRTIME, HOPS, axis="routing"),
    ],
    plots=NETWORKS_PLOTS,
)
DELAY, RTT = "APDR 0.8", "Babel-RTT"
STABLE = PAGE.experiment(
    "olsrv2-diamond",
    "OLSRv2, Babel-RTT and APDR, one flow and two paths",
    "Airtime is not delay: where all links have one bit rate, only lost packets change what they cost. Does OLSRv2 oscillate? "
    "A change is a packet whose next hop differs from that of the packet before it, at the same node to the same "
    "destination. A reversed change returns to a next hop that was left less than 10 s before. "
    "The diamond of validation-apdr-diamond: two paths of four links, 11 Mb/s, one NewReno connection with a "
    "window of 44 segments from 50 "
    "s on. A run takes 1800 s (600 s with --quick). "
    "Nothing moves.",
    Effort(3, {"duration": 600.0}),
    full=Effort(4),
    scenario=DIAMOND,
    axes=[
        routing_axis(
            {
                "OLSR": OLSR,
                DELAY: APDR[DELAY],
                "Babel": {"protocol": "babel"},
                RTT: {"protocol": "babel", "rtt": True},
                **OLSRV2,
            }
        )
    ],
    metrics=METRICS,
    claims=[
        versus("OLSRv2 changes routes less often than APDR 0.8", "changes", AIRTIME, DELAY, axis="routing", at_most=1.0),
        versus("OLSRv2 delivers more than APDR 0.8", "goodput", AIRTIME, DELAY, axis="routing"),
        versus("OLSRv2 changes routes less often than Babel-RTT", "changes", AIRTIME, RTT, axis="routing", at_most=1.0),
    ],
    plots=(
        Plot("bar", "changes", x="routing", caption="Route changes."),
        Plot("bar", "goodput", x="routing", caption="Throughput."),
    ),
)
EXPERIMENTS = (RELAY, NETWORKS, STABLE)
