"""The files of the project."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def files() -> list[Path]:
    """Files that git tracks or would track, relative to the root."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout
    paths = (ROOT / name for name in listed.split("\0") if name)
    return sorted(path.relative_to(ROOT) for path in paths if path.is_file())


def is_text(path: Path) -> bool:
    """Whether a file has no zero byte near its start."""
    return b"\0" not in (ROOT / path).read_bytes()[:8192]
