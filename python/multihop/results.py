"""The result of a run."""

from __future__ import annotations

import difflib
import html
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

import multihop._core as _core
from multihop.scenario import Request
from multihop.viewing import Page, in_notebook


@dataclass(frozen=True)
class Result:
    """One run: `data` is the JSON document of `multihop run --json`, the rest are views of it."""

    data: dict[str, Any]
    series: pl.DataFrame
    """The series of the scenario's `record` table, one value per row; empty if it has none."""
    request: Request | None = field(default=None, repr=False, compare=False)
    """The scenario; `None` in a sweep's results."""

    @classmethod
    def of(cls, data: dict[str, Any], series: str, request: Request | None = None) -> Result:
        """Join the document and the text of the file of series, which may be empty."""
        recorded = pl.read_csv(io.StringIO(series), schema=SERIES) if series else pl.DataFrame(schema=SERIES)
        return cls(data, recorded, request)

    @property
    def notes(self) -> list[str]:
        """Remarks on settings that are probably not meant, such as a flow without a route."""
        return [] if self.request is None else _core.notes(self.request)

    @property
    def scenario(self) -> str:
        """Name of the scenario in the results."""
        return str(self.data["scenario"])

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return int(self.data["seed"])

    @property
    def totals(self) -> dict[str, Any]:
        """Metrics over all flows."""
        return self._table("totals")

    @property
    def mac(self) -> dict[str, Any]:
        """Frames, collisions, retries, drops and airtime."""
        return self._table("mac")

    @property
    def routing(self) -> dict[str, Any]:
        """Packets and bytes of the routing protocol."""
        return self._table("routing")

    @property
    def energy(self) -> dict[str, Any]:
        """Joules of each node; empty if the scenario has no `energy` table."""
        return self._table("energy")

    @property
    def drops(self) -> dict[str, int]:
        """Packets dropped, by reason."""
        return self._table("drops")

    @property
    def goodput_kbps(self) -> float:
        """Application data delivered in order, summed over all flows."""
        return float(self.totals["goodput_kbps"])

    @property
    def delivery_ratio(self) -> float | None:
        """Distinct data segments that arrived / distinct data segments sent, of all flows."""
        return self._total("delivery_ratio")

    @property
    def delay_ms(self) -> dict[str, float] | None:
        """One-way delay of the segments of all flows: `mean`, `p50`, `p95`, `p99`."""
        found: dict[str, float] | None = self.totals.get("delay_ms")
        return found

    @property
    def jitter_ms(self) -> float | None:
        """Mean of the flows' interarrival jitter (RFC 3550), weighted by arrivals."""
        return self._total("jitter_ms")

    @property
    def events_per_second(self) -> float:
        """Simulated events per second of wall-clock time."""
        return float(self.data["events_per_second"])

    @cached_property
    def flows(self) -> pl.DataFrame:
        """A row for each flow; summaries (`delay_ms`, `rtt_ms`) have a column for each part."""
        return rows_table(self.data["flows"])

    @cached_property
    def nodes(self) -> pl.DataFrame:
        """A row for each node: shares of airtime, and delay, jitter, delivery ratio and retries of its links.

        Empty in networks of more than 1000 nodes, as are `links` and `queues`.
        """
        return rows_table(self.data.get("nodes", []))

    @cached_property
    def links(self) -> pl.DataFrame:
        """A row for each pair of nodes of which one sent unicast frames to the other."""
        return rows_table(self.data.get("links", []))

    @cached_property
    def queues(self) -> pl.DataFrame:
        """A row for each interface queue that a packet entered."""
        return rows_table(self.data.get("queues", []))

    def mean(self, metric: str = "goodput") -> float | None:
        """A metric over all flows: `goodput`, `delay` (its mean), `delay.p95`, `jitter`, `delivery_ratio`.

        The name is that of a value in `totals`, `mac`, `routing` or `energy`; units, and the parts of the
        name before the last ones, may be left out.
        """
        values = run_values(self.data)
        found: float | None = values[column(metric, list(values))]
        return found

    def report(self, path: str | PathLike[str]) -> Path:
        """Write a self-contained HTML page: goodput, recorded series, and every table of the result."""
        from multihop.report import (
            Report,
            flow_tables,
            names_and_values,
        )  # matplotlib takes a second to import
        from multihop.run_charts import airtime, goodput, recorded

        report = Report(f"{self.scenario}, seed {self.seed}")
        report.text(
            f"{self.data['sim_seconds']:g} s simulated; {self.data['events']:,} events; "
            f"{self.goodput_kbps:.1f} kb/s in total."
        )
        report.figure(goodput(self), "Application data delivered in order, by flow.")
        for figure, caption in recorded(self):
            report.figure(figure, caption)
        if not self.nodes.is_empty():
            report.figure(airtime(self), "Shares of each node's time.")
        report.heading("Tables")
        for part in flow_tables(self.flows):
            report.table(part, "Flows")
        for name in ("nodes", "links", "queues"):
            if not (table := getattr(self, name)).is_empty():
                report.table(table, name.capitalize())
        report.table(names_and_values(self.totals), "Totals")
        for key, title in PARTS_OF_A_REPORT.items():
            if table := self._table(key):
                report.table(names_and_values(table), title)
        if self.request is not None:
            report.repeat("run", self.request)
        return report.write(path)

    def view(self, path: str | PathLike[str] | None = None) -> Page:
        """Make the page that shows the run: map, time line of every frame, windows, queues.

        With `path` it is written there. A notebook shows it below the cell; elsewhere it opens in the
        browser. Raises `ScenarioError` for a scenario that a page cannot simulate.
        """
        if self.request is None:
            raise ValueError(
                "the result of a sweep does not contain its scenario; pass the result of multihop.run"
            )
        page = Page.of(self.request, self.data, f"{self.scenario}, seed {self.seed}")
        if path is not None:
            page.write(path)
        elif not in_notebook():
            page.open()
        return page

    def __repr__(self) -> str:
        return f"<Result {self.scenario!r} seed {self.seed}: {self.goodput_kbps:.1f} kb/s>"

    def _repr_html_(self) -> str:
        shown = [name for name in FIRST_COLUMNS if name in self.flows.columns]
        return f"<p>{html.escape(repr(self))}</p>{self.flows.select(shown)._repr_html_()}"

    def _table(self, key: str) -> dict[str, Any]:
        return self.data.get(key) or {}

    def _total(self, key: str) -> float | None:
        found: float | None = self.totals.get(key)
        return found


