"""Progress of a list of runs: a bar on a terminal or in a notebook, a line from time to time elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

PATIENCE = 2.0
"""Seconds before a bar; shorter lists show none."""
FIRST_LINE = 10.0
"""Seconds before the first line where there is no terminal."""
BETWEEN_LINES = 30.0
"""Seconds between two lines."""


class Progress:
    """Shows the number of finished runs and the remaining time on standard error."""

    def __init__(self, what: str, *, quiet: bool = False, verbose: bool = False) -> None:
        self.what = what
        self.quiet = quiet or not what
        self.verbose = verbose
        self.total = self.done = self.stored = 0
        self.start = time.monotonic()
        self.bar: Any = None
        self.ended = threading.Event()

    def begin(self, total: int, stored: int = 0) -> None:
        """Start a list of `total` runs, of which `stored` have finished before."""
        self.total, self.done, self.stored = total, stored, stored
        self.start = time.monotonic()
        self.ended = threading.Event()
        if self.quiet or stored == total:
            return
        if has_bars() and not self.verbose:
            from tqdm.auto import tqdm

            self.bar = tqdm(
                total=total, initial=stored, desc=self.what, unit=" runs", delay=PATIENCE, leave=False
            )
        else:
            threading.Thread(target=self._lines, args=(self.ended,), daemon=True).start()

    def step(self) -> None:
        """Count a finished run."""
        self.done += 1
        if self.bar is not None:
            self.bar.update()
        elif self.verbose and not self.quiet:
            self._line()

    def end(self) -> None:
        """Remove the bar from the terminal."""
        self.ended.set()
        if self.bar is not None:
            self.bar.close()
            self.bar = None

    def _lines(self, ended: threading.Event) -> None:
        """Print a line from time to time until the list has ended."""
        pause = FIRST_LINE
        while not ended.wait(pause):
            self._line()
            pause = BETWEEN_LINES

    def _line(self) -> None:
        performed = self.done - self.stored
        elapsed = time.monotonic() - self.start
        rest = f", {duration(elapsed * (self.total - self.done) / performed)} left" if performed else ""
        print(f"{self.what}: {self.done} of {self.total} runs{rest}", file=sys.stderr, flush=True)


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
