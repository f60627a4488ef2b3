"""Run experiments and write what they found."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import multihop
from multihop import sweeping
from multihop.files import write_text
from multihop.journal import Journal, Shard
from multihop.progress import Progress
from multihop.runs import Where
from multihop_papers import sequential
from multihop_papers.catalogue import find
from multihop_papers.declare import EMULATED, VALIDATION
from multihop_papers.emulated.world import Emulations
from multihop_papers.sequential import Limits
from multihop_papers.study import Experiment, Study

FIXED = Limits()
CHAIN = "elfn-chain"
"""Says what chains deliver, for expected throughputs."""


@dataclass(frozen=True)
class Suite:
    """Where experiments are run, how much of them, and where what they found is kept."""

    folder: Path
    full: bool
    where: Where | None
    """Where runs are performed; without it finished runs are read and nothing is run."""
    quiet: bool = False
    verbose: bool = False
    looks: int | None = 1
    """How often claims of papers may be judged; None for what is declared. The validation has one look."""
    seconds: float | None = math.inf
    """CPU time of an experiment at most, s; None for what it declares."""

    def run(self, experiments: Sequence[Experiment]) -> list[Study]:
        """Run experiments, one after the other."""
        return [self.study(experiment) for experiment in experiments]

    def study(self, experiment: Experiment) -> Study:
        """Run one experiment, but for the runs that the folder has already."""
        effort = experiment.full if self.full else experiment.quick
        own = folder_of(self.folder, experiment, self.full)
        shard = self.where.shard if self.where else None
        study = Study(experiment, effort, journal(experiment, own, shard))
        study.folder = own
        start = time.monotonic()
        if experiment.expected:
            study.expected = self.expected(own)
        try:
            self._perform(study, own)
            if experiment.more is not None and study.accepted() and not study.missing:
                experiment.more(study)
        except multihop.RunError as error:
            study.failed = str(error)
        study.seconds = time.monotonic() - start
        keep(study, own)
        study.wall = waited(own, study.seconds if study.performed else 0.0)
        return study

    def first_runs(self, experiment: Experiment) -> Study:
        """The first run of each cell, without judging anything."""
        effort = experiment.full if self.full else experiment.quick
        own = folder_of(self.folder, experiment, self.full)
        study = Study(experiment, effort, journal(experiment, own), seeds=1)
        if experiment.expected:
            study.expected = self.expected(own)
        study.run(self.where, Progress(experiment.id, quiet=self.quiet, verbose=self.verbose))
        return study

    def _perform(self, study: Study, own: Path) -> None:
        if self.where is None:
            sequential.restore(study, own)
            return
        progress = Progress(study.experiment.id, quiet=self.quiet, verbose=self.verbose)
        sequential.run(study, self.where, progress, self._limits(study))
        if not study.missing:
            sequential.save(study, own)

    def _limits(self, study: Study) -> Limits:
        if study.experiment.paper in (VALIDATION, EMULATED):
            return FIXED
        planned = Limits.planned(study.effort, self.full)
        looks = planned.looks if self.looks is None else self.looks
        return Limits(looks, planned.seconds if self.seconds is None else self.seconds)

    def expected(self, own: Path) -> Path:
        """The file of what chains deliver, beside the runs that use it."""
        path = own / "chain.json"
        if self.where is None and path.is_file():
            return path
        # All runs, not a shard of them.
        where = Where(self.where.jobs, self.where.on) if self.where else None
        chain = replace(self, where=where, looks=1).study(find(CHAIN))
        cells = chain.select({"EIFS": "on"})
        means = {str(cell[0]): found.mean for cell in cells if (found := chain.mean("acked", cell))}
        write_text(path, json.dumps(means))
        return path


def journal(experiment: Experiment, folder: Path, shard: Shard | None = None) -> Journal | Emulations:
    """The runs of an experiment that are in a folder."""
    return Emulations(folder) if experiment.emulated else Journal(folder, shard)


def waited(folder: Path, more: float) -> float:
    """Time on the wall that the runs in a folder have taken, over all the times that they were begun."""
    path = folder / "wall.json"
    before = json.loads(path.read_text()) if path.is_file() else 0.0
    if more:
        write_text(path, json.dumps(before + more))
    return float(before + more)


def folder_of(folder: Path, experiment: Experiment, full: bool) -> Path:
    """Where the runs of an experiment are."""
    return folder / ("full" if full else "quick") / experiment.id


def finished(folder: Path, experiment: Experiment) -> Study | None:
    """Study from the finished runs in a folder: the full runs, or else the quick ones, if all are there."""
    for full in (True, False):
        if folder_of(folder, experiment, full).is_dir():
            study = Suite(folder, full, where=None).study(experiment)
            if not study.missing:
                return study
    return None


def keep(study: Study, folder: Path) -> None:
    """The runs of a study as tables, and what they cost."""
    rows = []
    for cell in study.accepted():
        axes = {axis.name: str(value) for axis, value in zip(study.experiment.axes, cell, strict=True)}
        for seed in study.seeds_of(cell):
            key = study.key(cell, seed)
            if key in study.journal:
                rows.append((axes, key, study.journal.result(key)))
    study.runs = len(rows)
    study.cost = study.spent()
    if rows:
        sweeping.runs_table(rows).write_parquet(folder / "results.parquet")
        sweeping.rows_of(rows, "flows").write_parquet(folder / "flows.parquet")
