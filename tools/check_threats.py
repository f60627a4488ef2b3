#!/usr/bin/env python3
"""Check that every attack in docs/security.md has tests in tools/threats.toml, and that they exist.

The columns of a table of attacks begin with `attack`, by whom, and the answer. An attack without a test must
succeed: its answer begins with "yes". With `--list` the script also prints the tests of each attack.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass

import tree

DOCUMENT = tree.ROOT / "docs/security.md"
THREATS = tree.ROOT / "tools/threats.toml"
TEST = re.compile(r"#\[test\]\s+(?:#\[[^]]*\]\s+)*fn (\w+)\(")

# The tests of the attacks of each section.
Threats = dict[str, dict[str, list[str]]]


@dataclass(frozen=True)
class Attack:
    """A row of a table of attacks."""

    section: str
    name: str
    succeeds: bool


def main(arguments: list[str]) -> int:
    """Print every attack without a test, every unknown attack and test, and on request all tests."""
    if arguments not in ([], ["--list"]):
        print(f"found {' '.join(arguments)}, allowed: --list", file=sys.stderr)
        return 2
    attacks = list(attacks_of(DOCUMENT.read_text(encoding="utf-8")))
    threats: Threats = tomllib.loads(THREATS.read_text(encoding="utf-8"))
    if arguments:
        print("\n".join(listing(threats)))
    found = problems(attacks, threats, tests())
    print("\n".join(found) or f"{len(attacks)} attacks: each has tests that exist, or succeeds")
    return 1 if found else 0


def attacks_of(text: str) -> Iterator[Attack]:
    """The rows of the tables of attacks."""
    section, in_table = "", False
    for line in text.splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ")
        if not line.startswith("|"):
            in_table = False
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if cells[0] == "attack":
            in_table = True
        elif in_table and set(line) - set("|-"):
            yield Attack(section, cells[0], re.match(r"yes\b", cells[2]) is not None)


def listing(threats: Threats) -> Iterator[str]:
    """Lines with the tests of each attack."""
    for section, attacks in threats.items():
        for attack, names in attacks.items():
            yield f"{section}: {attack}"
            yield from (f"    {name}" for name in names or ["not prevented"])


def problems(attacks: list[Attack], threats: Threats, known: set[str]) -> list[str]:
    """Problems of the attacks and of their tests, one line for each."""
    rows = {(attack.section, attack.name) for attack in attacks}
    listed = [(section, name) for section, named in threats.items() for name in named]
    unknown = [
        f"{name}: not in section {section} of the document"
        for section, name in listed
        if (section, name) not in rows
    ]
    return unknown + [problem for attack in attacks for problem in problems_of(attack, threats, known)]


def problems_of(attack: Attack, threats: Threats, known: set[str]) -> list[str]:
    """Problems of one attack, one line for each."""
    names = threats.get(attack.section, {}).get(attack.name)
    if names is None:
        return [f"{attack.name}: not in section {attack.section} of {THREATS.name}"]
    if not names and not attack.succeeds:
        return [f'{attack.name}: has no test, allowed: tests, or an answer that begins with "yes"']
    return [f"{attack.name}: there is no test {name}" for name in names if not exists(name, known)]


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
