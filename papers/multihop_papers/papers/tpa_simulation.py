"""TPA, section 5: the simulations.

Anastasi, Ancillotti, Conti, Passarella: Design and Performance Evaluation of a Transport Protocol for
Ad hoc Networks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from multihop_papers.declare import (
    FAIRNESS,
    GOODPUT,
    HOPS,
    INSTANT,
    RTX,
    Axis,
    Claim,
    Effort,
    Plot,
    Published,
    Unstated,
    axis,
    column,
    rows,
    transports,
    versus,
)
from multihop_papers.papers import findings
from multihop_papers.papers.tpa import AODV, PAPER, TCPS, TPA, TPAS, better
from multihop_papers.reasons import Reason, Switch, left_open, not_known, our_model
from multihop_papers.study import Experiment

PACED = ["tcp-ap+da", "tpa-ap-2", "tpa-ap-3", "tpa*-ap-3"]
PACED_TPAS = PACED[1:]
# Section 5: ns-2.30, AODV-UU with the settings of section 4.
NS2 = {"preset": "ns2-2.30"}
# The implementation of TCP-AP for ns-2 that was public when section 5 was written.
NS2_PACED = {**NS2, "rules": "authors"}
SIMULATED = {"duration": 520.0, "warmup": 20.0, "mac": {"rts_threshold": 100}, "routing": {**AODV, "ip_extra": 20}}
FLOW = {"transport": "newreno", "start": 20.0}
SIMULATION = (
    Unstated(
        "HELLO or MAC feedback in AODV-UU", "HELLO", "the text keeps the settings of its section 4, and the published rows of TCP fit it"
    ),
    Unstated("the basic rate", "1 Mb/s", "the default of ns-2"),
)
BLOCK_END = Unstated(
    "when the end of a block is acknowledged",
    "as any other segment; the rows of TPA stand a second time with an ACK at once",
    "the text has one rule for all segments",
)
METRICS = (GOODPUT, FAIRNESS, INSTANT, RTX)
PLOT_BARS = (
    Plot("bar", "goodput", x="transport", caption="Aggregate throughput; diamonds are the paper's."),
    Plot("bar", "instant", x="transport", caption="Fairness over windows of 2 s; diamonds are the paper's."),
)
QUICK = Effort(8, {"duration": 150.0})
TEN_RUNS = Effort(10)


def table(id: str, place: str, title: str, topology: dict[str, Any], flows: int, **more: Any) -> Experiment:
    """A table of section 5: one row for each transport."""
    paced = id.endswith("-ap")
    names = PACED if paced else TCPS + TPAS
    return Experiment(
        id=id,
        paper=PAPER,
        place=place,
        title=title,
        scenario={**SIMULATED, "topology": topology, "flow": [FLOW] * flows},
        axes=[transports(names, tcp=NS2_PACED if paced else NS2, tpa=TPA)],
        metrics=more.pop("metrics", METRICS),
        quick=more.pop("quick", QUICK),
        full=more.pop("full", TEN_RUNS),
        published=more.pop("published", {metric.name: {} for metric in METRICS}),
        unstated=(*SIMULATION, *more.pop("unstated", ())),
        plots=PLOT_BARS,
        **more,
    )


CROSS_ROWS = ["tcp-2", "tpa-2", "tcp-3", "tpa-3", "tcp-uc", "tpa*-3"]


def printed(names: Sequence[str], text: str) -> dict[str, Published]:
    """A table of section 5: a line for each transport, a column for each metric."""
    numbers = rows(names, [metric.name for metric in METRICS], text)
    return {metric.name: {(name,): value for (name, of), value in numbers.items() if of == metric.name} for metric in METRICS}


ENDED = ", block end acknowledged"


def with_block_ends(experiment: Experiment) -> Experiment:
    """The rows of TPA a second time, with the last segment of a block acknowledged at once, which the text does not have."""
    *others, names = experiment.axes
    ends = {
        f"{name}{ENDED}": {**settings, "flow.*.transport.ack_block_end": True}
        for name, settings in names.values.items()
        if name.startswith("tpa")
    }
    published = {
        metric: {**cells, **{(*cell[:-1], row): value for cell, value in cells.items() if (row := f"{cell[-1]}{ENDED}") in ends}}
        for metric, cells in experiment.published.items()
    }
    return replace(
        experiment,
        axes=[*others, replace(names, values={**names.values, **ends})],
        published=published,
        other_readings=(*experiment.other_readings, *ends),
        unstated=(*experiment.unstated, BLOCK_END),
    )


def by_range(experiment: Experiment) -> Experiment:
    """Experiment repeated for two sense ranges: on the lines of the grid every third node is 600 m away.

    The claims are those of ns-2's range.
    """
    published = {
        metric: {(sense, *cell): value for sense in (550.0, 601.0) for cell, value in cells.items()}
        for metric, cells in experiment.published.items()
    }
    claims = [
        replace(
            claim,
            of={"sense": 550.0, **claim.of},
            against=None if claim.against is None else {"sense": 550.0, **claim.against},
        )
        for claim in experiment.claims
    ]
    return replace(
        experiment,
        axes=[axis("sense", "radio.sense_range", [550.0, 601.0], "sense range, m"), *experiment.axes],
        published=published,
        other_readings=(601.0,),
        claims=claims,
        plots=[replace(plot, panel="sense") for plot in experiment.plots],
    )


GRID_LOSSES = left_open(findings.grid_losses, "search-tpa-grid-ap: TPA's pacing_k = 3", "tpa-grid-ap: tpa-ap-2")


def paced(
    id: str, place: str, title: str, topology: dict[str, Any], flows: int, more: float, less: float, found: str, numbers: str
) -> Experiment:
    """A table with adaptive pacing."""
    return table(
        id,
        place,
        title,
        topology,
        flows,
        found=found,
        published=printed(PACED, numbers),
        claims=[
            better(
                f"TPA-AP delivers {more:.0%} more than TCP-AP",
                "goodput",
                ["tcp-ap+da"],
                PACED_TPAS,
                more,
                reason=Reason(findings.paced_losses),
            ),
            better(
                f"TPA-AP retransmits {-less:.0%} less than TCP-AP",
                "rtx",
                ["tcp-ap+da"],
                PACED_TPAS,
                less,
                reason=GRID_LOSSES if flows > 2 else Reason(findings.paced_losses),
            ),
            versus(
                "TPA-AP is fair over 2 s within 5% of TCP-AP",
                "instant",
                PACED_TPAS,
                "tcp-ap+da",
                at_least=0.95,
                reason=left_open(findings.paced_fairness, "tpa-hold: pacer's too", "tpa-hold: timeout's"),
            ),
        ],
        unstated=(
            Unstated(
                "whose TCP-AP runs",
                "its authors' implementation for ns-2, delayed ACKs inside its round trips",
                "with the text of its paper TCP-AP retransmits a third as much as printed",
            ),
        ),
    )


CROSS_AP = paced(
    "tpa-cross-ap",
    "Table 5, section 5.3",
    "two flows that cross, with adaptive pacing",
    {"kind": "cross"},
    2,
    0.66,
    -0.61,
    "TPA-AP delivers 66% more than TCP-AP and retransmits 61% less, at less than 1% of fairness and 4% of fairness over 2 s.",
    """
