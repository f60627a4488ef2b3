"""Experiments on the paper of ADTCP.

Fu, Greenstein, Meng, Lu: Design and Implementation of a TCP-Friendly Transport Protocol for Ad Hoc
Wireless Networks.
"""

from __future__ import annotations

import math
import random
from functools import partial
from typing import Any

from multihop_papers.declare import FAIRNESS, GOODPUT, Axis, Claim, Effort, Metric, Plot, Published, Settings, Unstated, gain, versus
from multihop_papers.measures import change, frame
from multihop_papers.papers import findings
from multihop_papers.papers.adtcp_static import STATIC
from multihop_papers.papers.adtcp_testbed import TESTBED
from multihop_papers.papers.receiver import receiver
from multihop_papers.reasons import left_open, not_knowable
from multihop_papers.study import Experiment, Study

PAPER = "ADTCP"
# Section 3: NewReno with windows of at most eight packets, DSR, 300 s, 30 nodes, pause 0.
TCP = {"preset": "ns2-2002", "window_max": 8}


def tcp(kind: str) -> dict[str, Any]:
    """A transport of the paper. Section 2.1: probing continues until the connection is re-established."""
    return {"kind": kind, **TCP, **({"probe_max": "off"} if kind == "adtcp" else {})}


KINDS = Axis("transport", {kind: {"flow.0.transport": tcp(kind)} for kind in ("newreno", "adtcp", "elfn")})
NODES, WIDTH, HEIGHT = 30, 400.0, 800.0
AREA = {"kind": "random", "nodes": NODES, "area": [WIDTH, HEIGHT]}
BASE: dict[str, Any] = {
    "duration": 300.0,
    "mac": {"arp": "ns2"},
    "routing": {"protocol": "dsr", "ip_extra": 20},
    "topology": AREA,
    "mobility": {"kind": "random-waypoint", "speed": 5.0, "start": "classic"},
    "flow": [{"from": 0, "to": 1, "transport": tcp("newreno")}],
}
PERIODS = ((50.0, 250.0), (100.0, 200.0), (130.0, 170.0))
STREAMS = [
    {"app": "cbr", "from": 2 + 2 * i, "to": 3 + 2 * i, "rate_kbps": 180.0, "size": 512, "start": start, "stop": stop}
    for i, (start, stop) in enumerate(PERIODS)
]
WITH_STREAMS = [*BASE["flow"], *STREAMS]
ERROR = {"radio.loss": 0.05}
SPEEDS = Axis(
    "speed", {0: {"mobility": {"kind": "static"}}, **{v: {"mobility.speed": float(v)} for v in (1, 5, 10, 15, 20)}}, "mean speed, m/s"
)
UNSTATED = (
    Unstated(
        "which nodes the streams connect, and their packets", "2 to 3, 4 to 5, 6 to 7; 512 bytes", "the text gives rate and times alone"
    ),
    Unstated("the range of speeds", "0.9 to 1.1 times the mean, as in the paper on ELFN", "one speed is given for each point"),
    Unstated("the minimum RTO and the clock", "1 s, 10 ms", "the defaults of ns-2 in 2002"),
)
ALONE = Metric("goodput", "throughput of the TCP flow, kb/s", "flows.0.goodput_kbps")
ACCURACY = (
    Metric("joint", "wrong with both metrics, %", "flows.0.identification.joint.wrong", 100.0),
    Metric("idd", "wrong with IDD alone, %", "flows.0.identification.idd.wrong", 100.0),
    Metric("stt", "wrong with STT alone, %", "flows.0.identification.stt.wrong", 100.0),
    Metric("incompatible", "incompatible with both, %", "flows.0.identification.joint.incompatible", 100.0),
)
WIDE = "three, bins of twice the width"


def beside_streams(**more: Any) -> Settings:
    """An ADTCP with these parameters, and the three streams."""
    return {"flow": [{"from": 0, "to": 1, "transport": {**tcp("adtcp"), **more}}, *STREAMS]}


