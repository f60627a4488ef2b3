"""Average path-delay routing: one flow between two ways, and what the metric says of delays."""

from __future__ import annotations

import math
import os
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import multihop
from multihop import Result, report
from multihop.report import BLUE, GREEN, ORANGE, SKY
from multihop.stats import Interval, interval
from study import Study

# A short version; MULTIHOP_FULL=1 is the report's half hour, ten seeds.
FULL = os.environ.get("MULTIHOP_FULL") == "1"
SECONDS = 1800.0 if FULL else 600.0
START = 50.0
SEEDS = range(1, 11 if FULL else 4)
WEIGHTS = (0.2, 0.4, 0.6, 0.8)
TCP = {"kind": "newreno", "preset": "rfc"}
OLSR = {"protocol": "olsr", "count_changes": True}
VARIANTS: dict[str, dict[str, Any]] = {
    "OLSR": OLSR,
    **{f"APDR {weight}": {"protocol": "apdr", "weight": weight} for weight in WEIGHTS},
    "APDR 0.8, HELLOs first": {"protocol": "apdr", "weight": 0.8, "hellos_wait": False},
    "APDR 0.8, hysteresis 0.3, hold 10 s": {
        "protocol": "apdr",
        "weight": 0.8,
        "hysteresis": 0.3,
        "hold": 10.0,
    },
    "APDR 0.8, own load": {"protocol": "apdr", "weight": 0.8, "own_load": True},
    "ETX": {"protocol": "apdr", "metric": "etx"},
    "APDR-PR": {"protocol": "apdr-pr"},
}
MAC = {"flavour": "standard", "rts_threshold": "off"}
# The scatter: nodes that stand still, flows that load some of the links.
PLACED = {"kind": "random", "nodes": 30, "area": [1000.0, 800.0]}
SCATTER_SECONDS = 300.0
SCATTER_WINDOWS = (1, 2, 4, 8, 16, 32)  # segments
FEW = 30  # HELLOs or packets; a mean of fewer is not shown


def diamond(routing: dict[str, Any], seed: int) -> dict[str, Any]:
    """One connection from S to D, between which there are two ways."""
    return {
        "name": "diamond",
        "seed": seed,
        "duration": SECONDS,
        "warmup": START,
        "radio": {"rate": "11M"},
        "mac": MAC,
        "topology": {"kind": "diamond"},
        "routing": routing,
        "flow": [{"transport": TCP, "start": START}],
        "record": {"every": 2.0, "what": ["cwnd"]},
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
        "the same for every variant; 95% Student-t intervals. The report ran OPNET with the TCP "
        "parameters of another paper; here it is the simulator's `preset = rfc`. Its numbers are of one "
        "run of 1800 s. `MULTIHOP_FULL=1` in front of the command makes it 1800 s, ten seeds.",
    )
    cases = [(name, seed) for name in VARIANTS for seed in SEEDS]
    results = multihop.run_all((diamond(VARIANTS[name], seed) for name, seed in cases))
    found: dict[str, list[Result]] = {name: [] for name in VARIANTS}
    for (name, _), result in zip(cases, results, strict=True):
        found[name].append(result)
    judge(page, found)
    page.table(
        ["routing", "kb/s", "route changes", "of these back within 10 s", "segments out of order"]
        + ["retransmitted", "RTT, ms", "lost in circles", "no route", "given up by the MAC"],
        [row(name, found[name]) for name in VARIANTS],
    )
    page.text(
        "*Segments out of order* are arrivals above the number expected; those behind a loss count as "
        "well as those that were overtaken. *Lost in circles*: the TTL ended, because nodes knew "
        "different costs."
    )
    page.text(
        "**Throughput falls as the report says, reordering is another matter.** On one route the window "
        "fills the queue until it overflows, and each overflow puts the segments behind it out of order: "
        "OLSR's count is that of its losses. Two routes hold more before they overflow, but what swings "
        "lose (in circles, for want of a route, by collisions of the two ways) keeps the window small, "
        "so that fewer segments are under way to be reordered. The report, whose TCP reached its largest "
        "window often, counts more of them the greater the weight."
    )
    page.text(
        "**Why a route is missing where nothing moves**: HELLOs wait in full queues and are dropped "
        "there; a link that misses three is gone. The report saw such invalid routes as well (section 7)."
    )
    page.text(
        "**Keeping a path hop by hop has a price.** With hysteresis, or without its own load, a node "
        "stays with a way that relays have given up; they send its packets back, in circles. Changes "
        "become rarer and throughput does not rise. A reserved path, which packets carry, has neither "
        "problem, and delivers what OLSR does."
    )
    draw(page, found)
    scatter(page)
    return page


