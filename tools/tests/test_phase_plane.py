"""The phase plane of `mesh`: what the document says of it."""

from dataclasses import replace

import phase_plane
from phase_plane import FAST, SLOW


def test_one_flow_comes_to_rest_from_everywhere() -> None:
    law = phase_plane.defaults()
    rest = law.backlog + law.delay * SLOW
    for start in phase_plane.STARTS:
        flow = phase_plane.one_flow(law, start, 100)
        backlog, share = flow[-1]
        assert abs(share - 1) < 0.01, (start, share)
        assert abs(backlog - rest) < 0.1, (start, backlog)


def test_without_correction_it_circles() -> None:
    law = replace(phase_plane.defaults(), correction=0.0)
    shares = [share for _, share in phase_plane.one_flow(law, (3.0, 1.2))]
    assert min(shares) < 0.9


def test_two_flows_become_equal_and_fill_the_path() -> None:
    law = phase_plane.defaults()
    for capacity in (SLOW, FAST):
        for start in phase_plane.PAIRS:
            first, second = phase_plane.two_flows(law, start, capacity)[-1]
            assert 0.95 < first + second < 1.05, (capacity, start, first, second)
            assert max(first, second) < 0.66, (capacity, start, first, second)
