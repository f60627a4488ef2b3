"""Tests of the figure of transports in generated networks."""

from __future__ import annotations

import networks_figure


def test_each_group_of_radios_has_a_panel_and_each_transport_a_row() -> None:
    """The figure names panels with their numbers of networks, and all transports."""
    radios = ["b", "b", "n", "n", "ac", "ax"]
    utilities = {"mesh": [5.0, 6.0, 7.0, 8.0, 9.0, 9.5], "cubic": [4.0, 5.5, 7.5, 7.0, 8.0, 9.0]}
    picture = networks_figure.draw(radios, utilities)
    for text in (
        "all networks (6)",
        "802.11b and g (2)",
        "802.11n (2)",
        "802.11ac and ax (2)",
        "mesh",
        "cubic",
        "score beside mesh",
    ):
        assert f"<!-- {text}" in picture or f">{text}" in picture
