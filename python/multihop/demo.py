"""Compare six transports over four hops: the chain of the papers, and 802.11n with aggregation.

    python -m multihop.demo [--out FILE] [--seeds N] [--seconds S]

NewReno, CUBIC and BBR are the TCPs of the Internet. TCP-AP paces its segments by the time that they need
to be four hops away. TPA keeps few segments in flight. mesh sets its rate by delivery and delay.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from multihop import Result, report, run_all, tables, theme
from multihop.stats import Interval, interval

LABELS = {
    "newreno": "TCP NewReno",
    "cubic": "TCP CUBIC",
    "bbr": "TCP BBR",
    "tcp-ap": "TCP-AP",
    "tpa-2": "TPA",
    "mesh": "mesh",
}
"""Transports in the order of the tables; the first is what the others are compared with."""
YARDSTICK = next(iter(LABELS))
WARMUP = 6
"""The part of a run that does not count is one in this number."""


@dataclass(frozen=True)
class Network:
    """A network with one flow."""

    title: str
    about: str
    settings: Mapping[str, Any]
    presets: Mapping[str, str]
    """Presets of the TCPs; the others have their own constants."""
    share: float = 1.0
    """Length of a run, relative to that of the papers' chain."""


@dataclass(frozen=True)
class Metric:
    """A metric of a run."""

    title: str
    caption: str
    of: Callable[[Result], float | None]


CHAIN = {"topology": {"kind": "chain", "hops": 4}, "routing": {"protocol": "static"}}
NETWORKS = {
    "chain": Network(
        "The papers' chain: 4 hops of 802.11b at 2 Mb/s",
        "802.11 DCF by the rules of ns-2, 2 Mb/s data and 1 Mb/s control frames, long preamble, RTS/CTS "
        "before every data frame. NewReno and TCP-AP as in ns-2.30, CUBIC and BBR as in Linux.",
        CHAIN,
        {"newreno": "ns2-2.30", "tcp-ap": "ns2-2.30", "cubic": "linux-6", "bbr": "linux-6"},
    ),
    "n": Network(
        "4 hops of 802.11n at 65 Mb/s, with aggregates of up to 64 MPDUs",
        "802.11n at MCS 7 with 20 MHz and one stream, reception by SINR, no RTS/CTS. TCP as in Linux.",
        {
            **CHAIN,
            "radio": {
                "model": "sinr",
                "detection_db": 4.0,
                "phy": "802.11n-20",
                "budget": "ns-2",
                "rate": "MCS7",
                "basic_rate": "6M",
            },
            "mac": {"flavour": "standard", "rts_threshold": "off", "ampdu": 64},
        },
        dict.fromkeys(["newreno", "tcp-ap", "cubic", "bbr"], "linux-6"),
        share=1 / 12,
    ),
}
METRICS = {
    "goodput": Metric(
        "goodput, kb/s", "Application data delivered in order.", lambda result: result.goodput_kbps
    ),
    "delay": Metric(
        "delay (95%), ms",
        "One-way delay that 95% of the packets do not exceed.",
        lambda result: result.data["flows"][0]["delay_ms"]["p95"],
    ),
    "again": Metric(
        "retransmitted, %",
        "Segments retransmitted, as a share of the segments delivered.",
        lambda result: percent(result.totals["retransmission_index"]),
    ),
}