# Section 3.3: alone, from the lowest to the highest speed; with streams "about 70% to 80%" are right with one metric.
ONE_METRIC = {("three", speed): (25.0, 5.0) for speed in (0, 20)}
PRINTED: dict[str, Published] = {
    "joint": {("none", 0): 5.0, ("none", 20): 20.0},
    "idd": {("none", 0): 15.0, ("none", 20): 45.0, **ONE_METRIC},
    "stt": ONE_METRIC,
}
ACCURACY_RUNS = Experiment(
    id="adtcp-accuracy",
    paper=PAPER,
    place="Figure 3, section 3.3",
    title="how often the state of the network is taken for another",
    found="At each loss the receiver's verdict is compared with the truth, at 1% channel error. Alone in the network 5 to 20% are wrong with both "
    "metrics, far fewer than with one; with three streams less than 5%, against 20 to 30% with one. Fewer than 2% are incompatible: congestion "
    "that is not seen.",
    scenario={**BASE, "radio": {"loss": 0.01}, "flow": [{"from": 0, "to": 1, "transport": tcp("adtcp")}]},
    axes=[Axis("streams", {"none": {}, "three": beside_streams(), WIDE: beside_streams(bins=4)}), SPEEDS],
    other_readings=(WIDE,),
    metrics=ACCURACY,
    quick=Effort(6, keep={"speed": [0, 5, 20]}),
    full=Effort(25, looks=6, seconds=1000.0),
    published=PRINTED,
    claims=[
        Claim("at most 20% are wrong, alone", "joint", {"streams": "none"}, at_most=20.0, each={"speed": [0, 5, 20]}),
        Claim(
            "at most 5% are wrong, with three streams",
            "joint",
            {"streams": "three"},
            at_most=5.0,
            each={"speed": [0, 5, 20]},
            reason=left_open(findings.more_route_changes, f"adtcp-accuracy: {WIDE}", "adtcp-accuracy: three"),
        ),
        Claim("fewer than 2% are incompatible", "incompatible", {}, at_most=2.0, each={"streams": ["none", "three"], "speed": [0, 5, 20]}),
        Claim(
            "both metrics are wrong less often than IDD alone",
            "joint",
            {},
            {},
            than="idd",
            at_most=1.0,
            each={"streams": ["none", "three"], "speed": [5, 20]},
        ),
        Claim(
            "both metrics are wrong less often than STT alone",
            "joint",
            {},
            {},
            than="stt",
            at_most=1.0,
            each={"streams": ["none", "three"], "speed": [5, 20]},
        ),
    ],
    unstated=(
        *UNSTATED,
        Unstated("the range R of the samples", "follows the bulk of the samples; also bins of twice the width", "section 3.2 has [0, R]"),
    ),
    plots=(Plot("line", "joint", x="speed", by="streams", caption="Wrong identifications with both metrics."),),
)
SETTINGS = Axis("case", {"mobility": {}, "5% error": ERROR, "5% error, streams": {**ERROR, "flow": WITH_STREAMS}}, "")
MOVING = {"speed": [5, 20]}


def gains(study: Study) -> None:
    """The least and the greatest gain over NewReno among moving nodes beside the paper's."""
    cells = [cell for cell in study.select({"transport": "adtcp"}) if cell[1] in MOVING["speed"]]
    found = {cell[:2]: change(study, "goodput", cell, (*cell[:2], "newreno")) for cell in cells}
    rows = [[case, speed, f"{gained:+.0%}"] for (case, speed), gained in found.items()]
    study.table(frame(["case", "mean speed, m/s", "ADTCP against NewReno"], rows), "Gains, of the means")
    study.compared.append(("the least gain of ADTCP over NewReno", LEAST_GAIN, min(found.values())))
    study.compared.append(("the greatest gain of ADTCP over NewReno", GREATEST_GAIN, max(found.values())))


