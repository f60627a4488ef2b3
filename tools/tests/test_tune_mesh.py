"""The search of constants: places in ranges, and what a flow is worth."""

from __future__ import annotations

import math

import pytest

from tune_mesh import FIRST, RANGES, at, place, value


def test_a_value_is_found_again_at_its_place() -> None:
    for key, first in FIRST.items():
        assert at(key, place(key, first)) == pytest.approx(first, rel=1e-3)
        assert [at(key, x) for x in (-1.0, 2.0)] == list(RANGES[key])


def test_a_tenth_of_the_delay_is_worth_a_quarter_more_goodput() -> None:
    def flow(goodput: float, delay: float | None) -> dict[str, object]:
        return {"goodput_kbps": goodput, "delay_ms": None if delay is None else {"p95": delay}}

    slow, fast = (value({"flows": [flow(100.0, delay)]}) for delay in (1000.0, 100.0))
    assert fast - slow == pytest.approx(0.1 * math.log(10.0))
    assert value({"flows": [flow(0.0, None)]}) == 0.0
    both = value({"flows": [flow(100.0, 1000.0), flow(0.0, None)]})
    assert both == pytest.approx(slow / 2)
