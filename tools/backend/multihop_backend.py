"""Builds the package: maturin's wheel with the Rust command, its manual pages and completions for shells.

On Linux the command is a launcher of a few kilobytes, and its code is in the extension module: the wheel has
the simulator once. The launcher loads the module without Python, and `weakened` makes that possible.

The command itself writes its pages and completions, so that they agree with it. Where the command of the
wheel cannot run, the variable MULTIHOP_COMMAND has the words of one that can.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import os
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from deflate import deflate_compress
from maturin import build_editable as build_bare_editable
from maturin import (
    build_sdist,
    get_maturin_pep517_args,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)
from maturin import build_wheel as build_bare_wheel

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]


def build_wheel(
    wheel_directory: str,
    config_settings: Mapping[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Build a wheel; returns its name."""
    maturin_arguments = get_maturin_pep517_args(config_settings)
    # For other machines, too; maturin by itself makes a wheel for this machine only.
    settings = with_arguments(config_settings, ["--compatibility", "pypi", *maturin_arguments])
    name: str = build_bare_wheel(wheel_directory, settings, metadata_directory)
    command = build_command(maturin_arguments, promised_glibc(name)).read_bytes()
    check_compatibility(name, command)
    share = "-".join(name.split("-")[:2]) + ".data/data/share"
    wheel = Path(wheel_directory) / name
    module = module_of(wheel)
    with runnable(command, module) as words:
        texts = {f"{share}/{path}": page for path, page in pages(words).items()}
    extend(wheel, {MODULE: module, **lists_of_parts(wheel), **texts}, {COMMAND: command})
    return name


