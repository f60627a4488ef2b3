"""Routing daemons side by side: ours, olsrd and babeld, over stations with Ethernet interfaces and kernels that route."""

from __future__ import annotations

import itertools
import math
import re
from typing import Any

from multihop_papers.declare import EMULATED, Axis, Document, Effort, Metric, Plot, Settings
from multihop_papers.emulated.part import how
from multihop_papers.emulated.probe import EVERY
from multihop_papers.emulated.programs import LATE
from multihop_papers.study import Experiment

OLSRD = (
    'printf "IpVersion 4\\nUseHysteresis no\\nLinkQualityLevel 0\\nDebugLevel 0\\nInterface \\"radio0\\" {{\\n'
    'HelloInterval 2.0\\nHelloValidityTime 6.0\\nTcInterval 5.0\\nTcValidityTime 15.0\\n}}\\n" > olsrd-{node}.conf; '
    "olsrd -f olsrd-{node}.conf -nofork"
)
BABELD = "babeld -I babel-{node}.pid -S babel-{node}.state -C 'interface radio0 type wireless'"
OURS = "$MULTIHOP route radio0 --quiet"
DAEMONS = {
    "multihop, OLSR": [OURS],
    "multihop, APDR": [OURS + " --set routing.protocol=apdr"],
    "multihop, AODV": [OURS + " --set routing.protocol=aodv"],
    "olsrd": [OLSRD],
    "babeld": [BABELD],
    "multihop and olsrd": [OURS, OLSRD],
}
"""The commands of the stations, in turns."""

JOIN, COUNT, COUNTED, AWAY, BACK, AWAY_AGAIN, END = 8.0, 25, 15, 42.0, 67.0, 87.0, 112.0
"""When stations come into reach, when bytes are counted and for how long, and when one relay or the other is away, s."""
START, ASKED = 1.0, END - 6.0
"""When questions begin, and for how long, s."""
SPACING, APART, MOVE = 200.0, 700.0, 1.0
"""Metres between neighbours, and to stations that are out of reach; seconds of a move."""

# Bytes of IP packets with routing messages: broadcasts of IPv4, and all of IPv6, which only babeld uses. The replies and errors that AODV sends to
# single neighbours are left out.
COUNTER = (
    "{ awk '/^IpExt:/{if(n++)for(i=2;i<=NF;i++){if(h[i]==\"OutBcastOctets\")b=$i}else split($0,h)}END{print b}' /proc/net/netstat; "
    "awk '/^Ip6OutOctets/{print $2}' /proc/net/snmp6; } | tr '\\n' ' '"
)


def station(daemon: str, node: int) -> str:
    """Runs a daemon at a node, and says twice how many bytes it has sent."""
    return f"({daemon.format(node=node)}) > daemon-{node}.txt 2>&1 & sleep {COUNT}; {COUNTER}; sleep {COUNTED}; {COUNTER}; wait"


def daemons(nodes: int) -> Axis:
    """The axis of daemons."""
    values: dict[str, Settings] = {}
    for name, commands in DAEMONS.items():
        values[name] = {f"program.{n}.command": station(commands[n % len(commands)], n) for n in range(nodes)}
    return Axis("daemon", values)


def programs(nodes: int, to: int) -> list[dict[str, Any]]:
    """A daemon at each node, and questions of the first to another."""
    seconds = int(ASKED)
    answer = {"node": to, "command": "exec $PROBE answer"}
    ask = {"node": 0, "command": f"exec $PROBE ask 10.0.0.{to + 1} {seconds}", "start": START}
    return [*({"node": n, "command": "true"} for n in range(nodes)), answer, ask]


def ring(nodes: int) -> list[list[float]]:
    """Positions at which each node reaches two others."""
    radius = SPACING / 2 / math.sin(math.pi / nodes)
    turns = [2 * math.pi * n / nodes for n in range(nodes)]
    return [[round(radius * (1 + math.cos(t)), 1), round(radius * (1 + math.sin(t)), 1)] for t in turns]


def moves(nodes: int) -> list[list[list[float]]]:
    """All nodes come into reach; then a relay of one side goes away and comes back, and one of the other goes."""
    paths = []
    for n, (x, y) in enumerate(ring(nodes)):
        apart = [x, y + APART * (n + 1)]
        path = [[0.0, *apart], [JOIN - MOVE, *apart], [JOIN, x, y]]
        if n == 1:
            path += [[AWAY, x, y], [AWAY + MOVE, *apart], [BACK - MOVE, *apart], [BACK, x, y]]
        if n == nodes - 1:
            path += [[AWAY_AGAIN, x, y], [AWAY_AGAIN + MOVE, *apart]]
        paths.append(path)
    return paths


