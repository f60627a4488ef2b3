"""Eight hours of seventy nodes: what they take, and whether memory grows."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import multihop._core as _core
from multihop import report
from multihop.experiments.declare import Effort
from multihop.experiments.measures import frame
from multihop.experiments.study import Study
from multihop.experiments.validation.apdr import PAPER
from multihop.experiments.validation.apdr_networks import BASE, LARGEST, ROUTINGS
from multihop.experiments.validation.part import Page
from multihop.report import BLUE, ORANGE

HOURS = 8
ROUTING = "APDR 0.8"
EVERY = 1.0  # s between two samples
# Memory at an hour is the mean over this part of it before and after: one sample has waves in it.
AROUND = 0.2
MAY_GROW = 1.02
RESIDENT, LIVE = 0, 1

# The simulator without the package around it, whose libraries hold three times as much memory. A line
# for each sample: processor time in s, resident memory and what malloc has given out in bytes.
CHILD = """
import ctypes, importlib.util, json, os, sys, threading, time

class Malloc(ctypes.Structure):
    _fields_ = [("numbers", ctypes.c_size_t * 10)]

mallinfo = ctypes.CDLL(None).mallinfo2
mallinfo.restype = Malloc
page = os.sysconf("SC_PAGE_SIZE")

def watch():
    while True:
        with open("/proc/self/statm") as statm:
            resident = page * int(statm.read().split()[1])
        held = mallinfo().numbers
        in_heap, mapped = held[7], held[4]  # uordblks, hblkhd
        print(time.process_time(), resident, in_heap + mapped, flush=True)
        time.sleep(float(sys.argv[2]))

spec = importlib.util.spec_from_file_location("_core", sys.argv[1])
core = importlib.util.module_from_spec(spec)
spec.loader.exec_module(core)
source = sys.stdin.read()
threading.Thread(target=watch, daemon=True).start()
result = json.loads(core.run(source, "json", "scenario", []))
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
    """What a process took."""

    found: dict[str, float]
    """Of the result."""
    wall: float
    samples: list[Sample]

    @property
    def cpu(self) -> float:
        """Processor time, s."""
        return self.samples[-1].cpu

    def between(self, low: float, high: float) -> list[Sample]:
        """Those of a part of the run: processor time passes as simulated time does."""
        return [sample for sample in self.samples if low <= sample.cpu / self.cpu <= high]


def watch(asked: dict[str, Any]) -> Run:
    """Run a scenario in a process of its own, which is looked at meanwhile."""
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", CHILD, _core.__file__, str(EVERY)],
        input=json.dumps(asked),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    wall = time.monotonic() - begun
    *lines, found = done.stdout.splitlines()
    parts = [line.split() for line in lines]
    return Run(
        json.loads(found), wall, [Sample(float(cpu), int(held), int(live)) for cpu, held, live in parts]
    )


def at_hours(run: Run) -> list[tuple[float, float]]:
    """Resident and live memory at each hour, bytes."""
    parts = [((n - AROUND) / HOURS, (n + AROUND) / HOURS) for n in range(1, HOURS)]
    parts.append((1.0 - AROUND / HOURS, 1.0))
    hours = [run.between(*part) for part in parts]
    return [(fmean(s.resident for s in seen), fmean(s.live for s in seen)) for seen in hours]


def memory(study: Study) -> None:
    """Watch a process for eight simulated hours, and another for one."""
    scenario = {"name": study.experiment.id, "seed": 1, **study.experiment.scenario}
    long, short = (watch({**scenario, "duration": 3600.0 * hours}) for hours in (HOURS, 1))
    hours = at_hours(long)
    first, last = hours[0][RESIDENT], hours[-1][RESIDENT]
    study.verdict(
        f"Memory after {HOURS} hours is within {MAY_GROW - 1:.0%} of that after one",
        last <= MAY_GROW * first,
        f"{last / 1e6:.2f} MB, {first / 1e6:.2f} MB, {last / first - 1:+.1%}",
    )
    rows = [
        [
            name,
            f"{run.wall:.0f}",
            f"{run.cpu:.0f}",
            f"{run.found['events'] / 1e6:.0f}",
            f"{run.found['flows']:.0f}",
            f"{run.found['ended']:.0f}",
            f"{max(sample.resident for sample in run.samples) / 1e6:.2f}",
        ]
        for name, run in ((f"{HOURS} hours", long), ("1 hour", short))
    ]
    columns = [
        "run",
        "wall, s",
        "processor, s",
        "million events",
        "transfers begun",
        "ended",
        "peak memory, MB",
    ]
    study.table(frame(columns, rows), "What the runs take")
    rows = [
        [name, *(f"{held[what] / 1e6:.2f}" for held in hours)]
        for name, what in (("resident", RESIDENT), ("given out by malloc", LIVE))
    ]
    study.table(frame(["MB at hour", *(str(n) for n in range(1, HOURS + 1))], rows), "Memory at each hour")
    study.text(
        "Resident is also the interpreter, the program's text, and what malloc keeps for later. What a result says of each transfer has its "
        "place from the start, so that an 8-hour run begins with more memory than a run of an hour. The times of a transfer are counted in "
        "buckets until both its ends are closed or, since the receiver of a sender that gives up never learns of it, until its packets are "
        "gone (2 MSL); from then on only their means and quantiles are kept. What malloc has given out changes by "
        f"{hours[-1][LIVE] / hours[0][LIVE] - 1:+.1%} from hour 1 to hour {HOURS}. That is bounded by the number of nodes: each comes to meet "
        "all others, and keeps for each that it has met an address, a sequence number and a stream of channel errors; tables and queues keep "
        "room for the most that they ever held."
    )
    draw(study, long)


def draw(study: Study, run: Run) -> None:
    """Draw memory over simulated time."""
    figure, axes = report.new_figure("simulated time, h", "memory, MB")
    for label, colour, held in (
        ("resident", BLUE, [sample.resident for sample in run.samples]),
        ("given out by malloc", ORANGE, [sample.live for sample in run.samples]),
    ):
        hour = [HOURS * sample.cpu / run.cpu for sample in run.samples]
        axes.plot(hour, [value / 1e6 for value in held], color=colour, linewidth=1, label=label)
    axes.set_ylim(bottom=0)
    axes.legend()
    study.figure(figure, "Memory of the process over time.")


LONG = Page("apdr-long", PAPER).experiment(
    "apdr-long",
    "APDR for eight hours",
    "What do eight simulated hours of seventy walking nodes take, and is the memory of the process after eight hours what it is after one? "
    f"{LARGEST} nodes, {ROUTING}, ten transfers at a time, otherwise as in validation-apdr-networks, seed 1; an 8-hour run, as in the report's "
    f"section 4. Every {EVERY:.0f} s the process notes its processor time, its resident memory (/proc) and what malloc has given out and not "
    "got back (mallinfo2); simulated time is assumed to pass as processor time does. A separate process runs an hour for comparison.",
    Effort(0),
    scenario={**BASE, "routing": ROUTINGS[ROUTING]},
    axes=(),
    metrics=(),
    more=memory,
)
EXPERIMENTS = (LONG,)
