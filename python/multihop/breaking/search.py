"""The search: CMA-ES with restarts. A file keeps the badness of each network."""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

from multihop.breaking.measures import Measure
from multihop.breaking.network import Network
from multihop.breaking.space import Space
from multihop.files import write_text
from multihop.journal import Journal
from multihop.results import Result
from multihop.runs import Run, Where, complete
from multihop.scenario import request

FIRST_POINTS = 60
"""Random networks of a restart; the search begins at the worst one."""
POPULATION = 12
FIRST_STEP = 0.25
MAX_STALE = 12
"""Generations without a new worst network after which the search restarts."""
SEED = 1
"""Seed of the first simulation of each network."""
MORE_SEEDS = (2, 3)
"""Seeds of two more simulations of a network that is bad enough with the first seed, maybe by bad luck."""
CANDIDATES = 12
"""Worst networks of the search that are run again with other seeds: some of them had only bad luck."""
OVERHEAD = 0.005
"""CPU seconds added to each simulation: checking the scenario, reading the result."""
SECONDS_IN_MINUTE = 60.0

Scenario = dict[str, Any]


class MissingError(RuntimeError):
    """An optional package is not installed."""


class Scores:
    """Badness of networks by key, with the CPU seconds that it took, in a file of JSON lines."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.known: dict[str, tuple[float, float]] = {}
        if not path.is_file():
            return
        whole, _, rest = path.read_text(encoding="utf-8").rpartition("\n")
        if rest:  # the last line is not whole after a loss of power
            write_text(path, whole and f"{whole}\n")
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                key, badness, seconds = json.loads(line)
            except ValueError as error:
                raise ValueError(f"{path}, line {number}: not a score: {line[:60]}") from error
            self.known[key] = (badness, seconds)

    def add(self, found: Mapping[str, tuple[float, float]]) -> None:
        """Keep the badness of further networks."""
        self.known |= found
        with self.path.open("a", encoding="utf-8") as file:
            file.writelines(f"{json.dumps([key, *value])}\n" for key, value in found.items())


@dataclass
class Judge:
    """Runs networks, and says how badly the protocol does in them."""

    protocol: str
    rivals: Sequence[str]
    measure: Measure
    scenario: Callable[[Network, str, int], Scenario]
    """The scenario of a network with a protocol and a seed."""
    scores: Scores
    where: Where
    spent: dict[str, float] = field(default_factory=dict)
    """CPU seconds of the networks that were needed so far, by key."""

    def badness(self, networks: Sequence[Network], seeds: Sequence[int]) -> list[float]:
        """Mean badness over seeds of each network."""
        keys = [self._key(network, seeds, self.protocol) for network in networks]
        missing = {
            key: network for key, network in zip(keys, networks, strict=True) if key not in self.scores.known
        }
        journal = Journal()
        found: dict[str, tuple[float, float]] = {}
        for key, by_seed in zip(missing, self._runs(list(missing.values()), seeds, journal), strict=True):
            network = missing[key]
            costs = [journal.cost(run.key) + OVERHEAD for runs in by_seed for run in runs.values()]
            results = [self._results(runs, journal) for runs in by_seed]
            # A search for one of the rivals begins with the same networks, and finds their scores here.
            for name in self._protocols():
                values = [self.measure.badness(network, name, result) for result in results]
                found[self._key(network, seeds, name)] = (fmean(values), round(sum(costs), 4))
        self.scores.add(found)
        self.spent |= {key: self.scores.known[key][1] for key in keys}
        return [self.scores.known[key][0] for key in keys]

    def results(self, network: Network, seeds: Sequence[int]) -> list[Mapping[str, Result]]:
        """Results of a network by seed and by protocol."""
        journal = Journal()
        [by_seed] = self._runs([network], seeds, journal)
        return [self._results(runs, journal) for runs in by_seed]

    def minutes(self) -> float:
        """CPU minutes of all networks that were needed so far, also of those that the file had."""
        return sum(self.spent.values()) / SECONDS_IN_MINUTE

    def axis(self) -> dict[str, Any]:
        """The axis of a sweep that compares the protocols in a network."""
        if self.measure.has_rivals:
            return {"flow.*.transport": self._protocols()}
        return {"routing.protocol": self._protocols()}

    def _key(self, network: Network, seeds: Sequence[int], protocol: str) -> str:
        """A key that depends on the version of the program and on all that decides about the badness."""
        own = Run.of(request(self.scenario(network, protocol, seeds[0]), {}))
        return " ".join([own.key, self.measure.words, *map(str, seeds), *sorted(self._protocols())])

    def _protocols(self) -> Sequence[str]:
        return [self.protocol, *(self.rivals if self.measure.has_rivals else ())]

    def _runs(
        self, networks: Sequence[Network], seeds: Sequence[int], journal: Journal
    ) -> list[list[Mapping[str, Run]]]:
        """Runs of the networks by seed and by protocol, which are in the journal afterwards."""
        runs: list[list[Mapping[str, Run]]] = [
            [
                {name: Run.of(request(self.scenario(network, name, seed), {})) for name in self._protocols()}
                for seed in seeds
            ]
            for network in networks
        ]
        complete(
            [run for by_seed in runs for by_name in by_seed for run in by_name.values()], journal, self.where
        )
        return runs

    def _results(self, runs: Mapping[str, Run], journal: Journal) -> Mapping[str, Result]:
        return {name: journal.result(run.key) for name, run in runs.items()}


@dataclass
class Found:
    """The worst networks so far."""

    looked_at: int = 0
    worst: list[tuple[float, int, Network]] = field(default_factory=list)
    """Badness, number and network: a heap whose first element is the least bad."""

    def add(self, networks: Sequence[Network], scores: Sequence[float]) -> None:
        """Look at further networks."""
        for network, badness in zip(networks, scores, strict=True):
            self.looked_at += 1
            if all(network != other for _, _, other in self.worst):
                heapq.heappush(self.worst, (badness, -self.looked_at, network))
                if len(self.worst) > CANDIDATES:
                    heapq.heappop(self.worst)

    @property
    def badness(self) -> float:
        """Badness of the worst network, with the search's own seeds."""
        return max(badness for badness, _, _ in self.worst)

    def networks(self) -> list[Network]:
        """The worst networks, the worst first."""
        return [network for _, _, network in sorted(self.worst, key=lambda entry: -entry[0])]


