#!/usr/bin/env python3
"""Run the compiler, and let it compile some tests without optimisation that would take longer than it saves.

These are the unit tests of crates named multihop-*, except multihop-route, and tests/it of the scenarios and
the simulator. The crates that these tests call keep their level, and release builds are unchanged. Cargo has
no such setting; it runs this file as RUSTC_WORKSPACE_WRAPPER. A shell would lose environment variables with a
hyphen in their names, in which Cargo gives tests the paths of programs.
"""

import os
import sys
from collections.abc import Sequence

INTEGRATION = ("crates/multihop-scenario/tests/it/", "crates/multihop-sim/tests/it/")
"""Folders of integration tests that run briefly."""


def runs_briefly(arguments: Sequence[str]) -> bool:
    """Whether these arguments make tests for which optimisation takes longer than it saves."""
    if "--test" not in arguments or "--crate-name" not in arguments or "opt-level=3" in arguments:
        return False
    name = arguments[arguments.index("--crate-name") + 1]
    is_unit = name.startswith("multihop_") and name != "multihop_route"
    return is_unit or any(argument.startswith(INTEGRATION) for argument in arguments)


if __name__ == "__main__":
    compiler, *given = sys.argv[1:]
    os.execvp(compiler, [compiler, *given, *(["-Copt-level=0"] if runs_briefly(given) else [])])
