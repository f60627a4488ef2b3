#!/usr/bin/env python3
"""Measure multihop beside ns-3 3.37: goodput and CPU time in networks of 802.11a, and tables of models.

python3 tools/beside_ns3.py                              all networks; about 10 min, and 10 to build
python3 tools/beside_ns3.py --only chain moving          networks whose names contain one of these words
python3 tools/beside_ns3.py --only chain-4 --seeds 8     more runs of each
python3 tools/beside_ns3.py --only moving --count        frames and messages in place of times
python3 tools/beside_ns3.py --seconds 1 --instructions   instructions in place of times; needs valgrind
python3 tools/beside_ns3.py --table aggregation          the table of docs/models/aggregation.md;
                                                         others: dcf, olsr, distances, grid, networks,
                                                         reservations, hidden, missed
.venv/bin/python tools/beside_ns3.py --table distances --figure
                                                         and docs/models/budgets-distances.svg

Chains of 1, 2, 4 and 8 hops (NewReno), ten saturated stations (datagrams), and fifty nodes that move
under AODV with five TCP flows, each at 6, 24 and 54 Mb/s. Both programs run in turn, one at a time, on
the same core, with the same places, movements and flows. tools/ns3/network.cc has the settings of ns-3, the
functions `radio`, `mac`, `aodv` and `traffic` those of multihop. Ours is what `make fast` builds, ns-3 is
Debian's library.

The CPU time is that of the events alone: ns-3 measures it itself; from that of multihop, the time of a
run of one millisecond is subtracted. Instructions are the same every time, whatever else the machine does.
The folder of --out gets the table (beside-ns3.md) and every run (beside-ns3.json). Needs Debian 12's
libns3-dev, and tshark for the table of OLSR.

Tables of models are declared in tools/ns3_tables.py. They have no times, so that their runs share all cores,
and multihop is the quick build of `make demo`.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import ns3_radios
import ns3_tables
from net_pages import table
from net_study import mean

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
MULTIHOP = TARGET / "release" / "multihop"
PROGRAMS = TARGET / "ns3"
MODULES = "aodv olsr applications internet mobility propagation wifi traffic-control network core"
RATES = (6, 24, 54)  # Mb/s
HOPS = (1, 2, 4, 8)
SPACING = 200.0  # m, in chains
STATIONS = 10
RADIUS = 50.0  # m, around the receiver
OFFERED = {6: 800.0, 24: 2300.0, 54: 3600.0}  # kb/s of each station: half as much again as arrives
NODES, FLOWS = 50, 5
AREA = [1000.0, 1000.0]  # m
LONGER = 10
"""Ours simulates chains and stations for so many times as long; its times would be too short to measure."""
SEEDS = 6
TABLES = {**ns3_tables.PAGES, **ns3_radios.PAGES}
INSTANT = 0.001  # s; a run of this length has the costs of the start alone


def main() -> int:
    """Build both programs, run all pairs and print the table."""
    options = arguments()
    if problem := missing(options.table):
        print(problem, file=sys.stderr)
        return 1
    build_ns3()
    if options.table:
        page = TABLES[options.table]()
        found = ns3_tables.measured(page, options.seeds, PROGRAMS, build_quickly())
        print(ns3_tables.show(page, found))
        if options.figure:
            import ns3_figure

            print(ns3_figure.write(page, found))
        return 0
    options.seeds = options.seeds or SEEDS
    steps = ["command"] if options.plain else ["profile", "command"]
    subprocess.run([sys.executable, ROOT / "tools" / "build.py", *steps], check=True)
    # Children inherit it.
    os.sched_setaffinity(0, {options.core})
    with tempfile.TemporaryDirectory() as scratch:
        rows = [measured(case, options, Path(scratch)) for case in chosen(options.only)]
    text = counted(rows) if options.count else compared(rows, options.instructions)
    print(text)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "beside-ns3.md").write_text(text + "\n", encoding="utf-8")
        every = json.dumps([asdict(row) for row in rows], indent=1)
        (options.out / "beside-ns3.json").write_text(every + "\n", encoding="utf-8")
    return 0


def arguments() -> argparse.Namespace:
    """Options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", default=[""], metavar="WORD", help="networks with such names")
    parser.add_argument("--seconds", type=float, default=10.0, help="simulated seconds that count (10)")
    parser.add_argument(
        "--seeds", type=int, help=f"runs of each network ({SEEDS}), or of each row of a table"
    )
    parser.add_argument("--movement", type=int, metavar="N", help="the same movement in every run")
    parser.add_argument("--core", type=int, default=0, help="the core for both programs (0)")
    parser.add_argument("--count", action="store_true", help="count frames and messages")
    parser.add_argument("--instructions", action="store_true", help="count instructions, under callgrind")
    parser.add_argument("--plain", action="store_true", help="build multihop as make build, not as make fast")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write the table and all runs")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a key of multihop")
    parser.add_argument(
        "--ns3", action="append", default=[], metavar="OPTION", help="an option of network.cc"
    )
    parser.add_argument("--table", choices=TABLES, help="print this table of a model instead")
    parser.add_argument("--figure", action="store_true", help="with --table distances: draw it as well")
    options = parser.parse_args()
    if not chosen(options.only):
        parser.error(f"no such network; there are: {', '.join(case.name for case in CASES)}")
    if options.instructions and shutil.which("valgrind") is None:
        parser.error("valgrind is missing: apt-get install valgrind")
    if options.figure and options.table != "distances":
        parser.error("--figure needs --table distances")
    if options.core not in os.sched_getaffinity(0):
        parser.error(f"core {options.core} is not available")
    return options


