"""ADTCP: how well end points tell why packets are lost, and what that is worth.

Z. Fu, B. Greenstein, X. Meng, S. Lu, Design and Implementation of a TCP-Friendly Transport Protocol
for Ad Hoc Wireless Networks, ICNP 2002.
"""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import multihop
from multihop import Result, report
from multihop.stats import Interval, interval
from study import Study

SEEDS = range(1, 13)
TRACED = range(1, 4)  # seeds
SECONDS = 300.0
START = 0.0
ACK = 84  # bytes of the largest packet without data: two IP headers, TCP with timestamps and a state
WIDTH, HEIGHT = 400.0, 800.0  # m
NODES = 30
SPEEDS = (0, 5, 10, 20)  # m/s
MOVING = (5, 20)
PERIODS = ((50.0, 250.0), (100.0, 200.0), (130.0, 170.0))
TCP = {"preset": "ns2-2002", "window_max": 8}
LABELS = {
    "newreno": "NewReno",
    "adtcp": "ADTCP",
    "newreno+elfn": "NewReno with ELFN",
    "elfn": "ELFN (Reno)",
}
KINDS = tuple(LABELS)
RULES = {"joint": "IDD and STT", "idd": "IDD alone", "stt": "STT alone", "acted": "when the sender acts"}
CASES = {"moving": (0.0, False), "and 5% error": (0.05, False), "and three streams": (0.05, True)}

FIRST = slice(0, 1)
ALL = slice(None)

Runs = dict[Any, list[Result]]


def study() -> Study:
    """Run everything."""
    page = Study("ADTCP", QUESTION, SETTING)
    accuracy = run(
        {key: scenario(tcp("adtcp"), key[1], 0.01, key[0]) for key in product((False, True), SPEEDS)}
    )
    judge_accuracy(page, accuracy)
    throughput = run(
        {
            (case, speed, kind): scenario(patient(kind), speed, *CASES[case])
            for case, speed, kind in product(CASES, MOVING, KINDS)
        }
    )
    judge_throughput(page, throughput)
    traced = product(KINDS, (20,), (0.0, 0.05))
    tabulate_silences(page, {key: silences(*key) for key in traced})
    tabulate_addresses(page, throughput, run({kind: known_addresses(kind) for kind in KINDS}))
    judge_friendliness(page, run({name: edges(kinds) for name, kinds in MIXES.items()}))
    tabulate_settings(page, run({name: setting(keys) for name, keys in CHANGES.items()}))
    return page


def tcp(kind: str) -> dict[str, Any]:
    """A transport of the paper."""
    return {"kind": kind, **TCP}


def patient(kind: str) -> dict[str, Any]:
    """The same; ADTCP never gives up either, so that all may send for as long."""
    return {**tcp(kind), **({"probe_max": "off"} if kind == "adtcp" else {})}


def scenario(transport: dict[str, Any], speed: float, loss: float, streams: bool) -> dict[str, Any]:
    """One TCP among nodes that move at a speed, or stand."""
    flows: list[dict[str, Any]] = [{"from": 0, "to": 1, "transport": transport}]
    for i, (start, stop) in enumerate(PERIODS if streams else ()):
        ends = {"from": 2 + 2 * i, "to": 3 + 2 * i, "start": start, "stop": stop}
        flows.append({"app": "cbr", "rate_kbps": 180.0, "size": 512, **ends})
    moving = {"kind": "random-waypoint", "speed": float(speed)}
    return {
        "name": f"adtcp-{transport['kind']}-{speed:g}",
        "duration": SECONDS,
        "radio": {"loss": loss},
        "topology": {"kind": "random", "nodes": NODES, "area": [WIDTH, HEIGHT], "connected": speed == 0},
        "mobility": moving if speed else {"kind": "static"},
        "routing": {"protocol": "dsr", "ip_extra": 20},
        "flow": flows,
    }


def run(scenarios: Mapping[Any, Any]) -> Runs:
    """Each scenario, or what a function makes of a seed, over the seeds."""
    runs = [
        {**(scenario(seed) if callable(scenario) else scenario), "seed": seed}
        for scenario in scenarios.values()
        for seed in SEEDS
    ]
    results = multihop.run_all(runs)
    chunks = (results[i : i + len(SEEDS)] for i in range(0, len(results), len(SEEDS)))
    return dict(zip(scenarios, chunks, strict=True))


