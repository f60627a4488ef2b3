"""TPA, section 5: the simulations.

Anastasi, Ancillotti, Conti, Passarella: Design and Performance Evaluation of a Transport Protocol for
Ad hoc Networks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from multihop.experiments.declare import (
    FAIRNESS,
    GOODPUT,
    HOPS,
    INSTANT,
    RTX,
    Axis,
    Claim,
    Effort,
    Plot,
    Published,
    Unstated,
    axis,
    column,
    rows,
    transports,
    versus,
)
from multihop.experiments.papers import findings
from multihop.experiments.papers.tpa import AODV, PAPER, TCPS, TPA, TPAS, better
from multihop.experiments.reasons import Reason, our_model
from multihop.experiments.study import Experiment

PACED = ["tcp-ap+da", "tpa-ap-2", "tpa-ap-3", "tpa*-ap-3"]
PACED_TPAS = PACED[1:]
# Section 5: ns-2.30, AODV-UU with the settings of section 4.
NS2 = {"preset": "ns2-2.30"}
# The implementation of TCP-AP for ns-2 that was public when section 5 was written.
NS2_PACED = {**NS2, "rules": "authors"}
SIMULATED = {"duration": 520.0, "warmup": 20.0, "mac": {"rts_threshold": 100}, "routing": {**AODV, "ip_extra": 20}}
FLOW = {"transport": "newreno", "start": 20.0}
SIMULATION = (
    Unstated(
        "HELLO or MAC feedback in AODV-UU", "HELLO", "the text keeps the settings of its section 4, and the published rows of TCP fit it"
    ),
    Unstated("the basic rate", "1 Mb/s", "the default of ns-2"),
)
METRICS = (GOODPUT, FAIRNESS, INSTANT, RTX)
PLOT_BARS = (
    Plot("bar", "goodput", x="transport", caption="Aggregate throughput; diamonds are the paper's."),
    Plot("bar", "instant", x="transport", caption="Fairness over windows of 2 s; diamonds are the paper's."),
)
QUICK = Effort(8, {"duration": 150.0})
TEN_RUNS = Effort(10)


def table(id: str, place: str, title: str, topology: dict[str, Any], flows: int, **more: Any) -> Experiment:
    """A table of section 5: one row for each transport."""
    paced = id.endswith("-ap")
    names = PACED if paced else TCPS + TPAS
    return Experiment(
        id=id,
        paper=PAPER,
        place=place,
        title=title,
        scenario={**SIMULATED, "topology": topology, "flow": [FLOW] * flows},
        axes=[transports(names, tcp=NS2_PACED if paced else NS2, tpa=TPA)],
        metrics=more.pop("metrics", METRICS),
        quick=more.pop("quick", QUICK),
        full=more.pop("full", TEN_RUNS),
        published=more.pop("published", {metric.name: {} for metric in METRICS}),
        unstated=(*SIMULATION, *more.pop("unstated", ())),
        plots=PLOT_BARS,
        **more,
    )


CROSS_ROWS = ["tcp-2", "tpa-2", "tcp-3", "tpa-3", "tcp-uc", "tpa*-3"]


def printed(names: Sequence[str], text: str) -> dict[str, Published]:
    """A table of section 5: a line for each transport, a column for each metric."""
    numbers = rows(names, [metric.name for metric in METRICS], text)
    return {metric.name: {(name,): value for (name, of), value in numbers.items() if of == metric.name} for metric in METRICS}


def by_range(experiment: Experiment) -> Experiment:
    """The same for two sense ranges: on the lines of the grid every third node is 600 m away. The claims are those of ns-2's range."""
    published = {
        metric: {(sense, *cell): value for sense in (550.0, 601.0) for cell, value in cells.items()}
        for metric, cells in experiment.published.items()
    }
    claims = [
        replace(claim, of={"sense": 550.0, **claim.of}, against={"sense": 550.0, **(claim.against or {})}) for claim in experiment.claims
    ]
    return replace(
        experiment,
        axes=[axis("sense", "radio.sense_range", [550.0, 601.0], "sense range, m"), *experiment.axes],
        published=published,
        other_readings=(601.0,),
        claims=claims,
        plots=[replace(plot, panel="sense") for plot in experiment.plots],
    )


