"""The text of the TCP-AP paper against its authors' implementation: every experiment with TCP-AP, with the rules of each.

Nothing is declared twice: the claims, printed numbers and scenarios are those of the experiments themselves. A part is
one of them with one of the rules. All parts share the runs of this experiment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

import polars as pl

from multihop.journal import Journal
from multihop_papers import claims
from multihop_papers.comparison import WITHIN, Number, gains, numbers
from multihop_papers.declare import Axis, Effort, Settings, Unstated
from multihop_papers.papers import tcp_ap, tcp_ap_flows, tcp_ap_random, tpa_networks, tpa_simulation
from multihop_papers.study import Experiment, Study, Values
from multihop_papers.verdicts import HELD

RULES: dict[str, Settings] = {
    "paper": {"rules": "paper"},
    "paper, timed": {"rules": "paper", "ap_rtt": "timed"},
    "authors": {"rules": "authors"},
}
MET, LEVEL = 0.15, 0.02
"""A number is met within the first. The nearest rules are nearer than all others by the second, or level with one."""
SHORT = "ap-response"
"""ID of the experiment whose flows start and stop at fixed times; all other experiments run as long
as this one.
"""


def parts(rules: str) -> list[Experiment]:
    """Every experiment with a paced TCP in both sets of rules, with the cells that its claims and numbers need."""
    four: dict[str, list[Any]] = {"hops": [4, 8, 14, 20], "transport": tcp_ap.VARIANTS}
    some: dict[str, list[Any]] = {"layout": ["cross"], "N": [10, 50], "alpha": [0.1, 0.7]}
    described = {"pairs": [tcp_ap_random.DESCRIBED]}
    own: list[tuple[Experiment, dict[str, list[Any]]]] = [
        (tcp_ap.TUNING, some),
        (tcp_ap.RESPONSE, {}),
        (tcp_ap.CHAIN, four),
        (tcp_ap_flows.PARALLEL, {}),
        (tcp_ap_flows.ASYMMETRIC, {}),
        (tcp_ap_flows.ONE_RANGE, {}),
        (tcp_ap_flows.DENSITY, {"spacing": [200, 100]}),
        (tcp_ap_random.RANDOM, described),
        (tcp_ap_flows.ONOFF, {"pause": [0.0, 1.0]}),
        (tcp_ap_random.ONOFF_RANDOM, described),
    ]
    paced: dict[str, list[Any]] = {"transport": ["tcp-ap+da"], "sense": [550.0]}
    tables = [tpa_simulation.CROSS_AP, tpa_simulation.PARALLEL_AP, tpa_simulation.GRID_AP, tpa_networks.RANDOM_AP, tpa_networks.MOBILE_AP]
    rows: list[tuple[Experiment, dict[str, list[Any]]]] = [(replace(one, claims=[]), paced) for one in tables]
    return [ruled(kept(one, keep), RULES[rules]) for one, keep in (*own, *rows)]


def kept(experiment: Experiment, keep: Mapping[str, Sequence[Any]]) -> Experiment:
    """An experiment with some values of its axes."""
    axes = [replace(one, values={v: s for v, s in one.values.items() if v in keep.get(one.name, one.values)}) for one in experiment.axes]
    published = {
        name: {cell: one for cell, one in printed.items() if is_kept(axes, cell)} for name, printed in experiment.published.items()
    }
    return replace(experiment, axes=axes, published=published)


def is_kept(axes: Sequence[Axis], cell: Values) -> bool:
    """Whether the axes still have all values of a cell."""
    return all(value in one.values for one, value in zip(axes, cell, strict=True))


def ruled(experiment: Experiment, rules: Settings) -> Experiment:
    """An experiment whose paced TCPs follow these rules."""
    axes = [replace(one, values={name: with_rules(rules, values) for name, values in one.values.items()}) for one in experiment.axes]
    return replace(experiment, axes=axes, scenario=with_rules(rules, experiment.scenario))


def with_rules(rules: Settings, value: Any, key: str = "") -> Any:
    """Settings with these rules in every paced TCP."""
    if key.rpartition(".")[2] == "transport" and is_paced(value):
        return {**(value if isinstance(value, Mapping) else {"kind": value}), **rules}
    if isinstance(value, Mapping):
        return {name: with_rules(rules, one, str(name)) for name, one in value.items()}
    return [with_rules(rules, one) for one in value] if isinstance(value, list) else value


def is_paced(transport: Any) -> bool:
    """Whether a transport is TCP-AP, given by name or as a table."""
    return str(transport["kind"] if isinstance(transport, Mapping) else transport).startswith("tcp-ap")


def cases() -> Mapping[str, Callable[[int], Settings]]:
    """Every cell of every part: all that it sets."""
    found: dict[str, Callable[[int], Settings]] = {}
    for rules in RULES:
        for part in parts(rules):
            for cell in Study(part, part.full, Journal()).cells():
                found[f"{part.id} {' '.join(map(str, cell))}, {rules}"] = case(part, cell)
    return found


def case(part: Experiment, cell: Values) -> Callable[[int], Settings]:
    """Settings of a cell of a part, for each seed."""

    def settings(seed: int) -> Settings:
        found: dict[str, Any] = {"name": part.id}
        found |= {key: value for key, value in part.scenario.items() if key != "duration" or part.id == SHORT}
        for axis, value in zip(part.axes, cell, strict=True):
            found |= axis.settings(value, seed)
        return found | dict(part.drawn(seed) if part.drawn else {})

    return settings


@dataclass(frozen=True)
class Compared:
    """A printed number or a claim, under all rules."""

    part: str
    what: str
    printed: str
    ours: list[str]
    errors: list[float] | None = None
    """Relative differences of a number; None for other comparisons."""

    @property
    def best(self) -> str:
        """The rules that are nearest to the number, or under which the claim holds."""
        if self.errors is None:
            held = [rules for rules, one in zip(RULES, self.ours, strict=True) if one == HELD]
            return "all" if len(held) == len(RULES) else "; ".join(held) or "none"
        order = sorted((abs(error), rules) for rules, error in zip(RULES, self.errors, strict=True))
        return "level" if order[1][0] - order[0][0] < LEVEL else order[0][1]

    def met(self, rules: str) -> bool:
        """Whether a number is within 15%, or a claim holds."""
        place = list(RULES).index(rules)
        return self.ours[place] == HELD if self.errors is None else abs(self.errors[place]) <= MET


def compare(study: Study) -> None:
    """Put every number and claim under all rules side by side, and count."""
    studies = [[read(study, part) for part in parts(rules)] for rules in RULES]
    found = [one for same in zip(*studies, strict=True) for one in beside(same)]
    printed, claimed = ([one for one in found if (one.errors is None) == is_claim] for is_claim in (False, True))
    study.table(pl.DataFrame([tally(rules, found) for rules in RULES]), COUNTED)
    study.table(pl.DataFrame([row(one) for one in printed]), "Numbers of both papers, and ours under all rules")
    study.table(pl.DataFrame([row(one) for one in claimed]), "Claims of the TCP-AP paper under all rules")


def read(study: Study, part: Experiment) -> Study:
    """A part as a study of its own, with the runs of this one."""
    settings = {} if part.id == SHORT else study.effort.settings
    own = Study(part, Effort(study.seeds, settings), study.journal, seeds=study.seeds)
    if part.more is not None:
        part.more(own)
    return own


def beside(studies: Sequence[Study]) -> Iterator[Compared]:
    """Numbers of one experiment to compare under each set of rules. What is about other transports alone does not depend on the rules."""
    experiment = studies[0].experiment
    for same in zip(*([*numbers(one), *gains(one)] for one in studies), strict=True):
        if len({one.ours for one in same}) > 1:
            printed = shown(same[0], same[0].printed)
            yield Compared(experiment.id, same[0].what, printed, [shown(one, one.ours) for one in same], [one.error for one in same])
    for claim in experiment.claims:
        if "tcp-ap" in f"{claim.of}{claim.against}" or experiment.id == tcp_ap.TUNING.id:
            yield Compared(experiment.id, claim.text, "", [claims.judge(one, claim).verdict for one in studies])


def shown(one: Number, value: float) -> str:
    """A number as the table has it."""
    return f"{value:+.1%}" if one.gain else f"{value:.4g}"


def row(one: Compared) -> dict[str, str]:
    """A line of a table."""
    if one.errors is None:
        return {"experiment": one.part, "claim": one.what, **dict(zip(RULES, one.ours, strict=True)), "holds under": one.best}
    ours = {rules: f"{value} ({error:+.0%})" for rules, value, error in zip(RULES, one.ours, one.errors, strict=True)}
    return {"experiment": one.part, "number": one.what, "printed": one.printed, **ours, "nearest": one.best}


def tally(rules: str, found: Sequence[Compared]) -> dict[str, str]:
    """How much some rules meet."""
    place = list(RULES).index(rules)
    errors = [abs(one.errors[place]) for one in found if one.errors is not None]
    claimed = [one for one in found if one.errors is None]
    return {
        "rules": rules,
        "numbers": str(len(errors)),
        **{f"within {limit:.0%}": str(sum(error <= limit for error in errors)) for limit in WITHIN},
        "nearest": str(sum(one.errors is not None and one.best == rules for one in found)),
        "mean distance": f"{fmean(errors):.0%}",
        "claims": str(len(claimed)),
        "held": str(sum(one.met(rules) for one in claimed)),
        "figures met": f"{sum(one.met(rules) for one in found)} of {len(found)}",
    }


COUNTED = f"Figures that each of the rules meets: numbers within {MET:.0%}, and claims that hold"
RULES_OF_PACING = Experiment(
    id="ap-rules",
    paper=tcp_ap.PAPER,
    place="sections 4 and 5, and TPA, Tables 5, 8, 10, 12 and 14",
    title="the text's rules against the authors' implementation",
    found="The authors' public implementation for ns-2 differs from their text. Which of the two the figures were made with, the paper does not say. "
    "All experiments with TCP-AP run with either; those of this page have the rules that meet more figures.",
    scenario={},
    axes=[Axis("case", cases())],
    metrics=(),
    quick=Effort(2, {"duration": 60.0}),
    full=Effort(5, {"duration": 330.0}),
    more=compare,
    unstated=(
        Unstated(
            "which implementation made the figures", "the rules that meet more of them", "the text and the public implementation differ"
        ),
    ),
)
EXPERIMENTS = (RULES_OF_PACING,)
