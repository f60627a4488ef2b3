"""Finished runs in a folder: the files that `multihop sweep --out` writes and reads."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from multihop.results import SERIES, Result


class Shard(NamedTuple):
    """One part of a list that several machines share; the first is number 1."""

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read `I/N`."""
        number, _, of = text.partition("/")
        if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
            raise ValueError(f"found {text!r}, allowed: I/N with I from 1 to N")
        return cls(int(number), int(of))


class Journal:
    """A line of JSON for each run, by its key; kept in memory alone without a folder."""

    def __init__(self, folder: Path | None = None, shard: Shard | None = None) -> None:
        self.lines: dict[str, str] = {}
        self.file: Path | None = None
        if folder is None:
            return
        folder.mkdir(parents=True, exist_ok=True)
        name = "runs.jsonl" if shard is None else f"runs-{shard.number}-of-{shard.of}.jsonl"
        self.file = folder / name
        for path in sorted(folder.glob("runs*.jsonl")):
            for line in path.read_text("utf-8", errors="replace").split("\n"):
                self._remember(line)
        if self.file.is_file() and not self.file.read_bytes().endswith(b"\n"):
            self._write("")  # a killed process left half a line

    def __contains__(self, key: str) -> bool:
        return key in self.lines

    def append(self, line: str) -> None:
        """Keep a run."""
        self._remember(line)
        self._write(line)

    def result(self, key: str) -> Result:
        """What a run found."""
        document: dict[str, Any] = json.loads(self.lines[key])
        series = document.get("series")
        frame = pl.read_csv(io.StringIO(series), schema=SERIES) if series else pl.DataFrame(schema=SERIES)
        return Result(document["result"], frame)

    def cost(self, key: str) -> float:
        """Processor time that a run took, s; the time on the wall where that was not measured."""
        document: dict[str, Any] = json.loads(self.lines[key])
        return float(document.get("cost", document["result"]["wall_seconds"]))

    def _remember(self, line: str) -> None:
        # What is not whole is no line.
        try:
            self.lines[json.loads(line)["key"]] = line
        except (ValueError, KeyError, TypeError):
            return

    def _write(self, line: str) -> None:
        if self.file is not None:
            with self.file.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
