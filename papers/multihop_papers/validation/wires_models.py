"""Closed forms of TCP over one wire: the sawtooth of a full queue, responses to random losses, BBR's share."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

HEADERS = 40
PACKET = 1500
RTT = 0.1  # s, of propagation alone


@dataclass(frozen=True)
class Bottleneck:
    """A wire with a drop-tail queue, in packets of 1500 bytes."""

    rate_kbps: float
    rtt: float
    """Round trip without queueing and without the transmission of the packet, s."""

    @property
    def packets_per_second(self) -> float:
        """How many packets leave the queue in a second."""
        return self.rate_kbps * 125 / PACKET

    @property
    def pipe(self) -> float:
        """Packets in flight that keep the wire busy and the queue empty."""
        return self.rtt * self.packets_per_second + 1


@dataclass(frozen=True)
class Growth:
    """How the window of a congestion control grows between two losses, and what it keeps at a loss."""

    kept: float = 0.5
    per_round: float = 1.0
    """Segments by which an additive increase grows in a round trip."""
    cubic: bool = False
    catches_up: bool = True
    """CUBIC: whether Reno's window grows by a segment a round trip once it is back (RFC 9438, section 4.3)."""


RENO = Growth()
CUBIC_C = 0.4
CUBIC_KEPT = 0.7
CUBIC_ALPHA = 3 * (1 - CUBIC_KEPT) / (1 + CUBIC_KEPT)
CUBIC = Growth(CUBIC_KEPT, CUBIC_ALPHA, cubic=True)


class Window:
    """The congestion window in segments, round trip by round trip."""

    def __init__(self, growth: Growth, size: float) -> None:
        self.growth = growth
        self.size = size
        self.before = size
        self._flat = size
        self._cut()

    def grow(self, round_trip: float) -> None:
        """One round trip without losses."""
        growth = self.growth
        if not growth.cubic:
            self.size += growth.per_round
            return
        self._time += round_trip
        caught_up = growth.catches_up and self._reno >= self.before
        self._reno += 1.0 if caught_up else growth.per_round
        target = CUBIC_C * (self._time - self._flat_at) ** 3 + self._origin
        self.size = max(self.size, self._reno, min(target, 1.5 * self.size))

    def lose(self) -> None:
        """Reduce the window after a loss; CUBIC's next one is flat below this one if it has shrunk (fast convergence)."""
        shrinks = self.size < self._flat
        self._flat = self.size * (1 + self.growth.kept) / 2 if shrinks else self.size
        self.before = self.size
        self._cut()

    def _cut(self) -> None:
        self.size = max(2.0, self.growth.kept * self.before)
        self._time, self._reno = 0.0, self.size
        self._origin = max(self._flat, self.size)
        self._flat_at = ((self._origin - self.size) / CUBIC_C) ** (1 / 3)


def full_queue_kbps(at: Bottleneck, queue: int, growth: Growth, payload: int) -> float:
    """Goodput of a flow whose only losses are those of a full drop-tail queue.

    The window grows until it exceeds what the wire and the queue hold. The loss is found a round trip later, and
    recovery takes one more at the reduced window.
    """
    most = at.pipe + queue
    window = Window(growth, most)
    sent = seconds = 0.0

    def pass_round(size: float) -> float:
        nonlocal sent, seconds
        round_trip = max(size, at.pipe) / at.packets_per_second
        sent += size
        seconds += round_trip
        return round_trip

    for _ in range(CYCLES):
        pass_round(window.size)
        while window.size <= most:
            window.grow(pass_round(window.size))
        pass_round(most)
        window.lose()
    return payload * 8 * sent / seconds / 1000


CYCLES = 20
"""Losses after which the mean of a sawtooth is taken: fast convergence makes every second one of CUBIC's differ."""


def pftk(loss: float, rtt: float, timeout: float, per_ack: int = 1) -> float:
    """Segments that arrive in a second: equation 37 of Padhye and others, without a limit of the receiver's window."""
    reached = (2 + per_ack) / (3 * per_ack)
    window = reached + math.sqrt(8 * (1 - loss) / (3 * per_ack * loss) + reached**2)
    kept = (1 - loss) ** 3
    timeouts = min(1.0, (1 - kept) * (1 + kept * (1 - (1 - loss) ** max(0.0, window - 3))) / (1 - (1 - loss) ** window))
    backoff = 1 + sum(2**n * loss ** (n + 1) for n in range(6))
    segments = (1 - loss) / loss + window / 2 + timeouts
    return float(segments / (rtt * (per_ack / 2 * window + 1) + timeouts * timeout * backoff / (1 - loss)))


def cubic_window(loss: float, rtt: float) -> float:
    """Mean window in segments under periodic losses: the larger one of RFC 9438, section 5.1, and of section 4.3."""
    cubic = (CUBIC_C * (3 + CUBIC_KEPT) / (4 * (1 - CUBIC_KEPT))) ** 0.25 * (rtt / loss) ** 0.75
    reno = math.sqrt(CUBIC_ALPHA * (1 + CUBIC_KEPT) / (2 * (1 - CUBIC_KEPT) * loss))
    return float(max(cubic, reno))


def bbr_share(queue: int, at: Bottleneck, flows: int = 1) -> float:
    """Share of BBR's flows beside flows that fill the queue: equations 5, 8 and 9 of Ware and others."""
    product = at.rtt * at.packets_per_second
    others = max(0.0, 0.5 - product / (2 * queue) - 4 * flows / queue)
    probing = (queue / at.packets_per_second + 0.2 + at.rtt) / 10
    return (1 - others) * (1 - probing)


