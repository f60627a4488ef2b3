"""Packet traces of the diamond: why segments come out of order, and how long they take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import fmean

SENDER, RECEIVER = 0, 4
FIRST_HOPS = (1, 5)
LOST = {"IFQ": "queue full", "RET": "given up by the MAC", "NRTE": "no route", "TTL": "in loops", "ARP": "address unknown"}
OTHER_RELAY, SAME_RELAY = "overtaken, other relay", "overtaken, same relay"
CAUSES = (OTHER_RELAY, SAME_RELAY, *LOST.values())


@dataclass
class Copy:
    """A segment as it was sent once."""

    number: int
    sent: float
    relay: int | None = None
    """Number of the first relay of the segment; None before a relay has it."""
    arrived: float | None = None
    lost: str | None = None


@dataclass
class Traced:
    """Copies of all segments in one run, and the causes of reordering."""

    copies: list[Copy] = field(default_factory=list)
    """Copies of segments, in the order of sending."""
    causes: Counter[str] = field(default_factory=Counter)
    """Number of arrivals above the number expected, by what became of the first copy of that
    number.
    """

    @property
    def turns(self) -> list[float]:
        """When the sender's packets began to take another first relay."""
        sent = [copy for copy in self.copies if copy.relay is not None]
        pairs = pairwise(sent)
        return [after.sent for before, after in pairs if before.relay != after.relay]

    @property
    def overtaken(self) -> int:
        """Arrivals before a segment that came later."""
        return self.causes[OTHER_RELAY] + self.causes[SAME_RELAY]

    def delays(self, every: float) -> dict[float, float]:
        """Mean delay of what arrived in each interval, by the interval's begin, s."""
        found: dict[float, list[float]] = {}
        for copy in self.copies:
            if copy.arrived is not None:
                found.setdefault(copy.arrived // every * every, []).append(copy.arrived - copy.sent)
        return {at: fmean(delays) for at, delays in sorted(found.items())}


def read(trace: Path) -> Traced:
    """Read what became of data segments."""
    with trace.open(encoding="utf-8") as lines:
        next(lines)
        return follow(lines)


def follow(lines: Iterable[str]) -> Traced:
    """Follow data segments through the lines of a trace."""
    found = Traced()
    copies: dict[str, Copy] = {}
    arrivals: list[Copy] = []
    first: int | None = None
    for line in lines:
        what, at, node, sequence, kind, reason, uid, *_ = line.split("\t")
        if kind != "tcp":
            continue
        if what == "s":
            first = int(sequence) if first is None else first
            copies[uid] = Copy((int(sequence) - first) % 2**32, float(at))
            found.copies.append(copies[uid])
            continue
        copy = copies[uid]
        if what == "f" and int(node) in FIRST_HOPS and copy.relay is None:
            copy.relay = int(node)
        elif what == "r" and int(node) == RECEIVER and copy.arrived is None:
            copy.arrived = float(at)
            arrivals.append(copy)
        elif what == "D":
            copy.lost = LOST.get(reason)
    explain(found, arrivals)
    return found


def explain(found: Traced, arrivals: Iterable[Copy]) -> None:
    """Count the causes of arrivals out of order."""
    originals: dict[int, Copy] = {}
    for copy in found.copies:
        originals.setdefault(copy.number, copy)
    numbers = list(originals)
    have: set[int] = set()
    expected = 0  # its place in `numbers`
    for copy in arrivals:
        have.add(copy.number)
        if expected < len(numbers) and copy.number > numbers[expected]:
            found.causes[cause(originals[numbers[expected]], copy)] += 1
        while expected < len(numbers) and numbers[expected] in have:
            expected += 1


def cause(missing: Copy, arrival: Copy) -> str:
    """Why a segment was not there before another."""
    if missing.arrived is not None:
        return SAME_RELAY if missing.relay == arrival.relay else OTHER_RELAY
    return missing.lost or "in flight at the end"
