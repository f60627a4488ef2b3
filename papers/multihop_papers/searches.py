"""Searches of settings that a paper does not state.

A range of values is declared for each setting, with its reason, before anything is run. First every value
is run with a few seeds. For each claim up to three values are then run with further seeds, which alone
decide: of the values whose means exceed the claim's bound, those under which most claims do, then those with
the greatest margin. Values under which the network delivers less than half as much are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import polars as pl

from multihop_papers import claims
from multihop_papers.declare import Axis as DeclaredAxis
from multihop_papers.declare import Claim, Effort, Settings, Unstated
from multihop_papers.study import Experiment, Study, Values
from multihop_papers.verdicts import HELD, NOT_DECIDED, NOT_HELD, NOT_RUN, Verdict

PAGE = "unstated"
AS_RUN = "as run"
"""The value of the axis of settings that changes nothing."""
SETTING = "unstated setting"
CANDIDATES = 3
"""Values that are run with further seeds, for each claim; they share the level of the intervals."""
LEAST_SHARE = 0.5
"""A value counts only if the network delivers at least this share of what it delivers as run."""
DELIVERY = ("goodput", "acked")
"""The metrics that say what a network delivers."""


@dataclass(frozen=True)
class Change:
    """One value of a setting: keys of the scenario, of every TCP and of every TPA of the cell's transport.

    Keys of the scenario that depend on the cell, or take long to compute, are a function of the cell.
    """

    settings: Settings | Callable[[Values], Settings] = field(default_factory=dict)
    tcp: Settings = field(default_factory=dict)
    tpa: Settings = field(default_factory=dict)


@dataclass(frozen=True)
class Range:
    """A setting that the paper does not state, and the values that it may have had."""

    what: str
    why: str
    """The reason of the bounds."""
    values: Mapping[str, Change]


def over(what: str, why: str, key: str, values: Sequence[Any]) -> Range:
    """The range of one key of the scenario."""
    return Range(what, why, {f"{key} = {value}": Change({key: value}) for value in values})


def of_tcp(what: str, why: str, key: str, values: Sequence[Any]) -> Range:
    """The range of a key of every TCP."""
    return Range(what, why, {f"TCP's {key} = {value}": Change(tcp={key: value}) for value in values})


def of_tpa(what: str, why: str, key: str, values: Sequence[Any]) -> Range:
    """The range of a key of every TPA."""
    return Range(what, why, {f"TPA's {key} = {value}": Change(tpa={key: value}) for value in values})


@dataclass(frozen=True)
class Target:
    """A claim of another experiment that a search tries to explain."""

    claim: Claim
    readings: tuple[tuple[str, str], ...] = ()
    """Experiment and text of claims that are the same under other readings of the paper."""
    also: tuple[Claim, ...] = ()
    """Further claims that must hold under the same setting."""

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Everything that must hold."""
        return (self.claim, *self.also)


def search(
    base: Experiment,
    ranges: Sequence[Range],
    targets: Sequence[Target],
    *,
    keep: Mapping[str, Sequence[Any]],
    seeds: int,
    confirm: int,
    settings: Settings | None = None,
    flows: str = "*",
    numbers: Sequence[str] = (),
) -> Experiment:
    """An experiment that runs the cells of some claims under each value of each range.

    `confirm` seeds after the first `seeds` decide. `numbers` names metrics whose published values are shown.
    """
    changes = {AS_RUN: Change(), **{name: change for one in ranges for name, change in one.values.items()}}
    places = {axis.name: place for place, axis in enumerate(base.axes)}
    kept = {**keep, SETTING: list(changes)}
    few = {**keep, SETTING: list(changes)[:3]}
    return replace(
        base,
        id=f"search-{base.id}",
        sheet=PAGE,
        title=f"unstated settings of {base.id}",
        found=f"{base.id} under values of settings that the paper does not state, one setting at a time.",
        axes=[*map(_with_tables, base.axes), DeclaredAxis(SETTING, {name: {} for name in changes})],
        of_cell=partial(_changed, changes, places.get("transport"), flows),
        left_out=partial(_left_out, base.left_out),
        quick=Effort(1, {**base.quick.settings, **(settings or {})}, few),
        full=Effort(seeds, {**base.full.settings, **(settings or {})}, kept),
        published={name: _under_each(base.published[name], list(changes)) for name in numbers},
        other_readings=tuple(changes),
        claims=(),
        plots=(),
        spread="",
        unstated=[Unstated(one.what, "; ".join(one.values), one.why) for one in ranges],
        deepen=partial(_promising, targets, confirm),
        more=partial(_judged, base, targets, confirm),
    )


