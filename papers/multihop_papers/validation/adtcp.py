"""ADTCP: how well end points tell why packets are lost, and what that is worth, from a stationary start."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise, product
from pathlib import Path
from typing import Any

from multihop_papers.declare import Axis, Claim, Document, Effort, Metric, Plot, Settings, versus
from multihop_papers.measures import frame, ratio
from multihop_papers.papers.adtcp import AREA, STREAMS, TCP, UNSTATED, tcp
from multihop_papers.study import Study, Values
from multihop_papers.traces import traced
from multihop_papers.validation.part import Page

SECONDS = 300.0
TRACED = 3  # seeds
ACK = 84  # bytes of the largest packet without data: two IP headers, TCP with timestamps and a state
KINDS = ("newreno", "adtcp", "newreno+elfn", "elfn")
RULES = {"joint": "both metrics", "idd": "IDD alone", "stt": "STT alone", "acted": "when the sender acts"}
PAPER = (
    "Z. Fu, B. Greenstein, X. Meng, S. Lu, Design and Implementation of a TCP-Friendly Transport Protocol for Ad Hoc Wireless Networks, "
    "ICNP 2002"
)
SETTING = (
    "Thirty nodes move in 400 m x 800 m by random waypoint with a stationary start and no pauses. Their speeds are 0.9 v to 1.1 v, or they "
    "rest (speed 0) in connected places. DSR, 2 Mb/s, windows of at most 8 segments, the constants of ns-2 in 2002, 300 s. "
    "Three streams of 180 kb/s run in "
    "[50, 250], [100, 200] and [130, 170] s. The movements are the same for every transport. The paper has 50 runs for each point and does "
    "not say how long its histories are (here S = 100)."
)
PAGE = Page("adtcp", PAPER, SETTING)
TWELVE = Effort(12)
# A sender that gives up after its probes, unlike that of the paper.
ADTCP = {"kind": "adtcp", **TCP}
BASE: dict[str, Any] = {
    "duration": SECONDS,
    "topology": AREA,
    "routing": {"protocol": "dsr", "ip_extra": 20},
    "flow": [{"from": 0, "to": 1, "transport": ADTCP}],
}


def at_speed(speed: int) -> Settings:
    """Nodes that move, or stand in connected places."""
    if speed == 0:
        return {"mobility": {"kind": "static"}, "topology.connected": True}
    return {"mobility": {"kind": "random-waypoint", "speed": float(speed)}, "topology.connected": False}


def speeds(*values: int) -> Axis:
    """The axis of speeds."""
    return Axis("speed", {v: at_speed(v) for v in values}, "v, m/s")


def delivered(document: Document) -> float:
    """Goodput of the first flow over the whole run: a connection that gave up delivers nothing more, kb/s."""
    flow = document["flows"][0]
    return float(flow["goodput_kbps"]) * float(flow["stop"] - flow["start"]) / SECONDS


GOODPUT = Metric("goodput", "goodput over the whole run, kb/s", delivered)
TIMEOUTS = Metric("timeouts", "timeouts in 300 s", "flows.0.timeouts")
WRONG = [Metric(rule, f"wrong, {words}, % of losses", f"flows.0.identification.{rule}.wrong", 100.0) for rule, words in RULES.items()]
INCOMPATIBLE = [
    Metric(f"{rule}-incompatible", f"incompatible, {RULES[rule]}, % of losses", f"flows.0.identification.{rule}.incompatible", 100.0)
    for rule in ("joint", "acted")
]
ALONE, STREAMED = "alone", "with three streams"
ALL_SPEEDS = (0, 5, 10, 20)


def sentences() -> Iterator[Claim]:
    """The paper's sentences about each point of Figure 3."""
    for where, speed in product((ALONE, STREAMED), ALL_SPEEDS):
        at = {"streams": where, "speed": speed}
        name = f"{f'{speed} m/s' if speed else 'at rest'}, {where}"
        for rule in ("idd", "stt"):
            text = f"{name}: both metrics are wrong less often than {RULES[rule]}"
            yield Claim(text, "joint", at, at, than=rule, at_most=1.0, by_mean=True)
        limit = 20 if where == ALONE else 5
        yield Claim(f"{name}: at most {limit}% are wrong", "joint", at, at_most=limit, by_mean=True)
        text = f"{name}: fewer than 2% are incompatible"
        yield Claim(text, "joint-incompatible", at, at_most=2.0, by_mean=True)


