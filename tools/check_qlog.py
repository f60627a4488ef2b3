#!/usr/bin/env python3
"""Check qlog files of simulated senders by the types of the crate qlog.

The reader is a workspace of its own in tools/quic: a feature of the crate would change the order of keys in
every JSON document of the main workspace. The first build takes half a minute.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import build

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "quic"
SCENARIO = """
duration = 10.0
[topology]
kind = "chain"
hops = 3
[radio]
loss = 0.02
"""
TRANSPORTS = ("newreno", "cubic", "bbr", "bbr3", "tcp-ap", "tpa", "mesh", "elfn")


def main() -> int:
    """Run one flow of each transport, and read the files."""
    multihop = os.environ.get("MULTIHOP", str(build.bin_dir() / "multihop"))
    flows = "".join(f'[[flow]]\nfrom = 0\nto = 3\ntransport = "{transport}"\n' for transport in TRANSPORTS)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "flows.toml").write_text(SCENARIO + flows)
        run: list[str | Path] = [multihop, "run", folder / "flows.toml", "--qlog", "--quiet"]
        run += ["--out", folder / "out"]
        subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
        files = sorted((folder / "out").glob("*.sqlog"))
        if len(files) != len(TRANSPORTS):
            print(f"{len(files)} files of {len(TRANSPORTS)} flows")
            return 1
        manifest = ROOT / "tools/quic/Cargo.toml"
        read: list[str | Path] = ["cargo", "run", "--quiet", "--locked", "--manifest-path", manifest]
        read += ["--target-dir", TARGET, "-p", "multihop-qlog-check", "--", *files]
        return subprocess.run(read, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
