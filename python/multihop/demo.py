"""What several hops do to TCP: NewReno against paced UDP, on a chain of 1 to 8 hops.

    python -m multihop.demo [--out FILE] [--seeds N] [--seconds S] [--hops N]

UDP at the best constant rate shows what the chain can carry. NewReno sends as if every loss were a
full queue, and fills the air with frames that collide with its own.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from multihop import report, run_all
from multihop.airtime import Radio
from multihop.stats import Interval, interval

SENDERS = {"paced": {"app": "paced", "transport": "udp"}, "newreno": {"app": "ftp", "transport": "newreno"}}
LABELS = {"paced": "UDP at the best constant rate", "newreno": "TCP NewReno"}
PAYLOAD = 1460


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison, print its table, write its page."""
    options = parse(arguments)
    hops = range(1, options.hops + 1)
    start = time.monotonic()
    goodput = measure(hops, options.seeds, options.seconds)
    took = time.monotonic() - start
    runs = len(SENDERS) * len(hops) * options.seeds
    print_table(goodput)
    print(f"\n{runs} runs of {options.seconds:g} s of simulated time took {took:.1f} s.")
    page = page_of(goodput, options)
    print(f"Curves: {page.write(options.out)}")
    return 0


@dataclass(frozen=True)
class Point:
    """Goodput at one length of the chain, kb/s."""

    hops: int
    newreno: Interval
    paced: Interval

    @property
    def share(self) -> float:
        """NewReno's share of what the chain can carry."""
        return self.newreno.mean / self.paced.mean


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="multihop.demo", description="NewReno against paced UDP on a chain")
    parser.add_argument("--out", type=Path, default=Path("out/demo.html"), help="page to write")
    parser.add_argument("--seeds", type=int, default=5, help="runs of each point, at least 2")
    parser.add_argument("--seconds", type=float, default=120.0, help="simulated time of each run")
    parser.add_argument("--hops", type=int, default=8, help="longest chain")
    options = parser.parse_args(arguments)
    if options.seeds < 2:
        parser.error(f"--seeds is {options.seeds}; an interval needs at least 2")
    return options


def scenario(hops: int, sender: str, seed: int, seconds: float) -> dict[str, Any]:
    """One run: an ns-2 chain, 200 m a hop, 2 Mb/s, routes that never change."""
    return {
        "name": f"demo-{sender}-{hops}",
        "seed": seed,
        "duration": seconds,
        "warmup": seconds / 6,
        "mac": {"rts_threshold": 0},
        "topology": {"kind": "chain", "hops": hops, "spacing": 200.0},
        "routing": {"protocol": "static"},
        "flow": [SENDERS[sender]],
    }


def measure(hops: Sequence[int], seeds: int, seconds: float) -> list[Point]:
    """Run every sender over every chain with every seed."""
    keys = [(sender, h) for h in hops for sender in SENDERS]
    runs = [scenario(h, sender, seed, seconds) for sender, h in keys for seed in range(1, seeds + 1)]
    found = [result.goodput_kbps for result in run_all(runs)]
    chunks = [found[i : i + seeds] for i in range(0, len(found), seeds)]
    means = {key: interval(chunk) for key, chunk in zip(keys, chunks, strict=True)}
    return [Point(h, means["newreno", h], means["paced", h]) for h in hops]


def print_table(goodput: Sequence[Point]) -> None:
    """Show the comparison on the terminal."""
    print("Goodput over a chain, kb/s (mean and 95% interval)\n")
    print(f"{'hops':>4}  {'paced UDP':>17}  {'TCP NewReno':>17}  {'NewReno / paced':>15}")
    for point in goodput:
        print(f"{point.hops:>4}  {point.paced!s:>17}  {point.newreno!s:>17}  {point.share:>14.0%}")


def page_of(goodput: Sequence[Point], options: argparse.Namespace) -> report.Report:
    """The same with curves, and what the numbers mean."""
    page = report.Report("What several hops do to TCP")
    page.text(
        "Each station of a chain hears its neighbours and must not send while they do. One packet "
        "crosses one hop in C; three hops share the air completely, so that h hops carry C/h; on "
        "longer chains every fourth station may send at once, which leaves C/4. A source of constant "
        "rate comes close to that. TCP NewReno does not: it raises its window until frames collide, "
        "and takes each collision for congestion."
    )
    page.figure(
        draw(goodput),
        "Goodput of one flow over the length of the chain. Bars are 95% Student-t intervals of "
        f"{options.seeds} runs; grey lines are airtime arithmetic, not measurements.",
    )
    page.table(
        pl.DataFrame(
            {
                "hops": [point.hops for point in goodput],
                "paced UDP, kb/s": [str(point.paced) for point in goodput],
                "TCP NewReno, kb/s": [str(point.newreno) for point in goodput],
                "NewReno / paced": [f"{point.share:.0%}" for point in goodput],
            }
        ),
        "Goodput, mean and 95% interval",
    )
    page.heading("How to make this page again")
    seconds, seeds, hops = options.seconds, options.seeds, options.hops
    page.command(f"python -m multihop.demo --seeds {seeds} --seconds {seconds:g} --hops {hops}")
    page.text(
        f"Seeds 1 to {seeds}; {seconds:g} s of simulated time each, of which the first {seconds / 6:g} s "
        "do not count. 802.11 DCF by the rules of ns-2, 2 Mb/s data and 1 Mb/s control frames, long "
        f"preamble, RTS/CTS before every data frame, stations 200 m apart, {PAYLOAD} bytes a packet."
    )
    return page


def draw(goodput: Sequence[Point]) -> Figure:
    """Both curves over the airtime arithmetic."""
    figure, axes = report.new_figure("hops", "goodput, kb/s")
    hops = [point.hops for point in goodput]
    capacity = Radio().udp_kbps(PAYLOAD, rts=True)
    report.reference(axes, hops, [capacity / min(h, 4) for h in hops], "C / min(h, 4)", "--")
    report.reference(axes, hops, [capacity / min(h, 7) for h in hops], "C / min(h, 7)", ":")
    for sender in SENDERS:
        report.curve(axes, hops, [getattr(point, sender) for point in goodput], sender, LABELS[sender])
    axes.set_ylim(bottom=0)
    axes.set_xticks(hops)
    axes.legend()
    return figure


if __name__ == "__main__":
    sys.exit(main())
