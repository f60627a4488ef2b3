#!/usr/bin/env python3
"""Measure a transport over the simulator's wires: fairness, shares beside TCP, and losses.

    python3 tools/fast_wires.py [fairness] [shares] [lossy] [--transport mesh]

All flows cross one wire. Printed are means and half the 95% intervals; runs differ in when flows start, and
in the packets that are lost:

    fairness  Jain's index of two flows in the tenth second of the second flow, which starts 10 s after the
              first
    shares    goodput of one flow beside one of CUBIC or NewReno from 10 s to 60 s, in equal shares
    lossy     goodput in 20 s over the path of docs/validation/net-lossy.md, beside BBR

Needs `make build`.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from real_programs import MULTIHOP
from two_paths import STUDENT

PACKET = 1500
"""Bytes of a full packet."""
ROUND_TRIP = 0.04
RATES = (1000.0, 10000.0)
"""Packets per second of the wire."""
BUFFERS = (1.0, 1.5, 2.0)
TCP = ("cubic", "newreno")
"""Transports beside which a flow is measured."""
LOSSES = (0.0, 0.02, 0.05, 0.1)


def main() -> int:
    """Print the tables that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("tables", nargs="*", default=list(TABLES), metavar="TABLE")
    parser.add_argument("--multihop", type=Path, default=MULTIHOP, help="the command to measure")
    parser.add_argument("--transport", default="mesh", help="the transport to measure")
    parser.add_argument(
        "--rates", type=float, nargs="+", default=RATES, help="packets/s of fairness and shares"
    )
    parser.add_argument(
        "--round-trips", type=float, nargs="+", default=[ROUND_TRIP], help="of fairness and shares, s"
    )
    parser.add_argument("--buffers", type=float, nargs="+", default=BUFFERS, help="of shares, round trips")
    parser.add_argument("--runs", type=int, default=10, help="runs of each case")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(2) as pool:
        paths = [(rate, round_trip) for rate in options.rates for round_trip in options.round_trips]
        seeds = range(1, options.runs + 1)
        bench = Bench(Path(scratch), options.multihop, options.transport, seeds, pool, paths, options.buffers)
        for table in options.tables:
            TABLES[table](bench)
    return 0


@dataclass(frozen=True)
class Wire:
    """The wire that all flows cross."""

    per_second: float
    round_trip: float
    queue: int
    loss: float = 0.0

    def scenario(self, seconds: float, flows: Sequence[tuple[str, float]]) -> str:
        """Flows over the wire, by transport and start."""
        near = ['name = "near"', "gateway = 0", "rate_kbps = 1e7", "delay = 0.0", "queue = 10000"]
        far = [
            'name = "far"',
            "gateway = 0",
            f"rate_kbps = {self.per_second * PACKET * 8 / 1e3}",
            f"delay = {self.round_trip / 2}",
            f"queue = {self.queue}",
            f"loss_to_host = {self.loss}",
            f"loss_from_host = {self.loss}",
        ]
        lines = [f"duration = {seconds}", "[topology]", 'kind = "chain"', "hops = 1"]
        lines += ["[record]", 'what = ["goodput"]', "every = 1.0", "[[host]]", *near, "[[host]]", *far]
        for transport, start in flows:
            ends = ["[[flow]]", 'from = "near"', 'to = "far"']
            kind = f'kind = "{transport}"' + (", window_max = 4096" if transport in TCP else "")
            lines += [*ends, f"transport = {{ {kind} }}", f"start = {start:.6f}"]
        return "\n".join(lines)


@dataclass
class Bench:
    """The command, a folder, and the cases with the seeds of their runs."""

    folder: Path
    multihop: Path
    transport: str
    seeds: range
    pool: ThreadPoolExecutor
    paths: Sequence[tuple[float, float]]
    """Packets per second and round trip of the wires of `fairness` and `shares`."""
    buffers: Sequence[float]

    def each(self, name: str, scenario: Callable[[int], str], result: Callable[[int, Path], float]) -> str:
        """The mean of a case over its runs, with half the 95% interval."""
        runs = list(
            self.pool.map(lambda seed: self.run(f"{name}-{seed}", seed, scenario, result), self.seeds)
        )
        half = STUDENT.get(len(runs), 1.96) * statistics.stdev(runs) / math.sqrt(len(runs))
        return f"{statistics.fmean(runs):.3f} ± {half:.3f}, {min(runs):.3f} to {max(runs):.3f}"

    def run(
        self, name: str, seed: int, scenario: Callable[[int], str], result: Callable[[int, Path], float]
    ) -> float:
        """Result of one run."""
        file, out = self.folder / f"{name}.toml", self.folder / name
        file.write_text(scenario(seed))
        words = [str(self.multihop), "run", str(file), "--seed", str(seed), "--out", str(out), "--quiet"]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        return result(seed, out)