Found = dict[tuple[str, str], Interval]
"""The interval of each transport and metric in one network."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison, print each table as soon as it is known, write the page."""
    options = parse(arguments)
    start = time.monotonic()
    found = {}
    for name, network in NETWORKS.items():
        found[name] = measure(network, options.seeds, options.seconds * network.share)
        print_table(found[name], network)
    took = time.monotonic() - start
    print(f"{len(NETWORKS) * len(LABELS) * options.seeds} runs took {took:.1f} s.")
    print(f"Pictures: {page_of(found, options).write(options.out)}")
    print_next(options.command)
    return 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="multihop.demo", description="Compare six transports over four hops"
    )
    parser.add_argument("--out", type=Path, default=Path("out/demo.html"), help="HTML page to write")
    parser.add_argument("--seeds", type=int, default=10, help="runs per transport and network, at least 2")
    parser.add_argument(
        "--seconds", type=float, default=180.0, help="simulated time of each run on the papers' chain"
    )
    parser.add_argument("--command", default="", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.seeds < 2:
        parser.error(f"--seeds is {options.seeds}; an interval needs at least 2")
    return options


def scenario(network: Network, transport: str, seed: int, seconds: float) -> dict[str, Any]:
    """Scenario of one run: a network, its transport and the seed."""
    flow: dict[str, Any] = {"transport": transport}
    if transport in network.presets:
        flow["transport"] = {"kind": transport, "preset": network.presets[transport]}
    return {
        "name": f"demo-{transport}",
        "seed": seed,
        "duration": seconds,
        "warmup": seconds / WARMUP,
        "flow": [flow],
        **network.settings,
    }


def measure(network: Network, seeds: int, seconds: float) -> Found:
    """Run every transport with every seed."""
    runs = [scenario(network, name, seed, seconds) for name in LABELS for seed in range(1, seeds + 1)]
    results = run_all(runs, progress=True)
    chunks = {name: results[i * seeds : (i + 1) * seeds] for i, name in enumerate(LABELS)}
    return {
        (name, metric): interval(value for value in map(one.of, chunk) if value is not None)
        for name, chunk in chunks.items()
        for metric, one in METRICS.items()
    }


def percent(share: float | None) -> float | None:
    """A fraction as a percentage; empty if nothing was delivered."""
    return None if share is None else 100.0 * share


def conclusion(found: Found) -> str:
    """Which transports deliver most, how much more than the yardstick, and what delay they have."""
    best = max(LABELS, key=lambda name: found[name, "goodput"].mean)
    leading = [name for name in LABELS if found[name, "goodput"].high >= found[best, "goodput"].low]
    *others, last = (LABELS[name] for name in leading)
    most = f"{', '.join(others)} and {last} deliver most" if others else f"{last} delivers most"
    if YARDSTICK not in leading:
        most += f", {ratio(found, best, 'goodput', 1)} more than {LABELS[YARDSTICK]}"
    quickest = min(LABELS, key=lambda name: found[name, "delay"].mean)
    least = (
        f"{LABELS[quickest]} has the least delay, {ratio(found, quickest, 'delay')} of {LABELS[YARDSTICK]}'s"
    )
    return f"{most}. {least}, and delivers {ratio(found, quickest, 'goodput')} as much."


def ratio(found: Found, name: str, metric: str, less: int = 0) -> str:
    """A metric relative to that of the yardstick, in percent."""
    return f"{100 * (found[name, metric].mean / found[YARDSTICK, metric].mean - less):.0f}%"


def print_table(found: Found, network: Network) -> None:
    """Show one network on the terminal."""
    print(f"{network.title}\n")
    tables.sentence(conclusion(found))
    print()
    tables.show(table(found), numbers=True, elsewhere="; the page has them")
    print()


def print_next(command: str) -> None:
    """Say what to try next, with a command that may be of a build that only simulates."""
    if command:
        last = ("make build", "everything else: pages of every frame, real networks, emulation (8 minutes)")
    else:
        last = ("multihop view cross", "a page on which two flows cross, frame by frame")
    name = command or "multihop"
    lines = [
        (f"{name} run chain-4 --set 'flow.*.transport=mesh'", "one run, its flows and totals"),
        (f"{name} sweep chain-sweep", "more hops and transports, with intervals"),
        last,
    ]
    print("\nTry next:")
    width = max(len(words) for words, _ in lines)
    for words, what in lines:
        print(f"  {words:{width}}  # {what}")


def page_of(found: Mapping[str, Found], options: argparse.Namespace) -> report.Report:
    """The tables again, with figures and explanations."""
    page = report.Report("Six transports over four hops")
    page.text(
        "Each station hears its neighbours and must not send while they do, so that the segments of one "
        "flow compete with each other and with their own ACKs. NewReno and CUBIC raise their window until "
        "segments are lost, and take each collision for congestion; BBR sends at the rate that it has "
        "measured. TCP-AP leaves a pause after each segment, as long as the segment needs to be four hops "
        "away. TPA keeps two segments in flight, and sends what was not acknowledged only after the rest of "
        "its block of twelve. mesh, the transport of this project, sets its rate by delivery and delay."
    )
    for name, network in NETWORKS.items():
        page.heading(network.title)
        page.text(conclusion(found[name]))
        for metric, one in METRICS.items():
            note = f"{one.caption} Whiskers are 95% Student-t intervals of {options.seeds} runs."
            page.figure(draw(found[name], metric), note)
        page.table(table(found[name]), "Mean and 95% interval")
        seconds = options.seconds * network.share
        page.text(
            f"{network.about} Nodes 200 m apart, routes that never change, segments of 1460 bytes. Seeds 1 "
            f"to {options.seeds}; {seconds:g} s of simulated time each, of which the first "
            f"{seconds / WARMUP:g} s do not count."
        )
    page.heading("How to make this page again")
    page.command(f"python -m multihop.demo --seeds {options.seeds} --seconds {options.seconds:g}")
    return page


def draw(found: Found, metric: str) -> Figure:
    """A bar for each transport."""
    figure, axes = report.new_figure("", METRICS[metric].title)
    for place, transport in enumerate(LABELS):
        value = found[transport, metric]
        report.bar(axes, place, value.mean, value.half, theme.style(transport))
    axes.set_xticks(range(len(LABELS)), LABELS.values())
    return figure


def table(found: Found) -> pl.DataFrame:
    """One row for each transport."""
    data: dict[str, list[str]] = {"": list(LABELS.values())}
    for metric, one in METRICS.items():
        data[one.title] = [str(found[transport, metric]) for transport in LABELS]
    return pl.DataFrame(data)


if __name__ == "__main__":
    sys.exit(main())
