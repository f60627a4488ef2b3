"""Sweeps: every combination of the axes, each with the same seeds."""

from __future__ import annotations

import html
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import polars as pl

import multihop._core as _core
from multihop.controllers import Controllers
from multihop.files import complete_file, write_text
from multihop.journal import Journal, Shard
from multihop.progress import Progress
from multihop.results import Result, column, run_values
from multihop.runs import Run, Where, complete
from multihop.scenario import Request, Source, request, toml_value
from multihop.settings import Settings
from multihop.stats import interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class Sweep:
    """The results of a sweep, as tidy tables."""

    axes: tuple[str, ...]
    """The keys that vary."""
    runs: pl.DataFrame
    """A row for each run: axes, seed, key, version, and metrics under dotted names."""
    flows: pl.DataFrame
    """A row for each flow of each run."""
    nodes: pl.DataFrame
    """A row for each node of each run."""
    links: pl.DataFrame
    """A row for each link of each run that was used."""
    queues: pl.DataFrame
    """A row for each interface queue of each run that a packet entered."""
    lines: tuple[str, ...]
    """Runs as lines of JSON, as `multihop sweep --json` prints them."""
    request: Request | None = None
    """The scenario with its `sweep` table."""

    def mean(self, metric: str = "totals.goodput_kbps", level: float = 0.95) -> pl.DataFrame:
        """Mean and Student-t interval of a metric for each combination of the axes.

        A metric is a column of `runs`, such as `totals.goodput_kbps`, or a part of its name: `goodput`,
        `delay` (the mean over the segments of all flows), `delay.p95`, `jitter`, `delivery_ratio`.
        """
        metric = column(metric, self.metrics)
        rows = []
        for values, group in self.runs.group_by(self.axes or ["scenario"], maintain_order=True):
            found = interval(group[metric].drop_nulls(), level) if group[metric].count() else None
            bounds = (found.mean, found.low, found.high, found.n) if found else (None, None, None, 0)
            names = self.axes or ("scenario",)
            rows.append(dict(zip([*names, "mean", "low", "high", "runs"], [*values, *bounds], strict=True)))
        return pl.DataFrame(rows, infer_schema_length=None)

    @property
    def notes(self) -> list[str]:
        """Remarks on settings that are probably not meant, such as a flow without a route.

        A remark that several scenarios have is given once.
        """
        return [] if self.request is None else _core.notes(self.request)

    @property
    def metrics(self) -> list[str]:
        """The columns of `runs` that can be averaged and drawn."""
        return [name for name in self.runs.columns if "." in name and name not in self.axes]

    def plot(self, x: str, y: str = "totals.goodput_kbps", by: str | None = None) -> Figure:
        """A figure of a metric over an axis, with a curve and its intervals for each value of another axis.

        Axes may be given by the last part of their names: `plot("hops", by="transport")`.
        """
        from multihop.plotting import over_an_axis  # matplotlib takes a second to import

        return over_an_axis(self, x, y, by)

    def report(self, path: str | PathLike[str]) -> Path:
        """Write a self-contained HTML page: means with intervals, drawn where the axes allow it."""
        from multihop.plotting import sweep_report  # matplotlib takes a second to import

        return sweep_report(self).write(path)

    def __repr__(self) -> str:
        return f"<Sweep of {self.runs.height} runs over {', '.join(self.axes) or 'seeds'}>"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self))}</p>{self.mean()._repr_html_()}"


def sweep(
    source: Source = None,
    /,
    *,
    axes: Axes | None = None,
    seeds: int | None = None,
    jobs: int | None = None,
    on: str | None = None,
    shard: str | None = None,
    out: str | PathLike[str] | None = None,
    progress: bool = False,
    controllers: Controllers | None = None,
    **settings: Unpack[Settings],
) -> Sweep:
    """Run every combination of a scenario's axes, each with the same seeds.

    Axes and seeds are those of the scenario's `sweep` table. `seeds` replaces their number and leaves the
    axes, `axes` replaces all axes and leaves the seeds:
    `sweep("layout.toml", axes={"flow.*.transport": ["newreno", "tcp-2"]}, seeds=10)`. A tuple of keys is an
    axis whose keys vary together: `axes={("radio.rate", "radio.range"): [("2M", 250), ("11M", 100)]}`.

    In the tables of the result, values of an axis are text if one of them is a table or an array, or if
    they are of several types.

    With `out`, a folder, runs are kept as they end, and runs that it already holds are not repeated;
    the results are `results.jsonl`, `results.parquet`, and a table of flows, nodes, links and queues each
    (`flows.parquet`, ...). `on` is the address of a Dask scheduler, `shard` (`"1/4"`) a part of the runs
    for job arrays. `progress` shows a bar. `controllers` are congestion controls in Python, as in `run`.
    """
    asked = request(source, settings, controllers)
    asked.overrides.extend(replaced(asked, axes, seeds))
    where = Where(jobs, on, Shard.parse(shard) if shard else None)
    shown = Progress("sweep", quiet=not progress)
    return perform(asked, where, Path(out) if out is not None else None, shown)


Axes = Mapping[Any, Iterable[Any]]
"""The values of each key. A tuple of keys has tuples of values: these keys vary together."""


