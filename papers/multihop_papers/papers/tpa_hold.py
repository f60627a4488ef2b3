"""TPA, sections 3.4 and 5.2: which round trips contain the time for which the receiver held an ACK.

One rule at a time over the tables of section 5 that nobody tuned on.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import polars as pl

from multihop_papers.declare import GOODPUT, INSTANT, RTX, Axis, Effort, Settings
from multihop_papers.measures import frame
from multihop_papers.papers.tpa import PAPER
from multihop_papers.papers.tpa_networks import MOBILE, MOBILE_AP, RANDOM, RANDOM_AP
from multihop_papers.papers.tpa_simulation import (
    CROSS_AP,
    GRID,
    GRID_AP,
    PACING_K,
    PARALLEL,
    PARALLEL_AP,
    SIMULATED,
    SIMULATION,
)
from multihop_papers.study import Experiment, Study, Values

PROFILE, BEFORE, INSIDE = "timeout's", "neither's", "pacer's too"
SHORT, END = "pacer's too, interval of 50 ms", "timeout's, block end acknowledged"
RULES: dict[str, Settings] = {
    PROFILE: {},
    BEFORE: {"flow.*.transport.hold_in": "neither"},
    INSIDE: {"flow.*.transport.hold_in": "both"},
    SHORT: {"flow.*.transport.hold_in": "both", "flow.*.transport.ack_interval": 0.05},
    END: {"flow.*.transport.ack_block_end": True},
}
TABLES = {
    "5": CROSS_AP,
    "6": PACING_K,
    "7": PARALLEL,
    "8": PARALLEL_AP,
    "9": GRID,
    "10": GRID_AP,
    "11": RANDOM,
    "12": RANDOM_AP,
    "13": MOBILE,
    "14": MOBILE_AP,
}
UNSEEN = ("5", "7", "8", "9", "10", "12", "13", "14")
"""The tables with retransmissions on which no rule was chosen."""
PLAIN, PACED = ("7", "9", "13"), ("5", "8", "10", "12", "14")
PARTNERS = {"tcp-2": "tpa-2", "tcp-3": "tpa-3", "tcp-uc": "tpa*-3"}
SENSE = 550.0
START = 25.0
"""The pacers have their first samples, s."""
RATES = {"every": 1.0, "what": ["rate", "goodput"]}
RECORDED = ("Table 5, tpa-ap-2", "Table 8, tpa-ap-2")


@dataclass(frozen=True)
class Row:
    """A row of a table of section 5."""

    table: str
    at: Values
    """The values of all axes but the last: the number of flows."""
    transport: str
    settings: Settings
    printed: Mapping[str, float]

    @property
    def name(self) -> str:
        """Name of the table's row in texts."""
        return f"Table {self.table}, {' flows, '.join(map(str, (*self.at, self.transport)))}"

    @property
    def tpa(self) -> bool:
        """Whether the rules change it."""
        return "tcp" not in self.transport


def rows_of(table: str, experiment: Experiment) -> Iterator[Row]:
    """The rows of a table; of several sense ranges, those of ns-2's."""
    network = {key: experiment.scenario[key] for key in ("topology", "flow", "mobility") if key in experiment.scenario}
    for cell in itertools.product(*(axis.values for axis in experiment.axes)):
        if cell[0] not in (SENSE, 601.0) or cell[0] == SENSE:
            settings = {**network, **({"record": RATES} if table in ("5", "8") else {})}
            for axis, value in zip(experiment.axes, cell, strict=True):
                settings |= axis.values[value]
            printed = {metric: number(cells[cell]) for metric, cells in experiment.published.items() if cell in cells}
            at = tuple(value for value in cell[:-1] if value != SENSE)
            yield Row(table, at, str(cell[-1]), settings, printed)


def number(printed: Any) -> float:
    """A printed mean, without its interval."""
    return float(printed[0] if isinstance(printed, tuple) else printed)


ROWS = [row for table, experiment in TABLES.items() for row in rows_of(table, experiment)]


def error(study: Study, metric: str, row: Row, rule: str) -> float:
    """The relative difference from the paper."""
    return ours(study, metric, row, rule) / row.printed[metric] - 1


