#!/usr/bin/env python3
"""Run iperf3, curl and an asyncio server over two emulated hops of 802.11g on a loaded machine.

    python3 tools/virtual_time_runs.py [--runs 20] [--load "stress-ng --cpu 4"]

In virtual time prints how many runs had the result of a run without load: all output of the programs, and
the virtual time at the end. In real time prints each goodput of iperf3 at the receiver with the verdict of
`multihop.lab`. Needs pytest, stress-ng, iperf3 and curl, and
the command multihop: that of the package, or the path in MULTIHOP, or the one on PATH.
"""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

sys.path[:0] = [str(ROOT / "python"), str(ROOT / "python" / "tests")]

from test_virtual_time import Story, asyncio_programs, curl, iperf3, iperf3_datagrams  # noqa: E402

from multihop.lab import Lab, NotValidError  # noqa: E402

STORIES = (iperf3, iperf3_datagrams, curl, asyncio_programs)


def main() -> int:
    """Print the table; the exit code is 1 if two runs in virtual time differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=20, help="runs of each program")
    parser.add_argument("--load", default="stress-ng --cpu 4", help="command that loads the machine")
    args = parser.parse_args()
    failures = 0
    for story in STORIES:
        idle, _, seconds = virtual(story)
        with load(args.load):
            runs = [virtual(story) for _ in range(args.runs)]
        results = Counter(result for result, _, _ in runs)
        equal = results[idle]
        failures += equal != args.runs
        slowest = max(seconds for _, _, seconds in runs)
        print(
            f"{story.__name__}: {equal} of {args.runs} runs under load equal the run without, "
            f"{len(results)} different results; {runs[0][1]:.1f} virtual s took {seconds:.1f} s, "
            f"under load at most {slowest:.1f} s",
            flush=True,
        )
    with load(args.load):
        for _ in range(args.runs):
            print(f"iperf3 in real time: {real()}", flush=True)
    return 1 if failures else 0


@contextmanager
def load(command: str) -> Iterator[None]:
    """Load the machine; ends the command at the end."""
    process = subprocess.Popen(shlex.split(command), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(1)
        yield
    finally:
        process.terminate()
        process.wait()


def virtual(story: Story) -> tuple[str, float, float]:
    """Result of one run in virtual time, its virtual seconds, and the seconds that it took."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, Lab(virtual_time=True).chain(hops=2, phy="802.11g") as net:
        said = story(net, Path(folder))
        end = net.time()
    return f"{said}{end}", end, time.monotonic() - begin


def real() -> str:
    """Goodput of one run in real time, and the verdict."""
    said = ""
    try:
        with tempfile.TemporaryDirectory() as folder, Lab().chain(hops=2, phy="802.11g") as net:
            said = iperf3(net, Path(folder))
    except NotValidError as verdict:
        return f"{goodput(said)}, {verdict}"
    return f"{goodput(said)}, valid"


def goodput(said: str) -> str:
    """Goodput at the receiver in the output of iperf3."""
    found = re.search(r"([\d.]+ [KM]?bits/sec)\s+receiver", said)
    return found[1] if found else "no goodput"


if __name__ == "__main__":
    sys.exit(main())
