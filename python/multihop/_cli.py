"""The command `multihop` of the Python package: the Rust command with subcommands in Python."""

from __future__ import annotations

import signal
import sys

import multihop._core as _core


def main() -> int:
    """Run the command with the arguments of this process."""
    # Python's handler would wait until the current runs have ended.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    match sys.argv[1:]:
        case ["papers", *rest]:
            from multihop.experiments.command import main as papers  # matplotlib takes a second to import

            return papers(rest)
        case ["sweep", *rest] if any(word.split("=")[0] == "--on" for word in rest):
            from multihop.cluster_command import main as sweep

            return sweep(rest)
    return _core.main(["multihop", *sys.argv[1:]])
