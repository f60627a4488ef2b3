"""Tests of the proportional-fair optimum of generated networks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from multihop import run
from multihop_papers.gauntlet import optimum
from multihop_papers.gauntlet.generated import network
from multihop_papers.gauntlet.optimum import Air, Link

FIRST, SECOND, THIRD = (0, 1), (2, 3), (4, 5)


def air(capacity: Sequence[float], conflicts: Sequence[tuple[int, int]]) -> Air:
    """Air of up to three links with these conflicts."""
    links = [FIRST, SECOND, THIRD][: len(capacity)]
    table = np.zeros((len(links), len(links)), dtype=np.bool_)
    for one, other in conflicts:
        table[one, other] = table[other, one] = True
    return Air(links, np.array(capacity), table)


def best(of: Air, *judged: Sequence[Link], load: float = 0.0) -> float:
    """The optimum of flows over these paths, beside a flow of a fixed rate over the first link."""
    return of.optimum(judged, [([FIRST], load)])


def test_flows_of_one_link_share_it() -> None:
    """Two flows get half of a link each."""
    assert best(air([1000.0], []), [FIRST], [FIRST]) == pytest.approx(500.0, rel=0.01)


def test_a_path_of_links_that_conflict_takes_turns() -> None:
    """The airtimes of a segment on its links add up: 1 / (1/1000 + 1/500)."""
    both = [FIRST, SECOND]
    assert best(air([1000.0, 500.0], [(0, 1)]), both) == pytest.approx(333.3, rel=0.01)
    assert best(air([1000.0, 500.0], []), both) == pytest.approx(500.0, rel=0.01), "without a conflict"


def test_each_flow_gets_the_same_airtime_where_all_links_conflict() -> None:
    """The flow over both links has half of the rate of flows over one of them."""
    shared = air([1200.0, 1200.0], [(0, 1)])
    found = best(shared, [FIRST, SECOND], [FIRST], [SECOND])
    assert found == pytest.approx((200.0 * 400.0 * 400.0) ** (1 / 3), rel=0.01)


def test_the_middle_of_three_links_uses_a_third_of_the_time_when_its_neighbours_are_independent() -> None:
    """Of the sum of logarithms ln(x) + 2 ln(1 - x) the largest is at x = 1/3."""
    row = air([900.0, 900.0, 900.0], [(0, 1), (1, 2)])
    found = best(row, [FIRST], [SECOND], [THIRD])
    assert found == pytest.approx((600.0 * 300.0 * 600.0) ** (1 / 3), rel=0.01)


def test_a_fixed_load_leaves_less_time() -> None:
    """A quarter of the time of a link is taken, or all of it."""
    one = air([1000.0], [])
    assert best(one, [FIRST], load=250.0) == pytest.approx(750.0, rel=0.01)
    assert best(one, [FIRST], load=1100.0) == 0.0


def test_independent_sets_are_as_large_as_conflicts_allow() -> None:
    """Sets of three links of which the middle one conflicts with both others."""
    sets = air([1.0, 1.0, 1.0], [(0, 1), (1, 2)]).independent_sets()
    assert sorted(map(tuple, sets.tolist())) == [(0.0, 1.0, 0.0), (1.0, 0.0, 1.0)]


def test_rows_of_802_11b_have_the_optimum_of_their_measured_links() -> None:
    """In seed 1026 all links of three rows conflict, so that each flow gets a third of what it has alone."""
    drawn = network(1026)
    assert optimum.is_known(drawn)
    goodput = {
        links: [flow["goodput_kbps"] for flow in run(scenario).data["flows"]]
        for links, scenario in optimum.probes(drawn).items()
    }
    assert Air.measured(goodput).independent_sets().sum(axis=1).max() == 1.0
    alone = [1.0 / sum(1.0 / goodput[(link,)][0] for link in path) for path in optimum.paths(drawn)]
    expected = float(np.exp(np.log(alone).mean())) / len(alone)
    assert optimum.optimum(drawn, goodput) == pytest.approx(expected, rel=0.01)
