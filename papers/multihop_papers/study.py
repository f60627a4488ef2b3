"""An experiment, and a study of it: its runs, what they found in each cell, what was made of it."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
from matplotlib.figure import Figure

import multihop
from multihop.journal import Journal
from multihop.progress import Progress
from multihop.results import Result
from multihop.runs import Run, Where, complete
from multihop.scenario import Request, toml_value
from multihop.stats import Interval, interval
from multihop_papers.declare import (
    Axis,
    Cell,
    Claim,
    Document,
    Effort,
    Metric,
    Plot,
    Published,
    Settings,
    Unstated,
)
from multihop_papers.emulated import world
from multihop_papers.emulated.world import Emulations
from multihop_papers.reasons import Reason
from multihop_papers.verdicts import Verdict, word

Values = tuple[Any, ...]
"""A value for each axis, in their order: the name of a cell."""
Samples = dict[tuple[int, int], float]
"""A metric by seed and batch."""

PRECISION = 0.10
"""Half an interval that is precise enough, as a share of the mean (TPA, section 4.2)."""


@dataclass(frozen=True)
class Experiment:
    """One experiment of a paper, or of the validation."""

    id: str
    paper: str
    place: str
    title: str
    found: str
    """Summary of the paper's method and finding, or of the question."""
    scenario: Settings
    axes: Sequence[Axis]
    metrics: Sequence[Metric]
    quick: Effort
    full: Effort
    left_out: Callable[[Values], bool] = lambda _: False
    """Combinations of values that mean nothing and are not run."""
    drawn: Callable[[int], Settings] | None = None
    """Settings that the seed of a run decides in addition, such as positions."""
    of_cell: Callable[[Values], Settings] | None = None
    """Settings that depend on several axes; they are applied last."""
    level: float = 0.95
    batches: int = 0
    """Batch means of one long run; of several, each gives one value. The first batch is dropped."""
    published: Mapping[str, Published] = field(default_factory=dict)
    other_readings: Sequence[Any] = ()
    """Values of axes under which the published numbers are shown again, and not counted in the summary."""
    claims: Sequence[Claim] = ()
    unstated: Sequence[Unstated] = ()
    plots: Sequence[Plot] = ()
    deepen: Callable[[Study], Mapping[Values, int]] | None = None
    """Function that gives the cells that get more seeds after the first runs, and how many they
    then have.
    """
    more: Callable[[Study], None] | None = None
    """Adds what is not a table of means: traces, single runs, verdicts on them."""
    reference: str = "the paper"
    """Where the published numbers come from."""
    reasons: Mapping[str, Reason] = field(default_factory=dict)
    """Why verdicts of `more` do not hold, by the text of the claim."""
    spread: str = ""
    """The axis whose values are columns, with a table for each metric; without it one table has all."""
    sheet: str = ""
    """The page on which it is written, if not that of its paper."""

    @property
    def page(self) -> str:
        """The name of its page."""
        return self.sheet or file_name(self.paper)

    emulated: bool = False
    """Real programs are its traffic: it runs in real time."""
    expected: bool = False
    """Needs what chains deliver, from `elfn-chain`."""


