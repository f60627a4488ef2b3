"""A small network: what the search changes, and the scenario that it stands for."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from multihop.scenario import toml_value

Point = tuple[float, float]

LEAD = 10.0
"""Seconds before the flows of a routing protocol begin: proactive protocols have their routes by then."""
PROBE_INTERVAL = 0.05
"""Seconds between the datagrams that find out whether a routing protocol delivers."""
SERIES_INTERVAL = 0.25
"""Seconds between two rows of recorded goodput."""
PROBE_BYTES = 100
SURE_RANGE = 0.98
"""Share of the range within which two nodes count as neighbours."""


@dataclass(frozen=True)
class Radio:
    """A radio with a fixed rate."""

    name: str
    table: Mapping[str, Any]
    """The scenario's table `[radio]`."""
    reach: float
    """Distance at which half of the frames of 1000 bytes arrive, m."""
    has_rts: bool = False
    """Whether frames are announced by RTS unless `rts_threshold` is set."""


PAPERS_RADIO = Radio("802.11b of ns-2, 2 Mb/s", {}, 250.0, has_rts=True)
RADIOS: tuple[Radio, ...] = (
    PAPERS_RADIO,
    Radio("802.11b, 11 Mb/s", {"phy": "802.11b", "budget": "street", "rate": "11M"}, 562.0),
    Radio("802.11g, 24 Mb/s", {"phy": "802.11g", "budget": "street", "rate": "24M"}, 353.0),
    Radio("802.11g, 54 Mb/s", {"phy": "802.11g", "budget": "street", "rate": "54M"}, 209.0),
    Radio("802.11n, MCS 4", {"phy": "802.11n-20", "budget": "street", "rate": "MCS4"}, 339.0),
    Radio("802.11n, MCS 7", {"phy": "802.11n-20", "budget": "street", "rate": "MCS7"}, 225.0),
    Radio("802.11ax, 40 MHz, MCS 7", {"phy": "802.11ax-40", "budget": "street", "rate": "MCS7"}, 189.0),
)
"""Radios of the search. `multihop check` prints the ranges."""


@dataclass(frozen=True)
class Flow:
    """A greedy flow, or with a routing protocol under test a flow of datagrams."""

    source: int
    target: int
    start: float
    """Seconds after the first flow may begin."""


@dataclass(frozen=True)
class Move:
    """A straight movement of a node."""

    node: int
    start: float
    """Seconds after the first flow may begin."""
    to: Point
    speed: float
    """Metres per second, above 0."""


