"""Routing daemons side by side: how long hosts do not reach each other after a start, and after what happens to a relay."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from multihop_papers.declare import EMULATED, Axis, Document, Effort, Metric, Plot, Settings
from multihop_papers.emulated.part import how
from multihop_papers.emulated.programs import LATE
from multihop_papers.emulated.routing import BABELD, OURS, TAP
from multihop_papers.study import Experiment

LAST = 4
"""The host that is asked: four hops from node 0."""
RELAY = 2
SPACING, APART, MOVE = 200.0, 900.0, 0.2
"""Metres between neighbours and to a relay that is out of reach, and seconds of its move."""

START, KILL, RESTART, DOWN, UP, CHANGE = 2, 24, 25, 50, 65, 90
"""When daemons start, and when something happens to the relay, in seconds of its script."""
AWAY, BACK, END = 116.0, 131.0, 158.0
"""When the relay is out of reach, and the end, in seconds of virtual time."""
WINDOW = 23.0
"""Seconds after an event in which silence counts."""
NEW_ADDRESS = "10.0.0.103"

DAEMONS = {
    "multihop, OLSR": OURS,
    "multihop, APDR": OURS + " --set routing.protocol=apdr",
    "multihop, AODV": OURS + " --set routing.protocol=aodv",
    # A daemon that is killed leaves its file with the process number, without which the next one starts.
    "babeld": f"rm -f babel-{{node}}.pid; {BABELD}",
}
STAMP = "date +{event}=%s.%N"


def stamp(event: str) -> str:
    """Prints the name of an event and the time of day."""
    return STAMP.format(event=event)


def daemon(command: str, node: int) -> str:
    """Runs a daemon whose output goes to a file of its node."""
    words = command.format(node=node).rsplit("; ", 1)
    return "; ".join([*words[:-1], f"exec {words[-1]}"]) + f" >> daemon-{node}.txt 2>&1"


def station(command: str, node: int) -> str:
    """A daemon that runs all the time."""
    return f"sleep {START}; {stamp('start')}; {daemon(command, node)}"


def relay(command: str, node: int) -> str:
    """The relay's daemon is killed and started again, its interface goes down and up, and its address changes."""
    run = f"({daemon(command, node)}) &"
    return (
        f"sleep {START}; {stamp('start')}; {run} pid=$!; sleep {KILL - START}; {stamp('kill')}; kill -9 $pid; "
        f"sleep {RESTART - KILL}; {run} sleep {DOWN - RESTART}; ip link set radio0 down; sleep {UP - DOWN}; "
        f"{stamp('up')}; ip link set radio0 up; sleep {CHANGE - UP}; {stamp('change')}; "
        f"ip addr del 10.0.0.{node + 1}/24 dev radio0; ip addr add {NEW_ADDRESS}/24 brd + dev radio0; wait"
    )


def commands(command: str) -> Settings:
    """Settings by which every station runs one kind of daemon."""
    return {f"program.{n}.command": (relay if n == RELAY else station)(command, n) for n in range(LAST + 1)}


def programs() -> list[dict[str, Any]]:
    """A daemon at each node, the time at which the relay is in reach again, and questions of the first to the last."""
    return [
        *({"node": n, "command": "true"} for n in range(LAST + 1)),
        {"node": 0, "command": stamp("back")},
        {"node": LAST, "command": "exec $PROBE answer"},
        {"node": 0, "command": f"exec $PROBE silences 10.0.0.{LAST + 1} {int(END) - 4}"},
    ]


def moves() -> list[list[list[float]]]:
    """A chain of which one relay goes out of reach and comes back."""
    paths = [[[0.0, SPACING * n, 0.0]] for n in range(LAST + 1)]
    x = SPACING * RELAY
    paths[RELAY] += [[AWAY, x, 0.0], [AWAY + MOVE, x, APART], [BACK - MOVE, x, APART], [BACK, x, 0.0]]
    return paths


def times(document: Document, event: str) -> list[float]:
    """When an event happened, as each station that printed it says."""
    said = " ".join(str(output) for output in document["outputs"])
    return [float(found) for found in re.findall(rf"\b{event}=([\d.]+)", said)]


def silences(document: Document) -> list[tuple[float, float]]:
    """From one answer to the next, if none came for a while; the first silence ends with the first answer."""
    return [(float(a), float(b)) for a, b in re.findall(r"([\d.]+)-([\d.]+)", str(document["outputs"][-1]))]


def converged(document: Document) -> float | None:
    """Seconds from the last start of a daemon to the first answer."""
    found, starts = silences(document), times(document, "start")
    return found[0][1] - max(starts) if found and len(starts) == LAST + 1 else None


def silent(event: str) -> Callable[[Document], float | None]:
    """Seconds without an answer after an event."""

    def read(document: Document) -> float | None:
        found, at = silences(document), times(document, event)
        if not found or not at:
            return None
        begin, end = at[0], at[0] + WINDOW
        return sum(max(0.0, min(last, end) - max(first, begin)) for first, last in found)

    return read


LENGTH: Settings = {"duration": END, f"program.{LAST + 1}.start": BACK}
RECOVERY = Experiment(
    id="emulated-routing-recovery",
    paper=EMULATED,
    place="real programs over the simulated network",
    title="routing daemons after a start, and after what happens to a relay",
    found=f"Five stations in a chain, multihop route with OLSR, APDR and AODV, and babeld with its defaults for wireless interfaces. The first asks the last, four hops "
    "away, ten times a second by UDP. Cold start: from the start of all daemons at one instant to the first answer. Then, for the relay in the middle, the time without "
    f"an answer within {WINDOW:g} s: after its daemon is killed (kill -9) and started again {RESTART - KILL} s later, counted from the kill; after its interface was down "
    f"for {UP - DOWN} s; after its address has changed, of which no daemon is told but by its kernel; and after it was out of reach for {BACK - AWAY:g} s.",
    emulated=True,
    scenario={
        **TAP,
        "topology": {"kind": "list", "positions": [[SPACING * n, 0.0] for n in range(LAST + 1)]},
        "mobility": {"kind": "waypoints", "waypoints": moves()},
        "program": programs(),
    },
    axes=[Axis("daemon", {name: commands(command) for name, command in DAEMONS.items()})],
    metrics=(
        Metric("cold", "cold start, s", converged),
        Metric("killed", "killed and restarted, s", silent("kill")),
        Metric("up", "interface up, s", silent("up")),
        Metric("changed", "address changed, s", silent("change")),
        Metric("back", "in reach again, s", silent("back")),
        LATE,
    ),
    quick=Effort(1, LENGTH),
    full=Effort(5, LENGTH),
    plots=(Plot("bar", "cold", x="daemon", caption="From the start of all daemons to the first answer, 95% intervals."),),
    more=how,
)
EXPERIMENTS = (RECOVERY,)