@dataclass
class Study:
    """The numbers of one experiment at one effort."""

    experiment: Experiment
    effort: Effort
    journal: Journal | Emulations
    expected: Path | None = None
    seeds: int = 0
    looks: int = 1
    """How often the claims may be judged while seeds are added."""
    stopped: str = ""
    """Why no more seeds were added."""
    refused: dict[Values, str] = field(default_factory=dict)
    """Cells whose scenario the simulator does not accept, and why."""
    failed: str = ""
    missing: int = 0
    """Runs that another part of the list has to do."""
    performed: int = 0
    """Runs that were not there yet."""
    seconds: float = 0.0
    """Time that it took now; what was there already was not run again."""
    wall: float = 0.0
    """Time on the wall that all its runs took, s."""
    runs: int = 0
    cost: float = 0.0
    """Processor time that all its runs took, s."""
    folder: Path | None = None
    """Where its runs are kept."""
    parts: list[str | tuple[pl.DataFrame, str] | tuple[Figure, str, str]] = field(default_factory=list)
    """Additions of `more` to the report: texts, tables and figures."""
    found: list[Verdict] = field(default_factory=list)
    """The verdicts of `more`."""
    compared: list[tuple[str, float, float] | tuple[str, float, float, bool]] = field(default_factory=list)
    """Numbers of the paper and ours that `more` has found: what, theirs, ours, whether they are growths."""
    searched: list[dict[str, str]] = field(default_factory=list)
    """Verdicts on claims of another experiment under values of settings that the paper does not state."""
    extra: dict[Values, int] = field(default_factory=dict)
    """The number of seeds of cells that have more than the others, because a claim about them was open."""
    _read: dict[tuple[Values, int], list[dict[str, Any]]] = field(default_factory=dict, repr=False)

    @property
    def axes(self) -> list[Axis]:
        """The axes, with the values that this effort keeps."""
        keep = self.effort.keep
        return [
            Axis(a.name, {v: s for v, s in a.values.items() if v in keep.get(a.name, a.values)}, a.label)
            for a in self.experiment.axes
        ]

    def cells(self) -> Iterator[Values]:
        """Every combination; the last axis varies fastest."""
        every = itertools.product(*(axis.values for axis in self.axes))
        return (cell for cell in every if not self.experiment.left_out(cell))

    def request(self, cell: Values, seed: int) -> Request:
        """The scenario of one run."""
        settings: dict[str, Any] = dict(self.effort.settings)
        for axis, value in zip(self.experiment.axes, cell, strict=True):
            settings |= axis.settings(value, seed)
        if self.experiment.drawn is not None:
            settings |= self.experiment.drawn(seed)
        if self.experiment.of_cell is not None:
            settings |= self.experiment.of_cell(cell)
        if self.experiment.expected and self.expected is not None:
            settings["expected.table"] = str(self.expected.absolute())
        settings["seed"] = seed
        scenario = {"name": self.experiment.id, **self.experiment.scenario}
        overrides = [(key, toml_value(value)) for key, value in settings.items()]
        return Request(json.dumps(scenario), "json", self.experiment.id, overrides)

    def key(self, cell: Values, seed: int) -> str:
        """Key that identifies a run in the journal."""
        request = self.request(cell, seed)
        return world.key(request) if self.experiment.emulated else Run.of(request).key

    def run(self, where: Where | None, progress: Progress) -> None:
        """Run what is missing of its seeds.

        Without `where` nothing is run; `missing` counts the runs that are absent.
        """
        self.seeds = self.seeds or self.effort.seeds
        self.refused = {
            cell: text for cell in self.cells() if (text := self.problem(cell) or self._missing_tool(cell))
        }
        last = self.effort.first + self.most_seeds
        order = (
            (c, s) for s in range(self.effort.first, last) for c in self.accepted() if s in self.seeds_of(c)
        )
        runs = [Run(self.key(c, s), self.request(c, s)) for c, s in order]
        before = len(self.journal)
        if where is None:
            self.missing = sum(run.key not in self.journal for run in runs)
        else:
            self.missing = self._complete(runs, where, progress)
        self.performed += len(self.journal) - before

    def _complete(self, runs: Sequence[Run], where: Where, progress: Progress) -> int:
        if isinstance(self.journal, Emulations):
            return world.complete(runs, self.journal, where, progress)
        return complete(runs, self.journal, where, progress)

    def repeat(self, seeds: int, extra: Mapping[Values, int] | None = None) -> None:
        """Set the number of seeds, and that of cells with more.

        Samples are read again: only batches of a single run are samples.
        """
        self.seeds = seeds
        self.extra = dict(extra or {})
        self._read.clear()

    @property
    def most_seeds(self) -> int:
        """The number of seeds of the cells that have most."""
        return max([self.seeds, *self.extra.values()])

    @property
    def deciding(self) -> float:
        """The level of the intervals that decide claims: that of the experiment, shared by all looks."""
        return 1 - (1 - self.experiment.level) / self.looks

    def spent(self, cells: Iterable[Values] | None = None) -> float:
        """Processor time of its runs so far, or of those in some cells, s."""
        chosen = self.accepted() if cells is None else cells
        keys = {self.key(cell, seed) for cell in chosen for seed in self.seeds_of(cell)}
        return sum(self.journal.cost(key) for key in keys if key in self.journal)

    def accepted(self) -> list[Values]:
        """The cells that can be run."""
        return [cell for cell in self.cells() if cell not in self.refused]

    def precise(self) -> bool:
        """Whether every interval of the first metric is narrow enough."""
        found = (self.mean(self.experiment.metrics[0].name, cell) for cell in self.accepted())
        return all(one is None or one.half <= PRECISION * abs(one.mean) for one in found)

    def done(self, cell: Values, seed: int = 0) -> bool:
        """Whether a run has been finished: that of a seed, or of the first."""
        return self.key(cell, seed or self.effort.first) in self.journal

    def result(self, cell: Values, seed: int = 0) -> Result:
        """One run: that of a seed, or of the first."""
        return self.journal.result(self.key(cell, seed or self.effort.first))

    def series(self, cell: Values) -> pl.DataFrame | None:
        """Recorded series of the first run of a cell; None if it was not run."""
        return self.result(cell).series if self.done(cell) else None

    def metric(self, name: str) -> Metric:
        """Metric of the experiment with this name."""
        return next(metric for metric in self.experiment.metrics if metric.name == name)

    def samples(self, name: str, cell: Values) -> Samples:
        """A metric in every run of a cell, or in every batch of its run."""
        metric = self.metric(name)
        samples: Samples = {}
        if cell in self.refused:
            return samples
        for seed in self.seeds_of(cell):
            for batch, document in enumerate(self._documents(cell, seed)):
                value = pick(document, metric)
                if value is not None:
                    samples[seed, batch] = value
        return samples

    def mean(self, name: str, cell: Values) -> Interval | None:
        """Mean and interval of a metric in a cell."""
        samples = self.samples(name, cell)
        return interval(samples.values(), self.experiment.level) if samples else None

    def published(self, name: str, cell: Values) -> float | tuple[float, float] | None:
        """Value that the paper prints for a cell, or its range; None without one."""
        return self.experiment.published.get(name, {}).get(cell)

    def select(self, wanted: Cell) -> list[Values]:
        """The cells in which the named axes have these values."""
        names = [axis.name for axis in self.experiment.axes]
        return [
            cell
            for cell in self.accepted()
            if all(value in _several(wanted[n]) for n, value in zip(names, cell, strict=True) if n in wanted)
        ]

    def text(self, text: str) -> None:
        """Add a paragraph to the report."""
        self.parts.append(text)

    def table(self, table: pl.DataFrame, caption: str) -> None:
        """Add a table to the report."""
        self.parts.append((table, caption))

    def figure(self, figure: Figure, caption: str, finding: str) -> None:
        """Add a figure to the report, with its finding as title."""
        self.parts.append((figure, caption, finding))

    def verdict(self, text: str, held: bool | None, why: str, reason: Reason | None = None) -> None:
        """Add a verdict to the report; none if it is not decided."""
        self.found.append(Verdict(text, word(held), why, reason if held is False else None))

    def each_seed(self, most: int | None = None) -> range:
        """The seeds that were run, or the first of them."""
        first = self.effort.first
        return range(first, first + min(self.seeds, most or self.seeds))

    def seeds_of(self, cell: Values) -> range:
        """The seeds that were run in a cell."""
        first = self.effort.first
        return range(first, first + max(self.seeds, self.extra.get(cell, 0)))

    def results(self, cell: Values, most: int | None = None) -> list[Result]:
        """The runs of a cell: all of them, or those of the first seeds."""
        return [self.result(cell, seed) for seed in self.each_seed(most)]

    def problem(self, cell: Values) -> str:
        """Why the simulator does not accept a cell; nothing if it does."""
        try:
            multihop.check(self.request(cell, self.effort.first))
        except multihop.ScenarioError as error:
            return str(error)
        return ""

    def _missing_tool(self, cell: Values) -> str:
        """Which of its programs this machine lacks, if runs must be made here."""
        request = self.request(cell, self.effort.first)
        return world.missing_tools(request) if self.experiment.emulated else ""

    def _documents(self, cell: Values, seed: int) -> list[dict[str, Any]]:
        if (cell, seed) not in self._read:
            key = self.key(cell, seed)
            if key not in self.journal:
                return []
            result = self.journal.result(key)
            self._read[cell, seed] = self._samples_of(cell, result)
        return self._read[cell, seed]

    def _samples_of(self, cell: Values, result: Result) -> list[dict[str, Any]]:
        if not self.experiment.batches:
            return [result.data]
        parts = batches(result, self.experiment.batches)
        return parts if len(self.seeds_of(cell)) == 1 else [merged(parts)]


