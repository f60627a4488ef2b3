"""Average path-delay routing: one flow between two paths, and how the metric compares with the delay of packets."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

import polars as pl

from multihop import report, theme
from multihop.stats import interval
from multihop_papers.declare import Axis, Document, Effort, Metric, Plot, versus
from multihop_papers.measures import frame
from multihop_papers.study import Study, Values
from multihop_papers.traces import traced
from multihop_papers.validation.apdr_traces import CAUSES, Traced, read
from multihop_papers.validation.part import Page
from multihop_papers.verdicts import decide

START = 50.0
# Segments: 65535 bytes, the most that TCP without window scaling can have in flight; the queue has
# room for 50 packets. The report says neither.
WINDOW = 44
WINDOWS = (22, WINDOW, 64)
WEIGHTS = (0.2, 0.4, 0.6, 0.8)
TCP = {"kind": "newreno", "preset": "rfc"}
OLSR: dict[str, Any] = {"protocol": "olsr", "count_changes": True}
APDR = {f"APDR {weight}": {"protocol": "apdr", "weight": weight} for weight in WEIGHTS}
LOW, HIGH = "APDR 0.2", "APDR 0.8"
CHOICES: dict[str, dict[str, Any]] = {"OLSR": OLSR, **APDR, "APDR-PR": {"protocol": "apdr-pr"}}
HYSTERESIS, OWN_LOAD = "APDR 0.8, hysteresis 0.3, hold 10 s", "APDR 0.8, own load"
VARIANTS: dict[str, dict[str, Any]] = {
    HIGH: APDR[HIGH],
    HYSTERESIS: {**APDR[HIGH], "hysteresis": 0.3, "hold": 10.0},
    OWN_LOAD: {**APDR[HIGH], "own_load": True},
    "APDR 0.8, HELLOs first": {**APDR[HIGH], "hellos_wait": False},
    "ETX": {"protocol": "apdr", "metric": "etx"},
}
MAC = {"arp": "ns2", "flavour": "standard", "rts_threshold": "off"}
PAPER = "D. Triantafyllidou, K. Al Agha, Improve TCP Performance in Ad Hoc Networks, with Delay Routing and Path Reservation, 2009"
BASE: dict[str, Any] = {"warmup": START, "radio": {"rate": "11M"}, "mac": MAC}
DIAMOND: dict[str, Any] = {
    **BASE,
    "duration": 1800.0,
    "topology": {"kind": "diamond"},
    "flow": [{"transport": {**TCP, "window_max": WINDOW}, "start": START}],
    "record": {"every": 0.5, "what": ["cwnd"]},
}
# Traces are shorter than the full runs, since that of half an hour has millions of lines.
TRACED_SECONDS, DELAY_EVERY = 600.0, 2.0
MINUTE = (300.0, 360.0)
PAGE = Page("apdr", PAPER)
QUICK, FULL = Effort(3, {"duration": 600.0}), Effort(4)
SETTING = (
    f"The diamond of the report's Figure 2: 11 Mb/s, no RTS/CTS, no channel error, one NewReno connection from S to D from {START:.0f} "
    "s on. A run takes 1800 s (600 s with --quick). "
    "The report has one OPNET run with the TCP parameters of another paper. Here TCP has the simulator's "
    "`preset = rfc`."
)


def dropped(reason: str) -> Any:
    """How many packets were dropped for a reason."""

    def count(document: Document) -> float:
        return float(document["drops"].get(reason, 0))

    return count


METRICS = (
    Metric("goodput", "kb/s", "flows.0.goodput_kbps"),
    Metric("changes", "route changes", "routing.route_changes"),
    Metric("oscillations", "of these reversed within 10 s", "routing.oscillations"),
    Metric("unordered", "segments out of order", "flows.0.out_of_order"),
    Metric("reordered", "out of order, %", "flows.0.out_of_order", 100.0, "flows.0.segments_delivered"),
    Metric("again", "retransmitted", "flows.0.segments_retransmitted"),
    Metric("timeouts", "timeouts", "flows.0.timeouts"),
    Metric("rtt", "RTT, ms", "flows.0.rtt_ms.mean"),
    Metric("ttl", "TTL expired", dropped("ttl")),
    Metric("no-route", "no route", dropped("no-route")),
    Metric("retry-limit", "given up by the MAC", dropped("retry-limit")),
    Metric("queue-full", "queue full", dropped("queue-full")),
)


def explain(study: Study) -> None:
    """Read from traces why segments come out of order, and how long they take."""
    found = {
        (window, name): [trace(study, (window, name), seed) for seed in study.each_seed()]
        for window in (WINDOW, WINDOWS[-1])
        for name in CHOICES
        if name != "APDR-PR"
    }
    windows(study)
    causes(study, found)
    delays(study, {name: runs for (window, name), runs in found.items() if window == WINDOW})


def trace(study: Study, cell: Values, seed: int) -> Traced:
    """Fates of the segments of one run."""
    duration = study.result(cell, seed).data["sim_seconds"]
    with traced(study, cell, seed, min(TRACED_SECONDS, duration)) as path:
        return read(path)


def windows(study: Study) -> None:
    """Draw the congestion window over time."""
    spans = [("Figure 6a", (START, study.result((WINDOW, "OLSR")).data["sim_seconds"])), ("Figure 6b, one minute", MINUTE)]
    for what, span in spans:
        figure, axes = report.new_figure("time, s", "congestion window, segments")
        means: dict[str, float] = {}
        for name, look in zip(("OLSR", "APDR-PR", HIGH), theme.OTHERS, strict=False):
            series = study.result((WINDOW, name)).series.filter(series="cwnd")
            axes.plot(series["time"], series["value"], color=look.colour, linewidth=0.8, label=name)
            shown = series.filter(pl.col("time").is_between(*span))
            time, value = shown["time"].to_list(), shown["value"].to_list()
            areas = (0.5 * (a + b) * (end - start) for start, end, a, b in zip(time, time[1:], value, value[1:], strict=False))
            if len(time) > 1:
                means[name] = sum(areas) / (time[-1] - time[0])
        axes.set_xlim(span)
        axes.set_ylim(bottom=0)
        figure.legend(loc="outside lower center", ncols=3, fontsize=8)
        finding = "No window changes in this time."
        if means:
            low, high = min(means, key=lambda name: means[name]), max(means, key=lambda name: means[name])
            finding = f"The mean window ranges from {means[low]:.1f} segments ({low}) to {means[high]:.1f} segments ({high})."
        study.figure(figure, f"The congestion window, seed 1 ({what}).", finding)


def causes(study: Study, found: dict[tuple[int, str], list[Traced]]) -> None:
    """Why segments come out of order."""
    rows = [[name, window, *(interval(run.causes[cause] for run in runs) for cause in CAUSES)] for (window, name), runs in found.items()]
    study.table(
        frame(["routing", "window", *CAUSES], rows),
        f"Why segments come out of order, from packet traces of {TRACED_SECONDS:.0f} s. The table counts arrivals above the expected "
        "number, by the fate of the first copy of the expected segment. Overtaken: this copy arrived later, because the counted segment "
        "went through the other relay of S, or through the same relay and then along another path. Other columns: this copy was lost; "
        "all later arrivals count until the segment has been retransmitted",
    )
    study.text(
        f"With a window of {WINDOWS[-1]} segments, the queue of 50 packets overflows, and after each loss later segments arrive out of "
        "order. OLSR's reordering therefore comes from its own losses; oscillating routes reduce the window and thus these losses. In the report's Table "
        "1, reordering rises with the weight from 551 to 29081 segments, and the MAC drops no data. With a window that fits the queue, "
        "reordering rises here too, but less. The next table shows how often S changes its relay, and how many segments a change "
        "reorders."
    )


def spread(one: Traced) -> float:
    """Standard deviation of the mean delays of short intervals, ms."""
    return 1e3 * pstdev(one.delays(DELAY_EVERY).values())


def delays(study: Study, found: dict[str, list[Traced]]) -> None:
    """How long segments take, over time, and where the route changes."""
    jitter = interval(spread(a) - spread(b) for a, b in zip(found[HIGH], found[LOW], strict=True))
    text = "Delay varies more with the weight (Figure 4): standard deviation, 0.8 above 0.2"
    word = decide(jitter)
    study.verdict(text, {"held": True, "not held": False}.get(word), f"by {jitter} ms")
    rows = []
    for name, runs in found.items():
        means = interval(1e3 * fmean(run.delays(DELAY_EVERY).values()) for run in runs)
        changes = interval(len(run.turns) for run in runs)
        overtaken = interval(run.overtaken / max(len(run.turns), 1) for run in runs)
        rows.append([name, means, interval(map(spread, runs)), changes, overtaken])
    columns = ["routing", "mean delay, ms", f"standard deviation of the means of {DELAY_EVERY:.0f} s, ms"]
    columns += ["changes of S's first relay", "overtaken segments per change"]
    study.table(frame(columns, rows), "Delay over time")
    figure, axes = report.new_figure("time, s", f"mean delay of segments in {DELAY_EVERY:.0f} s, ms")
    for name, look, marked in ((LOW, theme.OTHERS[6], theme.ORANGE), ("APDR 0.6", theme.OTHERS[0], theme.VERMILION)):
        run = found[name][0]
        seen = {at: 1e3 * delay for at, delay in run.delays(DELAY_EVERY).items()}
        axes.plot(list(seen), list(seen.values()), color=look.colour, linewidth=1, label=name)
        turns = sorted({turn // DELAY_EVERY * DELAY_EVERY for turn in run.turns} & seen.keys())
        heights = [seen[turn] for turn in turns]
        axes.plot(turns, heights, look.marker, color=marked, markersize=4, label=f"{name}, S's relay changes")
    axes.set_xlim(100.0, 300.0)
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=8)
    low, high = (interval(map(spread, found[name])) for name in (LOW, "APDR 0.6"))
    study.figure(
        figure,
        "Delay of segments, and where the route changes, seed 1 (Figures 3, 4).",
        f"The standard deviation of the delay is {low} ms with {LOW}, and {high} ms with APDR 0.6.",
    )
    study.text(
        "The highest peaks are loops. The information of S about the other path is as old as the last TC. While S and its relay each "
        "consider the other's path cheaper, packets go back and forth between them, and those whose TTL does not expire arrive seconds late."
    )


AT = {"window": WINDOW}
SWING = PAGE.experiment(
    "apdr-diamond",
    "one flow and two paths",
    "Measures whether a route chosen by delay oscillates between two paths, whether oscillation grows with the weight of the latest delay, "
    f"and whether it reduces TCP's throughput, as in section 5. {SETTING} There are at most {WINDOW} segments of 1460 bytes in flight "
    "(65535 bytes: no window scaling); other windows follow below. A segment is out of order if its number is higher than the expected "
    "one. The TTL of packets expires in loops, which arise because nodes know different costs: the costs of distant links are up to 5 s "
    "old. Oscillation loses packets for several reasons: packets loop or meet full queues. Frames of the two paths collide until the "
    "MAC's retry limit is reached. A link is considered lost after a full queue has dropped three consecutive HELLOs. Routes are "
    "therefore missing although no node moves, as in the report (section 7). The two paths share the channel, so the throughput of both "
    "together is not higher than that of one; the only gain is a shorter round-trip time.",
    QUICK,
    full=FULL,
    scenario=DIAMOND,
    axes=[
        Axis("window", {n: {"flow.0.transport.window_max": n} for n in WINDOWS}, "segments"),
        Axis("routing", {name: {"routing": routing} for name, routing in CHOICES.items()}, "routing"),
    ],
    metrics=METRICS,
    claims=[
        versus("APDR oscillates and OLSR does not: APDR 0.2 changes routes more often", "changes", LOW, "OLSR", axis="routing", at=AT),
        versus("A greater weight changes routes more often (Figure 3): 0.8 above 0.2", "changes", HIGH, LOW, axis="routing", at=AT),
        versus("OLSR delivers more than APDR 0.2", "goodput", "OLSR", LOW, axis="routing", at=AT),
        versus("Throughput falls with the weight (Figure 5): 0.2 above 0.8", "goodput", LOW, HIGH, axis="routing", at=AT),
        versus("APDR 0.2 reorders more segments than OLSR", "unordered", LOW, "OLSR", axis="routing", at=AT),
        versus("Reordering rises with the weight (Table 1): 0.8 above 0.2", "unordered", HIGH, LOW, axis="routing", at=AT),
        versus("Round trips are shorter under APDR 0.8 than under OLSR", "rtt", HIGH, "OLSR", axis="routing", at=AT, at_most=1.0),
        versus("A reserved path delivers more than APDR 0.8", "goodput", "APDR-PR", HIGH, axis="routing", at=AT),
        *(
            versus(f"{text}, with a window of {window} segments", metric, of, against, axis="routing", at={"window": window})
            for window in (WINDOWS[0], WINDOWS[-1])
            for text, metric, of, against in (
                ("Reordering rises with the weight", "unordered", HIGH, LOW),
                ("Throughput falls with the weight", "goodput", LOW, HIGH),
            )
        ),
    ],
    plots=tuple(
        Plot("line", metric, x="routing", by="window", caption=caption)
        for metric, caption in (
            ("changes", "Route changes over the weight."),
            ("goodput", "Throughput over the weight (Figure 5)."),
            ("unordered", "Reordering over the weight (Table 1)."),
        )
    ),
    more=explain,
)
KEPT = PAGE.experiment(
    "apdr-variants",
    "one flow and two paths, with remedies",
    "Paths that are kept hop by hop (hysteresis, own load) are kept only while that cannot cause a loop (docs/models/apdr.md). With "
    "hysteresis, routes change less often, but just as many packets are lost: nodes still know different costs, which is the cause of "
    "the losses. A reserved path does not have this problem, because the packets carry it: it never changes, loses nothing, and delivers "
    f"as much as OLSR (validation-apdr-diamond). {SETTING}",
    QUICK,
    full=FULL,
    scenario=DIAMOND,
    axes=[Axis("routing", {name: {"routing": routing} for name, routing in VARIANTS.items()})],
    metrics=METRICS,
    claims=[
        versus("Hysteresis reduces route changes", "changes", HYSTERESIS, HIGH, axis="routing", at_most=1.0),
        versus("APDR 0.8 delivers more with hysteresis than without", "goodput", HYSTERESIS, HIGH, axis="routing"),
        versus("A node changes routes less often if its own load does not count", "changes", OWN_LOAD, HIGH, axis="routing", at_most=1.0),
        versus("APDR 0.8 delivers more if a node's own load does not count", "goodput", OWN_LOAD, HIGH, axis="routing"),
    ],
)
LOADS = (1, 2, 4, 8, 16, 32)  # segments
FEW = 30  # HELLOs or packets; a mean of fewer is not shown


def scatter(study: Study) -> None:
    """Compare the mean delay of HELLOs with that of data packets, for each link, by a trace."""
    figure, axes = report.new_figure("mean delay of HELLOs, ms", "mean delay of data packets, ms")
    rows: list[list[Any]] = []
    for cell, look in zip(study.accepted(), theme.distinct(theme.OTHERS), strict=False):
        with traced(study, cell, 1) as path:
            hellos, data = link_delays(path)
        links = sorted(link for link in data if len(data[link]) >= FEW and len(hellos[link]) >= FEW)
        x, y = ([1e3 * fmean(delays[link]) for link in links] for delays in (hellos, data))
        axes.plot(x, y, look.marker, color=look.colour, markersize=4, label=cell[0])
        numbers = f"{fmean(x):.2f}", f"{fmean(y):.2f}", f"{sum(y) / sum(x):.2f}"
        rows.append([cell[0], len(links), *numbers, f"{correlation(x, y):.3f}", f"{correlation(ranks(x), ranks(y)):.3f}"])
    axes.legend(fontsize=8)
    axes.set_xscale("log")
    axes.set_yscale("log")
    columns = ["", "links", "HELLOs, ms", "data, ms", "data / HELLOs", "correlation", "rank correlation"]
    study.table(frame(columns, rows), "Delays of links, seed 1")
    times = [float(row[4]) for row in rows]
    study.figure(
        figure,
        "Delay of data packets against that of HELLOs, one point for each link.",
        f"Data packets take {min(times)} to {max(times)} times as long as HELLOs.",
    )


Delays = dict[tuple[int, int], list[float]]
"""Delays by link: from, to."""


def link_delays(trace: Path) -> tuple[Delays, Delays]:
    """Delays of HELLOs and of data packets."""
    hellos: Delays = defaultdict(list)
    data: Delays = defaultdict(list)
    left: dict[str, tuple[int, float]] = {}
    for line in trace.read_text(encoding="utf-8").splitlines()[1:]:
        what, at, node, _, kind, _, uid, *_ = line.split("\t")
        number = int(node)
        if kind not in ("hello", "tcp"):
            continue
        if what in ("r", "f") and uid in left:
            sender, since = left[uid]
            (data if kind == "tcp" else hellos)[sender, number].append(float(at) - since)
        if what in ("s", "f"):
            left[uid] = (number, float(at))
    return hellos, data


def ranks(values: Sequence[float]) -> list[float]:
    """The place of each in the order of all."""
    order = sorted(values)
    return [float(order.index(value)) for value in values]


def correlation(x: Sequence[float], y: Sequence[float]) -> float:
    """Correlation coefficient of Pearson."""
    if len(x) < 2:
        return math.nan
    a, b = fmean(x), fmean(y)
    both = math.fsum((u - a) * (v - b) for u, v in zip(x, y, strict=True))
    squares = math.fsum((u - a) ** 2 for u in x) * math.fsum((v - b) ** 2 for v in y)
    return both / math.sqrt(squares)


LINKS = PAGE.experiment(
    "apdr-links",
    "what the metric measures",
    "Does the metric measure the delay that data packets have? From the packet trace of a run of 300 s: six connections on "
    f"reserved paths among 30 stationary nodes, with windows of {LOADS[0]} to {LOADS[-1]} segments for different loads. For each link, the "
    "mean delay of HELLOs, which the metric averages, is compared with the mean delay of data packets from IP to the IP layer of the next "
    "node, retries included.",
    Effort(1),
    scenario={
        **BASE,
        "duration": 300.0,
        "topology": {"kind": "random", "nodes": 30, "area": [1000.0, 800.0]},
        "flow": [
            {"from": n, "to": n + 10, "transport": {**TCP, "window_max": window}, "start": START + n} for n, window in enumerate(LOADS)
        ],
    },
    axes=[
        Axis(
            "HELLOs",
            {
                "wait with data": {"routing": {"protocol": "apdr-pr"}},
                "go first": {"routing": {"protocol": "apdr-pr", "hellos_wait": False}},
            },
        )
    ],
    metrics=(Metric("goodput", "aggregate goodput, kb/s", "totals.goodput_kbps"),),
    more=scatter,
)
EXPERIMENTS = (SWING, KEPT, LINKS)
