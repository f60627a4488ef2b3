"""The command `multihop` of the Python package: the Rust command, with subcommands in Python."""

from __future__ import annotations

import os
import sys
from itertools import takewhile

TYPE_CHECKING = False  # importing `typing` and `pathlib` would take most of the time until the command starts
if TYPE_CHECKING:
    from typing import NoReturn

COMMAND = os.path.join(os.path.dirname(__file__), "bin", "multihop")  # noqa: PTH118, PTH120
"""The Rust command, which is part of the wheel."""


NO_PAPERS = (
    "the package multihop-papers, which has the experiments, is not installed; "
    "install it with pip install 'multihop[papers]', or from the repository with pip install ./papers"
)


def main() -> int:
    """Run the command with the arguments of this process."""
    words = sys.argv[1:]
    general = list(takewhile(lambda word: word.startswith("-"), words))
    match words[len(general) :]:
        case ["bench", *rest]:
            from multihop.bench.command import main as bench

            return bench([*rest, *general])
        case ["break", *rest]:
            from multihop.breaking.command import main as break_

            return break_([*rest, *general])
        case ["papers", *rest]:
            return papers([*rest, *general])
        case ["sweep", *rest] if any(word.split("=")[0] == "--on" for word in rest):
            from multihop.cluster_command import main as sweep

            return sweep([*rest, *general])
    return become(words)


def papers(words: list[str]) -> int:
    """Run the experiments' own command; returns its exit code, 2 if the package is missing."""
    try:
        from multihop_papers.command import main  # matplotlib takes a second to import
    except ModuleNotFoundError as error:
        if error.name != "multihop_papers":
            raise
        print(f"multihop papers: {NO_PAPERS}", file=sys.stderr)
        return 2
    return main(words)


def become(words: list[str]) -> NoReturn:
    """Replace this process by the Rust command: its memory and threads are those of the command alone."""
    try:
        os.execv(COMMAND, ["multihop", *words])
    except OSError as error:
        sys.exit(f"multihop: cannot run {COMMAND}, which is part of the package: {error.strerror}")
