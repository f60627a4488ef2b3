"""ElRakabawy, Klemm, Lindemann: TCP with Adaptive Pacing for Multihop Wireless Networks; section 4, and chains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from multihop_papers.declare import FAIRNESS, GOODPUT, Axis, Claim, Effort, Metric, Plot, Unstated, axis, gain, versus
from multihop_papers.papers import findings
from multihop_papers.papers.common import Common
from multihop_papers.papers.printed import Gain, in_text
from multihop_papers.reasons import Reason, left_open, not_knowable
from multihop_papers.study import Experiment
from multihop_papers.traces import variation

PAPER = "TCP-AP"
# Section 3: RTS before every data frame, 2 Mb/s, queues of 50 packets, AODV.
BASE: dict[str, Any] = {"duration": 220.0, "routing": {"protocol": "aodv"}, "flow": [{"transport": "newreno"}]}
STEADY = {"record": {"every": 1.0, "what": ["goodput"]}}
TWO = [{"transport": "newreno"}] * 2
VARIANTS = ["newreno", "newreno+dyn", "tcp-ap", "tcp-ap+dyn"]
# They meet more figures than the text's rules (ap-rules), which remain those of tcp-ap-sync.
AUTHORS = {"rules": "authors"}
BASIC = Unstated("the basic rate", "1 Mb/s", "the default of ns-2")
PACKETS = Unstated(
    "the length of a run in time",
    "2200 s",
    "the paper stops at 55,000 packets, which takes about as long at 300 kb/s; batches are of equal time instead of 5,000 packets",
)
BARS = (
    Plot("bar", "goodput", x="transport", caption="Aggregate goodput."),
    Plot("bar", "fairness", x="transport", caption="Jain's index."),
)
FLOW_GOODPUTS = (
    Metric("first", "goodput of FTP 1, kb/s", "flows.0.goodput_kbps"),
    Metric("second", "goodput of FTP 2, kb/s", "flows.1.goodput_kbps"),
)
# One run is one sample: short ones do not get over which flow began well.
QUICK = Effort(6, {"duration": 330.0})
FULL = Effort(1, {"duration": 2200.0})


def transport(name: str) -> Any:
    """A transport; TCP-AP with its authors' rules."""
    return {"kind": name, **AUTHORS} if name.startswith("tcp-ap") else name


def paced(names: Sequence[str]) -> Axis:
    """The axis of transports."""
    return Axis("transport", {name: {"flow.*.transport": transport(name)} for name in names})