def of(results: Sequence[Result], quantity: str) -> Interval:
    """One quantity over the seeds."""
    return interval(number(result, quantity) for result in results)


def number(result: Result, quantity: str) -> float:
    """One quantity of a run with one flow."""
    flow = result.data["flows"][0]
    if quantity == "rtt":
        return float(flow["rtt_ms"]["mean"])
    for table in (flow, result.routing):
        if quantity in table:
            return float(table[quantity])
    return float(result.drops.get(quantity, 0))


def row(name: str, results: Sequence[Result]) -> list[str]:
    """One variant's line of the table."""
    quantities = ["goodput_kbps", "route_changes", "oscillations", "out_of_order", "segments_retransmitted"]
    quantities += ["rtt", "ttl", "no-route", "retry-limit"]
    return [name, *(str(of(results, quantity)) for quantity in quantities)]


def judge(page: Study, found: dict[str, list[Result]]) -> None:
    """The verdicts: paired differences over the seeds."""

    def gain(more: str, less: str, quantity: str) -> Interval:
        pairs = zip(found[more], found[less], strict=True)
        return interval(number(a, quantity) - number(b, quantity) for a, b in pairs)

    for more, less, quantity, claim in [
        ("APDR 0.2", "OLSR", "route_changes", "APDR swings where OLSR stays"),
        ("APDR 0.8", "APDR 0.2", "route_changes", "A greater weight changes routes more often (0.8, 0.2)"),
        ("OLSR", "APDR 0.2", "goodput_kbps", "OLSR delivers more than APDR 0.2, kb/s"),
        ("APDR 0.2", "APDR 0.8", "goodput_kbps", "APDR 0.2 delivers more than APDR 0.8, kb/s"),
        (
            "APDR 0.8",
            "APDR 0.2",
            "out_of_order",
            "A greater weight reorders more (0.8, 0.2)",
        ),
        ("OLSR", "APDR 0.8", "rtt", "Round trips are shorter under APDR 0.8 than under OLSR, ms"),
        ("APDR-PR", "APDR 0.8", "goodput_kbps", "A reserved path delivers more than APDR 0.8, kb/s"),
        ("APDR 0.8", "APDR 0.8, own load", "route_changes", "Without its own load a node changes less often"),
    ]:
        difference = gain(more, less, quantity)
        page.verdict(f"{claim} (by {difference})", difference.low > 0)


def draw(page: Study, found: dict[str, list[Result]]) -> None:
    """Throughput, changes and reordering over the weight, and the window over time."""
    for name, quantity, label, caption in [
        ("apdr-changes", "route_changes", "route changes", "Route changes over the weight."),
        (
            "apdr-throughput",
            "goodput_kbps",
            "throughput (kb/s)",
            "Throughput over the weight (Figure 5).",
        ),
        (
            "apdr-reordering",
            "out_of_order",
            "segments out of order",
            "Reordering over the weight (Table 1).",
        ),
    ]:
        figure, axes = report.new_figure("weight of the latest delay", label)
        points = [of(found[f"APDR {weight}"], quantity) for weight in WEIGHTS]
        halves = [0.0 if math.isinf(point.half) else point.half for point in points]
        axes.errorbar(
            WEIGHTS, [p.mean for p in points], yerr=halves, color=BLUE, marker="o", capsize=3, label="APDR"
        )
        for other, colour in (("OLSR", ORANGE), ("APDR-PR", GREEN)):
            axes.axhline(of(found[other], quantity).mean, color=colour, linestyle="--", label=other)
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=8)
        page.figure(name, figure, caption)
    figure, axes = report.new_figure("time (s)", "congestion window (segments)")
    for name, colour in (("APDR 0.8", BLUE), ("OLSR", ORANGE)):
        series = found[name][0].series.filter(series="cwnd")
        axes.plot(series["time"], series["value"], color=colour, linewidth=0.8, label=name)
    axes.legend(fontsize=8)
    page.figure("apdr-window", figure, f"The congestion window, seed {SEEDS[0]} (Figure 6).")