LEAST_GAIN, GREATEST_GAIN = 1.0, 8.0  # section 5.1: "from 100% to 800%"
THROUGHPUT = Experiment(
    id="adtcp-throughput",
    paper=PAPER,
    place="Figure 5, section 5.1",
    title="NewReno, ADTCP and ELFN among moving nodes",
    found="ADTCP delivers 100 to 800% more than NewReno among moving nodes and comes close to ELFN, which asks the network; channel error widens "
    "the gap, streams narrow it.",
    scenario=BASE,
    axes=[SETTINGS, SPEEDS, KINDS],
    metrics=(ALONE,),
    quick=Effort(6, keep={"speed": [0, 5, 20]}),
    full=Effort(25),
    claims=[
        versus(
            "ADTCP delivers 100% more than NewReno",
            "goodput",
            "adtcp",
            "newreno",
            at_least=gain(1.0),
            each={"case": ["mobility", "5% error", "5% error, streams"], **MOVING},
            reason=not_knowable(findings.little_to_gain),
        ),
        versus(
            "ADTCP comes within 30% of ELFN",
            "goodput",
            "adtcp",
            "elfn",
            at_least=0.7,
            each={"case": ["mobility", "5% error, streams"], **MOVING},
        ),
    ],
    unstated=UNSTATED,
    plots=(Plot("line", "goodput", x="speed", by="transport", panel="case", caption="Throughput over mean speed."),),
    more=gains,
)
# Section 5.2: the ends stand at the edges, so that all connections cross in the middle.
EDGES = [[x, y] for y in (250.0, 350.0, 450.0, 550.0) for x in (0.0, WIDTH)]
CROSSWISE = [{"from": 2 * i, "to": 7 - 2 * i, "transport": tcp("newreno")} for i in range(4)]


def edges(seed: int) -> Settings:
    """Eight nodes at the long edges; the others move at 5 m/s."""
    return standing(EDGES, 5.0, seed)


def standing(places: list[list[float]], speed: float, seed: int) -> Settings:
    """The first nodes stand at these places; the others follow random paths."""
    draw = random.Random(seed)
    paths = [path(draw, speed) for _ in range(NODES - len(places))]
    return {
        "topology": {"kind": "list", "positions": [*places, *[path[0][1:] for path in paths]]},
        "mobility": {"kind": "waypoints", "waypoints": [*[[] for _ in places], *paths]},
    }


def path(draw: random.Random, speed: float) -> list[list[float]]:
    """A random waypoint path without pauses: times and places."""
    times_and_places = [[0.0, draw.uniform(0, WIDTH), draw.uniform(0, HEIGHT)]]
    while times_and_places[-1][0] < BASE["duration"]:
        at, *here = times_and_places[-1]
        there = [draw.uniform(0, WIDTH), draw.uniform(0, HEIGHT)]
        times_and_places.append([at + math.dist(here, there) / speed, *there])
    return times_and_places


