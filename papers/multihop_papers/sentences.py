"""Findings as sentences, from some means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import combinations

from multihop.stats import Interval


def extremes(label: str, found: Mapping[str, Interval], where: str = "") -> str:
    """A sentence about the largest and the smallest of some means.

    The sentence calls them the highest and the lowest only if no other interval overlaps with theirs.
    """
    if len(found) < 2:
        return ""
    found = {name.removeprefix("with "): mean for name, mean in found.items()}
    order = sorted(found, key=lambda name: found[name].mean)
    low, high = order[0], order[-1]
    subject, unit, is_plural = _subject(label)
    means = f"from {found[low]}{unit} ({low}) to {found[high]}{unit} ({high})"
    ranges = f"{subject} {'range' if is_plural else 'ranges'} {means}"
    if str(found[low]) == str(found[high]):
        text = f"{subject} {'are' if is_plural else 'is'} {found[low]}{unit} everywhere."
    elif found[low].high >= found[high].low:
        text = f"{ranges}, with intervals that overlap."
    elif all(found[one].high < found[other].low for one, other in (order[:2], order[-2:])):
        ends = f"highest with {high} ({found[high]}{unit}) and lowest with {low} ({found[low]}{unit})"
        text = f"{subject} {'are' if is_plural else 'is'} {ends}."
    else:
        # The interval of another mean overlaps with one of the two.
        text = f"{ranges}."
    return _begun(where, text)


def no_difference(label: str, kind: str, every: str, where: str = "") -> str:
    """A sentence about means whose intervals overlap for all values of `kind`; `every` names the points."""
    subject, _, _ = _subject(label)
    return _begun(where, f"the intervals of {subject} overlap {every}, whatever the {kind}.")


def differ(means: Iterable[Interval]) -> bool:
    """Whether two of some means have intervals that do not overlap."""
    return any(max(one.low, other.low) > min(one.high, other.high) for one, other in combinations(means, 2))


def gap(means: Iterable[Interval]) -> float:
    """The gap between the intervals of the smallest and the largest mean, as a share of the larger mean.

    The gap is negative if the two intervals overlap.
    """
    low, *_, high = sorted(means, key=lambda one: one.mean)
    return (high.low - low.high) / (max(abs(low.mean), abs(high.mean)) or 1.0)


def _begun(where: str, text: str) -> str:
    whole = f"{where}, {text}" if where else text
    return whole[:1].upper() + whole[1:]


def _subject(label: str) -> tuple[str, str, bool]:
    """A label as the subject of a sentence, its unit as it follows a number, and whether it is plural."""
    name, unit = _spoken(label)
    article = "" if POSSESSIVE.match(name) else "the "
    return f"{article}{name}{',' if ', ' in name else ''}", unit, bool(PLURAL.match(name))


def _spoken(label: str) -> tuple[str, str]:
    """A label as a name within a sentence, and its unit as it follows a number."""
    for short, long in LABELS.items():
        if label == short or label.startswith(f"{short}, "):
            label = label.replace(short, long, 1)
    name, comma, unit = label.replace(" / ", " per ").rpartition(", ")
    return (name, f" {unit}".replace(" %", "%")) if comma else (unit, "")


LABELS = {
    "kb/s": "throughput, kb/s",
    "all": "sum of all goodputs",
    "RTT": "round-trip time",
    "wrong": "share of wrong identifications",
    "wrong with both metrics": "share of wrong identifications with both metrics",
    "first": "goodput of the first flow",
    "ADTCP": "throughput of ADTCP",
    "Reno": "throughput of Reno",
}
"""Names of metrics whose labels are short, because they head columns."""
POSSESSIVE = re.compile(r"\w+'s ")
PLURAL = re.compile(r"(\w+ )?\w+[^s'\W]s\b(?! index)")
