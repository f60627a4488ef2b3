"""The count of words in the documentation."""

from pathlib import Path

import pytest

import build
import count_words


def test_marks_of_tables_are_no_words_and_generated_text_counts_apart() -> None:
    output = "<!-- prints: multihop run -->\n\n```\nthree more here\n```\n"
    text = f"# Two words\n\n| one | 2 |\n|---|---|\n\n{output}\nEnd\n"
    by_hand, generated = count_words.count(text)
    assert by_hand == 5
    assert generated == 3 + 3
    assert count_words.count("a\n<!-- made by tool.py -->\nx y z\n<!-- end -->\nb")[0] == 2


@pytest.mark.parametrize(
    ("page", "section"),
    [
        ("README.md", "start"),
        ("CONTRIBUTING.md", "project"),
        ("docs/faq.md", "start"),
        ("docs/how-to/sweep.md", "how-to"),
        ("docs/models/tcp.md", "models"),
        ("docs/deviations.md", "models"),
        ("docs/scenarios.md", "reference"),
        ("docs/papers/tpa.md", "results"),
        ("docs/papers.md", "reference"),
    ],
)
def test_each_page_has_a_section(page: str, section: str) -> None:
    assert count_words.section_of(Path(page)) == section


def test_every_page_is_counted_in_a_section() -> None:
    sections = {count_words.section_of(page) for page in count_words.pages(build.ROOT)}
    assert sections <= {*count_words.SECTIONS, "results"}


@pytest.mark.parametrize(
    "page", sorted((build.ROOT / "docs" / "how-to").glob("*.md")), ids=lambda page: page.stem
)
def test_a_how_to_page_is_short_and_begins_with_its_command(page: Path) -> None:
    text = page.read_text("utf-8")
    if page.stem != "study":  # quotes whole files
        assert count_words.words(text) <= 400
    assert "```" in "\n".join(text.splitlines()[:8])
