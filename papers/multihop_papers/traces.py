"""Courses of single runs: throughput over time, and packets one by one."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import multihop
from multihop import report, theme
from multihop.results import read_trace
from multihop_papers.study import Study, Values

SHOWN = 40
"""Lines of a packet trace."""
SILENCE = 1.0
"""Seconds without a segment that only a timeout ends."""
GAINING, GAINED = (10, 20), 1.5
"""Speeds in m/s between which Holland and Vaidya's pattern 20 gains, and by what factor."""
BACKGROUND = (30, 60)
"""Seconds between which other flows share the network (TCP-AP, section 4.2)."""
BEFORE, AFTER = 1.5, 0.3
"""Seconds that are shown on both sides of a silence."""


def variation(study: Study) -> None:
    """The coefficient of variation of the last 50 round trips over time (TCP-AP, section 4.2)."""
    names = [axis.name for axis in study.experiment.axes]
    for layout in study.axes[names.index("layout")].values:
        figure, axes = report.new_figure("time, s", "coefficient of variation of 50 round trips")
        largest: dict[str, float] = {}
        for cell, look in zip(study.select({"layout": layout}), theme.OTHERS, strict=False):
            series = study.result(cell).series.filter(pl.col("series") == "rtt_ms", pl.col("id") == 0)
            samples = series["value"]
            cov = samples.rolling_std(50, min_samples=2) / samples.rolling_mean(50, min_samples=2)
            label = f"{cell[names.index('background')]:g} kb/s of background"
            axes.plot(series["time"], cov, color=look.colour, linestyle=look.line, linewidth=1.0, label=label)
            during = cov.filter(series["time"].is_between(*BACKGROUND)).max()
            largest[label] = float(during) if isinstance(during, float) else 0.0
        axes.set_ylim(bottom=0)
        axes.legend()
        low, high = min(largest, key=lambda name: largest[name]), max(largest, key=lambda name: largest[name])
        study.figure(
            figure,
            f"Variation of round trips, layout {layout}; the background lasts from {BACKGROUND[0]} s to "
            f"{BACKGROUND[1]} s.",
            f"The coefficient of variation is at most {largest[high]:.2f} with {high}, "
            f"and {largest[low]:.2f} with {low}.",
        )


def patterns(study: Study) -> None:
    """The pattern whose throughput rises most with speed, below its shortest path (Figures 5 and 10)."""
    names = [axis.name for axis in study.experiment.axes]
    cells = sorted(study.accepted(), key=lambda cell: float(cell[names.index("speed")]))
    slow, fast = ([cell for cell in cells if cell[names.index("speed")] == speed] for speed in GAINING)
    before, after = study.samples("acked", slow[0]), study.samples("acked", fast[0])
    seed, _ = max(before, key=lambda sample: after.get(sample, 0.0) - before[sample])
    gained = f"{before[seed, 0]:.0f} kb/s at {GAINING[0]} m/s, {after[seed, 0]:.0f} kb/s at {GAINING[1]} m/s"
    study.text(f"Of {len(before)} patterns, number {seed} gains most with speed: {gained}.")
    if before[seed, 0]:
        what = f"the pattern that gains most: {GAINING[1]} m/s as a multiple of {GAINING[0]} m/s"
        study.compared.append((what, GAINED, after[seed, 0] / before[seed, 0]))
    study.figure(
        over_the_pattern(study, cells, seed),
        f"Pattern {seed}: shortest path, and goodput at each speed.",
        f"Pattern {seed} delivers {gained}.",
    )
    for cell in study.select({"speed": 10}):
        back_off(study, cell, seed)


def over_the_pattern(study: Study, cells: Sequence[Values], seed: int) -> Figure:
    """Shortest path and goodput over the share of the movement that has passed."""
    with report.drawing():
        figure = Figure(figsize=(7.2, 1.5 * (len(cells) + 1)), layout="constrained")
        panels: list[Axes] = list(figure.subplots(len(cells) + 1, 1, sharex=True))
    shown = [(cells[0], "shortest", "path, hops", theme.BLACK)]
    shown += [(cell, "goodput_kbps", f"{cell[0]} m/s, kb/s", theme.BLUE) for cell in cells]
    for axes, (cell, name, label, colour) in zip(panels, shown, strict=True):
        result = study.result(cell, seed)
        part = result.series.filter(pl.col("series") == name)
        axes.plot(part["time"] / result.data["sim_seconds"], part["value"], color=colour, linewidth=1.0)
        axes.set_ylabel(label)
        axes.set_ylim(bottom=0)
    panels[-1].set_xlabel("share of the pattern")
    return figure


