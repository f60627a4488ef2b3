"""Programs under measurement: starting them, reading what they say, and ending them."""

from __future__ import annotations

import contextlib
import random
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MULTIHOP = ROOT / "target" / "release" / "multihop"
LOOPBACK = "127.0.0.1"
SOON = 20.0  # seconds
PART = 10**6  # bytes: randbytes has a limit


@contextlib.contextmanager
def running(command: Sequence[object]) -> Iterator[subprocess.Popen[str]]:
    """A program until the end of the block."""
    words = [str(word) for word in command]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as program:
        try:
            yield program
        finally:
            program.kill()


def said(program: subprocess.Popen[str], start: str) -> str:
    """The rest of the next line of the program that begins like this."""
    assert program.stdout is not None
    for line in program.stdout:
        if line.startswith(start):
            return line.removeprefix(start).strip()
    raise RuntimeError(f"{program.args!r} ended without {start!r}")


def free_port() -> int:
    """A TCP port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def until_open(port: int) -> None:
    """Wait until a TCP port of this host accepts connections."""
    end = time.monotonic() + SOON
    while time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection((LOOPBACK, port), 1):
            return
        time.sleep(0.02)
    raise TimeoutError(f"nothing listens on port {port}")


def write_noise(path: Path, size: int, seed: int) -> None:
    """Write bytes that do not compress, the same for each seed."""
    rng = random.Random(seed)
    with path.open("wb") as file:
        for begin in range(0, size, PART):
            file.write(rng.randbytes(min(PART, size - begin)))


def tree(folder: Path) -> dict[str, bytes]:
    """The contents of all files below a folder that have their final names."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
