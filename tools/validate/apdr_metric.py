"""What the delay metric sees: the mean delay of HELLOs on each link against that of data packets."""

from __future__ import annotations

import math
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import multihop
from multihop import report
from multihop.report import BLUE, SKY
from study import Study

# Nodes that stand still, flows that load some of the links.
PLACED = {"kind": "random", "nodes": 30, "area": [1000.0, 800.0]}
SECONDS = 300.0
WINDOWS = (1, 2, 4, 8, 16, 32)  # segments
FEW = 30  # HELLOs or packets; a mean of fewer is not shown


def scatter(page: Study, base: Mapping[str, Any], transport: Mapping[str, Any], start: float) -> None:
    """For each link the mean delay of HELLOs against that of data packets, by a trace."""
    flows = [
        {"from": n, "to": n + 10, "transport": {**transport, "window_max": window}, "start": start + n}
        for n, window in enumerate(WINDOWS)
    ]
    scenario = {
        **base,
        "name": "links",
        "seed": 1,
        "duration": SECONDS,
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
        x, y = ([1e3 * fmean(delays[link]) for link in links] for delays in (hellos, data))
        axes.plot(x, y, "o", color=colour, markersize=4, label=name)
        ratio = sum(y) / sum(x)
        rows.append([name, str(len(links)), f"{fmean(x):.2f}", f"{fmean(y):.2f}", f"{ratio:.2f}"])
        rows[-1] += [f"{correlation(x, y):.3f}", f"{correlation(ranks(x), ranks(y)):.3f}"]
    axes.legend(fontsize=8)
    axes.set_xscale("log")
    axes.set_yscale("log")
    page.text("### What the metric sees")
    page.text(
        f"Six connections with windows of {WINDOWS[0]} to {WINDOWS[-1]} segments, for "
        "links under little and much load, on reserved paths among 30 nodes that stand still, "
        f"{SECONDS:.0f} s, by the packet trace: for each link the mean time of HELLOs, which is "
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


def ranks(values: Sequence[float]) -> list[float]:
    """The place of each in the order of all."""
    order = sorted(values)
    return [float(order.index(value)) for value in values]


def correlation(x: Sequence[float], y: Sequence[float]) -> float:
    """Pearson's."""
    if len(x) < 2:
        return math.nan
    a, b = fmean(x), fmean(y)
    both = math.fsum((u - a) * (v - b) for u, v in zip(x, y, strict=True))
    spread = math.fsum((u - a) ** 2 for u in x) * math.fsum((v - b) ** 2 for v in y)
    return both / math.sqrt(spread)
