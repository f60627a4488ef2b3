"""Lists of runs: on all processors or on a cluster, each kept as soon as it ends."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from multihop import _core
from multihop.cluster import lines
from multihop.journal import Journal, Shard
from multihop.progress import Progress
from multihop.scenario import Run

__all__ = ["Run", "Where", "complete"]


@dataclass(frozen=True)
class Where:
    """Where runs are performed."""

    jobs: int | None = None
    """Runs at the same time on this machine; one for each processor if not given."""
    on: str | None = None
    """The address of a Dask scheduler, in place of this machine."""
    shard: Shard | None = None
    """The part of the list that is run here; all of it if not given."""


def complete(runs: Sequence[Run], journal: Journal, where: Where, progress: Progress | None = None) -> int:
    """Perform the runs that the journal lacks; returns how many are still missing."""
    mine = [run for place, run in enumerate(runs) if where.shard is None or where.shard.has(place)]
    missing = list({run.key: run for run in mine if run.key not in journal}.values())
    progress = progress or Progress("")
    progress.begin(len(missing))
    for line in _performed(missing, where):
        journal.append(line)
        progress.step()
    progress.end()
    return sum(run.key not in journal for run in runs)


def _performed(runs: Sequence[Run], where: Where) -> Iterator[str]:
    """Lines of a journal, in the order in which the runs end."""
    if where.on is not None and runs:
        return lines(where.on, runs)
    return _core.Batch([(run.key, run.request) for run in runs], where.jobs or os.cpu_count() or 1)
