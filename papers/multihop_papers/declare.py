"""The parts of an experiment: axes, metrics, efforts, claims, figures. `study.py` has the whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from multihop_papers.reasons import Reason

Settings = Mapping[str, Any]
"""Dotted keys of a scenario and their values, as `--set` takes them."""

Document = Mapping[str, Any]
"""A result as JSON."""

VALIDATION = "Validation"
"""The group of the experiments that compare the simulator with theory, other programs and the literature."""

EMULATED = "Emulation"
"""The group of the experiments with real programs, which take real time."""

GAUNTLET = "Gauntlet"
"""The group of the experiments in which every transport meets many networks."""

Cell = Mapping[str, Any]
"""A value for each axis. In claims a list of values stands for the best of them."""


@dataclass(frozen=True)
class Axis:
    """Axis of an experiment: its values as tables show them, and the settings of each value."""

    name: str
    values: Mapping[Any, Any]
    """Settings, or a function that makes them of the seed."""
    label: str = ""
    """Label in figures, with the unit."""

    def settings(self, value: Any, seed: int) -> Settings:
        """Settings that a value adds to the run with this seed."""
        chosen = self.values[value]
        settings: Settings = chosen(seed) if callable(chosen) else chosen
        return settings


def axis(name: str, key: str, values: Sequence[Any], label: str = "") -> Axis:
    """An axis that sets one key."""
    return Axis(name, {value: {key: value} for value in values}, label)


@dataclass(frozen=True)
class Metric:
    """A number of a result: dotted keys, of which `flows.*` is the mean over the flows, or a function."""

    name: str
    label: str
    path: str | Callable[[Document], float | None]
    scale: float = 1.0
    per: str = ""
    """The keys of what it is divided by, if it is."""

    def matters(self, value: float) -> float:
        """The smallest difference from a value that matters: 1% of it, or 0.1 percentage points."""
        share = LEAST_SHARE * abs(value)
        return max(share, LEAST_POINTS) if self.label.endswith("%") else share


LEAST_SHARE = 0.01
"""The smallest difference that matters, as a share of what is compared with."""
LEAST_POINTS = 0.1
"""The least that it is for percentages, in percentage points: one segment in a thousand."""


GOODPUT = Metric("goodput", "aggregate goodput, kb/s", "totals.goodput_kbps")
ACKED = Metric("acked", "throughput (acknowledged), kb/s", "flows.0.acked_kbps")
EXPECTED = Metric("expected", "expected throughput, kb/s", "flows.0.expected_goodput_kbps")
FAIRNESS = Metric("fairness", "Jain's index, %", "totals.jain", 100.0)
INSTANT = Metric("instant", "Jain's index over 2 s, %", "totals.jain_instant", 100.0)
RTX = Metric("rtx", "retransmission index, %", "totals.retransmission_index", 100.0)
HOPS = Metric("hops", "mean path, hops", "flows.*.mean_hops")
RTT = Metric("rtt", "round-trip time, ms", "flows.*.rtt_ms.mean")
CHANGES = Metric("changes", "changes of routes in use", "routing.route_changes")
OSCILLATIONS = Metric("oscillations", "returns to a route left within 10 s", "routing.oscillations")
INVALID = Metric("invalid", "packets without a valid route, %", "routing.invalid_routes", 100.0)


@dataclass(frozen=True)
class Effort:
    """How much is run."""

    seeds: int
    settings: Settings = field(default_factory=dict)
    keep: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """The values of an axis that are run; all of those that are not named."""
    most: int = 0
    """Seeds are added until every interval of the first metric is within 10% of its mean, up to this."""
    first: int = 1
    """The first seed: a claim is tested on other seeds than those that chose its settings."""
    looks: int = 0
    """Judgements of the claims at most, if claims near their bounds need more seeds than usual."""
    seconds: float = 0.0
    """CPU time that a look may bring the experiment to, if it is not the usual one, s."""


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper as a check on our numbers.

    `metric` of one cell must be at least, or at most, this many times that of the other with the same
    seed; without another cell the bounds are values of the metric. The interval of the paired difference
    decides it, or its mean if the interval is narrower than what matters (`Metric.matters`). With `near`
    the means of all these cells are compared with published values.
    """

    text: str
    metric: str
    of: Cell
    against: Cell | None = None
    at_least: float | None = None
    at_most: float | None = None
    near: float | None = None
    """The largest relative difference between a mean and its published value."""
    by_mean: bool = False
    """The mean of the differences decides, without its interval."""
    than: str = ""
    """The metric of the other cell, if it is not the same."""
    each: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Must hold at every one of these values, in both cells unless the other names its own."""
    size: float = 0.0
    """The growth or decline that the paper gives, if it gives one."""
    lowest: bool = False
    """The best of several values is the one with the lowest metric."""
    reason: Reason | None = None
    """Why it does not hold, if it does not."""
    uncertain: float = 0.0
    """Half-width of both means as a share of them, as the paper's text bounds it without printing it."""


