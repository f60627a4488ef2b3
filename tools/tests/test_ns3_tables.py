"""The tables that compare models with ns-3: their scenarios, and how values become a table."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import beside_ns3
import multihop
import ns3_figure
import ns3_tables
from ns3_radios import GOODPUT, RATE, STANDARDS
from ns3_tables import Multihop, Ns3, Page


@pytest.mark.parametrize("name", beside_ns3.TABLES)
def test_every_scenario_is_valid(name: str) -> None:
    rows = beside_ns3.TABLES[name]().rows
    scenarios = [row.scenario for row in rows if isinstance(row, Multihop)]
    assert scenarios
    for scenario in scenarios:
        multihop.check(dict(scenario))


def test_a_row_has_the_mean_of_its_seeds(tmp_path: Path) -> None:
    script = tmp_path / "program"
    script.write_text('#!/bin/sh\necho "{\\"kbps\\": [${2#--seed=}]}"\n')
    script.chmod(0o755)

    def read(said: Mapping[str, Any]) -> dict[str, float]:
        return {"goodput": sum(said["kbps"])}

    rows = [Ns3(title, "program", ["--rate=6"], read) for title in ("first", "second")]
    page = Page(rows, 2, {"goodput": 1})
    upright = ns3_tables.show(page, ns3_tables.measured(page, None, tmp_path, script))
    assert upright.splitlines() == [
        "|  | goodput |",
        "| --- | --: |",
        "| first | 1.5 ± 6.4 |",
        "| second | 1.5 ± 6.4 |",
    ]
    page = Page(rows, 2, {"goodput": 0}, is_transposed=True)
    across = ns3_tables.show(page, ns3_tables.measured(page, 1, tmp_path, script))
    assert across.splitlines() == ["|  | first | second |", "| --- | --: | --: |", "| goodput | 1 | 1 |"]


def test_the_figure_ends_each_link_at_its_first_distance_without_goodput() -> None:
    page = beside_ns3.TABLES["distances"]()
    values = [{GOODPUT: 10.0 if ", 9 dB" in row.title else 0.0, RATE: 1.0} for row in page.rows]
    every = dict(ns3_figure.links(page, [[one] for one in values]))
    link = every["802.11g", "multihop"]
    assert link.metres[link.reach - 1] == STANDARDS[0].metres(9, 3.0)
    assert link.metres[link.reach] == STANDARDS[0].metres(7, 3.0)
    picture = ns3_figure.draw(every)
    assert all(phy in picture for phy in (*ns3_figure.SHOWN, "ns-3", "multihop"))
