"""The page that explains where `mesh` loses."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import mesh_losses
from compare_networks import Score
from mesh_losses import Loss, Repeated
from multihop_papers.gauntlet.generated import EXPLAINED, TRAINING, VALIDATION, network

TEXTS = tomllib.loads(mesh_losses.TEXTS.read_text(encoding="utf-8"))


def repeated(*goodput: float) -> Repeated:
    """Results of one flow, one for each goodput in kb/s."""
    results: list[dict[str, Any]] = [
        {
            "flows": [{"goodput_kbps": kbps, "retransmission_index": 0.1, "delay_ms": {"p95": 20.0}}],
            "mac": {"collisions": 4, "drops": 2},
        }
        for kbps in goodput
    ]
    return Repeated([Score(kbps / 100, kbps, 20.0, 1.0) for kbps in goodput], results)


def test_no_choice_was_made_on_the_explained_networks() -> None:
    """Their seeds are in no other set."""
    assert not set(EXPLAINED) & {*TRAINING, *VALIDATION}


def test_each_explanation_has_a_group_and_a_section_of_the_page() -> None:
    """The page was made with the explanations that are stored."""
    names = {group["name"] for group in TEXTS["group"]}
    page = mesh_losses.PAGE.read_text(encoding="utf-8")
    assert {one["group"] for one in TEXTS["network"].values()} == names
    for seed, one in TEXTS["network"].items():
        assert f"### {seed}\n" in page
        assert one["text"].strip() in page


def test_an_explanation_counts_the_flows_that_its_table_shows_without_goodput() -> None:
    """A number of flows that deliver nothing is that of the rows with 0 kb/s."""
    numbers = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
    ]
    sections = re.split(r"^### ", mesh_losses.PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    stated = 0
    for text in sections:
        rows = re.findall(r"^\| \d+: .+?\| (\d+) \|", text, re.MULTILINE)
        for word in re.findall(r"(\w+) of \w+ flows (?:delivers? nothing|never opens?)", text):
            assert numbers.index(word.lower()) == rows.count("0"), text[:4]
            stated += 1
    assert stated


def test_the_page_shows_each_loss_with_all_seeds_and_its_flows() -> None:
    """Losses are those of the draw and of all seeds; flows have the values of the first one."""
    loss = Loss(network(3005), "cubic", Score(1.0, 1.0, 20.0, 1.0), Score(3.0, 2.0, 20.0, 1.0))
    texts = {
        "networks": "--seeds 3005-3005",
        "answer": "Because.",
        "group": [],
        "network": {"3005": {"group": "queues", "text": "It waits."}},
    }
    page = "\n".join(
        mesh_losses.lines([loss], [(loss, repeated(100.0, 300.0), repeated(200.0, 500.0))], texts)
    )
    assert "| 2.00 | 1.50 (1.00 to 2.00) | queues |" in page
    assert "* HELD: `cubic` is ahead of `mesh` in network 3005 (1.50, from 1.00 to 2.00)" in page
    assert "**In 1 of 1 networks `mesh` loses with every seed.**" in page
    assert "| 0: 0 to " in page
    assert "| 100 | 200 | 10.0% | 10.0% | 20 | 20 |" in page
    assert page.endswith("It waits.")


def test_answer_claims_and_figure_are_those_of_the_table() -> None:
    page = mesh_losses.PAGE.read_text(encoding="utf-8")
    worst = mesh_losses.read(page)
    assert len(worst) == mesh_losses.WORST
    ahead, drawn = (int(word) for word in re.findall(r"In (\d+) of (\d+) networks drawn", page)[0])
    assert page.startswith("\n".join(mesh_losses.top(worst, ahead, drawn, TEXTS)))
    assert mesh_losses.PICTURE.read_text(encoding="utf-8") == mesh_losses.figure(worst)


def test_scenarios_are_written_with_both_transports(tmp_path: Path) -> None:
    """Names of files have no star."""
    loss = Loss(network(3005), "tpa*-3", Score(1.0, 1.0, None, 1.0), Score(3.0, 2.0, None, 1.0))
    mesh_losses.dump([loss], tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"3005-mesh.json", "3005-tpa-star-3.json"}
    assert (
        json.loads((tmp_path / "3005-mesh.json").read_text(encoding="utf-8"))["flow"][0]["transport"]
        == "mesh"
    )
