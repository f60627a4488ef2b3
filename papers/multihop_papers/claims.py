"""Claims of a paper, decided by intervals and never by eye."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from statistics import fmean

from multihop.stats import interval
from multihop_papers.declare import Cell, Claim
from multihop_papers.study import Samples, Study, Values
from multihop_papers.verdicts import (
    HELD,
    NOT_DECIDED,
    NOT_HELD,
    NOT_RUN,
    Verdict,
    decide,
    decide_at_a_look,
    narrow,
    word,
    worst,
)

BY_MEAN = ", by the mean of a narrow interval"


def verdicts(study: Study) -> list[Verdict]:
    """The verdict on each claim, then those of the experiment's own analysis."""
    return [*(judge(study, claim) for claim in study.experiment.claims), *study.found]


def judge(study: Study, claim: Claim) -> Verdict:
    """Decide a claim, at each of the values at which it must hold; explain it if it does not hold."""
    found = _judge_each(study, claim) if claim.near is None else _judge_near(study, claim, claim.near)
    if found.verdict != NOT_HELD or claim.reason is None:
        return found
    return replace(found, reason=claim.reason.of(study))


def _judge_each(study: Study, claim: Claim) -> Verdict:
    verdicts = [_judge_one(study, one) for one in each(claim)]
    for least in (NOT_RUN, NOT_HELD, NOT_DECIDED):
        found = [one for one in verdicts if one.verdict == least]
        if found and (least != NOT_RUN or len(found) == len(verdicts)):
            by_mean = all(one.by_mean for one in found)
            return Verdict(claim.text, least, "; ".join(one.why for one in found), by_mean=by_mean)
    decided = [one for one in verdicts if one.verdict != NOT_RUN]
    by_mean = any(one.by_mean for one in decided)
    return Verdict(claim.text, HELD, "; ".join(one.why for one in decided), by_mean=by_mean)


def cells(study: Study, claim: Claim) -> set[Values]:
    """The cells whose values decide a claim."""
    wanted = [cell for one in each(claim) for cell in (one.of, one.against) if cell is not None]
    return {cell for one in wanted for cell in study.select(one)}


def open_cells(study: Study, claim: Claim) -> set[Values]:
    """The cells that keep a claim open: those of the values at which it must hold and is not decided.

    Of several configurations those count that may be the best by their intervals.
    """
    found = set()
    for one in each(claim):
        if _judge_one(study, one).verdict == NOT_DECIDED:
            found |= _contenders(study, one, one.metric, one.of)
            if one.against is not None:
                found |= _contenders(study, one, one.than or one.metric, one.against)
    return found


def _contenders(study: Study, claim: Claim, metric: str, wanted: Cell) -> set[Values]:
    """The cells whose intervals reach that of the best one."""
    means = {cell: found for cell in study.select(wanted) if (found := study.mean(metric, cell))}
    first = best(study, claim, metric, wanted)
    if first is None:
        return set()
    top = means[first]
    return {
        cell for cell, one in means.items() if (one.low <= top.high if claim.lowest else one.high >= top.low)
    }


def ratios(study: Study, claim: Claim) -> Iterator[float]:
    """The metric of the one cell as a multiple of that of the other, at each of the claim's values."""
    for one in each(claim):
        other = one.than or one.metric
        of = best(study, one, one.metric, one.of)
        against = None if one.against is None else best(study, one, other, one.against)
        if of is None or against is None:
            continue
        left, right = study.mean(one.metric, of), study.mean(other, against)
        if left is not None and right is not None and right.mean:
            yield left.mean / right.mean


def errors(study: Study, claim: Claim) -> dict[str, float]:
    """The relative differences of the means of some cells from their published values."""
    found = {}
    for cell in study.select(claim.of):
        printed, ours = study.published(claim.metric, cell), study.mean(claim.metric, cell)
        if printed is not None and ours is not None:
            found[_cell(cell)] = ours.mean / (printed[0] if isinstance(printed, tuple) else printed) - 1
    return found


