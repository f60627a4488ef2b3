"""TPA, sections 5.5 and 5.6: random networks, still and moving.

Anastasi, Ancillotti, Conti, Passarella: Design and Performance Evaluation of a Transport Protocol for
Ad hoc Networks.
"""

from __future__ import annotations

from dataclasses import replace

from multihop_papers.declare import GOODPUT, INSTANT, RTX, Axis, Effort, Plot, Unstated, column, rows, transports, versus
from multihop_papers.papers import findings
from multihop_papers.papers.tpa import PAPER, TPA
from multihop_papers.papers.tpa_simulation import (
    FLOW,
    METRICS,
    NS2,
    NS2_PACED,
    PLOT_BARS,
    SIMULATED,
    SIMULATION,
    printed,
    with_block_ends,
)
from multihop_papers.reasons import Reason
from multihop_papers.study import Experiment

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
    full=Effort(30),
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
    full=Effort(10),
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
    found="Random trips at 1 to 9 m/s with pauses of 20 s, five flows, 50 patterns. TPA*-3 delivers about as much as TCP, is fairer over "
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
    full=Effort(10),
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
EXPERIMENTS = (RANDOM, *map(with_block_ends, (RANDOM_AP, MOBILE, MOBILE_AP)))