def paced(
    id: str, place: str, title: str, topology: dict[str, Any], flows: int, more: float, less: float, found: str, numbers: str
) -> Experiment:
    """A table with adaptive pacing."""
    return table(
        id,
        place,
        title,
        topology,
        flows,
        found=found,
        published=printed(PACED, numbers),
        claims=[
            better(
                f"TPA-AP delivers {more:.0%} more than TCP-AP",
                "goodput",
                ["tcp-ap+da"],
                PACED_TPAS,
                more,
                reason=Reason(findings.paced_losses),
            ),
            better(
                f"TPA-AP retransmits {-less:.0%} less than TCP-AP",
                "rtx",
                ["tcp-ap+da"],
                PACED_TPAS,
                less,
                reason=Reason(findings.grid_losses if flows > 2 else findings.paced_losses),
            ),
            versus(
                "TPA-AP is fair over 2 s within 5% of TCP-AP",
                "instant",
                PACED_TPAS,
                "tcp-ap+da",
                at_least=0.95,
                reason=Reason(findings.paced_fairness),
            ),
        ],
        unstated=(
            Unstated(
                "whose TCP-AP runs",
                "its authors' implementation for ns-2, delayed ACKs inside its round trips",
                "with the text of its paper TCP-AP retransmits a third as much as printed",
            ),
        ),
    )


