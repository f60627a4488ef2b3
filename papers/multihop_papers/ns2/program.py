"""Run ns-2, if it is installed."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from multihop_papers.ns2.script import Network
from multihop_papers.ns2.trace import End, measures

PROGRAM = "ns"
SCENARIO = Path(__file__).with_name("network.tcl")


def installed() -> bool:
    """Whether ns-2 is there."""
    return shutil.which(PROGRAM) is not None


def version() -> str:
    """The version of ns-2."""
    with tempfile.TemporaryDirectory() as folder:
        question = Path(folder) / "version.tcl"
        question.write_text("puts [ns-version]\n")
        return _ns([str(question)]).strip()


def run(network: Network, seed: int, warmup: float) -> dict[str, Any]:
    """The metrics of one run."""
    with tempfile.TemporaryDirectory() as folder:
        path = write_trace(network, seed, Path(folder))
        ends = [End(flow.source, flow.destination, flow.payload) for flow in network.flows]
        with path.open() as lines:
            return measures(lines, ends, warmup, network.duration)


def write_trace(network: Network, seed: int, folder: Path, *, frames: bool = False) -> Path:
    """Run ns-2; returns the path of its trace."""
    movement, settings, trace = (folder / name for name in ("movement.tcl", "settings.tcl", "trace.tr"))
    movement.write_text(network.movement)
    settings.write_text(network.script(seed, movement, trace, frames=frames))
    _ns([str(SCENARIO), str(settings)])
    return trace


def _ns(arguments: list[str]) -> str:
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{PROGRAM}: {done.stderr.strip() or f'exit code {done.returncode}'}")
    return done.stdout
