"""Lists of runs on all processors or on a cluster. Each run is saved when it ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import multihop._core as _core
from multihop.cluster import lines
from multihop.journal import Journal, Shard
from multihop.progress import Progress
from multihop.running import processors
from multihop.scenario import Run

__all__ = ["Run", "Where", "complete"]


@dataclass(frozen=True)
class Where:
    """Where runs are performed."""

    jobs: int | None = None
    """Number of parallel runs on this machine; by default one for each processor."""
    on: str | None = None
    """The address of a Dask scheduler, to be used instead of this machine."""
    shard: Shard | None = None
    """The part of the list to run; by default all of it."""


def complete(
    runs: Sequence[Run],
    journal: Journal,
    where: Where,
    progress: Progress | None = None,
    *,
    lists: bool = False,
) -> int:
    """Perform the runs that are not in the journal; returns how many are still missing.

    With `lists`, results have their nodes, links and queues, which are most of the text in large networks.
    """
    mine = [run for place, run in enumerate(runs) if where.shard is None or where.shard.has(place)]
    distinct = {run.key: run for run in mine}
    missing = [run for run in distinct.values() if run.key not in journal]
    progress = progress or Progress("")
    progress.begin(len(distinct), len(distinct) - len(missing))
    try:
        for line in _performed(missing, where, lists):
            journal.append(line)
            progress.step()
    finally:
        progress.end()
        journal.sync()
    return sum(run.key not in journal for run in runs)


def _performed(runs: Sequence[Run], where: Where, lists: bool) -> Iterator[str]:
    """Lines of a journal, in order of completion."""
    if where.on is not None and runs:
        return lines(where.on, runs, lists)
    return _core.Batch([(run.key, run.request) for run in runs], processors(where.jobs), lists)