def identification(study: Study, cell: Values) -> list[dict[str, Any]]:
    """Identification of losses in each run of a cell."""
    return [result.data["flows"][0]["identification"] for result in study.results(cell)]


def congestion(study: Study) -> None:
    """Say how much of the congestion is seen, which the shares of all losses hide."""
    lost: Counter[str] = Counter()
    states: Counter[str] = Counter()
    for cell in study.accepted():
        for one in identification(study, cell):
            lost.update(one["losses"])
            states.update(one["states"]["congestion"])
    parts = ", ".join(f"{n} {cause}" for cause, n in lost.most_common())
    seen = ", ".join(f"{n} {state}" for state, n in states.most_common())
    study.text(
        f"Of all {sum(lost.values())} losses: {parts}. States of the receiver when a queue overflowed: {seen}. The paper argues that both "
        "metrics nearly always show congestion. Here they rarely do, and few losses are incompatible only because full queues cause few of "
        "the losses. IDD is the change of a delay: while a queue stays full it is near zero, and the last S packets, which met the same "
        "queue, decide what is high. With S = 1000 the history reaches back to the time before, and IDD alone sees more. But STT, with one "
        "sample for each interval, then seldom has enough to compare with. When nothing arrives for an interval, the newest IDD is that of "
        "a packet before it."
    )


ACCURACY = PAGE.experiment(
    "adtcp-accuracy",
    "how often the state of the network is taken for another",
    "Can the two ends of a connection tell congestion from channel errors, changed routes and disconnections by what they measure "
    "themselves? At each loss of a data segment in flight the metrics of the receiver at that moment are compared with the true cause. "
    "This is congestion if a queue overflowed, no congestion otherwise (channel errors, retry limits on links that exist, changed routes, "
    "disconnections). Incompatible: a queue overflowed and the verdict is another. When the sender acts: the same losses, judged by the "
    "state that the sender knew at the fast retransmit or timeout that followed. The paper reports 5% to 20% wrong alone and below 5% with "
    "three streams for both metrics, 20% to 30% with streams for one, and below 2% incompatible. 1% channel error.",
    TWELVE,
    unstated=UNSTATED,
    scenario={**BASE, "radio": {"loss": 0.01}},
    axes=[Axis("streams", {ALONE: {}, STREAMED: {"flow": [*BASE["flow"], *STREAMS]}}), speeds(*ALL_SPEEDS)],
    metrics=(*WRONG, *INCOMPATIBLE),
    spread="speed",
    claims=tuple(sentences()),
    plots=tuple(Plot("line", metric.name, x="speed", by="streams", caption=f"{metric.label}, 1% channel error.") for metric in WRONG),
    more=congestion,
)


def overflows(study: Study) -> None:
    """Tabulate how many of the segments that overflowing queues dropped were known as congestion."""
    rows = []
    for cell in study.accepted():
        runs = identification(study, cell)
        lost = sum(one["losses"]["congestion"] for one in runs)
        missed = [sum(one[rule]["losses"] * (one[rule]["incompatible"] or 0.0) for one in runs) for rule in ("joint", "idd", "stt")]
        rows.append([f"{cell[0]:g} kb/s, S = {cell[1]}", lost, *(f"{100 * (1 - n / lost):.0f}%" if lost else "-" for n in missed)])
    columns = ["", "lost to full queues", *(f"seen by {RULES[rule]}" for rule in ("joint", "idd", "stt"))]
    study.table(frame(columns, rows), "Segments that overflowing queues dropped")


