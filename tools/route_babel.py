#!/usr/bin/env python3
"""Compare the Babel of `multihop route` with babeld: convergence, outages, memory and processor time.

    python3 tools/route_babel.py                     eight routers: babeld alone, both kinds, multihop alone
    python3 tools/route_babel.py --runs 10           ten networks of each kind, in turn
    python3 tools/route_babel.py --cuts 20           and twenty cut links in each network
    python3 tools/route_babel.py --routers 50 --kinds both --idle 60

The routers are network namespaces on a ring with chords to the opposite router. Every cable costs 96, so
the best metric of a route is 96 times its hops. A network has converged when every router has a route of
each family to every other router, whose metric exceeds the best by at most 3%. A cut takes a link of the
ring down; the outage is the longest gap between answers of a ping every 20 ms between the two routers of
the link. Medians have intervals of 95% by order statistics. Needs root, babeld and `make build`.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import math
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from attack_route import enter
from cabled import Host, cabled, interface, ip, wait_for
from real_programs import MULTIHOP

COST = 96
ALLOWED = 1.03
BABELD_PORT = 33123
#: Answers of the ping that end the watch of a cut.
ANSWERS = 50
KINDS = {"babeld": (False, False), "both": (True, False), "multihop": (True, True)}


@dataclass
class Router(Host):
    """A host with a daemon of either kind."""

    is_ours: bool = False

    def address(self, family: int) -> str:
        """Address of the router in a family."""
        return f"10.255.{self.number}.1" if family == 4 else f"fd00:ff::{self.number + 1:x}"


@dataclass
class Network:
    """Routers, and links between their numbers."""

    routers: list[Router]
    links: list[tuple[int, int]]
    multihop: Path
    folder: Path

    def start(self) -> None:
        """Start the daemon of each router in its namespace."""
        for router in self.routers:
            words = router.words(*self.words(router))
            router.daemon = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def words(self, router: Router) -> list[str]:
        """The command of a router."""
        networks = [f"{router.address(4)}/32", f"{router.address(6)}/128"]
        if router.is_ours:
            words = [str(self.multihop), "-q", "route", *router.interfaces, "--set", "routing.protocol=babel"]
            return words + [word for network in networks for word in ("--announce", network)]
        file = self.folder / f"{router.name}.conf"
        file.write_text("skip-kernel-setup true\nrandom-id true\ndefault type wired\n")
        state = str(self.folder / f"{router.name}.state")
        words = ["babeld", "-I", "", "-S", state, "-c", str(file), "-g", str(BABELD_PORT)]
        return words + router.interfaces

    def hops(self, start: int) -> dict[int, int]:
        """Hops from a router to every other one."""
        found, edge = {start: 0}, [start]
        while edge:
            steps = [(at, b if a == at else a) for at in edge for a, b in self.links if at in (a, b)]
            edge = []
            for at, to in steps:
                if to not in found:
                    found[to] = found[at] + 1
                    edge.append(to)
        return found

    def detours(self) -> Iterator[tuple[int, int, int]]:
        """Router, destination and metric of each route that is missing (65535) or far from the best."""
        for router in self.routers:
            known, best = metrics(router, self.multihop), self.hops(router.number)
            for other in self.routers:
                worst = max(known.get(other.address(family), 65535) for family in (4, 6))
                if other is not router and worst > best[other.number] * COST * ALLOWED:
                    yield router.number, other.number, worst

    def converge(self, patience: float = 180.0, *, traces: bool = False) -> float:
        """Seconds until the network has converged, looking once a second; may print the detours."""
        begin = time.monotonic()

        def has_converged() -> bool:
            # Dumps of the state more often would slow babeld down.
            time.sleep(1)
            found = list(self.detours())
            if traces:
                print(f"  {time.monotonic() - begin:.0f} s: {len(found)} detours {found[:12]}", flush=True)
            return not found

        wait_for(has_converged, patience)
        return time.monotonic() - begin

    def cut(self, link: tuple[int, int]) -> float:
        """Seconds without answers after a link has gone down."""
        one, other = (self.routers[end] for end in link)
        command = ["ping", "-n", "-D", "-i", "0.02", "-W", "1", "-I", one.address(4), other.address(4)]
        ping = subprocess.Popen(one.words(*command), stdout=subprocess.PIPE, text=True)
        lines: list[str] = []
        reader = threading.Thread(target=lambda: lines.extend(ping.stdout or []))
        reader.start()
        time.sleep(2)
        ip("-n", one.name, "link", "set", interface(link, 0), "down")
        time.sleep(0.1)
        before = len(lines)
        wait_for(lambda: len(lines) > before + ANSWERS)
        ip("-n", one.name, "link", "set", interface(link, 0), "up")
        ping.terminate()
        ping.wait()
        reader.join()
        times = [
            float(found.group(1)) for line in lines if (found := re.match(r"\[([\d.]+)\] \d+ bytes", line))
        ]
        return max(later - earlier for earlier, later in itertools.pairwise(times))


def metrics(router: Router, multihop: Path) -> dict[str, int]:
    """Metrics of a router's routes, by their address."""
    try:
        if router.is_ours:
            command = router.words(multihop, "route", "status", "--json")
            status = subprocess.run(command, capture_output=True, check=True).stdout
            routes = json.loads(status)["routes"]
            return {to.split("/")[0]: route["cost"] for to, route in routes.items()}
        text = in_namespace(router.name, dump)
    except (OSError, ValueError, subprocess.CalledProcessError):
        return {}
    found = re.findall(r"add route .* prefix ([^/]+)/\d+ .* installed yes .* metric (\d+)", text)
    return {to: int(metric) for to, metric in found}


