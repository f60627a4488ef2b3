"""Eight hours of seventy nodes: what they take, and whether memory grows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apdr_networks import scenario
from multihop import _core, report
from multihop.report import BLUE
from study import Study

NODES = 70
HOURS = 8
VARIANT = "APDR 0.8"
EVERY = 1.0  # s between two samples
# Memory at an hour is the mean over this part of it before and after: one sample has waves in it.
AROUND = 0.2
MAY_GROW = 1.02

# The simulator without the package around it, whose libraries hold three times as much memory.
CHILD = """
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("_core", sys.argv[1])
core = importlib.util.module_from_spec(spec)
spec.loader.exec_module(core)
result = json.loads(core.run(sys.stdin.read(), "json", "scenario", []))
flows = result["flows"]
ended = sum(flow["stop"] < result["sim_seconds"] for flow in flows)
print(json.dumps({"events": result["events"], "flows": len(flows), "ended": ended}))
"""


@dataclass
class Run:
    """What a process took."""

    found: dict[str, float]
    """Of the result."""
    wall: float
    cpu: float
    """Processor time, s."""
    samples: list[tuple[float, int]]
    """Processor time used so far, s, and resident memory, bytes."""

    def memory(self, low: float, high: float) -> float:
        """Mean between two parts of the run, bytes: processor time passes as simulated time does."""
        seen = [held for cpu, held in self.samples if low <= cpu / self.cpu <= high]
        return sum(seen) / len(seen)


def watch(asked: dict[str, Any]) -> Run:
    """Run a scenario in a process of its own, and look at it from outside."""
    samples = []
    with tempfile.TemporaryFile("w+") as source, tempfile.TemporaryFile("w+") as out:
        json.dump(asked, source)
        source.seek(0)
        begun = time.monotonic()
        child = subprocess.Popen([sys.executable, "-c", CHILD, _core.__file__], stdin=source, stdout=out)
        while child.poll() is None:
            time.sleep(EVERY)
            if sample := look(child.pid):
                samples.append(sample)
        wall = time.monotonic() - begun
        if child.returncode:
            raise RuntimeError("the run failed")
        out.seek(0)
        return Run(json.load(out), wall, samples[-1][0], samples)


def look(process: int) -> tuple[float, int] | None:
    """Processor time and resident memory of a process, as Linux tells them."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return None
    ticks, pages = int(fields[11]) + int(fields[12]), int(fields[21])
    # A process that has ended holds nothing.
    return (ticks / os.sysconf("SC_CLK_TCK"), pages * os.sysconf("SC_PAGE_SIZE")) if pages else None


def study() -> Study:
    """An 8-hour run, as in the report's section 4."""
    page = Study(
        "APDR for eight hours",
        "What do eight simulated hours of seventy walking nodes take, and is the memory of the process "
        "after eight hours what it is after one?",
        f"{NODES} nodes, {VARIANT}, ten transfers at a time, otherwise as in "
        "[random networks](apdr-networks.md), seed 1. The process is looked at from outside every "
        f"{EVERY:.0f} s (resident memory and processor time, /proc); simulated time is taken to pass as "
        "processor time does. A process alone runs an hour for comparison.",
    )
    long, short = (
        watch({**scenario("walking", NODES, VARIANT, 1), "duration": 3600.0 * hours}) for hours in (HOURS, 1)
    )
    hours = [long.memory((n - AROUND) / HOURS, (n + AROUND) / HOURS) for n in range(1, HOURS)]
    hours.append(long.memory(1.0 - AROUND / HOURS, 1.0))
    growth = hours[-1] / hours[0]
    page.verdict(
        f"Memory after {HOURS} hours is within {MAY_GROW - 1:.0%} of that after one "
        f"({hours[-1] / 1e6:.2f} MB, {hours[0] / 1e6:.2f} MB, {growth - 1:+.1%})",
        growth <= MAY_GROW,
    )
    page.table(
        ["run", "wall, s", "processor, s", "million events", "transfers begun", "ended", "peak memory, MB"],
        [
            [
                name,
                f"{run.wall:.0f}",
                f"{run.cpu:.0f}",
                f"{run.found['events'] / 1e6:.0f}",
                f"{run.found['flows']:.0f}",
                f"{run.found['ended']:.0f}",
                f"{max(held for _, held in run.samples) / 1e6:.2f}",
            ]
            for name, run in ((f"{HOURS} hours", long), ("1 hour", short))
        ],
    )
    page.table(
        ["hour", *(str(n) for n in range(1, HOURS + 1))],
        [["memory, MB", *(f"{held / 1e6:.2f}" for held in hours)]],
    )
    page.text(
        "What a result says of each transfer has its place from the start, so that an 8-hour run begins "
        "with more than an hour's. The times of a transfer are counted in buckets until both its ends are "
        "closed; from then on only their means and quantiles are kept, and its endpoints hold no buffers. A "
        "transfer whose sender gave up leaves a receiver that is never told: such a one keeps its buckets, "
        "at most 56 kB, and at most ten begin every 240 s. What grows besides was not taken apart; it grows "
        f"ever more slowly ({hours[-1] / hours[HOURS // 2] - 1:+.1%} from hour {HOURS // 2 + 1} to hour "
        f"{HOURS}), as tables do that keep room for the most that they ever held."
    )
    figure, axes = report.new_figure("simulated time (h)", "resident memory (MB)")
    axes.plot(
        [HOURS * cpu / long.cpu for cpu, _ in long.samples],
        [held / 1e6 for _, held in long.samples],
        color=BLUE,
        linewidth=1,
    )
    axes.set_ylim(bottom=0)
    page.figure("apdr-long-memory", figure, "Memory of the process over time.")
    return page
