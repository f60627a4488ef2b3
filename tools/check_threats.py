#!/usr/bin/env python3
"""Check that every attack in docs/security.md names tests, and that they exist.

The last cell of each row of a table whose last column is about tests names tests of any crate and fuzz
targets. If the attack is not prevented, it says so instead.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

import tree

DOCUMENT = tree.ROOT / "docs/security.md"
NOT_PREVENTED = "not prevented"
TEST = re.compile(r"#\[test\]\s+(?:#\[[^]]*\]\s+)*fn (\w+)\(")
NAMED = re.compile(r"`([\w:]+)`")


def main() -> int:
    """Print every row without a test, and every name of a test that does not exist."""
    text = DOCUMENT.read_text(encoding="utf-8")
    rows = list(attacks(text))
    found = problems(rows, tests())
    print("\n".join(found) or f"{len(rows)} attacks, each with tests that exist")
    return 1 if found else 0


def attacks(text: str) -> Iterator[tuple[str, str]]:
    """First and last cell of every row of the tables about tests."""
    is_about_tests = False
    for line in text.splitlines():
        if not line.startswith("|"):
            is_about_tests = False
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if re.match(r"test\b", cells[-1]):
            is_about_tests = True
        elif is_about_tests and set(line) - set("|-"):
            yield cells[0], cells[-1]


def problems(rows: list[tuple[str, str]], known: set[str]) -> list[str]:
    """Problems of these rows, one line for each."""
    return [problem for attack, cell in rows for problem in problems_of(attack, cell, known)]


def problems_of(attack: str, cell: str, known: set[str]) -> list[str]:
    """Problems of one row, one line for each."""
    if cell == NOT_PREVENTED:
        return []
    names = NAMED.findall(cell)
    if not names:
        return [f'{attack}: names no test, allowed: names of tests, or "{NOT_PREVENTED}"']
    return [f"{attack}: there is no test {name}" for name in names if name.rsplit("::", 1)[-1] not in known]


def tests() -> set[str]:
    """The names of all tests of the crates, of the modules that have tests, and of all fuzz targets."""
    texts = (path.read_text(encoding="utf-8") for path in (tree.ROOT / "crates").rglob("*.rs"))
    targets = {path.stem for path in (tree.ROOT / "fuzz/targets").glob("*.rs")}
    return {name for text in texts for name in TEST.findall(text)} | targets | {"tests"}


if __name__ == "__main__":
    sys.exit(main())
