"""Makes a found network as small, short and round as possible while the protocol does badly in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from multihop.breaking.network import Flow, Move, Network, Point
from multihop.breaking.search import Judge

SEEDS = (2001, 2002, 2003, 2004, 2005)
"""Seeds of the simulations that decide whether a smaller network is kept; the search uses others."""
KEPT = 0.85
"""Share of the badness that a smaller network must keep."""
MARGIN = 1.2
"""Badness that smaller networks keep, relative to what counts as bad: with other seeds it is often less."""
MIN_SECONDS = 2.0


def shrink(candidates: Sequence[Network], judge: Judge) -> Network:
    """Take the candidate that is the worst with other seeds, and make it smaller as long as that works."""
    scores = judge.badness(candidates, SEEDS)
    badness, network = max(zip(scores, candidates, strict=True), key=lambda entry: entry[0])
    bound = max(badness * KEPT, min(badness, MARGIN * judge.measure.bad))
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for candidate in smaller(network):
            if judge.badness([candidate], SEEDS)[0] >= bound:
                network, is_smaller = candidate, True
                break
    return network


def smaller(network: Network) -> Iterator[Network]:
    """Networks that are simpler by one step, those that differ most first."""
    for step in (with_fewer_flows, with_fewer_nodes, with_fewer_moves, with_defaults, shorter, rounder):
        for simpler in step(network):
            if all(flow.start < simpler.seconds for flow in simpler.flows):
                yield simpler


def with_fewer_flows(network: Network) -> Iterator[Network]:
    """Networks without one of several flows."""
    if len(network.flows) > 1:
        for flow in range(len(network.flows)):
            yield replace(network, flows=network.flows[:flow] + network.flows[flow + 1 :])


def with_fewer_nodes(network: Network) -> Iterator[Network]:
    """Networks without a node at which no flow ends."""
    used = {end for flow in network.flows for end in (flow.source, flow.target)}
    for node in range(len(network.places)):
        if node not in used:
            yield without_node(network, node)


def with_fewer_moves(network: Network) -> Iterator[Network]:
    """Networks in which a moving node stands."""
    for move in network.moves:
        yield replace(network, moves=tuple(other for other in network.moves if other != move))


def with_defaults(network: Network) -> Iterator[Network]:
    """Networks with the default value of a setting."""
    changes: list[Mapping[str, Any]] = [
        {"frame_loss": 0.0},
        {"is_rts_changed": False},
        {"discipline": "drop-tail"},
        {"queue": 50},
    ]
    if not network.moves:
        changes.append({"routing": "static"})
    for change in changes:
        simpler = replace(network, **change)
        if simpler != network:
            yield simpler


def shorter(network: Network) -> Iterator[Network]:
    """The network with half of the time."""
    seconds = round(network.seconds / 2)
    if MIN_SECONDS <= seconds < network.seconds:
        yield replace(network, seconds=float(seconds))


def rounder(network: Network) -> Iterator[Network]:
    """Networks with rounder numbers."""
    for grid in (50.0, 10.0):
        rounded = replace(
            network,
            places=tuple(_on(grid, place) for place in network.places),
            moves=tuple(replace(move, to=_on(grid, move.to)) for move in network.moves),
        )
        if _is_rounder(network, rounded, grid):
            yield rounded
    for grid in (5.0, 1.0):
        rounded = replace(
            network,
            flows=tuple(replace(flow, start=_near(grid, flow.start)) for flow in network.flows),
            moves=tuple(
                replace(move, start=_near(grid, move.start), speed=max(_near(grid, move.speed), 1.0))
                for move in network.moves
            ),
        )
        if rounded != network and not _times_on(grid, network):
            yield rounded
    loss = round(network.frame_loss, 1) or 0.05
    if network.frame_loss not in (0.0, 0.05, loss):
        yield replace(network, frame_loss=loss)


def without_node(network: Network, node: int) -> Network:
    """A network without a node that no flow ends at; later nodes move up."""

    def number(old: int) -> int:
        return old - (old > node)

    return replace(
        network,
        places=network.places[:node] + network.places[node + 1 :],
        flows=tuple(Flow(number(flow.source), number(flow.target), flow.start) for flow in network.flows),
        moves=tuple(
            Move(number(move.node), move.start, move.to, move.speed)
            for move in network.moves
            if move.node != node
        ),
    )


def _is_rounder(network: Network, rounded: Network, grid: float) -> bool:
    """Whether the places become rounder, and stay apart."""
    coarser = all(_on(grid, place) == place for place in network.places)
    return rounded != network and not coarser and len(set(rounded.places)) == len(rounded.places)


def _times_on(grid: float, network: Network) -> bool:
    values = [flow.start for flow in network.flows]
    values += [value for move in network.moves for value in (move.start, move.speed)]
    return all(_near(grid, value) == value for value in values)


def _on(grid: float, place: Point) -> Point:
    return (_near(grid, place[0]), _near(grid, place[1]))


def _near(grid: float, value: float) -> float:
    return round(value / grid) * grid + 0.0
