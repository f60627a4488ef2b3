"""Networks that nobody has chosen: drawn at random when the transports were finished."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from random import Random

from multihop_papers.gauntlet.networks import (
    AODV,
    FILES,
    SHARED,
    Network,
    at_random,
    chain,
    files,
    flow,
    placed,
    shared,
    star,
    walking,
)

DRAWN_BY = 0x8292DA6B
MESH_FROZEN = "2026-11-23"
"""The commit that froze `mesh`: its first digits are the seed, and its date."""
RANGE = 250.0
"""How far a station is understood, m."""
EACH = 2
"""Networks of a kind."""
RATES = ("1M", "2M", "5.5M", "11M")
ROUTES = (("aodv", "ns2"), ("aodv", "uu"), ("olsr", "rfc"), ("olsr", "um-olsr"))
SIZES = (10, 20, 50, 100, 200, 500, 1000)
"""Sizes of files, kB."""

Named = tuple[str, Network]


def drawn(seed: int) -> Mapping[str, Network]:
    """The networks of this seed: several of each kind, one to share and one for files."""
    rng = Random(seed)
    networks: dict[str, Network] = {}
    for kind in KINDS:
        wanted = len(networks) + EACH
        while len(networks) < wanted:
            networks |= [kind(rng)]
    hops = rng.randint(2, 6)
    sizes = [rng.choice(SIZES) for _ in range(10)]
    return networks | {
        FILES: files(hops, rng.uniform(1.0, 3.0), sizes, both_ways=rng.random() < 0.5),
        SHARED: shared(rng.randint(2, 8)),
    }


def _chain(rng: Random) -> Named:
    hops, spacing, rate = rng.randint(1, 12), rng.randint(140, 245), rng.choice(RATES)
    return f"chain {hops}, {spacing} m, {rate}", chain(hops, float(spacing), radio={"rate": rate})


def _losses(rng: Random) -> Named:
    hops, loss = rng.randint(2, 6), rng.randint(1, 6)
    return f"losses: {hops} hops, {loss}%", chain(hops, radio={"loss": loss / 100})


def _bursts(rng: Random) -> Named:
    hops, begin, end = rng.randint(2, 6), rng.uniform(0.001, 0.005), rng.uniform(0.1, 0.3)
    name = f"bursts: {hops} hops, {begin:.4f}, {end:.2f}"
    return name, chain(hops, radio={"burst": {"p": round(begin, 4), "r": round(end, 2)}})


def _crossing(rng: Random) -> Named:
    long, short = rng.randint(3, 8), rng.randint(3, 8)
    at, below = rng.randint(1, long - 1), rng.randint(1, short - 1)
    upright = [(float(at), float(y - below)) for y in range(short + 1) if y != below]
    positions = [*((float(x), 0.0) for x in range(long + 1)), *upright]
    return f"crossing: {long} and {short} hops", placed(positions, [(0, long), (long + 1, long + short)])


def _rows(rng: Random) -> Named:
    rows, hops, apart = rng.randint(2, 4), rng.randint(2, 6), rng.uniform(1.0, 2.5)
    positions = [(float(x), apart * y) for y in range(rows) for x in range(hops + 1)]
    ends = [(y * (hops + 1), y * (hops + 1) + hops) for y in range(rows)]
    return f"rows: {rows} of {hops} hops, {200 * apart:.0f} m", placed(positions, ends)


def _star(rng: Random) -> Named:
    arms, length, turn = rng.randint(3, 6), rng.randint(1, 3), rng.uniform(0.0, math.tau)
    angles = [turn + math.tau * arm / arms for arm in range(arms)]
    ends = [(math.cos(angle), math.sin(angle)) for angle in angles]
    return f"star: {arms} arms of {length}", {**star(ends, length), **AODV}


def _scattered(rng: Random) -> Named:
    nodes, flows, side = _place(rng)
    return f"random: {nodes} nodes, {flows} flows", at_random(nodes, side, flows, **AODV)


def _walking(rng: Random) -> Named:
    nodes, flows, side = _place(rng)
    fastest, pause = rng.randint(2, 20), float(rng.randint(0, 30))
    protocol, preset = rng.choice(ROUTES)
    moves = walking(1.0, float(fastest), pause, protocol, preset)
    name = f"moving: {nodes} nodes, {flows} flows, {fastest} m/s, {protocol} {preset}"
    return name, at_random(nodes, side, flows, **moves)


def _wire(rng: Random) -> Named:
    hops, delay, rate = rng.randint(1, 5), rng.randint(10, 200), rng.choice((500, 2000, 10000))
    ends = rng.choice(((0, "server"), ("server", 0)))
    host = {"gateway": hops, "name": "server", "delay": delay / 1000, "rate_kbps": float(rate)}
    way = "up" if ends[0] == 0 else "down"
    name = f"wire {way}: {hops} hops, {delay} ms, {rate} kb/s"
    return name, {**chain(hops), "host": [host], "flow": [flow(*ends)]}


def _place(rng: Random) -> tuple[int, int, float]:
    """Nodes and flows in a square in which each node has 8 to 14 neighbours."""
    nodes, flows, neighbours = rng.randint(20, 60), rng.randint(2, 8), rng.uniform(8.0, 14.0)
    return nodes, flows, round(math.sqrt(nodes * math.pi * RANGE**2 / neighbours))


KINDS: tuple[Callable[[Random], Named], ...] = (
    _chain,
    _losses,
    _bursts,
    _crossing,
    _rows,
    _star,
    _scattered,
    _walking,
    _wire,
)
