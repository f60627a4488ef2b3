"""Run the Rust tests: each program of tests as soon as it is compiled, two at a time.

`cargo test` runs a program only after everything is compiled, and one at a time. This leaves processors idle,
because many tests wait for the clock.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

LATE = (
    "multihop-cli",
    "multihop-emulate",
    "multihop-lab",
    "multihop-net",
    "multihop-apps",
    "multihop-capi",
    "multihop-ebpf",
    "multihop-linux",
    "multihop-quic",
    "multihop-route",
    "multihop-sandbox",
)
"""Crates whose tests run compiled programs or wait for the clock. Their tests begin when everything is
compiled, in this order: the longest first."""

AT_ONCE = 2
"""Programs of tests that run at the same time."""


@dataclass(frozen=True)
class Program:
    """A compiled program of tests."""

    crate: str
    target: str
    executable: Path
    folder: Path

    @property
    def late(self) -> bool:
        """Whether the program runs only after everything is compiled."""
        return self.crate in LATE


@dataclass(frozen=True)
class Output:
    """The output of a command, and its exit code."""

    command: str
    lines: list[str]
    code: int


def run(options: Sequence[str], threads: int, show: Callable[[str], None]) -> Iterator[Output]:
    """Compile and run all tests; yields the output of the compiler, of each program, and of the doc tests.

    Each program runs `threads` tests at once. `show` gets the lines of the compiler as they come.
    """
    waiting: list[Program] = []
    running: list[Future[Output]] = []
    build = Build(["cargo", "test", "--no-run", *options], show)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for program in build.programs():
            if program.late:
                waiting.append(program)
            else:
                running.append(pool.submit(run_program, program, threads))
        waiting.sort(key=lambda program: LATE.index(program.crate))
        running += [pool.submit(run_program, program, threads) for program in waiting]
        if build.code == 0:
            words = ["cargo", "test", "--doc", *options, "--no-fail-fast", "--", "--show-output"]
            running.append(pool.submit(output_of, words, ROOT, None))
        yield Output(" ".join(build.words), build.lines, build.code)
        for future in running:
            yield future.result()


def find(crate: str, target: str, options: Sequence[str]) -> Path:
    """A compiled program of tests; compiles it first if necessary."""
    programs = Build(["cargo", "test", "--no-run", *options], print).programs()
    named = [program.executable for program in programs if (program.crate, program.target) == (crate, target)]
    if not named:
        raise OSError(f"the tests of {crate} have not been compiled")
    return named[-1]


class Build:
    """One run of the compiler."""

    def __init__(self, words: Sequence[str], show: Callable[[str], None]) -> None:
        """Keep the command; `programs` runs it."""
        self.words = words
        self.show = show
        self.lines: list[str] = []
        self.code = 0

    def programs(self) -> Iterator[Program]:
        """Compile, and yield each program of tests when it is there."""
        words = [*self.words, "--message-format", "json-render-diagnostics"]
        with subprocess.Popen(
            words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                if not line.startswith("{"):
                    self.lines.append(line.rstrip("\n"))
                    self.show(self.lines[-1])
                elif program := program_of(json.loads(line)):
                    yield program
        self.code = process.returncode


def program_of(message: dict[str, Any]) -> Program | None:
    """The program of tests that a message of Cargo announces, if it is one."""
    if message.get("reason") != "compiler-artifact" or not message["profile"]["test"]:
        return None
    if not message.get("executable"):
        return None
    folder = Path(message["manifest_path"]).parent
    return Program(folder.name, message["target"]["name"], Path(message["executable"]), folder)


def run_program(program: Program, threads: int) -> Output:
    """Run a program of tests as Cargo does: in the folder of its crate, with the compiler's libraries."""
    printed = subprocess.run(
        ["rustc", "--print", "target-libdir"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    libraries = [printed.stdout.strip(), os.environ.get("LD_LIBRARY_PATH", "")]
    env = {
        **os.environ,
        "CARGO_MANIFEST_DIR": str(program.folder),
        "LD_LIBRARY_PATH": ":".join(filter(None, libraries)),
    }
    words = [str(program.executable), "--show-output", f"--test-threads={threads}"]
    return output_of(words, program.folder, env)


def output_of(words: Sequence[str], folder: Path, env: dict[str, str] | None) -> Output:
    """Run a command to its end."""
    done = subprocess.run(
        words,
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    return Output(" ".join(words), done.stdout.splitlines(), done.returncode)
