"""Compare five transports over several hops: a chain of four hops, and a cross.

    python -m multihop.demo [--out FILE] [--seeds N] [--seconds S]

NewReno increases its window until segments are lost, so that its own frames collide with each other.
TCP-AP paces its segments. TPA keeps few segments in flight and waits longer before it retransmits one.
TPA-AP does both.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from multihop import Result, report, run_all, tables, theme
from multihop.stats import Interval, interval

LABELS = {
    "newreno": "TCP NewReno",
    "tcp-ap": "TCP-AP",
    "tpa-2": "TPA-2",
    "tpa*-3": "TPA*-3",
    "tpa-ap-2": "TPA-AP-2",
}


@dataclass(frozen=True)
class Layout:
    """A network and its flows."""

    title: str
    topology: dict[str, Any]
    flows: int


LAYOUTS = {
    "chain": Layout("One flow over a chain of 4 hops", {"kind": "chain", "hops": 4}, 1),
    "cross": Layout("Two flows of 4 hops that cross", {"kind": "cross"}, 2),
}


@dataclass(frozen=True)
class Metric:
    """A metric of a run."""

    title: str
    of: Callable[[Result], float | None]


METRICS = {
    "goodput": Metric("goodput, kb/s", lambda result: result.goodput_kbps),
    "again": Metric("retransmitted, %", lambda result: percent(result.totals["retransmission_index"])),
    "fair": Metric("fairness, %", lambda result: percent(result.totals["jain"])),
    "instant": Metric("fairness over 2 s, %", lambda result: percent(result.totals["jain_instant"])),
}
OF_ONE_FLOW = ("goodput", "again")

Found = dict[tuple[str, str, str], Interval]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison, print its tables, write its page."""
    options = parse(arguments)
    start = time.monotonic()
    found = measure(options.seeds, options.seconds)
    took = time.monotonic() - start
    for layout in LAYOUTS:
        print_table(found, layout)
    runs = len(LAYOUTS) * len(LABELS) * options.seeds
    print(f"{runs} runs of {options.seconds:g} s of simulated time took {took:.1f} s.")
    print(f"Pictures: {page_of(found, options).write(options.out)}")
    return 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="multihop.demo", description="Compare five transports over several hops"
    )
    parser.add_argument("--out", type=Path, default=Path("out/demo.html"), help="HTML page to write")
    parser.add_argument("--seeds", type=int, default=10, help="runs per transport and network, at least 2")
    parser.add_argument("--seconds", type=float, default=180.0, help="simulated time of each run")
    options = parser.parse_args(arguments)
    if options.seeds < 2:
        parser.error(f"--seeds is {options.seeds}; an interval needs at least 2")
    return options


def scenario(layout: str, transport: str, seed: int, seconds: float) -> dict[str, Any]:
    """One run: ns-2's 802.11 at 2 Mb/s, 200 m per hop, static routes."""
    flow: dict[str, Any] = {"transport": transport}
    if not transport.startswith("tpa"):
        # The minimum timeout is 0.2 s, like TPA's.
        flow["transport"] = {"kind": transport, "preset": "ns2-2.30"}
    return {
        "name": f"demo-{layout}-{transport}",
        "seed": seed,
        "duration": seconds,
        "warmup": seconds / 6,
        "topology": LAYOUTS[layout].topology,
        "routing": {"protocol": "static"},
        "flow": [flow] * LAYOUTS[layout].flows,
    }


def measure(seeds: int, seconds: float) -> Found:
    """Run every transport over every layout with every seed."""
    keys = [(layout, transport) for layout in LAYOUTS for transport in LABELS]
    results = run_all(scenario(*key, seed, seconds) for key in keys for seed in range(1, seeds + 1))
    chunks = (results[i : i + seeds] for i in range(0, len(results), seeds))
    return {
        (*key, name): interval([value for result in chunk if (value := METRICS[name].of(result)) is not None])
        for key, chunk in zip(keys, chunks, strict=True)
        for name in columns(key[0])
    }


def columns(layout: str) -> list[str]:
    """The metrics that apply to a layout."""
    return [name for name in METRICS if LAYOUTS[layout].flows > 1 or name in OF_ONE_FLOW]


def percent(share: float | None) -> float | None:
    """A fraction as a percentage; empty if nothing was delivered."""
    return None if share is None else 100.0 * share


def print_table(found: Found, layout: str) -> None:
    """Show one layout on the terminal."""
    print(f"{LAYOUTS[layout].title} (mean and 95% interval)\n")
    tables.show(table(found, layout), numbers=True, elsewhere="; the page has them")
    print()


def page_of(found: Found, options: argparse.Namespace) -> report.Report:
    """The same with figures and explanations."""
    page = report.Report("Five transports over several hops")
    page.text(
        "Each station hears its neighbours and must not send while they do, so that the segments of one "
        "flow compete with each other and with their own ACKs. TCP NewReno does not know: it raises its "
        "window until frames collide, and takes each collision for congestion. TCP-AP leaves a pause after "
        "each segment, as long as the segment needs to be four hops away, and longer while round trips "
        "vary. TPA keeps two or three segments in flight, and sends what was not acknowledged only after "
        "the rest of its block of twelve; TPA* is acknowledged once for each window. TPA-AP paces TPA."
    )
    for layout, setting in LAYOUTS.items():
        page.heading(setting.title)
        for name in columns(layout):
            if name != "fair":
                page.figure(draw(found, layout, name), caption(name, options.seeds))
        page.table(table(found, layout), "Mean and 95% interval")
    page.heading("How to make this page again")
    page.command(f"python -m multihop.demo --seeds {options.seeds} --seconds {options.seconds:g}")
    page.text(
        f"Seeds 1 to {options.seeds}; {options.seconds:g} s of simulated time each, of which the first "
        f"{options.seconds / 6:g} s do not count. 802.11 DCF by the rules of ns-2, 2 Mb/s data and 1 Mb/s "
        "control frames, long preamble, RTS/CTS before every data frame, stations 200 m apart, routes that "
        "never change, segments of 1460 bytes. TCP with the constants of ns-2.30 and an ACK for each "
        "segment, TPA with those of its paper. Both flows of the cross begin at once."
    )
    return page


def caption(name: str, seeds: int) -> str:
    """The caption of a figure."""
    about = {
        "goodput": "Application data delivered in order, all flows together",
        "again": "Segments retransmitted, as a share of the segments delivered",
        "instant": "Jain's index of windows of 2 s, averaged: 100% is alike, 50% is one flow alone",
    }
    return f"{about[name]}. Whiskers are 95% Student-t intervals of {seeds} runs."


def draw(found: Found, layout: str, name: str) -> Figure:
    """A bar for each transport."""
    figure, axes = report.new_figure("", METRICS[name].title)
    for place, transport in enumerate(LABELS):
        value = found[layout, transport, name]
        report.bar(axes, place, value.mean, value.half, theme.style(transport))
    axes.set_xticks(range(len(LABELS)), LABELS.values())
    return figure


def table(found: Found, layout: str) -> pl.DataFrame:
    """One row for each transport."""
    data: dict[str, list[str]] = {"": list(LABELS.values())}
    for name in columns(layout):
        data[METRICS[name].title] = [str(found[layout, transport, name]) for transport in LABELS]
    return pl.DataFrame(data)


if __name__ == "__main__":
    sys.exit(main())
