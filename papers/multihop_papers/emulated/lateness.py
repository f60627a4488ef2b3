"""How late the simulated network is, by its size and rate, on an idle machine and on a busy one."""

from __future__ import annotations

from typing import Any

from multihop_papers.declare import EMULATED, Axis, Document, Effort, Metric, Plot
from multihop_papers.emulated.part import how
from multihop_papers.study import Experiment

STATIONS, SPACING = (4, 10, 30, 100, 300), 200.0
IDLE, BUSY = "idle", "a busy core"
# One process that computes all the time; the emulation shares the processors with it.
LOAD = {IDLE: "true", BUSY: "exec sh -c 'while :; do :; done'"}


def stations(count: int) -> dict[str, Any]:
    """A row of stations in which each fourth sends to the next."""
    flows = [{"from": n, "to": n + 1, "transport": "newreno"} for n in range(2, count - 1, 4)]
    return {"topology.hops": count - 1, "flow": flows}


def quantile(kind: str, name: str, label: str) -> Metric:
    """A quantile of a lateness, ms."""

    def read(document: Document) -> float | None:
        found = document["emulation"][f"{kind}_late_ms"]
        return None if found is None else float(found[name])

    return Metric(f"{kind}-{name}", label, read)


LATENESS = Experiment(
    id="emulated-lateness",
    paper=EMULATED,
    place="how late the network is",
    title="lateness by number of stations and rate",
    found="A row of stations in which each fourth has a greedy simulated flow to the next, while ping sends ten packets a second over one hop. Measured is how late "
    "events are handled, and packets reach a program, by the wall clock. Run it alone: --jobs 1.",
    emulated=True,
    scenario={
        "mac": {"arp": "queueing"},
        "topology": {"kind": "chain", "hops": 3, "spacing": SPACING},
        "program": [
            {"node": 0, "command": "true"},
            {"node": 0, "command": "exec ping -n -i 0.1 -s 1000 $ADDRESS_1", "start": 0.5},
        ],
    },
    axes=[
        Axis("machine", {name: {"program.0.command": command} for name, command in LOAD.items()}),
        Axis("Mb/s", {rate: {"radio.rate": f"{rate}M"} for rate in (2, 11)}),
        Axis("stations", {count: stations(count) for count in STATIONS}, "stations"),
    ],
    metrics=(
        quantile("wakeups", "p50", "events, median, ms"),
        quantile("wakeups", "p99", "events, 99%, ms"),
        quantile("wakeups", "max", "events, most, ms"),
        quantile("deliveries", "p99", "packets, 99%, ms"),
        Metric("lost", "time lost, %", "emulation.lost_share", 100.0),
        Metric("speed", "events handled for each second", lambda document: document["events"] / document["sim_seconds"]),
    ),
    quick=Effort(1, {"duration": 4.0}),
    full=Effort(2, {"duration": 8.0}),
    plots=(
        Plot("line", "wakeups-p99", x="stations", by="machine", panel="Mb/s", caption="Lateness of 99% of the events."),
        Plot("line", "lost", x="stations", by="machine", panel="Mb/s", caption="Share of the time that was lost."),
    ),
    more=how,
)
EXPERIMENTS = (LATENESS,)