def _with_tables(axis: DeclaredAxis) -> DeclaredAxis:
    """Axis with its transports as tables, to which keys can be added."""
    return replace(axis, values={value: _table(chosen) for value, chosen in axis.values.items()})


def _table(chosen: Any) -> Any:
    if callable(chosen):
        return chosen
    return {key: {"kind": value} if _names_transport(key, value) else value for key, value in chosen.items()}


def _names_transport(key: str, value: Any) -> bool:
    return key.endswith(".transport") and isinstance(value, str) and value != "udp"


def _left_out(left_out: Callable[[Values], bool], cell: Values) -> bool:
    return left_out(cell[:-1])


def _under_each(printed: Mapping[Values, Any], settings: Sequence[str]) -> dict[Values, Any]:
    return {(*cell, name): value for cell, value in printed.items() for name in settings}


def _changed(changes: Mapping[str, Change], place: int | None, flows: str, cell: Values) -> Settings:
    """The keys that the setting of a cell changes."""
    change = changes[cell[-1]]
    settings = change.settings(cell[:-1]) if callable(change.settings) else change.settings
    own = {f"flow.{flows}.transport.{key}": value for key, value in _own(change, place, cell).items()}
    return {**settings, **own}


def _own(change: Change, place: int | None, cell: Values) -> Settings:
    """The keys of the transport of a cell; without an axis of transports there is one kind."""
    if place is None:
        return {**change.tcp, **change.tpa}
    kind = str(cell[place])
    if kind in ("udp", "mesh"):
        return {}
    return change.tpa if kind.startswith("tpa") else change.tcp


def _under(claim: Claim, setting: str) -> Claim:
    """The claim about the cells with one setting."""
    against = None if claim.against is None else {**claim.against, SETTING: setting}
    return replace(claim, of={**claim.of, SETTING: setting}, against=against, reason=None)


def _settings(study: Study) -> list[str]:
    return list(study.axes[-1].values)


def _margins(study: Study, claim: Claim, setting: str) -> Iterator[float]:
    """By how much the means of a claim exceed each of its bounds, relative to what they are compared with."""
    for one in claims.each(_under(claim, setting)):
        if one.near is not None:
            errors = claims.errors(study, one)
            yield one.near - max(map(abs, errors.values()), default=math.inf)
            continue
        of, against = claims.best(study, one, one.metric, one.of), None
        if one.against is not None:
            against = claims.best(study, one, one.than or one.metric, one.against)
        left = None if of is None else study.mean(one.metric, of)
        right = None if against is None else study.mean(one.than or one.metric, against)
        if left is None or (one.against is not None and right is None):
            yield -math.inf
            continue
        base = right.mean if right is not None else 1.0
        for bound, sign in ((one.at_least, 1), (one.at_most, -1)):
            if bound is not None:
                yield sign * (left.mean - bound * base) / (abs(bound * base) or 1.0)


def _margin(study: Study, target: Target, setting: str) -> float:
    return min((one for claim in target.claims for one in _margins(study, claim, setting)), default=-math.inf)


def _delivers(study: Study, target: Target, setting: str) -> bool:
    """Whether the network of a claim delivers enough under a setting to be that of the paper."""
    metric = study.experiment.metrics[0].name
    if metric not in DELIVERY:
        return True
    most = []
    for name in (setting, AS_RUN):
        cells = (cell for claim in target.claims for cell in claims.cells(study, _under(claim, name)))
        most.append(max((found.mean for cell in cells if (found := study.mean(metric, cell))), default=0.0))
    return most[0] >= LEAST_SHARE * most[1]


def _candidates(study: Study, targets: Sequence[Target]) -> list[list[str]]:
    """For each claim the settings that are run with further seeds, by the runs of the first seeds."""
    names = [name for name in _settings(study) if name != AS_RUN]
    margins = [
        {name: _margin(study, target, name) for name in names if _delivers(study, target, name)}
        for target in targets
    ]
    good = [{name: margin for name, margin in found.items() if margin > 0} for found in margins]
    explains = {name: sum(name in found for found in good) for name in names}
    return [
        sorted(found, key=lambda name, found=found: (-explains[name], -found[name]))[:CANDIDATES]  # type: ignore[misc]
        for found in good
    ]


