"""The rule that draws the networks of `multihop bench cc`.

`network(kind, number)` is always the same network. Its scenario lacks the transport of the judged flows and
the seed of the run, which also moves the starts of the flows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from multihop.bench.traces import trace

Table = dict[str, Any]

RULE = 1
"""Version of the rule: another version draws other networks."""
KINDS: Mapping[str, int] = {
    "chain": 25,
    "mobile": 12,
    "wifi": 18,
    "cellular": 15,
    "satellite": 10,
    "wire": 10,
    "rival": 10,
}
"""Number of networks of each kind, 100 in all."""
WORDS: Mapping[str, str] = {
    "chain": "chains of 1 to 8 hops, 802.11b and 802.11g",
    "mobile": "12 to 25 walking nodes, AODV or OLSR",
    "wifi": "download over 1 to 4 hops of 802.11n or 802.11ax",
    "cellular": "download over a cellular link with a varying rate",
    "satellite": "one satellite link, round trip of 600 ms",
    "wire": "one wire with a shallow or a deep buffer",
    "rival": "one wire, shared with a flow of CUBIC",
}
PACKET = 1500
"""Bytes of a full packet, with which queues are sized."""
MSS = 1460
LATEST_START = 1.0
"""Flows start at a random time up to this, s."""


@dataclass(frozen=True)
class Network:
    """A network without the transport of its judged flows."""

    kind: str
    number: int
    title: str
    scenario: Table
    files: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Contents of the files that the scenario names."""
    judged: int = 1
    """Flows whose transport is judged; a flow after them is CUBIC."""

    @property
    def name(self) -> str:
        """Name of the network in tables: its kind and its number."""
        return f"{self.kind} {self.number}"

    def run(self, transport: Any, rival: Any, seed: int) -> Table:
        """The scenario of one run; flows after the judged ones have the transport `rival`."""
        rng = Random(f"multihop/bench/{self.name}/start/{seed}")
        first = self.scenario["first"]
        flows = [
            {
                **flow,
                "transport": transport if place < self.judged else rival,
                "start": round(first + rng.uniform(0.0, LATEST_START), 6),
            }
            for place, flow in enumerate(self.scenario["flow"])
        ]
        keys = {key: value for key, value in self.scenario.items() if key != "first"}
        return {**keys, "seed": seed, "flow": flows, "record": {"what": ["goodput"], "every": 1.0}}


def networks(kinds: list[str]) -> list[Network]:
    """The networks of these kinds, in order."""
    return [network(kind, number) for kind in kinds for number in range(1, KINDS[kind] + 1)]


def network(kind: str, number: int) -> Network:
    """A network of this kind."""
    rng = Random(f"multihop/bench/{RULE}/{kind}/{number}")
    title, scenario, *rest = DRAWN[kind](rng)
    judged = len(scenario["flow"]) - (kind == "rival")
    files = rest[0] if rest else {}
    return Network(kind, number, title, scenario, files, judged)


def _measured(seconds: float, *, first: float = 0.0) -> Table:
    """Flows begin at `first`, s; the warm-up ends 5 s later, the run after `seconds` more."""
    return {"first": first, "warmup": first + 5.0, "duration": first + 5.0 + seconds}


def _log_uniform(rng: Random, low: float, high: float) -> float:
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def _chain(rng: Random) -> tuple[str, Table]:
    hops, flows = rng.randint(1, 8), rng.choice((1, 1, 2))
    if rng.random() < 0.5:
        rate = rng.choice(("2M", "5.5M", "11M"))
        radio: Table = {"phy": "802.11b", "budget": "ns-2", "rate": rate}
        spacing = 200.0
    else:
        rate = rng.choice(("6M", "12M", "24M"))
        radio = {"phy": "802.11g", "budget": "street", "rate": rate, "model": "sinr"}
        spacing = round({"6M": 500.0, "12M": 430.0, "24M": 300.0}[rate] * rng.uniform(0.6, 0.9), 1)
    queue = rng.choice((10, 50, 200))
    ends = [(0, hops), (hops, 0)][:flows]
    title = f"{_hops(hops)}, {radio['phy']} at {rate}, {_flows(flows)}, queue {queue}"
    return title, {
        **_measured(25.0),
        "radio": radio,
        "mac": {"queue": queue, "arp": "queueing"},
        "topology": {"kind": "chain", "hops": hops, "spacing": spacing},
        "flow": [{"from": a, "to": b} for a, b in ends],
    }


def _mobile(rng: Random) -> tuple[str, Table]:
    nodes, flows = rng.randint(12, 25), rng.randint(1, 3)
    side = round(math.sqrt(nodes * math.pi * 250.0**2 / rng.uniform(8.0, 12.0)), 1)
    fastest = round(rng.uniform(1.5, 10.0), 1)
    protocol, preset = rng.choice((("aodv", "uu"), ("olsr", "um-olsr")))
    title = f"{nodes} nodes, up to {fastest} m/s, {protocol.upper()}, {_flows(flows)}"
    return title, {
        **_measured(25.0, first=10.0),
        "radio": {"phy": "802.11b", "budget": "ns-2", "rate": "2M"},
        "mac": {"arp": "queueing"},
        "topology": {"kind": "random", "nodes": nodes, "area": [side, side]},
        "mobility": {"kind": "random-waypoint", "speed": [0.5, fastest], "pause": float(rng.randint(0, 10))},
        "routing": {"protocol": protocol, "preset": preset},
        "flow": [{"from": 2 * i, "to": 2 * i + 1} for i in range(flows)],
    }