def seconds_of(out: Path) -> dict[int, dict[int, float]]:
    """Goodput of each flow in the seconds that end at these times, kb/s."""
    found: dict[int, dict[int, float]] = {}
    with (out / "series.csv").open() as file:
        for row in csv.DictReader(file):
            if row["series"] == "goodput_kbps":
                found.setdefault(int(row["id"]), {})[round(float(row["time"]))] = float(row["value"])
    return found


def goodputs(out: Path) -> list[float]:
    """Goodput of each flow over the whole run, kb/s."""
    flows: list[dict[str, Any]] = json.loads((out / "result.json").read_text())["flows"]
    return [float(flow["goodput_kbps"]) for flow in flows]


def jain(rates: Sequence[float]) -> float:
    """Jain's index of fairness."""
    return sum(rates) ** 2 / (len(rates) * sum(rate * rate for rate in rates))


def starting(seed: int, flow: int = 0) -> float:
    """A random time within the first second, another one for each flow."""
    return random.Random(seed + 1000 * flow).random()


def fairness(bench: Bench) -> None:
    """Two flows, the second of which starts 10 s after the first."""
    print("| packets/s | round trip, s | Jain's index in the tenth second | its range |\n|---|---|---|---|")
    for rate, round_trip in bench.paths:
        wire = Wire(rate, round_trip, round(2 * rate * round_trip))

        def scenario(seed: int, wire: Wire = wire) -> str:
            first, second = (bench.transport, starting(seed)), (bench.transport, 11.0)
            return wire.scenario(22.0, [first, second])

        def tenth(_: int, out: Path) -> float:
            return jain([flow[21] for flow in seconds_of(out).values()])

        found = bench.each(f"fairness-{rate}-{round_trip}", scenario, tenth).replace(",", " |")
        print(f"| {rate:g} | {round_trip:g} | {found} |", flush=True)


def shares(bench: Bench) -> None:
    """One flow beside one of TCP."""
    print("| packets/s | round trip, s | buffer, round trips | beside | equal shares | their range |")
    print("|---|---|---|---|---|---|")
    for rate, round_trip in bench.paths:
        for buffer in bench.buffers:
            for other in TCP:
                wire = Wire(rate, round_trip, round(buffer * rate * round_trip))

                def scenario(seed: int, wire: Wire = wire, other: str = other) -> str:
                    first, second = (bench.transport, starting(seed)), (other, starting(seed, 1))
                    return wire.scenario(60.0, [first, second])

                def share(_: int, out: Path) -> float:
                    flows = [
                        sum(kbps for second, kbps in flow.items() if second > 10)
                        for flow in seconds_of(out).values()
                    ]
                    return 2 * flows[0] / sum(flows)

                name = f"shares-{rate}-{round_trip}-{buffer}-{other}"
                found = bench.each(name, scenario, share).replace(",", " |")
                print(f"| {rate:g} | {round_trip:g} | {buffer:g} | {other} | {found} |", flush=True)


def lossy(bench: Bench) -> None:
    """One flow over 2 Mb/s and 40 ms with losses in both directions."""
    print("| loss | transport | goodput, kb/s | its range |\n|---|---|---|---|")
    for loss in LOSSES:
        wire = Wire(2e6 / 8 / PACKET, 0.04, 50, loss)
        for transport in (bench.transport, "bbr"):

            def scenario(_: int, wire: Wire = wire, transport: str = transport) -> str:
                return wire.scenario(20.0, [(transport, 0.0)])

            found = bench.each(f"lossy-{loss}-{transport}", scenario, lambda _, out: goodputs(out)[0])
            print(f"| {loss:.0%} | {transport} | {found.replace(',', ' |')} |", flush=True)


TABLES: dict[str, Callable[[Bench], None]] = {"fairness": fairness, "shares": shares, "lossy": lossy}

if __name__ == "__main__":
    sys.exit(main())