def file_name(title: str) -> str:
    """The name of a page."""
    return title.lower().replace(" ", "-")


def pick(document: Document, metric: Metric) -> float | None:
    """The value of a metric in the document of a result."""
    path = metric.path
    value = path(document) if callable(path) else mean_at(document, path)
    per = mean_at(document, metric.per) if metric.per else 1.0
    return metric.scale * value / per if value is not None and per else None


def mean_at(document: Mapping[str, Any], path: str) -> float | None:
    """The mean of what a path leads to."""
    found = [value for value in _walk(document, path.split(".")) if value is not None]
    return math.fsum(found) / len(found) if found else None


def batches(result: Result, count: int) -> list[dict[str, Any]]:
    """The goodput of parts of a run of equal length, as if each were a run; without the first."""
    goodput = result.series.filter(pl.col("series") == "goodput_kbps").sort("time")
    start, end = goodput["time"].min(), goodput["time"].max()
    assert isinstance(start, float)
    assert isinstance(end, float)
    length = (end - start) / count
    number = ((pl.col("time") - start) / length).floor().clip(0, count - 1).alias("batch")
    means = (
        goodput.with_columns(number).group_by("batch", "id").agg(pl.col("value").mean()).sort("batch", "id")
    )
    flows = [means.filter(pl.col("batch") == batch)["value"].to_list() for batch in range(1, count)]
    # A part that is shorter than the time between records may have none of some flows.
    complete = max(map(len, flows))
    return [_document(one) for one in flows if len(one) == complete]


def merged(documents: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The batches of one run as one."""
    flows = zip(*([flow["goodput_kbps"] for flow in one["flows"]] for one in documents), strict=True)
    return _document([math.fsum(values) / len(values) for values in flows])


def _document(flows: Sequence[float]) -> dict[str, Any]:
    """A result that knows nothing but the goodput of its flows."""
    squares = len(flows) * math.fsum(x * x for x in flows)
    jain = math.fsum(flows) ** 2 / squares if squares > 0 else None
    totals = {"goodput_kbps": math.fsum(flows), "jain": jain}
    return {"flows": [{"goodput_kbps": x} for x in flows], "totals": totals}


def _walk(value: Any, path: Sequence[str]) -> Iterator[Any]:
    if not path:
        yield value
        return
    part, rest = path[0], path[1:]
    if isinstance(value, list):
        chosen = value if part == "*" else value[int(part) : int(part) + 1]
        for one in chosen:
            yield from _walk(one, rest)
    elif isinstance(value, Mapping):
        yield from _walk(value.get(part), rest)


def _several(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else [value]
