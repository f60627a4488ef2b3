"""The command `multihop` of the Python package: the Rust command, through the extension module."""

from __future__ import annotations

import signal
import sys

from multihop import _core


def main() -> int:
    """Run the command with the arguments of this process."""
    # Python's handler would wait for the run to end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _core.main(["multihop", *sys.argv[1:]])
