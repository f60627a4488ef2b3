"""The controllers of a bench: their names, and how a scenario names them."""

from __future__ import annotations

import hashlib
import json
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import multihop._core as _core
from multihop.bench.networks import MSS, RULE
from multihop.controllers import Controller, of_file, version
from multihop.scenario import Request

RIVALS = ("cubic", "bbr3", "newreno", "mesh")
"""Controllers that every controller is compared with."""
WINDOW = 4096
"""Limit of the congestion window of TCP, segments: above the bandwidth-delay product of every network."""
OWN_PARAMETERS = ("mesh", "tpa", "udp")
"""Transports that are not TCP, by the beginnings of their names."""


@dataclass(frozen=True)
class Contender:
    """A controller in a bench."""

    name: str
    controllers: tuple[Controller, ...] = ()
    """The class, of a controller in Python."""
    program: Path | None = None
    """The program that runs the simulations, of a controller in Rust."""

    @classmethod
    def of(cls, word: str, program: Path | None) -> Contender:
        """A Python file, the name of a built-in transport, or a name that `program` adds."""
        if program is not None:
            return cls(word, program=program)
        if word.endswith(".py"):
            name, control = of_file(Path(word))
            return cls(name, ((name, version(control), control),))
        return cls(word)

    @property
    def transport(self) -> Any:
        """Value of the key `transport`: TCP of Linux 6 with delayed ACKs, or a transport that is not TCP."""
        if self.name.startswith(OWN_PARAMETERS):
            return self.name
        kind = self.name if "+" in self.name else f"{self.name}+da"
        return {"kind": kind, "preset": "linux-6", "window_max": WINDOW, "mss": MSS}

    def request(self, scenario: dict[str, Any], folder: Path) -> Request:
        """A run of the scenario, whose files are in `folder`."""
        name = str(folder / "bench.json")
        return Request(json.dumps(scenario), "json", name, [], self.controllers)

    def key(self, request: Request) -> str:
        """Key of a run in the journal."""
        if self.program is None:
            return _core.key(request)
        digest = hashlib.sha256(_contents_hash(self.program))
        digest.update(f"{RULE} {request.text}".encode())
        for file in sorted(Path(request.name).parent.iterdir()):
            if file.suffix == ".trace":
                digest.update(file.read_bytes())
        return digest.hexdigest()[:32]


@cache
def _contents_hash(program: Path) -> bytes:
    """Hash of a program, which takes too long to read for every run."""
    return hashlib.sha256(program.read_bytes()).digest()


def by_program(program: Path, runs: Sequence[tuple[str, Request]], jobs: int) -> Iterator[str]:
    """Lines of a journal: runs of a program with controllers in Rust, `multihop_cli::main_with`."""
    build = f"{program.name} {_contents_hash(program).hex()[:16]}"
    with tempfile.TemporaryDirectory(prefix="multihop-") as scratch, ThreadPoolExecutor(jobs) as pool:

        def perform(key: str, request: Request) -> str:
            # Files that the scenario names are relative to the folder of its own file.
            path = Path(request.name).with_name(f"{key}.json")
            out = Path(scratch) / key
            path.write_text(request.text, "utf-8")
            try:
                done = subprocess.run(
                    [program, "run", path, "--out", out, "--quiet"],
                    capture_output=True,
                    text=True,
                    check=False,
                )
            finally:
                path.unlink()
            if done.returncode != 0:
                raise _core.RunError(f"{program}: {done.stderr.strip()}")
            result = json.loads((out / "result.json").read_text("utf-8"))
            series = (out / "series.csv").read_text("utf-8")
            return json.dumps({"key": key, "version": build, "result": result, "series": series})

        started = [pool.submit(perform, key, request) for key, request in runs]
        try:
            for ended in as_completed(started):
                yield ended.result()
        finally:
            pool.shutdown(cancel_futures=True)
