"""ElRakabawy, Klemm, Lindemann: TCP with Adaptive Pacing for Multihop Wireless Networks."""

from __future__ import annotations

from typing import Any

from multihop.papers import findings
from multihop.papers.declare import (
    FAIRNESS,
    GOODPUT,
    HOPS,
    Axis,
    Claim,
    Effort,
    Experiment,
    Metric,
    Plot,
    Unstated,
    axis,
    gain,
    transports,
    versus,
)
from multihop.papers.traces import variation

PAPER = "TCP-AP"
# Section 3: RTS before every data frame, 2 Mb/s, queues of 50 packets, AODV.
BASE: dict[str, Any] = {
    "duration": 220.0,
    "routing": {"protocol": "aodv"},
    "flow": [{"transport": "newreno"}],
}
STEADY = {"record": {"every": 1.0, "what": ["goodput"]}}
TWO = [{"transport": "newreno"}] * 2
VARIANTS = ["newreno", "newreno+dyn", "tcp-ap", "tcp-ap+dyn"]
BASIC = Unstated("the basic rate", "1 Mb/s", "the default of ns-2")
PACKETS = Unstated(
    "the length of a run in time",
    "2200 s",
    "the paper stops at 55,000 packets, which takes about as long at 300 kb/s; batches are of "
    "equal time instead of 5,000 packets",
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


def steady(id: str, place: str, title: str, found: str, **more: Any) -> Experiment:
    """A steady-state simulation: one long run in 11 batches, of which the first is dropped."""
    return Experiment(
        id=id,
        paper=PAPER,
        place=place,
        title=title,
        found=found,
        scenario={**BASE, **STEADY, **more.pop("scenario")},
        axes=more.pop("axes", [transports(VARIANTS)]),
        metrics=more.pop("metrics", (GOODPUT, FAIRNESS, *FLOW_GOODPUTS)),
        quick=more.pop("quick", QUICK),
        full=more.pop("full", FULL),
        batches=11,
        unstated=(BASIC, PACKETS, *more.pop("unstated", ())),
        **more,
    )


COV = Experiment(
    id="ap-cov",
    paper=PAPER,
    place="Figures 3 to 5, section 4.2",
    title="round trips of a steady flow while another crosses",
    found="A TCP flow held to 100 kb/s sees its round trips fluctuate while UDP of 150, 200 or 250 kb/s crosses it from 30 s to 60 s, "
    "the more the higher the rate; the parallel layout is consistent.",
    scenario={
        **BASE,
        "duration": 90.0,
        "topology": {"kind": "cross"},
        "flow": [
            {"transport": "newreno"},
            {"app": "cbr", "rate_kbps": 150.0, "size": 1460, "start": 30.0, "stop": 60.0},
        ],
        "record": {"every": 0.0, "what": ["rtt"]},
    },
    axes=[
        axis("layout", "topology.kind", ["cross", "parallel"]),
        axis("background", "flow.1.rate_kbps", [150.0, 200.0, 250.0], "background, kb/s"),
        Axis("transport", {"tcp-ap": {"flow.0.transport": {"kind": "tcp-ap", "pacing_k": 2}}}),
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
            "background",
            250.0,
            150.0,
            at_least=1.0,
            each={"layout": ["cross", "parallel"]},
            at={"transport": "tcp-ap"},
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
        Plot(
            "time",
            "rtt_ms",
            by="transport",
            panel="background",
            caption="Round-trip samples of the TCP flow over time, seed 1, cross.",
        ),
    ),
)
TUNING = steady(
    "ap-tuning",
    "Figure 9, section 4.5",
    "weight and history of the pacer",
    "Aggregate goodput of two TCP-AP flows grows with the weight alpha and the history N; fairness is above 0.99 for every setting. "
    "N = 50 and alpha = 0.7 are chosen, in the cross and in the parallel layout.",
    scenario={"topology": {"kind": "cross"}, "flow": [{"transport": {"kind": "tcp-ap"}}] * 2},
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
    plots=(
        Plot(
            "line",
            "goodput",
            x="alpha",
            by="N",
            panel="layout",
            caption="Aggregate goodput of two TCP-AP flows.",
        ),
    ),
    unstated=(
        Unstated(
            "which values of N and alpha were tried",
            "10 to 200, 0.1 to 0.9",
            "the text names 10 and 50 or more samples",
        ),
    ),
)
RESPONSE = Experiment(
    id="ap-response",
    paper=PAPER,
    place="Figures 10 to 12, section 4.5",
    title="how fast two flows share a cross",
    found="Flow 1 runs from 0 to 60 s, flow 2 from 30 s on. TCP-AP shares at once and takes the rest at once; NewReno, and NewReno with "
    "the optimal window limit, leave the second flow next to nothing, and it takes long to recover.",
    scenario={
        **BASE,
        "duration": 100.0,
        "topology": {"kind": "cross"},
        "flow": [{"transport": "newreno", "stop": 60.0}, {"transport": "newreno", "start": 30.0}],
        "record": {"every": 2.0, "what": ["goodput"]},
    },
    axes=[transports(["tcp-ap", "newreno", "tcp-cwl"])],
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
            "transport",
            "tcp-ap",
            "newreno",
            at_least=2.0,
            differs=findings.ONE_RUN,
        ),
        versus(
            "the second flow gets more with TCP-AP than with the optimal window limit",
            "second",
            "transport",
            "tcp-ap",
            "tcp-cwl",
            at_least=1.0,
            differs=findings.ONE_RUN,
        ),
    ],
    unstated=(BASIC, Unstated("when the run ends", "100 s", "the figures end there or a little later")),
    plots=(
        Plot(
            "time",
            "goodput_kbps",
            by="transport",
            panel="transport",
            caption="Goodput over time, seed 1; the second flow is dotted.",
        ),
    ),
)
LENGTHS = Axis("hops", {h: {"topology.hops": h} for h in (4, 6, 8, 10, 12, 14, 16, 18, 20)}, "hops")
RANGE = Unstated("the range of hops", "4 to 20", "the text names h > 8 and h up to 10")
FEW = Effort(5, {"duration": 220.0}, {"hops": [4, 8, 14, 20]})
CHAIN = steady(
    "ap-chain",
    "Figure 14, section 5.1.1",
    "one flow over a chain",
    "TCP-AP delivers up to 84% more than NewReno at every length, and more than NewReno with dynamic delayed ACKs beyond 8 hops; "
    "delayed ACKs give TCP-AP another 7 to 17%.",
    scenario={"topology": {"kind": "chain", "hops": 4}},
    axes=[LENGTHS, transports(VARIANTS)],
    metrics=(GOODPUT,),
    quick=FEW,
    claims=[
        versus(
            "TCP-AP delivers more than NewReno at every length",
            "goodput",
            "transport",
            "tcp-ap",
            "newreno",
            at_least=1.0,
            each={"hops": [4, 8, 14, 20]},
        ),
        versus(
            "TCP-AP delivers up to 84% more than NewReno: at least 42% at the longest chain",
            "goodput",
            "transport",
            "tcp-ap",
            "newreno",
            at_least=gain(0.84),
            at={"hops": 20},
            differs=findings.FALSE_ROUTE_FAILURES,
        ),
        versus(
            "TCP-AP delivers more than NewReno with delayed ACKs beyond 8 hops",
            "goodput",
            "transport",
            "tcp-ap",
            "newreno+dyn",
            at_least=1.0,
            each={"hops": [14, 20]},
        ),
        versus(
            "delayed ACKs give TCP-AP 7 to 17% more",
            "goodput",
            "transport",
            "tcp-ap+dyn",
            "tcp-ap",
            at_least=gain(0.07),
            each={"hops": [4, 8, 14, 20]},
            differs=findings.DYNAMIC_ACKS,
        ),
    ],
    unstated=(RANGE,),
    plots=(Plot("line", "goodput", x="hops", by="transport", caption="Goodput of one flow, 95% intervals."),),
)
ORACLE = steady(
    "ap-chain-oracle",
    "Figure 15, section 5.1.1",
    "one flow over a chain, with global knowledge",
    "TCP-AP with synchronised clocks delivers up to 27% more than NewReno with the optimal window limit, another 9 to 36% more with "
    "delayed ACKs, and then 5 to 16% less than paced UDP, which bounds what is possible.",
    scenario={"topology": {"kind": "chain", "hops": 4}},
    axes=[
        LENGTHS,
        Axis(
            "transport",
            {
                "udp": {"flow.0.app": "paced", "flow.0.transport": "udp"},
                **{name: {"flow.0.transport": name} for name in ("tcp-cwl", "tcp-ap-sync", "tcp-ap-sync+da")},
            },
        ),
    ],
    metrics=(GOODPUT,),
    quick=Effort(3, {"duration": 66.0}, {"hops": [4, 8, 14, 20]}),
    claims=[
        versus(
            "TCP-AP with synchronised clocks delivers more than NewReno with the optimal limit",
            "goodput",
            "transport",
            "tcp-ap-sync",
            "tcp-cwl",
            at_least=1.0,
            each={"hops": [8, 14, 20]},
            differs=findings.NO_OPTIMUM,
        ),
        versus(
            "delayed ACKs give it 9 to 36% more",
            "goodput",
            "transport",
            "tcp-ap-sync+da",
            "tcp-ap-sync",
            at_least=gain(0.09),
            each={"hops": [4, 8, 14, 20]},
        ),
        versus(
            "with delayed ACKs it comes within 20% of paced UDP",
            "goodput",
            "transport",
            "tcp-ap-sync+da",
            "udp",
            at_least=0.80,
            each={"hops": [4, 8, 14, 20]},
        ),
    ],
    unstated=(
        RANGE,
        Unstated(
            "delayed or dynamic delayed ACKs",
            "delayed",
            "the text says delayed ACK here; ap-chain has the dynamic ones",
        ),
    ),
    plots=(Plot("line", "goodput", x="hops", by="transport", caption="Goodput of one flow, 95% intervals."),),
)
PARALLEL = steady(
    "ap-parallel",
    "Figures 16 and 17, section 5.1.2",
    "two flows side by side",
    "One NewReno flow takes nearly all, the other gets about 10%; with TCP-AP both get the same, and together more than with NewReno.",
    scenario={
        "topology": {"kind": "parallel"},
        "flow": TWO,
        "record": {"every": 1.0, "what": ["goodput", "cov"]},
    },
    claims=[
        Claim(
            "TCP-AP is fair: Jain's index above 0.99", "fairness", {"transport": ["tcp-ap"]}, at_least=99.0
        ),
        versus(
            "TCP-AP delivers more than NewReno", "goodput", "transport", "tcp-ap", "newreno", at_least=1.0
        ),
        versus(
            "TCP-AP is fairer than NewReno by a quarter",
            "fairness",
            "transport",
            "tcp-ap",
            "newreno",
            at_least=1.25,
            differs=findings.ALTERNATING,
        ),
    ],
    plots=(
        Plot(
            "time", "cov", by="transport", caption="Coefficient of variation over time, seed 1 (Figure 17)."
        ),
        *BARS,
    ),
)
ASYMMETRIC = steady(
    "ap-asymmetric",
    "Figure 18, section 5.1.3",
    "a flow of 4 hops beside one of 10",
    "With NewReno the shorter flow takes nearly all; TCP-AP is far fairer, TCP-AP with delayed ACKs fairer still, at slightly less aggregate goodput.",
    scenario={"topology": {"kind": "asymmetric-parallel"}, "flow": TWO},
    claims=[
        versus("TCP-AP is fairer than NewReno", "fairness", "transport", "tcp-ap", "newreno", at_least=1.1),
        versus(
            "delayed ACKs make TCP-AP fairer still",
            "fairness",
            "transport",
            "tcp-ap+dyn",
            "tcp-ap",
            at_least=1.0,
        ),
        versus(
            "NewReno delivers more in all than TCP-AP",
            "goodput",
            "transport",
            "newreno",
            "tcp-ap",
            at_least=1.0,
            differs=findings.NEWRENO_ALONE,
        ),
    ],
    plots=BARS,
)
GRID = steady(
    "ap-grid",
    "Figures 19 and 20, section 5.1.4",
    "six flows on a grid",
    "With NewReno FTP 1 and FTP 6 are the only active flows, with delayed ACKs they get over 12 times what the other four get; with TCP-AP "
    "none starves, FTP 1 and 6 still get more. In a symmetric layout TCP-AP is perfectly fair.",
    scenario={"topology": {"kind": "grid"}, "flow": [{"transport": "newreno"}] * 6},
    axes=[axis("layout", "topology.kind", ["grid", "grid-symmetric"]), transports(VARIANTS)],
    metrics=(
        GOODPUT,
        FAIRNESS,
        *(Metric(f"ftp{n}", f"FTP {n}, kb/s", f"flows.{n - 1}.goodput_kbps") for n in range(1, 7)),
    ),
    claims=[
        versus(
            "TCP-AP is fairer than NewReno by half",
            "fairness",
            "transport",
            "tcp-ap",
            "newreno",
            at_least=1.5,
            at={"layout": "grid"},
            differs=findings.GRID_STARVES_LESS,
        ),
        Claim(
            "TCP-AP is perfectly fair in the symmetric layout: above 0.95",
            "fairness",
            {"transport": "tcp-ap", "layout": "grid-symmetric"},
            at_least=95.0,
        ),
    ],
    plots=(
        Plot("bar", "goodput", x="layout", by="transport", caption="Aggregate goodput."),
        Plot("bar", "fairness", x="layout", by="transport", caption="Jain's index."),
    ),
    unstated=(
        Unstated(
            "the symmetric layout",
            "the lines of a hexagram",
            "the paper does not show it: positions of all six flows are alike here",
        ),
    ),
)
DENSITY = steady(
    "ap-density",
    "Figure 7, section 4.3",
    "more nodes on the same way",
    "Nodes that are not on the route do not count: the factor of spatial reuse does not depend on density.",
    scenario={"topology": {"kind": "chain", "hops": 7, "spacing": 200.0}},
    axes=[
        Axis(
            "spacing",
            {
                200: {},
                100: {"topology.hops": 14, "topology.spacing": 100.0},
                66.7: {"topology.hops": 21, "topology.spacing": 66.667},
            },
            "distance of neighbours, m",
        ),
        transports(["newreno", "tcp-ap"]),
    ],
    metrics=(GOODPUT,),
    claims=[
        versus(
            "TCP-AP delivers the same within 15% on a chain twice as dense",
            "goodput",
            "spacing",
            100,
            200,
            at_least=0.85,
            at_most=1.15,
            at={"transport": "tcp-ap"},
        )
    ],
    plots=(Plot("line", "goodput", x="spacing", by="transport", caption="Goodput over 1400 m."),),
)
RANDOM_FLOWS = [{"transport": "newreno", "from": 2 * i, "to": 2 * i + 1} for i in range(10)]
RANDOM = Experiment(
    id="ap-random",
    paper=PAPER,
    place="Figure 21, section 5.1.5",
    title="120 nodes at random, ten flows",
    found="NewReno lets five of ten flows almost starve; with TCP-AP none starves, at 6% less aggregate goodput.",
    scenario={
        **BASE,
        "topology": {"kind": "random", "nodes": 120, "area": [2500.0, 1000.0]},
        "flow": RANDOM_FLOWS,
        "warmup": 20.0,
    },
    axes=[transports(VARIANTS)],
    metrics=(GOODPUT, FAIRNESS, HOPS),
    quick=Effort(8, {"duration": 60.0}),
    full=Effort(10, {"duration": 600.0}),
    claims=[
        versus(
            "TCP-AP is fairer than NewReno by half",
            "fairness",
            "transport",
            "tcp-ap",
            "newreno",
            at_least=1.5,
        ),
        versus(
            "TCP-AP costs at most twice the paper's 6% of goodput",
            "goodput",
            "transport",
            "tcp-ap",
            "newreno",
            at_least=0.88,
            differs=findings.SHORT_ROUTES,
        ),
    ],
    unstated=(
        BASIC,
        Unstated(
            "the placement and the pairs",
            "drawn anew for each seed",
            "the paper has one placement, which it does not print; means over placements say more",
        ),
    ),
    plots=BARS,
)
FILES = {"app": "pareto", "mean_bytes": 30_000.0, "shape": 1.5, "mean_pause": 1.0}
ONOFF = Experiment(
    id="ap-onoff-parallel",
    paper=PAPER,
    place="Figures 22 and 23, section 5.2.1",
    title="small files with pauses, side by side",
    found="Goodput while transferring grows with the pauses under TCP-AP and stays where it is under NewReno; both are fair as soon as there are "
    "pauses, TCP-AP also without (NewReno: 0.64).",
    scenario={**BASE, "topology": {"kind": "parallel"}, "flow": [{**FILES, "transport": "newreno"}] * 2},
    axes=[
        axis("pause", "flow.*.mean_pause", [0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0], "mean pause, s"),
        transports(["newreno", "tcp-ap", "newreno+da", "tcp-ap+da"]),
    ],
    metrics=(GOODPUT, FAIRNESS),
    quick=Effort(3, {"duration": 200.0}, {"pause": [0.0, 0.2, 0.6, 1.0]}),
    full=Effort(10, {"duration": 2000.0}),
    published={"fairness": {(0.0, "newreno"): 64.0}},
    claims=[
        versus(
            "TCP-AP's goodput grows from no pause to 1 s",
            "goodput",
            "pause",
            1.0,
            0.0,
            at_least=1.1,
            at={"transport": "tcp-ap"},
        ),
        versus(
            "NewReno's goodput stays within 10%",
            "goodput",
            "pause",
            1.0,
            0.0,
            at_least=0.9,
            at_most=1.1,
            at={"transport": "newreno"},
            differs=findings.PAUSES_FREE_THE_AIR,
        ),
        Claim(
            "TCP-AP is fair without pauses", "fairness", {"transport": "tcp-ap", "pause": 0.0}, at_least=95.0
        ),
    ],
    unstated=(
        BASIC,
        Unstated(
            "what without pauses means",
            "files follow each other at once",
            "the text equates it with a file without end",
        ),
    ),
    plots=(
        Plot(
            "line",
            "goodput",
            x="pause",
            by="transport",
            caption="Goodput while transferring, both flows together.",
        ),
        Plot("line", "fairness", x="pause", by="transport", caption="Jain's index."),
    ),
)
ONOFF_RANDOM = Experiment(
    id="ap-onoff-random",
    paper=PAPER,
    place="Figure 24, section 5.2.2",
    title="small files at random",
    found="Five flows of small files, pauses of 1 s: TCP-AP delivers 91% more than NewReno, 58% more with delayed ACKs in both, and is fairer.",
    scenario={**RANDOM.scenario, "flow": [{**FILES, **flow} for flow in RANDOM_FLOWS[:5]]},
    axes=[transports(["newreno", "newreno+da", "tcp-ap", "tcp-ap+da"])],
    metrics=(GOODPUT, FAIRNESS),
    quick=Effort(8, {"duration": 80.0}),
    full=Effort(10, {"duration": 600.0}),
    claims=[
        versus(
            "TCP-AP delivers 91% more than NewReno",
            "goodput",
            "transport",
            "tcp-ap",
            "newreno",
            at_least=gain(0.91),
            differs=findings.SHORT_ROUTES,
        ),
        versus(
            "with delayed ACKs 58% more",
            "goodput",
            "transport",
            "tcp-ap+da",
            "newreno+da",
            at_least=gain(0.58),
            differs=findings.SHORT_ROUTES,
        ),
        versus("TCP-AP is fairer", "fairness", "transport", "tcp-ap", "newreno", at_least=1.0),
    ],
    unstated=RANDOM.unstated,
    plots=(
        Plot("bar", "goodput", x="transport", caption="Goodput while transferring, all flows together."),
        Plot("bar", "fairness", x="transport", caption="Jain's index."),
    ),
)
EXPERIMENTS = (
    COV, TUNING, RESPONSE, CHAIN, ORACLE, PARALLEL, ASYMMETRIC, GRID, DENSITY, RANDOM, ONOFF, ONOFF_RANDOM,
)  # fmt: skip