MIXES = {"4 NewReno": ["newreno"] * 4, "2 + 2": ["newreno"] * 2 + ["adtcp"] * 2, "4 ADTCP": ["adtcp"] * 4}
FRIENDLY = Experiment(
    id="adtcp-friendly",
    paper=PAPER,
    place="Figure 6, section 5.2",
    title="does ADTCP take from NewReno?",
    found="Four connections between nodes at the edges. Two NewReno get as much beside two ADTCP as beside two NewReno; four ADTCP deliver more than "
    "four NewReno.",
    scenario={**BASE, "radio": {"loss": 0.05}, "flow": CROSSWISE},
    drawn=edges,
    axes=[
        Axis("flows", {name: {f"flow.{i}.transport": tcp(kind) for i, kind in enumerate(kinds)} for name, kinds in MIXES.items()}, "flows")
    ],
    metrics=(
        GOODPUT,
        Metric("one", "flow 1, kb/s", "flows.0.goodput_kbps"),
        Metric("two", "flow 2, kb/s", "flows.1.goodput_kbps"),
        Metric("pair", "flows 1 and 2, kb/s", lambda one: sum(f["goodput_kbps"] for f in one["flows"][:2])),
        Metric("others", "flows 3 and 4, kb/s", lambda one: sum(f["goodput_kbps"] for f in one["flows"][2:])),
        FAIRNESS,
    ),
    quick=Effort(12),
    full=Effort(30),
    claims=[
        versus(
            "two NewReno get at least 90% beside two ADTCP of what they get beside two NewReno",
            "pair",
            "2 + 2",
            "4 NewReno",
            axis="flows",
            at_least=0.9,
        ),
        versus("NewReno flow 1 gets as much beside ADTCP: at least 90%", "one", "2 + 2", "4 NewReno", axis="flows", at_least=0.9),
        versus("NewReno flow 2 gets as much beside ADTCP: at least 90%", "two", "2 + 2", "4 NewReno", axis="flows", at_least=0.9),
        versus("four ADTCP deliver more than four NewReno", "goodput", "4 ADTCP", "4 NewReno", axis="flows"),
    ],
    unstated=(
        *UNSTATED,
        Unstated(
            "where the end points stand",
            "at the long edges, 100 m apart, crosswise",
            "so that each connection passes through the middle, as the text wants",
        ),
    ),
    plots=(Plot("bar", "goodput", x="flows", caption="Aggregate throughput."),),
)
METRICS = Experiment(
    id="adtcp-metrics",
    paper=PAPER,
    place="Figures 1 and 2, section 2",
    title="what the receiver measures against what happens",
    found="With a queue above half of its capacity IDD is clearly high and STT clearly low; with short queues both vary. Bursts of out-of-order "
    "packets come with changes of route, losses grow with channel error.",
    scenario={
        **BASE,
        "flow": [{"from": 0, "to": 1, "transport": tcp("adtcp")}, *STREAMS],
        "record": {"every": 0.5, "what": ["idd", "iad", "stt", "por", "plr", "queue", "hops"]},
    },
    axes=[
        Axis(
            "case",
            {
                "static, streams": {"mobility": {"kind": "static"}},
                "5 m/s, 5% error, streams": ERROR,
                "5 m/s": {"flow": [{"from": 0, "to": 1, "transport": tcp("adtcp")}]},
                **{
                    f"static, {e}% error": {
                        "mobility": {"kind": "static"},
                        "radio.loss": e / 100,
                        "flow": [{"from": 0, "to": 1, "transport": tcp("adtcp")}],
                    }
                    for e in (0, 2, 5, 10)
                },
            },
        )
    ],
    metrics=(
        ALONE,
        Metric("reordered", "segments out of order", "flows.0.out_of_order"),
        Metric("again", "segments retransmitted", "flows.0.segments_retransmitted"),
    ),
    quick=Effort(2),
    full=Effort(10),
    unstated=UNSTATED,
    more=receiver,
)
# The area is 800 m long, and a frame reaches 250 m: four hops or more.
SHORT_EDGES = [[WIDTH / 2, 0.0], [WIDTH / 2, HEIGHT]]


def far(speed: float) -> Experiment:
    """The TCP flow of Figure 5 between ends that stay as far apart as the area allows."""
    return Experiment(
        id=f"adtcp-far-{speed:.0f}",
        paper=PAPER,
        place="Figure 5, section 5.1",
        title=f"ends that stay far apart, other nodes at {speed:.0f} m/s",
        found="The paper does not say which nodes its TCP flow connects. Two nodes that move at random in its area are mostly one or two hops apart.",
        scenario=BASE,
        drawn=partial(standing, SHORT_EDGES, speed),
        axes=[SETTINGS, KINDS],
        metrics=(ALONE,),
        quick=Effort(4),
        full=Effort(25),
        unstated=(
            *UNSTATED,
            Unstated("which nodes the TCP flow connects", "two at the middle of the short edges", "the text says one TCP flow"),
        ),
    )


FAR = tuple(far(speed) for speed in (5.0, 20.0))
EXPERIMENTS = (METRICS, ACCURACY_RUNS, THROUGHPUT, *FAR, FRIENDLY, TESTBED, STATIC)
