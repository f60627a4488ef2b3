#!/usr/bin/env python3
"""Compare the results of the pinned scenarios with the stored ones.

    python3 tools/pinned.py                        all cases; each value that differs, with exit code 1
    python3 tools/pinned.py --case mac/codel       one case
    python3 tools/pinned.py --update               store the new values, after the differences were read
    python3 tools/pinned.py --list                 the names of all cases

The cases are in crates/multihop-sim/tests/pinned. The tests of multihop-sim do the work; `make test` runs
them as well.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "crates" / "multihop-sim" / "tests" / "pinned"


def main(arguments: list[str]) -> int:
    """Run the tests for all cases or for one."""
    parser = argparse.ArgumentParser(description="Compare the results of the pinned scenarios.")
    parser.add_argument("--case", metavar="NAME", help="only this case, as --list names it")
    parser.add_argument("--update", action="store_true", help="store the new values")
    parser.add_argument("--list", action="store_true", help="list the names of all cases")
    parser.add_argument("--release", action="store_true", help="with a release build")
    options = parser.parse_args(arguments)
    cases = names()
    if options.list:
        print("\n".join(cases))
        return 0
    if options.case is not None and options.case not in cases:
        print(f"found no case {options.case}, allowed: a name of --list", file=sys.stderr)
        return 2
    # As in tools/test.py, so that little must be built anew.
    environment = {"CARGO_PROFILE_DEV_DEBUG": "0", **os.environ}
    tests = "pinned::"
    if options.update:
        environment["MULTIHOP_PINNED"] = "update"
        tests = "pinned::results_of_"
    if options.case is not None:
        environment["MULTIHOP_PINNED_CASE"] = options.case
        tests = f"pinned::results_of_{options.case.split('/')[0]}_"
    build = ["--quiet", "--locked", *(["--release"] if options.release else [])]
    command = ["cargo", "test", *build, "--package", "multihop-sim", "--test", "it", tests]
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode and 1


def names() -> list[str]:
    """All cases, each as AREA/CASE."""
    return [
        f"{path.stem}/{case}"
        for path in sorted(FOLDER.glob("*.toml"))
        for case in tomllib.loads(path.read_text(encoding="utf-8"))["case"]
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