def versus(
    text: str,
    metric: str,
    of: Any,
    against: Any,
    *,
    axis: str = "transport",
    at: Cell | None = None,
    size: float = 0.0,
    **more: Any,
) -> Claim:
    """A claim about two values of one axis, with the same values of others.

    It says that the metric of the first is at least that of the second, unless other bounds are given, or
    the `size` of a growth or decline.
    """
    if size:
        more |= {"at_least" if size > 0 else "at_most": gain(size), "size": size}
    elif not more.keys() & {"at_least", "at_most"}:
        more["at_least"] = 1.0
    return Claim(text, metric, {axis: of, **(at or {})}, {axis: against, **(at or {})}, **more)


def gain(size: float) -> float:
    """The bound for a growth or decline of which the paper gives the size: half of it must be there."""
    return 1 + size / 2


@dataclass(frozen=True)
class Unstated:
    """A parameter that the paper does not give."""

    what: str
    chosen: str
    why: str


@dataclass(frozen=True)
class Plot:
    """A figure: `line` and `bar` over the axis `x`, `time` for recorded series, `scatter` of runs."""

    kind: str
    metric: str
    """Name of the series of a `time` plot; of a `scatter` plot the metric on the vertical axis."""
    x: str = ""
    """An axis; of a `scatter` plot the metric that lies flat."""
    by: str = ""
    """The axis whose values have a look of their own."""
    panel: str = ""
    """The axis whose values have a panel of their own."""
    at: Cell = field(default_factory=dict)
    """The cells that are drawn, if not all are. Of the axis `by` it may list several values."""
    apart: bool = False
    """Whether each panel has a scale of its own, too."""
    caption: str = ""


Published = Mapping[tuple[Any, ...], float | tuple[float, float]]
"""By the values of the axes in their order: what the paper prints, with half its interval if given."""


def rows(names: Sequence[Any], columns: Sequence[Any], text: str) -> dict[tuple[Any, ...], Any]:
    """A printed table: a line for each name, `-` where nothing is printed, `mean±half` where both are."""
    table: dict[tuple[Any, ...], Any] = {}
    for name, line in zip(names, text.strip().splitlines(), strict=True):
        for column, word in zip(columns, line.split(), strict=True):
            mean, _, half = word.partition("±")
            if mean != "-":
                table[name, column] = (float(mean), float(half)) if half else float(mean)
    return table


def column(names: Sequence[Any], text: str) -> dict[tuple[Any, ...], Any]:
    """A printed column: a word for each name."""
    return {(name,): value for (name, _), value in rows(names, [0], "\n".join(text.split())).items()}


def transports(
    names: Sequence[str], *, flows: str = "*", tcp: Settings | None = None, tpa: Settings | None = None
) -> Axis:
    """The axis of transports, with parameters for those of TCP's and of TPA's kind."""

    def setting(name: str) -> Any:
        table = tpa if name.startswith("tpa") else tcp
        return {"kind": name, **table} if table and name != "udp" else name

    return Axis("transport", {name: {f"flow.{flows}.transport": setting(name)} for name in names})
