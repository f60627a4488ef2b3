"""Measures of badness: what the search looks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

import polars as pl

from multihop.breaking.network import LEAD, PROBE_INTERVAL, SERIES_INTERVAL, Network, longest
from multihop.results import Result

WORST_START = -1.0
"""Badness of a network in which nothing can be compared."""
MIN_BEST = 20.0
"""Goodput in kb/s below which a network is not worth a comparison."""
SIMILAR = 0.8
"""Share of the greater goodput above which delays and shares of flows are compared."""

Results = Mapping[str, Result]
"""Results in one network and with one seed, by protocol."""
Measured = Callable[[Network, str, Results], float]


@dataclass(frozen=True)
class Measure:
    """How badly a protocol does in a network: greater is worse."""

    words: str
    bad: float
    """Badness from which on a network counts as found."""
    badness: Measured
    has_rivals: bool = True
    """Whether other protocols run in each network, too."""


def share(_: Network, protocol: str, results: Results) -> float:
    """One minus the goodput as a share of the best rival's."""
    best = max(result.goodput_kbps for name, result in results.items() if name != protocol)
    return 1.0 - results[protocol].goodput_kbps / best if best >= MIN_BEST else WORST_START


def delay(_: Network, protocol: str, results: Results) -> float:
    """One minus the least 95% delay of rivals with similar goodput as a share of the protocol's."""
    own, rivals = _similar(protocol, results)
    least = [value for result in rivals if (value := _p95(result)) is not None]
    mine = _p95(own)
    return 1.0 - min(least) / mine if least and mine else WORST_START


def fairness(_: Network, protocol: str, results: Results) -> float:
    """Jain's index of the fairest rival with similar goodput, less the protocol's."""
    own, rivals = _similar(protocol, results)
    if len(own.data["flows"]) < 2 or not rivals:
        return WORST_START
    return max(float(result.totals["jain"]) for result in rivals) - float(own.totals["jain"])


def hole(network: Network, protocol: str, results: Results) -> float:
    """Longest time in seconds in which nothing arrives, while a path has existed since the start."""
    series = results[protocol].series
    found = [0.0]
    for number, flow in enumerate(network.flows):
        rows = series.filter(
            (pl.col("subject") == "flow") & (pl.col("id") == number) & (pl.col("series") == "goodput_kbps")
        )
        values = {
            time - LEAD: value
            for time, value in rows.select("time", "value").iter_rows()
            if time - LEAD - SERIES_INTERVAL >= flow.start
        }
        connected = takewhile(lambda time, flow=number: _is_connected(network, flow, time), values)  # type: ignore[misc]
        found.append(longest([values[time] == 0.0 for time in connected]) * SERIES_INTERVAL)
    return max(found)


def loop(_: Network, protocol: str, results: Results) -> float:
    """Seconds of traffic that circulated until its time to live was over."""
    return results[protocol].drops.get("ttl", 0) * PROBE_INTERVAL


def _is_connected(network: Network, flow: int, time: float) -> bool:
    """Whether a path exists at the begin, in the middle and at the end of the row that ends at `time`."""
    moments = [time - SERIES_INTERVAL, time - SERIES_INTERVAL / 2, time]
    return all(network.has_path(network.flows[flow], moment) for moment in moments)


def _similar(protocol: str, results: Results) -> tuple[Result, Sequence[Result]]:
    """The protocol's result, and those of rivals that deliver nearly as much or more."""
    own = results[protocol]
    enough = max(SIMILAR * own.goodput_kbps, MIN_BEST)
    return own, [
        result for name, result in results.items() if name != protocol and result.goodput_kbps >= enough
    ]


def _p95(result: Result) -> float | None:
    return result.delay_ms["p95"] if result.delay_ms else None


TRANSPORTS: Mapping[str, Measure] = {
    "share": Measure("goodput as a share of the best", 0.5, share),
    "delay": Measure("95% quantile of delay", 0.5, delay),
    "fairness": Measure("Jain's index of the flows", 0.3, fairness),
}
ROUTING: Mapping[str, Measure] = {
    "hole": Measure("silence although a path exists", 3.0, hole, has_rivals=False),
    "loop": Measure("packets that circulate", 3.0, loop, has_rivals=False),
}
