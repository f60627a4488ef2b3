"""The proportional-fair optimum of a generated network: a bound on what any transport can reach.

Two links conflict if they cannot both carry data all the time. `probes` has the scenarios that measure it:
each link by itself, and each two links at once, saturated with datagrams. `Air.measured` makes a conflict
graph of their results. Links of which no two conflict form an independent set; a schedule gives shares of
time to independent sets. `optimum` is an upper bound, over all schedules, on the geometric mean of the
goodput of the flows. It does not count ACKs of a transport, and collisions between links that conflict.

Routes and rates must be fixed, and nodes have one radio: `is_known`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from multihop_papers.gauntlet.generated import Network

Link = tuple[int, int]
"""Numbers of the sending and the receiving node."""
Links = tuple[Link, ...]
"""Links that are saturated at once."""
Array = npt.NDArray[np.float64]

WARMUP, SECONDS = 1.0, 2.0
"""Lengths of the warm-up and of the measurement of a probe, s."""
OFFERED: Mapping[str, float] = {"b": 12e3, "g": 60e3, "n": 400e3, "ac": 900e3, "ax": 1200e3}
"""Datagrams that saturate a link of each radio, kb/s."""
PAYLOAD = 1460
"""Bytes of a datagram, as in a full segment."""
VOICE = 64.0
"""Rate of speech by G.711, kb/s. Its short packets take more airtime: the bound stays one."""
INDEPENDENT = 1.5
"""Sum of the shares of two links from which they do not conflict.

