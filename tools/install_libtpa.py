#!/usr/bin/env python3
"""Install libtpa: the libraries, tpa.h, multihop.h, the file for pkg-config and the manual page.

python3 tools/install_libtpa.py PREFIX [--built DIRECTORY]

Without --built it is built first. PREFIX is /usr/local, say.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CRATE = ROOT / "crates" / "multihop-capi"
SONAME = "libtpa.so.0"


def main() -> int:
    """Copy all files to their destinations."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("prefix", type=Path)
    parser.add_argument("--built", type=Path, help="folder with libtpa.so and libtpa.a")
    options = parser.parse_args()
    prefix: Path = options.prefix.resolve()
    for place, file in files(options.built or build(), prefix).items():
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, place)
    link = prefix / "lib" / "libtpa.so"
    link.unlink(missing_ok=True)
    link.symlink_to(SONAME)
    pc = prefix / "lib" / "pkgconfig" / "tpa.pc"
    pc.parent.mkdir(parents=True, exist_ok=True)
    text = (CRATE / "tpa.pc.in").read_text(encoding="utf-8")
    pc.write_text(text.replace("@prefix@", str(prefix)).replace("@version@", version()), encoding="utf-8")
    return 0


def build() -> Path:
    """Build the libraries and return their folder."""
    command = ["cargo", "build", "--release", "--locked", "-p", "multihop-capi"]
    subprocess.run(command, cwd=ROOT, check=True)
    return ROOT / "target" / "release"


def files(built: Path, prefix: Path) -> dict[Path, Path]:
    """The files to copy: destination, source."""
    return {
        prefix / "lib" / SONAME: built / "libtpa.so",
        prefix / "lib" / "libtpa.a": built / "libtpa.a",
        prefix / "include" / "tpa.h": CRATE / "include" / "tpa.h",
        prefix / "include" / "multihop.h": CRATE / "include" / "multihop.h",
        prefix / "share" / "man" / "man3" / "tpa.3": CRATE / "man" / "tpa.3",
    }


def version() -> str:
    """The version of the workspace."""
    found = re.search(r'^version = "(.+)"$', (ROOT / "Cargo.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None
    return found[1]


if __name__ == "__main__":
    sys.exit(main())
