"""Figures of sweeps and runs, for matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl
from matplotlib.figure import Figure

from multihop.report import Report, bar, curve, new_figure
from multihop.results import column
from multihop.stats import format_mean, interval
from multihop.theme import Style, distinct, known, other, style
from multihop.wording import in_words
from multihop.words import meant

if TYPE_CHECKING:
    from multihop.sweeping import Sweep


def over_an_axis(sweep: Sweep, x: str, metric: str, by: str | None) -> Figure:
    """A metric over one axis of a sweep, with a curve for each value of another."""
    along, among = axis(sweep, x), axis(sweep, by) if by is not None else None
    shown = [name for name in (along, among) if name is not None]
    others = {name for name in sweep.axes if varies(sweep, name, shown)}
    if others:
        raise ValueError(f"the sweep also varies {', '.join(sorted(others))}: filter its runs, or pass `by`")
    metric = column(metric, sweep.metrics)
    if among is None and not sweep.runs[along].dtype.is_numeric():
        return bars(sweep, along, metric, in_words(metric))
    figure, axes = new_figure(in_words(along), in_words(metric))
    groups = sweep.runs.group_by([among], maintain_order=True) if among else [((metric,), sweep.runs)]
    groups = list(groups)
    looks = distinct(look(value, number) for number, ((value,), _) in enumerate(groups))
    for ((value,), runs), own in zip(groups, looks, strict=True):
        points = [
            (place, interval(samples))
            for (place,), group in runs.group_by([along], maintain_order=True)
            if len(samples := group[metric].drop_nulls()) > 0
        ]
        curve(
            axes,
            [place for place, _ in points],
            [mean for _, mean in points],
            str(value),
            look=own,
        )
    axes.set_ylim(bottom=0)
    if among:
        axes.legend(title=in_words(among))
    return figure


METRICS_OF_A_REPORT = {
    "totals.goodput_kbps": "goodput, kb/s",
    "totals.delay_ms.mean": "mean one-way delay, ms",
    "totals.delay_ms.p95": "95% of one-way delays, ms",
    "totals.jitter_ms": "jitter, ms",
    "totals.delivery_ratio": "delivered segments / sent segments",
    "totals.retransmission_index": "retransmitted segments / delivered segments",
    "totals.jain": "fairness",
}


def sweep_report(sweep: Sweep) -> Report:
    """A page of a sweep: a table of means for each metric, and a chart where there are at most two axes."""
    page = Report(f"Sweep over {', '.join(map(in_words, sweep.axes)) or 'seeds'}")
    page.text(f"{sweep.runs.height} runs. Means with 95% Student-t intervals over the seeds.")
    independent = independent_axes(sweep)
    along = next((one for one in independent if sweep.runs[one].dtype.is_numeric()), None)
    others = [one for one in independent if one != along]
    for metric, label in METRICS_OF_A_REPORT.items():
        if metric not in sweep.runs.columns or sweep.runs[metric].count() == 0:
            continue
        page.heading(label)
        if along is not None and len(others) <= 1:
            figure = over_an_axis(sweep, along, metric, others[0] if others else None)
            figure.axes[0].set_ylabel(label)
            page.figure(figure, f"{label.capitalize()}, over {in_words(along)}.")
        elif len(independent) == 1:
            page.figure(
                bars(sweep, independent[0], metric, label),
                f"{label.capitalize()}, by {in_words(others[0])}.",
            )
        page.table(means(sweep, metric), f"{label.capitalize()}: mean and 95% interval")
    if sweep.request is not None:
        page.repeat("sweep", sweep.request)
    return page


def bars(sweep: Sweep, among: str, metric: str, label: str) -> Figure:
    """A metric for each value of an axis of names."""
    figure, axes = new_figure(in_words(among), label)
    names = []
    groups = list(sweep.runs.group_by([among], maintain_order=True))
    looks = distinct(look(value, place) for place, ((value,), _) in enumerate(groups))
    for place, ((value,), runs) in enumerate(groups):
        names.append(str(value))
        if len(samples := runs[metric].drop_nulls()) > 0:
            found = interval(samples)
            bar(axes, place, found.mean, found.half, looks[place])
    axes.set_xticks(range(len(names)), names)
    return figure


def means(sweep: Sweep, metric: str) -> pl.DataFrame:
    """A row for each combination of the axes."""
    found = sweep.mean(metric)
    texts = [
        format_mean(row["mean"], row["high"] - row["mean"]) if row["mean"] is not None else "-"
        for row in found.iter_rows(named=True)
    ]
    table = found.select(sweep.axes or ["scenario"]).with_columns(pl.Series("mean", texts), found["runs"])
    words = {name: in_words(name) for name in sweep.axes}
    # flow.0.transport and flow.1.transport have the same words.
    return table.rename(words) if len({*words.values()}) == len(words) else table


def varies(sweep: Sweep, name: str, given: Sequence[str]) -> bool:
    """Whether an axis varies among runs that agree in other axes; one that they determine does not."""
    if name in given:
        return False
    groups = sweep.runs.group_by(given) if given else [((), sweep.runs)]
    return any(runs[name].n_unique() > 1 for _, runs in groups)


def independent_axes(sweep: Sweep) -> list[str]:
    """The axes without those that the ones before them determine."""
    found: list[str] = []
    for name in sweep.axes:
        if not found or varies(sweep, name, found):
            found.append(name)
    return found


def axis(sweep: Sweep, name: str) -> str:
    """The axis of this name, which may be the last part of its whole name."""
    found = [one for one in sweep.axes if name in (one, short(one))]
    if len(found) != 1:
        allowed = [short(one) for one in sweep.axes]
        raise ValueError(f"no axis {name!r}, allowed: {', '.join(allowed) or 'none'}{meant(name, allowed)}")
    return found[0]


def short(key: str) -> str:
    """The last part of a dotted key."""
    return key.rpartition(".")[2]


def look(value: Any, number: int) -> Style:
    """The style of a transport, or the next one of other curves."""
    return style(str(value)) if known(str(value)) else other(number)
