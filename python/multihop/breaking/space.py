"""Points of the unit cube as networks, for an optimiser that knows nothing of networks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from multihop.breaking.network import PAPERS_RADIO, RADIOS, Flow, Move, Network, Point, Radio

Choice = TypeVar("Choice")

MAX_FLOWS = 3
NEAREST, FARTHEST = 0.3, 1.1
"""Distance of a node from the one that it is attached to, in ranges."""
MAX_QUEUE = 200
MIN_QUEUE = 5
MAX_LOSS = 0.2
MAX_SPEED = 30.0
"""Greatest speed of a moving node, m/s."""


@dataclass(frozen=True)
class Bounds:
    """Limits of the networks that are searched."""

    nodes: int = 5
    seconds: float = 10.0
    flows: int = MAX_FLOWS
    radios: tuple[Radio, ...] = RADIOS


@dataclass(frozen=True)
class Space:
    """Networks within bounds: `network` makes one of a point with `size` coordinates from 0 to 1."""

    size: int
    network: Callable[[Sequence[float]], Network]


def transports(bounds: Bounds) -> Space:
    """Networks for a transport under test: greedy flows, at most one node moves."""

    def network(point: Sequence[float]) -> Network:
        take = Coordinates(point)
        radio = take.one_of(bounds.radios)
        places = _places(take, bounds.nodes, radio)
        moves = _moves(take, places, bounds, 1, radio)
        chosen = take.one_of(("static", "static", "aodv"))
        return Network(
            radio=radio,
            places=places,
            flows=_flows(take, len(places), bounds.flows, bounds.seconds / 2),
            seconds=bounds.seconds,
            moves=moves,
            routing="aodv" if moves else chosen,
            is_rts_changed=take.flag(0.3),
            queue=take.sometimes(0.3, 50, lambda share: round(MIN_QUEUE * (MAX_QUEUE / MIN_QUEUE) ** share)),
            discipline=take.one_of(("drop-tail", "drop-tail", "fq-codel")),
            frame_loss=take.sometimes(0.3, 0.0, _loss),
        )

    return Space(_size(bounds.nodes, bounds.flows, 1) + 8, network)


def routing(bounds: Bounds) -> Space:
    """Networks for a routing protocol under test: one flow, every node but one may move."""

    def network(point: Sequence[float]) -> Network:
        take = Coordinates(point)
        places = _places(take, bounds.nodes, PAPERS_RADIO)
        return Network(
            radio=PAPERS_RADIO,
            places=places,
            flows=_flows(take, len(places), 1, 0.0),
            seconds=bounds.seconds,
            moves=_moves(take, places, bounds, bounds.nodes - 1, PAPERS_RADIO),
            frame_loss=take.sometimes(0.3, 0.0, _loss),
        )

    return Space(_size(bounds.nodes, 1, bounds.nodes - 1) + 2, network)


class Coordinates:
    """The coordinates of a point, one after the other."""

    def __init__(self, point: Sequence[float]) -> None:
        self.rest = iter(point)

    def next(self) -> float:
        """The next coordinate, from 0 to just below 1."""
        return min(max(float(next(self.rest)), 0.0), math.nextafter(1.0, 0.0))

    def whole(self, low: int, high: int) -> int:
        """A whole number from low to high."""
        return low + int(self.next() * (high - low + 1))

    def between(self, low: float, high: float) -> float:
        """A number between these."""
        return low + (high - low) * self.next()

    def flag(self, probability: float) -> bool:
        """True for this share of the coordinate's values."""
        return self.next() >= 1.0 - probability

    def sometimes(self, probability: float, otherwise: Choice, of: Callable[[float], Choice]) -> Choice:
        """For this share of a coordinate's values a function of the next one."""
        is_used, share = self.flag(probability), self.next()
        return of(share) if is_used else otherwise

    def one_of(self, values: Sequence[Choice]) -> Choice:
        """One of the values, each with the same share of the coordinate."""
        return values[self.whole(0, len(values) - 1)]


def _loss(share: float) -> float:
    return round(MAX_LOSS * share, 3)


def _size(nodes: int, flows: int, moves: int) -> int:
    """Coordinates of places, flows and moves."""
    return 1 + 3 * (nodes - 1) + 1 + 3 * flows + 6 * moves


def _places(take: Coordinates, most: int, radio: Radio) -> tuple[Point, ...]:
    """Two nodes or more, each attached to an earlier one."""
    nodes = take.whole(2, most)
    places: list[Point] = [(0.0, 0.0)]
    # Coordinates of unused nodes are taken, too: each coordinate then always has one meaning.
    while len(places) < most:
        x, y = places[-1] if take.flag(0.7) else places[0]
        distance = take.between(NEAREST, FARTHEST) * radio.reach
        turn = math.tau * (take.next() - 0.5)
        places.append((round(x + distance * math.cos(turn), 1), round(y + distance * math.sin(turn), 1)))
    return tuple(places[:nodes])


def _flows(take: Coordinates, nodes: int, most: int, latest: float) -> tuple[Flow, ...]:
    """Flows between different nodes, at most so many; the first one begins at once."""
    number = take.whole(1, most)
    flows = []
    for place in range(most):
        source = take.whole(0, nodes - 1)
        target = (source + take.whole(1, nodes - 1)) % nodes
        start = take.between(0.0, latest)
        flows.append(Flow(source, target, 0.0 if place == 0 else round(start, 2)))
    return tuple(flows[:number])


def _moves(
    take: Coordinates, places: Sequence[Point], bounds: Bounds, most: int, radio: Radio
) -> tuple[Move, ...]:
    """Nodes that move, at most so many."""
    moves: dict[int, Move] = {}
    for _ in range(most):
        is_used = take.flag(0.5)
        node = take.whole(0, len(places) - 1)
        start = round(take.between(0.0, bounds.seconds / 2), 2)
        distance, turn = take.between(0.2, 2.0) * radio.reach, math.tau * take.next()
        x, y = places[node]
        to = (round(x + distance * math.cos(turn), 1), round(y + distance * math.sin(turn), 1))
        speed = round(take.between(1.0, MAX_SPEED), 1)
        if is_used:
            moves[node] = Move(node, start, to, speed)
    return tuple(moves.values())