CROSS_AP = paced(
    "tpa-cross-ap",
    "Table 5, section 5.3",
    "two flows that cross, with adaptive pacing",
    {"kind": "cross"},
    2,
    0.66,
    -0.61,
    "TPA-AP delivers 66% more than TCP-AP and retransmits 61% less, at less than 1% of fairness and 4% of fairness over 2 s.",
    """
153±2.5   99.7±0.14 92.3±0.1 6.34±0.36
254.7±2.3 99.3±0.7  87.3±2.2 2.46±0.14
250.6±2.7 99.1±0.8  86.8±1.9 3.3±0.16
250±1.4   98.2±0.98 88.4±1.5 5.8±0.28
""",
)
TABLE_6 = {
    "goodput": ((254.7, 2.3), (208.7, 3.8), (171.2, 1.1)),
    "rtx": ((2.46, 0.14), (1.83, 0.14), (1.05, 0.11)),
    "fairness": ((99.3, 0.7), (99.7, 0.18), (99.8, 0.08)),
    "instant": ((87.3, 2.2), (93.7, 1.09), (96.2, 0.3)),
}
MEAN_TOO = {k: f"{k}, mean too" for k in (2, 3)}
PACING_K = Experiment(
    id="tpa-pacing-k",
    paper=PAPER,
    place="Table 6, section 5.3",
    title="adaptive pacing with round trips scaled by K",
    found="K trades throughput for fairness: with K = 2 TPA-AP is 1.5% fairer over 2 s than TCP-AP, delivers 36% more and retransmits 71% less.",
    scenario={**SIMULATED, "topology": {"kind": "cross"}, "flow": [FLOW] * 2},
    axes=[
        Axis(
            "K",
            {
                **{k: {"flow.*.transport": {"kind": "tpa-ap-2", "pacing_k": k, **TPA}} for k in (1, 2, 3)},
                **{
                    MEAN_TOO[k]: {"flow.*.transport": {"kind": "tpa-ap-2", "pacing_k": k, "pacing_k_mean": "scaled", **TPA}} for k in (2, 3)
                },
                "tcp-ap+da": {"flow.*.transport": {"kind": "tcp-ap+da", **NS2_PACED}},
            },
            "K",
        )
    ],
    metrics=METRICS,
    quick=QUICK,
    full=TEN_RUNS,
    published={name: {(row,): values[k - 1] for k in (1, 2, 3) for row in {k, MEAN_TOO.get(k, k)}} for name, values in TABLE_6.items()},
    other_readings=tuple(MEAN_TOO.values()),
    claims=[
        versus("K = 2 delivers 36% more than TCP-AP", "goodput", 2, "tcp-ap+da", axis="K", size=0.36, reason=Reason(findings.pacing_k)),
        versus("K = 2 is fairer over 2 s than TCP-AP", "instant", 2, "tcp-ap+da", axis="K", reason=Reason(findings.pacing_k)),
        versus("K = 2 retransmits 71% less than TCP-AP", "rtx", 2, "tcp-ap+da", axis="K", size=-0.71),
    ],
    unstated=(
        *SIMULATION,
        Unstated(
            "whether K scales the mean as well",
            "both",
            "as printed, Equation 3 scales the samples alone, which seems too strong for what the text says of Table 6",
        ),
    ),
    plots=(Plot("bar", "goodput", x="K", caption="Aggregate throughput."), Plot("bar", "instant", x="K", caption="Fairness over 2 s.")),
)
HELD_ACKS = (
    "TPA* acknowledges every third segment. Where K is no multiple of three, segments are left over at the end of each block, whose ACK waits "
    "for the timer of 100 ms, and no other block begins before. With the end of a block acknowledged at once K hardly matters, as the paper says; "
    "its text does not have that rule, and does not say which K were tried with TPA*."
)
BLOCKS = Experiment(
    id="tpa-block-size",
    paper=PAPER,
    place="section 3.2",
    title="segments in a block",
    found="Preliminary experiments of the authors: a minor dependence on K for ftp-like traffic; no numbers.",
    scenario={**SIMULATED, "topology": {"kind": "cross"}, "flow": [FLOW] * 2},
    axes=[
        Axis("layout", {"cross": {}, "chain": {"topology": {"kind": "chain", "hops": 4}, "flow": [FLOW]}}, ""),
        Axis(
            "K",
            {
                k: {"flow.*.transport": {"kind": "tpa*-3", "block_size": k, "cwnd_max": min(3, k), **TPA}}
                for k in (1, 2, 3, 4, 6, 8, 10, 12)
            },
            "segments in a block",
        ),
        Axis("end", {"as it comes": {}, "acknowledged": {"flow.*.transport.ack_block_end": True}}, "end of a block"),
    ],
    metrics=(GOODPUT, RTX),
    quick=QUICK,
    full=TEN_RUNS,
    claims=[
        Claim(
            f"{layout}: K of 4 to 12, within 10%, ACK of the end of a block {end}",
            "goodput",
            {"end": end, "layout": layout},
            {"end": end, "layout": layout, "K": 12},
            at_least=0.9,
            at_most=1.1,
            each={"K": [4, 6, 8, 10]},
            reason=reason,
        )
        for layout in ("cross", "chain")
        for end, reason in (("as it comes", our_model(HELD_ACKS, "tpa-block-size: acknowledged")), ("acknowledged", None))
    ],
    unstated=SIMULATION,
    plots=(Plot("line", "goodput", x="K", by="layout", panel="end", caption="Aggregate throughput."),),
)
PARALLEL = table(
    "tpa-parallel",
    "Table 7, section 5.3",
    "two flows side by side",
    {"kind": "parallel"},
    2,
    published=printed(
        CROSS_ROWS,
        """
292.2±1.5 83.1±11  54.9±1.5  2.9±0.5
298.9±2.1 97±2     58.1±1.03 2.4±0.15
283.3±1.6 95.7±3   57.9±1.44 4.5±0.5
294.7±2.1 98.1±1.6 60±1      3.4±0.19
279.5±2.5 82.3±13  56±2.4    6.4±0.7
308.2±1.9 97.7±1   58.8±0.62 3.14±0.16
""",
    ),
    found="TPA delivers 6% more, retransmits 17% less, is 2.5% fairer and 3.6% fairer over 2 s.",
    claims=[
        better("TPA delivers 6% more, best configurations", "goodput", TCPS, TPAS, 0.06, reason=Reason(findings.cross)),
        better("TPA retransmits 17% less, best configurations", "rtx", TCPS, TPAS, -0.17),
        better("TPA is fairer over 2 s by 3.6%, best configurations", "instant", TCPS, TPAS, 0.036),
    ],
)
PARALLEL_AP = paced(
    "tpa-parallel-ap",
    "Table 8, section 5.3",
    "two flows side by side, with adaptive pacing",
    {"kind": "parallel"},
    2,
    0.39,
    -0.77,
    "TPA-AP delivers 39% more than TCP-AP and retransmits 77% less, at 3% of fairness over 2 s.",
    """
155.5±4.2 99.8±0.1  90.8±0.6 7.3±0.4
215.3±0.9 99.5±0.35 87.8±1.2 1.7±0.16
208.3±2.5 99.6±0.5  87.7±1.6 2±0.2
193.2±3.7 97.5±1.5  88.4±2.2 2.5±0.12
""",
)
WITH_HOPS = (*METRICS, HOPS)
GRID = by_range(
    table(
        "tpa-grid",
        "Table 9, section 5.4",
        "six flows on a grid",
        {"kind": "grid"},
        6,
        metrics=WITH_HOPS,
        found="TPA delivers 5% more, is 35% fairer and 34% fairer over 2 s, and retransmits 22% more.",
        published={
            "goodput": column(CROSS_ROWS, "270.1±3 280±2.9 263.9±4.2 278±2 268±2.7 283±2"),
            "fairness": column(CROSS_ROWS, "62.6±5 89.2±1.8 66.5±8.6 89.8±1.73 65.3±8 88.2±2"),
            "instant": column(CROSS_ROWS, "35.4±2 47.5±0.4 35.9±2 48.1±0.6 34.4±2.6 47.5±0.6"),
            "rtx": column(CROSS_ROWS, "12.3±1 15±0.34 13.7±0.8 18.9±0.2 15.9±1.3 16.4±0.4"),
        },
        claims=[
            versus("TPA delivers more, best configurations", "goodput", TPAS, TCPS),
            versus("TPA is fairer, best configurations", "fairness", TPAS, TCPS),
            versus("TPA is fairer over 2 s, best configurations", "instant", TPAS, TCPS),
        ],
    )
)
GRID_AP = by_range(
    paced(
        "tpa-grid-ap",
        "Table 10, section 5.4",
        "six flows on a grid, with adaptive pacing",
        {"kind": "grid"},
        6,
        0.19,
        -0.75,
        "TPA-AP delivers 19% more than TCP-AP and retransmits 75% less, at 2% of fairness.",
        """
202.8±2.6 98.6±0.9 86.1±1.5 28.6±1
239±2.3   96.1±0.9 85.8±1   7.5±0.4
241±1.1   96.5±1.7 84.9±1.3 8.4±0.26
233.7±1.8 95.3±1.4 85.5±1.6 7.2±0.4
""",
    )
)

