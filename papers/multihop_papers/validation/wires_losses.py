"""TCP over one wire that loses packets at random: a model of independent losses, PFTK, and the response of CUBIC."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import polars as pl

from multihop import report, theme
from multihop_papers.declare import GOODPUT, Axis, Effort, Settings
from multihop_papers.reasons import Reason, not_known, our_model
from multihop_papers.study import Study
from multihop_papers.validation.part import Page
from multihop_papers.validation.wires_models import IndependentLosses, cubic_window, pftk
from multihop_papers.validation.wires_setting import (
    ACCESS_DELAY,
    ACCESS_RATE,
    CUBICS,
    RENOS,
    Transport,
    growth,
    payload,
    per_ack,
    transports,
    wire,
)

TRANSPORTS: Mapping[str, Transport] = {**RENOS, **{name: table for name, table in CUBICS.items() if name != "cubic, rfc"}}
WARMUP = 20.0  # s


@dataclass(frozen=True)
class Case:
    """A wire with random losses."""

    loss: float
    """Chance that a packet is lost."""
    rtt: float
    rate_kbps: float
    seconds: float
    """Long enough for 120 losses of a flow of NewReno."""

    @property
    def settings(self) -> Settings:
        """Settings of the case in the scenario."""
        return {
            "host.0.rate_kbps": ACCESS_RATE * self.rate_kbps,
            "host.1.rate_kbps": self.rate_kbps,
            "host.1.delay": self.rtt / 2 - ACCESS_DELAY,
            "host.1.loss_to_host": self.loss,
            "duration": WARMUP + self.seconds,
        }


NEAR = (0.06, 80_000.0)
FAR = (0.15, 100_000.0)
"""Round trip, s, and rate, kb/s."""
CASES = {
    f"{loss:g}, {1000 * rtt:g} ms": Case(loss, rtt, rate, seconds)
    for loss, (rtt, rate), seconds in (
        (0.0001, NEAR, 560.0),
        (0.0004, FAR, 700.0),
        (0.0015, NEAR, 200.0),
        (0.006, FAR, 200.0),
        (0.015, NEAR, 200.0),
        (0.05, FAR, 400.0),
    )
}
"""Chosen, with the claims and their bound, before any of them was run."""
BOUND = 0.05
"""Largest relative difference from a model."""


FORMULA_IS_AN_APPROXIMATION = our_model(
    "PFTK takes a loss to lose the rest of its round trip; here losses are independent. The formula is also further than 5% from a simulation of PFTK's own "
    "assumptions (last column). It takes mean windows for their distribution, which hides 7% where losses are rare (the mean of the distribution is 1.31 over the root "
    "of p, the formula's 1.22). It expects a timeout wherever three duplicate ACKs are unlikely, which limited transmit avoids.",
    "validation-wires-losses: independent losses",
)
FEW_SEGMENTS = not_known(
    "Only losses of 1.5% and more, with windows of three to ten segments, are further away. The model counts whole round trips; the simulator's recoveries begin and end within them."
)


@dataclass(frozen=True)
class Inputs:
    """Inputs of PFTK's formula, from the runs of a cell as its authors took them from their traces."""

    indications: float
    """Fast retransmissions and timeouts as a share of the packets sent."""
    rtt: float
    timeout: float


def inputs(study: Study, cell: tuple[Any, ...]) -> Inputs:
    """Loss indications, round trip and timeout of the runs of a cell."""
    results = study.results(cell)
    flows = [result.data["flows"][0] for result in results]
    fast = sum(fast_retransmissions(result.series) for result in results)
    found = fast + sum(flow["timeouts"] for flow in flows)
    rtt = sum(flow["rtt_ms"]["mean"] for flow in flows) / len(flows) / 1000
    return Inputs(found / sum(flow["segments_sent"] for flow in flows), rtt, timeout(TRANSPORTS[cell[0]], rtt))


def fast_retransmissions(series: pl.DataFrame) -> int:
    """How often fast recovery began after the warm-up."""
    is_recovery = (pl.col("series") == "state") & (pl.col("value") == FAST_RECOVERY) & (pl.col("time") > WARMUP)
    return series.filter(is_recovery).height


