#!/usr/bin/env python3
"""Compare multihop send with scp and rsync, and its tunnel with ssh -D, over loopback.

    python3 tools/compare_transfers.py

Needs `make build`, sshd, scp, rsync, curl. An sshd of its own runs with keys and configuration in a temporary
folder. Times are wall-clock times from the start of the sending program to its end; every result is compared
with its source.
"""

from __future__ import annotations

import argparse
import contextlib
import filecmp
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from real_programs import LOOPBACK, MULTIHOP, free_port, running, said, until_open, write_noise

NEEDED = ["sshd", "scp", "rsync", "curl", "ssh-keygen"]


def main() -> int:
    """Print the table of transfer times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--multihop", type=Path, default=MULTIHOP, help="the command to measure")
    parser.add_argument("--runs", type=int, default=3, help="runs of each case")
    parser.add_argument("--megabytes", type=int, default=200, help="size of the large file")
    parser.add_argument("--files", type=int, default=5000, help="number of small files, of 4 kB each")
    options = parser.parse_args()
    os.environ["PATH"] += ":/usr/sbin"
    missing = [name for name in NEEDED if not shutil.which(name)]
    if missing or not options.multihop.exists():
        print(f"skipped: {', '.join(missing) or options.multihop} is missing", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(Path(scratch), options.multihop)
        write_noise(bench.large, options.megabytes * 10**6, 1)
        bench.small.mkdir()
        for number in range(options.files):
            write_noise(bench.small / f"{number:05}", 4096, number)
        cases = {
            f"{options.megabytes} MB in one file": bench.transfers(bench.large),
            f"{options.files} files of 4 kB": bench.transfers(bench.small),
            f"{options.megabytes} MB by HTTP through SOCKS5": bench.downloads(),
        }
        with bench.sshd():
            show(cases, options.runs)
    return 0


def show(cases: dict[str, dict[str, Callable[[], float]]], runs: int) -> None:
    """Run all cases in turn, so that a disturbance does not concern one program only; print medians."""
    print("| what | by | median | runs |\n|---|---|---|---|")
    for what, ways in cases.items():
        seconds: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(runs):
            for name, way in ways.items():
                os.sync()
                seconds[name].append(way())
        for name, found in seconds.items():
            each = ", ".join(f"{one:.2f}" for one in found)
            print(f"| {what} | {name} | {statistics.median(found):.2f} s | {each} |", flush=True)


@dataclass
class Bench:
    """The programs, and a folder for everything that they need."""

    folder: Path
    multihop: Path

    def __post_init__(self) -> None:
        self.large, self.small, self.into = (self.folder / name for name in ("large", "small", "into"))
        self.key, self.port = self.folder / "key", free_port()
        self.options = ["-i", str(self.key), "-F", "none", "-o", "StrictHostKeyChecking=no"]
        self.options += ["-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR"]

    @contextlib.contextmanager
    def sshd(self) -> Iterator[None]:
        """An ssh server with its own keys."""
        host = self.folder / "host"
        for file in (self.key, host):
            run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(file)])
        configuration = self.folder / "sshd_config"
        configuration.write_text(
            f"Port {self.port}\nListenAddress {LOOPBACK}\nHostKey {host}\nPidFile none\nUsePAM no\n"
            f"AuthorizedKeysFile {self.key}.pub\nStrictModes no\nSubsystem sftp internal-sftp\n"
        )
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(exist_ok=True)
        with running([str(shutil.which("sshd")), "-D", "-e", "-f", configuration]):
            until_open(self.port)
            yield

    def transfers(self, source: Path) -> dict[str, Callable[[], float]]:
        """Every way to send a file or folder."""
        ssh = " ".join(["ssh", "-p", str(self.port), *self.options])
        to = f"{LOOPBACK}:{self.into}/"
        ways = {
            "scp": ["scp", "-q", "-r", "-p", "-P", str(self.port), *self.options, str(source), to],
            "rsync": ["rsync", "-a", "-e", ssh, str(source), to],
            "rsync --fsync": ["rsync", "-a", "--fsync", "-e", ssh, str(source), to],
        }
        others = {name: partial(self.arrives, source, partial(timed, words)) for name, words in ways.items()}
        return {"multihop send": partial(self.arrives, source, partial(self.send, source)), **others}

    def send(self, source: Path) -> float:
        """Seconds of `multihop send`."""
        with running(
            [self.multihop, "recv", "--listen", f"{LOOPBACK}:0", "--to", self.into, "--once"]
        ) as receiver:
            address, token = said(receiver, "listening on "), said(receiver, "token: ")
            return timed([str(self.multihop), "send", "--quiet", str(source), address, "--token", token])

    def arrives(self, source: Path, transfer: Callable[[], float]) -> float:
        """Seconds of a transfer into an empty folder, of which the result is the same."""
        shutil.rmtree(self.into, ignore_errors=True)
        self.into.mkdir()
        seconds = transfer()
        there = self.into / source.name
        if source.is_dir():
            names = sorted(path.name for path in source.iterdir())
            same, _, _ = filecmp.cmpfiles(source, there, names, shallow=False)
            assert sorted(same) == names, f"{len(same)} of {len(names)} files are there"
        else:
            assert filecmp.cmp(source, there, shallow=False), "the file is not the same"
        return seconds

    def downloads(self) -> dict[str, Callable[[], float]]:
        """Every way to fetch the large file from a web server."""
        return {"multihop tunnel": self.by_tunnel, "ssh -D": self.by_ssh, "no tunnel": lambda: self.fetch([])}

    def by_tunnel(self) -> float:
        """Seconds through a tunnel of multihop."""
        gateway = [self.multihop, "tunnel", "--listen", f"{LOOPBACK}:0", "--allow", "localhost:*"]
        with running(gateway) as far:
            address, token = said(far, "listening on "), said(far, "token: ")
            with running([self.multihop, "tunnel", address, "--token", token, "--socks", "0"]) as near:
                assert near.stdout is not None
                local = near.stdout.readline().split()[0]
                return self.fetch(["--socks5-hostname", local])

    def by_ssh(self) -> float:
        """Duration of the transfer through ssh, in seconds."""
        port = free_port()
        with running(
            ["ssh", "-N", "-D", f"{LOOPBACK}:{port}", "-p", str(self.port), *self.options, LOOPBACK]
        ):
            until_open(port)
            return self.fetch(["--socks5-hostname", f"{LOOPBACK}:{port}"])

    def fetch(self, proxy: list[str]) -> float:
        """Seconds until curl has the large file."""
        port = free_port()
        server = [
            sys.executable,
            "-m",
            "http.server",
            "--bind",
            LOOPBACK,
            "--directory",
            self.folder,
            str(port),
        ]
        with running(server):
            until_open(port)
            got = self.folder / "got"
            url = f"http://localhost:{port}/{self.large.name}"
            seconds = timed(["curl", "-sS", "--fail", "--noproxy", "", *proxy, "-o", str(got), url])
            assert filecmp.cmp(self.large, got, shallow=False), "the file is not the same"
            return seconds


def timed(command: list[str]) -> float:
    """Seconds that a command takes."""
    begin = time.monotonic()
    run(command)
    return time.monotonic() - begin


def run(command: list[str]) -> None:
    """Run a command that must succeed."""
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(main())
