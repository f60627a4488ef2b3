#!/usr/bin/env python3
"""Measure `multihop send` over two paths at once, and with one of them lost.

    python3 tools/two_paths.py [--runs N] [--multihop PROGRAM]

Two namespaces joined by two veth pairs, shaped to 20 Mb/s ("Wi-Fi") and 8 Mb/s ("LTE") by the kernel's token
bucket; as root, about a minute and a half for each run. Printed are means and half the 95% intervals:

    sum     goodput over both paths, relative to the sum of goodputs over either path alone
    pause   the longest time without a byte of the file at the receiver while Wi-Fi is lost for 10 s, and in
            the 3 s after that: every packet is lost, and neither kernel knows
    during  goodput while Wi-Fi is lost, relative to that over LTE alone
    down    the longest time if Wi-Fi is lost once more, by interfaces that are down
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RATES = {"wifi": "20mbit", "lte": "8mbit"}
ADDRESSES = {"wifi": ("10.81.1.1", "10.81.1.2"), "lte": ("10.81.2.1", "10.81.2.2")}
"""The addresses of the sender and of the receiver on each path."""
TOKEN = "37fdy-51qak-bcwkp-bfvd4-szgrs"
STEADY, MEASURED, OUTAGE, STEP = 4.0, 8.0, 10.0, 0.02
"""Seconds: until the rate is steady, of a measurement, of the outage, and between two looks at the file."""
STUDENT = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31, 10: 2.26, 20: 2.09}
"""Student's t for 95% intervals, by the number of runs."""


def ip(*words: str) -> None:
    """Run the command `ip` with these words."""
    subprocess.run(["ip", *words], check=True)


@contextmanager
def hosts() -> Iterator[dict[str, str]]:
    """Two namespaces, joined by both paths, and removed at the end."""
    names = {role: f"paths-{os.getpid()}-{role}" for role in ("sender", "receiver")}
    try:
        for name in names.values():
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        for path, addresses in ADDRESSES.items():
            near, far = names["sender"], names["receiver"]
            ip("-n", near, "link", "add", path, "type", "veth", "peer", "name", path, "netns", far)
            for name, address in zip((near, far), addresses, strict=True):
                ip("-n", name, "addr", "add", f"{address}/24", "dev", path)
                ip("-n", name, "link", "set", path, "up")
                shape = ["root", "tbf", "rate", RATES[path], "burst", "8k", "limit", "60k"]
                subprocess.run(["tc", "-n", name, "qdisc", "add", "dev", path, *shape], check=True)
        yield names
    finally:
        for name in names.values():
            subprocess.run(["ip", "netns", "del", name], check=False)


class Transfer:
    """A file on its way from one host to the other."""

    def __init__(self, names: dict[str, str], folder: Path, multihop: str, paths: list[str]) -> None:
        self.folder = folder / "-".join(["to", *paths])
        size = 200_000_000
        source = folder / "file"
        if not source.exists():
            source.write_bytes(os.urandom(size))
        at = ("ip", "netns", "exec")
        secret = ("--token", TOKEN)
        receive = [*at, names["receiver"], multihop, "recv", "--once", "--to", str(self.folder), *secret]
        self.receiver = subprocess.Popen(receive, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.5)
        local = [word for path in paths for word in ("--local", ADDRESSES[path][0])]
        to = ADDRESSES[paths[0]][1]
        send = [*at, names["sender"], multihop, "send", *local, *secret, str(source), to]
        self.sender = subprocess.Popen(send, stdout=subprocess.DEVNULL)

    def received(self) -> int:
        """Bytes of the file that the receiver has written so far."""
        files = [path for path in self.folder.rglob("*") if path.is_file()]
        return sum(path.stat().st_blocks * 512 for path in files)

    def goodput(self, seconds: float) -> float:
        """Bytes per second over a time from now on."""
        before, begun = self.received(), time.monotonic()
        time.sleep(seconds)
        return (self.received() - before) / (time.monotonic() - begun)

    def longest_pause(self, seconds: float) -> float:
        """The longest time without further bytes, within a time from now on, s."""
        begun = latest = time.monotonic()
        known, longest = self.received(), 0.0
        while (now := time.monotonic()) < begun + seconds:
            if (size := self.received()) > known:
                longest, latest, known = max(longest, now - latest), now, size
            time.sleep(STEP)
        return max(longest, time.monotonic() - latest)

    def stop(self) -> None:
        """End the programs of both hosts."""
        for program in (self.sender, self.receiver):
            program.kill()
            program.wait()


def measure(multihop: str) -> dict[str, float]:
    """One run: each path alone, both, and both with an outage."""
    with tempfile.TemporaryDirectory() as folder, hosts() as names:
        rates = {}
        for paths in (["wifi"], ["lte"], ["wifi", "lte"]):
            transfer = Transfer(names, Path(folder), multihop, paths)
            time.sleep(STEADY)
            rates["+".join(paths)] = transfer.goodput(MEASURED)
            if len(paths) == 2:
                pause, during = outage(transfer, lambda: lose(names), lambda: find(names))
                down, _ = outage(transfer, lambda: switch(names, "down"), lambda: switch(names, "up"))
            transfer.stop()
    print(
        {name: f"{rate * 8e-6:.1f} Mb/s" for name, rate in rates.items()}, f"pause {pause:.2f}, {down:.2f} s"
    )
    alone = rates["wifi"] + rates["lte"]
    return {"sum": rates["wifi+lte"] / alone, "pause": pause, "during": during / rates["lte"], "down": down}


def outage(transfer: Transfer, begin: Callable[[], None], end: Callable[[], None]) -> tuple[float, float]:
    """Lose Wi-Fi for 10 s: the longest pause, until 3 s later, s, and the goodput meanwhile."""
    begin()
    pause = transfer.longest_pause(2.0)
    during = transfer.goodput(OUTAGE - 2.0)
    end()
    return max(pause, transfer.longest_pause(3.0)), during


def lose(names: dict[str, str]) -> None:
    """Let both hosts send their packets over Wi-Fi to a station that is not there."""
    for name, address in zip(names.values(), reversed(ADDRESSES["wifi"]), strict=True):
        ip("-n", name, "neigh", "replace", address, "lladdr", "02:00:00:00:00:99", "dev", "wifi")


def find(names: dict[str, str]) -> None:
    """Let both hosts look for each other over Wi-Fi again."""
    for name, address in zip(names.values(), reversed(ADDRESSES["wifi"]), strict=True):
        ip("-n", name, "neigh", "del", address, "dev", "wifi")


def switch(names: dict[str, str], state: str) -> None:
    """Bring the interfaces of Wi-Fi up or down."""
    for name in names.values():
        ip("-n", name, "link", "set", "wifi", state)


def main() -> int:
    """Measure in several runs and print the intervals."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=5, choices=sorted(STUDENT))
    parser.add_argument("--multihop", default=str(ROOT / "target/release/multihop"), metavar="PROGRAM")
    options = parser.parse_args()
    runs = [measure(options.multihop) for _ in range(options.runs)]
    for name in ("sum", "pause", "during", "down"):
        values = [run[name] for run in runs]
        half = STUDENT[options.runs] * statistics.stdev(values) / math.sqrt(len(values))
        print(f"{name:8} {statistics.fmean(values):.3f} ± {half:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