# One long run in 11 batches, of which the first is dropped (section 3).
steady = Common(
    PAPER,
    scenario={**BASE, **STEADY},
    unstated=(BASIC, PACKETS),
    axes=[paced(VARIANTS)],
    metrics=(GOODPUT, FAIRNESS, *FLOW_GOODPUTS),
    quick=QUICK,
    full=FULL,
    batches=11,
)
COV = Experiment(
    id="ap-cov",
    paper=PAPER,
    place="Figures 3 to 5, section 4.2",
    title="round trips of a steady flow while another crosses",
    found="A TCP flow held to 100 kb/s sees its round trips fluctuate while UDP of 150, 200 or 250 kb/s crosses it from 30 s to 60 s. "
    "They fluctuate more the higher the rate. The parallel layout is consistent.",
    scenario={
        **BASE,
        "duration": 90.0,
        "topology": {"kind": "cross"},
        "flow": [{"transport": "newreno"}, {"app": "cbr", "rate_kbps": 150.0, "size": 1460, "start": 30.0, "stop": 60.0}],
        "record": {"every": 0.0, "what": ["rtt"]},
    },
    axes=[
        axis("layout", "topology.kind", ["cross", "parallel"]),
        axis("background", "flow.1.rate_kbps", [150.0, 200.0, 250.0], "background, kb/s"),
        Axis("transport", {"tcp-ap": {"flow.0.transport": {"kind": "tcp-ap", "rules": "paper", "pacing_k": 2}}}),
    ],
    metrics=(
        Metric("rtt", "round-trip time of the TCP flow, ms", "flows.0.rtt_ms.mean"),
        Metric("p95", "its 95% quantile, ms", "flows.0.rtt_ms.p95"),
        FAIRNESS,
    ),
    quick=Effort(8),
    full=Effort(10),
    claims=[
        versus(
            "round trips grow from 150 to 250 kb/s of background",
            "rtt",
            250.0,
            150.0,
            axis="background",
            at={"transport": "tcp-ap"},
            each={"layout": ["cross", "parallel"]},
        )
    ],
    unstated=(
        BASIC,
        Unstated(
            "how the TCP flow is held to 100 kb/s",
            "TCP-AP with K = 2, which sends about 115 kb/s while its round trips are even, and somewhat less when not",
            "scenarios pace no TCP at a fixed rate, and this one sends no bursts either",
        ),
    ),
    more=variation,
    plots=(
        Plot("time", "rtt_ms", by="transport", panel="background", caption="Round-trip samples of the TCP flow over time, seed 1, cross."),
    ),
)
TUNING = steady(
    "ap-tuning",
    "Figure 9, section 4.5",
    "weight and history of the pacer",
    "Aggregate goodput of two TCP-AP flows grows with the weight alpha and the history N; fairness is above 0.99 for every setting. "
    "N = 50 and alpha = 0.7 are chosen, in the cross and in the parallel layout.",
    scenario={"topology": {"kind": "cross"}, "flow": [{"transport": {"kind": "tcp-ap", **AUTHORS}}] * 2},
    axes=[
        axis("layout", "topology.kind", ["cross", "parallel"]),
        axis("N", "flow.*.transport.history", [10, 50, 100, 200], "history, samples"),
        axis("alpha", "flow.*.transport.alpha", [0.1, 0.3, 0.5, 0.7, 0.9], "weight alpha"),
    ],
    metrics=(GOODPUT, FAIRNESS),
    quick=Effort(4, {"duration": 165.0}, {"N": [10, 50, 100], "alpha": [0.1, 0.7, 0.9]}),
    claims=[
        Claim(
            "fairness of TCP-AP is above 0.99",
            "fairness",
            {},
            at_least=99.0,
            each={"layout": ["cross"], "N": [10, 50, 100], "alpha": [0.1, 0.7, 0.9]},
        ),
        Claim(
            "alpha = 0.7 and N = 50 come within 5% of the best",
            "goodput",
            {"layout": "cross", "N": 50, "alpha": 0.7},
            {"layout": "cross", "N": [10, 50, 100, 200], "alpha": [0.1, 0.3, 0.5, 0.7, 0.9]},
            at_least=0.95,
        ),
    ],
    plots=(Plot("line", "goodput", x="alpha", by="N", panel="layout", caption="Aggregate goodput of two TCP-AP flows."),),
    unstated=(Unstated("which values of N and alpha were tried", "10 to 200, 0.1 to 0.9", "the text names 10 and 50 or more samples"),),
)
RESPONSE = Experiment(
    id="ap-response",
    paper=PAPER,
    place="Figures 10 to 12, section 4.5",
    title="how fast two flows share a cross",
    found="Flow 1 runs from 0 to 60 s, flow 2 from 30 s on. "
    "TCP-AP shares at once and takes the rest at once. NewReno, and "
    "NewReno with "
    "the optimal window limit, leave the second flow next to nothing, and it takes long to recover.",
    scenario={
        **BASE,
        "duration": 100.0,
        "topology": {"kind": "cross"},
        "flow": [{"transport": "newreno", "stop": 60.0}, {"transport": "newreno", "start": 30.0}],
        "record": {"every": 2.0, "what": ["goodput"]},
    },
    axes=[paced(["tcp-ap", "newreno", "tcp-cwl"])],
    metrics=(
        GOODPUT,
        Metric("first", "flow 1, 0 to 60 s, kb/s", "flows.0.goodput_kbps"),
        Metric("second", "flow 2, 30 s to the end, kb/s", "flows.1.goodput_kbps"),
    ),
    quick=Effort(10),
    full=Effort(30),
    claims=[
        versus(
            "the second flow gets at least twice as much with TCP-AP as with NewReno",
            "second",
            "tcp-ap",
            "newreno",
            at_least=2.0,
            reason=not_knowable(findings.one_run),
        ),
        versus(
            "the second flow gets at least twice as much with TCP-AP as with the optimal window limit",
            "second",
            "tcp-ap",
            "tcp-cwl",
            at_least=2.0,
            reason=not_knowable(findings.one_run),
        ),
    ],
    unstated=(BASIC, Unstated("when the run ends", "100 s", "the figures end there or a little later")),
    plots=(
        Plot("time", "goodput_kbps", by="transport", panel="transport", caption="Goodput over time, seed 1; the second flow is dotted."),
    ),
)
LENGTHS = Axis("hops", {h: {"topology.hops": h} for h in (4, 6, 8, 10, 12, 14, 16, 18, 20)}, "hops")
RANGE = Unstated("the range of hops", "4 to 20", "the text names h > 8 and h up to 10")
FEW = Effort(5, {"duration": 220.0}, {"hops": [4, 8, 14, 20]})
TIMER = Unstated("the receiver's timer for dynamic ACKs", "0.1 s; 0.3 s for comparison", "ns-2's timer is 0.1 s")
SLOW_TIMER = "tcp-ap+dyn, 0.3 s"
SYNC_SLOW_TIMER = "tcp-ap-sync+dyn, 0.3 s"
DELAYED_GAIN, NEAR_UDP = "delayed ACKs give TCP-AP 7 to 17% more", "with delayed ACKs it comes within 20% of paced UDP"
CHAIN = steady(
    "ap-chain",
    "Figure 14, section 5.1.1",
    "one flow over a chain",
    "TCP-AP delivers up to 84% more than NewReno at every length, and more than NewReno with dynamic delayed ACKs beyond 8 hops; "
    "delayed ACKs give TCP-AP another 7 to 17%.",
    scenario={"topology": {"kind": "chain", "hops": 4}},
    axes=[
        LENGTHS,
        Axis(
            "transport", {**paced(VARIANTS).values, SLOW_TIMER: {"flow.*.transport": {"kind": "tcp-ap+dyn", "ack_delay": 0.3, **AUTHORS}}}
        ),
    ],
    metrics=(GOODPUT,),
    quick=FEW,
    full=replace(FULL, looks=6, seconds=900.0),
    claims=[
        versus("TCP-AP delivers more than NewReno at every length", "goodput", "tcp-ap", "newreno", each={"hops": [4, 8, 14, 20]}),
        versus(
            "TCP-AP delivers up to 84% more than NewReno: at least 42% at the longest chain",
            "goodput",
            "tcp-ap",
            "newreno",
            at={"hops": 20},
            at_least=gain(0.84),
            reason=Reason(findings.false_route_failures),
        ),
        versus(
            "TCP-AP delivers more than NewReno with delayed ACKs beyond 8 hops", "goodput", "tcp-ap", "newreno+dyn", each={"hops": [14, 20]}
        ),
        versus(
            DELAYED_GAIN,
            "goodput",
            "tcp-ap+dyn",
            "tcp-ap",
            at_least=gain(0.07),
            each={"hops": [4, 8, 14, 20]},
            reason=left_open(findings.dynamic_acks, f"ap-chain: {SLOW_TIMER}", "ap-chain: tcp-ap+dyn"),
        ),
    ],
    more=in_text(
        Gain("TCP-AP beside NewReno, the most of all lengths", "tcp-ap", "newreno", 0.84),
        Gain("dynamic ACKs, the least of all lengths", "tcp-ap+dyn", "tcp-ap", 0.07, min),
        Gain("dynamic ACKs, the most of all lengths", "tcp-ap+dyn", "tcp-ap", 0.17),
    ),
    unstated=(RANGE, TIMER),
    plots=(Plot("line", "goodput", x="hops", by="transport", caption="Goodput of one flow, 95% intervals."),),
)
# A repair of ns-2 lasts for as long as the run has lasted, and meanwhile only a fresher route ends it.
REPAIR = steady(
    "ap-chain-repair",
    "Figure 14, section 5.1.1",
    "one flow over a long chain, with and without local repair of routes",
    "The paper does not say how its AODV repairs routes.",
    scenario={"topology": {"kind": "chain"}},
    axes=[
        axis("hops", "topology.hops", [8, 14, 20], "hops"),
        axis("repair", "routing.local_repair", ["ns2", "off"], "local repair"),
        paced(["newreno", "newreno+dyn", "tcp-ap"]),
    ],
    metrics=(GOODPUT,),
    quick=Effort(2, {"duration": 220.0}),
    full=Effort(3, {"duration": 2200.0}),
)
ORACLE = steady(
    "ap-chain-oracle",
    "Figure 15, section 5.1.1",
    "one flow over a chain, with global knowledge",
    "TCP-AP with synchronised clocks delivers up to 27% more than NewReno "
    "with the optimal window limit, and another 9 to 36% more with delayed ACKs. It then delivers 5 to 16% less than paced "
    "UDP, which bounds what is possible.",
    scenario={"topology": {"kind": "chain", "hops": 4}},
    axes=[
        LENGTHS,
        Axis(
            "transport",
            {
                "udp": {"flow.0.app": "paced", "flow.0.transport": "udp"},
                **{name: {"flow.0.transport": name} for name in ("tcp-cwl", "tcp-ap-sync", "tcp-ap-sync+dyn")},
                SYNC_SLOW_TIMER: {"flow.0.transport": {"kind": "tcp-ap-sync+dyn", "ack_delay": 0.3}},
                "tcp-ap-sync+da": {"flow.0.transport": "tcp-ap-sync+da"},
            },
        ),
    ],
    metrics=(GOODPUT,),
    quick=Effort(3, {"duration": 66.0}, {"hops": [4, 8, 14, 20]}),
    full=Effort(1, {"duration": 660.0}, looks=6, seconds=900.0),
    claims=[
        versus(
            "TCP-AP with synchronised clocks delivers more than NewReno with the optimal limit",
            "goodput",
            "tcp-ap-sync",
            "tcp-cwl",
            each={"hops": [8, 14, 20]},
            reason=left_open(findings.no_optimum, "search-ap-chain-limit: AODV's link_failure = hello", "ap-chain-oracle: tcp-ap-sync"),
        ),
        versus(
            "delayed ACKs give it 9 to 36% more",
            "goodput",
            "tcp-ap-sync+dyn",
            "tcp-ap-sync",
            at_least=gain(0.09),
            each={"hops": [4, 8, 14, 20]},
        ),
        versus(
            NEAR_UDP,
            "goodput",
            "tcp-ap-sync+dyn",
            "udp",
            at_least=0.80,
            each={"hops": [4, 8, 14, 20]},
            reason=left_open(findings.bound_of_udp, f"ap-chain-oracle: {SYNC_SLOW_TIMER}", "ap-chain-oracle: tcp-ap-sync+dyn"),
        ),
    ],
    more=in_text(
        Gain("synchronised clocks beside the optimal window limit, the most", "tcp-ap-sync", "tcp-cwl", 0.27),
        Gain("delayed ACKs, the least", "tcp-ap-sync+dyn", "tcp-ap-sync", 0.09, min),
        Gain("delayed ACKs, the most", "tcp-ap-sync+dyn", "tcp-ap-sync", 0.36),
        Gain("with delayed ACKs beside paced UDP, the least", "tcp-ap-sync+dyn", "udp", -0.16, min),
        Gain("with delayed ACKs beside paced UDP, the most", "tcp-ap-sync+dyn", "udp", -0.05),
    ),
    unstated=(
        RANGE,
        Unstated(
            "delayed or dynamic delayed ACKs",
            "dynamic; one ACK for two segments for comparison",
            "the text says delayed ACK here. It also says that a window of less than four segments is smaller than its parameter d, "
            "which only the dynamic ones raise to four",
        ),
        TIMER,
    ),
    plots=(Plot("line", "goodput", x="hops", by="transport", caption="Goodput of one flow, 95% intervals."),),
)
EXPERIMENTS = (COV, TUNING, RESPONSE, CHAIN, REPAIR, ORACLE)
