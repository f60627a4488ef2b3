"""How ACKs travel against the data of their flow, read from traces of a single flow."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path


@dataclass
class AckTrips:
    """Delays of data and ACKs in one run, in ms."""

    held: list[float] = field(default_factory=list)
    """Times from the arrival of the newest data to the ACK."""
    clear: list[float] = field(default_factory=list)
    """Delays of ACKs that met no data."""
    crossed: list[float] = field(default_factory=list)
    """Delays of ACKs that met data."""
    gaps: list[float] = field(default_factory=list)
    """Times between departures of data."""
    there: list[float] = field(default_factory=list)
    """One-way delays of data segments."""

    @classmethod
    def read(cls, trace: Path, receiver: int, after: float) -> AckTrips:
        """Trips of what left after this time, s; the sender is node 0."""
        data, acks, held = trips(trace, receiver, after)
        found = cls(held=held, there=[1e3 * (arrived - left) for left, arrived in data])
        departures = [left for left, _ in data]
        found.gaps = [1e3 * (b - a) for a, b in pairwise(departures)]
        for left, arrived in acks:
            near = data[max(0, bisect_left(departures, left) - WINDOW) : bisect_left(departures, arrived)]
            met = any(there > left for _, there in near)
            (found.crossed if met else found.clear).append(1e3 * (arrived - left))
        return found

    @property
    def late(self) -> float:
        """Share of ACKs that a timer made."""
        return sum(held > 0 for held in self.held) / len(self.held)

    @property
    def crossing(self) -> float:
        """Share of ACKs that met data."""
        return len(self.crossed) / (len(self.crossed) + len(self.clear))


Trip = tuple[float, float]


def trips(trace: Path, receiver: int, after: float) -> tuple[list[Trip], list[Trip], list[float]]:
    """Departure and arrival of data and of ACKs, in seconds, and how long ACKs were held, in ms."""
    left: dict[str, float] = {}
    data, acks, held = [], [], []
    newest = 0.0
    with trace.open(encoding="ascii") as lines:
        next(lines)
        for line in lines:
            what, time, node, _, kind, _, uid, *_ = line.split()
            at = float(time)
            if kind not in ("tcp", "ack") or at < after:
                continue
            if what == "s":
                left[uid] = at
                if kind == "ack" and newest > 0:
                    held.append(1e3 * (at - newest))
            elif what == "r" and uid in left:
                if kind == "tcp" and int(node) == receiver:
                    newest = at
                    data.append((left[uid], at))
                elif kind == "ack" and int(node) == 0:
                    acks.append((left[uid], at))
    return sorted(data), acks, held


def quantile(values: Sequence[float], share: float) -> str:
    """The value that this share lies below, as text."""
    return f"{sorted(values)[int(share * len(values))]:.1f}" if values else "none"


# No flow here has more segments on their way than this.
WINDOW = 64
