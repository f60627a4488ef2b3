"""One cell of saturated stations against Bianchi's model of DCF."""

from __future__ import annotations

import math

from multihop_papers.airtime import ACK_BYTES, CTS_BYTES, CW_MIN, DIFS, RTS_BYTES, SIFS, SLOT, UDP_IP_BYTES, Radio
from multihop_papers.declare import GOODPUT, Axis, Claim, Effort, Plot, Settings
from multihop_papers.validation.part import Page

STATIONS = (2, 5, 10, 20, 50)
DOUBLINGS = 5
PAYLOAD = 1460
OFFERED = 3500.0  # kb/s of all stations together, twice what a cell carries
PROPAGATION = 1.0  # us


def cell(n: int, offered: float = OFFERED) -> Settings:
    """Every station sends to the next one on a circle with a radius of 20 m."""
    angles = [2 * math.pi * i / n for i in range(n)]
    flow = {"app": "cbr", "rate_kbps": offered / n, "size": PAYLOAD}
    return {
        "topology.positions": [[20 + 20 * math.cos(a), 20 + 20 * math.sin(a)] for a in angles],
        "flow": [{"from": i, "to": (i + 1) % n, **flow} for i in range(n)],
    }


def saturation_kbps(n: int, *, rts: bool) -> float:
    """Bianchi's equations 7, 9, 10, 11 and 13."""
    radio = Radio()
    rts_time, cts, ack = (radio.control(size) for size in (RTS_BYTES, CTS_BYTES, ACK_BYTES))
    data = radio.data(PAYLOAD + UDP_IP_BYTES)
    announced = rts_time + cts + 2 * (SIFS + PROPAGATION) if rts else 0.0
    success_time = announced + data + SIFS + ack + DIFS + 2 * PROPAGATION
    collision_time = (rts_time if rts else data) + DIFS + PROPAGATION
    return 8000 * PAYLOAD * successes(n, attempt_probability(n), SLOT, success_time, collision_time)


def successes(n: int, tau: float, slot: float, success_time: float, collision_time: float) -> float:
    """Successes in each unit of time."""
    some = 1 - (1 - tau) ** n
    success = n * tau * (1 - tau) ** (n - 1) / some
    mean_slot = (1 - some) * slot + some * (success * success_time + (1 - success) * collision_time)
    return success * some / mean_slot


def attempt_probability(n: int, window: int = CW_MIN + 1, doublings: int = DOUBLINGS) -> float:
    """The fixed point of tau(p) and p = 1 - (1 - tau)^(n-1), by bisection."""

    def tau_of(p: float) -> float:
        return 2 / (1 + window + p * window * sum((2 * p) ** i for i in range(doublings)))

    low, high = 0.0, 1.0
    for _ in range(100):
        tau = (low + high) / 2
        if tau < tau_of(1 - (1 - tau) ** (n - 1)):
            low = tau
        else:
            high = tau
    return (low + high) / 2


BIANCHI = Page(
    "bianchi", "G. Bianchi, Performance Analysis of the IEEE 802.11 Distributed Coordination Function, IEEE JSAC 18(3), 2000"
).experiment(
    "bianchi",
    "saturation throughput of one cell",
    "Do backoff, collisions and deference add up? Every station of a cell always has a packet to send; Bianchi's fixed point gives "
    f"the throughput. Standard flavour; n stations in range of each other, each sending {PAYLOAD} bytes over UDP to the next. 2 Mb/s "
    "data, 1 Mb/s basic rate, long preamble; no retry limits, no capture. 60 s simulated, the first 10 s not counted. The model has "
    f"W = {CW_MIN + 1} and m = {DOUBLINGS}. "
    "EIFS is off: the model has one space after a collision for all stations. In the standard, a station whose own frame "
    "collided has received nothing and waits DIFS; the others wait EIFS.",
    Effort(5),
    scenario={
        "duration": 60.0,
        "warmup": 10.0,
        "radio": {"capture_db": 200.0},
        "mac": {"flavour": "standard", "eifs": False, "short_retry": "off", "long_retry": "off", "arp": "oracle"},
        "topology": {"kind": "list"},
        "routing": {"protocol": "static"},
    },
    axes=[
        Axis("access", {"basic": {"mac.rts_threshold": "off"}, "RTS/CTS": {"mac.rts_threshold": 0}}),
        Axis("stations", {n: cell(n) for n in STATIONS}, "stations"),
    ],
    metrics=(GOODPUT,),
    reference="the model",
    published={
        "goodput": {(access, n): saturation_kbps(n, rts=rts) for access, rts in (("basic", False), ("RTS/CTS", True)) for n in STATIONS}
    },
    claims=[Claim("Goodput agrees", "goodput", {}, near=0.03)],
    plots=(
        Plot(
            "line",
            "goodput",
            x="stations",
            by="access",
            caption="Saturation goodput of one cell, with 95% intervals, beside Bianchi's model.",
        ),
    ),
)
EXPERIMENTS = (BIANCHI,)