AREA = {"kind": "random", "nodes": 50, "area": [1000.0, 1000.0]}
COUNTS = Axis("flows", {n: {"flow": [{**FLOW, "from": 2 * i, "to": 2 * i + 1} for i in range(n)]} for n in (3, 5, 10)}, "flows")
PAIRS = Unstated(
    "which pairs send",
    "nodes 0 to 1, 2 to 3, ...: fixed for all placements",
    "they were drawn once; places are drawn alike for all nodes, so that any fixed pairs are as good as drawn ones",
)
PLACEMENTS = Unstated(
    "how repetitions and placements nest",
    "as many placements as runs",
    "10 runs of 10 placements say no more than 100 of 100; intervals are given, though the paper gives none",
)
RANDOM_NAMES = ["tcp-uc", "tpa*-3", "tcp-2", "tpa-2"]
RANDOM = Experiment(
    id="tpa-random",
    paper=PAPER,
    place="Table 11, section 5.5",
    title="random placements, 3, 5 and 10 flows",
    found="In random networks TPA is fairer over 2 s than TCP and delivers somewhat less; only the trend is claimed.",
    scenario={**SIMULATED, "topology": AREA, "flow": [FLOW]},
    axes=[COUNTS, transports(RANDOM_NAMES, tcp=NS2, tpa=TPA)],
    metrics=(GOODPUT, INSTANT, RTX),
    quick=Effort(8, {"duration": 60.0}),
    full=Effort(100),
    published={
        "goodput": {
            (n, t): v
            for (t, n), v in rows(RANDOM_NAMES, [3, 5, 10], "885.1 1126 1303\n827.2 1108 1195\n831.3 1121 1226\n801 1080 1173").items()
        },
        "instant": {
            (n, t): v
            for (t, n), v in rows(RANDOM_NAMES, [3, 5, 10], "46.8 40.3 28.9\n56.7 46.5 34\n52.98 42.6 31.3\n58.3 46.9 34.6").items()
        },
    },
    claims=[
        versus("TPA*-3 is fairer over 2 s than TCP-uc", "instant", "tpa*-3", "tcp-uc", each={"flows": [3, 5, 10]}),
        versus("TPA-2 is fairer over 2 s than TCP-2", "instant", "tpa-2", "tcp-2", each={"flows": [3, 5, 10]}),
    ],
    unstated=(*SIMULATION, PAIRS, PLACEMENTS),
    plots=(
        Plot("bar", "goodput", x="flows", by="transport", caption="Aggregate throughput; diamonds are the paper's."),
        Plot("bar", "instant", x="flows", by="transport", caption="Fairness over 2 s; diamonds are the paper's."),
    ),
)
RANDOM_AP = replace(
    RANDOM,
    id="tpa-random-ap",
    place="Table 12, section 5.5",
    title="random placements, with adaptive pacing",
    found="Both deliver less and are fairer than without pacing; TPA-AP loses less and is as fair as TCP-AP.",
    axes=[COUNTS, transports(["tcp-ap+da", "tpa-ap-2"], tcp=NS2_PACED, tpa=TPA)],
    published={
        name: {(flows, transport): value for (transport, flows), value in rows(["tcp-ap+da", "tpa-ap-2"], [3, 5, 10], text).items()}
        for name, text in {
            "goodput": "415.9 546.7 558.8\n476.6 621.8 641.4",
            "instant": "71.4 66.7 59\n75.3 68.9 57.9",
            "rtx": "7.4 9.5 13.4\n1.7 2.2 3.5",
        }.items()
    },
    claims=[versus("TPA-AP-2 delivers more than TCP-AP", "goodput", "tpa-ap-2", "tcp-ap+da", each={"flows": [3, 5, 10]})],
)
MOBILE = Experiment(
    id="tpa-mobile",
    paper=PAPER,
    place="Table 13, section 5.6",
    title="50 nodes that move",
    found="Random trips at 1 to 9 m/s with pauses of 20 s, five flows, 50 patterns: TPA*-3 delivers about as much as TCP, is fairer over "
    "2 s and retransmits less; means only.",
    scenario={
        **SIMULATED,
        "topology": AREA,
        "flow": [{**FLOW, "from": 2 * i, "to": 2 * i + 1} for i in range(5)],
        "mobility": {"kind": "random-waypoint", "speed": [1.0, 9.0], "pause": 20.0},
    },
    axes=[transports(["tcp-uc", "tcp-2", "tpa*-3"], tcp=NS2, tpa=TPA)],
    metrics=METRICS,
    quick=Effort(8, {"duration": 90.0}),
    full=Effort(50),
    published={
        "goodput": column(["tcp-uc", "tcp-2", "tpa*-3"], "864.8 837.4 871.7"),
        "fairness": column(["tcp-uc", "tcp-2", "tpa*-3"], "75 77 78.5"),
        "instant": column(["tcp-uc", "tcp-2", "tpa*-3"], "38.2 43.9 45.3"),
        "rtx": column(["tcp-uc", "tcp-2", "tpa*-3"], "5.8 4.8 3.6"),
    },
    claims=[
        versus("TPA*-3 is fairer over 2 s than either TCP", "instant", "tpa*-3", ["tcp-uc", "tcp-2"]),
        versus(
            "TPA*-3 retransmits less than either TCP",
            "rtx",
            "tpa*-3",
            ["tcp-uc", "tcp-2"],
            at_most=1.0,
            lowest=True,
            reason=Reason(findings.retransmits_walking),
        ),
    ],
    unstated=(*SIMULATION, PAIRS),
    plots=PLOT_BARS,
)
MOBILE_AP = replace(
    MOBILE,
    id="tpa-mobile-ap",
    place="Table 14, section 5.6",
    title="50 nodes that move, with adaptive pacing",
    found="Pacing costs TPA less throughput than TCP, at the same fairness over 2 s.",
    axes=[transports(["tcp-ap+da", "tpa*-ap-3", "tpa-ap-2"], tcp=NS2_PACED, tpa=TPA)],
    published=printed(["tcp-ap+da", "tpa*-ap-3", "tpa-ap-2"], "433.2 94 69.8 16\n536.2 91.2 67.1 3.9\n523.7 92.8 68.4 3.4"),
    claims=[versus("TPA-AP delivers more than TCP-AP", "goodput", ["tpa*-ap-3", "tpa-ap-2"], "tcp-ap+da")],
)
EXPERIMENTS = (CROSS_AP, PACING_K, BLOCKS, PARALLEL, PARALLEL_AP, GRID, GRID_AP, RANDOM, RANDOM_AP, MOBILE, MOBILE_AP)
