#!/usr/bin/env python3
"""Check that docs/deviations.md has the departures from specifications that the code tags.

In code a comment explains each departure: `// DEVIATION aodv-4: No gratuitous RREP.` A table of the page
stands between `<!-- made by tools/check_deviations.py: aodv -->`, with the words of its tags, and
`<!-- end -->`. With `--update` the script rewrites the tables.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import tree

DOCUMENT = Path("docs/deviations.md")
IN_CODE = re.compile(r"(?://|#).*?\bDEVIATION ([a-z][a-z0-9-]*)-(\d+): (.*)")
NEXT_LINE = re.compile(r"\s*(?://|#) (?!.*\bDEVIATION )(.*)")
TABLE = re.compile(
    r"(<!-- made by tools/check_deviations\.py: ([a-z0-9 -]+) -->\n).*?(<!-- end -->)", re.DOTALL
)
Departures = dict[tuple[str, int], str]
"""Texts by the word and the number of the tag."""


def main(arguments: list[str]) -> int:
    """Check or rewrite the page, and print every tag that no table names."""
    if arguments not in ([], ["--update"]):
        print(f"found {' '.join(arguments)}, allowed: --update", file=sys.stderr)
        return 2
    found: Departures = {}
    for path in tree.files():
        if path.suffix in {".rs", ".py", ".c", ".h"} and path.parts[0] != "tools":
            found.update(departures((tree.ROOT / path).read_text(encoding="utf-8")))
    page = tree.ROOT / DOCUMENT
    text = page.read_text(encoding="utf-8")
    fresh = with_tables(text, found)
    problems = [f"{DOCUMENT}: no table has {word}-{number}" for word, number in untabled(text, found)]
    if arguments:
        page.write_text(fresh, encoding="utf-8")
    elif fresh != text:
        problems.append(f"{DOCUMENT} differs from the code; run tools/check_deviations.py --update")
    print("\n".join(problems) or f"{len(found)} deviations, each marked and explained")
    return 1 if problems else 0


def departures(source: str) -> Iterator[tuple[tuple[str, int], str]]:
    """The departures that a source text tags, each with the comment behind its tag."""
    lines = source.splitlines()
    for place, line in enumerate(lines):
        tag = IN_CODE.search(line)
        if tag:
            texts = [tag[3]]
            for further in lines[place + 1 :]:
                part = NEXT_LINE.fullmatch(further)
                if part is None:
                    break
                texts.append(part[1])
            yield (tag[1], int(tag[2])), " ".join(texts)


def with_tables(page: str, found: Departures) -> str:
    """The page with new tables."""

    def table(block: re.Match[str]) -> str:
        words = block[2].split()
        chosen = [tag for tag in found if tag[0] in words]
        tags = sorted(chosen, key=lambda tag: (words.index(tag[0]), tag[1]))
        rows = "".join(f"| {word}-{number} | {cell(found[word, number])} |\n" for word, number in tags)
        return f"{block[1]}\n| tag | departure |\n|---|---|\n{rows}\n{block[3]}"

    return TABLE.sub(table, page)


def untabled(page: str, found: Departures) -> list[tuple[str, int]]:
    """The tags whose words no table of the page names."""
    named = {word for block in TABLE.finditer(page) for word in block[2].split()}
    return sorted(tag for tag in found if tag[0] not in named)


def cell(text: str) -> str:
    """The text as a cell of a table."""
    return text.replace("|", "\\|").replace("TPA*", "TPA\\*")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
