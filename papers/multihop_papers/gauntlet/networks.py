"""The networks of the gauntlet. They were frozen before a transport was tuned on the training half."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from multihop_papers.declare import Settings

FROZEN = "2026-11-23"
START = 10.0
"""When flows begin and the warm-up ends, s: OLSR knows its routes by then."""
TEST_SEED, UNSEEN_SEED = 101, 201
"""The first seeds of the test half and of drawn networks; the training half begins with 1."""

OWN, CBR, NEWRENO = "its own kind", "CBR", "NewReno"
"""Kinds of the second flow of a shared network."""

SHARED, FILES = "shared", "files"
"""The network in which the second flow can be of another kind, and that of flows with an end."""

Network = Mapping[str, Any]
Point = tuple[float, float]


def flow(*ends: int | str, start: float = START, **more: Any) -> dict[str, Any]:
    """One flow, between two ends if they are given; the axis of transports replaces its transport."""
    return {"transport": "newreno", "start": start, **dict(zip(("from", "to"), ends, strict=False)), **more}


def chain(hops: int, spacing: float = 200.0, **more: Any) -> Network:
    """One flow over a chain of nodes this far apart, m."""
    return {"topology": {"kind": "chain", "hops": hops, "spacing": spacing}, "flow": [flow()], **more}


def layout(kind: str, flows: int) -> Network:
    """Flows along the pairs of a layout."""
    return {"topology": {"kind": kind}, "flow": [flow()] * flows}


def placed(positions: Sequence[Point], pairs: Sequence[tuple[int, int]], **more: Any) -> Network:
    """Flows between nodes at these positions, in units of 200 m."""
    metres = [[200.0 * x, 200.0 * y] for x, y in positions]
    flows = [flow(*pair) for pair in pairs]
    return {"topology": {"kind": "list", "positions": metres}, "flow": flows, **more}


def at_random(nodes: int, side: float, flows: int, **more: Any) -> Network:
    """Flows between separate pairs of nodes anywhere in a square of this side, m."""
    pairs = [flow(2 * i, 2 * i + 1) for i in range(flows)]
    return {"topology": {"kind": "random", "nodes": nodes, "area": [side, side]}, "flow": pairs, **more}


def walking(slowest: float, fastest: float, pause: float, protocol: str, preset: str) -> Network:
    """Random trips at these speeds, m/s, with pauses, s."""
    return {
        "mobility": {"kind": "random-waypoint", "speed": [slowest, fastest], "pause": pause},
        "routing": {"protocol": protocol, "preset": preset},
    }


def files(hops: int, every: float, sizes: Sequence[int], *, both_ways: bool = False) -> Network:
    """Files of these sizes, kB, that begin one after the other over a chain, or to and fro."""
    ends = [(0, hops), (hops, 0) if both_ways else (0, hops)]
    flows = [
        flow(*ends[i % 2], start=START + every * i, app="file", bytes=1000 * size)
        for i, size in enumerate(sizes)
    ]
    return {"topology": {"kind": "chain", "hops": hops}, "flow": flows}


def shared(hops: int) -> Network:
    """Two flows from end to end of a chain."""
    return {"topology": {"kind": "chain", "hops": hops}, "flow": [flow(0, hops)] * 2}


def rivals(rate_kbps: float) -> Mapping[str, Settings]:
    """Settings of each kind of second flow of a shared network; `rate_kbps` is the rate of the CBR source."""
    cbr = {"app": "cbr", "rate_kbps": rate_kbps, "size": 1000, "transport": "udp"}
    return {
        OWN: {},
        CBR: {f"flow.1.{key}": value for key, value in cbr.items()},
        NEWRENO: {"flow.1.transport": "newreno"},
    }


def star(arms: Sequence[Point], length: int) -> Network:
    """One flow from the end of each arm to the gateway in the middle."""
    positions = [(0.0, 0.0), *((x * n, y * n) for x, y in arms for n in range(1, length + 1))]
    return placed(positions, [(length * (arm + 1), 0) for arm in range(len(arms))])


# ns-2's ARP keeps one packet and can starve a flow for a minute, whatever its transport.
MAC: Settings = {"arp": "queueing"}
AODV: Network = {"routing": {"protocol": "aodv"}}
"""Where routes are not known beforehand."""
# The senders cannot sense each other: without RTS their frames collide at the receiver between them.
HIDDEN: Network = placed(
    [(0.0, 0.0), (1.05, 0.0), (2.1, 0.0)],
    [(0, 1), (2, 1)],
    mac={"rts_threshold": "off", "arp": "oracle"},
    radio={"sense_range": 400.0},
)
TRAINING: Mapping[str, Network] = {
    **{f"chain {hops}": chain(hops) for hops in range(1, 11)},
    "cross": layout("cross", 2),
    "parallel": layout("parallel", 2),
    "asymmetric": layout("asymmetric-parallel", 2),
    "grid": layout("grid", 6),
    "star": {**star([(1, 0), (0, 1), (-1, 0), (0, -1)], 2), **AODV},
    "random": at_random(50, 1000.0, 5, **AODV),
    "moving, AODV": at_random(50, 1000.0, 5, **walking(1.0, 9.0, 20.0, "aodv", "ns2")),
    "moving, OLSR": at_random(50, 1000.0, 5, **walking(1.0, 9.0, 20.0, "olsr", "um-olsr")),
    "fading": chain(4, 150.0, radio={"model": "sinr", "fading": {"kind": "rician", "k": 4.0}}),
    "hidden": HIDDEN,
    "losses": chain(4, radio={"loss": 0.02}),
    "bursts": chain(4, radio={"burst": {"p": 0.002, "r": 0.15}}),
    "wire": {
        **chain(3),
        "host": [{"gateway": 3, "name": "server", "delay": 0.1}],
        "flow": [flow(0, "server")],
    },
    FILES: files(4, 2.0, [10, 100, 1000, 30, 300] * 2),
    SHARED: shared(4),
}
TEST: Mapping[str, Network] = {
    "chain 12": chain(12),
    "chain 3, 240 m": chain(3, 240.0),
    "chain 6, 160 m": chain(6, 160.0),
    "chain 7, AODV": chain(7, **AODV),
    "chain 2, 11M": chain(2, radio={"rate": "11M"}),
    "chain 5, 5.5M": chain(5, radio={"rate": "5.5M"}),
    "bend": placed([*((x, 0.0) for x in range(4)), *((3.0, y) for y in range(1, 5))], [(0, 7)]),
    "testbed cross": layout("cross-testbed", 2),
    "three rows": placed([(x, 1.5 * y) for y in range(3) for x in range(4)], [(0, 3), (4, 7), (8, 11)]),
    "hexagram": layout("grid-symmetric", 6),
    "tree": {**star([(1, 0), (-0.5, 0.866), (-0.5, -0.866)], 3), **AODV},
    "random": at_random(35, 800.0, 7, **AODV),
    "moving, AODV": at_random(40, 900.0, 4, **walking(5.0, 15.0, 5.0, "aodv", "uu")),
    "moving, OLSR": at_random(40, 900.0, 4, **walking(0.5, 3.0, 10.0, "olsr", "rfc")),
    "fading": chain(3, 100.0, radio={"model": "sinr", "fading": {"kind": "rayleigh"}}),
    "hidden": chain(6, mac={**MAC, "rts_threshold": "off"}),
    "losses": chain(3, radio={"loss": 0.05}),
    "bursts": chain(5, radio={"burst": {"p": 0.004, "r": 0.25}}),
    "wire": {
        **chain(2),
        "host": [{"gateway": 2, "name": "server", "delay": 0.05, "rate_kbps": 2000.0}],
        "flow": [flow("server", 0)],
    },
    FILES: files(3, 1.5, [20, 500, 50, 200, 20] * 2, both_ways=True),
    SHARED: shared(6),
}
