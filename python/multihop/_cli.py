"""The command `multihop` of the Python package: the Rust command with subcommands in Python."""

from __future__ import annotations

import signal
import sys
from itertools import takewhile

import multihop._core as _core


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
    # Python's handler would wait until the Rust command has ended.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _core.main(["multihop", *words])
