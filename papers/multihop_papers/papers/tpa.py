"""TPA, section 4: the testbed.

Anastasi, Ancillotti, Conti, Passarella: Design and Performance Evaluation of a Transport Protocol for
Ad hoc Networks.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from multihop_papers.declare import (
    FAIRNESS,
    HOPS,
    Axis,
    Claim,
    Effort,
    Metric,
    Plot,
    Unstated,
    axis,
    rows,
    transports,
    versus,
)
from multihop_papers.papers import findings
from multihop_papers.reasons import Reason, Switch, left_open, not_knowable, not_known
from multihop_papers.study import Experiment
from multihop_papers.traces import inhibition

PAPER = "TPA"
TCPS = ["tcp-2", "tcp-3", "tcp-uc"]
TPAS = ["tpa-2", "tpa-3", "tpa*-3"]
# Table 1 has no th_CONG: without notices congested and freeze are one state.
TPA = {"notices": False}

# Section 4.1: the testbed. NewReno with delayed ACKs; headers of TCP and TPA are equally long.
LINUX = {"preset": "linux", "sack": False, "timestamps": "off", "delack": "linux"}
# Transfers of 180 s, once the routing protocol has found its neighbours.
TESTBED = {
    "duration": 210.0,
    "warmup": 30.0,
    "mac": {"arp": "ns2", "flavour": "standard", "rts_threshold": 100},
    "flow": [{"transport": "newreno", "start": 30.0}],
}
AODV = {"protocol": "aodv", "preset": "uu", "link_failure": "hello"}
OLSR = {"protocol": "olsr"}
# 180 m of a range of 250 m: 40 log10(250 / 180) = 5.7 dB above the sensitivity, two-ray ground.
FADING = {"radio.model": "sinr", "topology.spacing": 180.0, "radio.fading": {"kind": "rician", "k": 6.0, "coherence": 0.1}}
RADIOS = Axis("radio", {"errors": {"radio.frame_loss": 0.03}, "threshold": {}}, "radio")
RADIO = Unstated(
    "how many frames the links lose, and how",
    "two radios: 3% of all frames are received in error, independently of each other, and none",
    "TCP's retransmissions of Table 3 (at most 2%) allow no more. Errors that the MAC cannot repair, such as fades of 0.1 s, make TCP "
    "retransmit 3 to 6% (tpa-losses, which sweeps the share)",
)
LAPTOPS = Unstated("the rate of RTS, CTS and ACK", "1 Mb/s", "the lowest rate that every card of 802.11b must know")


# Section 4.2: half the 90% interval of the throughput is at most 10% of its mean.
UNCERTAIN = {"goodput": 0.10, "rtx": 0.0}


def better(text: str, metric: str, over: list[str], of: list[str], size: float, reason: Reason | None = None) -> Claim:
    """The best of TPA's configurations against the best of TCP's, as the paper compares them."""
    return versus(text, metric, of, over, size=size, lowest=metric == "rtx", reason=reason)


# How often routes broke, and in which direction: as in Appendix B, or otherwise.
GAIN = ("tpa-one-way: ACKs", "tpa-chain-olsr: 2 hops, threshold")
WHY: dict[tuple[str, str], Reason] = {
    ("errors", "goodput"): left_open(findings.errors_gain, *GAIN),
    ("errors", "rtx"): not_knowable(findings.errors_rtx),
    ("threshold", "goodput"): left_open(findings.clear_gain, *GAIN),
    ("threshold", "rtx"): not_knowable(findings.false_breaks),
}
OTHER_RADIO = {"errors": "threshold", "threshold": "errors"}
ERRORS_KEY = {"errors": "radio.frame_loss = 0.03", "threshold": "radio.frame_loss = 0"}


def other_radio(experiment: str, text: str, radio: str, metric: str) -> Reason:
    """Why a claim does not hold with one radio, and the claim with the other, which may hold."""
    other = OTHER_RADIO[radio]
    return replace(WHY[radio, metric], switch=Switch(ERRORS_KEY[other], experiment, f"{text}, {other}"))


def beside(experiment: str, claim: Claim, at: dict[str, Any]) -> Claim:
    """A claim in these cells, of one of the two radios."""
    radio = at["radio"]
    return replace(
        claim,
        text=f"{claim.text}, {radio}",
        of={**at, **claim.of},
        against={**at, **(claim.against or {})},
        reason=other_radio(experiment, claim.text, radio, claim.metric),
        uncertain=UNCERTAIN[claim.metric],
    )


CHAINS = Axis(
    "chain",
    {f"{n} hop{'s' if n > 1 else ''}": {"topology.hops": n} for n in range(1, 5)}
    | {
        "3 hops, CBR": {
            "topology.hops": 3,
            "flow": [{"transport": "newreno", "start": 30.0}, {"from": 2, "to": 1, "app": "cbr", "rate_kbps": 192.0, "size": 512}],
        }
    },
    "",
)
# Section 4.2: repetitions until half the 90% interval of the throughput is within 10% of its mean.
FIVE = Effort(5, most=20)
FIRST = Metric("goodput", "throughput, kb/s", "flows.0.goodput_kbps")
FIRST_RTX = Metric("rtx", "retransmission index, %", "flows.0.retransmission_index", 100.0)


def chain(
    id: str, place: str, routing: dict[str, Any], sizes: dict[str, tuple[float, float]], full: Effort = FIVE, **more: Any
) -> Experiment:
    """Section 4.3: transports over chains of the testbed."""
    claims = []
    for length, (throughput, retransmissions) in sizes.items():
        for metric, size in (("goodput", throughput), ("rtx", retransmissions)):
            if size == 0:
                continue
            what = "delivers more" if metric == "goodput" else "retransmits less"
            one = better(f"{length}: TPA {what} than TCP ({size:+.1%}), best configurations", metric, TCPS, TPAS, size)
            claims += [beside(id, one, {"chain": length, "radio": radio}) for radio in RADIOS.values]
    return Experiment(
        id=id,
        paper=PAPER,
        place=place,
        title=f"chains of the testbed over {routing['protocol'].upper()}",
        scenario={**TESTBED, "topology": {"kind": "chain", "hops": 1}, "routing": routing},
        axes=[CHAINS, RADIOS, transports(TCPS + TPAS, flows="0", tcp=LINUX, tpa=TPA)],
        metrics=(FIRST, FIRST_RTX),
        quick=Effort(5, {"duration": 120.0}),
        full=full,
        level=0.90,
        claims=claims,
        other_readings=("threshold",),
        unstated=(RADIO, LAPTOPS, Unstated("the size of the CBR's datagrams", "512 bytes", "a usual size")),
        plots=(
            Plot("bar", "goodput", x="chain", by="transport", panel="radio", caption="Throughput, 90% intervals."),
            Plot(
                "bar",
                "rtx",
                x="chain",
                by="transport",
                panel="radio",
                caption="Segments sent again for each hundred delivered; diamonds are the paper's.",
            ),
        ),
        **more,
    )


LENGTHS = list(CHAINS.values)
OLSR_NAMES = ["tcp-2", "tpa-2", "tcp-3", "tpa-3", "tcp-uc", "tpa*-3"]
TABLE_2 = rows(
    OLSR_NAMES,
    LENGTHS,
    """
