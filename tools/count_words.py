#!/usr/bin/env python3
"""Count the words of the documentation: by hand in each section, and by programs.

    python3 tools/count_words.py            a table of sections
    python3 tools/count_words.py --pages    also each page

A word has a letter or a digit, so that the lines of tables do not count. Outputs of commands and quoted
files (`<!-- prints: -->`) and text between `<!-- made by -->` and `<!-- end -->` count as generated.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GOAL = 55_000
RESULTS = ("papers", "validation", "emulated")
"""Folders of pages that `multihop papers` writes."""
START = (
    "index",
    "compare",
    "coming-from",
    "which-transport",
    "which-ideas",
    "which-routing",
    "rts-or-not",
    "which-settings",
    "lessons",
    "troubleshooting",
    "faq",
)
MODELS = ("deviations", "determinism", "performance")
SECTIONS = ("start", "tutorials", "how-to", "concepts", "reference", "models", "project")
MADE = re.compile(r"<!-- made by .*?<!-- end -->|<!-- prints: .*?-->\n\n```[^\n]*\n.*?```\n", re.DOTALL)
WORD = re.compile(r"\S*\w\S*")


def main() -> int:
    """Print the number of words by section, and with --pages by page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--pages", action="store_true", help="print each page, the longest first")
    options = parser.parse_args()
    by_section: Counter[str] = Counter()
    by_page: Counter[str] = Counter()
    for page in pages(ROOT):
        section = section_of(page)
        by_hand, generated = count((ROOT / page).read_text(encoding="utf-8"))
        if section == "results":
            by_hand, generated = 0, by_hand + generated
        by_section[section] += by_hand
        by_section["generated"] += generated
        by_page[page.as_posix()] = by_hand
    for name in SECTIONS:
        print(f"{name:10} {by_section[name]:7,}")
    total = sum(by_section[name] for name in SECTIONS)
    print(f"{'by hand':10} {total:7,}  goal: at most {GOAL:,}\n{'generated':10} {by_section['generated']:7,}")
    if options.pages:
        print("\n".join(f"{words:7,}  {page}" for page, words in by_page.most_common() if words))
    return 0


def pages(root: Path) -> Iterator[Path]:
    """The Markdown pages in the root and in docs, relative to the root."""
    for path in sorted([*root.glob("*.md"), *(root / "docs").rglob("*.md")]):
        yield path.relative_to(root)


def section_of(page: Path) -> str:
    """The section of a page: one of SECTIONS, or `results`."""
    if page.parent == Path():
        return "start" if page.name == "README.md" else "project"
    folder = page.parts[1]
    if folder in RESULTS:
        return "results"
    if len(page.parts) > 2:
        return folder
    if page.stem in START:
        return "start"
    if page.stem in MODELS:
        return "models"
    return "project" if page.stem == "release" else "reference"


def count(text: str) -> tuple[int, int]:
    """The numbers of words that are written by hand, and that programs write."""
    made = sum(words(part) for part in MADE.findall(text))
    return words(text) - made, made


def words(text: str) -> int:
    """The number of words of a text."""
    return len(WORD.findall(text))


if __name__ == "__main__":
    raise SystemExit(main())
