"""Fifty moving nodes: what each routing protocol delivers, what it costs, and where packets are lost."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from multihop.experiments.declare import Axis, Claim, Document, Effort, Metric, Plot, versus
from multihop.experiments.measures import frame, mean, total, weighted
from multihop.experiments.study import Study
from multihop.experiments.traces import traced
from multihop.experiments.validation.losses import Losses
from multihop.experiments.validation.part import Page
from multihop.experiments.validation.protocols import AODV, AODV_HELLO, DSR, OLSR, OLSR_MAC, PROTOCOLS, UU, UU_HELLO, protocols

FLOWS, PER_SECOND, PAYLOAD = 10, 4, 512
WARMUP, STAGGER, STOP = 20.0, 1.025, 195.0  # s; the sources take turns, 25 ms after each other
# The slowest moves 0.2 m: places as dense as with movement, but no link breaks.
AT_REST, REST, FAST = 0, 0.001, 20
TRACED = 3  # seeds
# s after the last HELLO, the shortest first.
NEIGHBOUR_LIFE = {UU_HELLO: 2.05, AODV_HELLO: 4.5, OLSR: 6.0}
BY_MAC = {AODV_HELLO: AODV, UU_HELLO: UU, OLSR: OLSR_MAC}
CODES = {
    "RET": "given up by the MAC",
    "NRTE": "no route",
    "ARP": "replaced in ARP",
    "IFQ": "queue full",
    "STAL": "stale",
    "TTL": "TTL",
    "TOUT": "waited too long",
}


def delivery(document: Document) -> float:
    """Share of the datagrams that arrive, %."""
    return 100 * total(document, "segments_delivered") / total(document, "segments_sent")


def control(document: Document, what: str) -> float:
    """Packets or bytes of the routing protocol, every hop of them, for each datagram delivered."""
    return float(sum(document["routing"][what].values())) / total(document, "segments_delivered")


def delay(document: Document) -> float | None:
    """The mean over the datagrams that arrive, ms."""
    return weighted(document, lambda flow: (flow["delay_ms"] or {}).get("mean"))


DELIVERY = Metric("delivery", "datagrams delivered, %", delivery)
PACKETS = Metric("packets", "control packets / datagram delivered", lambda one: control(one, "packets"))
BYTES = Metric("bytes", "control bytes / datagram delivered", lambda one: control(one, "bytes"))
INVALID = Metric("invalid", "packets dropped for want of a route, %", "routing.invalid_routes", 100.0)
DELAY = Metric("delay", "mean delay, ms", delay)
STRETCH = Metric("stretch", "links crossed / links of the shortest path", lambda one: weighted(one, lambda flow: flow["stretch"]))
PARTITIONED = Metric("partitioned", "share of time without a path", "flows.*.partitioned")
SETTING = (
    "50 nodes under random waypoint with a stationary start and no pauses, speeds uniform from v/2 to 3v/2, so that the same seed at "
    f"another v is the same movement at another pace; speed 0 means {REST:g} m/s. The nodes' mean speed is 0.91 v. {FLOWS} flows between "
    f"{2 * FLOWS} nodes, {PER_SECOND} datagrams of {PAYLOAD} bytes a second each, the sources in turn; 200 s simulated, flows from "
    f"{WARMUP:g} s to {STOP:g} s; range 250 m, 2 Mb/s data, 1 Mb/s basic rate, ns2 flavour and ARP, RTS/CTS; no second IP header for any "
    "protocol, so that the air is the same for all; DSR without flow state. 'MAC' and 'HELLO' say how broken links are found."
)
PAPER = (
    "J. Broch, D. Maltz, D. Johnson, Y.-C. Hu, J. Jetcheva, A Performance Comparison of Multi-Hop Wireless Ad Hoc Network Routing "
    "Protocols, MobiCom 1998"
)
PAGE = Page("mobile", PAPER, SETTING)
TEN = Effort(10)
FLOW = {"app": "cbr", "rate_kbps": 8e-3 * PAYLOAD * PER_SECOND, "size": PAYLOAD, "stop": STOP}
BASE: dict[str, Any] = {
    "duration": 200.0,
    "warmup": WARMUP,
    "mac": {"arp": "ns2"},
    "topology": {"kind": "random", "nodes": 50, "area": [1000.0, 1000.0], "connected": False},
    "mobility": {"kind": "random-waypoint", "speed": [0.5 * FAST, 1.5 * FAST]},
    "flow": [{"from": i, "to": i + FLOWS, "start": WARMUP + STAGGER * i, **FLOW} for i in range(FLOWS)],
}


def speeds(*values: int) -> Axis:
    """The axis of speeds."""
    settings = {v: {"mobility.speed": [0.5 * (v or REST), 1.5 * (v or REST)]} for v in values}
    return Axis("speed", settings, "v, mean of the speeds drawn, m/s")


def orders(area: str) -> list[Claim]:
    """What the literature says of the protocols."""
    claims = [
        Claim(
            f"{name} at 5 m/s, {area}: above 95% arrive, as Broch and others found",
            "delivery",
            {"protocol": name, "speed": 5},
            at_least=95.0,
            by_mean=True,
        )
        for name in (AODV, UU, DSR)
    ]
    pairs = [(f"{mac} delivers more than {hello}", mac, hello) for hello, mac in BY_MAC.items()]
    pairs += [
        (f"The sooner a silent neighbour is given up, the more arrives: {sooner} before {later}", sooner, later)
        for sooner, later in pairwise(NEIGHBOUR_LIFE)
    ]
    for text, of, against in pairs:
        at = {"speed": FAST}
        claims.append(versus(f"{text}, 20 m/s, {area}", "delivery", of, against, axis="protocol", at=at))
    return claims


def lost(study: Study) -> None:
    """Read from traces where datagrams are lost at 20 m/s, and explain the order of the protocols."""
    found = {name: read(study, name) for name in PROTOCOLS}
    for hello in (AODV_HELLO, UU_HELLO):
        unnoticed, life = found[hello].mean_run / PER_SECOND, NEIGHBOUR_LIFE[hello]
        text = f"{hello}: a broken link takes datagrams for half to all of the {life:g} s that a neighbour may be silent"
        study.verdict(text, life / 2 <= unnoticed <= life, f"{unnoticed:.2f} s")
    for mac in (AODV, UU):
        text = f"{mac}: a broken link takes one datagram, in the mean fewer than 1.2"
        study.verdict(text, found[mac].mean_run < 1.2, f"{found[mac].mean_run:.2f}")
    for paragraph in reasons(study, found):
        study.text(paragraph)
    codes = [code for code in CODES if any(one.reasons[code] for one in found.values())]
    rows = []
    for name, one in found.items():
        sent = len(study.each_seed(TRACED)) * total(study.result((name, FAST)).data, "segments_sent")
        shares = [f"{100 * one.reasons[code] / sent:.2f}" for code in codes]
        silent = f"{one.mean_run / PER_SECOND:.2f}" if one.runs else "-"
        rows.append([name, *shares, silent, len(one.runs)])
    columns = ["protocol", *(CODES[code] for code in codes), "given up in a row, s", "broken links met"]
    study.table(
        frame(columns, rows),
        f"Datagrams lost at 20 m/s, in % of those sent, by the traces of seeds 1 to {TRACED}; for how long one node's MAC gave up on one "
        "flow's datagrams without a break (their number / 4); and how often it began to",
    )


def read(study: Study, name: str) -> Losses:
    """Where one protocol loses datagrams at 20 m/s."""
    losses = Losses()
    for seed in study.each_seed(TRACED):
        with traced(study, (name, FAST), seed) as trace:
            losses.add(trace)
    return losses


def reasons(study: Study, found: dict[str, Losses]) -> list[str]:
    """Why they order as they do."""

    def arrive(name: str, speed: int = FAST) -> float:
        return mean(study, "delivery", (name, speed)).mean

    def packets(name: str, speed: int = AT_REST) -> float:
        return mean(study, "packets", (name, speed)).mean

    silent = {name: one.mean_run / PER_SECOND for name, one in found.items() if one.runs}
    apart = mean(study, "partitioned", (AODV, 1)).mean
    return [
        "How soon a broken link is noticed decides what arrives. The MAC notices with the first datagram. With HELLOs a node continues to "
        f"send to a neighbour that has left: by the traces for {silent[UU_HELLO]:.1f} s of the 2.05 s for which AODV-UU allows a neighbour "
        f"to be silent, and for {silent[AODV_HELLO]:.1f} s of the 4.5 s of ns-2's AODV. OLSR allows 6 s; its runs are shorter "
        f"({silent[OLSR]:.1f} s), since other news often changes the route before, but it meets broken links more often. At 20 m/s "
        f"{arrive(UU_HELLO):.0f}%, {arrive(AODV_HELLO):.0f}% and {arrive(OLSR):.0f}% arrive, in this order; with link failures from the "
        f"MAC the same protocols deliver {arrive(UU):.0f}%, {arrive(AODV):.0f}% and {arrive(OLSR_MAC):.0f}%. At rest, where no link breaks, "
        f"these differences disappear. At 1 m/s the users of the MAC lose about what cannot arrive: AODV (ns2) {100 - arrive(AODV, 1):.1f}%, "
        f"while there is no path for {apart:.1%} of the time.",
        f"OLSR with link failures from the MAC stays behind AODV. It meets broken links {len(found[OLSR_MAC].runs)} times, AODV (uu) "
        f"{len(found[UU].runs)} times: AODV requests a new route and gets one that exists; OLSR computes it from HELLOs of up to 6 s and TCs "
        "of up to 15 s ago. Nodes that know different things send datagrams in loops, as those show whose TTL expired, which happens with "
        "no other protocol.",
        f"What it costs. OLSR sends its HELLOs and TCs whether they are needed or not: at rest {packets(OLSR):.2f} packets for each datagram, "
        f"against {packets(UU):.2f} of AODV (uu) and {packets(DSR):.2f} of DSR. On demand, every break is paid for with a search: "
        f"{packets(UU, FAST):.1f} at 20 m/s. AODV with HELLOs pays for both. Part of the rise with HELLOs is that fewer datagrams are "
        "left to divide by.",
    ]


SQUARE = PAGE.experiment(
    "mobile-square",
    "moving nodes in 1000 m x 1000 m",
    "How much does each routing protocol deliver when nodes move, at what cost, and does what it loses follow from how it works? The "
    "answers of the literature hold for their speeds: uniform from 0 to 20 m/s with a classic start, which is 3 to 5 m/s for most of a "
    "run (see stationarity).",
    TEN,
    scenario=BASE,
    axes=[protocols(**PROTOCOLS), speeds(AT_REST, 1, 5, 10, FAST)],
    metrics=(DELIVERY, PACKETS, BYTES, INVALID, DELAY, STRETCH, PARTITIONED),
    spread="speed",
    claims=[
        Claim(
            "At rest every protocol delivers at least 98%",
            "delivery",
            {"speed": AT_REST},
            at_least=98.0,
            by_mean=True,
            each={"protocol": list(PROTOCOLS)},
        ),
        *orders("square"),
        Claim(
            "OLSR at rest takes shortest paths: a stretch below 1.005",
            "stretch",
            {"protocol": OLSR, "speed": AT_REST},
            at_most=1.005,
            by_mean=True,
        ),
    ],
    plots=tuple(
        Plot("line", metric.name, x="speed", by="protocol", caption=f"{metric.label}, 1000 m x 1000 m, with 95% intervals.")
        for metric in (DELIVERY, PACKETS, BYTES, DELAY, STRETCH)
    ),
    more=lost,
)
STRIP = PAGE.experiment(
    "mobile-strip",
    "moving nodes in 1500 m x 300 m",
    "The same in the strip of the literature.",
    TEN,
    scenario={**BASE, "topology": {**BASE["topology"], "area": [1500.0, 300.0]}},
    axes=[protocols(**PROTOCOLS), speeds(AT_REST, 5, FAST)],
    metrics=(DELIVERY, PACKETS, BYTES, INVALID, DELAY, STRETCH, PARTITIONED),
    spread="speed",
    claims=orders("strip"),
    plots=(Plot("line", "delivery", x="speed", by="protocol", caption="Datagrams delivered, 1500 m x 300 m, with 95% intervals."),),
)
FORGETFUL = f"{DSR}, routes forgotten after 3 s"
KNOWN = f"{OLSR}, addresses known"
PLAIN = f"{AODV}, no local repair"
RINGED = f"{AODV}, no local repair, first request of TTL 1"


def causes(study: Study) -> None:
    """Say what the changes show."""

    def at(metric: str, name: str) -> float:
        return mean(study, metric, (name,)).mean

    study.text(
        "DSR sends a datagram that meets a broken link by another route: in the traces of seeds 1 to 3 no datagram was lost because a MAC "
        "gave up on it, and up to 10 m/s no protocol delivers more. At 20 m/s too many of the routes in its caches, which never forget, are "
        "broken: datagrams wait, take detours and lose their places in queues. With routes that are forgotten after 3 s it delivers "
        f"{at('delivery', FORGETFUL):.1f}% instead of {at('delivery', DSR):.1f}%."
    )
    study.text(
        f"Mean delays are those of a few datagrams. OLSR's {at('delay', OLSR):.0f} ms at 20 m/s are {at('delay', KNOWN):.0f} ms if addresses "
        "are known: ns-2's ARP holds one datagram for each neighbour that has not answered, until there is another for it. Delivery does "
        "not change, since the held ones are few."
    )
    study.text(
        "OLSR's paths are shortest at rest, by design. Among moving nodes its figure is of what still arrives, which is what had few links "
        f"to cross. AODV (ns2) has longer paths than AODV (uu): {at('stretch', AODV):.2f} against {at('stretch', UU):.2f} at 20 m/s. Local "
        f"repair, which joins a detour to the path so far, is half of it: without, {at('stretch', PLAIN):.2f}. That its first request "
        "already reaches five links, where that of uu reaches one, does not explain the rest "
        f"({at('stretch', RINGED):.2f} with one)."
    )


CAUSES = PAGE.experiment(
    "mobile-causes",
    "one thing changed at 20 m/s in the square",
    "Does what a protocol loses follow from how it works?",
    TEN,
    scenario=BASE,
    axes=[
        Axis(
            "protocol",
            {
                **{name: {"routing": PROTOCOLS[name]} for name in (DSR, OLSR, AODV, UU)},
                FORGETFUL: {"routing": {**PROTOCOLS[DSR], "cache_timeout": 3.0}},
                KNOWN: {"routing": PROTOCOLS[OLSR], "mac.arp": "oracle"},
                PLAIN: {"routing": {**PROTOCOLS[AODV], "local_repair": "off"}},
                RINGED: {"routing": {**PROTOCOLS[AODV], "local_repair": "off", "ttl_start": 1}},
            },
        )
    ],
    metrics=(DELIVERY, PACKETS, DELAY, STRETCH),
    claims=[
        versus(
            "DSR's losses at 20 m/s come from routes that its caches never forget: without them more arrives",
            "delivery",
            FORGETFUL,
            DSR,
            axis="protocol",
        ),
        versus(
            "OLSR's mean delay is that of datagrams which ns-2's ARP holds: with known addresses it is shorter",
            "delay",
            KNOWN,
            OLSR,
            axis="protocol",
            at_most=1.0,
        ),
        versus("Local repair lengthens the paths of AODV (ns2)", "stretch", PLAIN, AODV, axis="protocol", at_most=1.0),
    ],
    more=causes,
)
EXPERIMENTS = (SQUARE, STRIP, CAUSES)
