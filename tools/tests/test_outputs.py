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


QUOTED = [
    ("compare", "layout.toml", "name ="),
    ("compare", "compare.py", "import "),
    ("protocol", "fractional_window.rs", "/// The name"),
]


@pytest.mark.parametrize(("page", "name", "start"), QUOTED)
def test_tutorials_quote_the_examples(page: str, name: str, start: str) -> None:
    text = (build.ROOT / "examples" / name).read_text(encoding="utf-8")
    quote = text[text.index(start) :]
    assert f"\n{quote}```\n" in (build.ROOT / f"docs/tutorials/{page}.md").read_text(encoding="utf-8")


def test_run_times_are_ignored() -> None:
    assert outputs.same("120 simulated s in 0.07 s", "120 simulated s in 1.93 s")
    assert not outputs.same("293.5 kb/s", "293.6 kb/s")
