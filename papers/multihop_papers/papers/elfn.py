"""Holland, Vaidya: Analysis of TCP Performance over Mobile Ad Hoc Networks (ELFN)."""

from __future__ import annotations

from typing import Any

from multihop_papers.declare import ACKED, EXPECTED, GOODPUT, HOPS, Axis, Claim, Effort, Metric, Plot, Unstated, axis, versus
from multihop_papers.papers.common import Common
from multihop_papers.study import Experiment
from multihop_papers.traces import patterns, zero

PAPER = "ELFN"
# Section 2: ns with the CMU extensions of 1998; ARP with one packet, DSR, windows of eight packets.
TCP = {"preset": "ns2-1999", "window_max": 8}


def tcp(kind: str, **more: Any) -> dict[str, Any]:
    """A transport of the paper: its receivers delay ACKs."""
    return {"kind": f"{kind}+da", **TCP, **more}


RENO = tcp("reno")
BASE: dict[str, Any] = {
    "duration": 180.0,
    "mac": {"timing": "ns2-1999", "arp": "ns2"},
    "radio": {"basic_rate": "2M"},
    "routing": {"protocol": "dsr", "ip_extra": 20},
    "flow": [{"from": 0, "to": 1, "transport": RENO}],
}
MOVING: dict[str, Any] = {
    **BASE,
    "topology": {"kind": "random", "nodes": 30, "area": [1500.0, 300.0]},
    "mobility": {"kind": "random-waypoint", "speed": 10.0, "start": "classic"},
}
# A pattern at another speed is the same movement, time scaled: 3600/v seconds.
SPEEDS = Axis("speed", {v: {"mobility.speed": float(v), "duration": 3600.0 / v} for v in (2, 10, 20, 30)}, "mean speed, m/s")
PATTERNS = Unstated("the 50 mobility patterns", "drawn from seeds 1 to 50", "they are in a report that cannot be had")
EIFS = Unstated("EIFS in the MAC of 1999", "on", "it is not known whether that MAC had one; elfn-chain has both")
FAST, FASTER = {"speed": [10, 20, 30]}, {"speed": [20, 30]}
PATTERN_RUNS = Effort(10, keep=FAST)
FIFTY = Effort(50)
# At 2 m/s a pattern takes 1800 s, three quarters of all, and no claim is about it.
SIXTEEN_FAST = Effort(16, keep=FAST)


moving = Common(
    PAPER,
    scenario=MOVING,
    unstated=(PATTERNS, EIFS),
    metrics=(ACKED, EXPECTED),
    quick=PATTERN_RUNS,
    full=FIFTY,
    expected=True,
    plots=(Plot("line", "acked", x="speed", by="transport", caption="Measured throughput over mean speed."),),
)


def kinds(settings: dict[str, Any], flows: str = "0") -> Axis:
    """The axis of transports, each with parameters."""
    return Axis("transport", {name: {f"flow.{flows}.transport": value} for name, value in settings.items()})


