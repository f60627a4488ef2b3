"""Random waypoint over time: a stationary start and a classic one against closed forms.

W. Navidi, T. Camp, Stationary distributions for the random waypoint mobility model, IEEE TMC 3(1),
2004. E. Hyytiä, P. Lassila, J. Virtamo, Spatial node distribution of the random waypoint mobility
model with applications, IEEE TMC 5(6), 2006.
"""

from __future__ import annotations

import io
import math
import subprocess
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from multihop import report
from multihop.stats import format_mean
from multihop.theme import BLUE, ORANGE, VERMILION, Style
from multihop_papers.declare import Effort
from multihop_papers.measures import frame
from multihop_papers.study import Study
from multihop_papers.validation.part import Page

# Run in the source tree.
EXAMPLE = ["cargo", "run", "--quiet", "--release", "--locked", "-p", "multihop-radio"]

SIDE = 1000.0  # m, as the example has it
NODES = 20_000
STRIPS = 20
FASTEST = 20.0  # m/s
PAUSE = 30.0  # s
NORMAL = 1.96  # standard errors of a 95% interval
# Points of the midpoint rule, for each side of the square and for half a turn.
CELLS, ANGLES = 200, 400

Values = NDArray[np.float64]


class Start(NamedTuple):
    """How the nodes begin."""

    label: str
    arguments: tuple[str, float]
    style: Style


STARTS = {
    "stationary": Start("stationary start, 1 to 20 m/s", ("stationary", 1.0), Style(BLUE, "o")),
    "classic": Start("classic start, 1 to 20 m/s", ("classic", 1.0), Style(ORANGE, "s", "--")),
    "setdest": Start("classic start, 0 to 20 m/s", ("classic", 0.0), Style(VERMILION, "^", ":")),
}


def movements(study: Study) -> None:
    """Run every start, and compare it with the closed forms."""
    found = {name: run(start) for name, start in STARTS.items()}
    expected = closed_forms()
    judge(study, found, expected)
    for quantity, label in (("speed", "mean speed of all nodes, m/s"), ("middle", "share of nodes in the middle quarter of the area")):
        figure, axes = report.new_figure("time, s", label)
        times = found["stationary"].filter(quantity=quantity)["time"].to_list()
        report.reference(axes, times, [expected[quantity]] * len(times), "closed form", "--")
        for name, table in found.items():
            line(axes, times, table.filter(quantity=quantity), name)
        axes.set_ylim(bottom=0)
        axes.legend()
        begins = {name: at(table, quantity, 100) / expected[quantity] - 1 for name, table in found.items()}
        study.figure(
            figure,
            f"{CAPTIONS[quantity]}, with 95% intervals.",
            f"At 100 s the stationary start differs from the closed form by {begins['stationary']:+.1%}, "
            f"and the classic start by {begins['classic']:+.1%}.",
        )
    profile(study, found, expected)
    rows: list[list[object]] = [["closed form", "", *(f"{expected[quantity]:.4f}" for quantity in NAMES)]]
    rows += [
        [STARTS[name].label, time, *(cell(table, quantity, time) for quantity in NAMES)] for name, table in found.items() for time in SHOWN
    ]
    study.table(frame(["start", "time, s", *NAMES.values()], rows), "Means over the nodes, with 95% intervals")
    for paragraph in FORMULAS:
        study.text(paragraph)


def run(start: Start) -> pl.DataFrame:
    """Table that the example `stationarity` prints."""
    kind, slowest = start.arguments
    arguments = [kind, str(slowest), str(FASTEST), str(PAUSE)]
    command = [*EXAMPLE, "--example", "stationarity", "--", *arguments]
    done = subprocess.run(command, check=True, capture_output=True)
    return pl.read_csv(io.BytesIO(done.stdout))


