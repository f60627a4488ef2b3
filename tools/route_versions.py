#!/usr/bin/env python3
"""Check that routing daemons of two versions find routes with each other.

    python3 tools/route_versions.py OLD NEW

OLD and NEW are `multihop` commands. Four hosts in a chain, each a network namespace, run `multihop route`:
the first and the third with NEW, the second and the fourth with OLD. Bridges connect the hosts, so that a cut
link keeps its carrier and only missing messages reveal the cut. Needs root.

For each case it prints the seconds until every host has a route to each address of the others, the answered
pings between the ends, the seconds until the routes over the middle link are gone after that link is cut, the
seconds until they are back after it is restored, and the answered pings then. The exit code is 1 if any of
these did not happen within 60 s, or a ping was lost.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

HOSTS = 4
CUT = 1
"""Number of the link that is cut; link N connects hosts N and N + 1."""
PINGS = 10
TIMEOUT = 60.0
"""Bound for each step in seconds."""


@dataclass(frozen=True)
class Case:
    """A protocol with the options of its daemons."""

    protocol: str
    is_ipv6: bool = False
    is_signed: bool = False

    @property
    def name(self) -> str:
        """Protocol and options, for the output."""
        return self.protocol + (" IPv6" if self.is_ipv6 else "") + (" signed" if self.is_signed else "")

    def address(self, link: int, end: int) -> str:
        """Address of the first (0) or second (1) end of a link."""
        return f"fd00:0:0:{link + 1}::{end + 1}" if self.is_ipv6 else f"10.0.{link + 1}.{end + 1}"

    def addresses(self, host: int) -> list[str]:
        """All addresses of a host."""
        left = [self.address(host - 1, 1)] if host > 0 else []
        return left + ([self.address(host, 0)] if host < HOSTS - 1 else [])

    def next_hops(self, host: int) -> dict[str, str]:
        """The next hop of a host to each address of the other hosts."""
        hops = {}
        for other in range(HOSTS):
            for address in self.addresses(other) if other != host else []:
                hops[address] = self.address(host, 1) if other > host else self.address(host - 1, 0)
        return hops


CASES = [
    Case("olsr"),
    Case("olsr", is_signed=True),
    Case("olsr", is_ipv6=True),
    Case("apdr"),
    Case("apdr", is_ipv6=True),
    Case("aodv"),
]


def main() -> int:
    """Run all cases; returns 1 if one of them fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("old", type=Path, help="command of the second and fourth host")
    parser.add_argument("new", type=Path, help="command of the first and third host")
    options = parser.parse_args()
    if shutil.which("ping") is None:
        parser.error("ping is not installed (Debian: iputils-ping)")
    failed = 0
    for case in CASES:
        try:
            print(f"{case.name}: {run(case, options.old.resolve(), options.new.resolve())}", flush=True)
        except TimeoutError as error:
            failed += 1
            print(f"{case.name}: FAILED: {error}", flush=True)
    return 1 if failed else 0


def run(case: Case, old: Path, new: Path) -> str:
    """Run one case; returns what was measured."""
    with network(case) as chain, daemons(case, chain, old, new):
        found = seconds_until("every host has all routes", chain.is_connected)
        first = chain.ping_ends()
        chain.set_link("down")
        gone = seconds_until("routes over the cut link are gone", chain.is_separated)
        if answered := chain.pings(0, HOSTS - 1, 1):
            raise TimeoutError(f"{answered} pings were answered across the cut")
        chain.set_link("up")
        back = seconds_until("routes are back", chain.is_connected)
        second = chain.ping_ends()
    return (
        f"routes after {found:.1f} s, {first}; after the cut gone in {gone:.1f} s; "
        f"restored in {back:.1f} s, {second}"
    )


