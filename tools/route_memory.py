#!/usr/bin/env python3
"""Measure memory and idle processor time of `multihop route` in a mesh of fifty hosts.

    python3 tools/route_memory.py [--protocols olsr apdr babel] [--hosts N] [--seconds S]

The hosts are network namespaces. Cables join each host to the next two on a ring, so that each host
has four neighbours. When all hosts have routes to all others, the daemons rest. Printed are the
largest resident memory of one daemon (VmRSS), the private part of it (RssAnon), and the largest
share of a processor. Needs root and a program for routers: `cargo build --release -p multihop-cli
--no-default-features --features network`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from real_programs import MULTIHOP
from route_babel import ip, usage_of, wait_for


@dataclass
class Host:
    """A namespace with a daemon."""

    number: int
    interfaces: list[str] = field(default_factory=list)
    daemon: subprocess.Popen[bytes] | None = None

    @property
    def name(self) -> str:
        """Name of the namespace."""
        return f"memory-{os.getpid()}-{self.number}"

    def run(self, *words: str) -> subprocess.CompletedProcess[bytes]:
        """Run a command in the namespace."""
        return subprocess.run(["ip", "netns", "exec", self.name, *words], check=False, capture_output=True)


@contextlib.contextmanager
def hosts(count: int) -> Iterator[list[Host]]:
    """Hosts on a ring, each joined to the next two, without daemons yet."""
    made = [Host(number) for number in range(count)]
    try:
        for host in made:
            ip("netns", "add", host.name)
            ip("-n", host.name, "link", "set", "lo", "up")
        links = [(n, (n + step) % count) for n in range(count) for step in (1, 2)]
        for number, (one, other) in enumerate(links):
            names = [f"l{one}to{other}", f"l{other}to{one}"]
            near, far = made[one], made[other]
            ip(
                "link",
                "add",
                names[0],
                "netns",
                near.name,
                "type",
                "veth",
                "peer",
                names[1],
                "netns",
                far.name,
            )
            for end, (host, name) in enumerate(((near, names[0]), (far, names[1]))):
                host.interfaces.append(name)
                ip(
                    "-n",
                    host.name,
                    "addr",
                    "add",
                    f"10.{1 + number // 256}.{number % 256}.{end + 1}/24",
                    "dev",
                    name,
                )
                ip("-n", host.name, "link", "set", name, "up")
        yield made
    finally:
        for host in made:
            if host.daemon:
                host.daemon.kill()
                host.daemon.wait()
            subprocess.run(["ip", "netns", "del", host.name], check=False)


def measure(options: argparse.Namespace, protocol: str) -> tuple[float, int, int, float]:
    """Seconds until all routes are there, memory and its private part in kB, share of a processor."""
    with hosts(options.hosts) as made:
        begin = time.monotonic()
        for host in made:
            words = [
                options.multihop,
                "-q",
                "route",
                *host.interfaces,
                "--set",
                f"routing.protocol={protocol}",
            ]
            host.daemon = subprocess.Popen(["ip", "netns", "exec", host.name, *words])

        def is_complete(host: Host) -> bool:
            done = host.run(str(options.multihop), "route", "status", "--json")
            # Each of the other hosts has four addresses, of which three networks are direct.
            return done.returncode == 0 and len(json.loads(done.stdout)["routes"]) >= 4 * (options.hosts - 1)

        for host in made:
            wait_for(lambda host=host: is_complete(host))  # type: ignore[misc]
        took = time.monotonic() - begin
        time.sleep(10)
        daemons = [host.daemon for host in made if host.daemon]
        before = [usage_of(one.pid)[0] for one in daemons]
        time.sleep(options.seconds)
        after = [usage_of(one.pid) for one in daemons]
        share = max(now[0] - first for now, first in zip(after, before, strict=True)) / options.seconds
        return took, max(one[1] for one in after), max(one[2] for one in after), share


def main() -> int:
    """Measure each protocol in turn and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--multihop", type=Path, default=MULTIHOP, help="the command to measure")
    parser.add_argument("--protocols", nargs="+", default=["olsr", "apdr", "babel"])
    parser.add_argument("--hosts", type=int, default=50, help="number of hosts")
    parser.add_argument("--seconds", type=float, default=60.0, help="length of the rest")
    options = parser.parse_args()
    print("| protocol | all routes after, s | resident, MiB | private, MiB | processor, % |")
    print("|---|---|---|---|---|")
    for protocol in options.protocols:
        took, resident, private, share = measure(options, protocol)
        cells = [f"{took:.0f}", f"{resident / 1024:.1f}", f"{private / 1024:.1f}", f"{100 * share:.2f}"]
        print(f"| `{protocol}` | {' | '.join(cells)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