def _promising(targets: Sequence[Target], confirm: int, study: Study) -> dict[Values, int]:
    """The cells that get the seeds which decide."""
    chosen = zip(targets, _candidates(study, targets), strict=True)
    under = [_under(claim, name) for target, names in chosen for claim in target.claims for name in names]
    cells = {cell for claim in under for cell in claims.cells(study, claim)}
    return dict.fromkeys(cells, study.seeds + confirm)


def _judge(study: Study, target: Target, setting: str) -> Verdict:
    """The worst verdict on what must hold together."""
    found = [claims.judge(study, _under(claim, setting)) for claim in target.claims]
    return next(
        one for word in (NOT_RUN, NOT_HELD, NOT_DECIDED, HELD) for one in found if one.verdict == word
    )


def _screened(study: Study) -> Study:
    """The runs that chose the settings."""
    return replace(study, extra={}, _read={})


def _fresh(study: Study, confirm: int) -> Study:
    """The runs that decide."""
    effort = replace(study.effort, first=study.effort.first + study.seeds)
    return replace(study, effort=effort, seeds=confirm, looks=CANDIDATES, extra={}, _read={})


def _number(study: Study, claim: Claim) -> str:
    """Numbers that a claim compares, as text: growths, differences from the paper, or the value itself."""
    shares = claims.errors(study, claim).values() if claim.near is not None else ()
    found = [f"{one:+.1%}" for one in (shares or (ratio - 1 for ratio in claims.ratios(study, claim)))]
    return " / ".join(found) or claims.judge(study, claim).why


def _judged(base: Experiment, targets: Sequence[Target], confirm: int, study: Study) -> None:
    """Judge the claims under the candidates, and show all settings."""
    first, last = _screened(study), _fresh(study, confirm)
    rows = []
    for target, names in zip(targets, _candidates(first, targets), strict=True):
        head = {
            "claim": "; ".join((target.claim.text, *(text for _, text in target.readings))),
            "the paper": _wanted(target.claim),
            AS_RUN: _number(first, _under(target.claim, AS_RUN)),
        }
        if not names:
            rows.append({**head, SETTING: "none reaches the bound", "verdict": "", "under the setting": ""})
        for name in names:
            verdict = _judge(last, target, name)
            rows.append({**head, SETTING: name, "verdict": verdict.verdict, "under the setting": verdict.why})
            if verdict.verdict == HELD:
                _explain(base, study, target, name, verdict)
    study.table(pl.DataFrame(rows), f"Chosen by the first {study.seeds} seeds, judged by {confirm} others. ")
    caption = "Every value, first seeds alone; claims in the order of the table above. "
    study.table(_all_values(first, targets), caption)


def _wanted(claim: Claim) -> str:
    """The growth that the paper gives, and the bounds of the claim."""
    bounds = [
        f"at {word} {bound - 1:+.1%}"
        for word, bound in (("least", claim.at_least), ("most", claim.at_most))
        if bound
    ]
    return f"{claim.size:+.1%} ({', '.join(bounds)})" if claim.size else ""


def _explain(base: Experiment, study: Study, target: Target, name: str, verdict: Verdict) -> None:
    for experiment, text in ((base.id, target.claim.text), *target.readings):
        setting = f"{name}, by means" if target.claim.by_mean else name
        found = {"experiment": experiment, "claim": text, "setting": setting}
        study.searched.append({**found, "verdict": verdict.verdict, "ours": verdict.why})


def _all_values(study: Study, targets: Sequence[Target]) -> pl.DataFrame:
    """A row for each setting, a column for each claim."""
    heads = {f"claim {number}": target for number, target in enumerate(targets, 1)}
    return pl.DataFrame(
        [
            {SETTING: name, **{head: _numbers(study, target, name) for head, target in heads.items()}}
            for name in _settings(study)
        ]
    )


def _numbers(study: Study, target: Target, setting: str) -> str:
    return ", ".join(_number(study, _under(claim, setting)) for claim in target.claims)
