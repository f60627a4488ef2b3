"""Eight hours of seventy nodes: what they take, and whether memory grows."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from multihop import report
from multihop.theme import BLUE, ORANGE
from multihop_papers.declare import Effort
from multihop_papers.measures import frame
from multihop_papers.study import Study
from multihop_papers.validation.apdr import PAPER
from multihop_papers.validation.apdr_networks import BASE, LARGEST, ROUTINGS
from multihop_papers.validation.part import Page

PARTS = 8  # of the run, hours if it is a full one
ROUTING = "APDR 0.8"
EVERY = 0.25  # s between two samples
# Memory at the end of a part is the mean over this share of it before and after: one sample has waves in it.
AROUND = 0.2
MAY_GROW = 1.02
RESIDENT, LIVE = 0, 1

# The simulator without NumPy, Polars and matplotlib, which hold three times as much memory: multihop.scenario imports
# none of them. A line for each sample: processor time in s, resident memory and what malloc has given out in bytes.
CHILD = """
import ctypes, json, os, sys, threading, time

from multihop.scenario import Run, request

class Malloc(ctypes.Structure):
    _fields_ = [("numbers", ctypes.c_size_t * 10)]

mallinfo = ctypes.CDLL(None).mallinfo2
mallinfo.restype = Malloc
page = os.sysconf("SC_PAGE_SIZE")

done = threading.Event()

def watch():
    while not done.is_set():
        with open("/proc/self/statm") as statm:
            resident = page * int(statm.read().split()[1])
        held = mallinfo().numbers
        in_heap, mapped = held[7], held[4]  # uordblks, hblkhd
        print(time.process_time(), resident, in_heap + mapped, flush=True)
        done.wait(float(sys.argv[1]))

