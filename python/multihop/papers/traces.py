"""What single runs show: throughput over time, and packets one by one."""

from __future__ import annotations

import tempfile
from pathlib import Path

import polars as pl

from multihop import _core, report
from multihop.papers.study import Study, Values

SHOWN = 40
"""Lines of a packet trace."""


def variation(study: Study) -> None:
    """The coefficient of variation of the last 50 round trips over time (TCP-AP, section 4.2)."""
    names = [axis.name for axis in study.experiment.axes]
    for layout in study.axes[names.index("layout")].values:
        figure, axes = report.new_figure("time, s", "coefficient of variation of 50 round trips")
        for cell, look in zip(study.select({"layout": layout}), report.OTHERS, strict=False):
            series = study.result(cell).series.filter(pl.col("series") == "rtt_ms", pl.col("id") == 0)
            samples = series["value"]
            cov = samples.rolling_std(50, min_samples=2) / samples.rolling_mean(50, min_samples=2)
            label = f"{cell[names.index('background')]:g} kb/s of background"
            axes.plot(series["time"], cov, color=look.colour, linestyle=look.line, linewidth=1.0, label=label)
        axes.set_ylim(bottom=0)
        axes.legend()
        study.figure(
            figure, f"Variation of round trips, layout {layout}; the background lasts from 30 s to 60 s."
        )


def patterns(study: Study) -> None:
    """The pattern whose throughput rises most with speed, at every speed, below its shortest path."""
    names = [axis.name for axis in study.experiment.axes]
    cells = sorted(study.accepted(), key=lambda cell: float(cell[names.index("speed")]))
    slow, fast = study.samples("acked", cells[0]), study.samples("acked", cells[1])
    seed, _ = max(slow, key=lambda sample: fast.get(sample, 0.0) - slow[sample])
    gained = f"{slow[seed, 0]:.0f} kb/s at {cells[0][0]} m/s, {fast[seed, 0]:.0f} kb/s at {cells[1][0]} m/s"
    study.text(f"Of {len(slow)} patterns, number {seed} gains most with speed: {gained}.")
    for cell in cells:
        series = study.result(cell, seed).series
        figure, axes = report.new_figure("time, s", "goodput, kb/s")
        for what, colour, scale in (("goodput_kbps", report.BLUE, 1.0), ("shortest", report.BLACK, 100.0)):
            part = series.filter(pl.col("series") == what)
            label = "goodput" if what == "goodput_kbps" else "shortest path, 100 a hop"
            axes.plot(part["time"], part["value"] * scale, color=colour, linewidth=1.0, label=label)
        axes.legend()
        study.figure(figure, f"Pattern {seed} at {cell[0]} m/s.")


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
    """What either transport sends and delivers while no ACK comes back (TPA, Figure 23)."""
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
    request = study.request(cell, seed)
    with tempfile.TemporaryDirectory(prefix="multihop-") as scratch:
        trace = Path(scratch) / "packets.txt"
        _core.run(*request, str(trace), None, None)
        events = pl.read_csv(trace, separator="\t", infer_schema_length=None)
    chosen = events.filter(pl.col("evt").is_in(["s", "r", "D"]), pl.col("pkt").is_in(["tcp", "tpa", "ack"]))
    return chosen.select("evt", "time", "node", "seq", "pkt", "resn")