def closed_forms() -> dict[str, float]:
    """The long run, of speeds from 1 m/s and for nodes that pause and move together."""
    slowness = math.log(FASTEST) / (FASTEST - 1)
    moving = mean_trip() * slowness
    pausing = PAUSE / (PAUSE + moving)
    cells = density()
    quarter = slice(CELLS // 4, 3 * CELLS // 4)
    return {
        "speed": (1 - pausing) / slowness,
        "pausing": pausing,
        "middle": pausing / 4 + (1 - pausing) * float(cells[quarter, quarter].sum()),
        **{f"strip{n}": share for n, share in enumerate(strips(cells, pausing))},
    }


def mean_trip() -> float:
    """Metres between two places of the square (0.5214 of its side)."""
    return SIDE * (2 + math.sqrt(2) + 5 * math.log(1 + math.sqrt(2))) / 15


def density() -> Values:
    """Share of the moving nodes in each of CELLS x CELLS cells, by Hyytiä and others' integral.

    From each place, over half a turn, a b (a + b) for the distances a and b to the border ahead and
    behind.
    """
    middles = (np.arange(CELLS) + 0.5) / CELLS
    x, y = np.meshgrid(middles, middles, indexing="ij")
    total = np.zeros_like(x)
    for angle in (np.arange(ANGLES) + 0.5) * math.pi / ANGLES:
        ahead, behind = to_border(x, y, angle), to_border(x, y, angle + math.pi)
        total += ahead * behind * (ahead + behind)
    shares: Values = total / total.sum()
    return shares


def to_border(x: Values, y: Values, angle: float) -> Values:
    """Distances to the border from places in the unit square in one direction."""
    across, up = math.cos(angle), math.sin(angle)
    sideways = (np.where(across > 0, 1 - x, x)) / abs(across)
    upwards = (np.where(up > 0, 1 - y, y)) / abs(up)
    nearest: Values = np.minimum(sideways, upwards)
    return nearest


def strips(cells: Values, pausing: float) -> list[float]:
    """Share of all nodes in each of equal parts of the width."""
    moving = cells.sum(axis=1).reshape(STRIPS, -1).sum(axis=1)
    return [float(pausing / STRIPS + (1 - pausing) * share) for share in moving]


def judge(study: Study, found: Mapping[str, pl.DataFrame], expected: Mapping[str, float]) -> None:
    """Compare each start with the closed forms."""
    stationary = found["stationary"].with_columns(away=(pl.col("mean") - pl.col("quantity").replace_strict(expected)) / pl.col("error"))
    worst = stationary.sort(pl.col("away").abs()).row(-1, named=True)
    study.verdict(
        "Stationary start: speed, pauses and density are the closed forms at all times, within "
        f"{MOST_ERRORS:g} standard errors in each of {stationary.height} values",
        abs(worst["away"]) < MOST_ERRORS,
        f"largest {worst['away']:+.1f}, {worst['quantity']} at {worst['time']} s",
    )
    last = found["classic"].filter(pl.col("time") == pl.col("time").max(), pl.col("quantity").is_in(list(NAMES)))
    away = {q: abs(m - expected[q]) / e for q, m, e in last.select("quantity", "mean", "error").iter_rows()}
    text = "Classic start from 1 m/s: the closed forms hold in the end"
    study.verdict(text, max(away.values()) < MOST_ERRORS, f"largest {max(away.values()):.1f} standard errors")
    for name in ("classic", "setdest"):
        speeds = found[name].filter(quantity="speed")
        fast = speeds.sort("mean").row(-1, named=True)
        too_fast = fast["mean"] / expected["speed"] - 1
        why = f"{too_fast:+.0%} at {fast['time']} s"
        study.verdict(f"{STARTS[name].label}: more than 20% too fast at first", too_fast > 0.2, why)
    slower = [at(found["setdest"], "speed", time) for time in (500, 1000, 2000)]
    why = f"{', '.join(f'{v:.2f}' for v in slower)} m/s at 500, 1000, 2000 s"
    falls = slower[0] > slower[1] > slower[2] and slower[2] < expected["speed"]
    study.verdict("From 0 m/s the mean speed falls without end", falls, why)


def line(axes: Axes, x: Sequence[float], table: pl.DataFrame, name: str, label: str = "") -> None:
    """Means in the order of the table, with 95% intervals."""
    style = STARTS[name].style
    mean, half = table["mean"].to_numpy(), NORMAL * table["error"].to_numpy()
    axes.plot(
        x,
        mean,
        color=style.colour,
        linestyle=style.line,
        marker=style.marker,
        markevery=5 if len(mean) > STRIPS else 1,
        markersize=4,
        label=label or STARTS[name].label,
    )
    axes.fill_between(x, mean - half, mean + half, color=style.colour, alpha=0.2, linewidth=0)


def profile(study: Study, found: Mapping[str, pl.DataFrame], expected: Mapping[str, float]) -> None:
    """Where across the area the nodes are, at the start and after a while."""
    with report.drawing():
        figure = Figure(figsize=(7.2, 4.0), layout="constrained")
        both = figure.subplots(1, 2, sharey=True)
    width = SIDE / STRIPS
    middles = [width * (n + 0.5) for n in range(STRIPS)]
    names = [f"strip{n}" for n in range(STRIPS)]
    for axes, time in zip(both, (0, 2000), strict=True):
        report.reference(axes, middles, [expected[name] for name in names], "closed form", "--")
        for start in ("stationary", "classic"):
            line(axes, middles, found[start].filter(pl.col("quantity").is_in(names), time=time), start)
        axes.set(xlabel="x, m", title=f"{time} s", ylim=(0, None))
    both[0].set_ylabel(f"share of nodes in a strip of {width:g} m")
    both[0].legend(fontsize=8, loc="lower center")
    border = names[0]
    begins = {name: at(found[name], border, 0) / expected[border] - 1 for name in ("stationary", "classic")}
    study.figure(
        figure,
        "Places across the area at the start and in the end, with 95% intervals.",
        f"At 0 s the share of nodes at the border differs from the closed form by {begins['stationary']:+.0%} with the "
        f"stationary start, and by {begins['classic']:+.0%} with the classic one.",
    )


def at(table: pl.DataFrame, quantity: str, time: int) -> float:
    """Mean of a quantity at one time."""
    return float(table.filter(quantity=quantity, time=time)["mean"].item())


def cell(table: pl.DataFrame, quantity: str, time: int) -> str:
    """A mean with its interval."""
    found = table.filter(quantity=quantity, time=time)
    return format_mean(found["mean"].item(), NORMAL * found["error"].item())


# Out of 2300 values one is as far away in one study of a thousand.
MOST_ERRORS = 5.0
SHOWN = (0, 100, 500, 2000)
NAMES = {"speed": "speed, m/s", "pausing": "share pausing", "middle": "share in the middle"}
CAPTIONS = {
    "speed": "Mean speed of all nodes, those that pause counted as 0",
    "middle": "Share of the nodes in the central square of half the side",
}
FORMULAS = (
    "Closed forms, for speeds from v0 to v1, pause P and side a: E[1/V] = ln(v1/v0) / (v1 - v0); E[L] = 0.5214 a; P(pausing) = P / (P + E[L] "
    "E[1/V]). The mean speed of all nodes is (1 - P(pausing)) / E[1/V].",
    "Nodes that pause are uniform over the area. Nodes that move have the density at r proportional to the integral over half a turn of a1 a2 (a1 + a2), "
    "the distances from r to the border ahead and behind.",
)
STATIONARITY = Page(
    "stationarity",
    "W. Navidi, T. Camp, Stationary distributions for the random waypoint mobility model, IEEE TMC 3(1), 2004; E. Hyytiä, P. Lassila, "
    "J. Virtamo, Spatial node distribution of the random waypoint mobility model with applications, IEEE TMC 5(6), 2006",
).experiment(
    "stationarity",
    "random waypoint from the first second",
    "Is a network under random waypoint the same at all times, so that no warm-up biases what is measured? The closed forms say how fast "
    "its nodes are, how many of them pause and where they are in the long run. A stationary start must have these values at once, a classic one does "
    f"not. {NODES} nodes in {SIDE:g} m x {SIDE:g} m, speeds uniform from 1 to {FASTEST:g} m/s, pauses of {PAUSE:g} s, 2000 s in steps of 20 s. "
    "`classic` with a least speed of 0 is what most published simulations used (setdest, version 1). Seed 1; 95% intervals over the nodes. The "
    "movements come from `crates/multihop-radio/examples/stationarity.rs`, which cargo builds: run this in the source tree.",
    Effort(0),
    scenario={"duration": 10.0, "topology": {"kind": "chain", "hops": 1}, "flow": [{"transport": "udp", "app": "paced"}]},
    axes=(),
    metrics=(),
    more=movements,
)
EXPERIMENTS = (STATIONARITY,)
