"""Average path-delay routing: one flow between two ways, and what the metric says of delays."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from statistics import fmean, pstdev
from typing import Any

from apdr_metric import scatter
from apdr_traces import CAUSES, Traced, traced
from multihop import Result, report
from multihop.report import BLUE, GREEN, ORANGE, SKY, VERMILION
from multihop.stats import Interval, interval
from study import Study, kept

# A short version; MULTIHOP_FULL=1 is the report's half hour.
FULL = os.environ.get("MULTIHOP_FULL") == "1"
SECONDS = 1800.0 if FULL else 600.0
START = 50.0
SEEDS = range(1, 5 if FULL else 4)
WEIGHTS = (0.2, 0.4, 0.6, 0.8)
# Segments: 65535 bytes, the most that TCP without window scaling can have under way; the queue has
# room for 50 packets. The report says neither.
WINDOW = 44
OTHER_WINDOWS = (22, 64)
TCP = {"kind": "newreno", "preset": "rfc"}
OLSR: dict[str, Any] = {"protocol": "olsr", "count_changes": True}
APDR: dict[str, dict[str, Any]] = {
    f"APDR {weight}": {"protocol": "apdr", "weight": weight} for weight in WEIGHTS
}
CHOICES: dict[str, dict[str, Any]] = {"OLSR": OLSR, **APDR, "APDR-PR": {"protocol": "apdr-pr"}}
HYSTERESIS, OWN_LOAD = "APDR 0.8, hysteresis 0.3, hold 10 s", "APDR 0.8, own load"
VARIANTS: dict[str, dict[str, Any]] = {
    **CHOICES,
    HYSTERESIS: {**APDR["APDR 0.8"], "hysteresis": 0.3, "hold": 10.0},
    OWN_LOAD: {**APDR["APDR 0.8"], "own_load": True},
    "APDR 0.8, HELLOs first": {**APDR["APDR 0.8"], "hellos_wait": False},
    "ETX": {"protocol": "apdr", "metric": "etx"},
}
MAC = {"flavour": "standard", "rts_threshold": "off"}
BASE = {"warmup": START, "radio": {"rate": "11M"}, "mac": MAC}
# Runs with a packet trace: shorter, since a trace of half an hour has millions of lines.
TRACED_SECONDS = 600.0
MINUTE = (300.0, 360.0)
DELAY_EVERY = 2.0

Cases = dict[tuple[str, int], list[Result]]
"""The runs of each routing and window, a seed each."""


def diamond(routing: dict[str, Any], seed: int, window: int = WINDOW) -> dict[str, Any]:
    """One connection from S to D, between which there are two ways."""
    return {
        **BASE,
        "name": "diamond",
        "seed": seed,
        "duration": SECONDS,
        "topology": {"kind": "diamond"},
        "routing": routing,
        "flow": [{"transport": {**TCP, "window_max": window}, "start": START}],
        "record": {"every": 0.5, "what": ["cwnd"]},
    }


def study() -> Study:
    """Figures 3 to 6 and Table 1 of the report, and the delays that the metric sees."""
    page = Study(
        "APDR: one flow and two ways",
        "Does a route chosen by delay swing between two ways, the more the greater the weight of the "
        "latest delay, and does TCP pay for it, as in section 5 of D. Triantafyllidou, K. Al Agha, "
        "Improve TCP Performance in Ad Hoc Networks, with Delay Routing and Path Reservation, 2009? Is "
        "the delay that the metric sees that of packets?",
        "The diamond of the report's Figure 2: 11 Mb/s, no RTS/CTS, no channel error, one NewReno "
        f"connection from S to D from {START:.0f} s on, {SECONDS:.0f} s, seeds {SEEDS[0]} to {SEEDS[-1]}, "
        "the same for every variant; 95% Student-t intervals, verdicts on paired differences. The report "
        "ran OPNET, once, 1800 s, with the TCP parameters of another paper; here it is the simulator's "
        f"`preset = rfc` with at most {WINDOW} segments of 1460 bytes under way (65535 bytes: no window "
        "scaling), and other windows beside it. Without `MULTIHOP_FULL=1` in front of the command it is a "
        "shorter version.",
        full=FULL,
    )
    plan = [(name, WINDOW) for name in VARIANTS]
    plan += [(name, window) for window in OTHER_WINDOWS for name in CHOICES]
    runs = [(case, seed) for seed in SEEDS for case in plan]
    results = kept("apdr", (diamond(VARIANTS[name], seed, window) for (name, window), seed in runs))
    found: Cases = {case: [] for case in plan}
    for (case, _), result in zip(runs, results, strict=True):
        found[case].append(result)
    traces = {
        (name, window): [
            traced({**diamond(routing, seed, window), "duration": TRACED_SECONDS}) for seed in SEEDS
        ]
        for window in (WINDOW, OTHER_WINDOWS[-1])
        for name, routing in CHOICES.items()
        if name != "APDR-PR"
    }
    judge(page, found, traces)
    tables(page, found)
    draw(page, found)
    causes(page, traces)
    delays(page, traces)
    scatter(page, BASE, TCP, START)
    return page


def of(results: Sequence[Result], quantity: str) -> Interval:
    """One quantity over the seeds."""
    return interval(number(result, quantity) for result in results)


def number(result: Result, quantity: str) -> float:
    """One quantity of a run with one flow."""
    flow = result.data["flows"][0]
    if quantity == "rtt":
        return float(flow["rtt_ms"]["mean"])
    if quantity == "reordered":
        return 100.0 * float(flow["out_of_order"]) / float(flow["segments_delivered"])
    for table in (flow, result.routing):
        if quantity in table:
            return float(table[quantity])
    return float(result.drops.get(quantity, 0))


def judge(page: Study, found: Cases, traces: dict[tuple[str, int], list[Traced]]) -> None:
    """The verdicts: paired differences over the seeds."""
    low, high = "APDR 0.2", "APDR 0.8"
    for more, less, quantity, claim in [
        (low, "OLSR", "route_changes", "APDR swings where OLSR stays: route changes, APDR 0.2 above OLSR"),
        (high, low, "route_changes", "A greater weight changes routes more often (Figure 3): 0.8 above 0.2"),
        ("OLSR", low, "goodput_kbps", "OLSR delivers more than APDR 0.2, kb/s"),
        (low, high, "goodput_kbps", "Throughput falls with the weight (Figure 5): 0.2 above 0.8, kb/s"),
        (low, "OLSR", "out_of_order", "APDR 0.2 reorders more segments than OLSR"),
        (high, low, "out_of_order", "Reordering rises with the weight (Table 1): 0.8 above 0.2, segments"),
        ("OLSR", high, "rtt", "Round trips are shorter under APDR 0.8 than under OLSR, ms"),
        ("APDR-PR", high, "goodput_kbps", "A reserved path delivers more than APDR 0.8, kb/s"),
        (high, HYSTERESIS, "route_changes", "Hysteresis makes changes rarer"),
        (HYSTERESIS, high, "goodput_kbps", "Hysteresis delivers more than APDR 0.8 without, kb/s"),
        (high, OWN_LOAD, "route_changes", "Without its own load a node changes less often"),
        (OWN_LOAD, high, "goodput_kbps", "Without its own load a node delivers more, kb/s"),
    ]:
        page.gain(claim, paired(found, more, less, WINDOW, quantity))
    for window in OTHER_WINDOWS:
        for quantity, more, less in [("out_of_order", high, low), ("goodput_kbps", low, high)]:
            claim = "Reordering rises with the weight" if more == high else "Throughput falls with it, kb/s"
            difference = paired(found, more, less, window, quantity)
            page.gain(f"{claim}, with a window of {window} segments", difference)
    jitter = [[spread(trace) for trace in traces[name, WINDOW]] for name in (high, low)]
    difference = interval(a - b for a, b in zip(*jitter, strict=True))
    page.gain("Delay varies more with the weight (Figure 4): deviation, 0.8 above 0.2, ms", difference)


def paired(found: Cases, more: str, less: str, window: int, quantity: str) -> Interval:
    """By how much one routing has more of a quantity than another, seed by seed."""
    pairs = zip(found[more, window], found[less, window], strict=True)
    return interval(number(a, quantity) - number(b, quantity) for a, b in pairs)


def tables(page: Study, found: Cases) -> None:
    """What became of the connection under each routing, and with each window."""
    quantities = {
        "kb/s": "goodput_kbps",
        "route changes": "route_changes",
        "of these back within 10 s": "oscillations",
        "segments out of order": "out_of_order",
        "%": "reordered",
        "retransmitted": "segments_retransmitted",
        "timeouts": "timeouts",
        "RTT, ms": "rtt",
        "lost in circles": "ttl",
        "no route": "no-route",
        "given up by the MAC": "retry-limit",
        "queue full": "queue-full",
    }

    def row(name: str, window: int) -> list[str]:
        return [str(of(found[name, window], quantity)) for quantity in quantities.values()]

    page.table(["routing", *quantities], [[name, *row(name, WINDOW)] for name in VARIANTS])
    page.text(
        "*Segments out of order* are arrivals above the number expected. *Lost in circles*: the TTL ended, "
        "because nodes knew different costs, those of 5 s ago from afar."
    )
    page.text(
        "**What swings loses.** Packets run in circles or meet full queues, frames of the two ways collide "
        "more often than the MAC repeats them, and a HELLO that is dropped from a queue takes the route "
        "with it after the third: routes are missing where nothing moves, as the report saw too (section "
        "7). One way is as fast as two that share the air, so that there is nothing to gain but shorter "
        "round trips."
    )
    page.text(
        "**Paths that are kept hop by hop** (hysteresis, own load) are kept only while they lead on ([the "
        "model](../models/apdr.md)). With hysteresis routes change less often, and no fewer packets are "
        "lost: what loses them are nodes that know different costs. A reserved path, which packets carry, "
        "has no such trouble: it never changes, loses nothing, and delivers what OLSR does."
    )
    page.text("**Other windows.** The same with at most so many segments under way:")
    page.table(
        ["routing", "window", *quantities],
        [[name, str(window), *row(name, window)] for window in OTHER_WINDOWS for name in CHOICES],
    )


def draw(page: Study, found: Cases) -> None:
    """Throughput, changes and reordering over the weight, and the window over time."""
    for name, quantity, label, caption in [
        ("apdr-changes", "route_changes", "route changes", "Route changes over the weight."),
        ("apdr-throughput", "goodput_kbps", "throughput (kb/s)", "Throughput over the weight (Figure 5)."),
        ("apdr-reordering", "out_of_order", "segments out of order", "Reordering over the weight (Table 1)."),
    ]:
        figure, axes = report.new_figure("weight of the latest delay", label)
        windows = dict(zip((OTHER_WINDOWS[0], WINDOW, OTHER_WINDOWS[1]), (SKY, BLUE, ORANGE), strict=True))
        for window, colour in windows.items():
            points = [of(found[choice, window], quantity) for choice in APDR]
            axes.errorbar(
                WEIGHTS,
                [point.mean for point in points],
                yerr=[0.0 if math.isinf(point.half) else point.half for point in points],
                color=colour,
                marker="o",
                capsize=3,
                label=f"APDR, window {window}",
            )
            olsr = of(found["OLSR", window], quantity).mean
            axes.axhline(olsr, color=colour, linestyle="--", linewidth=1, label=f"OLSR, window {window}")
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=8)
        page.figure(name, figure, caption)
    for suffix, span, caption in [
        ("", (START, SECONDS), "The congestion window, seed 1 (Figure 6a)."),
        ("-minute", MINUTE, "The congestion window during one minute, seed 1 (Figure 6b)."),
    ]:
        figure, axes = report.new_figure("time (s)", "congestion window (segments)")
        for choice, colour in (("OLSR", ORANGE), ("APDR-PR", GREEN), ("APDR 0.8", BLUE)):
            series = found[choice, WINDOW][0].series.filter(series="cwnd")
            axes.plot(series["time"], series["value"], color=colour, linewidth=0.8, label=choice)
        axes.set_xlim(span)
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=8)
        page.figure(f"apdr-window{suffix}", figure, caption)


def causes(page: Study, traces: dict[tuple[str, int], list[Traced]]) -> None:
    """Why segments come out of order."""
    page.text("### Why segments come out of order")
    page.text(
        f"By packet traces of {TRACED_SECONDS:.0f} s: each arrival above the number expected, by what had "
        "become of the first copy of the segment expected. *Overtaken*: it was still under way and came "
        "later; by a segment that began with the other relay of S, or with the same one and parted from "
        "it further on. The other columns: it was lost, and every segment behind it counts until it came "
        "again."
    )
    page.table(
        ["routing", "window", *CAUSES],
        [
            [name, str(window), *(str(interval(run.causes[cause] for run in runs)) for cause in CAUSES)]
            for (name, window), runs in traces.items()
        ],
    )
    page.text(
        f"**With a window of {OTHER_WINDOWS[-1]} segments the queue of 50 overflows**, and each overflow "
        "puts the segments behind it out of order: what OLSR reorders are its own losses, and whatever "
        "makes the window smaller, as swinging routes do, makes them fewer. The report's Table 1 rises with "
        "the weight, and its MAC dropped no data. With a window that fits the queue reordering rises here "
        "too, though not as far as from 551 to 29081 segments: how often S changes its relay, and how many "
        "segments a change reorders, is in the next table."
    )


def spread(trace: Traced) -> float:
    """Standard deviation of the mean delays of short intervals, ms."""
    return 1e3 * pstdev(trace.delays(DELAY_EVERY).values())


def delays(page: Study, traces: dict[tuple[str, int], list[Traced]]) -> None:
    """How long segments take, over time, and where the route changes."""
    page.text("### Delay over time")
    rows = []
    for name in CHOICES:
        if runs := traces.get((name, WINDOW)):
            means = interval(1e3 * fmean(run.delays(DELAY_EVERY).values()) for run in runs)
            changes = interval(len(run.turns) for run in runs)
            overtaken = interval(run.overtaken / max(len(run.turns), 1) for run in runs)
            row = (means, interval(map(spread, runs)), changes, overtaken)
            rows.append([name, *map(str, row)])
    columns = ["routing", "mean delay, ms", f"deviation of means of {DELAY_EVERY:.0f} s, ms"]
    page.table([*columns, "changes of S's first relay", "overtaken segments a change"], rows)
    figure, axes = report.new_figure("time (s)", f"mean delay of segments in {DELAY_EVERY:.0f} s (ms)")
    for name, colour, mark, marked in (
        ("APDR 0.2", SKY, "^", ORANGE),
        ("APDR 0.6", BLUE, "o", VERMILION),
    ):
        trace = traces[name, WINDOW][0]
        seen = {at: 1e3 * delay for at, delay in trace.delays(DELAY_EVERY).items()}
        axes.plot(list(seen), list(seen.values()), color=colour, linewidth=1, label=name)
        turns = sorted({turn // DELAY_EVERY * DELAY_EVERY for turn in trace.turns} & seen.keys())
        heights = [seen[turn] for turn in turns]
        axes.plot(turns, heights, mark, color=marked, markersize=4, label=f"{name}, S's relay changes")
    axes.set_xlim(100.0, 300.0)
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=8)
    caption = "Delay of segments, and where the route changes, seed 1 (Figures 3, 4)."
    page.figure("apdr-delay", figure, caption)
    page.text(
        "The highest peaks are circles. What S knows of the other way is as old as the last TC; while S and "
        "its relay each think the other's way cheaper, packets go to and fro between them, and those whose "
        "TTL does not end arrive seconds late."
    )