CROWDED = PAGE.experiment(
    "adtcp-crowded",
    "how much congestion is seen",
    "Nodes at rest, no channel error, and streams of 180 or 400 kb/s each.",
    TWELVE,
    unstated=UNSTATED,
    scenario={**BASE, "flow": [*BASE["flow"], *STREAMS], "mobility": {"kind": "static"}, "topology": {**AREA, "connected": True}},
    axes=[
        Axis("rate", {rate: {f"flow.{n}.rate_kbps": rate for n in (1, 2, 3)} for rate in (180.0, 400.0)}, "kb/s"),
        Axis("samples", {s: {"flow.0.transport.samples": s} for s in (30, 100, 1000)}, "S"),
    ],
    metrics=(Metric("lost", "segments lost to full queues", "flows.0.identification.losses.congestion"),),
    more=overflows,
)
CASES: dict[str, Settings] = {
    "moving": {},
    "and 5% error": {"radio.loss": 0.05},
    "and three streams": {"radio.loss": 0.05, "flow": [*BASE["flow"], *STREAMS]},
}
TRANSPORTS = Axis("transport", {kind: {"flow.0.transport": tcp(kind)} for kind in KINDS})


def throughput(study: Study) -> None:
    """Show ratios, and what a source does with its time."""
    rows = []
    for case, speed in product(CASES, (5, 20)):
        found = (ratio(study, "goodput", (case, speed, "adtcp"), (case, speed, k)) for k in ("newreno", "newreno+elfn"))
        rows.append([f"{case}, {speed} m/s", *found])
    study.table(frame(["", "ADTCP / NewReno", "ADTCP / NewReno with ELFN"], rows), "Ratios, run by run")
    study.text(
        "The paper has ADTCP at 100% to 800% above NewReno and just below ELFN. Here it is above NewReno with channel error, and without it "
        "the two are within each other's intervals. In this area the ends are seldom apart for long, and NewReno is silent for less of the "
        "time than such gains would take. With channel error ADTCP is level with ELFN or ahead, for ELFN learns of broken links only, and "
        "backs off and halves its window for what a good link damages. ELFN as published is built on Reno, for which several losses in a "
        "window end in a timeout; on NewReno it loses less. A connection that gives up after 15 probes, 31 s, would deliver nothing more; "
        "here probe_max is off, so that all compete for 300 s."
    )
    rows = []
    for kind, case in product(KINDS, ("moving", "and 5% error")):
        seeds = study.each_seed(TRACED)
        times = [silence for seed in seeds for silence in silences(study, (case, 20, kind), seed)]
        share = 100 * sum(times) / (len(seeds) * SECONDS)
        rows.append([f"{kind}, {case}", f"{share:.0f}%", len(times), f"{max(times, default=0.0):.0f}"])
    columns = ["", "of the time in silences above 1 s", "how many", "longest, s"]
    study.table(frame(columns, rows), f"What a source does with its time at 20 m/s, by the traces of seeds 1 to {TRACED}")


def silences(study: Study, cell: Values, seed: int) -> list[float]:
    """Lengths of the times of more than a second in which the source sent no segment, s."""
    with traced(study, cell, seed) as trace:
        times = [0.0, *sent(trace), SECONDS]
    return [after - before for before, after in pairwise(times) if after - before > 1.0]


def sent(trace: Path) -> Iterator[float]:
    """When the first node sent segments with data."""
    with trace.open(encoding="ascii") as lines:
        for line in lines:
            if line.startswith("s"):
                _, time, node, _, packet, *_, size = line.split()
                if node == "0" and packet == "tcp" and int(size) > ACK:
                    yield float(time)


