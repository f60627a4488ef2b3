#!/usr/bin/env python3
"""Check the supply chain: every crate, wheel and npm package that multihop is built, tested or run with.

python3 tools/check_supply.py               sources, bans and licences
python3 tools/check_supply.py advisories    advisories on crates, from a snapshot of RustSec's
python3 tools/check_supply.py advisories --online
                                            as published today by RustSec, PyPI and npm

The rules are in deny.toml. Every audit states how much it covered; one that could not be made prints a line
that begins with `skipped:`. `cargo-deny fetch db` makes a snapshot.
"""

from __future__ import annotations

import datetime
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

import build

ROOT = build.ROOT
RULES = ROOT / "deny.toml"
LOCK = ROOT / "web/package-lock.json"
WORKSPACES = (ROOT, ROOT / "fuzz", ROOT / "tools/quic")
SNAPSHOT = (
    Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo")) / "advisory-dbs/advisory-db-3157b0e258782691"
)
"""Where `cargo-deny fetch db` puts RustSec's repository."""
MAX_AGE = 90
"""Days after which a snapshot counts as outdated."""
CANARY = "flask==0.5"
"""A release with published vulnerabilities: a service that reports none for it has audited nothing."""

# Licences of wheels beside those of deny.toml: Pillow, fonts of matplotlib, and parts of Python.
OF_WHEELS = {"HPND", "MIT-CMU", "PSF-2.0", "Python-2.0"}
# Tools of the tests, which are not part of the result, and libraries that are installed beside it: the MPL
# covers their own files.
MPL_ALLOWED = {"axe-core", "certifi", "hypothesis", "pathspec", "tqdm"}

# Programs that tests run and nothing contains.
LGPL_ALLOWED = {"pymavlink"}

# Wheels that state their licence in words, with the corresponding identifier.
WORDS = {
    "Apache 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause",
    "Eclipse Public License 2.0 (EPL-2.0)": "EPL-2.0",
    "GNU Lesser General Public License v3 (LGPLv3)": "LGPL-3.0-only",
    "MIT License": "MIT",
    "ISC License (ISCL)": "ISC",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}


def main(arguments: list[str]) -> int:
    """Run the checks of sources, bans and licences, or of advisories; 1 if one of them found something."""
    build.venv()
    match arguments:
        case []:
            checks = [crates(), licences(), sources_of_npm()]
        case ["advisories"]:
            checks = [advisories_of_crates(online=False)]
            print("skipped: advisories of wheels and npm packages: only their services have them (--online)")
        case ["advisories", "--online"]:
            checks = [advisories_of_crates(online=True), advisories_of_wheels(), advisories_of_npm()]
        case _:
            print("allowed: no argument, or advisories [--online]", file=sys.stderr)
            return 2
    return 0 if all(checks) else 1


def crates() -> bool:
    """Check sources, bans and licences of the crates of every workspace."""
    found = [deny(workspace, "bans", "licenses", "sources") for workspace in WORKSPACES]
    return all(found)


def deny(workspace: Path, *checks: str, offline: bool = False) -> bool:
    """Run checks of cargo-deny on a workspace, and state how many crates they covered."""
    manifest: list[str | Path] = ["--manifest-path", workspace / "Cargo.toml", "--config", RULES, "--locked"]
    words: list[str | Path] = [build.bin_dir() / "cargo-deny", *manifest, *(["--offline"] if offline else [])]
    # Each workspace has only some of the crates that the rules name.
    done = subprocess.run(
        [*words, "check", "--allow", "license-exception-not-encountered", *checks], cwd=ROOT
    )
    number = len(packages(workspace))
    verdict = "no objection" if done.returncode == 0 else "OBJECTIONS, see above"
    print(f"{number} crates of {build.shown(workspace)}: {', '.join(checks)}: {verdict}", flush=True)
    return done.returncode == 0 and number > 0


def packages(workspace: Path) -> list[dict[str, Any]]:
    """The crates in the lock file of a workspace that come from elsewhere."""
    lock = tomllib.loads((workspace / "Cargo.lock").read_text(encoding="utf-8"))
    return [package for package in lock["package"] if "source" in package]


def licences() -> bool:
    """Print every wheel and npm package whose licence is not in the list."""
    found = [*wheels(), *npm_packages(LOCK.read_text(encoding="utf-8"))]
    allowed = allowed_licences()
    problems = [
        f"{name}: {licence or 'states no licence'}"
        for name, licence in found
        if not permits(licence, allowed | exceptions(name.split()[0]))
    ]
    print("\n".join(problems) or f"{len(found)} wheels and npm packages, every licence in the list")
    return not problems


def exceptions(name: str) -> set[str]:
    """The licences that only this package may have."""
    return {
        licence
        for licence, names in (("MPL-2.0", MPL_ALLOWED), ("LGPL-3.0-only", LGPL_ALLOWED))
        if name in names
    }


