"""Lists of runs: on all processors or on a cluster, each kept as soon as it ends."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from multihop import _core
from multihop.journal import Journal, Shard
from multihop.progress import Progress
from multihop.scenario import Request


@dataclass(frozen=True)
class Run:
    """A scenario with its seed, and the key that tells it from all others."""

    key: str
    request: Request

    @classmethod
    def of(cls, request: Request) -> Run:
        """Check a scenario; raises `ScenarioError` if there is something wrong with it."""
        return cls(_core.key(*request), request)


@dataclass(frozen=True)
class Where:
    """Who does the work."""

    jobs: int | None = None
    """Runs at the same time on this machine; one for each processor if not given."""
    on: str | None = None
    """The address of a Dask scheduler, in place of this machine."""
    shard: Shard | None = None
    """The part of the list that is run here; all of it if not given."""


def complete(runs: Sequence[Run], journal: Journal, where: Where, progress: Progress | None = None) -> int:
    """Run what the journal does not have; says how many runs are still missing."""
    mine = [run for place, run in enumerate(runs) if where.shard is None or _has(where.shard, place)]
    missing = list({run.key: run for run in mine if run.key not in journal}.values())
    progress = progress or Progress("")
    progress.begin(len(missing))
    if missing:
        for line in _lines(missing, where):
            journal.append(line)
            progress.step()
    progress.end()
    return sum(run.key not in journal for run in runs)


def perform(run: Run) -> str:
    """Run one scenario; a line for the journal."""
    with tempfile.TemporaryDirectory(prefix="multihop-") as scratch:
        record = Path(scratch) / "series.csv"
        begin = time.thread_time()
        result = _core.run(*run.request, None, None, str(record))
        cost = time.thread_time() - begin
        series = record.read_text("utf-8") if record.is_file() else ""
    # The result as the simulator wrote it: numbers keep their digits.
    more = f',"series":{json.dumps(series)}' if series else ""
    return f'{{"key":"{run.key}","version":"{_core.build()}","cost":{cost:.4f},"result":{result}{more}}}'


def _has(shard: Shard, place: int) -> bool:
    return place % shard.of == shard.number - 1


def _lines(runs: Sequence[Run], where: Where) -> Iterator[str]:
    if where.on is not None:
        from multihop.cluster import lines  # dask is not installed everywhere

        return lines(where.on, runs)
    return _here(runs, where.jobs or os.cpu_count() or 1)


def _here(runs: Sequence[Run], jobs: int) -> Iterator[str]:
    pool = ThreadPoolExecutor(jobs)
    try:
        for future in as_completed([pool.submit(perform, run) for run in runs]):
            yield future.result()
    finally:
        # What has not begun never will, whether an error or the keyboard ended this.
        pool.shutdown(wait=False, cancel_futures=True)