def _wifi(rng: Random) -> tuple[str, Table]:
    hops, flows = rng.randint(1, 4), rng.choice((1, 1, 2, 3))
    phy = rng.choice(("802.11n-20", "802.11n-40", "802.11ax-20", "802.11ax-40"))
    delay = rng.randint(5, 40)
    spacing = round(rng.uniform(40.0, 150.0), 1)
    title = f"{_hops(hops)} of {spacing:g} m, {phy}, {_flows(flows)}, server {delay} ms away"
    return title, {
        **_measured(10.0),
        "radio": {"phy": phy, "budget": "street"},
        "topology": {"kind": "chain", "hops": hops, "spacing": spacing},
        "host": [{"gateway": 0, "name": "server", "rate_kbps": 1e6, "delay": delay / 1000, "queue": 1000}],
        "flow": [{"from": "server", "to": hops}] * flows,
    }


def _cellular(rng: Random) -> tuple[str, Table, Mapping[str, str]]:
    mean, delay = _log_uniform(rng, 2.0, 30.0), rng.uniform(0.01, 0.04)
    spread, memory = rng.uniform(0.2, 0.7), rng.uniform(0.5, 5.0)
    is_deep, flows = rng.random() < 0.6, rng.choice((1, 1, 2))
    queue = _queue(mean, 2 * delay, rng.uniform(5.0, 20.0) if is_deep else rng.uniform(0.5, 1.0))
    down = trace(rng, mean * 1e6, spread, memory)
    up = trace(rng, mean * 1e6 / 4, spread, memory)
    title = f"{mean:.1f} Mb/s, {2000 * delay:.0f} ms, {_buffer(is_deep)}, {_flows(flows)}"
    phone = {"trace_to_host": "down.trace", "trace_from_host": "up.trace"}
    scenario = _wire(phone, delay, queue, flows)
    return title, {**_measured(30.0), **scenario}, {"down.trace": down, "up.trace": up}


def _satellite(rng: Random) -> tuple[str, Table]:
    mean = _log_uniform(rng, 2.0, 40.0)
    loss = round(_log_uniform(rng, 1e-5, 1e-2), 6) if rng.random() < 0.5 else 0.0
    queue = _queue(mean, 0.6, _log_uniform(rng, 0.1, 2.0))
    title = f"{mean:.1f} Mb/s, 600 ms, {f'loss {loss:.2%}' if loss else 'no losses'}, queue {queue}"
    far = {"rate_kbps": round(1000 * mean, 1), "loss_to_host": loss}
    return title, {**_measured(35.0), **_wire(far, 0.299, queue, rng.choice((1, 2)))}


def _buffered(rng: Random) -> tuple[str, Table]:
    mean, round_trip = _log_uniform(rng, 5.0, 100.0), _log_uniform(rng, 0.01, 0.15)
    is_deep, flows = rng.random() < 0.5, rng.choice((1, 2, 4))
    queue = _queue(
        mean, round_trip, _log_uniform(rng, 4.0, 20.0) if is_deep else _log_uniform(rng, 0.05, 0.3)
    )
    title = f"{mean:.1f} Mb/s, {1000 * round_trip:.0f} ms, {_buffer(is_deep)}, {_flows(flows)}"
    far = {"rate_kbps": round(1000 * mean, 1)}
    return title, {**_measured(15.0), **_wire(far, round_trip / 2 - 0.001, queue, flows)}


def _rival(rng: Random) -> tuple[str, Table]:
    mean, round_trip = _log_uniform(rng, 5.0, 50.0), _log_uniform(rng, 0.02, 0.1)
    queue = _queue(mean, round_trip, _log_uniform(rng, 0.5, 4.0))
    title = f"{mean:.1f} Mb/s, {1000 * round_trip:.0f} ms, queue {queue}"
    far = {"rate_kbps": round(1000 * mean, 1)}
    return title, {**_measured(25.0), **_wire(far, round_trip / 2 - 0.001, queue, 2)}


DRAWN: Mapping[str, Callable[[Random], Any]] = {
    "chain": _chain,
    "mobile": _mobile,
    "wifi": _wifi,
    "cellular": _cellular,
    "satellite": _satellite,
    "wire": _buffered,
    "rival": _rival,
}


def _wire(far: Table, delay: float, queue: int, flows: int) -> Table:
    """A fast server 1 ms away from a router, and a host behind the wire under test."""
    near = {"gateway": 0, "name": "server", "rate_kbps": 1e6, "delay": 0.001, "queue": 10_000}
    behind = {"gateway": 0, "name": "client", "delay": round(delay, 6), "queue": queue, **far}
    return {
        "topology": {"kind": "chain", "hops": 1},
        "host": [near, behind],
        "flow": [{"from": "server", "to": "client"}] * flows,
    }


def _queue(mbps: float, round_trip: float, share: float) -> int:
    """Packets of a buffer of this many bandwidth-delay products, at least 5."""
    return max(5, round(share * mbps * 1e6 * round_trip / 8 / PACKET))


def _buffer(is_deep: bool) -> str:
    return "deep buffer" if is_deep else "shallow buffer"


def _hops(count: int) -> str:
    return "1 hop" if count == 1 else f"{count} hops"


def _flows(count: int) -> str:
    return "one flow" if count == 1 else f"{count} flows"