def answers(document: Document) -> list[range]:
    """Which questions were answered."""
    said = str(document["outputs"][-1])
    return [range(int(first), int(last) + 1) for first, last in re.findall(r"(\d+)-(\d+)", said)]


def converged(document: Document) -> float | None:
    """Seconds from the instant at which all nodes are in reach to the first answer."""
    found = answers(document)
    return START + EVERY * found[0].start - JOIN if found else None


def repaired(document: Document) -> float | None:
    """The longest time without an answer, after the first."""
    found = answers(document)
    return max((EVERY * (after.start - before.stop) for before, after in itertools.pairwise(found)), default=None)


def delivered(document: Document) -> float | None:
    """Questions that were answered after the daemons had time to begin, %."""
    settled = round((COUNT - START) / EVERY)
    sent = round(ASKED / EVERY) - settled
    return 100 * sum(number >= settled for part in answers(document) for number in part) / sent


def control(document: Document) -> float | None:
    """Bytes of IP packets with routing messages, per second and station."""
    shares = []
    for said in document["outputs"][:-2]:
        words = [int(word) for word in re.findall(r"\b\d+\b", str(said))]
        if len(words) != 4:
            return None
        shares.append((sum(words[2:]) - sum(words[:2])) / COUNTED)
    return sum(shares) / len(shares)


CONVERGED = Metric("converged", "to the first answer, s", converged)
REPAIRED = Metric("repaired", "longest gap, s", repaired)
DELIVERED = Metric("delivered", "answered, %", delivered)
CONTROL = Metric("control", "routing bytes / s", control)
TAP: Settings = {"mac": {"arp": "queueing"}, "emulation": {"interface": "tap"}}
ABOUT = (
    "multihop route with OLSR, APDR and AODV, olsrd 0.5.3 in the mode of RFC 3626 with the same intervals, babeld with its defaults for wireless "
    "interfaces, and OLSR of both programs in turns. "
)


def compared(name: str, title: str, found: str, *, runs: int, nodes: int, **rest: Any) -> Experiment:
    """An experiment with every daemon."""
    return Experiment(
        id=f"emulated-{name}",
        paper=EMULATED,
        place="real programs over the simulated network",
        title=title,
        found=found,
        emulated=True,
        axes=[daemons(nodes)],
        quick=Effort(1, {"duration": END}),
        full=Effort(runs, {"duration": END}),
        more=how,
        **rest,
    )