def missing(name: str | None) -> str | None:
    """Reason why the comparison, or the table with this name, cannot run on this machine; None if it can."""
    if shutil.which("g++") is None or not Path("/usr/include/ns3/wifi-module.h").is_file():
        return "ns-3 is missing: apt-get install g++ libns3-dev"
    if name == "olsr" and shutil.which("tshark") is None:
        return "tshark is missing: apt-get install tshark"
    return None


def build_ns3() -> None:
    """Build the programs of ns-3 whose source has changed."""
    folder = ROOT / "tools" / "ns3"
    shared = (folder / "shared.h").stat().st_mtime
    PROGRAMS.mkdir(parents=True, exist_ok=True)
    for source in folder.glob("*.cc"):
        program = PROGRAMS / source.stem
        if not program.is_file() or program.stat().st_mtime < max(source.stat().st_mtime, shared):
            libraries = [f"-lns3-{module}" for module in MODULES.split()]
            flags = ["-O2", "-DNDEBUG", "-std=c++17", "-Wall"]
            subprocess.run(["g++", *flags, str(source), "-o", str(program), *libraries], check=True)


def build_quickly() -> Path:
    """Build the command as `make demo` does: its runs take longer, and its results are the same."""
    words = ["cargo", "build", "--locked", "--profile", "demo", "--no-default-features"]
    words += ["--features", "simulate", "-p", "multihop-cli"]
    subprocess.run(words, cwd=ROOT, check=True)
    return TARGET / "demo" / "multihop"


@dataclass(frozen=True)
class Case:
    """A network at a bit rate."""

    name: str
    title: str
    rate: int  # Mb/s
    places: Sequence[tuple[float, float]]  # none if the nodes move
    flows: Sequence[tuple[int, int, float]]  # from, to, start
    kbps: float = 0.0  # of datagrams; 0 for TCP
    warmup: float = 1.0

    @property
    def moves(self) -> bool:
        """Whether the nodes move."""
        return not self.places