THROUGHPUT = PAGE.experiment(
    "adtcp-throughput",
    "NewReno, ADTCP and ELFN among moving nodes",
    "Does a sender that acts on what the ends measure deliver more?",
    TWELVE,
    unstated=UNSTATED,
    scenario=BASE,
    axes=[Axis("case", CASES), speeds(5, 20), TRANSPORTS],
    metrics=(GOODPUT, TIMEOUTS),
    spread="transport",
    claims=[
        versus(f"{case}, {speed} m/s: ADTCP delivers more than NewReno", "goodput", "adtcp", "newreno", at={"case": case, "speed": speed})
        for case, speed in product(CASES, (5, 20))
    ],
    plots=(Plot("bar", "goodput", x="case", by="transport", panel="speed", caption="Goodput of one connection, with 95% intervals."),),
    more=throughput,
)
ADDRESSES = PAGE.experiment(
    "adtcp-addresses",
    "what the ARP of ns-2 costs",
    "At 20 m/s without channel error ADTCP is silent for longer than NewReno, for two reasons that the traces show. Probes arrive and are "
    "answered, but the ACKs, one every 2 s, are lost to ARP on stale reverse routes. As in ns-2 a node holds one packet for a neighbour "
    "that does not answer, each new one takes its place. Only after several does DSR learn that the link is gone (in seed 1, from 271 s "
    "to 298 s, 16 packets are lost in this way). A timeout while the state is CONG follows NewReno's rule. The timer backs off, for 8, 16, 32 and "
    "64 s in seed 3, since nothing arrives that could change the state. With known addresses all transports are alike within their intervals, and moving leaves little to gain. ",
    TWELVE,
    unstated=UNSTATED,
    scenario={**BASE, "mobility": {"kind": "random-waypoint", "speed": 20.0}, "topology": {**AREA, "connected": False}},
    axes=[TRANSPORTS, Axis("addresses", {"ARP of ns-2": {}, "known": {"mac.arp": "oracle"}})],
    metrics=(GOODPUT,),
    spread="addresses",
)
CHANGES: dict[str, dict[str, Any]] = {
    "as it is": {},
    "identify = idd": {"identify": "idd"},
    "identify = stt": {"identify": "stt"},
    "samples = 30": {"samples": 30},
    "samples = 1000": {"samples": 1000},
    "bins = 4": {"bins": 4},
    "bins = 16": {"bins": 16},
    "high = low = 0.2": {"high": 0.2, "low": 0.2},
    "high = low = 0.4": {"high": 0.4, "low": 0.4},
    "timestamps = 0.001 (1 ms)": {"timestamps": 0.001},
    "timestamps = 0.01 (10 ms)": {"timestamps": 0.01},
    "probe_interval = 0.5": {"probe_interval": 0.5},
    "probe_interval = 8": {"probe_interval": 8.0},
    "probe_max = off": {"probe_max": "off"},
    "probe_max = 3": {"probe_max": 3},
    "adtcp+da": {"kind": "adtcp+da"},
}


def changes(study: Study) -> None:
    """Show the change of goodput, run by run."""
    rows = []
    for name in list(CHANGES)[1:]:
        found = ratio(study, "goodput", (name,), ("as it is",))
        rows.append([name, f"{100 * (found.mean - 1):+.0f}% ± {100 * found.half:.0f}%"])
    study.table(frame(["setting", "change of goodput"], rows), "Changes, run by run")


SETTINGS = PAGE.experiment(
    "adtcp-settings",
    "what each setting changes",
    "At 20 m/s with 5% channel error, alone; goodput over the whole run. As it is, probe_max is 15, and some connections end before the run "
    "does.",
    TWELVE,
    unstated=UNSTATED,
    scenario={
        **BASE,
        "radio": {"loss": 0.05},
        "mobility": {"kind": "random-waypoint", "speed": 20.0},
        "topology": {**AREA, "connected": False},
    },
    axes=[Axis("setting", {name: {"flow.0.transport": {**ADTCP, **keys}} for name, keys in CHANGES.items()})],
    metrics=(GOODPUT, WRONG[0], WRONG[3]),
    more=changes,
)
EXPERIMENTS = (ACCURACY, CROWDED, THROUGHPUT, ADDRESSES, SETTINGS)
