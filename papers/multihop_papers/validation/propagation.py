"""Losses over distance, fading and its correlation, against the formulas that they implement.

ITU-R P.1411-12 and P.1238: the losses. R. H. Clarke, A statistical theory of mobile-radio reception,
BSTJ 47, 1968: the correlation.
"""

from __future__ import annotations

import io
import math
import subprocess
from collections.abc import Callable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from multihop import report
from multihop.theme import BLUE, ORANGE, VERMILION
from multihop_papers.declare import Effort
from multihop_papers.study import Study
from multihop_papers.validation.part import Page

# Run in the source tree.
EXAMPLE = ["cargo", "run", "--quiet", "--release", "--locked", "-p", "multihop-radio", "--example", "propagation"]

GHZ = 2.4
HEIGHT = 1.5  # m
LIGHT = 3e8  # m/s
K = 4.0
M = 3
WAVES = 16

Values = NDArray[np.float64]

# ITU-R P.1411-12, table 4, and P.1238-11, table 2: 10 a log10(d) + b + 10 c log10(f / GHz).
ENVIRONMENTS = {
    "street": (2.12, 29.2, 2.11),
    "city-out-of-sight": (4.0, 10.2, 2.36),
    "residential-out-of-sight": (3.01, 18.8, 2.07),
    "office": (1.46, 34.62, 2.03),
    "office-out-of-sight": (2.46, 29.53, 2.38),
    "corridor": (1.63, 28.12, 2.25),
    "corridor-out-of-sight": (2.77, 29.27, 2.48),
    "industrial": (2.31, 24.52, 2.06),
    "industrial-out-of-sight": (3.79, 21.01, 1.34),
}
# P.1238-7, table 2: N.
BUILDINGS = {"p1238 residential": 28.0, "p1238 office": 30.0, "p1238 commercial": 22.0}


def propagation(study: Study) -> None:
    """Compare what the example prints with the formulas."""
    done = subprocess.run(EXAMPLE, check=True, capture_output=True)
    found = pl.read_csv(io.BytesIO(done.stdout))
    losses(study, found.filter(quantity="loss"))
    fading(study, found.filter(quantity="power"))
    correlation(study, found.filter(quantity="correlation"))


def losses(study: Study, found: pl.DataFrame) -> None:
    """Compare path loss over distance with its formulas."""
    away = {
        name: float(np.abs(table["value"].to_numpy() - loss_db(name, table["x"].to_numpy())).max())
        for (name,), table in found.group_by(["name"], maintain_order=True)
        if isinstance(name, str)
    }
    worst = max(away, key=lambda name: away[name])
    study.verdict(
        f"The loss of each of {len(away)} laws is that of its formula, from 5 m to 1 km, within 0.001 dB",
        away[worst] < 0.001,
        f"largest difference {away[worst]:.1e} dB, {worst}",
    )
    for caption, groups in FIGURES.items():
        figure, axes = report.new_figure("distance, m", "loss, dB")
        for name, (colour, line) in groups.items():
            table = found.filter(name=name)
            axes.plot(table["x"].to_list(), table["value"].to_list(), color=colour, linestyle=line, label=name)
        axes.set_xscale("log")
        axes.legend(fontsize=8)
        ends = {name: found.filter(name=name).sort("x").row(-1, named=True) for name in groups}
        order = sorted(ends, key=lambda name: float(ends[name]["value"]))
        low, high = ends[order[0]], ends[order[-1]]
        finding = f"At {low['x']:g} m the loss ranges from {low['value']:.0f} dB ({order[0]}) to {high['value']:.0f} dB ({order[-1]})."
        study.figure(figure, caption, finding)


def loss_db(name: str, metres: Values) -> Values:
    """The published formula, in decibels."""
    length = LIGHT / (GHZ * 1e9)
    decades = np.log10(metres)
    if name in ENVIRONMENTS:
        a, b, c = ENVIRONMENTS[name]
        return np.asarray(10 * a * decades + b + 10 * c * math.log10(GHZ))
    if name in BUILDINGS:
        return np.asarray(20 * math.log10(GHZ * 1e3) + BUILDINGS[name] * decades - 28)
    if name == "two-ray":
        far = 40 * decades - 40 * math.log10(HEIGHT)
        near = 20 * decades + 20 * math.log10(4 * math.pi / length)
        return np.where(metres <= 4 * math.pi * HEIGHT**2 / length, near, far)
    there = 4 * HEIGHT**2 / length
    loss = abs(20 * math.log10(length**2 / (8 * math.pi * HEIGHT**2))) + 6
    return np.asarray(loss + np.where(metres <= there, 20, 40) * np.log10(metres / there))


def fading(study: Study, found: pl.DataFrame) -> None:
    """The distribution of the power."""
    figure, axes = report.new_figure("power / mean, dB", "share of pairs with less")
    decibels = np.linspace(-30, 10, 200)
    worst = 0.0
    for (kind, (colour, below)), dashes in zip(KINDS.items(), ("--", "-.", ":"), strict=True):
        report.reference(axes, decibels.tolist(), below(10 ** (decibels / 10)).tolist(), f"{kind}, closed form", dashes)
        for change, line in (("blocks", "-"), ("speed", ":")):
            powers = np.sort(found.filter(name=f"{kind} {change}")["value"].to_numpy())
            ranks = np.arange(1, len(powers) + 1) / len(powers)
            axes.plot(10 * np.log10(powers[::20]), ranks[::20], color=colour, linestyle=line, label=f"{kind}, {change}")
            expected = below(powers)
            away = float(np.maximum(np.abs(expected - ranks), np.abs(expected - ranks + 1 / len(powers))).max())
            bound, worst = KOLMOGOROV / math.sqrt(len(powers)), max(worst, away)
            text = f"{kind} by {change}: the power has its distribution (Kolmogorov and Smirnov, 1 in 1000)"
            study.verdict(text, away < bound, f"{away:.4f}, bound {bound:.4f}, {len(powers)} pairs")
    axes.set_yscale("log")
    axes.set(ylim=(1e-3, 1.2), xlim=(-30, 10))
    axes.legend(fontsize=7)
    study.figure(
        figure,
        f"Fading of {len(powers)} pairs of nodes at one instant: Rician with k = {K:g}, Nakagami with m = {M}.",
        f"Each distribution is within {worst:.4f} of its closed form.",
    )


