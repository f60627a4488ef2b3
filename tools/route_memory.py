#!/usr/bin/env python3
"""Measure memory and idle processor time of `multihop route` in a mesh of fifty hosts.

    python3 tools/route_memory.py [--protocols olsr olsrv2 apdr babel] [--hosts N] [--seconds S]

The hosts are network namespaces. Cables join each host to the next two on a ring, so that each host
has four neighbours. When all hosts have routes to all others, the daemons rest. Printed are the
largest resident memory of one daemon (VmRSS), the private part of it (RssAnon), and the largest
share of a processor. Needs root and a program for routers: `cargo build --release -p multihop-cli
--no-default-features --features network`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

from cabled import Host, cabled, wait_for
from real_programs import MULTIHOP


def measure(options: argparse.Namespace, protocol: str) -> tuple[float, int, int, float]:
    """Seconds until all routes are there, memory and its private part in kB, share of a processor."""
    hosts = [Host(number) for number in range(options.hosts)]
    links = [(n, (n + step) % options.hosts) for n in range(options.hosts) for step in (1, 2)]
    with cabled(hosts, links):
        begin = time.monotonic()
        for host in hosts:
            words = ["-q", "route", *host.interfaces, "--set", f"routing.protocol={protocol}"]
            host.daemon = subprocess.Popen(host.words(options.multihop, *words))

        def is_complete(host: Host) -> bool:
            words = host.words(options.multihop, "route", "status", "--json")
            done = subprocess.run(words, check=False, capture_output=True)
            # Each of the other hosts has four addresses, of which three networks are direct.
            return done.returncode == 0 and len(json.loads(done.stdout)["routes"]) >= 4 * (options.hosts - 1)

        for host in hosts:
            wait_for(lambda host=host: is_complete(host))  # type: ignore[misc]
        took = time.monotonic() - begin
        time.sleep(10)
        before = [host.usage()[0] for host in hosts]
        time.sleep(options.seconds)
        after = [host.usage() for host in hosts]
        share = max(now[0] - first for now, first in zip(after, before, strict=True)) / options.seconds
        return took, max(one[1] for one in after), max(one[2] for one in after), share


def main() -> int:
    """Measure each protocol in turn and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--multihop", type=Path, default=MULTIHOP, help="the command to measure")
    parser.add_argument("--protocols", nargs="+", default=["olsr", "olsrv2", "apdr", "babel"])
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
