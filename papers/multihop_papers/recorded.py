"""Means of an experiment as a CSV file beside its page, from which figures are drawn without the runs.

A file has a row for each cell: the values of the axes, then the mean and half the interval of each metric. A
cell that the simulator does not accept has `not run` in place of its first mean. The index of the folder has
the version, the seeds and the command of the runs.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from matplotlib.figure import Figure

from multihop.figure_files import figure_file
from multihop.files import make_folder, write_text
from multihop.journal import Journal
from multihop.stats import Interval
from multihop_papers import figures, index
from multihop_papers.catalogue import EXPERIMENTS
from multihop_papers.declare import Axis, Plot
from multihop_papers.index import Record
from multihop_papers.study import Experiment, Study, Values

FOLDER = "data"
"""The folder of the files, in that of the pages."""
KINDS = ("line", "bar")
"""The kinds of figures that need only means."""
NOT_RUN = "not run"
HALF = " ±"
"""End of the name of the column with half the interval."""


@dataclass
class Recorded(Study):
    """A study whose means come from a file; it has no runs."""

    means: dict[tuple[str, Values], Interval] = field(default_factory=dict)
    values: Sequence[set[str]] = ()
    """Values of each axis in the file: an experiment may have got more since."""

    @property
    def axes(self) -> list[Axis]:
        """The axes, with the values that the file has."""
        return [
            Axis(one.name, {v: s for v, s in one.values.items() if str(v) in found}, one.label)
            for one, found in zip(super().axes, self.values, strict=True)
        ]

    def mean(self, name: str, cell: Values) -> Interval | None:
        """Mean and interval of a metric in a cell, as the file has them."""
        return self.means.get((name, cell))


def suffices(plot: Plot) -> bool:
    """Whether a figure can be drawn from means."""
    return plot.kind in KINDS


def link(experiment: Experiment) -> str:
    """The file of an experiment, from its page."""
    return f"{FOLDER}/{experiment.id}.csv"


def place(figure: str, numbers: str, caption: str) -> str:
    """Text of a page in the place of a figure: a link to its numbers; the site has the figure there."""
    return f"<!-- figure {figure} -->\n[Numbers of the figure]({numbers}): {caption}"


def write(folder: Path, study: Study) -> None:
    """Write the means of a study into the folder of its page, if they are enough for one of its figures.

    Without such means, the file of an earlier run is removed.
    """
    experiment = study.experiment
    if not study.accepted() or not any(suffices(plot) for plot in experiment.plots):
        (folder / link(experiment)).unlink(missing_ok=True)
        return
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    columns = [name for metric in experiment.metrics for name in (metric.name, metric.name + HALF)]
    rows.writerow([*(axis.name for axis in study.axes), *columns])
    for cell in study.cells():
        rows.writerow(
            [*cell, *(word for metric in experiment.metrics for word in _words(study, metric.name, cell))]
        )
    make_folder(folder / FOLDER)
    write_text(folder / link(experiment), text.getvalue())


def _words(study: Study, name: str, cell: Values) -> tuple[str, str]:
    """A mean and half its interval as they are written; empty if nothing was measured, or for one run."""
    if cell in study.refused:
        return NOT_RUN, ""
    found = study.mean(name, cell)
    if found is None:
        return "", ""
    return f"{found.mean:.8g}", f"{found.half:.8g}" if math.isfinite(found.half) else ""


def read(folder: Path, experiment: Experiment, record: Record) -> Recorded | None:
    """The study in a file; None if there is no file."""
    path = folder / link(experiment)
    if not path.is_file():
        return None
    with path.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    effort = experiment.full if record.entry["how much"] == "full" else experiment.quick
    count = len(experiment.axes)
    values = [{row[column] for row in rows} for column in range(count)]
    study = Recorded(
        experiment, effort, Journal(), seeds=int(record.entry["seeds"].split()[0]), values=values
    )
    cells = {tuple(map(str, cell)): cell for cell in study.cells()}
    for row in rows:
        name = tuple(row[:count])
        if name not in cells:
            raise ValueError(f"{path}: found the cell {', '.join(name)}, which {experiment.id} lacks")
        for column in range(count, len(head), 2):
            _fill(study, head[column], cells[name], row[column], row[column + 1])
    return study


def _fill(study: Recorded, metric: str, cell: Values, mean: str, half: str) -> None:
    if mean == NOT_RUN:
        study.refused[cell] = NOT_RUN
    elif mean:
        found = float(half) if half else math.inf
        study.means[metric, cell] = Interval(float(mean), found, study.seeds, study.experiment.level)


def studies(folder: Path) -> Iterator[Recorded]:
    """The studies of a folder of pages whose means are in files."""
    experiments = {one.id: one for one in EXPERIMENTS}
    for record in index.read(folder):
        if record.id in experiments:
            study = read(folder, experiments[record.id], record)
            yield from () if study is None else (study,)


def drawn(study: Study) -> Iterator[tuple[str, Figure]]:
    """Figures that means are enough for, with the names of their files."""
    for number, plot in enumerate(study.experiment.plots, 1):
        figure = figures.draw(study, plot) if suffices(plot) else None
        if figure is not None:
            yield f"{study.experiment.id}-{number}.svg", figure


def draw(folder: Path, out: Path) -> int:
    """Draw the figures of a folder of pages into another folder; returns their number."""
    make_folder(out)
    found = [one for study in studies(folder) for one in drawn(study)]
    for name, figure in found:
        write_text(out / name, figure_file(figure))
    return len(found)
