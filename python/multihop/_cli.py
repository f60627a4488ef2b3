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


def main() -> int:
    """Run the command with the arguments of this process."""
    words = sys.argv[1:]
    general = list(takewhile(lambda word: word.startswith("-"), words))
    match words[len(general) :]:
        case ["papers", *rest]:
            from multihop.experiments.command import main as papers  # matplotlib takes a second to import

            return papers([*rest, *general])
        case ["sweep", *rest] if any(word.split("=")[0] == "--on" for word in rest):
            from multihop.cluster_command import main as sweep

            return sweep([*rest, *general])
    return become(words)


def become(words: list[str]) -> NoReturn:
    """Replace this process by the Rust command: its memory and threads are those of the command alone."""
    try:
        os.execv(COMMAND, ["multihop", *words])
    except OSError as error:
        sys.exit(f"multihop: cannot run {COMMAND}, which is part of the package: {error.strerror}")