def dump() -> str:
    """State of the babeld of this namespace."""
    with socket.create_connection(("::1", BABELD_PORT), timeout=2) as stream:
        stream.sendall(b"dump\nquit\n")
        return b"".join(iter(lambda: stream.recv(65536), b"")).decode()


def in_namespace(name: str, function: Callable[[], str]) -> str:
    """Call a function on a thread in a namespace; empty if it fails."""
    results: list[str] = []

    def call() -> None:
        enter(name)
        with contextlib.suppress(OSError):
            results.append(function())

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    return "".join(results)


@contextlib.contextmanager
def network(kind: str, size: int, multihop: Path) -> Iterator[Network]:
    """Namespaces on a ring with chords, without daemons yet."""
    even, odd = KINDS[kind]
    routers = [Router(number, is_ours=odd if number % 2 else even) for number in range(size)]
    ring = [(number, (number + 1) % size) for number in range(size)]
    chords = [(number, number + size // 2) for number in range(0, size // 2, 2)]

    def prepare(router: Host) -> None:
        parameters = ["net.ipv6.conf.default.accept_dad=0", "net.ipv6.conf.all.forwarding=1"]
        command = router.words("sysctl", "-qw", *parameters, "net.ipv4.ip_forward=1")
        subprocess.run(command, check=True)
        own = routers[router.number]
        ip("-n", router.name, "addr", "add", f"{own.address(4)}/32", "dev", "lo")
        ip("-n", router.name, "addr", "add", f"{own.address(6)}/128", "dev", "lo")

    with tempfile.TemporaryDirectory() as folder:
        made = Network(routers, ring + chords, multihop, Path(folder))
        with cabled(routers, made.links, prepare):
            yield made


def idle(made: Network, seconds: float) -> None:
    """Print memory and processor time of the daemons while nothing happens."""
    before = {router.number: router.usage()[0] for router in made.routers}
    time.sleep(seconds)
    for is_ours, name in ((True, "multihop"), (False, "babeld")):
        used = [(one.usage(), before[one.number]) for one in made.routers if one.is_ours == is_ours]
        if used:
            share = max(after[0] - first for after, first in used) / seconds
            memory, private = (max(after[part] for after, _ in used) for part in (1, 2))
            print(f"  {name}: at most {100 * share:.2f}% of a processor")
            print(f"  {name}: at most {memory} kB resident, of which {private} kB private")


def median(values: list[float]) -> str:
    """The median, its 95% interval and the range, as text."""
    ordered, count = sorted(values), len(values)
    # The k-th smallest and largest values enclose the median unless fewer than k values are on one side.
    tails = itertools.accumulate(math.comb(count, below) / 2**count for below in range(count))
    k = sum(1 for tail in tails if tail <= 0.025)
    interval = f"95% {ordered[k - 1]:.2f} to {ordered[-k]:.2f}" if k else "too few values for an interval"
    return f"median {statistics.median(ordered):.2f} s ({interval}), {ordered[0]:.2f} to {ordered[-1]:.2f} s"


def measure(kind: str, options: argparse.Namespace) -> tuple[float, list[float]]:
    """Build a network and measure it: seconds until it has converged, and outages."""
    with network(kind, options.routers, options.multihop) as made:
        time.sleep(1)
        made.start()
        took = made.converge(traces=options.trace)
        print(f"{kind}: {len(made.routers)} routers converged in {took:.1f} s", flush=True)
        if options.idle:
            idle(made, options.idle)
        outages = []
        for number in range(options.cuts):
            made.converge()
            outages.append(made.cut(made.links[number % options.routers]))
            print(f"  cut {number + 1}: outage {outages[-1]:.2f} s", flush=True)
    return took, outages


def main() -> int:
    """Build each network, measure it and print the results; returns 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--multihop", type=Path, default=MULTIHOP, help="the command to measure")
    parser.add_argument("--routers", type=int, default=8, help="number of routers, even")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--runs", type=int, default=1, help="number of networks of each kind")
    parser.add_argument("--cuts", type=int, default=0, help="number of cut links in each network")
    parser.add_argument("--idle", type=float, default=0.0, help="seconds of rest in which usage is measured")
    parser.add_argument("--trace", action="store_true", help="print missing routes and detours")
    options = parser.parse_args()
    found: dict[str, list[tuple[float, list[float]]]] = {kind: [] for kind in options.kinds}
    for kind in options.kinds * options.runs:
        found[kind].append(measure(kind, options))
    for kind, results in found.items():
        print(f"{kind}: {len(results)} networks converged, {median([took for took, _ in results])}")
        outages = [outage for _, of_one in results for outage in of_one]
        if outages:
            print(f"{kind}: {len(outages)} cuts, outage {median(outages)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
