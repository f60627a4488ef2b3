"""Names of keys and of metrics in words, for axes of figures and heads of tables."""

from __future__ import annotations

WORDS = {
    "transport": "transport",
    "hops": "hops",
    "seed": "seed",
    "protocol": "routing protocol",
    "rate": "bit rate",
    "rate_kbps": "rate of the source, kb/s",
    "rate_control": "rate control",
    "rts_threshold": "RTS threshold, bytes",
    "tx_power_dbm": "transmit power, dBm",
    "queue": "queue, packets",
    "size": "size of a datagram, bytes",
    "duration": "duration, s",
    "nodes": "stations",
    "mobility.speed": "speed, m/s",
    "mobility.pause": "pause, s",
    "goodput_kbps": "goodput, kb/s",
    "retransmission_index": "retransmitted segments / delivered segments",
    "jain": "Jain's fairness index",
    "jain_instant": "Jain's fairness index over 2 s",
    "acked_kbps": "acknowledged data, kb/s",
    "delivery_ratio": "delivered segments / sent segments",
    "delay_ms.mean": "mean one-way delay, ms",
    "delay_ms.p50": "median of one-way delays, ms",
    "delay_ms.p95": "95% of one-way delays, ms",
    "delay_ms.p99": "99% of one-way delays, ms",
    "jitter_ms": "jitter, ms",
    "airtime_share": "share of the airtime",
    "drops.packets": "dropped packets",
}
"""Keys and metrics by their last parts."""
UNITS = {
    "kbps": "kb/s",
    "mbps": "Mb/s",
    "dbm": "dBm",
    "db": "dB",
    "ms": "ms",
    "us": "us",
    "mb": "MB",
    "m": "m",
    "joules": "J",
}
"""The units that names of keys end with."""
PLACES = {"totals", "mac", "radio", "topology", "flow", "routing"}
"""Tables whose keys are clear without the name of the table."""


def in_words(key: str) -> str:
    """A dotted key such as `flow.*.transport` or `totals.goodput_kbps` in words, with its unit."""
    parts = [part for part in key.split(".") if part != "*" and not part.isdecimal()]
    for first in range(len(parts)):
        if known := WORDS.get(".".join(parts[first:])):
            return known
    if parts[0] in PLACES and len(parts) > 1:
        parts = parts[1:]
    found = ""
    for place, part in enumerate(parts):
        stem, _, unit = part.rpartition("_")
        if stem and unit in UNITS:
            parts[place], found = stem, f", {UNITS[unit]}"
    return _spaced(parts) + found


def _spaced(parts: list[str]) -> str:
    return " ".join(parts).replace("_", " ").replace("-", " ")
