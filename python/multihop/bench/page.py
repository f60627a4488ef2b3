"""The page of a bench: one HTML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import polars as pl

from multihop.bench.judging import Judged
from multihop.bench.networks import KINDS, RULE, WORDS, Network
from multihop.report import Report, bar, curve, new_figure
from multihop.stats import Interval, interval
from multihop.theme import Style, distinct, known, other, style

LISTED = 8
"""Networks in each list of extremes."""
MANY = 28
"""Styles of curves that differ."""
UNFAIR_PART = (0.67, 1.5)
"""A flow beside one of CUBIC is fair from the first to the second of these equal shares."""


def summary(judged: Judged) -> dict[str, Any]:
    """The results over all networks, for programs."""
    alone = judged.alone()
    return {
        "answer": answer(judged),
        "rule": RULE,
        "controllers": {
            name: {
                "goodput_share_percent": _numbers(judged.over(alone, name)) if alone else None,
                "wins": judged.wins(name),
                "delay_p95_ms": _numbers(judged.mean(alone, name, "delay")),
                "jain": _numbers(judged.mean(alone, name, "jain")),
                "variation": _numbers(judged.mean(alone, name, "variation")),
                "part_beside_cubic": _numbers(judged.mean(judged.networks, name, "part")),
            }
            for name in judged.names
        },
        "networks": {
            one.name: {"title": one.title, "share_percent": _numbers(judged.share(one, judged.names[0]))}
            for one in alone
        },
    }


def answer(judged: Judged) -> str:
    """The result in a sentence or two."""
    name, alone = judged.names[0], judged.alone()
    if not alone:
        part = judged.mean(judged.networks, name, "part")
        return f"Beside CUBIC, {name} gets {part} of an equal share."
    best = max(judged.names[1:], key=lambda rival: judged.over(alone, rival).mean)
    return (
        f"In {len(alone)} networks {name} delivers {judged.over(alone, name)}% of the best controller's "
        f"goodput, {best} {judged.over(alone, best)}%. {name} is best in {judged.wins(name)} networks, "
        f"{best} in {judged.wins(best)}."
    )


def page(judged: Judged, command: str) -> Report:
    """The page: the answer, the figures, the extremes, and every network."""
    name, alone = judged.names[0], judged.alone()
    report = Report(f"Bench of the congestion control {name}")
    report.text(answer(judged))
    if alone:
        _overall(report, judged, alone)
        _kinds(report, judged)
        _extremes(report, judged, alone)
    _unfair(report, judged)
    _unstable(report, judged, alone)
    report.heading("Every network", "networks")
    report.table(_every(judged), "Goodput, kb/s: mean over seeds and half the 95% interval.")
    report.heading("Run it again", "again")
    report.command(command)
    report.text(
        f"The rule {RULE} draws the networks: "
        + "; ".join(f"{KINDS[kind]} {kind} ({words})" for kind, words in WORDS.items())
        + ". The logarithm of the rate of a cellular link is an Ornstein-Uhlenbeck process; outages "
        "interrupt the link. TCP has the constants of Linux 6, delayed ACKs and windows of up to 4096 "
        "segments. Runs "
        "with one seed differ in nothing but the controller. Seeds: "
        f"{len(judged.seeds)}."
    )
    return report


def _overall(report: Report, judged: Judged, alone: Sequence[Network]) -> None:
    looks = _looks(judged.names)
    figure, axes = new_figure("", "goodput, % of the best")
    for place, name in enumerate(judged.names):
        found = judged.over(alone, name)
        bar(axes, place, found.mean, found.half, looks[place])
    axes.set_xticks(range(len(judged.names)), judged.names)
    axes.set_ylim(bottom=0)
    report.figure(
        figure, f"Goodput as a share of the best controller's in each of {len(alone)} networks: means."
    )
    rows = [
        {
            "controller": name,
            "goodput, % of the best": str(judged.over(alone, name)),
            "best in": judged.wins(name),
            "p95 delay, ms": _text(judged.mean(alone, name, "delay")),
            "Jain's index": _text(judged.mean(alone, name, "jain")),
            "variation": _text(judged.mean(alone, name, "variation")),
            "part beside CUBIC": _text(judged.mean(judged.networks, name, "part")),
        }
        for name in judged.names
    ]
    report.table(
        pl.DataFrame(rows),
        "Means over networks and half their 95% intervals: networks are the sample. Jain's index: over 2 s, "
        "in networks of several flows. Variation: standard deviation of the goodput in each second over its "
        "mean. Part beside CUBIC: goodput in equal shares of a wire.",
    )


def _kinds(report: Report, judged: Judged) -> None:
    kinds = [kind for kind in KINDS if judged.alone([kind])]
    looks = _looks(judged.names)
    report.heading("Kinds of networks", "kinds")
    figure, axes = new_figure("", "goodput, % of the best")
    for place, name in enumerate(judged.names):
        points = [judged.over(judged.alone([kind]), name) for kind in kinds]
        at = [number + 0.12 * (place - (len(judged.names) - 1) / 2) for number in range(len(kinds))]
        curve(axes, at, points, name, look=looks[place], joined=False)
    axes.set_xticks(range(len(kinds)), kinds)
    axes.set_ylim(bottom=0)
    axes.legend()
    report.figure(figure, "Goodput as a share of the best controller's, by kind of network.")
    rows = [
        {"kind": kind, **{name: str(judged.over(judged.alone([kind]), name)) for name in judged.names}}
        for kind in kinds
    ]
    report.table(pl.DataFrame(rows), "Goodput, % of the best controller's in each network.")


def _extremes(report: Report, judged: Judged, alone: Sequence[Network]) -> None:
    name = judged.names[0]
    order = sorted(alone, key=lambda one: judged.share(one, name).mean)
    for title, anchor, chosen in (
        ("Where it is best", "best", order[::-1][:LISTED]),
        ("Where it is worst", "worst", order[:LISTED]),
    ):
        report.heading(title, anchor)
        rows = [_extreme(judged, one) for one in chosen]
        report.table(pl.DataFrame(rows), "Goodput relative to the best of the other controllers.")


def _extreme(judged: Judged, network: Network) -> dict[str, object]:
    name = judged.names[0]
    rival = max(judged.names[1:], key=lambda one: fmean(judged.values(network, one, "goodput")))
    return {
        "network": network.name,
        "what it is": network.title,
        "% of the best other": str(judged.share(network, name)),
        "kb/s": f"{fmean(judged.values(network, name, 'goodput')):.0f}",
        "best other": rival,
        "its kb/s": f"{fmean(judged.values(network, rival, 'goodput')):.0f}",
    }


def _unfair(report: Report, judged: Judged) -> None:
    name = judged.names[0]
    report.heading("Where it is unfair", "unfair")
    shared = [one for one in judged.networks if judged.values(one, name, "part")]
    if shared:
        low, high = UNFAIR_PART
        parts = {one.name: judged.values(one, name, "part") for one in shared}
        outside = [one for one in shared if not low <= fmean(parts[one.name]) <= high]
        report.text(
            f"Beside a flow of CUBIC, {name} gets less than {low} or more than {high} of an equal share in "
            f"{len(outside)} of {len(shared)} networks."
        )
        rows = [
            {
                "network": one.name,
                "what it is": one.title,
                **{rival: _over_seeds(judged.values(one, rival, "part")) for rival in judged.names},
            }
            for one in sorted(shared, key=lambda one: fmean(parts[one.name]))
        ]
        report.table(pl.DataFrame(rows), "Part of a flow beside a flow of CUBIC, in equal shares.")
    several = [one for one in judged.alone() if judged.values(one, name, "jain")]
    if several:
        order = sorted(several, key=lambda one: fmean(judged.values(one, name, "jain")))[:LISTED]
        rows = [
            {
                "network": one.name,
                "what it is": one.title,
                **{rival: _over_seeds(judged.values(one, rival, "jain")) for rival in judged.names},
            }
            for one in order
        ]
        report.table(
            pl.DataFrame(rows), f"Jain's index of flows of one controller, where that of {name} is least."
        )


def _unstable(report: Report, judged: Judged, alone: Sequence[Network]) -> None:
    name = judged.names[0]
    found = {one.name: judged.worse(one, "variation") for one in alone}
    order = sorted(
        (one for one in alone if found[one.name] is not None), key=lambda one: -(found[one.name] or 0.0)
    )[:LISTED]
    if not order:
        return
    report.heading("Where it is unstable", "unstable")
    rows = [
        {
            "network": one.name,
            "what it is": one.title,
            **{rival: _over_seeds(judged.values(one, rival, "variation")) for rival in judged.names},
        }
        for one in order
    ]
    report.table(
        pl.DataFrame(rows),
        f"Variation of the goodput from second to second, where that of {name} exceeds the others' median "
        "most.",
    )


def _every(judged: Judged) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "network": one.name,
                "what it is": one.title,
                **{name: _over_seeds(judged.values(one, name, "goodput")) for name in judged.names},
            }
            for one in judged.networks
        ]
    )


def _looks(names: Sequence[str]) -> list[Style]:
    """Styles of the controllers; those without a style of their own have the colours that are left."""
    used = {style(name).colour for name in names if known(name)}
    left = (look for number in range(MANY) if (look := other(number)).colour not in used)
    return distinct(style(name) if known(name) else next(left) for name in names)


def _over_seeds(values: Sequence[float]) -> str:
    return str(interval(values)) if values else "-"


def _text(found: Interval | None) -> str:
    return str(found) if found is not None else "-"


def _numbers(found: Interval | None) -> Mapping[str, float] | None:
    return None if found is None else {"mean": found.mean, "low": found.low, "high": found.high, "n": found.n}
