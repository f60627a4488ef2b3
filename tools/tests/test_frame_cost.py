"""The tool that measures the cost of a frame over the number of nodes."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from frame_cost import SIZES, Cost, main, per_frame, table


def test_the_table_compares_each_size_with_the_smallest() -> None:
    """Ratios are those to the first row; time per station takes account of stations that more nodes reach."""
    costs = [Cost(100, 30.0, 3.0, 20_000.0, 70.0), Cost(10_000, 40.0, 6.0, 30_000.0, 5.5)]
    small, large = table(costs).splitlines()[2:]
    assert small == "| 100 | 30.0 | 20,000 | 1.00 | 3.00 | 1.00 | 100 | 1.00 | 70.0 |"
    assert large == "| 10,000 | 40.0 | 30,000 | 1.50 | 6.00 | 2.00 | 150 | 1.50 | 5.5 |"


def test_the_table_has_no_ratio_of_instructions_that_were_not_counted() -> None:
    """Without valgrind two columns are empty."""
    costs = [Cost(nodes, 30.0, 3.0, None, 70.0) for nodes in SIZES]
    assert all(row.split(" | ")[2:4] == ["", ""] for row in table(costs).splitlines()[2:])


def test_time_of_a_frame() -> None:
    """Processor time over the frames of the measured stretch."""
    assert per_frame({"cpu_seconds": 0.5, "frames": 100_000}) == 5e-6


def test_a_figure_without_matplotlib_is_refused_before_anything_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Measuring takes minutes."""
    monkeypatch.setattr(sys, "argv", ["frame_cost.py", "--figure"])
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(SystemExit):
        main()
    assert "--figure needs matplotlib" in capsys.readouterr().err