1369±25 619±14 354±19 231±18 300±13
1464±5  711±23 412±15 259±17 340±14
1456±16 672±14 357±18 235±15 320±13
1461±19 680±14 396±14 263±11 322±13
1524±5  691±13 371±26 253±15 315±16
1495±3  730±24 411±11 267±13 347±13
""",
)
TABLE_3 = rows(
    OLSR_NAMES,
    LENGTHS,
    """
0±0 0.02±0.01 0.4±0.15    1.3±0.2    0.67±0.24
0±0 0±0       0.01±0.006  0.09±0.04  0.02±0.02
0±0 0.02±0.01 0.54±0.18   1.38±0.24  0.5±0.19
0±0 0±0       0.04±0.016  0.15±0.05  0.07±0.01
0±0 0±0       0.77±0.24   2±0.3      0.96±0.4
0±0 0±0       0.08±0.04   0.16±0.05  0.03±0.001
""",
)


def both_radios(printed: dict[tuple[Any, ...], Any]) -> dict[tuple[Any, ...], Any]:
    """A table of transports and chains, beside either radio."""
    return {(length, radio, name): value for (name, length), value in printed.items() for radio in RADIOS.values}


CHAIN_AODV = chain(
    "tpa-chain-aodv",
    "Figures 5 to 9, section 4.3.1",
    AODV,
    {"2 hops": (0.075, -0.83), "3 hops": (0.065, -0.71), "4 hops": (0.12, -0.60), "3 hops, CBR": (0.20, -0.90)},
    found="One file transfer of 180 s over 1 to 4 hops, and over 3 hops beside a stream of 192 kb/s. With one hop TPA and TCP are "
    "level within 2%; with more, TPA delivers 6.5 to 20% more in the best configurations and retransmits 60 to 90% less.",
)
CHAIN_OLSR = chain(
    "tpa-chain-olsr",
    "Tables 2 and 3, section 4.3.2",
    OLSR,
    {"2 hops": (0.055, 0.0), "3 hops": (0.11, -0.975), "4 hops": (0.055, -0.93), "3 hops, CBR": (0.08, -0.96)},
    found="The same over OLSR: TPA delivers 5.5 to 11% more in the best configurations and retransmits 93 to 98% less.",
    published={"goodput": both_radios(TABLE_2), "rtx": both_radios(TABLE_3)},
    full=replace(FIVE, looks=9, seconds=1500.0),
)

RATES = Experiment(
    id="tpa-rates",
    paper=PAPER,
    place="Figures 10 and 11, section 4.3.3",
    title="4 hops at 5.5 and 11 Mb/s over OLSR",
    found="At 5.5 Mb/s TPA delivers about 10% more and retransmits about 80% less, at 11 Mb/s 4% more and 80% less.",
    scenario={**TESTBED, "topology": {"kind": "chain", "hops": 4}, "routing": OLSR},
    axes=[axis("rate", "radio.rate", ["5.5M", "11M"], "rate"), RADIOS, transports(TCPS + TPAS, tcp=LINUX, tpa=TPA)],
    metrics=(FIRST, FIRST_RTX),
    quick=Effort(5, {"duration": 120.0}),
    full=replace(FIVE, looks=9, seconds=1200.0),
    level=0.90,
    claims=[
        versus(
            f"{rate}: TPA {what}, best configurations",
            metric,
            TPAS,
            TCPS,
            at={"rate": rate, "radio": "errors"},
            size=change,
            lowest=metric == "rtx",
            reason=WHY["errors", metric],
            uncertain=UNCERTAIN[metric],
        )
        for rate, size in (("5.5M", 0.10), ("11M", 0.04))
        for what, metric, change in ((f"delivers {size:.0%} more", "goodput", size), ("retransmits 80% less", "rtx", -0.8))
    ],
    unstated=(RADIO, LAPTOPS, Unstated("the range at the higher rates", "as at 2 Mb/s", "the nodes were placed at the limit of each")),
    plots=(Plot("bar", "goodput", x="rate", by="transport", panel="radio", caption="Throughput, 90% intervals."),),
)

LOSSES = Experiment(
    id="tpa-losses",
    paper=PAPER,
    place="beside section 4.3",
    title="which losses of links fit the testbed",
    found="Not in the paper. Independent errors are repaired by the MAC; fades of 0.1 s outlast its seven retries, so that packets are lost, "
    "and TCP retransmits more than the testbed's did.",
    scenario={**TESTBED, "topology": {"kind": "chain", "hops": 3}, "routing": OLSR},
    axes=[
        Axis(
            "links",
            {
                "no errors": {},
                **{f"{loss:.0%} of frames": {"radio.frame_loss": loss} for loss in (0.02, 0.03, 0.05, 0.10)},
                "fading": FADING,
            },
        ),
        transports(TCPS + TPAS, tcp=LINUX, tpa=TPA),
    ],
    metrics=(FIRST, FIRST_RTX, Metric("given up", "packets given up by the MAC", "mac.drops")),
    quick=Effort(5, {"duration": 120.0}),
    full=Effort(10),
    level=0.90,
    published={
        metric: {
            (links, name): value for (name, length), value in printed.items() if length == "3 hops" for links in ("3% of frames", "fading")
        }
        for metric, printed in (("goodput", TABLE_2), ("rtx", TABLE_3))
    },
    other_readings=("3% of frames", "fading"),
    unstated=(RADIO,),
    plots=(
        Plot("bar", "goodput", x="links", by="transport", caption="Throughput over 3 hops of OLSR, 90% intervals."),
        Plot("bar", "rtx", x="links", by="transport", caption="Segments retransmitted for each hundred delivered, 90% intervals."),
    ),
)

BOTH = Axis("routing", {"OLSR": {"routing": OLSR}, "AODV": {"routing": AODV}}, "")
PLAIN_RTX = Metric("rtx", "mean retransmission index, %", "flows.*.retransmission_index", 100.0)
MEAN = Metric("goodput", "mean throughput of a connection, kb/s", "flows.*.goodput_kbps")
# Two SYNs at the same instant are two broadcasts of ARP that collide, again at each retry: neither connection is ever set up.
STAGGERED = [{"transport": "newreno", "start": start} for start in (30.0, 31.0)]
CROSS_TESTBED = Experiment(
    id="tpa-cross-testbed",
    paper=PAPER,
    place="Figures 13 and 14, section 4.4",
    title="two connections that cross in the testbed",
    found="Two transfers of 240 s. Over OLSR TPA*-3 has 18% more mean throughput and retransmits 73% less; over AODV 5% more and 60% less. "
    "Both are unfair, and each connection does better with TPA.",
    scenario={**TESTBED, "duration": 270.0, "topology": {"kind": "cross-testbed"}, "flow": STAGGERED},
    axes=[BOTH, RADIOS, transports(["tcp-3", "tpa*-3"], tcp=LINUX, tpa=TPA)],
    metrics=(
        MEAN,
        PLAIN_RTX,
        Metric("first", "connection 1, kb/s", "flows.0.goodput_kbps"),
        Metric("second", "connection 2, kb/s", "flows.1.goodput_kbps"),
        FAIRNESS,
    ),
    quick=Effort(4, {"duration": 120.0}),
    full=Effort(10, most=40),
    level=0.90,
    other_readings=("threshold",),
    claims=[
        versus(
            f"{routing}: TPA*-3 {what}, {radio}",
            metric,
            "tpa*-3",
            "tcp-3",
            at={"routing": routing, "radio": radio},
            size=change,
            reason=other_radio("tpa-cross-testbed", f"{routing}: TPA*-3 {what}", radio, metric),
            uncertain=UNCERTAIN[metric],
        )
        for radio in RADIOS.values
        for routing, throughput, again in (("OLSR", 0.18, -0.73), ("AODV", 0.05, -0.60))
        for what, metric, change in (
            (f"has {throughput:.0%} more mean throughput", "goodput", throughput),
            (f"retransmits {-again:.0%} less", "rtx", again),
        )
    ],
    unstated=(
        RADIO,
        LAPTOPS,
        Unstated("how far apart the transfers begin", "1 s", "two programs on two laptops do not start in the same microsecond"),
    ),
    plots=(Plot("bar", "goodput", x="routing", by="transport", panel="radio", caption="Mean throughput, 90% intervals."),),
)

# A link of 200 m that is there more often than not, as where N4 walked through the building.
LINKS = Axis(
    "links",
    {"sharp": {}, "fading": {"radio.model": "sinr", "radio.fading": {"kind": "rayleigh", "coherence": 0.1}}},
    "links",
)


def roams(text: str, metric: str, size: float, routing: str) -> list[Claim]:
    """A claim for either kind of link."""
    fading = Switch("radio.fading = rayleigh", "tpa-roaming", f"{text}, fading links")
    flapping = left_open(findings.roaming, "tpa-roaming: fading", "tpa-roaming: sharp", fading)
    return [
        versus(
            f"{text}, {links} links",
            metric,
            "tpa*-3",
            "tcp-3",
            at={"routing": routing, "links": links},
            size=size,
            reason=flapping,
            uncertain=UNCERTAIN[metric],
        )
        for links in LINKS.values
    ]


ROAMING = Experiment(
    id="tpa-roaming",
    paper=PAPER,
    place="Figures 16 to 19, section 4.5",
    title="a node that roams along a chain",
    found="N4 walks from one hop to three hops away from N1 and back. TPA*-3 delivers 12% more over either routing and retransmits 73% (OLSR) "
    "and 26% (AODV) less; over AODV both deliver about 25% less than over OLSR. At three hops TCP stalls.",
    scenario={
        **TESTBED,
        "duration": 280.0,
        "warmup": 0.0,
        "flow": [{"transport": "newreno"}],
        "topology": {"kind": "roaming"},
        "record": {"every": 2.0, "what": ["hops", "goodput"]},
    },
    axes=[BOTH, LINKS, transports(["tcp-3", "tpa*-3"], tcp=LINUX, tpa=TPA)],
    metrics=(FIRST, FIRST_RTX, HOPS),
    quick=Effort(3),
    full=Effort(5, most=40, looks=11),
    level=0.90,
    other_readings=("fading",),
    claims=[
        *roams("TPA*-3 delivers 12% more over OLSR", "goodput", 0.12, "OLSR"),
        *roams("TPA*-3 delivers 12% more over AODV", "goodput", 0.12, "AODV"),
        *roams("TPA*-3 retransmits 73% less over OLSR", "rtx", -0.73, "OLSR"),
        versus(
            "both deliver 25% less over AODV",
            "goodput",
            "AODV",
            "OLSR",
            axis="routing",
            at={"links": "sharp"},
            size=-0.25,
            each={"transport": ["tcp-3", "tpa*-3"]},
            reason=not_known(findings.roaming_aodv),
        ),
    ],
    unstated=(
        Unstated("where the positions P1 to P3 are", "beside the nodes, 200 m apart", "1, 2 and 3 hops to N1, as the text says"),
        Unstated(
            "how good the links were", "sharp ranges, and Rayleigh fading", "the text says that links came and went, without a measure"
        ),
        LAPTOPS,
    ),
    plots=(
        Plot("bar", "goodput", x="routing", by="transport", panel="links", caption="Throughput, 90% intervals."),
        Plot(
            "time",
            "hops",
            by="transport",
            panel="routing",
            at={"links": "sharp"},
            caption="Path length of delivered segments over time, seed 1.",
        ),
        Plot("time", "goodput_kbps", by="transport", panel="routing", at={"links": "sharp"}, caption="Throughput over time, seed 1."),
    ),
)
# The ACKs come back over relays of their own, of which one is out of reach from 39.56 s to 50.92 s.
WALKS_AWAY = [[39.55, 400.0, 100.0], [39.65, 400.0, 900.0], [50.826, 400.0, 900.0], [50.926, 400.0, 100.0]]
INHIBITION_PLACES = [[0.0, 0.0], [200.0, 0.0], [400.0, 0.0], [600.0, 0.0], [400.0, 100.0], [200.0, 100.0]]
INHIBITION = Experiment(
    id="tpa-ack-inhibition",
    paper=PAPER,
    place="Appendix B, Figure 23",
    title="the reverse path breaks for 11 s",
    found="Data arrives, ACKs do not. TPA continues with new segments, one at each expiry, and they are delivered; TCP retransmits the same segment repeatedly.",
    scenario={
        "duration": 60.0,
        "mac": {"arp": "oracle"},
        "topology": {"kind": "list", "positions": INHIBITION_PLACES},
        "mobility": {"kind": "waypoints", "waypoints": [[], [], [], [], WALKS_AWAY, []]},
        "routing": {"protocol": "static", "next_hops": [[3, 0, 4], [4, 0, 5], [5, 0, 0], [0, 3, 1], [1, 3, 2], [2, 3, 3]]},
        "flow": [{"from": 0, "to": 3, "transport": "newreno"}],
    },
    axes=[transports(["tcp-3", "tpa-3"], tcp=LINUX, tpa=TPA)],
    metrics=(FIRST, FIRST_RTX, Metric("timeouts", "timeouts", "flows.0.timeouts")),
    quick=Effort(1),
    full=Effort(1),
    unstated=(Unstated("when the route breaks and is found again", "39.56 s and 50.92 s", "the times of the trace"),),
    more=inhibition,
)


def walks(*relays: int) -> dict[str, Any]:
    """Relays leave for 3 s, nine times in 180 s; the other nodes stay."""
    paths: list[list[list[float]]] = [[] for _ in INHIBITION_PLACES]
    for relay in relays:
        x, y = INHIBITION_PLACES[relay]
        for start in range(40, 205, 20):
            paths[relay] += [[start, x, y], [start + 0.1, x, y + 800.0], [start + 3.0, x, y + 800.0], [start + 3.1, x, y]]
    return {"mobility": {"kind": "waypoints", "waypoints": paths}}


ONE_WAY = Experiment(
    id="tpa-one-way",
    paper=PAPER,
    place="beside Appendix B and Table 3",
    title="routes that break in one direction",
    found="Appendix B shows one break of the ACKs' path. Here paths of their own for data and ACKs over three hops break for 3 s every 20 s: "
    "that of the data, that of the ACKs, or both.",
    scenario={
        **INHIBITION.scenario,
        "duration": 210.0,
        "warmup": 30.0,
        "mac": {"arp": "oracle", "flavour": "standard", "rts_threshold": 100},
        "flow": [{"from": 0, "to": 3, "transport": "newreno", "start": 30.0}],
    },
    axes=[
        Axis("break of", {"nothing": {}, "data": walks(1), "ACKs": walks(4), "both": walks(1, 4)}),
        transports(TCPS + TPAS, tcp=LINUX, tpa=TPA),
    ],
    metrics=(FIRST, FIRST_RTX, Metric("timeouts", "timeouts", "flows.0.timeouts")),
    quick=Effort(5),
    full=Effort(20),
    level=0.90,
    claims=[
        versus(
            f"TPA retransmits at least 70% less when the path of the ACKs breaks, {name}",
            "rtx",
            tpa,
            tcp,
            at={"break of": "ACKs"},
            at_most=0.3,
        )
        for name, tpa, tcp in (("window 2", "tpa-2", "tcp-2"), ("window 3", "tpa-3", "tcp-3"))
    ]
    + [
        versus(
            f"TPA delivers at least 5% more, best configurations, break of {what}",
            "goodput",
            TPAS,
            TCPS,
            at={"break of": what},
            at_least=1.05,
        )
        for what in ("data", "ACKs", "both")
    ],
    unstated=(Unstated("how often and for how long routes broke", "3 s every 20 s", "a few HELLOs; the text has no numbers"),),
    plots=(Plot("bar", "rtx", x="break of", by="transport", caption="Segments retransmitted for each hundred delivered, 90% intervals."),),
)
EXPERIMENTS = (INHIBITION, CHAIN_AODV, CHAIN_OLSR, RATES, LOSSES, ONE_WAY, CROSS_TESTBED, ROAMING)