def ours(study: Study, metric: str, row: Row, rule: str) -> float:
    """Our mean, if anything was measured; TCP has no such rule."""
    found = study.mean(metric, (row.name, rule if row.tpa else PROFILE))
    return found.mean if found else math.nan


def errs(study: Study, rule: str, tables: Sequence[str]) -> str:
    """Text of the mean differences of TPA's retransmissions."""
    return f"{fmean(abs(error(study, 'rtx', row, rule)) for row in ROWS if row.tpa and row.table in tables):.0%}"


def pairs(tables: Sequence[str]) -> Iterator[tuple[Row, Row]]:
    """TPA and TCP with the same window; where a table has no such row of TPA, all that it has."""
    for tcp in ROWS:
        if not tcp.tpa and tcp.table in tables:
            beside = [row for row in ROWS if row.tpa and (row.table, row.at) == (tcp.table, tcp.at)]
            same = [row for row in beside if row.transport == PARTNERS.get(tcp.transport)]
            yield from ((row, tcp) for row in same or beside)


def directions(study: Study, metric: str, rule: str, tables: Sequence[str]) -> str:
    """Text that says in how many comparisons of TPA with TCP the sign is the paper's."""
    right = [
        (ours(study, metric, tpa, rule) > ours(study, metric, tcp, rule)) == (tpa.printed[metric] > tcp.printed[metric])
        for tpa, tcp in pairs(tables)
    ]
    return f"{sum(right)} of {len(right)}"


def recount(study: Study) -> None:
    """Count what each rule gets right."""
    rows = [
        [
            rule,
            directions(study, "goodput", rule, (*UNSEEN, "11")),
            directions(study, "rtx", rule, UNSEEN),
            errs(study, rule, UNSEEN),
            errs(study, rule, PLAIN),
            errs(study, rule, PACED),
        ]
        for rule in RULES
    ]
    columns = [
        "whose samples contain the hold",
        "goodput: right signs",
        "retransmissions: right signs",
        "retransmissions err by",
        "plain rows",
        "paced rows",
    ]
    study.table(frame(columns, rows), RECOUNTED)


RECOUNTED = (
    "The signs of the differences between TPA and TCP, and the mean relative difference of TPA's retransmissions, in the tables on which no rule "
    "was chosen (5, 7 to 10, 12 to 14, and 11 for goodput); Table 12 has few placements here"
)


def side_by_side(study: Study) -> None:
    """Put both readings of the pacer's samples beside the paper."""
    for metric in (GOODPUT, RTX):
        rows = []
        for row in ROWS:
            if row.tpa and row.table in ("5", "6", "8", "10", "12", "14") and metric.name in row.printed:
                cells = [
                    f"{ours(study, metric.name, row, rule):.3g} ({error(study, metric.name, row, rule):+.0%})"
                    for rule in (PROFILE, INSIDE, SHORT, END)
                ]
                rows.append([row.name, f"{row.printed[metric.name]:g}", *cells])
        study.table(
            frame(["row", "the paper", PROFILE, INSIDE, SHORT, END], rows),
            f"Paced tables: {metric.label}, and the difference from the paper",
        )


def by_table(study: Study) -> None:
    """How far each rule is from the goodput of each paced table."""
    tables = ("5", "6", "8", "10", "12", "14")
    rows = []
    for rule in RULES:
        errors = [
            [abs(error(study, "goodput", row, rule)) for row in ROWS if row.tpa and row.table == table and scaled(row)] for table in tables
        ]
        rows.append([rule, *(f"{fmean(one):.0%}" for one in errors)])
    study.table(frame(["whose samples contain the hold", *(f"Table {table}" for table in tables)], rows), BY_TABLE)


def scaled(row: Row) -> bool:
    """Whether K scales the mean as well, or is 1."""
    return row.table != "6" or row.transport == "1" or "mean" in row.transport


BY_TABLE = (
    "Mean relative difference of goodput, by table (Table 6 with the mean scaled by K as well). With the hold in all samples, as section 3.4 reads, and "
    "ACKs held for at most 50 ms (section 3.6: typically 100 ms) one rule fits Tables 5, 6 and 8. Tables 10, 12 and 14 do not choose between the rules"
)


