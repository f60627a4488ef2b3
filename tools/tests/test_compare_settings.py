"""Tests of the comparison of settings and ideas in generated networks."""

from __future__ import annotations

import compare_settings
from multihop.stats import interval
from multihop_papers.gauntlet.generated import network


def test_each_setting_changes_its_part_of_a_network_alone() -> None:
    """Both scenarios of a pair have the radios or the keys of their setting, and the rest of the network."""
    drawn = network(2003)
    assert isinstance(drawn.scenario["radio"], dict)
    for one in compare_settings.SETTINGS:
        base, changed = one.base(drawn.scenario), one.changed(drawn.scenario)
        assert base != changed
        assert {**changed, "radio": None, "mac": None} == {**base, "radio": None, "mac": None}
    two = compare_settings.two_radios(drawn.scenario)["radio"]
    assert two[0]["channel"] != two[1]["channel"]
    assert compare_settings.one_radio(drawn.scenario)["radio"] == two[0]


def test_every_idea_is_a_valid_transport() -> None:
    """A pair for each idea; BBR has a pace of its own, and `mesh` is beside both."""
    pairs = compare_settings.ideas([network(2003)])
    assert len(pairs) == len(compare_settings.IDEAS) == 15
    assert len({pair.base.key for pair in pairs}) == 2
    assert len({pair.changed.key for pair in pairs}) == 14


def test_the_figure_has_a_panel_for_each_group_and_a_row_for_each_change() -> None:
    """A change that some radios cannot have has no mark in their panel."""
    found = {
        "802.11b and g": {"mesh: RTS before all data": interval([0.1, 0.2])},
        "802.11n, ac and ax": {"mesh: two radios": interval([0.5, 0.6])},
    }
    picture = compare_settings.draw(found)
    for text in (*found, "mesh: RTS before all data", "mesh: two radios"):
        assert f"<!-- {text}" in picture or f">{text}" in picture
    assert compare_settings.rows(found["802.11n, ac and ax"]) == [
        {"change": "mesh: two radios", "score": "+0.550 ± 0.635", "goodput": "+73%"}
    ]
