"""Runs in real time: several `multihop emulate` side by side, and what they found in a folder."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import cache
from pathlib import Path
from threading import Event
from typing import Any

import multihop
from multihop.files import append_line, json_lines, make_folder
from multihop.progress import Progress
from multihop.results import Result
from multihop.runs import Where
from multihop.scenario import Request, Run

LATE_LIMIT = 0.005
"""Lateness of 99% of events and packets above which a run is repeated, s: less than one segment lasts at 2 Mb/s."""
LOST_LIMIT = 0.01
"""Share of the time above which a run is repeated, too: programs go by the wall clock, the network does not."""
TRIES = 3
SIDE_BY_SIDE = 4
"""Emulations at a time for each processor; most of their time they wait."""
POLL = 0.1
"""Seconds between checks for the end of a run."""
KEPT = 4000
"""Characters that are kept of the output of a program."""
LIBRARY = Path(multihop.__file__).resolve().parents[1]
"""The folder from which the package `multihop` is imported."""
REPOSITORY = Path(__file__).resolve().parents[3]
QUIC = "multihop-quic"
PROBE = Path(__file__).with_name("probe.py")


class Emulations:
    """Finished emulations in a folder; the counterpart of `Journal`, whose lines have no place for programs."""

    def __init__(self, folder: Path) -> None:
        make_folder(folder)
        self.path = folder / "emulations.jsonl"
        self.documents: dict[str, dict[str, Any]] = {one["key"]: one for one in json_lines(self.path)}

    def __contains__(self, key: str) -> bool:
        return key in self.documents

    def __len__(self) -> int:
        return len(self.documents)

    def append(self, line: str) -> None:
        """Add a run: the line that performing it returned."""
        one = json.loads(line)
        self.documents[one["key"]] = one
        append_line(self.path, line)

    def result(self, key: str) -> Result:
        """The result of a run; raises `KeyError` if it has not finished."""
        return Result.of(self.documents[key]["result"], "")

    def is_good(self, key: str) -> bool:
        """Whether a run has finished, and the machine was not too busy for it."""
        return key in self.documents and not is_late(self.documents[key]["result"])

    def cost(self, key: str) -> float:
        """CPU time of a run with all its programs, s."""
        return float(self.documents[key]["cost"])


def key(request: Request) -> str:
    """Identifies a run, with its programs, which the key of a simulation leaves out."""
    text = json.dumps([multihop.build(), request])
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def complete(runs: Sequence[Run], journal: Emulations, where: Where, progress: Progress) -> int:
    """Perform the runs that are not in the journal, or were late; returns how many are still missing."""
    mine = [run for place, run in enumerate(runs) if where.shard is None or where.shard.has(place)]
    distinct = {run.key: run for run in mine}
    missing = [run for run in distinct.values() if not journal.is_good(run.key)]
    progress.begin(len(distinct), len(distinct) - len(missing))
    try:
        for line in _performed(missing, where.jobs or SIDE_BY_SIDE * (os.cpu_count() or 1)):
            journal.append(line)
            progress.step()
    finally:
        progress.end()
    return sum(run.key not in journal for run in runs)


def missing_tools(request: Request) -> str:
    """Why this machine cannot run the programs of a scenario; nothing if it can."""
    text = request.text + " ".join(value for _, value in request.overrides)
    if "$QUIC" in text and quic() is None:
        return f"{QUIC} is not built: cargo build --release in tools/quic"
    controls = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
    known = controls.read_text("utf-8").split() if controls.is_file() else []
    for control in re.findall(r"-C (mh_\w+)", text):
        if control not in known:
            return f"{control} is not loaded: multihop tcp load, as root"
    absent = (tool for tool in ("iperf3", "ping", "olsrd", "babeld") if re.search(rf"\b{tool} ", text) and shutil.which(tool) is None)
    return next((f"{tool} is not installed" for tool in absent), "")


def _performed(runs: Sequence[Run], jobs: int) -> Iterator[str]:
    stop = Event()
    with ThreadPoolExecutor(jobs) as pool:
        started = [pool.submit(_emulated, run, stop) for run in runs]
        try:
            for ended in as_completed(started):
                yield ended.result()
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)


def _emulated(run: Run, stop: Event) -> str:
    """One run, repeated while the machine is too busy for it; the last try is kept and says so."""
    tries = 1
    result, cost = _once(run, stop)
    while is_late(result) and tries < TRIES:
        tries += 1
        result, cost = _once(run, stop)
    result |= {"tries": tries, "machine": machine()}
    return json.dumps({"key": run.key, "version": multihop.build(), "cost": cost, "result": result})


def is_late(result: Mapping[str, Any]) -> bool:
    """Whether the machine was too busy for a run, or a server did not listen yet when its client called."""
    emulation = result["emulation"]
    refused = any("refused" in str(output) for output in result.get("outputs", []))
    return not emulation["valid"] or emulation["lost_share"] > LOST_LIMIT or refused


def _once(run: Run, stop: Event) -> tuple[dict[str, Any], float]:
    with tempfile.TemporaryDirectory(prefix="multihop-") as scratch:
        folder = Path(scratch)
        scenario, out = folder / f"scenario.{run.request.format}", folder / "out"
        scenario.write_text(run.request.text, "utf-8")
        sets = [word for key, value in run.request.overrides for word in ("--set", f"{key}={value}")]
        limits = ["--late-limit", str(LATE_LIMIT), "--out", str(out), "--json"]
        words = [sys.executable, "-m", "multihop", "emulate", str(scenario), *sets, *limits]
        # The programs run in another folder, where a relative PYTHONPATH would not find the library.
        path = os.pathsep.join([str(LIBRARY), *filter(None, [os.environ.get("PYTHONPATH")])])
        programs = {
            "MULTIHOP": os.environ.get("MULTIHOP", f"{sys.executable} -m multihop"),
            "QUIC": quic() or QUIC,
            "PROBE": f"{sys.executable} {PROBE}",
            "PYTHONPATH": path,
        }
        with (folder / "errors.txt").open("w+", encoding="utf-8") as errors:
            process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=errors, cwd=folder, env=os.environ | programs)
            usage = _wait(process, stop)
            errors.seek(0)
            if stop.is_set() or not (out / "result.json").is_file():
                raise multihop.RunError(errors.read().strip()[-KEPT:])
        result: dict[str, Any] = json.loads((out / "result.json").read_text("utf-8"))
        outputs = (out / f"program-{n}.txt" for n in range(len(result["programs"])))
        result["outputs"] = [_output(path) for path in outputs]
        return result, usage.ru_utime + usage.ru_stime


def _wait(process: subprocess.Popen[bytes], stop: Event) -> resource.struct_rusage:
    """Wait for the end, or bring it about once nobody wants the result; what it used with all its programs."""
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return usage
        if stop.wait(POLL):
            os.kill(process.pid, signal.SIGTERM)  # not `terminate`, which may wait for it


def _output(path: Path) -> Any:
    """Output of a program: a JSON document without its course over time, or the end of the text."""
    text = path.read_text("utf-8", "replace") if path.is_file() else ""
    start = text.find("{")
    try:
        document, _ = json.JSONDecoder().raw_decode(text[start:])
    except json.JSONDecodeError:
        return text[-KEPT:]
    document.pop("intervals", None)
    return document


@cache
def machine() -> dict[str, str]:
    """Versions of the kernel and of the programs that ran, and the number of processors."""
    found = {"Linux": platform.release(), "processors": str(os.cpu_count())}
    if shutil.which("iperf3"):
        said = subprocess.run(["iperf3", "--version"], capture_output=True, text=True, check=False).stdout
        found["iperf3"] = said.split()[1]
    lock = REPOSITORY / "tools" / "quic" / "Cargo.lock"
    if lock.is_file() and (version := re.search(r'name = "quinn"\nversion = "([^"]+)"', lock.read_text("utf-8"))):
        found["quinn"] = version[1]
    return found


def quic() -> str | None:
    """The program that measures QUIC, if it has been built."""
    built = REPOSITORY / "tools" / "quic" / "target" / "release" / QUIC
    return shutil.which(QUIC) or (str(built) if built.is_file() else None)