def search(space: Space, judge: Judge, minutes: float, seed: int) -> Iterator[Found]:
    """The worst networks so far, after each generation, until the CPU minutes are used up.

    The points depend on nothing but `seed` and the results. A repeated search with the same file of scores
    therefore finds its networks there, and continues where it stopped.
    """
    found = Found()
    for points, scores in generations(space, judge, seed):
        found.add([space.network(point) for point in points], scores)
        yield found
        if judge.minutes() >= minutes:
            return


def generations(
    space: Space, judge: Judge, seed: int
) -> Iterator[tuple[Sequence[Sequence[float]], Sequence[float]]]:
    """Points and their badness, without end."""
    try:
        import cma
    except ImportError as error:
        raise MissingError("the optimiser is not installed: pip install 'multihop[break]'") from error
    restart = 0
    while True:
        restart += 1
        rng = Random(f"multihop/break/{seed}/{restart}")
        points = [[rng.random() for _ in range(space.size)] for _ in range(FIRST_POINTS)]
        scores = robust(judge, [space.network(point) for point in points])
        yield points, scores
        first = points[max(range(len(points)), key=scores.__getitem__)]
        options = {
            "bounds": [0.0, 1.0],
            "popsize": POPULATION,
            "seed": rng.randrange(1, 2**31),
            "verbose": -9,
        }
        strategy = cma.CMAEvolutionStrategy(first, FIRST_STEP, options)
        best, stale = max(scores), 0
        while stale < MAX_STALE and not strategy.stop():
            asked = strategy.ask()
            points = [[round(float(value), 6) for value in point] for point in asked]
            scores = robust(judge, [space.network(point) for point in points])
            strategy.tell(asked, [-score for score in scores])
            yield points, scores
            stale = 0 if max(scores) > best else stale + 1
            best = max(best, *scores)


def robust(judge: Judge, networks: Sequence[Network]) -> list[float]:
    """Badness of networks with the first seed, or with two more if that is less: no bad luck."""
    scores = judge.badness(networks, (SEED,))
    bad = [place for place, badness in enumerate(scores) if badness >= judge.measure.bad]
    for place, more in zip(bad, judge.badness([networks[place] for place in bad], MORE_SEEDS), strict=True):
        scores[place] = min(scores[place], more)
    return scores