def _judge_near(study: Study, claim: Claim, limit: float) -> Verdict:
    """Compare the mean of every cell with its published value; the largest difference decides."""
    found = errors(study, claim)
    if not found:
        return Verdict(claim.text, NOT_RUN, f"{_named(claim.of)}: not run")
    return worst(claim.text, found, limit)


def each(claim: Claim) -> Iterator[Claim]:
    """The claim at each of the values at which it must hold."""
    for values in itertools.product(*claim.each.values()):
        at = dict(zip(claim.each, values, strict=True))
        against = None if claim.against is None else {**at, **claim.against}
        yield replace(claim, of={**claim.of, **at}, against=against, each={})


def _judge_one(study: Study, claim: Claim) -> Verdict:
    of = best(study, claim, claim.metric, claim.of)
    other = claim.than or claim.metric
    against = None if claim.against is None else best(study, claim, other, claim.against)
    if of is None or (claim.against is not None and against is None):
        return Verdict(claim.text, NOT_RUN, f"{_named(claim.of)}: not run")
    left = study.samples(claim.metric, of)
    right = study.samples(other, against) if against is not None else dict.fromkeys(left, 1.0)
    found = list(_decided(study, claim, left, right))
    if not found:
        return Verdict(claim.text, NOT_RUN, f"{_named(claim.of)}: nothing measured")
    verdict = next(v for v in (NOT_HELD, NOT_DECIDED, HELD) if v in {one for one, _ in found})
    by_mean = all(narrow for one, narrow in found if one == verdict)
    why = _why(study, claim, of, against) + _seeds(study, of, against) + (BY_MEAN if by_mean else "")
    return Verdict(claim.text, verdict, why, by_mean=by_mean)


def _decided(study: Study, claim: Claim, left: Samples, right: Samples) -> Iterator[tuple[str, bool]]:
    """Decision of each bound of a claim, and whether the mean decides because the interval is narrow."""
    by = decide_at_a_look if study.looks > 1 and not claim.by_mean else decide
    for factor, sign in ((claim.at_least, 1), (claim.at_most, -1)):
        both = [seed for seed in left if seed in right]
        if factor is None or not both:
            continue
        found = interval([sign * (left[seed] - factor * right[seed]) for seed in both], study.deciding)
        matters = study.metric(claim.metric).matters(factor * fmean(right[seed] for seed in both))
        if claim.by_mean:
            found = replace(found, half=0.0)
        small = narrow(found, matters)
        yield word(found.mean >= 0) if small else by(found), small


def best(study: Study, claim: Claim, metric: str, wanted: Cell) -> Values | None:
    """The cell that is meant, the best if there are several; None if none was measured."""
    means = {cell: found.mean for cell in study.select(wanted) if (found := study.mean(metric, cell))}
    if not means:
        return None
    return (min if claim.lowest else max)(means, key=lambda cell: means[cell])


def _why(study: Study, claim: Claim, of: Values, against: Values | None) -> str:
    left = study.mean(claim.metric, of)
    text = f"{_cell(of)}: {left}"
    if claim.than and against is not None:
        return f"{text}, {claim.than}: {study.mean(claim.than, against)}"
    if against is not None:
        right = study.mean(claim.than or claim.metric, against)
        assert left is not None
        assert right is not None
        share = f" ({left.mean / right.mean - 1:+.1%})" if right.mean else ""
        text += f", {_cell(against)}: {right}{share}"
    return text


def _seeds(study: Study, of: Values, against: Values | None) -> str:
    """How many seeds a comparison has, where that is not the same for all."""
    if not study.extra:
        return ""
    count = min(len(study.seeds_of(cell)) for cell in (of, against or of))
    return f", {count} seed{'' if count == 1 else 's'}"


def _cell(cell: Values) -> str:
    return " ".join(str(value) for value in cell)


def _named(cell: Cell) -> str:
    return " ".join(str(value) for value in cell.values())
