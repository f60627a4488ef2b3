"""The settings of a run of ns-2, which `network.tcl` reads."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass
from pathlib import Path

Position = tuple[float, float]
FOURTH_ADDRESS = 6
"""ns-2.35 counts a fourth address, 6 bytes, in the header of every data frame. Packets are shorter by as
many, so that frames are as long as ours."""
TCP_IP = 40
UDP_IP = {"static": 28, "AODV": 8, "DSR": 8}
"""Bytes of the UDP and IP headers that ns-2 does not add to a datagram: its agents for AODV and DSR add 20
for IP."""
RANGE = 250.0
"""m: ns-2's default decode range."""
SENSE_RANGE = 550.0
"""m: ns-2's default sense range."""
TWO_RAY_GROUND = 0.28183815 * 1.5**4
"""W m^4: ns-2's default transmit power times the fourth power of its antenna height; over the fourth power of
a distance it gives the received power."""
AREA_MARGIN = 1.0
"""m around all positions, which ns-2 wants inside of its area."""


@dataclass(frozen=True)
class Flow:
    """A flow; `rate_kbps` makes it one of datagrams."""

    source: int
    destination: int
    start: float
    variant: str = "Newreno"
    delayed_acks: bool = False
    window: int = 20
    """Largest window of a TCP sender, in segments."""
    rate_kbps: float = 0.0
    payload: int = 1460

    def words(self, routing: str) -> str:
        """The flow as a list of Tcl."""
        if self.rate_kbps:
            size = self.payload + UDP_IP[routing] - FOURTH_ADDRESS
            return self._list("Agent/UDP", "Agent/Null", {"packetSize_": size}, size)
        sink = "Agent/TCPSink/DelAck" if self.delayed_acks else "Agent/TCPSink"
        return self._list(
            f"Agent/TCP/{self.variant}", sink, {"packetSize_": self.payload, "window_": self.window}, 0
        )

    def _list(self, agent: str, sink: str, attributes: dict[str, int], size: int) -> str:
        pairs = " ".join(f"{name} {value}" for name, value in attributes.items())
        # The CBR application sends `size` bytes at a rate that counts them; ours counts the payload.
        rate = self.rate_kbps * size / self.payload if size else 0
        return f"{self.source} {self.destination} {self.start} {agent} {sink} {{{pairs}}} {rate:.6f} {size}"


@dataclass(frozen=True)
class Network:
    """A run of ns-2."""

    duration: float
    routing: str
    """`static`, `AODV` or `DSR`."""
    movement: str
    """Positions and movement in setdest's format."""
    flows: tuple[Flow, ...]
    data_rate: str = "2Mb"
    basic_rate: str = "1Mb"
    rto_min: float = 0.2
    sense_range: float = SENSE_RANGE

    def script(self, seed: int, movement: Path, trace: Path, *, frames: bool) -> str:
        """The file of settings; `frames` puts those of the MAC into the trace."""
        places = positions(self.movement)
        routes = static_routes(places) if self.routing == "static" else []
        settings = {
            "seed": str(seed),
            "duration": str(self.duration),
            "nodes": str(len(places)),
            "movement": str(movement),
            "trace": str(trace),
            "area": " ".join(f"{side + AREA_MARGIN}" for side in corner(self.movement)),
            "routing": self.routing,
            "routes": " ".join(f"{{{at} {to} {via}}}" for at, to, via in routes),
            "defaults": " ".join(f"{{{line}}}" for line in self.defaults()),
            "flows": " ".join(f"{{{flow.words(self.routing)}}}" for flow in self.flows),
            "mac": str(int(frames)),
        }
        return "".join(f"set net({name}) {{{value}}}\n" for name, value in settings.items())

    def defaults(self) -> list[str]:
        """Class, variable and value of what differs from ns-2's own settings."""
        sensing = f"Phy/WirelessPhy CSThresh_ {TWO_RAY_GROUND / (self.sense_range + 0.02) ** 4:.6e}"
        return [
            *([sensing] if self.sense_range != SENSE_RANGE else []),
            f"Mac/802_11 dataRate_ {self.data_rate}",
            f"Mac/802_11 basicRate_ {self.basic_rate}",
            f"Agent/TCP minrto_ {self.rto_min}",
            f"Agent/TCP tcpip_base_hdr_size_ {TCP_IP - FOURTH_ADDRESS}",
            f"Agent/TCPSink packetSize_ {TCP_IP - FOURTH_ADDRESS}",
        ]


def positions(movement: str) -> list[Position]:
    """Where the nodes begin."""
    found = re.findall(r"^\$node_\((\d+)\) set ([XY])_ (\S+)", movement, re.MULTILINE)
    values = {(int(node), axis): float(value) for node, axis, value in found}
    return [(values[node, "X"], values[node, "Y"]) for node in sorted({node for node, _ in values})]


def corner(movement: str) -> Position:
    """The largest coordinates of the starts and of the turns."""
    starts = positions(movement)
    turns = re.findall(r"setdest (\S+) (\S+) ", movement)
    points = starts + [(float(x), float(y)) for x, y in turns]
    return max(x for x, _ in points), max(y for _, y in points)


def static_routes(places: list[Position]) -> list[tuple[int, int, int]]:
    """Node, destination and next hop of routes with the fewest hops; of several the first neighbour."""
    near = [
        [b for b in range(len(places)) if b != a and _distance(places[a], places[b]) <= RANGE]
        for a in range(len(places))
    ]
    return [
        (at, to, min(near[at], key=lambda hop: hops[hop]))
        for to in range(len(places))
        for hops in [_hops(near, to)]
        for at in range(len(places))
        if at != to and hops[at] < len(places)
    ]


def _hops(near: list[list[int]], to: int) -> list[int]:
    """Hops from each node; as many as there are nodes where no route exists."""
    hops = [len(near)] * len(near)
    hops[to] = 0
    waiting = deque([to])
    while waiting:
        at = waiting.popleft()
        for other in near[at]:
            if hops[other] > hops[at] + 1:
                hops[other] = hops[at] + 1
                waiting.append(other)
    return hops


def _distance(a: Position, b: Position) -> float:
    return float(((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2) ** 0.5)
