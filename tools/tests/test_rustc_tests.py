"""Tests of the wrapper that lets the compiler skip the optimisation of some tests."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import rustc_tests

WRAPPER = Path(rustc_tests.__file__)
LEVEL = "-Copt-level=0"
"""What the wrapper adds."""


@pytest.mark.parametrize(
    ("arguments", "runs_briefly"),
    [
        (["--crate-name", "multihop_sim", "crates/multihop-sim/src/lib.rs", "--test"], True),
        (["--crate-name", "multihop_sim", "crates/multihop-sim/src/lib.rs"], False),
        (["--crate-name", "multihop_route", "crates/multihop-route/src/lib.rs", "--test"], False),
        (["--crate-name", "it", "crates/multihop-sim/tests/it/main.rs", "--test"], True),
        (["--crate-name", "it", "crates/multihop-transport/tests/it/main.rs", "--test"], False),
        (
            ["--crate-name", "multihop_sim", "crates/multihop-sim/src/lib.rs", "-C", "opt-level=3", "--test"],
            False,
        ),
        (["-vV"], False),
    ],
)
def test_only_tests_that_run_briefly_lose_their_optimisation(
    arguments: list[str], runs_briefly: bool
) -> None:
    code = "import sys; print(*sys.argv[1:], sep='\\n')"
    words = [str(WRAPPER), sys.executable, "-c", code, *arguments]
    shown = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split("\n")[:-1]
    assert shown == arguments + [LEVEL] * runs_briefly


def test_the_compiler_gets_variables_with_a_hyphen_in_their_names() -> None:
    name = "CARGO_BIN_EXE_multihop-with-quic"
    code = f"import os; print(os.environ[{name!r}])"
    words = [str(WRAPPER), sys.executable, "-c", code]
    shown = subprocess.run(
        words, check=True, capture_output=True, text=True, env={**os.environ, name: "here"}
    )
    assert shown.stdout == "here\n"
