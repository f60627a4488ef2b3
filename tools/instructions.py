#!/usr/bin/env python3
"""Count a benchmark's instructions by source file.

python3 tools/instructions.py mobile-50-dsr                    simulated seconds 20 to 30
python3 tools/instructions.py mobile-10000 --from 5 --to 5.3   another stretch of simulated seconds
python3 tools/instructions.py mobile-10000 --misses            and misses of a cache of 2 MB
python3 tools/instructions.py chain-4 --lists                  with nodes, links and queues in the result

Counted by callgrind, so that it is the same every time, whatever else the machine does. What is
inlined counts where it was written. Needs valgrind.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BENCH = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "profiling" / "multihop-bench"
STRETCH = (20.0, 30.0)
# 48 KiB in 12 ways, then 2 MiB in 16 ways: a core of the machines that `make bench` is run on.
CACHES = ("--cache-sim=yes", "--D1=49152,12,64", "--LL=2097152,16,64")
SHOWN = 0.01
LIBRARY = "Rust's library"


def main() -> int:
    """Count one case and print the files with the most instructions."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("case", help="a scenario of `make bench`")
    parser.add_argument("--from", dest="begin", type=float, default=STRETCH[0], metavar="S")
    parser.add_argument("--to", dest="end", type=float, default=STRETCH[1], metavar="S")
    parser.add_argument("--misses", action="store_true", help="also count the misses of a 2 MB cache")
    parser.add_argument("--lists", action="store_true", help="measure nodes, links and queues as well")
    options = parser.parse_args()
    build = ["cargo", "build", "--quiet", "--profile", "profiling", "--locked"]
    build += ["-p", "multihop-bench", "--bin", "multihop-bench"]
    subprocess.run(build, cwd=ROOT, check=True)
    with tempfile.TemporaryDirectory() as scratch:
        found = Path(scratch) / "callgrind.out"
        sample = run(options, found)
        with found.open() as lines:
            files, events = by_file(lines)
    report(options.case, sample["frames"], files, events)
    return 0


def run(options: argparse.Namespace, found: Path) -> dict[str, float]:
    """Run the case under callgrind and return the benchmark's output."""
    tool = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={found}"]
    tool += CACHES if options.misses else ()
    times = ["--from", str(options.begin), "--seconds", str(options.end)]
    command = [*tool, str(BENCH), "--one", options.case, *times, "--counted"]
    command += ["--lists"] if options.lists else []
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return dict(json.loads(done.stdout))


def by_file(lines: Iterable[str]) -> tuple[dict[str, Counter[str]], list[str]]:
    """Sum the costs of a callgrind file by the source file that each was written in.

    What Rust's library has inlined into ours counts with the file before it: they come in the order
    of addresses.
    """
    names: dict[str, str] = {}
    files: dict[str, Counter[str]] = {}
    events: list[str] = []
    current, is_of_callee = "", False
    for line in lines:
        if line.startswith("events:"):
            events = line.split()[1:]
        elif place := re.match(r"(c?f[lie])=\((\d+)\)(?: (.*))?", line):
            name = names.setdefault(place[2], short(place[3] or ""))
            if place[1] == "fl" or (not place[1].startswith("c") and name != LIBRARY):
                current = name
        elif line.startswith("calls="):
            # The next line has the cost of the callee, which is counted there.
            is_of_callee = True
        elif re.match(r"[+\-*\d]", line):
            if not is_of_callee:
                costs = map(int, line.split()[1:])
                files.setdefault(current, Counter()).update(dict(zip(events, costs, strict=False)))
            is_of_callee = False
    return files, events


def short(path: str) -> str:
    """The path of our own file from its crate on, or the library of another file."""
    if "/crates/" in path:
        return path.split("/crates/")[1].replace("/src/", "/")
    if "/library/" in path:
        return LIBRARY
    if "/registry/" in path:
        return path.split("/registry/src/")[1].split("/")[1]
    return "C's library"


def report(case: str, frames: float, files: dict[str, Counter[str]], events: list[str]) -> None:
    """A row for each file with a significant share."""
    missed = {"D1mr", "D1mw"}, {"DLmr", "DLmw"}
    has_misses = missed[0] <= set(events)

    def row(name: str, costs: Counter[str]) -> str:
        cells = [name, f"{costs['Ir'] / frames:.0f}", f"{100 * costs['Ir'] / total['Ir']:.1f}"]
        if has_misses:
            cells += [f"{sum(costs[event] for event in level) / frames:.1f}" for level in missed]
        return f"| {' | '.join(cells)} |"

    total = sum(files.values(), Counter[str]())
    head = [
        "file",
        "instructions a frame",
        "%",
        *(["misses of 48 kB", "misses of 2 MB"] if has_misses else []),
    ]
    print(f"{case}: {frames:.0f} frames\n\n| {' | '.join(head)} |\n| --- |{' --: |' * (len(head) - 1)}")
    shown = {name: costs for name, costs in files.items() if costs["Ir"] >= SHOWN * total["Ir"]}
    for name, costs in sorted(shown.items(), key=lambda item: -item[1]["Ir"]):
        print(row(name, costs))
    rest = (costs for name, costs in files.items() if name not in shown)
    print(row("others", sum(rest, Counter[str]())))
    print(row("all", total))


if __name__ == "__main__":
    sys.exit(main())