153±2.5   99.7±0.14 92.3±0.1 6.34±0.36
254.7±2.3 99.3±0.7  87.3±2.2 2.46±0.14
250.6±2.7 99.1±0.8  86.8±1.9 3.3±0.16
250±1.4   98.2±0.98 88.4±1.5 5.8±0.28
""",
)
TABLE_6 = {
    "goodput": ((254.7, 2.3), (208.7, 3.8), (171.2, 1.1)),
    "rtx": ((2.46, 0.14), (1.83, 0.14), (1.05, 0.11)),
    "fairness": ((99.3, 0.7), (99.7, 0.18), (99.8, 0.08)),
    "instant": ((87.3, 2.2), (93.7, 1.09), (96.2, 0.3)),
}
SCALED = left_open(
    findings.pacing_k,
    "tpa-pacing-k: 2, mean too",
    "tpa-pacing-k: 2",
    Switch("pacing_k_mean = scaled", "tpa-pacing-k", "K = 2, mean too, delivers 36% more than TCP-AP"),
)
MEAN_TOO = {k: f"{k}, mean too" for k in (2, 3)}
PACING_K = Experiment(
    id="tpa-pacing-k",
    paper=PAPER,
    place="Table 6, section 5.3",
    title="adaptive pacing with round trips scaled by K",
    found="K trades throughput for fairness: with K = 2 TPA-AP is 1.5% fairer over 2 s than TCP-AP, delivers 36% more and retransmits 71% less.",
    scenario={**SIMULATED, "topology": {"kind": "cross"}, "flow": [FLOW] * 2},
    axes=[
        Axis(
            "K",
            {
                **{k: {"flow.*.transport": {"kind": "tpa-ap-2", "pacing_k": k, **TPA}} for k in (1, 2, 3)},
                **{
                    MEAN_TOO[k]: {"flow.*.transport": {"kind": "tpa-ap-2", "pacing_k": k, "pacing_k_mean": "scaled", **TPA}} for k in (2, 3)
                },
                "tcp-ap+da": {"flow.*.transport": {"kind": "tcp-ap+da", **NS2_PACED}},
            },
            "K",
        )
    ],
    metrics=METRICS,
    quick=QUICK,
    full=TEN_RUNS,
    published={name: {(row,): values[k - 1] for k in (1, 2, 3) for row in {k, MEAN_TOO.get(k, k)}} for name, values in TABLE_6.items()},
    other_readings=tuple(MEAN_TOO.values()),
    claims=[
        versus("K = 2 delivers 36% more than TCP-AP", "goodput", 2, "tcp-ap+da", axis="K", size=0.36, reason=SCALED),
        versus("K = 2, mean too, delivers 36% more than TCP-AP", "goodput", MEAN_TOO[2], "tcp-ap+da", axis="K", size=0.36),
        versus("K = 2 is fairer over 2 s than TCP-AP", "instant", 2, "tcp-ap+da", axis="K", reason=SCALED),
        versus("K = 2 retransmits 71% less than TCP-AP", "rtx", 2, "tcp-ap+da", axis="K", size=-0.71),
    ],
    unstated=(
        *SIMULATION,
        Unstated(
            "whether K scales the mean as well",
            "both",
            "as printed, Equation 3 scales the samples alone, which seems too strong for what the text says of Table 6",
        ),
    ),
    plots=(Plot("bar", "goodput", x="K", caption="Aggregate throughput."), Plot("bar", "instant", x="K", caption="Fairness over 2 s.")),
)
HELD_ACKS = (
    "TPA* acknowledges every third segment. Where K is no multiple of three, segments are left over at the end of each block, whose ACK waits "
    "for the timer of 100 ms. No other block begins before. With the end of a block acknowledged at once K hardly matters, as the paper says. "
    "Its text does not have that rule, and does not say which K were tried with TPA*."
)


def block_claim(layout: str, end: str) -> str:
    """The text of the claim that the size of a block hardly matters."""
    return f"{layout}: K of 4 to 12, within 10%, ACK of the end of a block {end}"


BLOCKS = Experiment(
    id="tpa-block-size",
    paper=PAPER,
    place="section 3.2",
    title="segments in a block",
    found="Preliminary experiments of the authors: a minor dependence on K for ftp-like traffic; no numbers.",
    scenario={**SIMULATED, "topology": {"kind": "cross"}, "flow": [FLOW] * 2},
    axes=[
        Axis("layout", {"cross": {}, "chain": {"topology": {"kind": "chain", "hops": 4}, "flow": [FLOW]}}, ""),
        Axis(
            "K",
            {
                k: {"flow.*.transport": {"kind": "tpa*-3", "block_size": k, "cwnd_max": min(3, k), **TPA}}
                for k in (1, 2, 3, 4, 6, 8, 10, 12)
            },
            "segments in a block",
        ),
        Axis("end", {"as it comes": {}, "acknowledged": {"flow.*.transport.ack_block_end": True}}, "end of a block"),
    ],
    metrics=(GOODPUT, RTX),
    quick=QUICK,
    full=TEN_RUNS,
    claims=[
        Claim(
            block_claim(layout, end),
            "goodput",
            {"end": end, "layout": layout},
            {"end": end, "layout": layout, "K": 12},
            at_least=0.9,
            at_most=1.1,
            each={"K": [4, 6, 8, 10]},
            reason=reason and replace(reason, switch=Switch("ack_block_end = true", "tpa-block-size", block_claim(layout, "acknowledged"))),
        )
        for layout in ("cross", "chain")
        for end, reason in (("as it comes", our_model(HELD_ACKS, "tpa-block-size: acknowledged")), ("acknowledged", None))
    ],
    unstated=SIMULATION,
    plots=(Plot("line", "goodput", x="K", by="layout", panel="end", caption="Aggregate throughput."),),
)
PARALLEL = table(
    "tpa-parallel",
    "Table 7, section 5.3",
    "two flows side by side",
    {"kind": "parallel"},
    2,
    published=printed(
        CROSS_ROWS,
        """
