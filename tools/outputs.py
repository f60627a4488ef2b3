#!/usr/bin/env python3
"""Run the commands whose output the documents quote, and update the quotations.

A block of a document that shows an output stands below a comment that names the command:

    <!-- prints: multihop run scenarios/chain-4.toml -->

The block may have a language, as for a quoted file. `.venv/bin/python tools/outputs.py` rewrites the blocks.
With `--check` it changes nothing and exits with 1 if it would; times that a run took do not count.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import build

DOCUMENTS = [
    "README.md",
    "docs/tutorials/compare.md",
    "docs/tutorials/protocol.md",
    "docs/how-to/study.md",
    "docs/commands.md",
    "docs/emulation.md",
    "docs/extending.md",
    "docs/papers.md",
]
BLOCK = re.compile(
    r"<!-- prints: (?P<command>.+?) -->\n\n```(?P<language>[^\n]*)\n(?P<output>.*?)```\n", re.DOTALL
)
TOOK = re.compile(r"\b(in|took) \d+\.\d+ s\b")


def main(arguments: list[str]) -> int:
    """Rewrite or check all documents."""
    if arguments not in ([], ["--check"]):
        print(f"found {' '.join(arguments)}, allowed: --check", file=sys.stderr)
        return 2
    stale = False
    for name in DOCUMENTS:
        path = build.ROOT / name
        text = path.read_text(encoding="utf-8")
        for shown in blocks(text):
            found = run(shown.command)
            if found != shown.output and not (arguments and same(found, shown.output)):
                stale = True
                print(f"{name}: {shown.command}")
                text = text.replace(shown.whole, shown.with_output(found))
        if not arguments:
            path.write_text(text, encoding="utf-8")
    return 1 if stale and arguments else 0


@dataclass(frozen=True)
class Shown:
    """An output in a document."""

    whole: str
    command: str
    language: str
    output: str

    def with_output(self, output: str) -> str:
        """The block with another output."""
        return f"<!-- prints: {self.command} -->\n\n```{self.language}\n{output}```\n"


def blocks(text: str) -> Iterator[Shown]:
    """The outputs in a document."""
    for block in BLOCK.finditer(text):
        yield Shown(block[0], block["command"], block["language"], block["output"])


def run(command: str) -> str:
    """Standard output of a command, as wide as without a terminal."""
    path = f"{build.bin_dir()}{os.pathsep}{os.environ['PATH']}"
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=build.ROOT,
        env={**environment, "PATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    return done.stdout


def same(a: str, b: str) -> bool:
    """Whether two outputs are equal except for run times."""
    return TOOK.sub("", a) == TOOK.sub("", b)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