def allowed_licences() -> set[str]:
    """The licences that wheels and npm packages may have."""
    rules = tomllib.loads(RULES.read_text(encoding="utf-8"))
    return {*rules["licenses"]["allow"], *OF_WHEELS}


def sources_of_npm() -> bool:
    """Print every npm package that comes from elsewhere than the registry, or without a hash."""
    entries = {path: entry for path, entry in json.loads(LOCK.read_text())["packages"].items() if path}
    problems = [f"{path}: no hash" for path, entry in entries.items() if "integrity" not in entry]
    # Without an address the package is the registry's.
    places = {path: entry.get("resolved", NPM_REGISTRY) for path, entry in entries.items()}
    problems += [
        f"{path}: from {place}, allowed: {NPM_REGISTRY}"
        for path, place in places.items()
        if not place.startswith(NPM_REGISTRY)
    ]
    print("\n".join(problems) or f"{len(entries)} npm packages, every one from the registry and with a hash")
    return not problems


def advisories_of_crates(online: bool) -> bool:
    """Audit crates with RustSec's advisories: as published today, or from a snapshot."""
    if online:
        build.run(build.bin_dir() / "cargo-deny", "--config", RULES, "fetch", "db")
    if not SNAPSHOT.is_dir():
        how = "FAILED" if online else "skipped"
        print(f"{how}: advisories of crates: no snapshot in {SNAPSHOT}; cargo-deny fetch db makes one")
        return not online
    date = datetime.date.fromisoformat(git("log", "-1", "--format=%cs").strip())
    files = git("ls-tree", "-r", "--name-only", "HEAD", "crates").splitlines()
    number = sum("/RUSTSEC-" in name for name in files)
    print(f"{number} advisories of RustSec, as of {date}")
    is_old = (datetime.date.today() - date).days > MAX_AGE
    if is_old:
        # A fetch that could not be made does not fail.
        how = "FAILED: no newer ones were had" if online else "skipped"
        print(f"{how}: advisories of crates since {date}: the snapshot is older than {MAX_AGE} days")
    found = [deny(workspace, "advisories", offline=True) for workspace in WORKSPACES]
    return number > 0 and all(found) and not (online and is_old)


def git(*words: str) -> str:
    """Output of a git command in the snapshot."""
    return subprocess.run(["git", "-C", SNAPSHOT, *words], check=True, capture_output=True, text=True).stdout


def advisories_of_wheels() -> bool:
    """Audit the locked wheels with PyPI's advisories."""
    tool = build.VENV / "audit"
    build.pip("install", "--quiet", "--only-binary", ":all:", "--upgrade", "--target", tool, "pip-audit")
    canary = audit(["--requirement", "/dev/stdin", "--no-deps"], CANARY)
    if not any(one["vulns"] for one in canary if "vulns" in one):
        print(f"advisories of wheels: the service reports no vulnerability of {CANARY}: nothing was audited")
        return False
    found = [one for lock in build.LOCKS for one in audit(["--requirement", str(lock), "--require-hashes"])]
    problems = wheel_problems(found)
    print("\n".join(problems) or f"{len(found)} locked wheels: no advisory")
    return bool(found) and not problems


def wheel_problems(found: list[dict[str, Any]]) -> list[str]:
    """Every vulnerability in a report of pip-audit, and every wheel that was not audited."""
    vulnerable = [
        f"{one['name']} {one['version']}: {flaw['id']}" for one in found for flaw in one.get("vulns", [])
    ]
    left_out = [f"{one['name']}: not audited: {one['skip_reason']}" for one in found if "skip_reason" in one]
    return vulnerable + left_out


def audit(words: list[str], text: str = "") -> list[dict[str, Any]]:
    """The report of pip-audit on requirements."""
    command = [str(build.bin_dir() / "python"), "-m", "pip_audit", "--disable-pip", "--format", "json"]
    environment = {**os.environ, "PYTHONPATH": str(build.VENV / "audit")}
    done = subprocess.run(
        [*command, *words], input=text, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment
    )
    if done.returncode not in (0, 1):
        raise subprocess.CalledProcessError(done.returncode, command)
    report: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    return report


def advisories_of_npm() -> bool:
    """Audit the locked npm packages with the registry's advisories."""
    done = subprocess.run(["npm", "audit", "--json"], cwd=build.WEB, stdout=subprocess.PIPE, text=True)
    report = json.loads(done.stdout)
    if "metadata" not in report:
        print(f"advisories of npm packages: not audited: {report.get('message', report)}")
        return False
    number = report["metadata"]["dependencies"]["total"]
    problems = [f"{name}: {flaw['severity']}" for name, flaw in report["vulnerabilities"].items()]
    print("\n".join(problems) or f"{number} npm packages: no advisory")
    return number > 0 and not problems


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


NPM_REGISTRY = "https://registry.npmjs.org/"

if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except subprocess.CalledProcessError as error:
        sys.exit(f"FAILED: {' '.join(map(str, error.cmd))}: exit code {error.returncode}")