FIGURE_1 = (1463.0, 729.0, 484.0, 340.0, 246.0, 205.0, 198.0, 192.0, 185.0, 182.0)  # kb/s, 1 to 10 hops
CHAIN = Experiment(
    id="elfn-chain",
    paper=PAPER,
    place="Figure 1, section 3",
    title="Reno over a static chain",
    found="Throughput falls fast with the first hops and then stays; this is the table from which expected throughputs are computed.",
    scenario={**BASE, "duration": 120.0, "topology": {"kind": "chain", "hops": 1, "spacing": 200.0}, "flow": [{"transport": RENO}]},
    axes=[axis("hops", "topology.hops", list(range(1, 11)), "hops"), Axis("EIFS", {"on": {}, "off": {"mac.eifs": False}}, "EIFS")],
    metrics=(ACKED,),
    quick=Effort(3, {"duration": 60.0}),
    full=Effort(10),
    published={"acked": {(hops, eifs): kbps for hops, kbps in enumerate(FIGURE_1, 1) for eifs in ("on", "off")}},
    other_readings=("off",),
    claims=[
        versus(
            "one hop carries nearly twice what two carry: at least 1.6 times", "acked", 1, 2, axis="hops", at={"EIFS": "on"}, at_least=1.6
        ),
        versus("from 8 to 10 hops it falls by less than 15%", "acked", 10, 8, axis="hops", at={"EIFS": "on"}, at_least=0.85),
    ],
    unstated=(
        EIFS,
        Unstated("the distance of the chain's nodes", "200 m", "the text has adjacent nodes hear each other alone; 200 m is usual"),
    ),
    plots=(Plot("line", "acked", x="hops", by="EIFS", caption="Throughput over a static chain, 95% intervals."),),
)
SPEED = moving(
    "elfn-speed",
    "Figures 3 and 4, section 4",
    "Reno among moving nodes",
    "Measured throughput falls sharply from 2 to 10 m/s and only slightly beyond, far below the expected one, "
    "which does not depend on speed. Some patterns deliver nearly nothing, some more at a higher speed.",
    axes=[SPEEDS, kinds({"reno": RENO})],
    claims=[
        versus("10 m/s carry less than 2 m/s", "acked", 10, 2, axis="speed", at_most=1.0),
        versus("30 m/s carry at most 50% less than 10 m/s: the fall is slight", "acked", 30, 10, axis="speed", at_least=0.5),
        Claim("throughput is below what is expected", "acked", {}, {}, than="expected", at_most=1.0, each=FAST),
    ],
    quick=Effort(10),
    plots=(
        Plot("line", "acked", x="speed", caption="Measured throughput, means over patterns."),
        Plot("line", "expected", x="speed", caption="Expected throughput: the same at every speed."),
        Plot("scatter", "acked", x="expected", panel="speed", caption="Measured over expected throughput, a dot for each pattern."),
    ),
)
SINGLE = moving(
    "elfn-patterns",
    "Figures 5, 6 and 10, section 5",
    "single patterns at all speeds",
    "Pattern 20 carries 1.5 times as much at 20 m/s as at 10 m/s; pattern 46 loses its flow of data whenever the path grows longer.",
    scenario={"record": {"every": 1.0, "what": ["goodput", "shortest"]}},
    axes=[SPEEDS, kinds({"reno": RENO})],
    quick=Effort(3, keep=FAST),
    full=Effort(10),
    plots=(),
    more=patterns,
)
ZERO = moving(
    "elfn-zero",
    "Table 1, section 5.1",
    "no throughput though there is a path",
    "A run at 30 m/s delivers nothing in 120 s while the expected throughput is 694 kb/s: stale routes, a full ARP slot, a timer that backs off.",
    axes=[Axis("speed", {30: SPEEDS.values[30]}, "mean speed, m/s"), kinds({"reno": RENO})],
    metrics=(ACKED, EXPECTED, Metric("timeouts", "timeouts", "flows.0.timeouts")),
    quick=Effort(8),
    full=FIFTY,
    plots=(Plot("scatter", "acked", x="expected", caption="Measured over expected throughput at 30 m/s, a dot for each pattern."),),
    more=zero,
)
REPLIES = axis("cache replies", "routing.cache_replies", [True, False], "cache replies")
CACHE_PLOT = (Plot("line", "acked", x="speed", by="cache replies", caption="Throughput with and without replies from caches."),)
CACHE = moving(
    "elfn-cache",
    "Figure 7, section 5.3",
    "replies from route caches",
    "Without replies from caches a single connection does startlingly better.",
    axes=[SPEEDS, REPLIES],
    claims=[versus("Reno delivers more without replies from caches", "acked", False, True, axis="cache replies", each=FAST)],
    plots=CACHE_PLOT,
)