def cases() -> Iterator[Case]:
    """All networks that are compared."""
    for rate in RATES:
        for hops in HOPS:
            title = f"chain, {hops} hop{'s' if hops > 1 else ''}, {rate} Mb/s"
            places = [(SPACING * n, 0.0) for n in range(hops + 1)]
            yield Case(f"chain-{hops}-{rate}", title, rate, places, [(0, hops, 0.0)])
    for rate in RATES:
        angles = [2 * math.pi * n / STATIONS for n in range(STATIONS)]
        circle = [(round(RADIUS * math.cos(a), 3), round(RADIUS * math.sin(a), 3)) for a in angles]
        flows = [(n + 1, 0, 0.001 * n) for n in range(STATIONS)]
        title = f"{STATIONS} saturated stations, {rate} Mb/s"
        yield Case(f"stations-{rate}", title, rate, [(0.0, 0.0), *circle], flows, OFFERED[rate])
    for rate in RATES:
        flows = [(n, NODES // 2 + n, 0.5 * n) for n in range(FLOWS)]
        title = f"{NODES} moving nodes, AODV, {rate} Mb/s"
        yield Case(f"moving-{rate}", title, rate, [], flows, warmup=5.0)


CASES = list(cases())


def chosen(words: Sequence[str]) -> list[Case]:
    """The networks whose names contain one of the words."""
    return [case for case in CASES if any(word in case.name for word in words)]


@dataclass
class Row:
    """Measurements of both programs in one network, a value for each seed."""

    title: str
    ns3_kbps: list[float] = field(default_factory=list)
    ours_kbps: list[float] = field(default_factory=list)
    # For a simulated second: CPU time in ms, or millions of instructions.
    ns3_cost: list[float] = field(default_factory=list)
    ours_cost: list[float] = field(default_factory=list)
    ns3_counts: list[dict[str, float]] = field(default_factory=list)  # for each second that counts
    ours_counts: list[dict[str, float]] = field(default_factory=list)

    @property
    def times(self) -> float:
        """How many times cheaper multihop is."""
        return sum(self.ns3_cost) / sum(self.ours_cost)


def measured(case: Case, options: argparse.Namespace, scratch: Path) -> Row:
    """Run both programs in turn, for each seed."""
    row = Row(case.title)
    unit = "million instructions" if options.instructions else "ms"
    for seed in range(1, options.seeds + 1):
        run_ns3(case, seed, options, scratch, row)
        run_ours(case, seed, options, scratch, row)
        print(
            f"{case.name}, seed {seed}: ns-3 {row.ns3_kbps[-1]:.0f} kb/s, {row.ns3_cost[-1]:.1f} {unit} "
            f"a second; multihop {row.ours_kbps[-1]:.0f} kb/s, {row.ours_cost[-1]:.2f}",
            file=sys.stderr,
            flush=True,
        )
    return row


def run_ns3(case: Case, seed: int, options: argparse.Namespace, scratch: Path, row: Row) -> None:
    """Run ns-3 with one seed and add what it says to the row."""
    duration = case.warmup + options.seconds
    command = [str(PROGRAMS / "network"), f"--rate={case.rate}", f"--seed={seed}", f"--kbps={case.kbps:g}"]
    command.append("--flows=" + ":".join(f"{a}-{b}@{start:g}" for a, b, start in case.flows))
    command.append(f"--count={int(options.count)}")
    if case.moves:
        movement = move(options.movement or seed, duration, scratch)
        command += [f"--movement={movement}", f"--nodes={NODES}", "--routing=aodv"]
    else:
        command.append("--positions=" + ":".join(f"{x:g},{y:g}" for x, y in case.places))
    command += options.ns3
    said, cost = run([*command, f"--duration={duration}", f"--warmup={case.warmup}"], options)
    if options.instructions:
        cost -= run([*command, f"--duration={INSTANT}", "--warmup=0"], options)[1]
    else:
        cost = said["cpu"] * 1e3
    row.ns3_kbps.append(sum(said["kbps"]))
    row.ns3_cost.append(cost / duration)
    row.ns3_counts.append({name: count / options.seconds for name, count in said["counts"].items()})


def run_ours(case: Case, seed: int, options: argparse.Namespace, scratch: Path, row: Row) -> None:
    """Run multihop with one seed and add what it says to the row."""
    seconds = options.seconds * (1 if case.moves else LONGER)
    duration = case.warmup + seconds
    document = scenario(case, seed, options.movement or seed, duration, scratch)
    said, cost = run(ours(document, options, scratch), options)
    flows = [{**flow, "start": 0.0} for flow in document["flow"]]
    instant = {**document, "duration": INSTANT, "warmup": 0.0, "flow": flows}
    cost -= run(ours(instant, options, scratch), options)[1]
    row.ours_kbps.append(said["totals"]["goodput_kbps"])
    row.ours_cost.append(cost / duration)
    row.ours_counts.append({name: count / seconds for name, count in counts(said).items()})


def ours(document: Mapping[str, Any], options: argparse.Namespace, scratch: Path) -> list[str]:
    """The command that runs a scenario."""
    file = write(document, scratch / "scenario.json")
    return [str(MULTIHOP), "run", str(file), "--json", *settings(options.set)]


def run(command: Sequence[str], options: argparse.Namespace) -> tuple[dict[str, Any], float]:
    """Output of a program, and its cost: CPU time in ms, or millions of instructions."""
    tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"] if options.instructions else []
    before = processor_seconds()
    done = subprocess.run([*tool, *command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{command[0]}: exit status {done.returncode}\n{done.stderr}")
    cost = (processor_seconds() - before) * 1e3
    if collected := re.search(r"Collected : (\d+)", done.stderr):
        cost = int(collected[1]) / 1e6
    return json.loads(done.stdout), cost


def settings(pairs: Sequence[str]) -> Iterator[str]:
    """Options of multihop that override keys."""
    for pair in pairs:
        yield from ("--set", pair)


def processor_seconds() -> float:
    """CPU time of all child processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def scenario(case: Case, seed: int, movement: int, duration: float, scratch: Path) -> dict[str, Any]:
    """The network as multihop reads it."""
    document = {
        "name": case.name,
        "seed": seed,
        "duration": duration,
        "warmup": case.warmup,
        "radio": radio(case.rate),
        "mac": mac(),
        "flow": [{"from": a, "to": b, "start": start, **traffic(case)} for a, b, start in case.flows],
    }
    if case.moves:
        document |= {"topology": {"kind": "mobility"}, "routing": aodv()}
        return {**document, "mobility": {"kind": "ns2", "file": str(move(movement, duration, scratch))}}
    return {**document, "topology": {"kind": "list", "positions": [list(place) for place in case.places]}}


def radio(rate: int) -> dict[str, Any]:
    """Two-ray, 24.5 dBm, 250 m and 550 m are defaults, and so are the curves `nist`.

    A receiver of ns-3 needs 4 dB to notice a preamble; a stronger frame takes over in its first 4 us only.
    """
    return {
        "phy": "802.11a",
        "budget": "ns-2",
        "rate": f"{rate}M",
        "model": "sinr",
        "detection_db": 4.0,
        "capture_db": 200.0,
    }


def mac() -> dict[str, Any]:
    """RTS before every frame, 7 attempts of an RTS, 4 of data and a queue of 50 are defaults.

    A relay of ns-3 finds the medium idle between a frame and its own ACK, and sends the packet on without a
    backoff. Ours does so if the packet reaches the MAC after the ACK, hence the delay.
    """
    return {"flavour": "standard", "llc": True, "arp": "oracle", "link_delay": 35e-6}


def aodv() -> dict[str, Any]:
    """ns-3's values, without HELLOs: both hear of broken links from the MAC."""
    return {
        "protocol": "aodv",
        "preset": "uu",
        "link_failure": "mac",
        "active_route_timeout": 3.0,
        "my_route_timeout": 11.2,
        "delete_period": 15.0,
        "buffer_packets": 64,
        "buffer_life": 30.0,
        "jitter": 0.01,
        "release_spacing": 0.0,
    }


def traffic(case: Case) -> dict[str, Any]:
    """Datagrams, or a NewReno that is set as ns-3's."""
    if case.kbps:
        return {"app": "cbr", "rate_kbps": case.kbps, "size": 1460}
    newreno = {"kind": "newreno+ack1", "preset": "rfc", "window_max": 20, "initial_window": 2}
    return {"transport": {**newreno, "rto_initial": 3.0, "max_retries": "off"}}


def move(movement: int, duration: float, scratch: Path) -> Path:
    """An ns-2 script of random waypoint, in its steady state from the start."""
    script = scratch / f"movement-{movement}.tcl"
    if not script.is_file():
        document = {
            "seed": movement,
            "duration": duration,
            "topology": {"kind": "random", "nodes": NODES, "area": AREA},
            "mobility": {"kind": "random-waypoint", "speed": [1.0, 9.0], "pause": 20.0},
            "flow": [{"from": 0, "to": 1, "transport": "newreno"}],  # a scenario must have one
        }
        file = write(document, scratch / "movement.json")
        command = [str(MULTIHOP), "motion", str(file), "--format", "ns2", "--out", str(script)]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return script


def write(document: Mapping[str, Any], file: Path) -> Path:
    """Write a scenario file."""
    file.write_text(json.dumps(document), encoding="utf-8")
    return file


def compared(rows: Sequence[Row], instructions: bool = False) -> str:
    """Goodput side by side, and CPU times or instructions."""
    unit, better = ("million instructions", "fewer") if instructions else ("ms", "faster")
    columns = ["network", "ns-3, kb/s", "multihop, kb/s", "difference, %"]
    columns += [f"ns-3, {unit}", f"multihop, {unit}", f"times {better}"]
    lines = []
    for row in rows:
        kbps = statistics.mean(row.ns3_kbps)
        # Of each pair: both have the same movement.
        pairs = zip(row.ns3_kbps, row.ours_kbps, strict=True)
        difference = mean([100 * (ours - theirs) / kbps for theirs, ours in pairs], 1)
        goodput = [f"{kbps:.0f}", f"{statistics.mean(row.ours_kbps):.0f}", difference]
        times = [f"{statistics.mean(row.ns3_cost):.0f}", f"{statistics.mean(row.ours_cost):.2f}"]
        lines.append([row.title, *goodput, *times, f"{row.times:.0f}"])
    least = min(rows, key=lambda row: row.times)
    median = statistics.median(row.times for row in rows)
    summary = f"Median of all {len(rows)}: {median:.0f} times; least: {least.times:.0f} ({least.title})."
    return f"{table(columns, lines)}\n\n{summary}"


KINDS = {
    "rts": "RTS",
    "data": "data",
    "given up": "given up",
    "broadcast": "broadcasts",
    "request": "requests",
    "reply": "replies",
    "error": "errors",
}


def counts(said: Mapping[str, Any]) -> dict[str, float]:
    """Frames, packets and messages of a run, by the names of `KINDS`."""
    frames, messages = said["mac"]["frames"], said["routing"]["packets"]
    return {
        "data": frames["data"],
        "rts": frames["rts"],
        "given up": said["drops"].get("retry-limit", 0),
        "broadcast": frames["broadcast"],
        "request": messages.get("rreq", 0),
        "reply": messages.get("rrep", 0),
        "error": messages.get("rerr", 0),
    }


def counted(rows: Sequence[Row]) -> str:
    """Table of the frames that both programs transmitted in each second."""
    lines = []
    for row in rows:
        for program, kbps, found in (
            ("ns-3", row.ns3_kbps, row.ns3_counts),
            ("multihop", row.ours_kbps, row.ours_counts),
        ):
            means = [statistics.mean(one.get(kind, 0) for one in found) for kind in KINDS]
            lines.append([f"{row.title}: {program}", mean(kbps, 0), *(f"{value:.1f}" for value in means)])
    return table(["for each second", "kb/s", *KINDS.values()], lines)


if __name__ == "__main__":
    sys.exit(main())