def analyse(study: Study) -> None:
    """Count, compare, and show the states of the pacer."""
    recount(study)
    by_table(study)
    side_by_side(study)
    found = {(row.name, rule): States.read(study, row, rule) for row in ROWS if row.name in RECORDED for rule in INTERVALS}
    study.table(frame(STATE_COLUMNS, [[row, rule, *one.cells()] for (row, rule), one in found.items()]), STATE_CAPTION)
    study.text(STATE_TEXT)


INTERVALS = {PROFILE: 0.1, INSIDE: 0.1, SHORT: 0.05}
"""The ACK interval of a rule, s."""
SEGMENT = 11.68
"""Payload of a segment, kbit."""


@dataclass
class States:
    """Time of a paced flow above and below the ACK interval."""

    above: list[float]
    """Goodput of seconds in which the gap is longer than the interval, kb/s."""
    below: list[float]
    visits: int
    """How often the gap crosses the interval."""

    @classmethod
    def read(cls, study: Study, row: Row, rule: str) -> States:
        """States of all runs and flows of a cell."""
        found = cls([], [], 0)
        for result in study.results((row.name, rule)):
            wide = result.series.filter(pl.col("series").is_in(["rate_kbps", "goodput_kbps"]), pl.col("time") > START)
            for flow in wide.partition_by("id"):
                found.add(flow.pivot("series", index="time", values="value").drop_nulls().sort("time"), SEGMENT / INTERVALS[rule])
        return found

    def add(self, seconds: pl.DataFrame, rate: float) -> None:
        """One flow; `rate` is that of a segment for each interval, kb/s."""
        slow = [one < rate for one in seconds["rate_kbps"]] if seconds.height else []
        for state, goodput in zip(slow, seconds["goodput_kbps"] if slow else [], strict=True):
            (self.above if state else self.below).append(goodput)
        self.visits += sum(a != b for a, b in itertools.pairwise(slow)) + bool(slow)

    def cells(self) -> list[str]:
        """A row of the table."""
        seconds = len(self.above) + len(self.below)
        if not seconds:
            return ["-"] * 4
        means = [f"{fmean(part):.0f}" if part else "-" for part in (self.above, self.below)]
        return [f"{len(self.above) / seconds:.0%}", *means, f"{seconds / self.visits:.0f}"]


STATE_COLUMNS = [
    "row",
    "whose samples contain the hold",
    "time with a gap above the ACK interval",
    "kb/s then",
    "kb/s otherwise",
    "mean stay, s",
]
STATE_CAPTION = "The two states of the pacer, from its rate in every second: shares of the time of both flows, goodput of a flow, and how long a state lasts"
STATE_TEXT = (
    "While the gap is shorter than the ACK interval two segments arrive within it and the second makes the ACK. Samples then contain no hold and "
    "the gap stays short. While it is longer the timer makes every ACK. With the hold in its samples the pacer then reads a round trip that is longer by the "
    "interval, and the gap stays long. With an interval of 100 ms both states are stable. With an interval of 50 ms every gap of two competing flows is longer "
    "than the interval. Then one state remains, and every sample contains the same hold."
)


TCP_ROWS = {row.name for row in ROWS if not row.tpa}
HOLD = Experiment(
    id="tpa-hold",
    paper=PAPER,
    place="sections 3.4 and 5.2, Tables 5 to 14",
    title="which round trips contain the time for which an ACK was held",
    found="The text has one sample of the round trip, for the timeout and for the pacer. It does not say whether it contains the time for which "
    "the receiver held the ACK.",
    scenario={**SIMULATED, "topology": {"kind": "cross"}, "flow": [{"transport": "newreno"}]},
    axes=[
        Axis("row", {row.name: row.settings for row in ROWS}),
        Axis("rule", RULES),
    ],
    left_out=lambda cell: cell[0] in TCP_ROWS and cell[1] != PROFILE,
    metrics=(GOODPUT, RTX, INSTANT),
    quick=Effort(1, {"duration": 120.0}),
    full=Effort(3, {"duration": 120.0}),
    unstated=SIMULATION,
    spread="rule",
    more=analyse,
)
EXPERIMENTS = (HOLD,)
