"""A route that vanishes under a running transfer, and comes back by a routing daemon."""

from __future__ import annotations

import re
from typing import Any

from multihop_papers.declare import EMULATED, Document, Effort, Metric, Plot
from multihop_papers.emulated.part import how
from multihop_papers.emulated.programs import LATE, TRANSPORTS, choice
from multihop_papers.study import Experiment

START, AWAY, BACK, END = 25, 45.0, 65.0, 95.0
"""When the transfer begins, and when the relay is out of reach, s."""
SECONDS = int(END) - START - 5
LAST = 3
"""The destination: three hops from node 0."""
RELAY = 2
SPACING, APART, MOVE = 200.0, 900.0, 0.2
DAEMON = "exec $MULTIHOP route radio0 --quiet"
ROUTES = (
    f"timeout -s INT {int(END) - 2} ip -ts monitor route | "
    f'awk \'$0 ~ /10.0.0.{LAST + 1} /{{print ($2=="Deleted"?"gone":"back"), substr($1,13,15)}}\''
)
ARRIVALS = f"exec $PROBE arrivals radio0 {int(END) - 2}"
AT = re.compile(r"(\d\d):(\d\d):(\d\d\.\d+)")


def seconds(clock: str) -> float:
    """Seconds since midnight of a time of day."""
    found = AT.search(clock)
    assert found is not None
    return 3600 * int(found[1]) + 60 * int(found[2]) + float(found[3])


def events(document: Document, word: str) -> list[float]:
    """When the source lost its route (gone), or had one again (back), as times of day."""
    return [seconds(line) for line in str(document["outputs"][-2]).splitlines() if line.startswith(word)]


def gap(document: Document) -> tuple[float, float] | None:
    """When data stopped arriving and when it arrived again: the longest time in which the source lost its route."""
    lines = [line.split() for line in str(document["outputs"][-1]).splitlines() if AT.match(line)]
    pairs = [(seconds(before), seconds(after)) for before, after in lines]
    gone = events(document, "gone")
    lost = [one for one in pairs if any(one[0] < at < one[1] for at in gone)]
    return max(lost, key=lambda one: one[1] - one[0], default=None)


def route_back(document: Document) -> float | None:
    """When the source had its route again, for the last time in that silence."""
    found = gap(document)
    back = events(document, "back")
    return max((at for at in back if found[0] < at <= found[1]), default=None) if found else None


def resumed(document: Document) -> float | None:
    """Time from the return of the route to the first data at the destination, s."""
    found, back = gap(document), route_back(document)
    return None if found is None or back is None else found[1] - back


def silent(document: Document) -> float | None:
    """How long no data arrived, s."""
    found = gap(document)
    return None if found is None else found[1] - found[0]


def programs() -> list[dict[str, Any]]:
    """A server and a client, a daemon at each station, and two that watch."""
    client = {
        "node": 0,
        "command": "true",
        "environment": [f"TO=10.0.0.{LAST + 1}", f"SECONDS={SECONDS}", "RATE=0"],
    }
    return [
        {"node": LAST, "command": "true"},
        client,
        *({"node": n, "command": DAEMON} for n in range(LAST + 1)),
        {"node": 0, "command": ROUTES},
        {"node": LAST, "command": ARRIVALS},
    ]


def positions() -> list[list[float]]:
    """Positions of the stations of a chain."""
    return [[SPACING * n, 0.0] for n in range(LAST + 1)]


def moves() -> list[list[list[float]]]:
    """One relay goes out of reach and comes back."""
    paths = [[[0.0, x, y]] for x, y in positions()]
    x, y = positions()[RELAY]
    paths[RELAY] += [[AWAY, x, y], [AWAY + MOVE, x, APART], [BACK - MOVE, x, APART], [BACK, x, y]]
    return paths


NAMES = ("reno", "cubic", "bbr", "quinn", "TPA 12", "mesh")
OUTAGE = Experiment(
    id="emulated-outage",
    paper=EMULATED,
    place="real programs over the simulated network",
    title="a route that vanishes for 20 s",
    found=f"Three hops with multihop route (OLSR) at each of four stations, whose kernels forward. The second relay is out of reach from {AWAY:g} to {BACK:g} s. OLSR notices "
    "it and finds the route again; a transfer has to notice that. Resumed: from the instant at which the kernel of the source has the route again to the first data at the "
    "destination. Silent: the time without data there.",
    emulated=True,
    scenario={
        "mac": {"arp": "queueing"},
        "emulation": {"interface": "tap"},
        "topology": {"kind": "list", "positions": positions()},
        "mobility": {"kind": "waypoints", "waypoints": moves()},
        "program": programs(),
    },
    axes=[choice({name: TRANSPORTS[name] for name in NAMES})],
    metrics=(Metric("resumed", "resumed after, s", resumed), Metric("silent", "silent for, s", silent), LATE),
    quick=Effort(1, {"duration": END, "program.1.start": float(START)}),
    full=Effort(3, {"duration": END, "program.1.start": float(START)}),
    plots=(Plot("bar", "resumed", x="transport", caption="From the return of the route to the first data, 95% intervals."),),
    more=how,
)
EXPERIMENTS = (OUTAGE,)
