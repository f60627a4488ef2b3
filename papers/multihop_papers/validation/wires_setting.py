"""The wire, the transports and their growth that the experiments of TCP over one wire share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from multihop_papers.declare import Axis, Settings
from multihop_papers.validation.wires_models import CUBIC, PACKET, Bottleneck, Growth

HEADERS, STAMPS = 40, 12
ACCESS_RATE = 10
"""How much faster the sender's own wire is than the one with the queue."""
ACCESS_DELAY = 0.0001  # s


def wire(rate_kbps: float, rtt: float) -> Settings:
    """A flow from one host to another; the queue is in front of the second wire."""
    return {
        "topology": {"kind": "chain", "hops": 1},
        "host": [
            {"gateway": 0, "name": "a", "rate_kbps": ACCESS_RATE * rate_kbps, "delay": ACCESS_DELAY, "queue": 100_000},
            {"gateway": 0, "name": "b", "rate_kbps": rate_kbps, "delay": rtt / 2 - ACCESS_DELAY, "queue": 100_000},
        ],
        "flow": [{"from": "a", "to": "b"}],
    }


Transport = Mapping[str, Any]


def payload(transport: Transport) -> int:
    """Bytes of data in a packet."""
    stamps = str(transport["preset"]).startswith("linux") and transport.get("timestamps") != "off"
    return PACKET - HEADERS - (STAMPS if stamps else 0)


def per_ack(transport: Transport) -> int:
    """Segments for which the window grows once."""
    delayed = str(transport["kind"]).endswith("+da")
    return 2 if delayed and transport["preset"] != "linux-6" else 1


def growth(transport: Transport) -> Growth:
    """How the window of a transport grows."""
    if str(transport["kind"]).startswith("cubic"):
        return Growth(CUBIC.kept, CUBIC.per_round, cubic=True, catches_up=transport["preset"] != "linux-6")
    return Growth(per_round=1 / per_ack(transport))


def transports(kinds: Mapping[str, Transport], window_max: int) -> Axis:
    """The axis of transports, none of which is limited by its largest window."""
    return Axis("transport", {name: {"flow.*.transport": {**table, "window_max": window_max}} for name, table in kinds.items()})


RENOS: Mapping[str, Transport] = {
    "newreno, rfc": {"kind": "newreno", "preset": "rfc"},
    "newreno, rfc, delayed ACKs": {"kind": "newreno+da", "preset": "rfc"},
    "newreno, rfc, SACK": {"kind": "newreno", "preset": "rfc", "sack": True},
    "newreno, linux-6": {"kind": "newreno+da", "preset": "linux-6"},
}
CUBICS: Mapping[str, Transport] = {
    "cubic, rfc": {"kind": "cubic", "preset": "rfc"},
    "cubic, rfc, SACK": {"kind": "cubic", "preset": "rfc", "sack": True},
    "cubic, linux-6": {"kind": "cubic+da", "preset": "linux-6"},
}
FULL_QUEUES = Bottleneck(10_000.0, 0.1)