class IndependentLosses:
    """TCP whose segments are lost independently of each other, window by window, with a fixed round trip.

    What follows a loss in its window, and what ACKs of segments before it have released, may be lost as well and is
    repaired with it. A duplicate ACK is enough to begin a recovery: limited transmit makes more. A retransmission that
    is lost, and a window of which nothing else arrives, wait for the timeout, which doubles as long as that is lost again.
    """

    def __init__(
        self,
        growth: Growth,
        loss: float,
        rtt: float,
        timeout: float,
        *,
        sack: bool = False,
        rack: bool = False,
        pairs: bool = False,
        rounds: bool = False,
    ) -> None:
        self.growth, self.loss, self.rtt, self.timeout = growth, loss, rtt, timeout
        self.sack, self.rack = sack, rack
        """Whether all losses of a window are repaired in one round trip, and lost retransmissions without a timeout."""
        self.pairs = pairs
        """Whether every second segment is acknowledged: of an odd window one segment waits for the next round trip."""
        self.rounds = rounds
        """Whether a loss takes with it all that follows in its round trip, as in PFTK."""
        self.window = Window(growth, 1 / math.sqrt(loss))
        self.slow_start = 0.0
        """The window while it is below the threshold, which `window` has then."""
        self.arrived = self.sent = self.seconds = 0.0
        self._draws = random.Random(1)

    def rate(self, losses: int = 2000) -> float:
        """Segments that arrive in a second, over about so many losses."""
        while self.sent < losses / self.loss:
            self._round()
        return self.arrived / self.seconds

    def _round(self) -> None:
        size = int(self.slow_start or self.window.size)
        if self.pairs:
            size = max(1, size - size % 2)
        self._pass_round()
        before = self._until_loss()
        if before >= size:
            self._send(size, 0)
            self._grow()
            return
        if self.rounds:
            self._lose_rest(size, before)
            return
        lost = 1 + self._lost_of(size - before - 1)
        released = self._lost_of(before)
        self._send(size, lost)
        self._send(before, released)
        duplicates = size - lost
        if self.slow_start:
            self.window.size, self.slow_start = self.slow_start, 0.0
        if duplicates == 0:
            self._time_out(self.growth.kept * size)
            return
        for _ in range(duplicates, 3):
            self._pass_round()
            self._send(1, 0)
        self.window.lose()
        if not self._repair(lost + released, before):
            self._time_out(self.growth.kept * self.window.size)

    def _lose_rest(self, size: int, before: int) -> None:
        """Lose the segments that follow a loss in its round trip; ACKs of those before it release as many."""
        self._send(size, size - before)
        self._pass_round()
        duplicates = min(before, self._until_loss())
        self._send(before, before - duplicates)
        if duplicates < DUPLICATES:
            self._time_out(self.growth.kept * size)
        else:
            self.window.lose()

    def _grow(self) -> None:
        if not self.slow_start:
            self.window.grow(self.rtt)
            return
        self.slow_start *= 1 + min(1.0, self.growth.per_round) if not self.growth.cubic else 2
        if self.slow_start >= self.window.size:
            self.slow_start = 0.0

    def _repair(self, lost: int, released: int) -> bool:
        """Retransmit what is lost, and send new data beside it. Returns false if a retransmission was lost."""
        started = self.seconds
        while lost > 0:
            self._pass_round()
            at_once = lost if self.sack else 1
            new = max(0, int(self.window.size) - released - lost)
            self._send(new, self._lost_of(new))
            again = self._lost_of(at_once)
            self._send(at_once, again)
            released = 0
            if again and not self.rack:
                return False
            if again:
                self.window.lose()
            lost -= at_once - again
            if not self.sack and self.seconds - started > self.timeout + self.rtt:
                return lost <= 0
        return True

    def _time_out(self, threshold: float) -> None:
        wait = self.timeout
        while True:
            self.seconds += wait
            if self._draws.random() >= self.loss:
                break
            wait = min(2 * wait, 64 * self.timeout)
        self._pass_round()
        self._send(1, 0)
        self.window = Window(self.growth, max(2.0, threshold) / self.growth.kept)
        self.slow_start = 2.0 if self.window.size > 2.0 else 0.0

    def _pass_round(self) -> None:
        self.seconds += self.rtt

    def _send(self, segments: int, lost: int) -> None:
        self.sent += segments
        self.arrived += segments - lost

    def _lost_of(self, segments: int) -> int:
        lost, at = 0, self._until_loss()
        while at < segments:
            lost, at = lost + 1, at + 1 + self._until_loss()
        return lost

    def _until_loss(self) -> int:
        return math.floor(math.log(1 - self._draws.random()) / math.log(1 - self.loss))


def bbr_share_of_emptied_queue(queue: int, at: Bottleneck, kept: float, flows: int = 1) -> float:
    """Share of BBR if its probe for the round trip lasts until its data in flight has left.

    The window of the others, at a random instant between two of their losses, then fills the wire alone: the round
    trip that BBR finds is shorter than Ware's by what the others lack for that.
    """
    product = at.rtt * at.packets_per_second
    window = (1 + kept) / 2
    others = (1 - 8 * flows / (queue + product)) / (2 * window)
    probing = (queue / at.packets_per_second + 0.2 + at.rtt) / 10
    return (1 - others) * (1 - probing)


DUPLICATES = 3
"""Duplicate ACKs that begin a fast retransmission."""
