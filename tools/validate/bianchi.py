"""One cell of saturated stations against Bianchi's model of DCF.

G. Bianchi, Performance Analysis of the IEEE 802.11 Distributed Coordination Function, IEEE JSAC
18(3), 2000.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from multihop import report
from multihop.airtime import (
    ACK_BYTES,
    CTS_BYTES,
    CW_MIN,
    DIFS,
    RTS_BYTES,
    SIFS,
    SLOT,
    UDP_IP_BYTES,
    Radio,
)
from study import Study, greedy, measure, percent

STATIONS = (2, 5, 10, 20, 50)
DOUBLINGS = 5
SEEDS = range(1, 6)
SECONDS = 60.0
WARMUP = 10.0
PAYLOAD = 1460
OFFERED = 3500.0  # kb/s of all stations together, twice what a cell carries
PROPAGATION = 1.0  # us
LIMIT = 0.03


class Case(NamedTuple):
    """One point."""

    stations: int
    rts: bool

    def scenario(self) -> dict[str, Any]:
        """Every station sends to the next one round a circle of 20 m."""
        n = self.stations
        angles = [2 * math.pi * i / n for i in range(n)]
        return {
            "name": f"bianchi-{n}",
            "duration": SECONDS,
            "warmup": WARMUP,
            "radio": {"capture_db": 200.0},
            "mac": {
                "flavour": "standard",
                "rts_threshold": 0 if self.rts else "off",
                "short_retry": "off",
                "long_retry": "off",
                "arp": "oracle",
            },
            "topology": {
                "kind": "list",
                "positions": [[20 + 20 * math.cos(a), 20 + 20 * math.sin(a)] for a in angles],
            },
            "routing": {"protocol": "static"},
            "flow": [{"from": i, "to": (i + 1) % n, **greedy(OFFERED / n, PAYLOAD)} for i in range(n)],
        }

    def expected(self) -> float:
        """Goodput by the model, kb/s."""
        return saturation_kbps(self.stations, rts=self.rts)

    def __str__(self) -> str:
        return f"{self.stations} stations, {'RTS/CTS' if self.rts else 'basic access'}"


def study() -> Study:
    """Run every point."""
    page = Study(
        "Saturation throughput against Bianchi's model",
        "Do back-off, collisions and deference add up? Every station of a cell always has a packet to "
        "send; Bianchi's fixed point gives the throughput.",
        f"Standard flavour; n stations in range of each other, each sending {PAYLOAD} bytes over UDP to "
        "the next; 2 Mb/s data, 1 Mb/s basic rate, long preamble; no retry limits, no capture; "
        f"{SECONDS:g} s simulated, the first {WARMUP:g} s not counted; seeds {SEEDS[0]} to {SEEDS[-1]}; 95% "
        f"Student-t intervals. The model: W = {CW_MIN + 1}, m = {DOUBLINGS}; after a collision every "
        "station waits EIFS, as those that heard it must, instead of DIFS.",
    )
    points = [Case(n, rts) for rts in (False, True) for n in STATIONS]
    found = measure({case: case.scenario() for case in points}, SEEDS)
    page.worst("Goodput agrees", {str(c): v.mean / c.expected() - 1 for c, v in found.items()}, LIMIT)
    figure, axes = report.new_figure("stations", "goodput of the cell, kb/s")
    for rts, name, marker, line in ((False, "basic access", "s", "--"), (True, "RTS/CTS", "o", ":")):
        model = [saturation_kbps(n, rts=rts) for n in range(2, STATIONS[-1] + 1)]
        report.reference(axes, range(2, STATIONS[-1] + 1), model, f"model, {name}", line)
        simulated = [found[Case(n, rts)] for n in STATIONS]
        report.curve(axes, STATIONS, simulated, "udp", f"simulated, {name}", marker=marker, joined=False)
    axes.legend()
    page.figure("bianchi", figure, "Saturation goodput of one cell, with 95% intervals, over Bianchi's model")
    page.table(
        ["case", "measured, kb/s", "model, kb/s", "difference"],
        [[str(c), str(v), f"{c.expected():.1f}", percent(v.mean, c.expected())] for c, v in found.items()],
    )
    return page


def saturation_kbps(n: int, *, rts: bool) -> float:
    """Bianchi's equations 7, 9, 10, 11 and 13."""
    tau = attempt_probability(n)
    some = 1 - (1 - tau) ** n
    success = n * tau * (1 - tau) ** (n - 1) / some
    radio = Radio()
    rts_time, cts, ack = (radio.control(size) for size in (RTS_BYTES, CTS_BYTES, ACK_BYTES))
    data = radio.data(PAYLOAD + UDP_IP_BYTES)
    eifs = SIFS + ack + DIFS
    announced = rts_time + cts + 2 * (SIFS + PROPAGATION) if rts else 0.0
    success_time = announced + data + SIFS + ack + DIFS + 2 * PROPAGATION
    collision_time = (rts_time if rts else data) + eifs + PROPAGATION
    slot = (1 - some) * SLOT + some * (success * success_time + (1 - success) * collision_time)
    return success * some * 8000 * PAYLOAD / slot


def attempt_probability(n: int) -> float:
    """The fixed point of tau(p) and p = 1 - (1 - tau)^(n-1), by bisection."""
    window = CW_MIN + 1

    def tau_of(p: float) -> float:
        return 2 / (1 + window + p * window * sum((2 * p) ** i for i in range(DOUBLINGS)))

    low, high = 0.0, 1.0
    for _ in range(100):
        tau = (low + high) / 2
        if tau < tau_of(1 - (1 - tau) ** (n - 1)):
            low = tau
        else:
            high = tau
    return (low + high) / 2
