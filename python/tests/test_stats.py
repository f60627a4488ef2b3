import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multihop.stats import Interval, batch_means, independent, interval, student_t


@pytest.mark.parametrize(
    ("freedom", "level", "expected"),
    [
        (1, 0.95, 12.706204736),
        (2, 0.95, 4.302652730),
        (3, 0.95, 3.182446305),
        (4, 0.90, 2.131846786),
        (9, 0.90, 1.833112933),
        (9, 0.95, 2.262157163),
        (10, 0.99, 3.169272673),
        (29, 0.95, 2.045229642),
        (120, 0.95, 1.979930405),
    ],
)
def test_quantiles_of_printed_tables(freedom: int, level: float, expected: float) -> None:
    assert student_t(freedom, level) == pytest.approx(expected, rel=1e-9)


def test_a_worked_interval() -> None:
    # s = sqrt(10), n = 5, t(4, 95%) = 2.776445
    found = interval([8, 10, 12, 14, 16])
    assert found.mean == 12
    assert found.half == pytest.approx(2.776445105 * math.sqrt(10 / 5))
    assert found.contains(12.0)
    assert not found.contains(found.high + 1e-9)
    assert (found.low + found.high) / 2 == pytest.approx(found.mean)


def test_a_single_sample_has_an_infinite_interval() -> None:
    assert interval([3.0]) == Interval(3.0, math.inf, 1, 0.95)
    assert str(interval([3.0])) == "3"


def test_invalid_arguments_are_rejected() -> None:
    with pytest.raises(ValueError, match="no samples"):
        interval([])
    with pytest.raises(ValueError, match="level is 95; allowed: between 0 and 1"):
        interval([1.0, 2.0], level=95)
    with pytest.raises(ValueError, match="allowed: 1 to 3"):
        batch_means([1.0, 2.0, 3.0], 4)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40))
def test_intervals_widen_with_the_confidence_level(values: list[float]) -> None:
    narrow, wide = interval(values, 0.90), interval(values, 0.95)
    assert narrow.mean == wide.mean == pytest.approx(statistics.fmean(values), abs=1e-6)
    assert 0 <= narrow.half <= wide.half


def test_batches_drop_values_at_the_front() -> None:
    assert batch_means([100, 1, 1, 3, 3], 2) == interval([1, 3])


def test_printed_with_the_digits_that_the_interval_supports() -> None:
    assert str(Interval(1234.567, 12.3, 5, 0.95)) == "1235 ± 12"
    assert str(Interval(1234.567, 1.23, 5, 0.95)) == "1234.6 ± 1.2"
    assert str(Interval(0.98765, 0.00321, 5, 0.95)) == "0.9877 ± 0.0032"
    assert str(Interval(341.5232, 7e-14, 3, 0.95)) == "341.5 ± 0.0", "equal samples differ by rounding only"


def test_the_difference_of_independent_means_has_welchs_interval() -> None:
    # Two samples of two, each with a variance of 2: 2 degrees of freedom.
    found = independent([0.0, 2.0], [10.0, 12.0])
    assert (found.mean, found.n) == (-10.0, 2)
    assert found.half == pytest.approx(student_t(2, 0.95) * 2**0.5)
    assert independent([1.0, 1.0], [1.0, 1.0]).half == 0.0
    assert independent([1.0], [2.0, 3.0]).half == float("inf")
    with pytest.raises(ValueError, match="no samples"):
        independent([], [1.0])
