"""Files that are whole, also after a loss of power."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["append_line", "complete_file", "json_lines", "make_folder", "write_text"]


@contextmanager
def complete_file(path: Path) -> Iterator[Path]:
    """A temporary name for a new file, which is renamed at the end, or deleted after an exception.

    A disk that is full, a process that is killed, or a loss of power thus leaves the file that was there
    before. At the end contents and name are on the disk.
    """
    if path.exists() and not path.is_file():  # a device or a pipe
        yield path
        return
    path = path.resolve()
    part = path.with_name(f"{path.name}.part")
    try:
        yield part
        if part.exists():  # it need not be written at all
            with part.open("rb+") as file:
                os.fsync(file.fileno())
            part.replace(path)
            _sync_folder(path.parent)
    finally:
        part.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a whole file."""
    with complete_file(path) as part:
        part.write_text(text, "utf-8")


def make_folder(path: Path) -> None:
    """Create a folder and its parents, if missing, with their names on the disk."""
    path = path.absolute()
    missing = [folder for folder in (path, *path.parents) if not folder.is_dir()] or [path]
    path.mkdir(parents=True, exist_ok=True)
    for folder in reversed(missing):
        _sync_folder(folder.parent)


def append_line(path: Path, line: str) -> None:
    """Add a line to a file; afterwards a loss of power does not take it. `json_lines` reads such a file."""
    with path.open("ab+") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(end - 1, 0))
        # A process that was killed may have left an incomplete line.
        gap = b"" if file.read(1) in (b"", b"\n") else b"\n"
        file.write(gap + line.encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
    _sync_folder(path.absolute().parent)


def json_lines(path: Path) -> list[dict[str, Any]]:
    """The complete lines of a file, each a JSON object; none if there is no such file."""
    found = []
    for line in path.read_bytes().split(b"\n") if path.is_file() else []:
        try:
            one = json.loads(line)
        except ValueError:  # it is incomplete, or a part of it is missing
            continue
        if isinstance(one, dict):
            found.append(one)
    return found


def _sync_folder(path: Path) -> None:
    """Write the names in a folder to the disk, if the system and the file system have such an operation."""
    if os.name != "posix":
        return
    try:
        folder = os.open(path, os.O_RDONLY)
    except PermissionError:  # a folder that can be written, but not read
        return
    try:
        os.fsync(folder)
    except OSError as problem:
        if problem.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(folder)
