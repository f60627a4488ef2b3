"""Congestion controls that decide once in a step: what they observe, and what an action does.

`multihop.gym` has the environment in which such a control learns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from multihop._core import Ack, CongestionControl, Window

Array = NDArray[np.float32]

OBSERVED: Final = (
    ("window", "segments", 65_535.0),
    ("rate", "acknowledged segments per second", 1e7),
    ("round_trip", "mean of the step, s; of the last step that has one", 1e3),
    ("shortest", "shortest round trip of the connection, s", 1e3),
    ("flight", "segments in flight after the last ACK", 65_535.0),
    ("losses", "fast recoveries that began in the step", 1e6),
    ("timeouts", "timeouts in the step", 1e6),
    ("time", "length of the step, s", 1e6),
)
"""Name, unit and largest value of each number of an observation. The smallest is 0."""
ACTIONS: Final = (
    ("window", "binary logarithm of the factor by which the window changes"),
    ("gap", "one less than the pacing interval in smoothed round trips over windows; -1: no pacing"),
)
"""Name and meaning of each number of an action, from -1 to 1."""
ACKS = 8
"""ACKs of a step, unless a timeout ends it."""


class Stepwise(CongestionControl):
    """A control that gets an observation at the end of each step, and answers with an action.

    A step ends with the ACK number `acks`, or with a timeout. The action takes effect with the next signal.
    Losses change the window only as far as an action does; a timeout sets it to one segment.
    """

    acks: int | None = ACKS

    def __init__(self, window: Window) -> None:
        self.pending: Sequence[float] | None = None
        self.begin: float | None = None
        self.srtt: float | None = None
        self.round_trip = self.shortest = self.flight = self.cwnd = 0.0
        self.acknowledged = 0.0
        """Data of the connection that has been acknowledged, Mb."""
        self._clear()

    def decide(self, observation: Array) -> Sequence[float]:
        """Action for an observation; the numbers are those of `ACTIONS`."""
        raise NotImplementedError

    def ended(self, now: float) -> None:
        """Called at the end of a step, with the time, s."""
        self.pending = self.decide(self.observe(now))

    def on_ack(self, now: float, ack: Ack) -> None:
        """Take the ACK into the observation; end the step after `acks` of them."""
        self._signal(now)
        self.count += 1
        self.delivered += ack.acked
        self.acknowledged += ack.acked * self.window.mss * 8 / 1e6
        self.flight, self.srtt = ack.flight, ack.srtt
        if ack.round_trip is not None:
            self.samples += 1
            self.sum += ack.round_trip
            self.shortest = min(self.shortest or ack.round_trip, ack.round_trip)
        if ack.kind == "full":
            self.window.release(self.window.cwnd)
        self.cwnd = self.window.cwnd
        if self.acks is not None and self.count >= self.acks:
            self.ended(now)

    def on_loss(self, now: float, flight: float) -> None:
        """Keep the window; the endpoint retransmits."""
        self._signal(now)
        self.losses += 1
        self.window.hold(self.window.cwnd)

    def on_timeout(self, now: float, flight: float, again: bool) -> None:
        """Begin again with one segment."""
        self._signal(now)
        self.timeouts += 1
        self.window.shrink()
        self.cwnd = self.window.cwnd
        if self.acks is not None:
            self.ended(now)

    def observe(self, now: float) -> Array:
        """The observation of the step that ends now; the next step begins."""
        time = now - (now if self.begin is None else self.begin)
        if self.samples:
            self.round_trip = self.sum / self.samples
        rate = self.delivered / time if time > 0 else 0.0
        values = [
            self.cwnd,
            rate,
            self.round_trip,
            self.shortest,
            self.flight,
            self.losses,
            self.timeouts,
            time,
        ]
        self.begin = now
        self._clear()
        limits = [limit for _, _, limit in OBSERVED]
        return np.minimum(np.array(values, dtype=np.float32), np.array(limits, dtype=np.float32))

    def _signal(self, now: float) -> None:
        """Let the pending action take effect."""
        if self.begin is None:
            self.begin = now
        if self.pending is None:
            return
        window, gap = (min(max(float(value), -1.0), 1.0) for value in self.pending)
        self.pending = None
        self.window.cwnd *= 2.0**window
        interval = (1.0 + gap) * (self.srtt or 0.0) / self.window.cwnd
        self.pacing_interval = interval if interval > 0 else None

    def _clear(self) -> None:
        self.count = self.samples = self.losses = self.timeouts = 0
        self.delivered = self.sum = 0.0
