#!/usr/bin/env python3
"""Check the layers: crates by the drawing in ARCHITECTURE.md, modules by the list of circles below.

No crate depends on a higher level or on a neighbour. No two neighbouring modules of a crate import from each
other, except those in CIRCLES. Each file of a crate is compiled: its root or a `mod` declaration leads to it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import circles

ARCHITECTURE = Path(__file__).resolve().parent.parent / "ARCHITECTURE.md"
# Crates for tests and measurements, which may link multihop-testkit.
MEASURING = {"multihop-bench"}

# The number of third-party crates that a crate may link. The others have no limit.
THIRD_PARTY = {
    "multihop-core": 0,
    "multihop-wire": 1,
    "multihop-transport": 1,
    "multihop-routing": 1,
}

Circle = tuple[str, str, tuple[str, ...]]
"""A crate, a folder of it, and modules there that import from each other."""

COMMANDS = "the table of commands names each command's arguments, and commands share arguments of the table"

CIRCLES: dict[Circle, str] = {
    ("multihop-cli", ".", ("air", "args", "capture", "emulate", "extcap", "net", "network")): COMMANDS,
    ("multihop-radio", ".", ("airtime", "budget", "keys", "mac", "params", "propagation", "rate_control")): (
        "one table of settings for radio, MAC and propagation, which use it"
    ),
    (
        "multihop-radio",
        "mac/aggregation",
        ("sender", "sizes"),
    ): "limits of an aggregate depend on what is in service",
    (
        "multihop-radio",
        "propagation",
        ("environment", "path_loss"),
    ): "an environment is a choice of path losses",
    (
        "multihop-radio",
        "rate_control",
        ("lookaround", "minstrel"),
    ): "Minstrel draws its samples from its statistics",
    ("multihop-route", ".", ("config", "router")): "the router's keys are part of the configuration",
    ("multihop-routing", "olsr", ("host", "room")): "the room for messages counts hosts behind gateways",
    ("multihop-scenario", ".", ("read", "schema", "tables")): "tables say how they are read and described",
    ("multihop-spread", "node", ("repair", "report", "source", "transfer")): (
        "a transfer is one state, and each file has some of its rules"
    ),
    ("multihop-sim", ".", ("live", "observe", "run", "trace", "view", "world")): (
        "the world drives its observers, which use its addresses; a live world is recorded and replayed"
    ),
    ("multihop-sim", ".", ("packet", "real")): "a packet may carry the bytes of a real one",
    (
        "multihop-transport",
        ".",
        ("connection", "mesh"),
    ): "the port wraps `mesh`, which counts with the port's counters",
    (
        "multihop-wire",
        ".",
        ("quoted", "tcp", "tpa"),
    ): "headers in ICMP errors are those of TCP and TPA, cut short",
    (
        "multihop-wire",
        "olsr",
        ("address", "metric"),
    ): "messages about costs have addresses in the message's form",
}
"""The circles that are there today, with what makes them."""


def main() -> int:
    """Print every dependency that is not allowed."""
    levels = read_levels(ARCHITECTURE.read_text())
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--locked"]
    metadata = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    problems = [line for package in metadata["packages"] for line in check(package, levels)]
    crates = ARCHITECTURE.parent / "crates"
    problems += check_circles(circles_in(crates))
    problems += [line for folder in sorted(crates.glob("*/src")) for line in check_files(folder)]
    fine = f"{len(metadata['packages'])} crates, each on its level; {len(CIRCLES)} circles of modules"
    print("\n".join(problems) or fine)
    return 1 if problems else 0


def circles_in(crates: Path) -> set[Circle]:
    """The circles of all crates."""
    return {
        (folder.parent.name, place, modules)
        for folder in crates.glob("*/src")
        for place, modules in circles.circles(folder)
    }


def check_circles(found: set[Circle]) -> list[str]:
    """List circles without a reason, and reasons without a circle."""
    new = [f"{show(circle)}: import from each other" for circle in sorted(found - CIRCLES.keys())]
    gone = [
        f"{show(circle)}: no circle any more, take it out of CIRCLES"
        for circle in sorted(CIRCLES.keys() - found)
    ]
    return new + gone


MODULE = re.compile(r'(?:#\[path = "([^"]+)"\]\s*)?(?:pub(?:\([^)]*\))? )?\bmod (\w+);')
"""A module in a file of its own, and the file if it has another name."""


def check_files(src: Path) -> list[str]:
    """List files of a crate that are not part of any of its programs or of its library."""
    roots = [*src.glob("lib.rs"), *src.glob("main.rs"), *src.glob("bin/*.rs"), *src.glob("bin/*/main.rs")]
    # Files, each with the folder of its modules.
    waiting = [(root, root.parent) for root in roots]
    reached = set()
    while waiting:
        file, inside = waiting.pop()
        reached.add(file)
        for path, name in MODULE.findall(re.sub(r"//[^\n]*", "", file.read_text())):
            elsewhere = Path(os.path.normpath(file.parent / path))
            places = {inside / f"{name}.rs": inside / name, inside / name / "mod.rs": inside / name}
            found = {elsewhere: elsewhere.parent} if path else places
            waiting += [place for place in found.items() if place[0].is_file()]
    orphans = sorted(set(src.rglob("*.rs")) - reached)
    return [f"{file.relative_to(src.parents[1])}: no `mod` declaration leads to it" for file in orphans]


def show(circle: Circle) -> str:
    """A circle in a message."""
    crate, place, modules = circle
    return f"{crate}, folder {place}: {', '.join(modules)}"


def read_levels(text: str) -> dict[str, int]:
    """Read the level of each crate from the block of ARCHITECTURE.md that begins with a level."""
    block = next(part for part in text.split("```") if part.lstrip().startswith("level "))
    levels: dict[str, int] = {}
    level = 0
    for line in block.strip().splitlines():
        if found := re.match(r"level (-?\d+)", line):
            level = int(found[1])
        levels |= dict.fromkeys(re.findall(r"multihop-[\w-]+", line), level)
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
