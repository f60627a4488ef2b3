"""Progress of a list of runs: a bar on a terminal or in a notebook, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Any

PATIENCE = 2.0
"""Seconds before the first output; shorter lists show none."""


class Progress:
    """Shows the number of finished runs and the remaining time on standard error."""

    def __init__(self, what: str, *, quiet: bool = False, verbose: bool = False) -> None:
        self.what = what
        self.quiet = quiet or not what
        self.verbose = verbose
        self.total = self.done = self.tenths = 0
        self.start = time.monotonic()
        self.bar: Any = None

    def begin(self, total: int) -> None:
        """Start a list of `total` runs."""
        self.total, self.done, self.tenths = total, 0, 0
        self.start = time.monotonic()
        if not self.quiet and not self.verbose and has_bars():
            from tqdm.auto import tqdm

            self.bar = tqdm(total=total, desc=self.what, unit=" runs", delay=PATIENCE, leave=False)

    def step(self) -> None:
        """Count a finished run."""
        self.done += 1
        if self.bar is not None:
            self.bar.update()
        elif self.verbose or (not self.quiet and time.monotonic() - self.start >= PATIENCE):
            self._line()

    def end(self) -> None:
        """Remove the bar."""
        if self.bar is not None:
            self.bar.close()
            self.bar = None

    def _line(self) -> None:
        share = self.done / self.total
        if self.verbose or int(10 * share) > self.tenths:
            self.tenths = int(10 * share)
            left = (time.monotonic() - self.start) * (self.total - self.done) / self.done
            line = f"{self.what}: {self.done} of {self.total} runs, {duration(left)} left"
            print(line, file=sys.stderr, flush=True)


def has_bars() -> bool:
    """Whether bars can be drawn: on a terminal, and in a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


def duration(seconds: float) -> str:
    """A time in a suitable unit."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