@dataclass(frozen=True)
class Network:
    """A network without the protocol under test."""

    radio: Radio
    places: tuple[Point, ...]
    flows: tuple[Flow, ...]
    seconds: float
    moves: tuple[Move, ...] = ()
    routing: str = "static"
    """The routing protocol, if a transport is under test."""
    is_rts_changed: bool = False
    """Whether RTS is off where the radio has it, and on where it has not."""
    queue: int = 50
    """Packets in an interface queue."""
    discipline: str = "drop-tail"
    frame_loss: float = 0.0

    def with_transport(self, transport: str, seed: int) -> dict[str, Any]:
        """The scenario in which this transport is under test."""
        flows = [
            {"from": flow.source, "to": flow.target, "start": flow.start, "transport": transport}
            for flow in self.flows
        ]
        return {**self._tables(0.0), "routing": {"protocol": self.routing}, "flow": flows, "seed": seed}

    def with_routing(self, protocol: str, seed: int) -> dict[str, Any]:
        """The scenario in which this routing protocol is under test."""
        flows = [
            {
                "from": flow.source,
                "to": flow.target,
                "start": LEAD + flow.start,
                "app": "cbr",
                "transport": "udp",
                "size": PROBE_BYTES,
                "rate_kbps": PROBE_BYTES * 8 / PROBE_INTERVAL / 1000,
            }
            for flow in self.flows
        ]
        record = {"every": SERIES_INTERVAL, "what": ["goodput"]}
        tables = self._tables(LEAD)
        return {**tables, "routing": {"protocol": protocol}, "flow": flows, "record": record, "seed": seed}

    def _tables(self, lead: float) -> dict[str, Any]:
        mac: dict[str, Any] = {}
        if self.is_rts_changed:
            mac["rts_threshold"] = "off" if self.radio.has_rts else 0
        if self.queue != 50:
            mac["queue"] = self.queue
        if self.discipline != "drop-tail":
            mac["discipline"] = self.discipline
        radio = dict(self.radio.table)
        if self.frame_loss:
            radio["frame_loss"] = self.frame_loss
        tables: dict[str, Any] = {
            "duration": lead + self.seconds,
            "topology": {"kind": "list", "positions": [list(place) for place in self.places]},
        }
        if radio:
            tables["radio"] = radio
        if mac:
            tables["mac"] = mac
        if self.moves:
            tables["mobility"] = {"node": [self._waypoints(move, lead) for move in self.moves]}
        return tables

    def _waypoints(self, move: Move, lead: float) -> dict[str, Any]:
        first, start = self.places[move.node], lead + move.start
        arrival = round(start + math.dist(first, move.to) / move.speed, 3)
        waypoints = [[0.0, *first], [start, *first], [max(arrival, start + 0.001), *move.to]]
        return {"node": move.node, "kind": "waypoints", "waypoints": waypoints}

    def place(self, node: int, time: float) -> Point:
        """Where a node is, in seconds after the first flow may begin."""
        (x, y) = self.places[node]
        for move in self.moves:
            if move.node == node:
                way = math.dist((x, y), move.to)
                share = min(max(time - move.start, 0.0) * move.speed / way, 1.0) if way else 1.0
                return (x + share * (move.to[0] - x), y + share * (move.to[1] - y))
        return (x, y)

    def has_path(self, flow: Flow, time: float) -> bool:
        """Whether nodes in range of each other connect both ends of a flow."""
        places = [self.place(node, time) for node in range(len(self.places))]
        reached, waiting = {flow.source}, [flow.source]
        while waiting:
            here = waiting.pop()
            for node, place in enumerate(places):
                if node not in reached and math.dist(places[here], place) <= SURE_RANGE * self.radio.reach:
                    reached.add(node)
                    waiting.append(node)
        return flow.target in reached

    def words(self) -> str:
        """The network in one line."""
        parts = [
            f"{len(self.places)} nodes",
            f"{self.seconds:g} s",
            self.radio.name,
            f"{len(self.flows)} {'flow' if len(self.flows) == 1 else 'flows'}",
        ]
        if self.moves:
            parts.append(f"{len(self.moves)} moving")
        if self.frame_loss:
            parts.append(f"{self.frame_loss:.0%} of frames lost")
        if self.is_rts_changed:
            parts.append("without RTS" if self.radio.has_rts else "with RTS")
        if self.discipline != "drop-tail":
            parts.append(self.discipline)
        if self.queue != 50:
            parts.append(f"queues of {self.queue}")
        if self.routing != "static":
            parts.append(self.routing)
        return ", ".join(parts)


def toml(scenario: Mapping[str, Any]) -> str:
    """A scenario as a file."""
    return "\n".join(_lines(scenario)) + "\n"


def _lines(scenario: Mapping[str, Any]) -> Iterator[str]:
    for key, value in scenario.items():
        if not _is_table(value):
            yield f"{key} = {toml_value(value)}"
    for key, value in scenario.items():
        if isinstance(value, Mapping):
            nested = {name: part for name, part in value.items() if _is_table(part)}
            plain = {name: part for name, part in value.items() if name not in nested}
            if plain:
                yield from (
                    "",
                    f"[{key}]",
                    *(f"{_word(name)} = {toml_value(part)}" for name, part in plain.items()),
                )
            yield from _lists({f"{key}.{name}": part for name, part in nested.items()})
        elif _is_table(value):
            yield from _lists({key: value})


def _word(key: str) -> str:
    """A key in TOML syntax: dotted paths of the axes of sweeps are quoted."""
    return key if key.isidentifier() else json.dumps(key)


def _lists(tables: Mapping[str, Any]) -> Iterator[str]:
    for key, rows in tables.items():
        for row in rows:
            yield from ("", f"[[{key}]]", *(f"{name} = {toml_value(part)}" for name, part in row.items()))


def _is_table(value: object) -> bool:
    return isinstance(value, Mapping) or (
        isinstance(value, list) and bool(value) and isinstance(value[0], Mapping)
    )


def longest(flags: list[bool]) -> int:
    """Length of the longest run of true values."""
    ends = [-1, *(place for place, flag in enumerate(flags) if not flag), len(flags)]
    return max(after - before - 1 for before, after in pairwise(ends))
