#!/usr/bin/env python3
"""Check that every crate, wheel and npm package in multihop has an allowed licence."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from email.parser import HeaderParser
from typing import Any

import build

ROOT = build.ROOT
LOCK = ROOT / "web/package-lock.json"

ALLOWED = {
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "HPND",  # Pillow, fonts of matplotlib
    "ISC",
    "MIT",
    "MIT-0",
    "MIT-CMU",
    "PSF-2.0",
    "Python-2.0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
}
# Tools of the build or the tests that are not part of the result.
ALLOWED_IN_TOOLS = ALLOWED | {"MPL-2.0"}
TOOLS = {"axe-core", "cbindgen", "certifi", "hypothesis", "pathspec"}
# Libraries that are installed beside the result and are not part of it: the MPL covers their own files.
BESIDE = {"tqdm"}

# Wheels that state their licence in words, with the corresponding identifier.
WORDS = {
    "Apache 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "ISC License (ISCL)": "ISC",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}


def main() -> int:
    """Print everything whose licence is not in the list."""
    found = [*crates(), *wheels(), *npm_packages(LOCK.read_text(encoding="utf-8"))]
    problems = [
        f"{name}: {licence or 'states no licence'}"
        for name, licence in found
        if not permits(licence, ALLOWED_IN_TOOLS if name.split()[0] in TOOLS | BESIDE else ALLOWED)
    ]
    print("\n".join(problems) or f"{len(found)} crates, wheels and npm packages, every licence in the list")
    return 1 if problems else 0


def crates() -> Iterator[tuple[str, str]]:
    """Name and licence of every crate that is linked or runs during the build."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    done = subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
    metadata = json.loads(done.stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    reached: set[str] = set()
    todo = list(metadata["workspace_members"])
    while todo:
        current = todo.pop()
        if current not in reached:
            reached.add(current)
            todo += [d["pkg"] for d in nodes[current]["deps"] if is_linked(d)]
    for one in sorted(reached):
        package = packages[one]
        yield f"{package['name']} {package['version']}", package["license"] or ""


def is_linked(dependency: dict[str, Any]) -> bool:
    """Whether a dependency is more than a development dependency."""
    return any(kind["kind"] != "dev" for kind in dependency["dep_kinds"])


def wheels() -> Iterator[tuple[str, str]]:
    """Name and licence of every wheel in the virtual environment."""
    for file in sorted(build.VENV.glob("lib/python3*/site-packages/*.dist-info/METADATA")):
        metadata = HeaderParser().parsestr(file.read_text(encoding="utf-8"))
        yield f"{metadata['Name']} {metadata['Version']}", wheel_licence(metadata)


def wheel_licence(metadata: Any) -> str:
    """The licence expression, or the licence in the classifiers or a short licence field."""
    if expression := metadata["License-Expression"]:
        return str(expression)
    classifiers = metadata.get_all("Classifier") or []
    stated = [c.rsplit(" :: ", 1)[1] for c in classifiers if c.startswith("License :: OSI")]
    if not stated and len((metadata["License"] or "").splitlines()) == 1:
        stated = [metadata["License"]]
    return " OR ".join(WORDS.get(words, words) for words in stated)


def npm_packages(lock: str) -> Iterator[tuple[str, str]]:
    """Name and licence of every package that the page of `multihop view` is built and tested with."""
    for path, package in json.loads(lock)["packages"].items():
        if path:
            name = path.rsplit("node_modules/", 1)[-1]
            yield f"{name} {package['version']}", package.get("license", "")


def permits(expression: str, allowed: set[str]) -> bool:
    """Whether an SPDX expression can be satisfied with allowed licences only."""
    # `MIT/Apache-2.0` is the old syntax of OR; an exception only adds rights.
    expression = re.sub(r" WITH [\w.-]+", "", expression.replace("/", " OR "))
    tokens = re.findall(r"[()]|[^\s()]+", expression)
    permitted = alternatives(tokens, allowed)
    return permitted and not tokens


def alternatives(tokens: list[str], allowed: set[str]) -> bool:
    """Parse `a OR b ...` at the front of `tokens`; true if one of them is allowed."""
    permitted = conjunction(tokens, allowed)
    while tokens[:1] == ["OR"]:
        del tokens[0]
        permitted |= conjunction(tokens, allowed)
    return permitted


def conjunction(tokens: list[str], allowed: set[str]) -> bool:
    """Parse `a AND b ...` at the front of `tokens`; true if all of them are allowed."""
    permitted = licence(tokens, allowed)
    while tokens[:1] == ["AND"]:
        del tokens[0]
        permitted &= licence(tokens, allowed)
    return permitted


def licence(tokens: list[str], allowed: set[str]) -> bool:
    """Parse a name or `( ... )` at the front of `tokens`; true if it is allowed."""
    token = tokens.pop(0) if tokens else ""
    if token != "(":
        return token in allowed
    permitted = alternatives(tokens, allowed)
    return tokens[:1] == [")"] and tokens.pop(0) == ")" and permitted


if __name__ == "__main__":
    sys.exit(main())
