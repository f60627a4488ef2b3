"""Files that get their names when they are complete."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["complete_file"]


@contextmanager
def complete_file(path: Path) -> Iterator[Path]:
    """A temporary name for a new file, which is renamed at the end, or deleted after an exception.

    A disk that is full, or a process that is killed, thus leaves the file that was there before.
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
    finally:
        part.unlink(missing_ok=True)
