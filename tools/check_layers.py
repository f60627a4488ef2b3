#!/usr/bin/env python3
"""Check the layers of ARCHITECTURE.md: no crate depends on a higher level or on a neighbour."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ARCHITECTURE = Path(__file__).resolve().parent.parent / "ARCHITECTURE.md"
# Crates for tests and measurements, which may link multihop-testkit.
MEASURING = {"multihop-bench", "multihop-emu"}

# The number of third-party crates that a crate may link. The others have no limit.
THIRD_PARTY = {
    "multihop-core": 0,
    "multihop-wire": 1,
    "multihop-transport": 1,
    "multihop-routing": 1,
}


def main() -> int:
    """Print every dependency that is not allowed."""
    levels = read_levels(ARCHITECTURE.read_text())
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--locked"]
    metadata = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    problems = [line for package in metadata["packages"] for line in check(package, levels)]
    print("\n".join(problems) or f"{len(metadata['packages'])} crates, each on its level")
    return 1 if problems else 0


def read_levels(text: str) -> dict[str, int]:
    """Read the level of each crate from the block of ARCHITECTURE.md that begins with a level."""
    block = next(part for part in text.split("```") if part.lstrip().startswith("level "))
    levels: dict[str, int] = {}
    level = -1
    for line in block.strip().splitlines():
        if found := re.match(r"level (\d+)", line):
            level = int(found[1])
        levels |= dict.fromkeys(re.findall(r"multihop-\w+", line), level)
    return levels


def check(package: dict[str, Any], levels: dict[str, int]) -> list[str]:
    """List what is wrong with one crate's dependencies."""
    name = package["name"]
    if name not in levels:
        return [f"{name}: has no level in ARCHITECTURE.md"]
    linked = [d["name"] for d in package["dependencies"] if d["kind"] != "dev"]
    ours = [d for d in linked if d.startswith("multihop-")]
    problems = [
        f"{name} (level {levels[name]}): imports {other} (level {levels.get(other)})"
        for other in ours
        if levels.get(other, 99) >= levels[name]
    ]
    if "multihop-testkit" in ours and name not in MEASURING:
        problems.append(f"{name}: links multihop-testkit, which is for tests and benchmarks")
    others = [d for d in linked if d not in ours]
    if len(others) > THIRD_PARTY.get(name, len(others)):
        problems.append(f"{name}: links {', '.join(others)}; allowed: {THIRD_PARTY[name]} third-party crates")
    return problems


if __name__ == "__main__":
    sys.exit(main())