def build_editable(
    wheel_directory: str,
    config_settings: Mapping[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Build a wheel that refers to the sources, among which the command is then put; returns its name."""
    name: str = build_bare_editable(wheel_directory, config_settings, metadata_directory)
    install(PYTHON, build_command(get_maturin_pep517_args(config_settings)).read_bytes())
    module = PYTHON / MODULE
    if IS_LINUX:
        replace(module, weakened(module.read_bytes()))
    return name


def install(folder: Path, command: bytes) -> Path:
    """Put the command into the package in a folder; returns its path."""
    path = folder / COMMAND
    path.parent.mkdir(parents=True, exist_ok=True)
    replace(path, command)
    path.chmod(0o755)
    return path


def replace(path: Path, content: bytes) -> None:
    """Write a file anew: what runs from the old one keeps it."""
    path.unlink(missing_ok=True)
    path.write_bytes(content)


def with_arguments(config_settings: Mapping[str, Any] | None, arguments: Sequence[str]) -> dict[str, Any]:
    """Settings of the build with these arguments for maturin."""
    return {**(config_settings or {}), "maturin.build-args": arguments}


def build_command(maturin_arguments: Sequence[str], glibc: int | None = None) -> Path:
    """Build the command of the wheel; returns its path. With Zig it runs with glibc 2.`glibc`.

    On Linux this is the launcher. Elsewhere it is the Rust command, with profile, features and target of the
    extension module: selected together with the module, both share what they are compiled from.
    """
    with_zig = "--zig" in maturin_arguments
    words = ["cargo", "zigbuild" if with_zig else "build"]
    words += ["--locked", "--message-format", "json-render-diagnostics"]
    if IS_LINUX:
        words += ["--package", "multihop-launcher", "--profile", "launcher"]
        kept = ["--target"]
    else:
        words += ["--package", "multihop-cli", "--package", "multihop-py", "--bin", "multihop"]
        words += ["--profile", option("--profile", maturin_arguments) or "release"]
        kept = ["--target", "--features"]
    for name in kept:
        if value := option(name, maturin_arguments):
            old = with_zig and glibc is not None and name == "--target"
            words += [name, f"{value}.2.{glibc}" if old else value]
    done = subprocess.run(words, stdout=subprocess.PIPE, check=True, cwd=PYTHON.parent)
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    (command,) = (message["executable"] for message in messages if message.get("executable"))
    return Path(command)


def option(name: str, arguments: Sequence[str]) -> str | None:
    """The value of an option, as `--name value` or `--name=value`."""
    for argument, following in zip_longest(arguments, arguments[1:]):
        if argument == name:
            return following
        if argument.startswith(f"{name}="):
            return argument.partition("=")[2]
    return None


def promised_glibc(wheel: str) -> int | None:
    """N for the oldest glibc, 2.N, with which a wheel of this name runs; None for wheels without glibc."""
    return max((int(minor) for minor in re.findall(r"manylinux_2_(\d+)_", wheel)), default=None)


def check_compatibility(wheel: str, command: bytes) -> None:
    """Raise an error if the command needs a newer C library than the name of the wheel promises."""
    promised = promised_glibc(wheel)
    needed = max((int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)", command)), default=0)
    if promised is not None and needed > promised:
        raise RuntimeError(f"the command needs glibc 2.{needed}, and {wheel} promises 2.{promised}")


def module_of(wheel: Path) -> bytes:
    """The extension module in a wheel, as the launcher can load it."""
    with zipfile.ZipFile(wheel) as archive:
        module = archive.read(MODULE)
    return weakened(module) if IS_LINUX else module


def lists_of_parts(wheel: Path) -> dict[str, bytes]:
    """The lists of parts in a wheel, without the folder in which it was built."""
    folder = PYTHON.parent.as_uri().encode()
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.endswith(".cyclonedx.json")]
        return {name: archive.read(name).replace(folder, b"file:///multihop") for name in names}


def weakened(module: bytes) -> bytes:
    """An extension module in which all symbols of Python are weak: the loader ignores those that are missing.

    The module is an ELF file of 64 bits, little-endian, as on all platforms for which wheels are built.
    """
    if module[:6] != b"\x7fELF\x02\x01":
        raise RuntimeError("the extension module is no ELF file of 64 bits, little-endian")
    changed = bytearray(module)
    (sections,) = struct.unpack_from("<Q", module, 0x28)
    size, count = struct.unpack_from("<HH", module, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", module, sections + n * size) for n in range(count)]
    for _, kind, _, _, offset, length, linked, _, _, entry in headers:
        if kind != SHT_DYNSYM:
            continue
        names = headers[linked][4]
        for symbol in range(offset, offset + length, entry):
            name, info, _, section = struct.unpack_from("<IBBH", module, symbol)
            if section == 0 and info >> 4 == STB_GLOBAL and is_of_python(module, names + name):
                changed[symbol + 4] = STB_WEAK << 4 | info & 0xF
    return bytes(changed)


def is_of_python(module: bytes, name: int) -> bool:
    """Whether the name at this place is one of Python's."""
    return module.startswith((b"Py", b"_Py"), name)


@contextmanager
def runnable(command: bytes, module: bytes) -> Iterator[list[str]]:
    """Words that run the command of a wheel, or those of MULTIHOP_COMMAND, which writes the same pages."""
    if words := shlex.split(os.environ.get("MULTIHOP_COMMAND", "")):
        yield words
        return
    with tempfile.TemporaryDirectory() as folder:
        program = install(Path(folder), command)
        (Path(folder) / MODULE).write_bytes(module)
        yield [str(program)]


def pages(words: Sequence[str]) -> dict[str, bytes]:
    """Manual pages and completions of a command, for the folder `share` of an installation."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "pages"
        subprocess.run([*words, "manual", folder], stdout=subprocess.DEVNULL, check=True)
        found = {f"man/man1/{page.name}": page.read_bytes() for page in sorted(folder.iterdir())}
    for shell, path in COMPLETIONS.items():
        done = subprocess.run([*words, "completions", shell], stdout=subprocess.PIPE, check=True)
        found[path] = done.stdout
    return found


def extend(wheel: Path, files: Mapping[str, bytes], programs: Mapping[str, bytes]) -> None:
    """Add files and executable programs to a wheel and to the list of its files, or replace some of them."""
    with zipfile.ZipFile(wheel) as old:
        (listed,) = (name for name in old.namelist() if name.endswith(".dist-info/RECORD"))
        replaced = {listed, *files, *programs}
        kept = [entry for entry in old.infolist() if entry.filename not in replaced]
        members = [Member(entry.filename, old.read(entry), entry.external_attr >> 16) for entry in kept]
        rows = list(csv.reader(io.StringIO(old.read(listed).decode())))
    rows = [row for row in rows if row[0] not in replaced or row[0] == listed]
    for name, content in {**files, **programs}.items():
        members.append(Member(name, content, 0o100755 if name in programs else 0o100644))
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        rows.append([name, f"sha256={digest}", str(len(content))])
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    members.append(Member(listed, text.getvalue().encode(), 0o100644))
    longer = wheel.with_suffix(".part")
    longer.write_bytes(archive(members))
    longer.replace(wheel)


class Member(NamedTuple):
    """A file in an archive."""

    name: str
    content: bytes
    mode: int
    """Kind and rights, as Unix has them."""


def archive(members: Sequence[Member]) -> bytes:
    """Write a ZIP archive of members. libdeflate compresses them, because zlib makes them 3% longer.

    The same members make the same archive: each file has the earliest time of the format, 1980.
    """
    files, index = bytearray(), bytearray()
    for name, content, mode in members:
        path, packed = name.encode("ascii"), deflate_compress(content, LEVEL)
        sizes = zlib.crc32(content), len(packed), len(content), len(path)
        head = struct.pack("<5H3I2H", ZIP_VERSION, 0, zipfile.ZIP_DEFLATED, 0, FIRST_OF_1980, *sizes, 0)
        made_by = struct.pack("<H", UNIX << 8 | ZIP_VERSION)
        index += b"PK\1\2" + made_by + head + struct.pack("<3H2I", 0, 0, 0, mode << 16, len(files)) + path
        files += b"PK\3\4" + head + path + packed
    counts = len(members), len(members), len(index), len(files)
    return bytes(files + index + b"PK\5\6" + struct.pack("<4H2IH", 0, 0, *counts, 0))


IS_LINUX = sys.platform == "linux"
PYTHON = Path(__file__).resolve().parents[2] / "python"
COMMAND = "multihop/bin/multihop"
"""Place of the Rust command in the package; `multihop-launcher` finds the module from there."""
MODULE = "multihop/_core.abi3.so"
"""Place of the extension module in the package."""
SHT_DYNSYM, STB_GLOBAL, STB_WEAK = 11, 1, 2
"""Numbers of ELF: the section with the symbols for the loader, and how a symbol is bound."""
COMPLETIONS = {
    "bash": "bash-completion/completions/multihop",
    "zsh": "zsh/site-functions/_multihop",
    "fish": "fish/vendor_completions.d/multihop.fish",
}
LEVEL = 12
"""The level of libdeflate with the shortest files."""
ZIP_VERSION, UNIX, FIRST_OF_1980 = 20, 3, 0x21
"""Numbers of ZIP: the version that knows deflate, the system of the modes, and a date."""
