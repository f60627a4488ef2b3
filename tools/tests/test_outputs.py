"""Outputs quoted in the documents are those of the commands."""

import pytest

import build
import outputs

SHOWN = [
    pytest.param(shown, id=shown.command)
    for name in outputs.DOCUMENTS
    for shown in outputs.blocks((build.ROOT / name).read_text(encoding="utf-8"))
    if shown.command.startswith(("multihop ", "python examples/"))
]


def test_documents_show_outputs() -> None:
    assert len(SHOWN) >= 4


@pytest.mark.parametrize("shown", SHOWN)
def test_shown(shown: outputs.Shown) -> None:
    found = outputs.run(shown.command)
    assert outputs.same(found, shown.output), f"run tools/outputs.py; now it prints\n{found}"


@pytest.mark.parametrize("name", ["layout.toml", "compare.py"])
def test_the_tutorial_quotes_the_examples(name: str) -> None:
    text = (build.ROOT / "examples" / name).read_text(encoding="utf-8")
    code = text[text.index("name =") if name.endswith(".toml") else text.index("import ") :]
    assert f"\n{code}```\n" in (build.ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")


def test_run_times_are_ignored() -> None:
    assert outputs.same("120 simulated s in 0.07 s", "120 simulated s in 1.93 s")
    assert not outputs.same("293.5 kb/s", "293.6 kb/s")