292.2±1.5 83.1±11  54.9±1.5  2.9±0.5
298.9±2.1 97±2     58.1±1.03 2.4±0.15
283.3±1.6 95.7±3   57.9±1.44 4.5±0.5
294.7±2.1 98.1±1.6 60±1      3.4±0.19
279.5±2.5 82.3±13  56±2.4    6.4±0.7
308.2±1.9 97.7±1   58.8±0.62 3.14±0.16
""",
    ),
    found="TPA delivers 6% more, retransmits 17% less, is 2.5% fairer and 3.6% fairer over 2 s.",
    claims=[
        better(
            "TPA delivers 6% more, best configurations",
            "goodput",
            TCPS,
            TPAS,
            0.06,
            reason=left_open(findings.cross, "tpa-cross-both", "tpa-cross"),
        ),
        better("TPA retransmits 17% less, best configurations", "rtx", TCPS, TPAS, -0.17),
        better(
            "TPA is fairer over 2 s by 3.6%, best configurations",
            "instant",
            TCPS,
            TPAS,
            0.036,
            reason=not_known(findings.parallel_fairness),
        ),
    ],
)
PARALLEL_AP = paced(
    "tpa-parallel-ap",
    "Table 8, section 5.3",
    "two flows side by side, with adaptive pacing",
    {"kind": "parallel"},
    2,
    0.39,
    -0.77,
    "TPA-AP delivers 39% more than TCP-AP and retransmits 77% less, at 3% of fairness over 2 s.",
    """
