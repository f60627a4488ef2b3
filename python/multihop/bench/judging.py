"""The measures of a bench: by run, by network, and over all networks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev

from multihop.bench.networks import Network
from multihop.results import Result
from multihop.stats import Interval, interval


@dataclass(frozen=True)
class Measures:
    """Measures of one run."""

    goodput: float
    """Goodput of the judged flows together, kb/s."""
    delay: float | None
    """95% quantile of the one-way delays, ms; `None` if nothing arrived."""
    jain: float | None
    """Jain's index over intervals of 2 s; `None` for a single flow."""
    variation: float | None
    """Standard deviation over mean of the goodput in each second; `None` without goodput."""
    part: float | None
    """Goodput of the judged flow, in equal shares of the wire; `None` without a flow of CUBIC."""

    @classmethod
    def of(cls, network: Network, result: Result) -> Measures:
        """The measures of a run of the network."""
        flows = result.data["flows"]
        goodput = sum(flow["goodput_kbps"] for flow in flows[: network.judged])
        total = sum(flow["goodput_kbps"] for flow in flows)
        is_shared = network.judged < len(flows)
        delays = result.totals.get("delay_ms")
        return cls(
            goodput=goodput,
            delay=None if is_shared or delays is None else delays["p95"],
            jain=result.totals.get("jain_instant") if network.judged > 1 else None,
            variation=_variation(network, result),
            part=(len(flows) * goodput / total if total > 0 else None) if is_shared else None,
        )


def _variation(network: Network, result: Result) -> float | None:
    """Variation of the goodput from second to second, after the warm-up."""
    seconds: dict[float, float] = {}
    for row in result.series.iter_rows(named=True):
        is_judged = row["series"] == "goodput_kbps" and row["id"] < network.judged
        if is_judged and row["time"] > network.scenario["warmup"] + 0.5:
            seconds[row["time"]] = seconds.get(row["time"], 0.0) + row["value"]
    mean = fmean(seconds.values()) if seconds else 0.0
    return pstdev(seconds.values()) / mean if mean > 0 else None


class Judged:
    """All runs of a bench."""

    def __init__(self, networks: Sequence[Network], names: Sequence[str], seeds: Sequence[int]) -> None:
        self.networks = list(networks)
        self.names = list(names)
        """The controller under test first, then its rivals."""
        self.seeds = list(seeds)
        self.runs: dict[tuple[str, str, int], Measures] = {}

    def add(self, network: Network, name: str, seed: int, result: Result) -> None:
        """Keep the measures of a run from its result."""
        self.runs[network.name, name, seed] = Measures.of(network, result)

    def values(self, network: Network, name: str, measure: str) -> list[float]:
        """A measure of a controller in a network, by seed; seeds without a value are left out."""
        found = (getattr(self.runs[network.name, name, seed], measure) for seed in self.seeds)
        return [value for value in found if value is not None]

    def alone(self, kinds: Iterable[str] | None = None) -> list[Network]:
        """The networks without a flow of CUBIC, of these kinds."""
        chosen = None if kinds is None else set(kinds)
        return [
            one for one in self.networks if one.kind != "rival" and (chosen is None or one.kind in chosen)
        ]

    def best(self, network: Network, names: Sequence[str]) -> float:
        """The greatest mean goodput of some controllers in a network, kb/s."""
        return max(fmean(self.values(network, name, "goodput")) for name in names)

    def share(self, network: Network, name: str) -> Interval:
        """Goodput in a network relative to the best rival's mean, over seeds, %."""
        best = self.best(network, self.names[1:])
        return (
            interval([100 * value / best for value in self.values(network, name, "goodput")])
            if best > 0
            else ZERO
        )

    def over(self, networks: Sequence[Network], name: str) -> Interval:
        """Goodput relative to the best of all controllers in each network, over the networks, %."""
        shares = []
        for network in networks:
            if (best := self.best(network, self.names)) > 0:
                shares.append(100 * fmean(self.values(network, name, "goodput")) / best)
        return interval(shares) if shares else ZERO

    def wins(self, name: str) -> int:
        """Number of networks in which no other controller has a greater mean goodput."""
        return sum(
            fmean(self.values(one, name, "goodput")) >= self.best(one, self.names) > 0 for one in self.alone()
        )

    def mean(self, networks: Sequence[Network], name: str, measure: str) -> Interval | None:
        """The mean of a measure over the networks that have it."""
        found = [fmean(values) for one in networks if (values := self.values(one, name, measure))]
        return interval(found) if found else None

    def worse(self, network: Network, measure: str) -> float | None:
        """How much greater a measure of the controller under test is than the rivals' median in a network."""
        own = self.values(network, self.names[0], measure)
        others = [fmean(values) for name in self.names[1:] if (values := self.values(network, name, measure))]
        if not own or not others:
            return None
        others.sort()
        middle = len(others) // 2
        median = others[middle] if len(others) % 2 else fmean(others[middle - 1 : middle + 1])
        return fmean(own) - median

    def rows(self) -> list[Mapping[str, object]]:
        """A row for each run."""
        return [
            {
                "network": network.name,
                "kind": network.kind,
                "title": network.title,
                "controller": name,
                "seed": seed,
                "goodput_kbps": run.goodput,
                "delay_p95_ms": run.delay,
                "jain": run.jain,
                "variation": run.variation,
                "part_beside_cubic": run.part,
            }
            for network in self.networks
            for name in self.names
            for seed in self.seeds
            for run in [self.runs[network.name, name, seed]]
        ]


ZERO = Interval(0.0, 0.0, 1, 0.95)
