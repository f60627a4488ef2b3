#!/usr/bin/env python3
"""Check that the attacks of docs/security.md are those of tools/threats.toml, and that their tests exist.

Tables of the page stand between `<!-- made by tools/check_threats.py: SECTION -->` and `<!-- end -->`. With
`--update` the script rewrites them. An attack without a test must succeed: its answer begins with "yes". With
`--list` the script also prints the tests of each attack.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from typing import TypedDict

import tree

DOCUMENT = tree.ROOT / "docs/security.md"
THREATS = tree.ROOT / "tools/threats.toml"
TABLE = re.compile(r"(<!-- made by tools/check_threats\.py: ([\w ]+) -->\n).*?(<!-- end -->)", re.DOTALL)
TEST = re.compile(r"#\[test\]\s+(?:#\[[^]]*\]\s+)*fn (\w+)\(")
COLUMNS = {1: "succeeds", 2: "encrypted | plain"}
"""Titles of the columns of answers, by their number."""


class Attack(TypedDict):
    """An attack: who attacks, the answers of a table's columns, and the tests."""

    by: str
    answer: list[str]
    tests: list[str]


Threats = dict[str, dict[str, Attack]]
"""The attacks of each section."""


def main(arguments: list[str]) -> int:
    """Print every attack without a test and every unknown test, and on request all tests."""
    if arguments not in ([], ["--list"], ["--update"]):
        print(f"found {' '.join(arguments)}, allowed: --list, --update", file=sys.stderr)
        return 2
    threats: Threats = tomllib.loads(THREATS.read_text(encoding="utf-8"))
    if arguments == ["--list"]:
        print("\n".join(listing(threats)))
    page = DOCUMENT.read_text(encoding="utf-8")
    fresh = with_tables(page, threats)
    found = [*problems(threats, tests()), *untabled(page, threats)]
    if arguments == ["--update"]:
        DOCUMENT.write_text(fresh, encoding="utf-8")
    elif fresh != page:
        found.append(f"{DOCUMENT.name} differs from {THREATS.name}; run tools/check_threats.py --update")
    number = sum(map(len, threats.values()))
    print("\n".join(found) or f"{number} attacks: each has tests that exist, or succeeds")
    return 1 if found else 0


def with_tables(page: str, threats: Threats) -> str:
    """The page with new tables."""
    return TABLE.sub(lambda block: f"{block[1]}\n{table(threats[block[2]])}\n{block[3]}", page)


def table(attacks: dict[str, Attack]) -> str:
    """The table of a section."""
    columns = len(next(iter(attacks.values()))["answer"])
    rows = [f"| {name} | {each['by']} | {' | '.join(each['answer'])} |" for name, each in attacks.items()]
    title = f"| attack | by | {COLUMNS[columns]} |"
    return "\n".join([title, "|---" * (2 + columns) + "|", *rows, ""])


def untabled(page: str, threats: Threats) -> list[str]:
    """Problems of sections that have no table on the page."""
    named = {block[2] for block in TABLE.finditer(page)}
    return [f"{section}: has no table in {DOCUMENT.name}" for section in threats if section not in named]


def listing(threats: Threats) -> Iterator[str]:
    """Lines with the tests of each attack."""
    for section, attacks in threats.items():
        for name, attack in attacks.items():
            yield f"{section}: {name}"
            yield from (f"    {test}" for test in attack["tests"] or ["not prevented"])


def problems(threats: Threats, known: set[str]) -> list[str]:
    """Problems of the attacks and of their tests, one line for each."""
    attacks = [attack for named in threats.values() for attack in named.items()]
    return [problem for name, attack in attacks for problem in problems_of(name, attack, known)]


def problems_of(name: str, attack: Attack, known: set[str]) -> list[str]:
    """Problems of one attack, one line for each."""
    if not attack["tests"] and not re.match(r"yes\b", attack["answer"][0]):
        return [f'{name}: has no test, allowed: tests, or an answer that begins with "yes"']
    return [f"{name}: there is no test {test}" for test in attack["tests"] if not exists(test, known)]


def exists(name: str, known: set[str]) -> bool:
    """Whether a test, a fuzz target or a script exists."""
    if name.startswith("tools/"):
        return (tree.ROOT / name.split()[0]).is_file()
    return name.rsplit("::", 1)[-1] in known


def tests() -> set[str]:
    """The names of all tests of the crates, of the modules that have tests, and of all fuzz targets."""
    texts = (path.read_text(encoding="utf-8") for path in (tree.ROOT / "crates").rglob("*.rs"))
    targets = {path.stem for path in (tree.ROOT / "fuzz/targets").glob("*.rs")}
    return {name for text in texts for name in TEST.findall(text)} | targets | {"tests"}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
