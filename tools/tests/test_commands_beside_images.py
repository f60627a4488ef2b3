"""The summary of `tools/commands_beside_images.py`."""

from __future__ import annotations

import pytest

import commands_beside_images as tool


def test_a_summary_leaves_the_start_out_and_counts_whole_images() -> None:
    first = round(tool.WARMUP / tool.INTERVAL)
    late = [[0, 10**9]] * first
    commands = late + [[0, 20 * 10**6]] * 100
    images = [[0, 10**9], [0, 2 * 10**9], [0, 3 * 10**9]]
    p50, p99, rate = tool.summary([{"commands": commands, "images": images}], 2_000_000)
    assert (p50, p99) == (20.0, 20.0)
    assert rate == pytest.approx(16.0)


def test_a_run_without_messages_has_no_values() -> None:
    assert tool.summary([{"commands": [], "images": [[0, 1]]}], 1) == (None, None, None)