A share is the goodput beside the other link over the goodput alone. In generated networks almost every sum is
0.7 to 1.1, or 1.7 to 2.0.
"""
MOST_SETS = 100_000
"""Independent sets in a network, at most."""
STEPS = 3000
"""Steps of the search for the lowest bound. Each step has a valid bound."""
SMOOTHING = 0.02
"""Share of the largest price of an independent set within which sets count as equal."""


def is_known(drawn: Network) -> bool:
    """Whether a network has fixed routes and rates, so that its optimum can be computed."""
    return drawn.is_fixed and "next_hops" in drawn.scenario["routing"]


def paths(drawn: Network) -> list[list[Link]]:
    """Links of each flow of a network with static routes. A host on a wire counts as its gateway."""
    scenario = drawn.scenario
    next_hops = {(node, target): via for node, target, via in scenario["routing"]["next_hops"]}
    gateways = {host["name"]: host["gateway"] for host in scenario.get("host", ())}
    found = []
    for flow in scenario["flow"]:
        first, last = (gateways.get(flow[end], flow[end]) for end in ("from", "to"))
        nodes = [first]
        while nodes[-1] != last:
            nodes.append(next_hops[nodes[-1], last])
        found.append(list(pairwise(nodes)))
    return found


def optimum(drawn: Network, goodput: Mapping[Links, Sequence[float]]) -> float:
    """Bound on the geometric mean of the goodput of the judged flows, kb/s, from the goodput in each probe.

    The other flows keep their rate. The bound is 0 if they leave no time.
    """
    every, flows = paths(drawn), drawn.scenario["flow"]
    others = [
        (path, flow.get("rate_kbps", VOICE))
        for place, (path, flow) in enumerate(zip(every, flows, strict=True))
        if place not in drawn.judged
    ]
    return Air.measured(goodput).optimum([every[place] for place in drawn.judged], others)


def probes(drawn: Network) -> dict[Links, dict[str, Any]]:
    """Scenarios that measure a network: each link, and each two links without a common station."""
    links = sorted({link for path in paths(drawn) for link in path})
    single: list[Links] = [(link,) for link in links]
    pairs: list[Links] = [pair for pair in combinations(links, 2) if not set(pair[0]) & set(pair[1])]
    return {chosen: _probe(drawn, chosen) for chosen in [*single, *pairs]}


def _probe(drawn: Network, links: Links) -> dict[str, Any]:
    """A scenario of saturated links, without the other nodes of their network."""
    whole = drawn.scenario
    nodes = sorted({node for link in links for node in link})
    place = {node: number for number, node in enumerate(nodes)}
    ends = [(place[sender], place[receiver]) for sender, receiver in links]
    scenario: dict[str, Any] = {
        "warmup": WARMUP,
        "duration": WARMUP + SECONDS,
        "seed": drawn.seed,
        "radio": whole["radio"],
        "topology": {"kind": "list", "positions": [whole["topology"]["positions"][node] for node in nodes]},
        "routing": {"protocol": "static", "next_hops": [[sender, to, to] for sender, to in ends]},
        "flow": [
            {"from": sender, "to": to, "app": "cbr", "rate_kbps": OFFERED[drawn.radio], "size": PAYLOAD}
            | {"transport": "udp"}
            for sender, to in ends
        ],
    }
    if "mac" in whole:
        scenario["mac"] = whole["mac"]
    return scenario


@dataclass(frozen=True)
class Air:
    """Links of a network, what each carries alone, and which of them conflict."""

    links: Sequence[Link]
    capacity: Array
    """Goodput of each link alone, kb/s."""
    conflicts: npt.NDArray[np.bool_]
    """Whether two links, by their places in `links`, conflict."""

    @classmethod
    def measured(cls, goodput: Mapping[Links, Sequence[float]]) -> Air:
        """The air of a network, from the goodput of the links of each probe in kb/s."""
        alone = {links[0]: found[0] for links, found in goodput.items() if len(links) == 1}
        links = sorted(alone)
        conflicts = np.ones((len(links), len(links)), dtype=np.bool_)
        np.fill_diagonal(conflicts, val=False)
        for (first, second), found in ((pair, found) for pair, found in goodput.items() if len(pair) == 2):
            shares = found[0] / alone[first] + found[1] / alone[second]
            places = links.index(first), links.index(second)
            conflicts[places] = conflicts[places[::-1]] = shares < INDEPENDENT
        return cls(links, np.array([alone[link] for link in links]), conflicts)

    def airtime(self, path: Sequence[Link]) -> Array:
        """Time in which each link carries a kilobit of a path, s."""
        return np.array([link in path for link in self.links]) / self.capacity

    def optimum(
        self, judged: Sequence[Sequence[Link]], others: Sequence[tuple[Sequence[Link], float]]
    ) -> float:
        """Bound on the geometric mean of the goodput of flows over these paths, kb/s.

        `others` has the path and the fixed rate, kb/s, of each further flow. The bound is 0 if they leave
        no time.
        """
        load = sum((self.airtime(path) * rate for path, rate in others), np.zeros(len(self.links)))
        return lowest_bound(np.array([self.airtime(path) for path in judged]), self.independent_sets(), load)

    def independent_sets(self) -> Array:
        """Every independent set to which no link can be added: rows of ones and zeros."""
        count = len(self.links)
        free = [
            {other for other in range(count) if other != link and not self.conflicts[link, other]}
            for link in range(count)
        ]
        found: list[set[int]] = []
        _grow(found, free, set(), set(range(count)), set())
        rows = np.zeros((len(found), count))
        for row, links in zip(rows, found, strict=True):
            row[list(links)] = 1.0
        return rows


def _grow(
    found: list[set[int]], free: Sequence[set[int]], chosen: set[int], may: set[int], done: set[int]
) -> None:
    """Add every largest set with these links, others of `may` and none of `done` (Bron, Kerbosch: 1973)."""
    if len(found) >= MOST_SETS:
        raise ValueError(f"found {MOST_SETS} independent sets, allowed: fewer")
    if not may and not done:
        found.append(chosen)
        return
    pivot = max(may | done, key=lambda link: len(free[link] & may))
    for link in sorted(may - free[pivot]):
        _grow(found, free, chosen | {link}, may & free[link], done & free[link])
        may = may - {link}
        done = done | {link}


def lowest_bound(airtime: Array, sets: Array, load: Array) -> float:
    """The lowest bound that a search finds, kb/s.

    Any prices of the links give a bound. A flow that pays `airtime @ prices` for a kilobit takes the rate
    1 / price in the optimum of the sum of logarithms; all flows together cannot pay more than the dearest
    independent set earns, less what the fixed load has used. The search changes the logarithms of prices
    along the gradient, with the step of Adam (Kingma and Ba, 2015).
    """
    flows = len(airtime)
    used = airtime.sum(axis=0) > 0
    logs, mean, square = (np.zeros(len(load)) for _ in range(3))
    best = math.inf
    for step in range(STEPS):
        prices = np.exp(logs) * used
        earned = sets @ prices
        dearest = earned.max()
        left = dearest - prices @ load
        if left <= 0.0:
            return 0.0
        paid = airtime @ prices
        best = min(best, float(-np.log(paid).sum() + flows * math.log(left / flows)))
        weights = np.exp((earned - dearest) / (SMOOTHING * dearest))
        active = weights @ sets / weights.sum()
        slope = (-(airtime / paid[:, None]).sum(axis=0) + flows * (active - load) / left) * prices
        mean = 0.9 * mean + 0.1 * slope
        square = 0.99 * square + 0.01 * slope**2
        logs -= 0.05 / (1.0 + step / 300.0) * mean / (np.sqrt(square) + 1e-9)
    return math.exp(best / flows)