def identification(result: Result) -> dict[str, Any]:
    """Of the first flow."""
    found: dict[str, Any] = result.data["flows"][0]["identification"]
    return found


def share(results: Sequence[Result], rule: str, what: str) -> Interval:
    """Percentage of the losses judged so, over the runs in which something was lost."""
    shares = [identification(result)[rule][what] for result in results]
    return interval(100 * share for share in shares if share is not None)


def delivered(result: Result, flows: slice = FIRST) -> float:
    """Goodput in kb/s over the whole run, for which a connection that gave up delivers nothing."""
    kilobits = (f["goodput_kbps"] * (f["stop"] - f["start"]) for f in result.data["flows"][flows])
    return float(sum(kilobits)) / SECONDS


def goodput(results: Sequence[Result], flows: slice = FIRST) -> Interval:
    """Of the first flow, or of others."""
    return interval(delivered(result, flows) for result in results)


def ratio(ours: Sequence[Result], theirs: Sequence[Result], flows: slice = FIRST) -> Interval:
    """Of their goodputs, run by run."""
    return interval(delivered(a, flows) / delivered(b, flows) for a, b in zip(ours, theirs, strict=True))


def judge_accuracy(page: Study, found: Runs) -> None:
    """Section 3.3 and Figure 3."""
    page.text("### Identification")
    page.text(ACCURACY_TEXT)
    for streams in (False, True):
        where = "with three streams" if streams else "alone"
        figure, axes = report.new_figure("v, m/s", "taken for the wrong state, % of losses")
        for rule in RULES:
            points = [share(found[streams, speed], rule, "wrong") for speed in SPEEDS]
            means, halves = [p.mean for p in points], [p.half for p in points]
            axes.errorbar(SPEEDS, means, yerr=halves, marker="o", capsize=3, label=RULES[rule])
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=8)
        name = "adtcp-accuracy-streams" if streams else "adtcp-accuracy"
        page.figure(name, figure, f"Congestion or not: losses judged wrongly, {where}, 1% channel error")
        rows = []
        for rule in RULES:
            shares = [str(share(found[streams, speed], rule, "wrong")) for speed in SPEEDS]
            rows.append([f"wrong, {RULES[rule]}", *shares])
        for rule in ("joint", "acted"):
            shares = [str(share(found[streams, speed], rule, "incompatible")) for speed in SPEEDS]
            rows.append([f"incompatible, {RULES[rule]}", *shares])
        page.table([f"% of losses, {where}", *[label(speed) for speed in SPEEDS]], rows)
        for speed in SPEEDS:
            judge_speed(page, found[streams, speed], where, speed, 5 if streams else 20)
    explain_congestion(page, found)
    cases = {key: crowded(*key) for key in product((180.0, 400.0), (30, 100, 1000))}
    tabulate_congestion(page, run(cases))


def judge_speed(page: Study, results: Sequence[Result], where: str, speed: float, limit: float) -> None:
    """The paper's sentences about one point of Figure 3."""
    at = f"{label(speed)}, {where}"
    joint = share(results, "joint", "wrong")
    for rule in ("idd", "stt"):
        alone = share(results, rule, "wrong")
        page.verdict(
            f"{at}: both metrics are wrong less often than {RULES[rule]} ({joint}% against {alone}%)",
            joint.mean < alone.mean,
        )
    page.verdict(f"{at}: at most {limit}% are wrong (found {joint}%)", joint.mean <= limit)
    missed = share(results, "joint", "incompatible")
    page.verdict(
        f"{label(speed)}, {where}: fewer than 2% are incompatible (found {missed}%)", missed.mean < 2
    )


def explain_congestion(page: Study, found: Runs) -> None:
    """How much of the congestion is seen, which the shares of all losses hide."""
    lost: Counter[str] = Counter()
    states: Counter[str] = Counter()
    for results in found.values():
        for result in results:
            lost.update(identification(result)["losses"])
            states.update(identification(result)["states"]["congestion"])
    total = sum(lost.values())
    parts = ", ".join(f"{n} {cause}" for cause, n in lost.most_common())
    seen = ", ".join(f"{n} {state}" for state, n in states.most_common())
    page.text(
        f"Of all {total} losses: {parts}. States of the receiver when a queue overflowed: {seen}. "
        + CONGESTION_TEXT
    )