def cbr(rate: int) -> dict[str, Any]:
    """Ten streams of 512-byte packets over eight nodes that are not the connection's, starts staggered."""
    kbps = rate * 512 * 8 / 1000
    pairs = [(2 + i % 8, 2 + (i + 1 + i // 8) % 8) for i in range(10)]
    streams = [{"app": "cbr", "from": a, "to": b, "rate_kbps": kbps, "size": 512, "start": 0.5 * i} for i, (a, b) in enumerate(pairs)]
    return {"flow": [{"from": 0, "to": 1, "transport": RENO}, *streams]}


LOADS = Axis("load", {f"{rate} packets/s": cbr(rate) for rate in (5, 10, 20)}, "")
STREAMS = Unstated(
    "which of the eight nodes send to which, and when they begin",
    "a ring of eight, one every 0.5 s",
    "the text says staggered starts and no more",
)
THIRTY = Effort(30)
LOADED = Effort(4, keep=FASTER)
CACHE_CBR = moving(
    "elfn-cache-cbr",
    "Figure 8, section 5.3",
    "replies from route caches, with ten streams around",
    "At 5 and 10 packets/s replies from caches still cost throughput among fast nodes, at 20 packets/s they help below 20 m/s.",
    axes=[LOADS, SPEEDS, REPLIES],
    quick=LOADED,
    full=THIRTY,
    claims=[
        versus(
            "Reno delivers more without replies from caches at 5 packets/s",
            "acked",
            False,
            True,
            axis="cache replies",
            at={"load": "5 packets/s"},
            each=FASTER,
        )
    ],
    plots=(Plot("line", "acked", x="speed", by="cache replies", panel="load", caption="Throughput with and without replies from caches."),),
    unstated=(STREAMS,),
)
FIVE = [{"from": 2 * i, "to": 2 * i + 1, "transport": RENO} for i in range(5)]
MEAN5 = Metric("acked", "throughput, mean of five connections, kb/s", "flows.*.acked_kbps")
CACHE_TCP5 = moving(
    "elfn-cache-tcp5",
    "Figure 9, section 5.3",
    "replies from route caches, five connections",
    "The same trend with five connections between separate pairs.",
    scenario={"flow": FIVE},
    axes=[SPEEDS, REPLIES],
    metrics=(MEAN5,),
    quick=LOADED,
    full=THIRTY,
    claims=[versus("Reno delivers more without replies from caches", "acked", False, True, axis="cache replies", each=FASTER)],
    plots=CACHE_PLOT,
)
RESTORE = moving(
    "elfn-restore",
    "Figure 13, section 6",
    "what a restored route changes",
    "Setting the window to one (W/ELFN) hardly matters; setting the timeout to 6 s as well (RTO/W/ELFN) costs throughput.",
    axes=[SPEEDS, kinds({"elfn": tcp("elfn"), "elfn-w": tcp("elfn-w"), "elfn-rto-w": tcp("elfn-rto-w")})],
    claims=[
        versus("a window of one is within 15% of no change", "acked", "elfn-w", "elfn", at_least=0.85, at_most=1.15, each=FAST),
        versus("timeout 6 s and window one carry less", "acked", "elfn-rto-w", "elfn", at_most=1.0, each=FASTER),
    ],
)
CHOICE = moving(
    "elfn-choice",
    "Figure 14, section 6",
    "what to probe with",
    "The first packet of the window, or the lowest that was reported lost: no difference.",
    full=SIXTEEN_FAST,
    axes=[SPEEDS, kinds({"reno": RENO, "elfn": tcp("elfn", probe="first"), "elfn, lowest": tcp("elfn", probe="lowest-lost")})],
    claims=[versus("either probe delivers the same within 10%", "acked", "elfn, lowest", "elfn", at_least=0.9, at_most=1.1, each=FAST)],
)
ELFN4 = kinds({"reno": RENO, "elfn": tcp("elfn", probe_interval=4.0)})
WITH_CBR = moving(
    "elfn-cbr",
    "Figure 15, section 6",
    "explicit notices with ten streams around",
    "Probes every 4 s: the gain is similar to that in an idle network.",
    axes=[LOADS, SPEEDS, ELFN4],
    quick=LOADED,
    full=THIRTY,
    claims=[versus("ELFN carries more at 5 packets/s", "acked", "elfn", "reno", at={"load": "5 packets/s"}, each=FASTER)],
    plots=(Plot("line", "acked", x="speed", by="transport", panel="load", caption="Throughput over mean speed."),),
    unstated=(STREAMS,),
)
TCP5 = moving(
    "elfn-tcp5",
    "Figure 16, section 6",
    "explicit notices, five connections",
    "Probes every 4 s: the gain is similar to that of a single connection.",
    scenario={"flow": FIVE},
    axes=[SPEEDS, kinds({"reno": RENO, "elfn": tcp("elfn", probe_interval=4.0)}, flows="*")],
    metrics=(MEAN5, GOODPUT, HOPS),
    quick=LOADED,
    full=THIRTY,
    claims=[versus("ELFN carries more", "acked", "elfn", "reno", each=FASTER)],
)
EXPERIMENTS = (CHAIN, SPEED, SINGLE, ZERO, CACHE, CACHE_CBR, CACHE_TCP5, RESTORE, CHOICE, WITH_CBR, TCP5)
