"""Means with their confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Interval:
    """A mean, and how far the true mean may be from it at a confidence level."""

    mean: float
    half: float
    n: int
    level: float

    @property
    def low(self) -> float:
        """The lower end."""
        return self.mean - self.half

    @property
    def high(self) -> float:
        """The upper end."""
        return self.mean + self.half

    def contains(self, value: float) -> bool:
        """Whether a value lies inside."""
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return format_mean(self.mean, self.half)


def interval(values: Iterable[float], level: float = 0.95) -> Interval:
    """Student's t interval of the mean of independent samples; infinite for a single one."""
    if not 0 < level < 1:
        raise ValueError(f"level is {level}; allowed: between 0 and 1")
    samples = list(values)
    n = len(samples)
    if n == 0:
        raise ValueError("no samples")
    mean = math.fsum(samples) / n
    if n == 1:
        return Interval(mean, math.inf, n, level)
    variance = math.fsum((x - mean) ** 2 for x in samples) / (n - 1)
    half = student_t(n - 1, level) * math.sqrt(variance / n)
    return Interval(mean, half, n, level)


def batch_means(values: Sequence[float], batches: int, level: float = 0.95) -> Interval:
    """The interval of one long correlated series, cut into batches of equal length.

    Values left over at the front, where a warm-up would be, are dropped.
    """
    length = len(values) // batches if batches > 0 else 0
    if length == 0:
        raise ValueError(f"{batches} batches of {len(values)} values; allowed: 1 to {len(values)}")
    used = values[len(values) - length * batches :]
    means = [math.fsum(used[i : i + length]) / length for i in range(0, len(used), length)]
    return interval(means, level)


def student_t(freedom: int, level: float) -> float:
    """The t that a Student variable stays within, on both sides, with probability `level`."""
    low, high = 0.0, 1.0
    while central_probability(high, freedom) < level:
        high *= 2
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        if central_probability(middle, freedom) < level:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def central_probability(t: float, freedom: int) -> float:
    """Probability that a Student variable lies between -t and t (Abramowitz and Stegun 26.7.3, 4)."""
    theta = math.atan(t / math.sqrt(freedom))
    cos2 = math.cos(theta) ** 2
    odd = freedom % 2 == 1
    if freedom == 1:
        return 2 * theta / math.pi
    term = math.cos(theta) if odd else 1.0
    total = term
    for k in range(3 if odd else 2, freedom - 1, 2):
        term *= cos2 * (k - 1) / k
        total += term
    if odd:
        return 2 / math.pi * (theta + math.sin(theta) * total)
    return math.sin(theta) * total


def format_mean(mean: float, half: float) -> str:
    """`mean ± half` with as many digits as the interval supports."""
    if not math.isfinite(half):
        return f"{mean:.4g}"
    digits = 1 if half == 0 else max(0, min(6, 1 - math.floor(math.log10(half))))
    return f"{mean:.{digits}f} ± {half:.{digits}f}"
