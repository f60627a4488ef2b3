"""Numbers of an experiment as CSV files beside its page, from which figures are drawn without the runs.

`ID.csv` has a row for each cell: the values of the axes, then the mean and half the interval of each metric.
A cell that the simulator does not accept has `not run` in place of its first mean. `ID.runs.csv` has a row
for each run, with the metrics of `scatter` figures. `ID.series.csv` has the series of `time` figures, in the
first run of each drawn cell. The index of the folder has the version, the seeds and the command of the runs.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
from matplotlib.figure import Figure

from multihop.figure_files import figure_file
from multihop.files import make_folder, write_text
from multihop.journal import Journal
from multihop.stats import Interval
from multihop_papers import figures, index
from multihop_papers.catalogue import EXPERIMENTS
from multihop_papers.declare import Axis, Plot
from multihop_papers.index import Record
from multihop_papers.study import Experiment, Samples, Study, Values

FOLDER = "data"
"""The folder of the files, in that of the pages."""
ENDS = {"line": ".csv", "bar": ".csv", "scatter": ".runs.csv", "time": ".series.csv"}
"""End of the name of the file from which a kind of figure is drawn."""
SERIES = ("series", "subject", "id", "time", "value")
"""Columns of a file of series, behind those of the axes."""
POINTS = 300
"""Largest number of points of a series. Of a longer one, each part keeps its least and largest value."""
NOT_RUN = "not run"
HALF = " ±"
"""End of the name of the column with half the interval."""


@dataclass
class Recorded(Study):
    """A study whose means come from a file; it has no runs."""

    means: dict[tuple[str, Values], Interval] = field(default_factory=dict)
    every: dict[tuple[str, Values], Samples] = field(default_factory=dict)
    """Metrics of each run, by metric and cell."""
    lines: dict[Values, pl.DataFrame] = field(default_factory=dict)
    """Series of the first run of cells."""
    kinds: frozenset[str] = frozenset()
    """The kinds of figures whose numbers are in files."""
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

    def samples(self, name: str, cell: Values) -> Samples:
        """A metric in every run of a cell, as the file has it."""
        return self.every.get((name, cell), {})

    def series(self, cell: Values) -> pl.DataFrame | None:
        """Series of the first run of a cell, as the file has them."""
        return self.lines.get(cell)


def link(experiment: Experiment, kind: str = "line") -> str:
    """The file from which a kind of figure of an experiment is drawn, from its page."""
    return f"{FOLDER}/{experiment.id}{ENDS[kind]}"


def place(figure: str, numbers: str, caption: str) -> str:
    """Text of a page in the place of a figure: a link to its numbers; the site has the figure there."""
    return f"<!-- figure {figure} -->\n[Numbers of the figure]({numbers}): {caption}"


def write(folder: Path, study: Study) -> None:
    """Write the numbers of a study's figures into the folder of its page.

    Files of an earlier run that the study does not need are removed.
    """
    experiment = study.experiment
    plots = experiment.plots if study.accepted() else ()
    tables = {
        "line": _means(study) if plots else [],
        "scatter": _runs(study, [one for one in plots if one.kind == "scatter"]),
        "time": _series(study, [one for one in plots if one.kind == "time"]),
    }
    for kind, rows in tables.items():
        path = folder / link(experiment, kind)
        if not rows:
            path.unlink(missing_ok=True)
            continue
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        make_folder(folder / FOLDER)
        write_text(path, text.getvalue())


def _means(study: Study) -> list[Sequence[object]]:
    """Rows of the file of means, and their head."""
    metrics = study.experiment.metrics
    columns = [name for metric in metrics for name in (metric.name, metric.name + HALF)]
    rows: list[Sequence[object]] = [[*(axis.name for axis in study.axes), *columns]]
    for cell in study.cells():
        rows.append([*cell, *(word for metric in metrics for word in _words(study, metric.name, cell))])
    return rows


def _runs(study: Study, plots: Sequence[Plot]) -> list[Sequence[object]]:
    """Rows of the file of runs, and their head; none without figures of runs."""
    names = list(dict.fromkeys(name for plot in plots for name in (plot.x, plot.metric)))
    rows: list[Sequence[object]] = [[*(axis.name for axis in study.axes), "seed", *names]] if names else []
    for cell in study.accepted() if names else ():
        samples = [study.samples(name, cell) for name in names]
        for seed, batch in sorted(set(itertools.chain.from_iterable(samples))):
            words = (f"{one[seed, batch]:.6g}" if (seed, batch) in one else "" for one in samples)
            rows.append([*cell, seed, *words])
    return rows


def _series(study: Study, plots: Sequence[Plot]) -> list[Sequence[object]]:
    """Rows of the file of series, and their head; none without figures of series."""
    rows: list[Sequence[object]] = [[*(axis.name for axis in study.axes), *SERIES]] if plots else []
    drawn = dict.fromkeys((plot.metric, cell) for plot in plots for cell in figures.first_cells(study, plot))
    for name, cell in drawn:
        series = study.series(cell)
        if series is None:
            continue
        of_name = series.filter(pl.col("series") == name)
        for (subject, number), part in of_name.group_by("subject", "id", maintain_order=True):
            for time, value in thinned(list(zip(part["time"], part["value"], strict=True))):
                rows.append([*cell, name, subject, number, f"{time:.6g}", f"{value:.5g}"])
    return rows


def thinned(points: Sequence[tuple[float, float]]) -> Sequence[tuple[float, float]]:
    """At most POINTS points of a series, which look like all of them."""
    if len(points) <= POINTS:
        return points
    size = math.ceil(len(points) / (POINTS // 2 - 1))
    kept = {points[0], points[-1]}
    for start in range(0, len(points), size):
        part = points[start : start + size]
        kept |= {min(part, key=lambda point: point[1]), max(part, key=lambda point: point[1])}
    return sorted(kept)


def _words(study: Study, name: str, cell: Values) -> tuple[str, str]:
    """A mean and half its interval as they are written; empty if nothing was measured, or for one run."""
    if cell in study.refused:
        return NOT_RUN, ""
    found = study.mean(name, cell)
    if found is None:
        return "", ""
    return f"{found.mean:.8g}", f"{found.half:.8g}" if math.isfinite(found.half) else ""


def read(folder: Path, experiment: Experiment, record: Record) -> Recorded | None:
    """The study in the files of an experiment; None if there are none."""
    path = folder / link(experiment)
    if not path.is_file():
        return None
    head, *rows = _table(path)
    effort = experiment.full if record.entry["how much"] == "full" else experiment.quick
    count = len(experiment.axes)
    values = [{row[column] for row in rows} for column in range(count)]
    study = Recorded(
        experiment, effort, Journal(), seeds=int(record.entry["seeds"].split()[0]), values=values
    )
    study.kinds = frozenset(kind for kind in ENDS if (folder / link(experiment, kind)).is_file())
    for cell, row in _by_cell(study, rows, path):
        for name, mean, half in zip(head[count::2], row[::2], row[1::2], strict=True):
            _fill(study, name, cell, mean, half)
    if "scatter" in study.kinds:
        _read_runs(study, folder / link(experiment, "scatter"))
    if "time" in study.kinds:
        _read_series(study, folder / link(experiment, "time"))
    return study


def _read_runs(study: Recorded, path: Path) -> None:
    head, *rows = _table(path)
    names = head[len(study.axes) + 1 :]
    for cell, (seed, *words) in _by_cell(study, rows, path):
        for name, word in zip(names, words, strict=True):
            if word:
                study.every.setdefault((name, cell), {})[int(seed), 0] = float(word)


def _read_series(study: Recorded, path: Path) -> None:
    rows = _by_cell(study, _table(path)[1:], path)
    for cell, group in itertools.groupby(rows, key=lambda pair: pair[0]):
        points = [
            (name, subject, int(number), float(time), float(value))
            for _, (name, subject, number, time, value) in group
        ]
        part = pl.DataFrame(points, schema=SERIES, orient="row")
        study.lines[cell] = study.lines[cell].vstack(part) if cell in study.lines else part


def _by_cell(
    study: Recorded, rows: Sequence[Sequence[str]], path: Path
) -> Iterator[tuple[Values, Sequence[str]]]:
    """The cell of each row of a file, and the words behind its name."""
    cells, count = {tuple(map(str, cell)): cell for cell in study.cells()}, len(study.axes)
    for row in rows:
        name = tuple(row[:count])
        if name not in cells:
            raise ValueError(f"{path}: found the cell {', '.join(name)}, which {study.experiment.id} lacks")
        yield cells[name], row[count:]


def _table(path: Path) -> list[list[str]]:
    """Rows of a file, the first of which names the columns."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


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


def drawn(study: Recorded) -> Iterator[tuple[str, Figure]]:
    """Figures whose numbers are in files, with the names of their files."""
    for number, plot in enumerate(study.experiment.plots, 1):
        figure = figures.draw(study, plot) if plot.kind in study.kinds else None
        if figure is not None:
            yield f"{study.experiment.id}-{number}.svg", figure


def draw(folder: Path, out: Path) -> int:
    """Draw the figures of a folder of pages into another folder; returns their number."""
    make_folder(out)
    found = [one for study in studies(folder) for one in drawn(study)]
    for name, figure in found:
        write_text(out / name, figure_file(figure))
    return len(found)