def crowded(kbps: float, samples: int) -> dict[str, Any]:
    """Nodes at rest, a good channel, and streams of any rate."""
    changed = scenario(tcp("adtcp"), 0, 0.0, True)
    changed["flow"][0]["transport"]["samples"] = samples
    for stream in changed["flow"][1:]:
        stream["rate_kbps"] = kbps
    return changed


def tabulate_congestion(page: Study, found: Runs) -> None:
    """Of the segments that overflowing queues dropped: how many were known as congestion."""
    rules = ("joint", "idd", "stt")
    rows = []
    for (kbps, samples), results in found.items():
        whole = [identification(result) for result in results]
        lost = sum(one["losses"]["congestion"] for one in whole)

        def seen(rule: str, whole: list[dict[str, Any]] = whole, lost: int = lost) -> str:
            missed = sum(one[rule]["losses"] * (one[rule]["incompatible"] or 0.0) for one in whole)
            return f"{100 * (1 - missed / lost):.0f}%"

        rows.append([f"{kbps:g} kb/s, S = {samples}", str(lost), *[seen(rule) for rule in rules]])
    page.text("The same, with nodes at rest, no channel error, and streams of 180 or 400 kb/s each:")
    page.table(["", "lost to full queues", *[f"seen by {RULES[rule]}" for rule in rules]], rows)


def judge_throughput(page: Study, found: Runs) -> None:
    """Figure 5."""
    page.text("### Throughput")
    figure, axes = report.new_figure("case", "goodput, kb/s")
    places = [f"{case}\n{speed} m/s" for case, speed in product(CASES, MOVING)]
    for i, kind in enumerate(KINDS):
        points = [goodput(found[case, speed, kind]) for case, speed in product(CASES, MOVING)]
        at = [x + 0.21 * (i - 1.5) for x in range(len(places))]
        means, halves = [p.mean for p in points], [p.half for p in points]
        axes.bar(at, means, 0.2, yerr=halves, capsize=2, label=LABELS[kind])
    axes.set_xticks(range(len(places)), places, fontsize=7)
    axes.legend(fontsize=8)
    page.figure("adtcp-throughput", figure, "Goodput of one connection, with 95% intervals")
    rows = []
    for case, speed in product(CASES, MOVING):
        of = {kind: found[case, speed, kind] for kind in KINDS}
        over, under = ratio(of["adtcp"], of["newreno"]), ratio(of["adtcp"], of["newreno+elfn"])
        rows.append(
            [f"{case}, {speed} m/s", *[str(goodput(of[kind])) for kind in KINDS], str(over), str(under)]
        )
        claim = f"{case}, {speed} m/s: ADTCP delivers more than NewReno (by a factor of {over})"
        page.verdict(claim, over.low > 1)
    page.table(["kb/s", *LABELS.values(), "ADTCP / NewReno", "ADTCP / NewReno with ELFN"], rows)
    rows = []
    for case, speed, kind in product(CASES, MOVING, KINDS):
        flows = [result.data["flows"][0] for result in found[case, speed, kind]]
        timeouts = interval(float(flow["timeouts"]) for flow in flows)
        rows.append([f"{case}, {speed} m/s, {LABELS[kind]}", str(timeouts)])
    page.table(["", "timeouts in 300 s"], rows)
    page.text(THROUGHPUT_TEXT)


def silences(kind: str, speed: int, loss: float) -> list[float]:
    """Lengths of the times of more than a second in which the source sent no segment, s, by traces."""
    found: list[float] = []
    with tempfile.TemporaryDirectory(prefix="multihop-") as scratch:
        for seed in TRACED:
            path = Path(scratch) / f"{seed}.txt"
            multihop.run(scenario(patient(kind), speed, loss, False), trace=path, seed=seed)
            times = [START, *sent(path), SECONDS]
            found += [after - before for before, after in pairwise(times) if after - before > 1.0]
    return found


def sent(trace: Path) -> Iterator[float]:
    """When the first node sent segments with data."""
    with trace.open(encoding="ascii") as lines:
        for line in lines:
            if line.startswith("s"):
                _, time, node, _, packet, *_, size = line.split()
                if node == "0" and packet == "tcp" and int(size) > ACK:
                    yield float(time)


def tabulate_silences(page: Study, found: Mapping[Any, list[float]]) -> None:
    """Where goodput goes."""
    rows = []
    for (kind, speed, loss), times in found.items():
        share = 100 * sum(times) / (len(TRACED) * SECONDS)
        longest = f"{max(times, default=0.0):.0f}"
        rows.append(
            [f"{LABELS[kind]}, {speed} m/s, {loss:.0%} error", f"{share:.0f}%", str(len(times)), longest]
        )
    page.text(SILENCE_TEXT)
    page.table(["", "of the time in silences above 1 s", "how many", "longest, s"], rows)