def read_trace(path: str | PathLike[str]) -> pl.DataFrame:
    """The packet trace that `run(trace=path)` or `multihop run --trace` wrote: a row for each event.

    In the column `to`, null stands for a broadcast (`all` in the file).
    """
    return pl.read_csv(Path(path), separator="\t", infer_schema_length=None, null_values={"to": "all"})


def read_series(path: str | PathLike[str]) -> pl.DataFrame:
    """The series that `run(series=path)` or `multihop run --out` wrote: one value per row."""
    return pl.read_csv(Path(path), schema=SERIES)


def flattened(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The values of nested tables under dotted names, without lists."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        if key in SUMMARIES and not isinstance(value, Mapping):
            flat |= {f"{prefix}{key}.{part}": None for part in PARTS}
        elif isinstance(value, Mapping):
            flat |= flattened(value, f"{prefix}{key}.")
        elif not isinstance(value, list):
            flat[f"{prefix}{key}"] = value
    return flat


def run_values(data: Mapping[str, Any]) -> dict[str, Any]:
    """The metrics of a result over all flows or nodes, under dotted names."""
    return {
        name: value
        for part in PARTS_OF_A_RUN
        for name, value in flattened(data[part] or {}, f"{part}.").items()
    }


def rows_table(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """A row for each table of a result."""
    return pl.DataFrame([flattened(row) for row in rows], infer_schema_length=None)


def column(name: str, columns: Sequence[str]) -> str:
    """The column that a name stands for: `delay.p95` stands for `totals.delay_ms.p95`.

    Units, and the parts of the name before the last ones, may be left out, also `mean` at the end.
    """
    if name in columns:
        return name
    wanted = name.split(".")
    fitting = [one for one in columns if _stands_for(wanted, one) or _stands_for([*wanted, "mean"], one)]
    # A metric over all flows is meant rather than one of its parts.
    first = [one for one in fitting if one.startswith("totals.")] or fitting
    if len(first) != 1:
        near = first or difflib.get_close_matches(name, columns, n=8, cutoff=0.6) or list(columns)
        what = "several metrics have this name" if first else "no metric has this name"
        raise ValueError(f"{name!r}: {what}, allowed: {', '.join(near)}")
    return first[0]


def _stands_for(wanted: Sequence[str], column: str) -> bool:
    last = column.split(".")[-len(wanted) :]
    fit = (part in (word, *(word + unit for unit in UNITS)) for word, part in zip(wanted, last, strict=False))
    return len(last) == len(wanted) and all(fit)


# The columns of the file of series: seconds, `flow` or `node` and its number, what, how much.
SERIES = pl.Schema(
    {"time": pl.Float64, "subject": pl.String, "id": pl.Int64, "series": pl.String, "value": pl.Float64}
)
# Metrics that are null or a table of PARTS.
SUMMARIES = ("delay_ms", "rtt_ms", "page_load_ms")
PARTS = ("mean", "p50", "p95", "p99")
# Tables of a result whose values are metrics of the run.
PARTS_OF_A_RUN = ("totals", "mac", "routing", "energy", "drops")
# Ends of names that may be left out.
UNITS = ("_kbps", "_ms")
# What a notebook shows of a flow.
FIRST_COLUMNS = (
    "id",
    "from",
    "to",
    "transport",
    "goodput_kbps",
    "delivery_ratio",
    "delay_ms.mean",
    "delay_ms.p95",
    "retransmission_index",
)
# Tables of a result in its report, where they are not empty.
PARTS_OF_A_REPORT = {"mac": "MAC", "routing": "Routing", "energy": "Energy", "drops": "Drops by reason"}