@dataclass
class Chain:
    """Namespaces of the hosts and of the bridges between them."""

    case: Case
    hosts: list[str]
    bridges: list[str]

    def set_link(self, state: str) -> None:
        """Cut the middle link (`down`) or restore it (`up`)."""
        ip(f"-n {self.bridges[CUT]} link set bridge {state}")

    def routes(self, host: int) -> dict[str, str]:
        """Next hops of the daemon's routes in the kernel, by destination."""
        family = "-6" if self.case.is_ipv6 else "-4"
        listed = inside(self.hosts[host], "ip", "-j", family, "route", "show", "proto", "77").stdout
        return {route["dst"]: route.get("gateway", route["dst"]) for route in json.loads(listed or "[]")}

    def is_connected(self) -> bool:
        """Whether every host has a route to each address; under AODV a ping makes each of them."""
        return all(self.has_routes(host) for host in range(HOSTS))

    def has_routes(self, host: int) -> bool:
        """Whether a host has a route to each address of the others, over the expected neighbour."""
        expected = self.case.next_hops(host)
        if self.case.protocol != "aodv":
            routes = self.routes(host)
            return all(routes.get(to) == via for to, via in expected.items())
        return all(
            self.ping(host, to, 1) == 1 and self.routes(host).get(to) == via for to, via in expected.items()
        )

    def is_separated(self) -> bool:
        """Whether no host has a route to the other side of the cut."""
        for host in range(HOSTS):
            across = [other for other in range(HOSTS) if (other <= CUT) != (host <= CUT)]
            routes = self.routes(host)
            if any(address in routes for other in across for address in self.case.addresses(other)):
                return False
        return True

    def ping_ends(self) -> str:
        """Ping from each end of the chain to the other; every ping must be answered."""
        counts = [self.pings(0, HOSTS - 1, PINGS), self.pings(HOSTS - 1, 0, PINGS)]
        if counts != [PINGS, PINGS]:
            raise TimeoutError(f"answered pings of {PINGS} from the two ends: {counts}")
        return f"{sum(counts)} of {2 * PINGS} pings"

    def pings(self, host: int, other: int, count: int) -> int:
        """Answered pings from a host to the first address of another."""
        return self.ping(host, self.case.addresses(other)[0], count)

    def ping(self, host: int, to: str, count: int) -> int:
        """Answered pings from a host to an address."""
        done = inside(self.hosts[host], "ping", "-n", "-c", str(count), "-i", "0.2", "-W", "3", to)
        return done.stdout.count("bytes from")


def seconds_until(event: str, has_happened: Callable[[], bool]) -> float:
    """Wait for an event; returns how long it took."""
    begin = time.monotonic()
    while time.monotonic() < begin + TIMEOUT:
        if has_happened():
            return time.monotonic() - begin
        time.sleep(0.1)
    raise TimeoutError(f"not within {TIMEOUT:.0f} s: {event}")


@contextlib.contextmanager
def daemons(case: Case, chain: Chain, old: Path, new: Path) -> Iterator[None]:
    """Routing daemons of both versions, by turns."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        options = ["--set", f"routing.protocol={case.protocol}"]
        options += ["--ipv6"] if case.is_ipv6 else []
        if case.is_signed:
            key = Path(folder) / "key"
            subprocess.run([new, "keygen", "--shared", key], check=True, stdout=subprocess.DEVNULL)
            options += ["--key", str(key)]
        started = []
        for host, name in enumerate(chain.hosts):
            interfaces = (["left"] if host > 0 else []) + (["right"] if host < HOSTS - 1 else [])
            command = old if host % 2 else new
            words = ["ip", "netns", "exec", name, str(command), "-q", "route", *interfaces, *options]
            daemon = subprocess.Popen(words)
            stack.callback(daemon.wait)
            stack.callback(daemon.terminate)
            started.append(daemon)
        yield
        if ended := [host for host, daemon in enumerate(started) if daemon.poll() is not None]:
            raise TimeoutError(f"daemons that ended: {ended}")


@contextlib.contextmanager
def network(case: Case) -> Iterator[Chain]:
    """Four namespaces in a chain, with a bridge in a namespace of its own as each link."""
    prefix = f"multihop-{os.getpid()}"
    hosts = [f"{prefix}-host{n}" for n in range(HOSTS)]
    bridges = [f"{prefix}-link{n}" for n in range(HOSTS - 1)]
    try:
        for name in hosts + bridges:
            ip(f"netns add {name}")
            ip(f"-n {name} link set lo up")
        for link, bridge in enumerate(bridges):
            ip(f"-n {bridge} link add bridge type bridge")
            for end, interface in enumerate(["right", "left"]):
                host, length = hosts[link + end], "64 nodad" if case.is_ipv6 else "24"
                ip(f"link add {interface} netns {host} type veth peer name port{end} netns {bridge}")
                ip(f"-n {bridge} link set port{end} master bridge up")
                ip(f"-n {host} addr add {case.address(link, end)}/{length} dev {interface}")
                ip(f"-n {host} link set {interface} up")
            ip(f"-n {bridge} link set bridge up")
        yield Chain(case, hosts, bridges)
    finally:
        for name in hosts + bridges:
            subprocess.run(["ip", "netns", "del", name], check=False)


def ip(words: str) -> None:
    """Run `ip` with these words."""
    subprocess.run(["ip", *words.split()], check=True)


def inside(name: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a namespace."""
    return subprocess.run(["ip", "netns", "exec", name, *words], capture_output=True, text=True, check=False)


if __name__ == "__main__":
    sys.exit(main())