FAST_RECOVERY = 3
"""The value of the series `state` in fast recovery."""


def timeout(transport: Transport, rtt: float) -> float:
    """The retransmission timeout where round trips vary little, s."""
    return 1.0 if transport["preset"] == "rfc" else 0.2 + rtt


@cache
def model_kbps(name: str, loss: float, rtt: float, *, rounds: bool = False) -> float:
    """Goodput if segments are lost independently of each other, or with all that follows in their round trip."""
    table = TRANSPORTS[name]
    rack = table["preset"] == "linux-6"
    sack = bool(table.get("sack")) or rack
    pairs = str(table["kind"]).endswith("+da") and not rounds
    model = IndependentLosses(growth(table), loss, rtt, timeout(table, rtt), sack=sack, rack=rack, pairs=pairs, rounds=rounds)
    return model.rate(MODEL_LOSSES) * payload(table) / 125


MODEL_LOSSES = 20_000
"""Losses over which a model takes its mean."""


def formula_kbps(name: str, found: Inputs) -> float:
    """The published formula: PFTK, or the response function of CUBIC."""
    table = TRANSPORTS[name]
    if growth(table).cubic:
        return cubic_window(found.indications, found.rtt) / found.rtt * payload(table) / 125
    return pftk(found.indications, found.rtt, found.timeout, per_ack(table)) * payload(table) / 125


def nominal(name: str, case: Case) -> Inputs:
    """Inputs of the formula from the scenario's settings alone."""
    return Inputs(case.loss, case.rtt, timeout(TRANSPORTS[name], case.rtt))


def beside_formulas(study: Study) -> None:
    """Compare goodput with the model of independent losses and with the published formulas."""
    rows = []
    independent: dict[str, dict[str, float]] = defaultdict(dict)
    published: dict[str, dict[str, float]] = defaultdict(dict)
    nominal_errors: dict[str, list[float]] = defaultdict(list)
    for name, text in study.accepted():
        found = study.mean("goodput", (name, text))
        if found is None:
            continue
        case, measured = CASES[text], inputs(study, (name, text))
        model = model_kbps(name, case.loss, measured.rtt)
        formula, of_scenario = formula_kbps(name, measured), formula_kbps(name, nominal(name, case))
        is_cubic = growth(TRANSPORTS[name]).cubic
        own = "-" if is_cubic else f"{model_kbps(name, case.loss, case.rtt, rounds=True) / of_scenario - 1:+.1%}"
        independent[name][text] = found.mean / model - 1
        kind = next(kind for kind in FORMULAS if name.startswith(kind))
        nominal_errors[kind].append(found.mean / of_scenario - 1)
        if not is_cubic:
            published[name][text] = found.mean / formula - 1
        rows.append(
            {
                "transport": name,
                "loss, round trip": text,
                "goodput, kb/s": str(found),
                "indications": f"{measured.indications:.5f}",
                "round trip, ms": f"{1000 * measured.rtt:.1f}",
                "independent losses": f"{found.mean / model - 1:+.1%}",
                "formula, measured inputs": f"{found.mean / formula - 1:+.1%}",
                "formula, nominal inputs": f"{found.mean / of_scenario - 1:+.1%}",
                "its assumptions": own,
            }
        )
    for kind, drawn in FORMULAS.items():
        draw_responses(study, kind, drawn, nominal_errors[kind])
    for name, errors in independent.items():
        judge(study, f"Goodput agrees with independent losses at the measured round trip, {name},", errors, FEW_SEGMENTS)
    for name, errors in published.items():
        judge(study, f"Goodput agrees with PFTK at the measured losses and round trip, {name},", errors, FORMULA_IS_AN_APPROXIMATION)
    study.table(pl.DataFrame(rows), "Goodput relative to the model of independent losses and to the published formulas")


def judge(study: Study, text: str, errors: Mapping[str, float], reason: Reason) -> None:
    """Whether all of some relative differences stay within the bound; names those that do not."""
    away = [f"{case}: {error:+.1%}" for case, error in errors.items() if abs(error) > BOUND]
    least, most = min(errors.values()), max(errors.values())
    why = f"{len(errors) - len(away)} of {len(errors)}; {least:+.1%} to {most:+.1%}" + "".join(f"; {one}" for one in away)
    study.verdict(f"{text} within {BOUND:.0%}", not away, why, reason)


