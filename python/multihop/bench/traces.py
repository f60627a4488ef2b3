"""Traces of cellular links, drawn from a process, in the format of mahimahi."""

from __future__ import annotations

import math
from random import Random

SECONDS = 60
"""Length of a trace, s."""
STEP = 0.02
"""The rate is constant for this time, s."""
OPPORTUNITY = 1500 * 8
"""Bits that one line of a trace delivers."""
BETWEEN_OUTAGES = 20.0
"""Mean time from one outage to the next, s."""
OUTAGE = 0.4
"""Mean length of an outage, s."""


def trace(rng: Random, rate: float, spread: float, memory: float) -> str:
    """A trace with this mean rate, bit/s: in each line the millisecond at which 1500 bytes can be delivered.

    The logarithm of the rate is an Ornstein-Uhlenbeck process with the standard deviation `spread` and the
    relaxation time `memory`, s. Outages with exponential lengths come after exponential times. The link
    delivers 1500 bytes whenever the integral of its rate has grown by as much.
    """
    kept = math.exp(-STEP / memory)
    noise = spread * math.sqrt(1.0 - kept * kept)
    deviation = rng.gauss(0.0, spread)
    outage = rng.expovariate(1.0 / BETWEEN_OUTAGES)
    ends = outage + rng.expovariate(1.0 / OUTAGE)
    bits, lines = 0.0, []
    for step in range(round(SECONDS / STEP)):
        now = step * STEP
        if now >= ends:
            outage = now + rng.expovariate(1.0 / BETWEEN_OUTAGES)
            ends = outage + rng.expovariate(1.0 / OUTAGE)
        deviation = kept * deviation + noise * rng.gauss(0.0, 1.0)
        # A logarithm that varies would raise the mean by half its variance.
        now_rate = 0.0 if outage <= now < ends else rate * math.exp(deviation - spread * spread / 2)
        begin = bits
        bits += now_rate * STEP
        for crossed in range(math.floor(begin / OPPORTUNITY) + 1, math.floor(bits / OPPORTUNITY) + 1):
            share = (crossed * OPPORTUNITY - begin) / (bits - begin)
            lines.append(math.ceil(1000 * (now + share * STEP)))
    return "".join(f"{line}\n" for line in [*lines, 1000 * SECONDS])