run = Run.of(request(json.load(sys.stdin), {}))
watcher = threading.Thread(target=watch, daemon=True)
watcher.start()
result = json.loads(run.perform())["result"]
done.set()
watcher.join()
flows = result["flows"]
ended = sum(flow["stop"] < result["sim_seconds"] for flow in flows)
print(json.dumps({"events": result["events"], "flows": len(flows), "ended": ended}), flush=True)
"""


@dataclass
class Sample:
    """A process at one moment."""

    cpu: float
    """Processor time used so far, s."""
    resident: int
    """Bytes of it in memory."""
    live: int
    """Bytes that malloc has given out and not got back."""


@dataclass
class Run:
    """Costs of one process: its result, duration and samples of memory."""

    found: dict[str, float]
    """Values taken from the result: events, and flows begun and ended."""
    wall: float
    samples: list[Sample]

    @property
    def cpu(self) -> float:
        """Processor time of the process, s."""
        return self.samples[-1].cpu

    def between(self, low: float, high: float) -> list[Sample]:
        """Samples of a part of the run: processor time passes as simulated time does."""
        return [sample for sample in self.samples if low <= sample.cpu / self.cpu <= high]


def watch(asked: dict[str, Any]) -> Run:
    """Run a scenario in a process of its own, which is looked at meanwhile."""
    begun = time.monotonic()
    done = subprocess.run([sys.executable, "-c", CHILD, str(EVERY)], input=json.dumps(asked), stdout=subprocess.PIPE, text=True, check=True)
    wall = time.monotonic() - begun
    *lines, found = done.stdout.splitlines()
    parts = [line.split() for line in lines]
    return Run(json.loads(found), wall, [Sample(float(cpu), int(held), int(live)) for cpu, held, live in parts])


def at_parts(run: Run) -> list[tuple[float, float]]:
    """Resident and live memory at the end of each part, bytes."""
    spans = [((n - AROUND) / PARTS, (n + AROUND) / PARTS) for n in range(1, PARTS)]
    spans.append((1.0 - AROUND / PARTS, 1.0))
    seen = [run.between(*span) for span in spans]
    return [(fmean(s.resident for s in some), fmean(s.live for s in some)) for some in seen]


def memory(study: Study) -> None:
    """Watch a process for the whole run, and another for the first part of it."""
    scenario = {"name": study.experiment.id, "seed": 1, **study.experiment.scenario, **study.effort.settings}
    hours = scenario["duration"] / 3600.0
    long, short = (watch({**scenario, "duration": scenario["duration"] / parts}) for parts in (1, PARTS))
    parts = at_parts(long)
    first, last = parts[0][RESIDENT], parts[-1][RESIDENT]
    study.verdict(
        f"Memory after {hours:g} h is within {MAY_GROW - 1:.0%} of that after {hours / PARTS:g} h",
        last <= MAY_GROW * first,
        f"{last / 1e6:.2f} MB, {first / 1e6:.2f} MB, {last / first - 1:+.1%}",
    )
    rows = [
        [
            f"{length:g} h",
            f"{run.wall:.0f}",
            f"{run.cpu:.0f}",
            f"{run.found['events'] / 1e6:.0f}",
            f"{run.found['flows']:.0f}",
            f"{run.found['ended']:.0f}",
            f"{max(sample.resident for sample in run.samples) / 1e6:.2f}",
        ]
        for length, run in ((hours, long), (hours / PARTS, short))
    ]
    columns = ["run", "wall-clock time, s", "CPU time, s", "million events", "transfers begun", "ended", "peak memory, MB"]
    study.table(frame(columns, rows), "Costs of the runs")
    rows = [
        [name, *(f"{held[what] / 1e6:.2f}" for held in parts)] for name, what in (("resident", RESIDENT), ("allocated by malloc", LIVE))
    ]
    study.table(frame(["MB after", *(f"{hours * n / PARTS:g} h" for n in range(1, PARTS + 1))], rows), "Memory over time")
    study.text(
        "Resident memory includes the interpreter, the code of the program, and freed memory that malloc keeps. Space for the results of all "
        "transfers is allocated at the start, so that a long run begins with more memory than a short one. The process keeps a histogram "
        "of a transfer's times until both ends have closed. If a sender gives up, its receiver never learns of this; the histogram is "
        "then kept until no packets of the transfer can exist (2 MSL). After that only means and quantiles are kept. The memory "
        f"allocated by malloc changes by {parts[-1][LIVE] / parts[0][LIVE] - 1:+.1%} between the first of these times and the last. The number of "
        "nodes bounds this memory. In the course of the run each node meets all others, and keeps an address, a sequence number and a "
        "random stream for channel errors for each of them. Tables and queues keep the capacity of their largest size."
    )
    draw(study, long, hours, f"Memory changes by {last / first - 1:+.1%} between {hours / PARTS:g} h and {hours:g} h.")


def draw(study: Study, run: Run, hours: float, finding: str) -> None:
    """Draw memory over simulated time."""
    figure, axes = report.new_figure("simulated time, h", "memory, MB")
    for label, colour, held in (
        ("resident", BLUE, [sample.resident for sample in run.samples]),
        ("allocated by malloc", ORANGE, [sample.live for sample in run.samples]),
    ):
        hour = [hours * sample.cpu / run.cpu for sample in run.samples]
        axes.plot(hour, [value / 1e6 for value in held], color=colour, linewidth=1, label=label)
    axes.set_ylim(bottom=0)
    axes.legend()
    study.figure(figure, "Memory of the process over time.", finding)


LONG = Page("apdr-long", PAPER).experiment(
    "apdr-long",
    "APDR for eight hours",
    "Measures the CPU time and memory of eight simulated hours with seventy walking nodes, and whether memory grows. "
    f"{LARGEST} nodes, {ROUTING}, ten transfers at a time, otherwise as in validation-apdr-networks, seed 1; an 8-hour run, as in the report's "
    f"section 4; one hour with --quick. Every {EVERY:g} s the process records its CPU time, its resident memory (/proc) and the memory that malloc "
    "has allocated and not freed (mallinfo2). Simulated time is assumed to pass in proportion to CPU time. A separate process runs an eighth of that time for comparison.",
    Effort(0, {"duration": 3600.0}),
    full=Effort(0),
    scenario={**BASE, "duration": 8 * 3600.0, "routing": ROUTINGS[ROUTING]},
    axes=(),
    metrics=(),
    more=memory,
)
EXPERIMENTS = (LONG,)
