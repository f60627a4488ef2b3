"""Run scenarios."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import multihop._core as _core
from multihop.files import complete_file
from multihop.results import Result
from multihop.scenario import Source, request


def run(
    source: Source = None,
    /,
    *,
    trace: str | os.PathLike[str] | None = None,
    pcap: str | os.PathLike[str] | None = None,
    series: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> Result:
    """Run one scenario.

    `source` is a scenario file or a mapping; every key of the scenario may be given or replaced by
    a keyword: `run("chain.toml", seed=3, mac={"llc": True}, **{"topology.hops": 4})`.

    `trace`, `pcap` and `series` name files to write: a line per packet event, a pcapng, and the series
    of the scenario's `record` table (which are in the result in any case).

    Raises `ScenarioError`, whose text names every problem, or `RunError`.
    """
    asked = request(source, settings)
    with tempfile.TemporaryDirectory(prefix="multihop-") as scratch, ExitStack() as files:

        def part(path: str | os.PathLike[str] | None) -> str | None:
            return None if path is None else str(files.enter_context(complete_file(Path(path))))

        record = Path(part(series) or Path(scratch) / "series.csv")
        text = _core.run(*asked, part(trace), part(pcap), str(record))
        return Result.of(json.loads(text), record.read_text("utf-8") if record.is_file() else "")


def run_all(runs: Iterable[Mapping[str, Any]], *, jobs: int | None = None) -> list[Result]:
    """Run many scenarios on all processors, or on `jobs` of them; the results have the same order.

    Each run is a mapping of what `run` takes by keyword, with the file, if any, under `source`.
    """
    with ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        return list(pool.map(_run_one, runs))


def check(source: Source = None, /, **settings: Any) -> None:
    """Raise `ScenarioError` if a scenario is invalid."""
    _core.check(*request(source, settings))


def schema() -> dict[str, Any]:
    """The JSON Schema of scenario files."""
    loaded: dict[str, Any] = json.loads(_core.schema())
    return loaded


def _run_one(settings: Mapping[str, Any]) -> Result:
    others = {key: value for key, value in settings.items() if key != "source"}
    return run(settings.get("source"), **others)
