"""The strip of `tools/to_all.py`."""

from __future__ import annotations

import pytest

import to_all


def test_a_strip_has_four_hops_and_lossy_links() -> None:
    mesh = to_all.strip(1, 20)
    assert max(mesh.hops) == to_all.HOPS
    assert mesh.hops[0] == 0
    assert mesh.hops[mesh.farthest] == to_all.HOPS
    assert all(to_all.LEAST_LOSS <= loss <= to_all.MOST_LOSS for loss in mesh.loss.values())
    rows = mesh.csv().splitlines()[1:]
    heard = [row for row in rows if not row.endswith(",1.000")]
    assert len(heard) == len(mesh.loss) < len(rows)


def test_a_path_has_the_fewest_expected_transmissions() -> None:
    links = {(0, 1): 0.1, (1, 2): 0.1, (0, 2): 0.3}
    loss = links | {(b, a): value for (a, b), value in links.items()}
    mesh = to_all.Strip([(0.0, 0.0)] * 3, loss, [0, 1, 1])
    assert mesh.path(2) == [0, 2]
    worse = to_all.Strip(mesh.places, loss | {(0, 2): 0.7}, mesh.hops)
    assert worse.path(2) == [0, 1, 2]
    scenario = worse.scenario(2, 10.0, "")
    assert "next_hops = [[0, 2, 1], [1, 2, 2], [1, 0, 0], [2, 0, 1]]" in scenario


def test_a_strip_that_cannot_be_is_refused() -> None:
    with pytest.raises(RuntimeError, match="4 hops"):
        to_all.strip(1, 1)