def replaced(asked: Request, axes: Axes | None, seeds: int | None) -> Iterator[tuple[str, str]]:
    """Overrides that replace the axes or the seeds of a scenario."""
    if axes is not None:
        single = {key: listed(values) for key, values in axes.items() if isinstance(key, str)}
        together = [zipped(keys, values) for keys, values in axes.items() if not isinstance(keys, str)]
        zips = [*single.pop("zip", []), *together]
        table = {**single, **({"zip": zips} if zips else {})}
        kept = {"seeds": declared} if (declared := declared_seeds(asked)) is not None else {}
        yield "sweep", toml_value({**kept, **table})
    if seeds is not None:
        yield "sweep.seeds", toml_value(seeds)


def zipped(keys: tuple[str, ...], points: Iterable[Any]) -> dict[str, list[Any]]:
    """The values of each of several keys that vary together."""
    rows = [tuple(listed(point)) if not isinstance(point, str) else (point,) for point in points]
    for row in rows:
        if len(row) != len(keys):
            raise ValueError(
                f"the axis of {', '.join(keys)} has the point {row}, allowed: {len(keys)} values"
            )
    return {key: [row[place] for row in rows] for place, key in enumerate(keys)}


def listed(values: Any) -> Any:
    """The values of an iterable in a list. Text and mappings stay, which the simulator refuses as axes."""
    return (
        values if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable) else [*values]
    )


def declared_seeds(asked: Request) -> Any:
    """The number of seeds that a scenario declares; `None` if it does not."""
    for key, text in reversed(asked.overrides):
        if key == "sweep.seeds":
            return tomllib.loads(f"seeds = {text}")["seeds"]
    try:
        document = (json if asked.format == "json" else tomllib).loads(asked.text)
    except ValueError:
        return None  # the simulator reports the error with its line
    table = document.get("sweep") if isinstance(document, dict) else None
    return table.get("seeds") if isinstance(table, dict) else None


def perform(asked: Request, where: Where, out: Path | None, progress: Progress) -> Sweep:
    """Perform the missing runs; write the results when none is missing."""
    planned = json.loads(_core.plan(asked))
    runs = [
        Run(run["key"], asked._replace(overrides=[(k, v) for k, v in run["overrides"]])) for run in planned
    ]
    journal = Journal(out, where.shard)
    if out is not None:
        write_text(out / "sweep.json", f"{_core.sweep_request(asked)}\n")
    complete(runs, journal, where, progress, lists=True)
    if out is not None:
        journal = Journal(out, where.shard)  # other shards may have finished in the meantime
    axes = tuple(key for key, _ in planned[0]["sweep"])
    labels = {key: labelled([dict(run["sweep"])[key] for run in planned]) for key in axes}
    rows = [
        ({key: labels[key][place] for key in axes}, run["key"], journal.result(run["key"]))
        for place, run in enumerate(planned)
        if run["key"] in journal
    ]
    lines = tuple(_core.sweep_lines(asked, journal.core, True))
    lists = {name: rows_of(rows, name) for name in LISTS}
    found = Sweep(axes=axes, runs=runs_table(rows), lines=lines, request=asked, **lists)
    if out is not None and len(rows) == len(planned):
        write(found, _core.sweep_lines(asked, journal.core, False), out)
    return found


def write(found: Sweep, lines: Sequence[str], out: Path) -> None:
    """Write the files of a complete sweep."""
    write_text(out / "results.jsonl", "".join(f"{line}\n" for line in lines))
    with complete_file(out / "results.parquet") as path:
        found.runs.write_parquet(path)
    for name in LISTS:
        with complete_file(out / f"{name}.parquet") as path:
            getattr(found, name).write_parquet(path)


def labelled(values: Sequence[Any]) -> list[Any]:
    """The values of an axis as a column of a table: text, unless all are numbers or all are bools."""
    for kinds in ((str,), (bool,), (int, float)):
        if all(
            isinstance(value, kinds) and (kinds == (bool,) or type(value) is not bool) for value in values
        ):
            return list(values)
    return [value if isinstance(value, str) else compact(value) for value in values]


def compact(value: Any) -> str:
    """A value as JSON, as `multihop sweep` shows it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


Row = tuple[Mapping[str, Any], str, Result]
"""The values of the axes, the key, and the result."""


def runs_table(rows: Iterable[Row]) -> pl.DataFrame:
    """A row for each run, without the columns that depend on the machine."""
    own = ("scenario", "sim_seconds", "events")
    return _table(
        {
            **axes,
            "seed": result.seed,
            "key": key,
            "version": _core.build(),
            **{name: result.data[name] for name in own},
            **run_values(result.data),
        }
        for axes, key, result in rows
    )


LISTS = ("flows", "nodes", "links", "queues")
"""The lists of a result, each of which has a table in a sweep."""


def rows_of(rows: Iterable[Row], name: str) -> pl.DataFrame:
    """A row for each entry of a list of each run: `flows`, `nodes`, `links` or `queues`."""
    return _table(
        {**axes, "seed": result.seed, "key": key, **entry}
        for axes, key, result in rows
        for entry in getattr(result, name).iter_rows(named=True)
    )


def _table(rows: Iterable[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), infer_schema_length=None, strict=False)
