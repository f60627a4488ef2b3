#!/usr/bin/env python3
"""Check `multihop.lab` as users have it: killed networks, many at once, and a failure that is replayed.

    python3 tools/lab_checks.py kills          the package of this Python
    python3 tools/lab_checks.py parallel
    python3 tools/lab_checks.py replay
    python3 tools/lab_checks.py kills --user nobody --wheel FILE.whl
                                               as root: an ordinary user, in a new environment

*kills* ends 100 networks by SIGKILL at random times, and lists what is left. Each network is made by a Python
program or by a worker of pytest-xdist. Its programs ignore SIGTERM and leave their process groups. Killed are
in turn the Python process, the driver (`multihop emulate`), the worker, and all processes at once. Afterwards
no process, namespace, file, network interface, mount or cgroup may be left. For an ordinary user the tool
watches the folders of the machine for temporary files and sockets, for root folders of the run alone.

*parallel* runs `pytest -n 2` with two tests that have four networks of five hops each, all eight at once.

*replay* records a test that fails, replays the recording 20 times and compares the frames.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import os
import pwd
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
if not importlib.metadata.entry_points(group="pytest11", name="multihop"):
    # The package is not installed: it is on the path.
    PYTEST += ["-p", "multihop.pytest_plugin"]
MARK = "MULTIHOP_KILLS"
"""Environment variable that all processes of a run have."""
FOLDERS = (tempfile.gettempdir(), "/var/tmp", "/run", "/dev/shm")
PATIENCE = 60.0
"""Seconds for everything to end."""
LATEST = 1.2
"""Latest time of a kill after the start of its victim, s: most networks then run all programs."""

BODY = """
    for node in net.nodes:
        node.start("trap '' TERM HUP INT; sleep 600 & setsid sleep 600 & sleep 600")
    net[0].run("sleep 600", timeout=600)
"""
PROGRAM = f"from multihop import lab\nwith lab.chain(hops=2, phy='802.11g') as net:{BODY}"
TESTS = f"""
import pytest
@pytest.mark.parametrize("n", [0, 1])
def test_it(mesh_lab, n):
  with mesh_lab.chain(hops=2, phy="802.11g") as net:{BODY}"""

PARALLEL = """
from concurrent.futures import ThreadPoolExecutor
import pytest

def reconnects(net):
    server = net[5].start("iperf3 -s -1", listens=5201)
    net[0].run("iperf3 -c {5} -t 5", timeout=30)
    net.cut(2, 3)
    assert net[0].start("ping -c 1 -W 1 {5}").wait(timeout=10) != 0
    net.mend(2, 3)
    net.move(1, to=(400, 0))
    net.lossy(0.1)
    net.freeze(2)
    net.kill(server)
    net.close()

@pytest.mark.parametrize("n", [0, 1])
def test_reconnects(mesh_lab, n):
    nets = [mesh_lab.chain(hops=5, phy="802.11g") for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(reconnects, nets))
    results = [net.result["emulation"] for net in nets]
    print("lost %:", [round(100 * result["lost_share"], 2) for result in results])
    print("99% of events late by ms:", [round(result["wakeups_late_ms"]["p99"], 2) for result in results])
"""
FAILS = """
def test_fails(mesh_lab):
    with mesh_lab.chain(hops=4, phy="802.11g") as net:
        net[4].start("iperf3 -s -1", listens=5201)
        net[0].run("iperf3 -c {4} -t 2", timeout=30)
        net.lossy(0.3)
        net[0].run("ping -c 20 -i 0.05 -W 1 {4}", timeout=30)
        net.cut(2, 3)
        net[0].run("ping -c 3 -i 0.1 -W 1 {4}", timeout=30)