def broken(nodes: int) -> Experiment:
    """A ring that loses a relay on either side."""
    return compared(
        f"routing-ring-{nodes}",
        f"routing daemons on a ring of {nodes}",
        f"{ABOUT}All of {nodes} stations come into reach of their two neighbours {JOIN:g} s after the start; the first asks the opposite one by UDP ten times a "
        f"second. At {AWAY:g} s a relay of one side goes away for {BACK - AWAY:g} s, at {AWAY_AGAIN:g} s one of the other side, so that the path in use breaks at "
        f"least once. Bytes are those of IP packets from {COUNT} s to {COUNT + COUNTED} s, per station.",
        runs=3,
        nodes=nodes,
        scenario={
            **TAP,
            "topology": {"kind": "list", "positions": ring(nodes)},
            "mobility": {"kind": "waypoints", "waypoints": moves(nodes)},
            "program": programs(nodes, nodes // 2),
        },
        metrics=(CONVERGED, REPAIRED, CONTROL, LATE),
        plots=(Plot("bar", "repaired", x="daemon", caption=f"Longest time without an answer on a ring of {nodes}, 95% intervals."),),
    )


def moving(nodes: int) -> Experiment:
    """Experiment with moving stations."""
    return compared(
        f"routing-moving-{nodes}",
        f"routing daemons and {nodes} moving stations",
        f"{ABOUT}{nodes} stations move at 5 m/s without pause in 500 m x 300 m (random waypoint, another movement for each seed and the same for all daemons); the first asks the "
        "last ten times a second by UDP. Not all movements have a path at all times.",
        runs=5,
        nodes=nodes,
        scenario={
            **TAP,
            "topology": {"kind": "random", "nodes": nodes, "area": [500.0, 300.0]},
            "mobility": {"kind": "random-waypoint", "speed": [5.0, 5.0], "pause": 0.0},
            "program": programs(nodes, nodes - 1),
        },
        metrics=(DELIVERED, REPAIRED, CONTROL, LATE),
        plots=(Plot("bar", "delivered", x="daemon", caption=f"Questions answered among {nodes} moving stations, 95% intervals."),),
    )


FLOW_START, FLOW_SECONDS = 30, 120
SOURCE, DESTINATION = 0, 4
"""First and last station of the layout: two paths of four hops each."""
PORT = 5201
# When the route of the source to the destination was replaced, and the relay.
WATCH = (
    f"sleep {FLOW_START}; timeout -s INT {FLOW_SECONDS} ip -ts monitor route | "
    f'awk \'$2=="10.0.0.{DESTINATION + 1}"&&$3=="via"{{print substr($1,13,15), $4}}\''
)
LONG: Settings = {"duration": FLOW_START + FLOW_SECONDS + 12.0, "program.10.start": float(FLOW_START)}
WEIGHTED = OURS + " --set routing.protocol=apdr --set routing.weight={weight}"
CHOICES = {
    "OLSR": OURS,
    "APDR 0.2": WEIGHTED.replace("{weight}", "0.2"),
    "APDR 0.8": WEIGHTED.replace("{weight}", "0.8"),
    "APDR 0.8, paths kept": WEIGHTED.replace("{weight}", "0.8") + " --set routing.hysteresis=1",
}
RELAY = re.compile(r"(\d\d):(\d\d):(\d\d\.\d+) (\S+)")


def relays(document: Document) -> list[tuple[float, str]]:
    """When the source replaced its relay to the destination, and by which."""
    found = RELAY.findall(str(document["outputs"][-2]))
    named = [(3600 * int(h) + 60 * int(m) + float(s), relay) for h, m, s, relay in found]
    # A route is announced again when something else of it changes.
    return [one for before, one in itertools.pairwise([(0.0, ""), *named]) if one[1] != before[1]]


def changes(document: Document) -> float:
    """How often the source chose the other relay."""
    return max(0, len(relays(document)) - 1)


def returns(document: Document) -> float:
    """How often it returned to a relay that it had left less than 10 s before."""
    found = relays(document)
    return sum(later[0] - left[0] <= 10 for left, later in itertools.pairwise(found[1:]))


def of_sender(*path: str) -> Any:
    """A number of iperf3's report."""

    def read(document: Document) -> float | None:
        said: Any = document["outputs"][-1]
        for key in ("end", *path):
            if isinstance(said, list):
                said = said[0]
            if not isinstance(said, dict) or key not in said:
                return None
            said = said[key]
        return float(said)

    return read


DIAMOND = Experiment(
    id="emulated-apdr-diamond",
    paper=EMULATED,
    place="real programs over the simulated network",
    title="routes of least delay, real daemons",
    found="The diamond of the paper on average path-delay routing (validation-apdr-diamond) with multihop route at each of its eight stations, kernels that forward, and the "
    f"kernel's Reno (iperf3) from S to D for {FLOW_SECONDS} s, with at most 64 KiB in flight: how often S changes its relay to D, and how often it returns to one that it left less than "
    "10 s before. No path is reserved for the flow; each node keeps its route while the path exists (hysteresis = 1). tools/reserved_paths.py measures reserved paths.",
    emulated=True,
    scenario={
        "radio": {"rate": "11M"},
        "mac": {"arp": "queueing", "flavour": "standard", "rts_threshold": "off"},
        "topology": {"kind": "diamond"},
        "emulation": {"interface": "tap"},
        "program": [
            *({"node": n, "command": "true"} for n in range(8)),
            {"node": DESTINATION, "command": f"exec iperf3 -s -p {PORT}"},
            {"node": SOURCE, "command": WATCH},
            {
                "node": SOURCE,
                "command": f"exec iperf3 -c 10.0.0.{DESTINATION + 1} -p {PORT} -t {FLOW_SECONDS} -C reno -w 64K -J",
            },
        ],
    },
    axes=[Axis("routing", {name: {f"program.{n}.command": f"exec {command}" for n in range(8)} for name, command in CHOICES.items()})],
    metrics=(
        Metric("changes", "relay changes", changes),
        Metric("returns", "returns within 10 s", returns),
        Metric("goodput", "goodput, kb/s", of_sender("sum_received", "bits_per_second"), 1e-3),
        Metric("rtt", "mean round trip, ms", of_sender("streams", "sender", "mean_rtt"), 1e-3),
        Metric("again", "retransmitted segments", of_sender("sum_sent", "retransmits")),
        LATE,
    ),
    quick=Effort(1, LONG),
    full=Effort(3, LONG),
    plots=(Plot("bar", "changes", x="routing", caption="How often S changed its relay to D, 95% intervals."),),
    more=how,
)

EXPERIMENTS = (broken(4), broken(8), moving(4), moving(8), DIAMOND)
