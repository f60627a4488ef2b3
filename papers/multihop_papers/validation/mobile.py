"""Fifty moving nodes: what each routing protocol delivers, what it costs, and where packets are lost."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from multihop_papers.declare import Axis, Claim, Document, Effort, Metric, Plot, versus
from multihop_papers.measures import frame, mean, total, weighted
from multihop_papers.study import Study
from multihop_papers.traces import traced
from multihop_papers.validation.losses import Losses
from multihop_papers.validation.part import Page
from multihop_papers.validation.protocols import AODV, AODV_HELLO, DSR, OLSR, OLSR_MAC, PROTOCOLS, UU, UU_HELLO, protocols

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
INVALID = Metric("invalid", "packets dropped without a route, %", "routing.invalid_routes", 100.0)
DELAY = Metric("delay", "mean delay, ms", delay)
STRETCH = Metric("stretch", "links crossed / links of the shortest path", lambda one: weighted(one, lambda flow: flow["stretch"]))
PARTITIONED = Metric("partitioned", "share of time without a path", "flows.*.partitioned")
SETTING = (
    "50 nodes under random waypoint with a stationary start and no pauses. Speeds are uniform from v/2 to 3v/2, so that the same seed at "
    f"another v gives the same movement at another pace; v = 0 stands for {REST:g} m/s. The mean speed of the nodes is 0.91 v. {FLOWS} flows "
    f"between {2 * FLOWS} nodes, each with {PER_SECOND} datagrams of {PAYLOAD} bytes per second, "
    "sent in turn. A run takes 200 simulated seconds, with flows from "
    f"{WARMUP:g} s to {STOP:g} s"
    ". Range 250 m, data at 2 Mb/s, basic rate 1 Mb/s, ns2 flavour and ARP, RTS/CTS. "
    "No protocol has a second IP "
    "header, so that all use the channel alike; DSR is without flow state. 'MAC' and 'HELLO' say how link failures are detected."
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
    """Claims of the literature about the protocols."""
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
        (f"A shorter timeout of silent neighbours delivers more: {sooner} before {later}", sooner, later)
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
        text = f"{hello}: datagrams are lost on a failed link for half to all of the {life:g} s that a neighbour may be silent"
        study.verdict(text, life / 2 <= unnoticed <= life, f"{unnoticed:.2f} s")
    for mac in (AODV, UU):
        text = f"{mac}: one datagram is lost on a failed link, fewer than 1.2 in the mean"
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
    columns = ["protocol", *(CODES[code] for code in codes), "given up in a row, s", "failed links met"]
    study.table(
        frame(columns, rows),
        f"Datagrams lost at 20 m/s, in % of those sent, in the traces of seeds 1 to {TRACED}; the mean length of the periods in "
        "which a node's MAC gave up on every datagram of a flow, in s (number of datagrams / 4 per second); and the number of these "
        "periods",
    )


def read(study: Study, name: str) -> Losses:
    """Where one protocol loses datagrams at 20 m/s."""
    losses = Losses()
    for seed in study.each_seed(TRACED):
        with traced(study, (name, FAST), seed) as trace:
            losses.add(trace)
    return losses


def reasons(study: Study, found: dict[str, Losses]) -> list[str]:
    """Explanations of the order of the protocols."""

    def arrive(name: str, speed: int = FAST) -> float:
        return mean(study, "delivery", (name, speed)).mean

    def packets(name: str, speed: int = AT_REST) -> float:
        return mean(study, "packets", (name, speed)).mean

    silent = {name: one.mean_run / PER_SECOND for name, one in found.items() if one.runs}
    apart = mean(study, "partitioned", (AODV, 1)).mean
    return [
        "Delivery depends on how soon a link failure is detected. The MAC detects it with the first datagram. With HELLOs, a node continues "
        f"to send to a neighbour that has left. By the traces, it does so for {silent[UU_HELLO]:.1f} s of the 2.05 s for which AODV-UU lets a neighbour "
        f"be silent, and for {silent[AODV_HELLO]:.1f} s of the 4.5 s of ns-2's AODV. OLSR allows 6 s. Its periods are shorter "
        f"({silent[OLSR]:.1f} s), because other messages often change the route earlier, but it meets failed links more often. At 20 m/s, "
        f"AODV-UU, ns-2's AODV and OLSR deliver {arrive(UU_HELLO):.0f}%, {arrive(AODV_HELLO):.0f}% and {arrive(OLSR):.0f}% with HELLOs, and "
        f"{arrive(UU):.0f}%, {arrive(AODV):.0f}% and {arrive(OLSR_MAC):.0f}% with link failures from the MAC. At rest, where no link fails, "
        "these differences disappear. At 1 m/s, losses with link failures from the MAC are about what cannot be delivered: AODV (ns2) loses "
        f"{100 - arrive(AODV, 1):.1f}%, and there is no path for {apart:.1%} of the time.",
        f"OLSR with link failures from the MAC delivers less than AODV. It meets failed links {len(found[OLSR_MAC].runs)} times, AODV (uu) "
        f"{len(found[UU].runs)} times. AODV requests a new route and gets one that exists; OLSR computes routes from HELLOs up to 6 s old "
        "and TCs up to 15 s old. Nodes with different information send datagrams in loops, as expired TTLs show; they occur with no other "
        "protocol.",
        f"Costs: OLSR sends its HELLOs and TCs whether or not they are needed: at rest {packets(OLSR):.2f} packets per datagram, while AODV "
        f"(uu) sends {packets(UU):.2f} and DSR {packets(DSR):.2f}. On-demand protocols need a route discovery for every link failure: AODV "
        f"(uu) sends {packets(UU, FAST):.1f} packets per datagram at 20 m/s. AODV with HELLOs has both costs. The increase with HELLOs is "
        "partly due to fewer delivered datagrams, by which the packets are divided.",
    ]


SQUARE = PAGE.experiment(
    "mobile-square",
    "moving nodes in 1000 m x 1000 m",
    "How much does each routing protocol deliver when nodes move, at what cost, and do its mechanisms explain its losses? The results of "
    "the literature hold for its speeds. These are uniform from 0 to 20 m/s with a classic start, which means 3 to 5 m/s for most of a run (see "
    "stationarity).",
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
    "The same in an area of 1500 m x 300 m, as in the literature.",
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
    """Explain the effects of the changes."""

    def at(metric: str, name: str) -> float:
        return mean(study, metric, (name,)).mean

    study.text(
        "When a datagram meets a failed link, DSR sends it along another route. In the traces of seeds 1 to 3, no datagram was lost at a "
        "MAC's retry limit, and up to 10 m/s no protocol delivers more. At 20 m/s, too many routes in its caches are broken, because they "
        "never expire: datagrams wait, take detours and are displaced from queues. If routes expire after 3 s, it delivers "
        f"{at('delivery', FORGETFUL):.1f}% instead of {at('delivery', DSR):.1f}%."
    )
    study.text(
        f"A few datagrams dominate the mean delays. OLSR's {at('delay', OLSR):.0f} ms at 20 m/s fall to {at('delay', KNOWN):.0f} ms if "
        "addresses are known. The ARP of ns-2 holds one datagram for each neighbour that has not answered, until there is another datagram for "
        "it. Delivery does not change, because few datagrams are held."
    )
    study.text(
        "At rest, OLSR's paths are shortest by design. With movement, its stretch is that of the datagrams that still arrive, which had few "
        f"links to cross. AODV (ns2) has longer paths than AODV (uu): a stretch of {at('stretch', AODV):.2f} and {at('stretch', UU):.2f} at "
        "20 m/s. Half of the difference comes from local repair, which appends a detour to the path so far: without it, the stretch is "
        f"{at('stretch', PLAIN):.2f}. The first request of AODV (ns2) reaches five links and that of AODV (uu) one link, but this does not "
        f"explain the rest ({at('stretch', RINGED):.2f} with one link)."
    )


CAUSES = PAGE.experiment(
    "mobile-causes",
    "one thing changed at 20 m/s in the square",
    "Do its mechanisms explain the losses of a protocol?",
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
            "DSR's losses at 20 m/s come from routes that never expire in its caches: it delivers more if they do",
            "delivery",
            FORGETFUL,
            DSR,
            axis="protocol",
        ),
        versus(
            "OLSR's mean delay comes from datagrams that ns-2's ARP holds: it is shorter with known addresses",
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
