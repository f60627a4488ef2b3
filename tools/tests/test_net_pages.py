"""Pages of the studies over real networks."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

import check_figures
import net_pages
import net_study
from net_pages import Measured, Table, less, more

SLOW = Table("Mb/s", ["transport", "5%"], [["a", "2.0 ± 0.5"], ["b", "1.4 ± 0.2"], ["c", "0.9 ± 0.1"]])


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        (more("A is faster", "5%", "a", "c"), "* HELD: A is faster (a: 2.0 ± 0.5; c: 0.9 ± 0.1)"),
        (more("A is faster", "5%", "a", "b"), "* NOT DECIDED: A is faster (a: 2.0 ± 0.5; b: 1.4 ± 0.2)"),
        (more("C is faster", "5%", "c", "a"), "* NOT HELD: C is faster (c: 0.9 ± 0.1; a: 2.0 ± 0.5)"),
        (less("C is slower", "5%", "c", "b"), "* HELD: C is slower (c: 0.9 ± 0.1; b: 1.4 ± 0.2)"),
    ],
)
def test_a_claim_is_decided_by_intervals_that_do_not_overlap(claim: net_pages.Claim, expected: str) -> None:
    assert net_pages.verdict(claim, [SLOW]) == expected


def test_a_claim_that_rests_on_a_single_run_is_not_decided() -> None:
    rows = [["a", "2.0"], ["b", "1.4"], ["c", "0.9 ± 0.1"]]
    tables = [Table("Mb/s", ["transport", "5%"], rows)]
    claims = [more("A is faster", "5%", "a", "b"), less("C is slower", "5%", "c", "a")]
    assert [net_pages.verdict(claim, tables) for claim in claims] == [
        "* NOT DECIDED: A is faster (a: 2.0, one run; b: 1.4, one run)",
        "* NOT DECIDED: C is slower (c: 0.9 ± 0.1; a: 2.0, one run)",
    ]


def test_a_page_that_fails_loses_no_table(tmp_path: Path) -> None:
    """The rows lack the programs of the answer; the file has all numbers."""
    measured = Measured("Slow", "One link.", "python3 tools/net_study.py lossy", [SLOW])
    with pytest.raises(StopIteration):
        net_study.write("lossy", measured, tmp_path)
    assert net_pages.read((tmp_path / "net-lossy.md").read_text(encoding="utf-8")) == measured


@pytest.mark.parametrize("name", net_pages.LAYOUTS)
def test_pages_are_those_of_their_numbers(name: str) -> None:
    """Answer, verdicts and finding agree with the tables, and the parts have their order."""
    text = dict(net_pages.studies())[name].read_text(encoding="utf-8")
    measured = net_pages.read(text)
    assert net_pages.page(name, measured) == text
    order = [
        "\n\n**",
        "\n\n* ",
        "\n\n![",
        "\n\n**Setting.**",
        "\n```\npython3 tools/net_study.py",
        "<details",
        "| --- ",
    ]
    places = [text.index(part) for part in order]
    assert places == sorted(places)


@pytest.mark.parametrize("name", net_pages.LAYOUTS)
def test_figures_show_every_program_of_their_table(name: str) -> None:
    path = dict(net_pages.studies())[name]
    tables = net_pages.read(path.read_text(encoding="utf-8")).tables
    svg = net_pages.figure(name, tables)
    shown = {"".join(one.itertext()) for one in ElementTree.fromstring(svg).iter(f"{check_figures.SVG}text")}
    assert {row[0] for row in tables[0].rows} <= shown
    assert check_figures.problems(path.with_suffix(".svg").read_text(encoding="utf-8")) == []


def test_a_file_that_does_not_arrive_is_not_claimed() -> None:
    rows = [["one", "yes", "10", "1", "5%"], ["two", "no", "20", "1", "2%"]]
    tables = [Table("Transfers", ["configuration", "hash matches", "seconds", "Mb/s", "share"], rows)]
    assert (
        net_pages.arrived(tables)
        == "* NOT HELD: the hash of the received file matches (1 of 2 configurations, one run each)"
    )
    assert net_pages.relay_answer(tables).startswith("The file arrives intact in 1 of 2 configurations")
