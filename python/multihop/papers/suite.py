"""Run experiments and write what they found."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from multihop import _core, sweeping
from multihop.journal import Journal
from multihop.papers.catalogue import find
from multihop.papers.declare import Experiment
from multihop.papers.study import Study
from multihop.progress import Progress
from multihop.runs import Where

CHAIN = "elfn-chain"
"""Says what chains deliver, for expected throughputs."""


@dataclass(frozen=True)
class Suite:
    """Where experiments are run, how much of them, and where what they found is kept."""

    folder: Path
    full: bool
    where: Where
    quiet: bool = False

    def run(self, experiments: Sequence[Experiment]) -> list[Study]:
        """Run experiments, one after the other."""
        return [self.study(experiment) for experiment in experiments]

    def study(self, experiment: Experiment) -> Study:
        """Run one experiment, but for the runs that the folder has already."""
        effort = experiment.full if self.full else experiment.quick
        own = self.folder / ("full" if self.full else "quick") / experiment.id
        study = Study(experiment, effort, Journal(own, self.where.shard))
        start = time.monotonic()
        if experiment.expected:
            study.expected = self.expected(own)
        try:
            study.run(self.where, Progress(experiment.id, quiet=self.quiet))
            if experiment.more is not None and study.accepted() and not study.missing:
                experiment.more(study)
        except _core.RunError as error:
            study.failed = str(error)
        study.seconds = time.monotonic() - start
        keep(study, own)
        return study

    def expected(self, own: Path) -> Path:
        """The file of what chains deliver, beside the runs that use it."""
        chain = Suite(self.folder, self.full, Where(self.where.jobs, self.where.on), self.quiet).study(
            find(CHAIN)
        )
        cells = chain.select({"EIFS": "on"})
        means = {str(cell[0]): found.mean for cell in cells if (found := chain.mean("acked", cell))}
        path = own / "chain.json"
        path.write_text(json.dumps(means))
        return path


def keep(study: Study, folder: Path) -> None:
    """The runs of a study as tables, and what they cost."""
    rows = []
    for cell in study.accepted():
        axes = {axis.name: str(value) for axis, value in zip(study.experiment.axes, cell, strict=True)}
        for seed in range(1, study.seeds + 1):
            key = _core.key(*study.request(cell, seed))
            if key in study.journal:
                rows.append((axes, key, study.journal.result(key)))
    study.runs = len(rows)
    study.cost = sum(result.data["wall_seconds"] for _, _, result in rows)
    if rows:
        sweeping.runs_table(rows).write_parquet(folder / "results.parquet")
        sweeping.flows_table(rows).write_parquet(folder / "flows.parquet")
