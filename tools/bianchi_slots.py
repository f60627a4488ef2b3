#!/usr/bin/env python3
"""Compare Bianchi's fixed point with the slots that it describes, counted one by one.

    .venv/bin/python tools/bianchi_slots.py

In Bianchi's model the backoff counter of a waiting station falls by one in every slot, also in a slot in
which another station transmits. In the standard, and in the simulator, the counter stands still while the
medium is busy. The table has the goodput of n stations of 802.11a without RTS, kb/s: by the fixed point, and
by 200,000 slots of each rule. Needs the package of the experiments: `make build`.
"""

from __future__ import annotations

import random

from multihop_papers.validation import bianchi, ofdm
from multihop_papers.validation.phys import A

SLOTS = 200_000


def main() -> int:
    """Print the goodput by the model and by counted slots."""
    print("| rate | stations | fixed point | counters fall in busy slots | counters stand still |")
    print("|---|--:|--:|--:|--:|")
    for rate in (rate for rate in A.rates if rate.name in ("6M", "54M")):
        _, _, data, ack = A.parts(rate, ofdm.PAYLOAD)
        success = data + A.sifs + ack + A.difs + 2 * bianchi.PROPAGATION
        collision = data + A.difs + bianchi.PROPAGATION
        for n in (5, 50):
            fixed = ofdm.saturation_kbps(A, rate, n, rts=False)
            counted = []
            for frozen in (False, True):
                idle, good, lost = slots(n, A.cw_min + 1, ofdm.DOUBLINGS, frozen=frozen)
                counted.append(
                    8000 * ofdm.PAYLOAD * good / (idle * A.slot + good * success + lost * collision)
                )
            print(f"| {rate.name} | {n} | {fixed:.0f} | {counted[0]:.0f} | {counted[1]:.0f} |")
    return 0


def slots(n: int, window: int, doublings: int, *, frozen: bool) -> tuple[int, int, int]:
    """Number of idle slots, successes and collisions of `n` saturated stations."""
    draw = random.Random(1)
    stages = [0] * n
    counters = [draw.randrange(window) for _ in range(n)]
    idle = good = lost = 0
    for _ in range(SLOTS):
        senders = [station for station in range(n) if counters[station] == 0]
        idle, good, lost = idle + (not senders), good + (len(senders) == 1), lost + (len(senders) > 1)
        if not (senders and frozen):
            counters = [max(0, counter - 1) for counter in counters]
        for station in senders:
            stages[station] = 0 if len(senders) == 1 else min(stages[station] + 1, doublings)
            counters[station] = draw.randrange(window << stages[station])
    return idle, good, lost


if __name__ == "__main__":
    raise SystemExit(main())