def scatter(page: Study) -> None:
    """For each link the mean delay of HELLOs against that of data packets, by a trace."""
    flows = [
        {"from": n, "to": n + 10, "transport": {**TCP, "window_max": window}, "start": START + n}
        for n, window in enumerate(SCATTER_WINDOWS)
    ]
    scenario = {
        "name": "links",
        "seed": 1,
        "duration": SCATTER_SECONDS,
        "warmup": START,
        "radio": {"rate": "11M"},
        "mac": MAC,
        "topology": PLACED,
        "flow": flows,
    }
    figure, axes = report.new_figure("mean delay of HELLOs (ms)", "mean delay of data packets (ms)")
    rows = []
    for name, colour, routing in [
        ("HELLOs wait with data", BLUE, {"protocol": "apdr-pr"}),
        ("HELLOs go first", SKY, {"protocol": "apdr-pr", "hellos_wait": False}),
    ]:
        with tempfile.TemporaryDirectory(prefix="multihop-") as scratch:
            trace = Path(scratch) / "trace.txt"
            multihop.run({**scenario, "routing": routing}, trace=trace)
            hellos, data = link_delays(trace)
        links = sorted(link for link in data if len(data[link]) >= FEW and len(hellos[link]) >= FEW)
        x, y = ([1e3 * mean(delays[link]) for link in links] for delays in (hellos, data))
        axes.plot(x, y, "o", color=colour, markersize=4, label=name)
        ratio = sum(y) / sum(x)
        rows.append([name, str(len(links)), f"{mean(x):.2f}", f"{mean(y):.2f}", f"{ratio:.2f}"])
        rows[-1] += [f"{correlation(x, y):.3f}", f"{correlation(ranks(x), ranks(y)):.3f}"]
    axes.legend(fontsize=8)
    axes.set_xscale("log")
    axes.set_yscale("log")
    page.text("### What the metric sees")
    page.text(
        f"Six connections with windows of {SCATTER_WINDOWS[0]} to {SCATTER_WINDOWS[-1]} segments, for "
        "links under little and much load, on reserved paths among 30 nodes that stand still, "
        f"{SCATTER_SECONDS:.0f} s, by the packet trace: for each link the mean time of HELLOs, which is "
        "what the metric averages, and the mean time of data packets from IP to IP of the next node, "
        "retries included."
    )
    columns = ["", "links", "HELLOs, ms", "data, ms", "data / HELLOs", "correlation", "of ranks"]
    page.table(columns, rows)
    page.figure("apdr-scatter", figure, "Delay of data against that of HELLOs, a point for each link.")


def link_delays(trace: Path) -> tuple[dict[tuple[int, int], list[float]], dict[tuple[int, int], list[float]]]:
    """Delays by link (from, to) of HELLOs and of data packets."""
    hellos: dict[tuple[int, int], list[float]] = defaultdict(list)
    data: dict[tuple[int, int], list[float]] = defaultdict(list)
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


def mean(values: Sequence[float]) -> float:
    """Arithmetic mean."""
    return math.fsum(values) / len(values)


def ranks(values: Sequence[float]) -> list[float]:
    """The place of each in the order of all."""
    order = sorted(values)
    return [float(order.index(value)) for value in values]


def correlation(x: Sequence[float], y: Sequence[float]) -> float:
    """Pearson's."""
    if len(x) < 2:
        return math.nan
    a, b = mean(x), mean(y)
    both = math.fsum((u - a) * (v - b) for u, v in zip(x, y, strict=True))
    spread = math.fsum((u - a) ** 2 for u in x) * math.fsum((v - b) ** 2 for v in y)
    return both / math.sqrt(spread)
