"""The runs of ns-2 that belong to those of a study, cell by cell and seed by seed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from multihop.files import append_line, json_lines
from multihop.progress import Progress
from multihop_papers.declare import Metric
from multihop_papers.ns2 import program
from multihop_papers.ns2.script import SENSE_RANGE, Flow, Network
from multihop_papers.study import Samples, Study, Values, pick

FILE = "ns2.jsonl"


@dataclass(frozen=True)
class Sender:
    """A kind of flow in the words of both simulators."""

    ours: dict[str, Any]
    """Keys of `[[flow]]` in the simulator's scenario."""
    variant: str = ""
    """ns-2's name of the TCP; none for datagrams."""
    delayed_acks: bool = False
    window: int = 0

    def theirs(self, flow: dict[str, Any]) -> Flow:
        """A flow of our result as one of ns-2."""
        ends = (flow["from"], flow["to"], flow["start"])
        if not self.variant:
            return Flow(*ends, rate_kbps=self.ours["rate_kbps"], payload=self.ours["size"])
        return Flow(*ends, self.variant, self.delayed_acks, self.window)


@dataclass(frozen=True)
class Kind:
    """Counterpart in ns-2 of the flows of a cell."""

    routing: str
    """`static`, `AODV` or `DSR`."""
    sender: Sender
    sense_range: float = SENSE_RANGE


class Pairs:
    """Runs of ns-2, kept in a file beside those of the study."""

    def __init__(self, study: Study, kind: Callable[[Values], Kind]) -> None:
        self.study = study
        self.kind = kind
        self.seeds: dict[Values, int] = {}
        """How many seeds of each cell have been asked for."""
        self.path = study.folder / FILE if study.folder is not None else None
        self.found: dict[str, dict[str, Any]] = {}
        if self.path is not None:
            self.found = {one["key"]: one["result"] for one in json_lines(self.path)}

    def run(self, cells: Iterable[Values], seeds: int, jobs: int | None = None) -> int:
        """Run what is missing of some cells, if ns-2 is installed; returns how many are still missing."""
        self.seeds |= dict.fromkeys(cells, min(seeds, self.study.seeds))
        everything = list(self._all())
        missing = [(key, *one) for key, *one in everything if key not in self.found]
        if not missing or not program.installed():
            return len(missing)
        progress = Progress(f"{self.study.experiment.id}, ns-2")
        progress.begin(len(everything), len(everything) - len(missing))
        try:
            with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
                runs = pool.map(lambda one: (one[0], self._perform(one[1], one[2])), missing)
                for key, result in runs:
                    self._keep(key, result)
                    progress.step()
        finally:
            progress.end()
        return 0

    def samples(self, metric: Metric, cell: Values) -> Samples:
        """A metric in every run of a cell."""
        found = {(seed, 0): pick(self.found[self._key(cell, seed)], metric) for seed in self._seeds(cell)}
        return {seed: value for seed, value in found.items() if value is not None}

    def _all(self) -> Iterator[tuple[str, Values, int]]:
        for cell in self.seeds:
            for seed in self._seeds(cell):
                yield self._key(cell, seed), cell, seed

    def _seeds(self, cell: Values) -> range:
        return self.study.each_seed(self.seeds[cell])

    def _key(self, cell: Values, seed: int) -> str:
        scenario = json.dumps(self.study.request(cell, seed))
        return sha256(f"{RULES} {cell} {scenario}".encode()).hexdigest()[:32]

    def _perform(self, cell: Values, seed: int) -> dict[str, Any]:
        result = self.study.result(cell, seed).data
        kind = self.kind(cell)
        network = Network(
            duration=result["sim_seconds"],
            routing=kind.routing,
            movement=movement(self.study, cell, seed),
            flows=tuple(kind.sender.theirs(flow) for flow in result["flows"]),
            sense_range=kind.sense_range,
        )
        return program.run(network, seed, self.study.experiment.scenario["warmup"])

    def _keep(self, key: str, result: dict[str, Any]) -> None:
        self.found[key] = result
        if self.path is not None:
            append_line(self.path, json.dumps({"key": key, "result": result}))


RULES = "1"
"""Part of the keys of runs: another number repeats all, after a change of what ns-2 is given."""


def movement(study: Study, cell: Values, seed: int) -> str:
    """Positions and movement of a run in setdest's format."""
    request = study.request(cell, seed)
    with tempfile.TemporaryDirectory() as folder:
        scenario, out = Path(folder) / "scenario.json", Path(folder) / "movement.tcl"
        scenario.write_text(request.text)
        settings = [word for key, value in request.overrides for word in ("--set", f"{key}={value}")]
        command = [sys.executable, "-m", "multihop", "motion"]
        arguments: list[str | Path] = [*command, scenario, "--format", "ns2", "--out", out, *settings]
        if subprocess.run(arguments, check=False).returncode:
            raise RuntimeError(f"{study.experiment.id}: no movement of {cell}")
        return out.read_text()
