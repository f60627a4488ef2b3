"""Means with their confidence intervals."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import multihop._core as _core
from multihop._core import student_t

__all__ = ["Interval", "batch_means", "format_mean", "independent", "interval", "student_t"]


@dataclass(frozen=True)
class Interval:
    """A mean, and half the width of its confidence interval at a confidence level."""

    mean: float
    half: float
    n: int
    level: float

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.mean - self.half

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.mean + self.half

    def contains(self, value: float) -> bool:
        """Whether a value is inside."""
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return format_mean(self.mean, self.half)


def interval(values: Iterable[float], level: float = 0.95) -> Interval:
    """Student's t interval of the mean of independent samples; infinite for a single one."""
    samples = list(values)
    found = _core.interval(samples, _checked(level))
    if found is None:
        raise ValueError("no samples")
    return Interval(*found, len(samples), level)


def independent(ours: Sequence[float], theirs: Sequence[float], level: float = 0.95) -> Interval:
    """Welch's interval of the difference of two means; infinite for single samples."""
    counts = len(ours), len(theirs)
    count = min(counts)
    if not count:
        raise ValueError("no samples")
    means = [math.fsum(one) / len(one) for one in (ours, theirs)]
    if count == 1:
        return Interval(means[0] - means[1], math.inf, count, level)
    errors = [statistics.variance(one) / len(one) for one in (ours, theirs)]
    variance = math.fsum(errors)
    if variance == 0:
        return Interval(means[0] - means[1], 0.0, count, level)
    freedom = variance**2 / math.fsum(error**2 / (n - 1) for error, n in zip(errors, counts, strict=True))
    half = student_t(freedom, _checked(level)) * math.sqrt(variance)
    return Interval(means[0] - means[1], half, count, level)


def batch_means(values: Sequence[float], batches: int, level: float = 0.95) -> Interval:
    """The interval of one long correlated series, divided into batches of equal length.

    Values left over at the front, where a warm-up would be, are dropped.
    """
    found = _core.batch_means(list(values), max(batches, 0), _checked(level))
    if found is None:
        raise ValueError(f"{batches} batches of {len(values)} values; allowed: 1 to {len(values)}")
    return Interval(*found, batches, level)


def format_mean(mean: float, half: float) -> str:
    """`mean ± half` with as many digits as the interval supports."""
    if not math.isfinite(half):
        return f"{mean:.4g}"
    exact = half <= 1e-12 * abs(mean)  # equal samples, but for rounding
    digits = 1 if exact else max(0, min(6, 1 - math.floor(math.log10(half))))
    return f"{mean:.{digits}f} ± {half:.{digits}f}"


def _checked(level: float) -> float:
    if not 0 < level < 1:
        raise ValueError(f"level is {level}; allowed: between 0 and 1")
    return level