def exponential(power: Values) -> Values:
    """Share below, without a line of sight."""
    return np.asarray(1 - np.exp(-power))


def nakagami(power: Values) -> Values:
    """The gamma distribution with shape M and mean 1."""
    x = M * power
    return np.asarray(1 - np.exp(-x) * sum(x**n / math.factorial(n) for n in range(M)))


def rician(power: Values) -> Values:
    """Distribution function of Rician fading, by integrating the density."""
    grid = np.linspace(0, 12, 120_001)
    density = (1 + K) * np.exp(-K - (1 + K) * grid) * np.i0(2 * np.sqrt(K * (1 + K) * grid))
    step = grid[1]
    below = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) * step / 2)])
    return np.asarray(np.interp(power, grid, below))


def correlation(study: Study, found: pl.DataFrame) -> None:
    """How the power at one instant resembles that at a later one."""
    periods, values = found["x"].to_numpy(), found["value"].to_numpy()
    angles = 2 * math.pi * periods
    clarke = bessel(angles) ** 2
    expected = clarke - np.array([same_wave(angle) for angle in angles])
    figure, axes = report.new_figure("time / period of the Doppler frequency", "covariance of the power")
    report.reference(axes, periods.tolist(), clarke.tolist(), "Clarke: J0 squared", "--")
    axes.plot(periods, values, color=BLUE, label=f"{WAVES} waves")
    axes.legend()
    away = float(np.abs(values - expected).max())
    study.figure(
        figure,
        "Covariance of the power of a pair with itself after some time, over 20000 pairs.",
        f"The covariance is within {away:.3f} of that of {WAVES} waves.",
    )
    # Four standard errors of the mean of a product of exponential variables.
    bound = 4 * math.sqrt(9 / 20_000)
    study.verdict(f"Fading by speed has the covariance of {WAVES} waves", away < bound, f"largest difference {away:.3f}, bound {bound:.3f}")
    apart = float(np.abs(expected - clarke).max())
    study.verdict(f"It differs from Clarke's by at most 1 / {WAVES}", apart <= 1 / WAVES + 1e-9, f"{apart:.4f}, at time 0")


def bessel(x: Values) -> Values:
    """J0, by its integral."""
    angles = (np.arange(2000) + 0.5) * math.pi / 2000
    return np.asarray(np.cos(np.outer(x, np.sin(angles))).mean(axis=1))


def same_wave(angle: float) -> float:
    """Contribution of waves multiplied with themselves, which is missing in the covariance."""
    directions = 2 * math.pi * (np.arange(WAVES * 500) + 0.5) / (WAVES * 500)
    turns = np.exp(1j * angle * np.cos(directions)).reshape(WAVES, -1).mean(axis=1)
    return float((np.abs(turns) ** 2).sum() / WAVES**2)


KINDS: dict[str, tuple[str, Callable[[Values], Values]]] = {
    "rayleigh": (BLUE, exponential),
    "rician": (ORANGE, rician),
    "nakagami": (VERMILION, nakagami),
}
# The quantile that one sample in a thousand exceeds, times the root of its size.
KOLMOGOROV = 1.95
FIGURES = {
    f"Outdoors at {GHZ:g} GHz, antennas at {HEIGHT:g} m.": {
        "two-ray": (BLUE, "-"),
        "p1411": (ORANGE, "-"),
        "street": (ORANGE, "--"),
        "residential-out-of-sight": (VERMILION, "--"),
        "city-out-of-sight": (VERMILION, ":"),
    },
    f"Indoors at {GHZ:g} GHz, on one floor.": {
        "p1238 residential": (BLUE, "-"),
        "p1238 office": (ORANGE, "-"),
        "p1238 commercial": (VERMILION, "-"),
        "office": (ORANGE, "--"),
        "office-out-of-sight": (ORANGE, ":"),
        "corridor": (BLUE, "--"),
        "corridor-out-of-sight": (BLUE, ":"),
    },
}
PROPAGATION = Page(
    "propagation",
    "ITU-R P.1411-12, P.1238-7 and P.1238-11; R. H. Clarke, A statistical theory of mobile-radio reception, Bell System Technical Journal 47, 1968",
).experiment(
    "propagation",
    "losses and fading",
    "Do the laws of path loss, the distributions of fading and its changes in time agree with the formulas that they are made from? The formulas "
    "are evaluated in decibels and by numerical integration, apart from the simulator. The simulator's values come from "
    "`crates/multihop-radio/examples/propagation.rs`, which cargo builds: run this in the source tree.",
    Effort(0),
    scenario={"duration": 10.0, "topology": {"kind": "chain", "hops": 1}, "flow": [{"transport": "udp", "app": "paced"}]},
    axes=(),
    metrics=(),
    more=propagation,
)
EXPERIMENTS = (PROPAGATION,)
