"""Shortest paths of nodes that stand still."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

RANGE = 250.0
"""Transmission range of ns-2's radio, m."""


def distances(positions: Sequence[Sequence[float]], source: int) -> dict[int, int]:
    """Links from one node to each that it can reach."""
    found = {source: 0}
    waiting = deque([source])
    while waiting:
        here = waiting.popleft()
        x, y = positions[here]
        for node, (u, v) in enumerate(positions):
            if node not in found and (u - x) ** 2 + (v - y) ** 2 <= RANGE**2:
                found[node] = found[here] + 1
                waiting.append(node)
    return found