def known_addresses(kind: str) -> dict[str, Any]:
    """At 20 m/s without channel error; no packet waits for the address of a neighbour."""
    return {**scenario(patient(kind), 20, 0.0, False), "mac": {"arp": "oracle"}}


def tabulate_addresses(page: Study, found: Runs, known: Runs) -> None:
    """What the ARP of ns-2 costs whom."""
    page.text(ADDRESS_TEXT)
    rows = [
        [LABELS[kind], str(goodput(found["moving", 20, kind])), str(goodput(known[kind]))] for kind in KINDS
    ]
    page.table(["kb/s at 20 m/s", "ARP of ns-2", "addresses known"], rows)


MIXES = {"4 NewReno": ["newreno"] * 4, "2 + 2": ["newreno"] * 2 + ["adtcp"] * 2, "4 ADTCP": ["adtcp"] * 4}


def edges(kinds: Sequence[str]) -> Any:
    """Four connections between standing nodes at the long edges, 22 others at 5 m/s, 5% error."""
    places = [250.0, 350.0, 450.0, 550.0]
    ends = [(x, y) for y in places for x in (0.0, WIDTH)]

    def of(seed: int) -> dict[str, Any]:
        draw = random.Random(seed)
        walks = [walk(draw, 5.0) for _ in range(NODES - len(ends))]
        flows = []
        for i, kind in enumerate(kinds):
            # Crosswise, so that all pass through the middle.
            flows.append({"from": 2 * i, "to": 2 * (3 - i) + 1, "transport": patient(kind)})
        return {
            **scenario(tcp(kinds[0]), 5, 0.05, False),
            "topology": {"kind": "list", "positions": [*ends, *[path[0][1:] for path in walks]]},
            "mobility": {"kind": "waypoints", "waypoints": [*[[] for _ in ends], *walks]},
            "flow": flows,
        }

    return of


def walk(draw: random.Random, speed: float) -> list[list[float]]:
    """A random waypoint path without pauses: times and places."""
    x, y, at = draw.uniform(0, WIDTH), draw.uniform(0, HEIGHT), 0.0
    path = [[at, x, y]]
    while at < SECONDS:
        there = draw.uniform(0, WIDTH), draw.uniform(0, HEIGHT)
        at += ((there[0] - x) ** 2 + (there[1] - y) ** 2) ** 0.5 / speed
        x, y = there
        path.append([at, x, y])
    return path


def judge_friendliness(page: Study, found: Runs) -> None:
    """Figure 6."""
    page.text("### Friendliness")
    page.text(FRIENDLY_TEXT)

    columns = ["kb/s", "flows 1 and 2", "flows 3 and 4", "all four"]
    pairs = (slice(0, 2), slice(2, 4), ALL)
    rows = [[name, *[str(goodput(found[name], flows)) for flows in pairs]] for name in MIXES]
    page.table(columns, rows)
    beside = ratio(found["2 + 2"], found["4 NewReno"], pairs[0])
    page.verdict(
        f"Two NewReno get at least 90% beside two ADTCP of what they get beside two NewReno ({beside} of it)",
        beside.low >= 0.9,
    )
    more = ratio(found["4 ADTCP"], found["4 NewReno"], ALL)
    page.verdict(f"Four ADTCP deliver more than four NewReno (by a factor of {more})", more.low > 1)


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


def setting(keys: Mapping[str, Any]) -> dict[str, Any]:
    """One thing changed at 20 m/s with 5% error."""
    changed = scenario(tcp("adtcp"), 20, 0.05, False)
    changed["flow"][0]["transport"] |= keys
    return changed


def tabulate_settings(page: Study, found: Runs) -> None:
    """What each setting is worth."""
    page.text("### What each setting changes")
    page.text(
        "At 20 m/s with 5% channel error, alone; goodput over the whole run, changes run by run. As it is, "
        "probe_max is 15, and some connections end before the run does."
    )
    base = found["as it is"]
    rows = []
    for name, results in found.items():
        change = ratio(results, base)
        gain = f"{100 * (change.mean - 1):+.0f}% ± {100 * change.half:.0f}%" if results is not base else "-"
        wrong, acted = share(results, "joint", "wrong"), share(results, "acted", "wrong")
        rows.append([name, str(goodput(results)), gain, str(wrong), str(acted)])
    page.table(["", "kb/s", "change", "wrong, both metrics, %", "wrong when the sender acts, %"], rows)


