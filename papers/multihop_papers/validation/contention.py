"""TCP over one hop, slot by slot: two stations and nothing but backoff, frame times and collisions.

Written apart from the simulator, as an oracle for it. The sender always has a segment; the receiver
has an ACK for every N segments. Both count down together; the lower count wins, equal counts
collide.
"""

from __future__ import annotations

import random

from multihop_papers.airtime import ACK_BYTES, CTS_BYTES, CW_MIN, DIFS, MEAN_BACKOFF, RTS_BYTES, SIFS, SLOT, TCP_IP_BYTES, Radio

CW_MAX = 1023
SEGMENTS = 20_000


class Station:
    """A back-off counter; `slots` is None while nothing is counted."""

    def __init__(self, rng: random.Random, flavour: str) -> None:
        self.rng = rng
        self.lowest = 1 if flavour == "ns2" else 0  # ns-2 leaves out the top of the window
        self.window = CW_MIN
        self.slots: int | None = None

    def draw(self) -> None:
        """Begin a back-off with random slots."""
        self.slots = self.rng.randint(self.lowest, self.window) - self.lowest

    def succeed(self) -> None:
        """Back-off follows every success."""
        self.window = CW_MIN
        self.draw()

    def collide(self) -> None:
        """Try again in twice the window."""
        self.window = min(2 * self.window + 1, CW_MAX)
        self.draw()

    def wait(self, slots: int) -> None:
        """Count down while the other one does."""
        if self.slots is not None:
            self.slots = self.slots - slots if self.slots > slots else None


def tcp_kbps(radio: Radio, payload: int, *, rts: bool, segments_per_ack: int) -> float:
    """Goodput of a TCP flow that loses nothing."""
    rng = random.Random(1)
    sender, receiver = Station(rng, radio.flavour), Station(rng, radio.flavour)
    backoff = MEAN_BACKOFF[radio.flavour]
    segment = radio.exchange(payload + TCP_IP_BYTES, rts=rts) - backoff
    ack = radio.exchange(TCP_IP_BYTES, rts=rts) - backoff
    collision = collision_time(radio, payload, rts=rts)
    sender.draw()
    now, delivered, acks = 0.0, 0, 0
    while delivered < SEGMENTS:
        count = sender.slots or 0
        other = receiver.slots or 0
        if acks == 0 or count < other:
            now += count * SLOT + segment
            receiver.wait(count)
            sender.succeed()
            delivered += 1
            acks += delivered % segments_per_ack == 0
            if acks > 0 and receiver.slots is None:
                receiver.draw()
        elif other < count:
            now += other * SLOT + ack
            sender.wait(other)
            receiver.succeed()
            acks -= 1
        else:
            now += count * SLOT + collision
            sender.collide()
            receiver.collide()
    return 8000 * payload * delivered / now


def collision_time(radio: Radio, payload: int, *, rts: bool) -> float:
    """Duration from the DIFS before a collision to its end, us."""
    if rts:  # both wait for a CTS that does not come
        return DIFS + radio.control(RTS_BYTES) + SIFS + radio.control(CTS_BYTES)
    # The ACK is over long before the segment, which its sender then hears in error.
    return DIFS + radio.data(payload + TCP_IP_BYTES) + SIFS + radio.control(ACK_BYTES)