155.5±4.2 99.8±0.1  90.8±0.6 7.3±0.4
215.3±0.9 99.5±0.35 87.8±1.2 1.7±0.16
208.3±2.5 99.6±0.5  87.7±1.6 2±0.2
193.2±3.7 97.5±1.5  88.4±2.2 2.5±0.12
""",
)
WITH_HOPS = (*METRICS, HOPS)
GRID = by_range(
    table(
        "tpa-grid",
        "Table 9, section 5.4",
        "six flows on a grid",
        {"kind": "grid"},
        6,
        metrics=WITH_HOPS,
        found="TPA delivers 5% more, is 35% fairer and 34% fairer over 2 s, and retransmits 22% more.",
        published={
            "goodput": column(CROSS_ROWS, "270.1±3 280±2.9 263.9±4.2 278±2 268±2.7 283±2"),
            "fairness": column(CROSS_ROWS, "62.6±5 89.2±1.8 66.5±8.6 89.8±1.73 65.3±8 88.2±2"),
            "instant": column(CROSS_ROWS, "35.4±2 47.5±0.4 35.9±2 48.1±0.6 34.4±2.6 47.5±0.6"),
            "rtx": column(CROSS_ROWS, "12.3±1 15±0.34 13.7±0.8 18.9±0.2 15.9±1.3 16.4±0.4"),
        },
        claims=[
            versus("TPA delivers more, best configurations", "goodput", TPAS, TCPS),
            versus("TPA is fairer, best configurations", "fairness", TPAS, TCPS),
            versus("TPA is fairer over 2 s, best configurations", "instant", TPAS, TCPS),
        ],
    )
)
GRID_AP = replace(
    by_range(
        paced(
            "tpa-grid-ap",
            "Table 10, section 5.4",
            "six flows on a grid, with adaptive pacing",
            {"kind": "grid"},
            6,
            0.19,
            -0.75,
            "TPA-AP delivers 19% more than TCP-AP and retransmits 75% less, at 2% of fairness.",
            """
202.8±2.6 98.6±0.9 86.1±1.5 28.6±1
239±2.3   96.1±0.9 85.8±1   7.5±0.4
241±1.1   96.5±1.7 84.9±1.3 8.4±0.26
233.7±1.8 95.3±1.4 85.5±1.6 7.2±0.4
""",
        )
    ),
    full=replace(TEN_RUNS, looks=6, seconds=1200.0),
)

EXPERIMENTS = (
    with_block_ends(CROSS_AP),
    PACING_K,
    BLOCKS,
    *map(with_block_ends, (PARALLEL, PARALLEL_AP, GRID, GRID_AP)),
)
