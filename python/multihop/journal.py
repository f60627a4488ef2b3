"""Finished runs in a folder: the files that `multihop sweep --out` writes and reads."""

from __future__ import annotations

import json
from pathlib import Path

import multihop._core as _core
from multihop._core import Shard
from multihop.files import make_folder
from multihop.results import Result

__all__ = ["Journal", "Shard"]


class Journal:
    """A line of JSON for each run, by its key; without a folder, kept in memory only."""

    def __init__(self, folder: Path | None = None, shard: Shard | None = None) -> None:
        if folder is not None:
            make_folder(folder)
        self.core = _core.Journal(folder, shard)

    def __contains__(self, key: str) -> bool:
        return key in self.core

    def __len__(self) -> int:
        return len(self.core)

    def append(self, line: str) -> None:
        """Add a run: the line that performing it returned."""
        self.core.append(line)

    def sync(self) -> None:
        """Write all runs to the disk; a loss of power then takes none of them."""
        self.core.sync()

    def result(self, key: str) -> Result:
        """The result of a run; raises `KeyError` if it has not finished."""
        result, series = self.core.result(key)
        return Result.of(json.loads(result), series)

    def cost(self, key: str) -> float:
        """CPU time of a run, s; wall-clock time if CPU time was not measured."""
        return self.core.cost(key)