"""

Process = tuple[int, list[str]]
"""Number and command line of a process."""


def main() -> int:
    """Run one check; returns 1 if it does not hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("check", choices=CHECKS)
    parser.add_argument(
        "--times", type=int, help="number of networks (default: 100), or of replays (default: 20)"
    )
    parser.add_argument(
        "--seed", type=int, default=1, help="seed of the times of kills (default: %(default)s)"
    )
    parser.add_argument("--late", help="allowed lateness in ms, for busy machines: --multihop-late of pytest")
    parser.add_argument("--user", help="ordinary user that runs everything; needs root")
    parser.add_argument(
        "--wheel", type=Path, help="install this wheel in a new environment of /usr/bin/python3"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lab-checks-") as folder:
        Path(folder).chmod(0o755)
        if options.user is None and options.wheel is None:
            return CHECKS[options.check](options, Path(folder))
        return again(options, Path(folder))


def again(options: argparse.Namespace, folder: Path) -> int:
    """Run this tool as another user, or in a new environment."""
    words: list[str | Path] = []
    if options.user is not None:
        person = pwd.getpwnam(options.user)
        words = ["setpriv", f"--reuid={person.pw_uid}", f"--regid={person.pw_gid}", "--clear-groups"]
        os.chown(folder, person.pw_uid, person.pw_gid)
    environment = {"HOME": str(folder), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    environment |= {name: os.environ[name] for name in ("MULTIHOP", "PYTHONPATH") if name in os.environ}

    def run(*more: str | Path) -> int:
        return subprocess.run([*words, *more], env=environment, cwd=folder, check=False).returncode

    python: str | Path = sys.executable
    if options.wheel is not None:
        python = folder / "venv" / "bin" / "python"
        failed = run("/usr/bin/python3", "-m", "venv", folder / "venv")
        failed = failed or run(
            python, "-m", "pip", "install", "-q", options.wheel.resolve(), "pytest", "pytest-xdist"
        )
        if failed:
            return failed
    settings = {"times": options.times, "seed": options.seed, "late": options.late}
    more = [f"--{name}={value}" for name, value in settings.items() if value is not None]
    return run(python, Path(__file__).resolve(), options.check, *more)


def kills(options: argparse.Namespace, folder: Path) -> int:
    """Kill networks and print what was left."""
    run, number = Run(folder, random.Random(options.seed)), options.times or 100
    before = run.machine()
    states: Counter[str] = Counter()
    left: list[str] = []
    for n in range(number):
        victim = list(VICTIMS)[n % len(VICTIMS)]
        state, found = run.kill_one(victim)
        states[f"{victim}: {state}"] += 1
        left += [f"network {n}, {victim} killed: {what}" for what in found]
    left += sorted(run.machine() - before)
    for state, count in sorted(states.items()):
        print(f"{count:>4} killed, {state}")
    print(f"{number} networks killed as user {os.geteuid()}, seed {options.seed}; left: {len(left)}")
    print("\n".join(left[:50]), end="\n" if left else "")
    return 1 if left else 0


def parallel(options: argparse.Namespace, folder: Path) -> int:
    """Run eight networks at once under `pytest -n 2`."""
    began = time.monotonic()
    done = tests(options, folder, PARALLEL, "-rA", "-n", "2")
    lines = [line for line in done.stdout.splitlines() if re.search("lost %|late by|passed|not valid", line)]
    print("\n".join(lines if done.returncode == 0 else [done.stdout]))
    print(f"eight networks of five hops as user {os.geteuid()}: {time.monotonic() - began:.1f} s")
    return done.returncode


def replay(options: argparse.Namespace, folder: Path) -> int:
    """Replay the recording of a failed test, and compare the frames and the events of packets."""
    # This tool may itself run without the package, if it installs a wheel.
    from multihop.lab import _command

    done = tests(options, folder, FAILS, "--multihop-record=out")
    if "1 failed" not in done.stdout:
        print(done.stdout)
        return 1
    (recording,) = (folder / "out").iterdir()
    found: Counter[tuple[str, ...]] = Counter()
    number, size = options.times or 20, 0
    for n in range(number):
        out = folder / f"replay-{n}"
        words = [_command(), "run", "--replay", str(recording), "--out", str(out), "--trace", "--pcap"]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        contents = [(out / name).read_bytes() for name in ("packets.pcapng", "packets.txt")]
        size = len(contents[0])
        found[tuple(hashlib.sha256(content).hexdigest()[:16] for content in contents)] += 1
    for hashes, count in found.items():
        print(f"{count} replays: frames {hashes[0]}, events {hashes[1]}")
    recorded = recording.stat().st_size
    print(f"{number} replays of a recording of {recorded} bytes, each with {size} bytes of frames")
    return 0 if len(found) == 1 else 1


def tests(
    options: argparse.Namespace, folder: Path, text: str, *words: str
) -> subprocess.CompletedProcess[str]:
    """Run tests with pytest."""
    (folder / "test_lab.py").write_text(text)
    late = [] if options.late is None else [f"--multihop-late={options.late}"]
    command = [*PYTEST, f"--basetemp={folder / 'pytest'}", *late, *words, "test_lab.py"]
    return subprocess.run(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )


class Run:
    """Networks that are started and killed, and the folders that are watched."""

    def __init__(self, folder: Path, draws: random.Random) -> None:
        self.folder, self.draws = folder, draws
        self.mark = f"{os.getpid()}-{time.time_ns()}"
        self.environment = {**os.environ, MARK: self.mark, "PYTHONDONTWRITEBYTECODE": "1"}
        self.watched = [Path(name) for name in FOLDERS]
        if os.geteuid() == 0:
            self.watched = [folder / "tmp", folder / "run"]
            self.environment |= {"TMPDIR": str(self.watched[0]), "XDG_RUNTIME_DIR": str(self.watched[1])}
            for path in self.watched:
                path.mkdir()
        (folder / "test_kills.py").write_text(TESTS)

    def kill_one(self, victim: str) -> tuple[str, list[str]]:
        """Start a network, kill its victim; returns what ran before, and what was left."""
        words = [sys.executable, "-c", PROGRAM]
        if victim == "worker":
            words = [*PYTEST, "-n", "1", "--max-worker-restart=0"]
            words += [f"--basetemp={self.folder / 'pytest'}", "test_kills.py"]
        files = self.files()
        with (self.folder / "log").open("ab") as log:
            started = subprocess.Popen(
                words, env=self.environment, cwd=self.folder, stdout=log, stderr=log, start_new_session=True
            )
        self.wait(lambda: VICTIMS[victim](self.processes(), started.pid), started)
        time.sleep(self.draws.uniform(0, LATEST))
        running = self.processes()
        # The numbers of namespaces that have ended are used again, so they are held open until the end.
        held = ExitStack()
        own = set(namespaces_of("self"))
        namespaces = {
            name
            for pid, _ in running
            for name, path in namespaces_of(pid).items()
            if name not in own and hold(held, path)
        }
        for pid in VICTIMS[victim](running, started.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.wait(lambda: not self.processes(), started)
        left = [f"process {pid}: {' '.join(line)}" for pid, line in self.processes()]
        for pid, _ in self.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        started.wait()
        self.wait(lambda: not self.files() - files, started, patience=2.0)
        left += [f"file {path}" for path in sorted(self.files() - files)]
        self.wait(lambda: not namespaces & all_namespaces(), started)
        left += [f"namespace {name}" for name in sorted(namespaces & all_namespaces())]
        held.close()
        return state_of(running), left

    def processes(self) -> list[Process]:
        """Processes of the run, by their environment; zombies have none."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if f"{MARK}={self.mark}".encode() in (folder / "environ").read_bytes():
                    line = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
                    found.append((int(folder.name), line))
        return found

    def files(self) -> set[Path]:
        """Files and folders of this user in the watched folders, without those of the run itself."""
        return {path for folder in self.watched for path in owned(folder, {self.folder} - set(self.watched))}

    def wait(
        self, done: Callable[[], object], started: subprocess.Popen[bytes], patience: float = PATIENCE
    ) -> None:
        """Wait until a function returns something true, but not for longer than `patience`."""
        end = time.monotonic() + patience
        while not done() and time.monotonic() < end:
            started.poll()
            time.sleep(0.01)

    def machine(self) -> set[str]:
        """Network interfaces, mounts and cgroups with names of multihop, and the files of the run.

        Other programs of the machine may make their own meanwhile.
        """
        mounts = Path("/proc/self/mountinfo").read_text().splitlines()
        cgroups = [folder for folder, _, _ in os.walk("/sys/fs/cgroup")]
        names = ("multihop", self.folder.name)
        return {
            *(f"interface {path.name}" for path in Path("/sys/class/net").glob("radio*")),
            *(f"mount {line}" for line in mounts if any(name in line for name in names)),
            *(f"cgroup {folder}" for folder in cgroups if any(name in folder for name in names)),
            *(f"file {path}" for path in self.files()),
        }


def owned(folder: Path, but: set[Path]) -> Iterator[Path]:
    """Paths of this user below a folder."""
    with suppress(OSError):
        for path in folder.iterdir():
            if path in but:
                continue
            is_folder = path.is_dir() and not path.is_symlink()
            with suppress(OSError):
                if path.lstat().st_uid == os.geteuid():
                    yield path
            if is_folder:
                yield from owned(path, but)


def namespaces_of(pid: int | str) -> dict[str, Path]:
    """Namespaces that a process is in, or holds by a descriptor."""
    found = {}
    for kind in ("ns", "fd"):
        with suppress(OSError):
            for entry in Path(f"/proc/{pid}/{kind}").iterdir():
                with suppress(OSError):
                    name = str(entry.readlink())
                    if re.fullmatch(r"(cgroup|ipc|mnt|net|pid|user|uts|time)\w*:\[\d+\]", name):
                        found[name.replace("_for_children", "")] = entry
    return found


def hold(held: ExitStack, path: Path) -> bool:
    """Keep a namespace open; returns whether it still exists."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    held.callback(os.close, descriptor)
    return True


def all_namespaces() -> set[str]:
    """Namespaces of all other processes that this user may inspect."""
    pids = {folder.name for folder in Path("/proc").glob("[0-9]*")} - {str(os.getpid())}
    return {name for pid in pids for name in namespaces_of(pid)}


def drivers(running: list[Process]) -> list[int]:
    """Processes that run `multihop emulate`."""
    return [pid for pid, line in running if Path(line[0]).name == "multihop" and "emulate" in line]


VICTIMS: dict[str, Callable[[list[Process], int], list[int]]] = {
    "python": lambda running, first: [pid for pid, _ in running if pid == first],
    "driver": lambda running, _: drivers(running),
    "worker": lambda running, first: [
        pid for pid, line in running if pid != first and "-c" in line and "python" in line[0]
    ],
    "everything": lambda running, _: [pid for pid, _ in running],
}
"""Processes that are killed."""


def state_of(running: list[Process]) -> str:
    """How far the network was."""
    if any("sleep" in line for _, line in running):
        return "programs ran"
    return "the network began" if drivers(running) else "no network yet"


CHECKS: dict[str, Callable[[argparse.Namespace, Path], int]] = {
    "kills": kills,
    "parallel": parallel,
    "replay": replay,
}

if __name__ == "__main__":
    sys.exit(main())
