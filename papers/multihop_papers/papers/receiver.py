"""Measurements of an ADTCP receiver against events in the network (Figures 1 and 2 of its paper)."""

from __future__ import annotations

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from multihop import report, theme
from multihop.stats import interval
from multihop_papers.study import Study, Values

CAPACITY = 50
"""Packets that a queue holds."""
SHARE = 0.30
"""The highest, or lowest, of the samples that count as high, or low (section 3.1)."""
DOTS = 1500
"""About as many samples as a figure shows of all."""
LONG = 60.0
"""Seconds that a figure over time shows."""
LABELS = {"idd_ms": "IDD, ms", "iad_ms": "IAD, ms", "stt": "STT, packets/s", "por": "POR", "plr": "PLR"}


def receiver(study: Study) -> None:
    """All four parts of Figure 2, and IDD beside IAD."""
    streams = [cell for cell in study.accepted() if cell[0].endswith("streams")]
    for cell in streams:
        against_queue(study, cell)
    for cell in study.select({"case": ["static, streams", "static, 5% error"]}):
        over_time(study, cell, ("iad_ms", "idd_ms"), f"IDD beside IAD, {cell[0]}, seed 1 (Figure 1)")
    for cell in study.select({"case": "5 m/s"}):
        over_time(study, cell, ("por", "plr"), "POR and PLR at 5 m/s, seed 1; lines where the path has another length")
    error_and_loss(study)


def against_queue(study: Study, cell: Values) -> None:
    """IDD and STT over the fullest queue at the same instant."""
    samples = pl.concat([wide(study, cell, seed) for seed in study.each_seed()]).drop_nulls(["idd_ms", "stt"])
    full = samples.filter(pl.col("queue") > CAPACITY / 2)
    high = full.filter(pl.col("idd_ms") > samples["idd_ms"].quantile(1 - SHARE))
    low = full.filter(pl.col("stt") < samples["stt"].quantile(SHARE))
    both = high.join(low, on=["seed", "time"], how="semi")
    study.text(
        f"{cell[0]}: in {full.height} of {samples.height} samples a queue is more than half full. Of these "
        f"IDD is among the highest 30% in {of(high, full)}, STT among the lowest 30% in {of(low, full)}, "
        f"both in {of(both, full)}."
    )
    with report.drawing():
        figure = Figure(figsize=(7.2, 4.4), layout="constrained")
        upper, lower = figure.subplots(2, 1, sharex=True)
    dots = samples.gather_every(max(1, samples.height // DOTS))
    for axes, name in ((upper, "idd_ms"), (lower, "stt")):
        axes.plot(dots["queue"], dots[name], ".", color=theme.BLUE, markersize=3, alpha=0.4)
        axes.axvline(CAPACITY / 2, color=theme.BLACK, linewidth=0.8, linestyle="--")
        axes.set_ylabel(LABELS[name])
    bound = max(1.0, float(samples["idd_ms"].abs().quantile(0.98) or 0.0))
    upper.set_ylim(-bound, bound)
    lower.set_xlabel("packets in the fullest queue")
    study.figure(
        figure,
        f"IDD and STT over the fullest queue, {cell[0]}; 2% of the IDDs lie outside.",
        f"With a long queue, IDD is high in {of(high, full)} of the samples, and STT low in {of(low, full)}.",
    )


def over_time(study: Study, cell: Values, names: tuple[str, str], caption: str) -> None:
    """Two series, one above the other, and the changes of the path's length."""
    series = study.result(cell).series.filter(pl.col("time").is_between(100.0, 100.0 + LONG))
    with report.drawing():
        figure = Figure(figsize=(7.2, 4.0), layout="constrained")
        panels: list[Axes] = list(figure.subplots(2, 1, sharex=True))
    hops = series.filter(pl.col("series") == "hops", pl.col("id") == 0).sort("time")
    found: list[str] = []
    changes = hops.filter(pl.col("value") != pl.col("value").shift(1))["time"]
    for axes, name in zip(panels, names, strict=True):
        part = series.filter(pl.col("series") == name)
        axes.plot(part["time"], part["value"], color=theme.BLUE, linewidth=1.0)
        what, _, unit = LABELS[name].partition(", ")
        values = part["value"].to_list() or [0.0]
        low, high = (_rounded(one, unit) for one in (min(values), max(values)))
        found.append(f"{what} is {low}" if low == high else f"{what} ranges from {low} to {high}")
        axes.set_ylabel(LABELS[name])
        if name in ("por", "plr"):
            for at in changes:
                axes.axvline(at, color=theme.VERMILION, linewidth=0.7, linestyle=":")
    panels[-1].set_xlabel("time, s")
    study.figure(figure, caption, f"{found[0]}, and {found[1]}.")


def _rounded(value: float, unit: str) -> str:
    """A time to 10 ms, or a share to two decimals."""
    return f"{round(value, -1):.0f} {unit}" if unit else f"{value:.2f}"


def error_and_loss(study: Study) -> None:
    """PLR over the channel error, nodes at rest."""
    figure, axes = report.new_figure("channel error, %", "mean PLR")
    every: dict[float, float] = {}
    cells = [cell for cell in study.accepted() if cell[0].startswith("static,") and "error" in cell[0]]
    for cell in cells:
        means = [float(found) for seed in study.each_seed() if isinstance(found := wide(study, cell, seed)["plr"].mean(), float)]
        error = float(cell[0].removeprefix("static, ").split("%")[0])
        found_mean = interval(means, study.experiment.level)
        every[error] = found_mean.mean
        axes.errorbar([error], [found_mean.mean], yerr=[found_mean.half], color=theme.BLUE, marker="o", capsize=3)
    axes.set_ylim(bottom=0)
    low, high = min(every), max(every)
    study.figure(
        figure,
        "PLR of nodes at rest over the channel error: means of the runs' means.",
        f"PLR is {every[low]:.2f} at {low:g}% channel error, and {every[high]:.2f} at {high:g}%.",
    )


def wide(study: Study, cell: Values, seed: int) -> pl.DataFrame:
    """A row for each instant: what the receiver of flow 0 measured, and the fullest queue."""
    series = study.result(cell, seed).series
    queue = series.filter(pl.col("series") == "queue").group_by("time").agg(pl.col("value").max().alias("queue"))
    measured = series.filter(pl.col("series").is_in(list(LABELS)), pl.col("id") == 0)
    table = measured.pivot("series", index="time", values="value")
    empty = [pl.lit(None, pl.Float64).alias(name) for name in LABELS if name not in table.columns]
    columns = ["time", *LABELS]
    return table.with_columns(empty).select(columns).join(queue, on="time").sort("time").with_columns(seed=seed)


def of(part: pl.DataFrame, whole: pl.DataFrame) -> str:
    """A share of samples in words."""
    return f"{part.height / whole.height:.0%}" if whole.height else "none"
