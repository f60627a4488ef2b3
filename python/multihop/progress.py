"""Progress of a list of runs: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time

PATIENCE = 2.0
"""Seconds before the first output; shorter lists show none."""


class Progress:
    """Shows the number of finished runs and the remaining time on standard error."""

    def __init__(self, what: str, *, quiet: bool = False) -> None:
        self.what = what
        self.quiet = quiet or not what
        self.total = self.done = self.tenths = 0
        self.start = time.monotonic()
        self.shown = False

    def begin(self, total: int) -> None:
        """Start a list of `total` runs."""
        self.total, self.done, self.tenths = total, 0, 0
        self.start = time.monotonic()

    def step(self) -> None:
        """Count a finished run."""
        self.done += 1
        elapsed = time.monotonic() - self.start
        if self.quiet or elapsed < PATIENCE:
            return
        left = elapsed * (self.total - self.done) / self.done
        share = self.done / self.total
        if sys.stderr.isatty():
            bar = "=" * int(30 * share)
            line = f"{self.what} [{bar:30}] {self.done} of {self.total} runs, {duration(left)} left"
            print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)
            self.shown = True
        elif int(10 * share) > self.tenths:
            self.tenths = int(10 * share)
            line = f"{self.what}: {self.done} of {self.total} runs, {duration(left)} left"
            print(line, file=sys.stderr, flush=True)

    def end(self) -> None:
        """Remove the bar."""
        if self.shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self.shown = False


def duration(seconds: float) -> str:
    """A time in a suitable unit."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
