"""The list of the crates in what users install, as CycloneDX."""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import tomllib
from pathlib import Path
from typing import Any


def crates(root: Path, wanted: str) -> dict[str, Any]:
    """The list for one crate of the workspace: itself and everything that it is built from, without tests."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    done = subprocess.run(command, cwd=root, check=True, stdout=subprocess.PIPE)
    metadata = json.loads(done.stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    needs = {node["id"]: needed(node) for node in metadata["resolve"]["nodes"]}
    (start,) = (
        name for name, package in packages.items() if package["name"] == wanted and not package["source"]
    )
    reached, new = {start}, [start]
    while new:
        found = set(needs[new.pop()]) - reached
        reached |= found
        new += found
    lock = tomllib.loads((root / "Cargo.lock").read_text(encoding="utf-8"))["package"]
    hashes = {(entry["name"], entry["version"]): entry.get("checksum") for entry in lock}
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    written = datetime.datetime.fromtimestamp(epoch, datetime.UTC)
    others = sorted(reached - {start}, key=lambda name: purl(packages[name]))
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": written.isoformat(),
            "component": component(packages[start], hashes),
        },
        "components": [component(packages[name], hashes) for name in others],
        "dependencies": [
            {"ref": purl(packages[name]), "dependsOn": sorted(purl(packages[other]) for other in needs[name])}
            for name in (start, *others)
        ],
    }


def needed(node: dict[str, Any]) -> list[str]:
    """Ids of the crates that a crate links, or runs while it is built."""
    return [
        one["pkg"]
        for one in node["deps"]
        if any(kind["kind"] in (None, "build") for kind in one["dep_kinds"])
    ]


def component(package: dict[str, Any], hashes: dict[tuple[str, str], str | None]) -> dict[str, Any]:
    """A crate as CycloneDX describes it."""
    described: dict[str, Any] = {
        "type": "library",
        "bom-ref": purl(package),
        "name": package["name"],
        "version": package["version"],
        "purl": purl(package),
        # The old syntax of OR.
        "licenses": [{"expression": package["license"].replace("/", " OR ")}],
    }
    if digest := hashes.get((package["name"], package["version"])):
        described["hashes"] = [{"alg": "SHA-256", "content": digest}]
    return described


def purl(package: dict[str, Any]) -> str:
    """The address of a crate among all packages."""
    return f"pkg:cargo/{package['name']}@{package['version']}"
