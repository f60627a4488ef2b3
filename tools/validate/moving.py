"""Fifty moving nodes: scenarios, runs, and what is measured in them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import multihop
from losses import Losses
from multihop import Result
from multihop.stats import Interval, interval
from protocols import PROTOCOLS
from study import K, repeat

SEEDS = range(1, 11)
NODES = 50
AREAS = {"square": (1000.0, 1000.0), "strip": (1500.0, 300.0)}  # m
# m/s; the slowest moves 0.2 m: places as dense as with movement, but no link breaks.
REST, FAST = 0.001, 20.0
SPEEDS = {"square": (REST, 1.0, 5.0, 10.0, FAST), "strip": (REST, 5.0, FAST)}
FLOWS = 10
PER_SECOND = 4
PAYLOAD = 512
SECONDS = 200.0
WARMUP = 20.0
STAGGER = 1.025  # s; the sources take turns, 25 ms after each other
STOP = 195.0
TRACED = 3  # seeds


class Case(NamedTuple):
    """One curve's point."""

    area: str
    protocol: str
    speed: float

    def scenario(self, *, arp: str = "ns2", **options: Any) -> dict[str, Any]:
        """The scenario, with more options of the protocol."""
        flow = {"app": "cbr", "rate_kbps": 8e-3 * PAYLOAD * PER_SECOND, "size": PAYLOAD, "stop": STOP}
        area = list(AREAS[self.area])
        return {
            "name": f"{self.area}-{self.protocol}-{self.speed:g}",
            "duration": SECONDS,
            "warmup": WARMUP,
            "topology": {"kind": "random", "nodes": NODES, "area": area, "connected": False},
            "mobility": {"kind": "random-waypoint", "speed": [0.5 * self.speed, 1.5 * self.speed]},
            "mac": {"arp": arp},
            "routing": {**PROTOCOLS[self.protocol].routing, **options},
            "flow": [
                {"from": i, "to": i + FLOWS, "start": WARMUP + STAGGER * i, **flow} for i in range(FLOWS)
            ],
        }


class Metric(NamedTuple):
    """One number of a run."""

    name: str
    of: Callable[[Result], float]
    drawn: str = ""
    """Name of the figure, if there is one."""
    log: bool = False


def run(scenarios: Mapping[K, Mapping[str, Any]]) -> dict[K, list[Result]]:
    """Each scenario over the seeds."""
    return repeat(scenarios, SEEDS)


def trace(case: Case) -> Losses:
    """Where datagrams are lost, by the traces of the first seeds."""
    with tempfile.TemporaryDirectory(prefix="multihop-") as scratch:
        paths = [Path(scratch) / f"{seed}.txt" for seed in SEEDS[:TRACED]]
        multihop.run_all(
            {**case.scenario(), "seed": seed, "trace": path} for seed, path in zip(SEEDS, paths, strict=False)
        )
        return Losses.read(paths)


def mean(results: list[Result], metric: Metric) -> Interval:
    """Over the seeds."""
    return interval(metric.of(result) for result in results)


def gain(better: list[Result], worse: list[Result], metric: Metric) -> Interval:
    """Difference, seed by seed."""
    return interval(metric.of(a) - metric.of(b) for a, b in zip(better, worse, strict=True))


def total(result: Result, key: str) -> float:
    """Sum over the flows."""
    return float(sum(flow[key] for flow in result.data["flows"]))


def weighted(result: Result, value: Callable[[dict[str, Any]], float | None]) -> float:
    """Mean over the datagrams that were delivered, from means over those of each flow."""
    flows = [(value(flow), float(flow["segments_delivered"])) for flow in result.data["flows"]]
    known = [(mean, weight) for mean, weight in flows if mean is not None]
    return sum(mean * weight for mean, weight in known) / sum(weight for _, weight in known)


def control(result: Result, what: str) -> float:
    """Packets or bytes of the routing protocol, every hop of them, for each datagram delivered."""
    return float(sum(result.routing[what].values()) / total(result, "segments_delivered"))


DELIVERY = Metric(
    "share of datagrams delivered",
    lambda result: total(result, "segments_delivered") / total(result, "segments_sent"),
    "delivery",
)
PACKETS = Metric("control packets / datagram delivered", lambda result: control(result, "packets"), "packets")
BYTES = Metric("control bytes / datagram delivered", lambda result: control(result, "bytes"), "bytes")
INVALID = Metric(
    "packets dropped for want of a route, %", lambda result: 100 * result.routing["invalid_routes"]
)
DELAY = Metric(
    "mean delay, ms",
    lambda result: weighted(result, lambda flow: (flow["delay_ms"] or {}).get("mean")),
    "delay",
    log=True,
)
STRETCH = Metric(
    "links crossed / links of the shortest path",
    lambda result: weighted(result, lambda flow: flow["stretch"]),
    "stretch",
)
PARTITIONED = Metric(
    "share of time without a path", lambda result: total(result, "partitioned") / len(result.data["flows"])
)
