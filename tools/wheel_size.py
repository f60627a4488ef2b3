#!/usr/bin/env python3
"""Print where the bytes of a wheel are.

python3 tools/wheel_size.py FILE.whl           compressed bytes of each section of the module, and of the rest
python3 tools/wheel_size.py --code PROGRAM     code by crate and by kind, of a program or module with symbols

A module with symbols, whose generic code names its types:
export RUSTFLAGS=-Csymbol-mangling-version=v0
cargo build --release -p multihop-py --config 'profile.release.package.multihop-py.strip="none"'
"""

from __future__ import annotations

import argparse
import re
import struct
import subprocess
import sys
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

SMALLEST = 4000
"""Bytes below which a section has no line of its own."""
SHOWN = 30
"""Number of crates that are printed."""
NO_BITS = 8
"""Kind of an ELF section without bytes in the file."""
STANDARD = ("core", "alloc", "std", "hashbrown")
KINDS = {
    "sorts": r"slice::sort::",
    "B-trees": r"collections::btree::",
    "drop glue": r"drop_in_place",
    "serde": r"\b(serde|serde_core|serde_json)::",
    "futures of tokio": r"\btokio::runtime::task::",
}
"""Patterns of generic code that many crates instantiate."""


def main() -> int:
    """Print the table for a wheel or for a program."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, metavar="FILE")
    parser.add_argument("--code", action="store_true", help="FILE is a program or module with symbols")
    options = parser.parse_args()
    if options.code:
        command = ["nm", "--print-size", "--demangle", str(options.file)]
        listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        crates, kinds = grouped(functions(listed.splitlines()))
        print_sizes(dict(crates.most_common(SHOWN)))
        print()
        print_sizes(kinds)
        return 0
    with zipfile.ZipFile(options.file) as archive:
        sizes = {entry.filename: entry.compress_size for entry in archive.infolist()}
        (module,) = (name for name in sizes if name.endswith(".so"))
        print_sizes({name: packed(content) for name, content in parts(archive.read(module))})
    print_sizes({"module": sizes.pop(module), "other files": sum(sizes.values())})
    print_sizes({"wheel": options.file.stat().st_size})
    return 0


def print_sizes(sizes: dict[str, int]) -> None:
    """Print one line for each size, in bytes."""
    for name, size in sizes.items():
        print(f"{size:>12,} {name}")


def packed(content: bytes) -> int:
    """Number of bytes of a content in a wheel."""
    return len(zlib.compress(content, 9))


def parts(module: bytes) -> Iterator[tuple[str, bytes]]:
    """The large sections of an ELF file of 64 bits, little-endian; the page is apart from other constants."""
    (table,) = struct.unpack_from("<Q", module, 0x28)
    size, count, names = struct.unpack_from("<3H", module, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", module, table + n * size) for n in range(count)]
    texts = headers[names][4]
    for name, kind, _, _, offset, length in headers:
        if kind == NO_BITS or length < SMALLEST:
            continue
        title = module[texts + name : module.index(0, texts + name)].decode()
        content = module[offset : offset + length]
        if title == ".rodata" and (page := re.search(rb"[A-Za-z0-9+/=]{100000,}", content)):
            yield "simulator of the page", page[0]
            content = content.replace(page[0], b"")
        yield title, content


def functions(lines: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Name and size of each function in the output of nm."""
    for line in lines:
        if found := re.fullmatch(r"[0-9a-f]+ ([0-9a-f]+) [tTwW] (.*)", line):
            yield found[2], int(found[1], 16)


def grouped(listed: Iterable[tuple[str, int]]) -> tuple[Counter[str], Counter[str]]:
    """Bytes of code by crate and by kind."""
    crates, kinds = Counter[str](), Counter[str]()
    for name, size in listed:
        crates[crate_of(name)] += size
        for kind, pattern in KINDS.items():
            if re.search(pattern, name):
                kinds[kind] += size
    return crates, kinds


def crate_of(name: str) -> str:
    """Crate of a function; of generic code of Rust's library, the first other crate among its types."""
    found: list[str] = re.findall(r"(?<![\w:])([a-z]\w*)(?:\[[0-9a-f]+\])?::", name)
    return next((crate for crate in found if crate not in STANDARD), found[0] if found else "C")


if __name__ == "__main__":
    sys.exit(main())
