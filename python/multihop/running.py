"""Run scenarios, one or several at a time, in this process."""

from __future__ import annotations

import json
import os
import tempfile
import warnings
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Unpack

import multihop._core as _core
from multihop.controllers import Controllers
from multihop.files import complete_file
from multihop.progress import Progress
from multihop.results import Result
from multihop.scenario import Request, Source, request
from multihop.settings import Settings

File = str | os.PathLike[str]

SIGNALS = 0.1
"""Seconds between checks for an interrupt from the keyboard."""


def run(
    source: Source = None,
    /,
    *,
    trace: File | None = None,
    pcap: File | None = None,
    pcap_nodes: Sequence[int | str] = (),
    pcap_from: float | None = None,
    pcap_until: float | None = None,
    pcap_length: int | None = None,
    series: File | None = None,
    controllers: Controllers | None = None,
    **settings: Unpack[Settings],
) -> Result:
    """Run one scenario and return its results.

    `source` is a scenario file, the name of an example such as `chain-4`, or a mapping; every key of the
    scenario may be given or replaced by a keyword, and every key of a table by itself:
    `run("chain-4", seed=3, mac={"llc": True}, topology={"hops": 4})`.

    `trace`, `pcap` and `series` name files to write: a line per packet event, a pcapng, and the series
    of the scenario's `record` table (which are in the result in any case). The pcapng has all frames, or
    those at `pcap_nodes` (numbers or names), from `pcap_from` on and before `pcap_until` (s), and
    `pcap_length` bytes of each packet, radiotap header included.

    `controllers` are congestion controls in Python, classes of `CongestionControl`, by the names that the
    scenario gives to transports: `run(flow=[{"transport": "mine"}], controllers={"mine": Mine}, ...)`.

    Raises `ScenarioError`, whose text names every problem, or `RunError`; `ValueError` for a wrong filter.
    """
    outputs = Outputs(trace, pcap, pcap_nodes, pcap_from, pcap_until, pcap_length, series)
    return _run(request(source, settings, controllers), outputs, _core.Flag())


@dataclass(frozen=True)
class Outputs:
    """The keywords of `run` that are no keys of scenarios."""

    trace: File | None = None
    pcap: File | None = None
    pcap_nodes: Sequence[int | str] = ()
    pcap_from: float | None = None
    pcap_until: float | None = None
    pcap_length: int | None = None
    series: File | None = None

    def filter(self) -> tuple[list[str], float | None, float | None, int | None] | None:
        """The frames of the capture file; `None` if there is no file."""
        values = (self.pcap_from, self.pcap_until, self.pcap_length)
        if self.pcap is not None:
            nodes = [self.pcap_nodes] if isinstance(self.pcap_nodes, str) else self.pcap_nodes
            return [str(node) for node in nodes], *values
        if self.pcap_nodes or values != (None, None, None):
            raise ValueError("filters of a capture need a file: pcap")
        return None


def _run(asked: Request, outputs: Outputs, cancelled: _core.Flag) -> Result:
    wanted = outputs.filter()
    with tempfile.TemporaryDirectory(prefix="multihop-") as scratch, ExitStack() as files:

        def part(path: File | None) -> str | None:
            return None if path is None else str(files.enter_context(complete_file(Path(path))))

        record = Path(part(outputs.series) or Path(scratch) / "series.csv")
        trace, pcap = part(outputs.trace), part(outputs.pcap)
        text = _core.run(asked, trace, pcap, wanted, str(record), cancelled)
        recorded = record.read_text("utf-8") if record.is_file() else ""
        if recorded and (missing := _core.missing_series(asked, recorded)):
            warnings.warn(
                f"the series {', '.join(missing)} have no rows: no flow or node of the run has them",
                stacklevel=3,
            )
        return Result.of(json.loads(text), recorded, asked)


def run_all(
    runs: Iterable[Mapping[str, Any]], *, jobs: int | None = None, progress: bool = False
) -> list[Result]:
    """Run many scenarios on all processors, or on `jobs` of them; the results have the same order.

    Each run is a mapping of what `run` takes by keyword, with the file, if any, under `source`. `progress`
    shows a bar. An interrupt from the keyboard cancels all of them.
    """
    listed = list(runs)
    shown = Progress("runs", quiet=not progress)
    shown.begin(len(listed))
    cancelled = _core.Flag()
    pool = ThreadPoolExecutor(processors(jobs))
    try:
        started = [pool.submit(_run_one, one, cancelled) for one in listed]
        waiting = set(started)
        while waiting:
            # A signal that another thread receives does not wake this one.
            ended, waiting = wait(waiting, timeout=SIGNALS, return_when=FIRST_COMPLETED)
            for finished in ended:
                finished.result()
                shown.step()
        return [finished.result() for finished in started]
    finally:
        cancelled.set()
        pool.shutdown(cancel_futures=True)
        shown.end()


def processors(jobs: int | None) -> int:
    """The number of parallel runs."""
    if jobs is not None and jobs < 1:
        raise ValueError(f"jobs is {jobs}, allowed: 1 or more, or None for one on each processor")
    return jobs or os.cpu_count() or 1


def check(
    source: Source = None, /, *, controllers: Controllers | None = None, **settings: Unpack[Settings]
) -> None:
    """Raise `ScenarioError` if a scenario is invalid; `controllers` as in `run`."""
    _core.check(request(source, settings, controllers))


def schema() -> dict[str, Any]:
    """The JSON Schema of scenario files."""
    loaded: dict[str, Any] = json.loads(_core.schema())
    return loaded


def _run_one(settings: Mapping[str, Any], cancelled: _core.Flag) -> Result:
    keys = dict(settings)
    source, controllers = keys.pop("source", None), keys.pop("controllers", None)
    named = {field.name: keys.pop(field.name) for field in fields(Outputs) if field.name in keys}
    return _run(request(source, keys, controllers), Outputs(**named), cancelled)