def label(speed: float) -> str:
    """Of a column."""
    return f"{speed} m/s" if speed else "at rest"


QUESTION = (
    "Can the two ends of a connection tell congestion from channel errors, changed routes and "
    "disconnections by what they measure themselves, and does a sender that acts on it deliver more "
    "without taking from others? The claims are those of Z. Fu, B. Greenstein, X. Meng, S. Lu, Design "
    "and Implementation of a TCP-Friendly Transport Protocol for Ad Hoc Wireless Networks, ICNP 2002."
)
SETTING = (
    f"{NODES} nodes in {WIDTH:g} m x {HEIGHT:g} m, random waypoint with a stationary start and no "
    "pauses, speeds from 0.9 v to 1.1 v, or at rest in connected places; DSR, 2 Mb/s, windows of at "
    f"most 8 segments, the constants of ns-2 in 2002, {SECONDS:g} s; three streams of 180 kb/s run in "
    f"[50, 250], [100, 200] and [130, 170] s. Seeds {SEEDS[0]} to {SEEDS[-1]}, the same movements for "
    "every transport; 95% Student-t intervals over the seeds. The paper has 50 runs for each point and "
    "does not say which nodes its streams join, nor how long its histories are (here S = 100)."
)
ACCURACY_TEXT = (
    "At each loss of a data segment on its way the metrics of the receiver at that moment are compared "
    "with the true cause: congestion if a queue overflowed, no congestion otherwise (channel errors, "
    "retry limits on links that exist, changed routes, disconnections). *Incompatible*: a queue "
    "overflowed and the verdict is another. *When the sender acts*: the same losses, judged by what "
    "the sender had been told at the fast retransmit or timeout that followed. The paper reports 5% to "
    "20% wrong alone and below 5% with three streams for both metrics, 20% to 30% with streams for "
    "one, and below 2% incompatible."
)
CONGESTION_TEXT = (
    "The paper argues that both metrics nearly always show congestion. Here they rarely do, and few "
    "losses are incompatible only because full queues cause few of the losses. IDD is the change of a "
    "delay: while a queue stays full it is near zero, and what is high is judged by the last S packets, "
    "which met the same queue. With S = 1000 the history reaches back to the time before, and IDD alone "
    "sees more; but STT, with one sample for each interval, then seldom has enough to compare with. When "
    "nothing arrives for an interval, the newest IDD is that of a packet before it."
)
THROUGHPUT_TEXT = (
    "The paper has ADTCP at 100% to 800% above NewReno and just below ELFN. Here it is above NewReno "
    "with channel error, and without it the two are within each other's intervals: in this area the ends "
    "are seldom apart for long, and NewReno is silent for less of the time than such gains would take "
    "(below). With channel error ADTCP is level with ELFN or ahead, for ELFN hears of broken links only, "
    "and backs off and halves its window for what a good link damages. ELFN as published is built on "
    "Reno, for which several losses in a window end in a timeout; on NewReno it loses less. A connection "
    "that gives up after 15 probes, 31 s, would deliver nothing more; here probe_max is off, so that all "
    "compete for 300 s."
)
SILENCE_TEXT = "What a source does with its time, by the traces of seeds 1 to 3:"
ADDRESS_TEXT = (
    "At 20 m/s without channel error ADTCP is silent for longer than NewReno, for two reasons that the "
    "traces show. Probes arrive and are answered, but the ACKs, one every 2 s, are lost to ARP on stale "
    "ways back: as in ns-2 a node holds one packet for a neighbour that does not answer, each new one "
    "takes its place, and only after several does DSR hear that the link is gone (in seed 1, from 271 s "
    "to 298 s, 16 packets are lost so). And a timeout after the state was CONG is NewReno's: it backs off "
    "like it, for 8, 16, 32 and 64 s in seed 3, since nothing arrives that could change the state. With "
    "known addresses all are alike within "
    "their intervals, and moving leaves little to gain:"
)
FRIENDLY_TEXT = (
    "Four connections between eight nodes that stand at the long edges, crosswise, so that all pass "
    "through the middle; 22 nodes move at 5 m/s; 5% channel error."
)
