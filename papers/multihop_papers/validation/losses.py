"""Where datagrams are lost, read from traces."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path


@dataclass
class Losses:
    """Losses of several runs together."""

    reasons: Counter[str] = field(default_factory=Counter)
    """Datagrams lost, by the code of a trace line."""
    runs: list[int] = field(default_factory=list)
    """Lengths of runs of consecutive datagrams of one flow that one node's MAC gave up on."""

    def add(self, trace: Path) -> None:
        """Count those of a trace file of a scenario whose flows are all `cbr`."""
        given_up = defaultdict(list)
        for node, flow, number, reason in dropped(trace):
            self.reasons[reason] += 1
            if reason == "RET":
                given_up[node, flow].append(number)
        for numbers in given_up.values():
            self.runs += lengths(sorted(numbers))

    @property
    def mean_run(self) -> float:
        """Mean number of datagrams lost in a row."""
        return sum(self.runs) / len(self.runs)


def dropped(trace: Path) -> Iterator[tuple[str, tuple[str, str], int, str]]:
    """Node, flow, number and reason of each datagram that was dropped before the end."""
    with trace.open(encoding="ascii") as lines:
        for line in lines:
            if line.startswith("D"):
                _, _, node, number, packet, reason, _, source, target, *_ = line.split()
                if packet == "cbr" and reason != "END":
                    yield node, (source, target), int(number), reason


def lengths(numbers: Sequence[int]) -> list[int]:
    """Lengths of the stretches of numbers without a gap."""
    found = [1] if numbers else []
    for before, after in pairwise(numbers):
        if after == before + 1:
            found[-1] += 1
        else:
            found.append(1)
    return found