def draw_responses(study: Study, kind: str, formulas: Sequence[str], errors: Sequence[float]) -> None:
    """A figure of the transports of one congestion control, with the formulas of some of them."""
    figure, axes = report.new_figure("chance that a packet is lost", "segments per round trip")
    names = [name for name in study.axes[0].values if name.startswith(kind)]
    for name, look in zip(names, theme.OTHERS, strict=False):
        scale = {text: case.rtt * 125 / payload(TRANSPORTS[name]) for text, case in CASES.items()}
        points = {text: found for text in study.axes[1].values if (found := study.mean("goodput", (name, text)))}
        scaled = [replace(one, mean=scale[text] * one.mean, half=scale[text] * one.half) for text, one in points.items()]
        report.curve(axes, [CASES[text].loss for text in points], scaled, name, look=look)
    for name, line in zip(formulas, ("-", "--", ":"), strict=False):
        windows = [formula_kbps(name, nominal(name, case)) * case.rtt * 125 / payload(TRANSPORTS[name]) for case in CASES.values()]
        report.reference(axes, [case.loss for case in CASES.values()], windows, f"formula, {name}", line)
    axes.set(xscale="log", yscale="log")
    axes.legend(fontsize=8)
    study.figure(
        figure,
        f"Goodput in segments per round trip over the chance of a loss, with 95% intervals, and the published formula: {kind}.",
        f"Goodput differs from the published formula by {min(errors):+.1%} to {max(errors):+.1%}.",
    )


FORMULAS: Mapping[str, Sequence[str]] = {
    "newreno": ("newreno, rfc", "newreno, rfc, delayed ACKs", "newreno, linux-6"),
    "cubic": ("cubic, linux-6",),
}
"""The transports whose formulas are drawn: those of others equal one of them."""


LOSING = Page("wires", "J. Padhye, V. Firoiu, D. Towsley, J. Kurose, Modeling TCP Throughput, SIGCOMM 1998; RFC 9438").experiment(
    "wires-losses",
    "one flow and random losses",
    "From p = 0.0001 to 0.05 NewReno with SACK, under `rfc` and `linux-6`, delivers within 5% of what a model of independent losses delivers. Without SACK, and under CUBIC, this holds up "
    "to p = 0.006. PFTK's formula is within 6% of `linux-6`, and further away from `rfc`. A wire loses packets independently of each other, towards the receiver only. Goodput is compared with two models, and each comparison is a claim of 5%. "
    "The model of independent losses goes from round trip to round trip at the measured one. A recovery repairs all losses of a window in one round trip with SACK and one "
    "in each without. A lost retransmission and a window without any arrival wait for the timeout (1 s for `rfc`, 0.2 s above the round trip for `linux-6`, which finds lost "
    "retransmissions by time). With delayed ACKs one segment of an odd window waits for the next round trip. PFTK's formula has the inputs that its authors took from their traces: loss indications (fast retransmissions and timeouts) as a share of "
    "the packets, the mean round trip, the timeout. The table also has the formula with the inputs of the scenario, and (last column) what a simulation of PFTK's own "
    "assumptions delivers relative to the formula. It takes mean windows for their distribution, and leaves out what slow start after a timeout costs. "
    "CUBIC's published response function (RFC 9438, the larger one of its cubic and its Reno-friendly window) is that of periodic losses. "
    "Round trips of 60 ms (80 Mb/s) and 150 ms (100 Mb/s), long queues; each run has about 120 losses or more.",
    Effort(1, keep={"loss": ["0.015, 60 ms", "0.05, 150 ms"]}),
    full=Effort(6),
    scenario={"warmup": WARMUP, **wire(100_000.0, 0.1), "record": {"every": 0.0, "what": ["state"]}},
    axes=[
        transports(TRANSPORTS, 10_000),
        Axis("loss", {text: case.settings for text, case in CASES.items()}, "chance that a packet is lost, round trip"),
    ],
    metrics=(GOODPUT,),
    more=beside_formulas,
    spread="loss",
)
EXPERIMENTS: Sequence[Any] = (LOSING,)
