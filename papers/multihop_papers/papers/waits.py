"""Times that flows wait, by reason, from traces."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from pathlib import Path

Stretch = tuple[float, float]


@dataclass
class Waits:
    """Times that all flows of one run waited together, in seconds."""

    timer: float = 0.0
    """Time without a packet of the flow anywhere, which data ends: the sender waited for a timer."""
    hold: float = 0.0
    """Time without a packet of the flow anywhere, which an ACK ends: the receiver waited for more
    data.
    """
    origin: float = 0.0
    """Time in which all packets of the flow are where they were made, for longer than `AT_ONCE`: they
    wait for a route, or for a MAC that does not get through."""
    travelling: float = 0.0
    """The rest: something is on its way."""
    quiet: float = 0.0
    """Time in which nothing of any flow is on its way."""
    lost: int = 0
    """Segments with data dropped on their way."""

    @classmethod
    def read(cls, trace: Path, after: float) -> Waits:
        """Waits from a trace file, of what happens after so many seconds."""
        waits = cls()
        quiet = [waits.add(moves, after) for moves in flows(trace).values()]
        waits.quiet = sum(end - start for start, end in reduce(common, quiet))
        return waits

    def add(self, moves: Sequence[Move], after: float) -> list[Stretch]:
        """One flow; returns when it is not travelling."""
        here: dict[str, Place] = {}
        quiet = []
        for last, move in pairwise([moves[0], *moves]):
            if last.at >= after:
                start = self.step(here, last.at, move)
                quiet.append((start, move.at))
                self.travelling += start - last.at
                self.lost += move.what == "D" and move.is_data and not move.is_end
            if move.what in "sf":
                made = here[move.uid].made if move.uid in here else move.at
                here[move.uid] = Place(made, is_origin=move.what == "s")
            else:
                here.pop(move.uid, None)
        return quiet

    def step(self, here: dict[str, Place], since: float, move: Move) -> float:
        """The stretch from `since` to the next move; returns when travelling ends in it."""
        if not here:
            if move.is_data:
                self.timer += move.at - since
            else:
                self.hold += move.at - since
            return since
        if not all(place.is_origin for place in here.values()):
            return move.at
        stuck = max(place.made for place in here.values()) + AT_ONCE
        start = min(max(since, stuck), move.at)
        self.origin += move.at - start
        return start


@dataclass(frozen=True)
class Place:
    """Where a packet is."""

    made: float
    is_origin: bool


@dataclass(frozen=True)
class Move:
    """A line of a trace: a packet is made (s), is passed on (f), arrives (r) or is lost (D)."""

    at: float
    what: str
    uid: str
    is_data: bool
    is_end: bool


def flows(trace: Path) -> dict[frozenset[str], list[Move]]:
    """The moves of TCP's and TPA's segments, by the two ends."""
    found = defaultdict(list)
    with trace.open(encoding="ascii") as lines:
        for ends, move in moves(lines):
            found[ends].append(move)
    return found


def moves(lines: Iterator[str]) -> Iterator[tuple[frozenset[str], Move]]:
    """Each move, and the ends of its flow."""
    next(lines)
    for line in lines:
        what, time, _, _, kind, reason, uid, source, target, *_ = line.split()
        if kind in ("tcp", "tpa", "ack"):
            yield frozenset((source, target)), Move(float(time), what, uid, kind != "ack", reason == "END")


def common(some: Sequence[Stretch], others: Sequence[Stretch]) -> list[Stretch]:
    """Intersection of two lists of stretches, each in order."""
    found = []
    i = j = 0
    while i < len(some) and j < len(others):
        start, end = max(some[i][0], others[j][0]), min(some[i][1], others[j][1])
        if start < end:
            found.append((start, end))
        if some[i][1] < others[j][1]:
            i += 1
        else:
            j += 1
    return found


# A packet that gets a channel at once leaves its origin within this time, in seconds.
AT_ONCE = 0.1
