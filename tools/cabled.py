"""Hosts of measurements: network namespaces with a daemon each, joined by cables. Needs root."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Host:
    """A namespace with a daemon."""

    number: int
    interfaces: list[str] = field(default_factory=list)
    daemon: subprocess.Popen[bytes] | None = None

    @property
    def name(self) -> str:
        """Name of the namespace."""
        return f"cabled-{os.getpid()}-{self.number}"

    def words(self, *command: str | Path) -> list[str]:
        """A command that runs in the namespace."""
        return ["ip", "netns", "exec", self.name, *map(str, command)]

    def usage(self) -> tuple[float, int, int]:
        """Processor time in seconds, resident memory and its private part in kB of the daemon."""
        assert self.daemon is not None
        folder = Path(f"/proc/{self.daemon.pid}")
        # Nanoseconds, unlike the ticks of 10 ms in /proc/PID/stat.
        times = [int(task.read_text().split()[0]) for task in folder.glob("task/*/schedstat")]
        status = (folder / "status").read_text()
        memory = [int(re.search(rf"{name}:\s+(\d+)", status)[1]) for name in ("VmRSS", "RssAnon")]  # type: ignore[index]
        return sum(times) / 1e9, memory[0], memory[1]


def ip(*words: str) -> None:
    """Run the command ip."""
    subprocess.run(["ip", *words], check=True)


def interface(link: tuple[int, int], end: int) -> str:
    """Name of the interface at an end of a cable between two hosts."""
    return f"x{link[end]}to{link[1 - end]}"


@contextlib.contextmanager
def cabled(
    hosts: Sequence[Host],
    links: Sequence[tuple[int, int]],
    prepare: Callable[[Host], None] = lambda _: None,
) -> Iterator[None]:
    """Namespaces of hosts, and cables between their numbers with a network of IPv4 each.

    `prepare` is called before a host gets its cables. Daemons and namespaces end with the context.
    """
    try:
        for host in hosts:
            ip("netns", "add", host.name)
            ip("-n", host.name, "link", "set", "lo", "up")
            prepare(host)
        for number, link in enumerate(links):
            ends = [hosts[end] for end in link]
            names = [interface(link, end) for end in (0, 1)]
            words = ["type", "veth", "peer", names[1], "netns", ends[1].name]
            ip("link", "add", names[0], "netns", ends[0].name, *words)
            for end, (host, name) in enumerate(zip(ends, names, strict=True)):
                host.interfaces.append(name)
                address = f"10.{1 + number // 256}.{number % 256}.{end + 1}/24"
                ip("-n", host.name, "addr", "add", address, "dev", name)
                ip("-n", host.name, "link", "set", name, "up")
        yield
    finally:
        for host in hosts:
            if host.daemon:
                host.daemon.kill()
                host.daemon.wait()
            subprocess.run(["ip", "netns", "del", host.name], check=False)


def wait_for(is_so: Callable[[], bool], patience: float = 180.0) -> None:
    """Wait until something is so."""
    begin = time.monotonic()
    while not is_so():
        if time.monotonic() - begin > patience:
            sys.exit(f"nothing after {patience:.0f} s")
        time.sleep(0.1)
