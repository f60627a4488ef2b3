"""Measurements and comparisons that several of these experiments share."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import polars as pl

from multihop.stats import Interval, interval
from multihop_papers.declare import Document, Metric
from multihop_papers.study import Study, Values


def total(document: Document, key: str) -> float:
    """The sum over the flows."""
    return float(sum(flow[key] for flow in document["flows"]))


def weighted(document: Document, value: Callable[[Document], float | None]) -> float | None:
    """The mean of the flows, each weighted by what it delivered."""
    flows = [flow for flow in document["flows"] if flow["segments_delivered"] > 0]
    known = [(x, float(flow["segments_delivered"])) for flow in flows if (x := value(flow)) is not None]
    weights = math.fsum(weight for _, weight in known)
    return math.fsum(x * weight for x, weight in known) / weights if weights else None


def drops(document: Document) -> float:
    """Packets dropped, without those that the end of the run leaves, for each 1000 segments delivered."""
    dropped = sum(n for reason, n in document["drops"].items() if reason != "end")
    return 1000 * float(dropped) / total(document, "segments_delivered")


DROPS = Metric("drops", "packets dropped for each 1000 segments delivered", drops)


def difference(study: Study, metric: str, of: Values, against: Values) -> Interval:
    """Mean increase of a metric from `against` to `of`, seed by seed, with its interval."""
    left, right = study.samples(metric, of), study.samples(metric, against)
    return interval(left[seed] - right[seed] for seed in left if seed in right)


def ratio(study: Study, metric: str, of: Values, against: Values) -> Interval:
    """A metric as a multiple of that of another cell, seed by seed."""
    left, right = study.samples(metric, of), study.samples(metric, against)
    return interval(left[seed] / right[seed] for seed in left if right.get(seed))


def mean(study: Study, metric: str, cell: Values) -> Interval:
    """The mean of a metric in a cell that has been run."""
    found = study.mean(metric, cell)
    assert found is not None
    return found


def per_run(study: Study, cell: Values, of: Callable[[Document], float]) -> float:
    """The mean of a value over the runs of a cell."""
    values = [of(result.data) for result in study.results(cell)]
    return math.fsum(values) / len(values)


def change(study: Study, metric: str, of: Values, against: Values) -> float:
    """Share by which the mean of a metric is greater than that of another cell."""
    return mean(study, metric, of).mean / mean(study, metric, against).mean - 1


def beside(study: Study, metric: str, cells: list[Values]) -> tuple[float, float]:
    """The least and the greatest relative difference from the published means."""
    errors = []
    for cell in cells:
        printed = study.published(metric, cell)
        if printed is not None:
            theirs = printed[0] if isinstance(printed, tuple) else printed
            errors.append(mean(study, metric, cell).mean / theirs - 1)
    return min(errors), max(errors)


def frame(columns: list[str], rows: list[list[Any]]) -> pl.DataFrame:
    """A table of text."""
    return pl.DataFrame([dict(zip(columns, map(str, row), strict=True)) for row in rows])