def back_off(study: Study, cell: Values, seed: int) -> None:
    """Segments around the first time that the sender falls silent (Holland and Vaidya's Figure 6)."""
    events = packets(study, cell, seed).filter(pl.col("seq").is_not_null())
    sent = events.filter(evt="s", node=0, pkt="tcp")
    silent = sent.with_columns(pause=pl.col("time").diff().shift(-1)).filter(pl.col("pause") > SILENCE)
    if silent.is_empty():
        study.text(f"In pattern {seed} at {cell[0]} m/s the sender never falls silent for {SILENCE:g} s.")
        return
    at, pause = silent.row(0, named=True)["time"], silent.row(0, named=True)["pause"]
    numbers = sent["seq"].unique().sort()
    near = events.filter(pl.col("time").is_between(at - BEFORE, at + pause + AFTER))
    near = near.with_columns(number=numbers.search_sorted(near["seq"]))
    figure, axes = report.new_figure("time, s", "segment")
    for evt, node, pkt, marker, colour, label in (
        ("s", 0, "tcp", "o", theme.BLUE, "sent"),
        ("r", 1, "tcp", "x", theme.GREEN, "received"),
        ("r", 0, "ack", "|", theme.BLACK, "acknowledged"),
        ("D", None, "tcp", "v", theme.VERMILION, "dropped"),
    ):
        part = near.filter(pl.col("evt") == evt, pl.col("pkt") == pkt)
        part = part if node is None else part.filter(pl.col("node") == node)
        axes.plot(
            part["time"], part["number"], marker, color=colour, markersize=5, fillstyle="none", label=label
        )
    axes.legend()
    when = f"{at:.2f} s to {at + pause:.2f} s"
    study.figure(
        figure,
        f"Segments of pattern {seed} at {cell[0]} m/s around the first silence, {when}.",
        f"The sender of pattern {seed} is silent from {when}.",
    )


def zero(study: Study) -> None:
    """The packets of the run that delivers the smallest share of what is expected."""
    (cell,) = study.accepted()
    acked, expected = study.samples("acked", cell), study.samples("expected", cell)
    seed, _ = min(expected, key=lambda sample: acked[sample] / max(expected[sample], 1.0))
    rows = packets(study, cell, seed)
    study.text(
        f"Of {len(acked)} patterns, number {seed} delivers the smallest share: {acked[seed, 0]:.1f} kb/s of "
        f"{expected[seed, 0]:.0f} kb/s. What TCP sent (s), received (r) and lost (D) in it:"
    )
    study.table(rows.head(SHOWN), f"The first {min(SHOWN, rows.height)} of {rows.height} events")


def inhibition(study: Study) -> None:
    """Segments and deliveries of either transport while no ACK comes back (TPA, Figure 23)."""
    for cell in study.accepted():
        events = packets(study, cell, 1).filter(pl.col("time").is_between(39.56, 50.92))
        data = events.filter(pl.col("pkt") != "ack")
        sent = data.filter(evt="s", node=0)["seq"]
        arrived = data.filter(evt="r", node=3)["seq"]
        earlier = packets(study, cell, 1).filter(pl.col("time") < 39.56, evt="r", node=3)["seq"]
        new = len(set(arrived) - set(earlier))
        study.text(
            f"{cell[0]}: from 39.56 s to 50.92 s {len(sent)} segments leave, {sent.n_unique()} different; "
            f"{new} arrive that had not arrived before."
        )
        study.table(
            events.filter(pl.col("node").is_in([0, 3])).head(SHOWN), f"{cell[0]}: events at both ends"
        )


def packets(study: Study, cell: Values, seed: int) -> pl.DataFrame:
    """The events of TCP's packets in one run, as Holland and Vaidya's Table 1 has them."""
    with traced(study, cell, seed) as trace:
        events = read_trace(trace)
    chosen = events.filter(pl.col("evt").is_in(["s", "r", "D"]), pl.col("pkt").is_in(["tcp", "tpa", "ack"]))
    return chosen.select("evt", "time", "node", "seq", "pkt", "resn")


@contextmanager
def traced(study: Study, cell: Values, seed: int, seconds: float | None = None) -> Iterator[Path]:
    """The packet trace of one run, which is run again for it; of another length if one is given."""
    asked = study.request(cell, seed)
    if seconds is not None:
        asked.overrides.append(("duration", str(seconds)))
    with tempfile.TemporaryDirectory(prefix="multihop-") as scratch:
        trace = Path(scratch) / "packets.txt"
        with warnings.catch_warnings():
            # The run before, whose trace this is, has reported series without rows.
            warnings.simplefilter("ignore", UserWarning)
            multihop.run(asked, trace=trace)
        yield trace
