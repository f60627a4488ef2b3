"""Trains over a chain: the statements of docs/models/mesh.md about their distance."""

from __future__ import annotations

import pytest

import train_spacing


@pytest.fixture(autouse=True)
def one_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """One short run for each value."""
    monkeypatch.setattr(train_spacing, "SEEDS", range(1, 2))
    monkeypatch.setitem(train_spacing.BASE, "duration", 5.0)


def test_two_senders_disturb_each_other_up_to_four_hops() -> None:
    """The first one of two senders delivers nothing within four hops, and everything from six on."""
    assert train_spacing.reused(4) < 1.0
    assert train_spacing.reused(6) > 59.0


def test_acks_break_the_distance_of_trains() -> None:
    """Without ACKs all trains pass; an ACK for each loses data and most ACKs."""
    alone, _ = train_spacing.measured(0.030, 0)
    acknowledged, heard = train_spacing.measured(0.030, 1)
    assert alone > 9.0
    assert acknowledged < 8.0
    assert heard < 0.5
