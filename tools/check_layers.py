#!/usr/bin/env python3
"""Who may depend on whom: no crate imports a higher level, or a neighbour on its own."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

LEVELS = {
    "multihop-core": 0,
    "multihop-wire": 1,
    "multihop-testkit": 1,
    "multihop-transport": 2,
    "multihop-routing": 2,
    "multihop-radio": 2,
    "multihop-scenario": 3,
    "multihop-net": 3,
    "multihop-emu": 3,
    "multihop-sim": 4,
    "multihop-capi": 4,
    "multihop-cli": 5,
    "multihop-bench": 5,
    "multihop-py": 6,  # the wheel carries the command
}

# How many crates of others may be linked; the rest are free to choose.
THIRD_PARTY = {
    "multihop-core": 0,
    "multihop-wire": 0,
    "multihop-transport": 1,
    "multihop-routing": 1,
}


def main() -> int:
    """Print every dependency that is not allowed."""
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--locked"]
    metadata = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    problems = [line for package in metadata["packages"] for line in check(package)]
    print("\n".join(problems) or f"{len(metadata['packages'])} crates, every one on its level")
    return 1 if problems else 0


def check(package: dict[str, Any]) -> list[str]:
    """What is wrong with one crate's dependencies."""
    name = package["name"]
    if name not in LEVELS:
        return [f"{name}: has no level in tools/check_layers.py"]
    linked = [d["name"] for d in package["dependencies"] if d["kind"] != "dev"]
    ours = [d for d in linked if d.startswith("multihop-")]
    problems = [
        f"{name} (level {LEVELS[name]}): imports {other} (level {LEVELS.get(other)})"
        for other in ours
        if LEVELS.get(other, 99) >= LEVELS[name]
    ]
    if "multihop-testkit" in ours:
        problems.append(f"{name}: links multihop-testkit, which is for tests only")
    others = [d for d in linked if d not in ours]
    if len(others) > THIRD_PARTY.get(name, len(others)):
        problems.append(f"{name}: links {', '.join(others)}; allowed: {THIRD_PARTY[name]} of others")
    return problems


if __name__ == "__main__":
    sys.exit(main())
