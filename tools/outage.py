#!/usr/bin/env python3
"""Measure how long transports take to go on when a route has vanished for 20 s and is back.

    python3 tools/outage.py [--runs N] [--multihop PROGRAM]

Two hosts, a router between them, links of 2 Mb/s, in network namespaces; as root. The router loses its route
to the receiver, and either answers with ICMP (network unreachable) or drops silently; or the sender loses
its own. Printed is the time from the return of the route until two full segments have arrived. Controls of
`multihop tcp` take part if they are loaded.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TRANSPORTS = ("reno", "cubic", "bbr", "mh_ap", "mh_clamp", "mh_mesh", "tpa", "mesh")
BEFORE, AWAY, PATIENCE = 5.0, 20.0, 90.0
SEGMENTS = 2 * 1400
"""Bytes that no probe has."""
WAYS = {
    "answered": ("router", "route del 10.0.2.0/24", "route replace 10.0.2.0/24 dev right"),
    "silent": ("router", "route replace blackhole 10.0.2.0/24", "route replace 10.0.2.0/24 dev right"),
    "at the sender": ("sender", "route del default", "route add default via 10.0.1.2"),
}
"""Ways in which a route is lost and restored: whose route goes, how, and how it comes back."""
CONTROLS = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


class Network:
    """A sender, a router and a receiver, removed at the end."""

    def __init__(self, name: str) -> None:
        self.hosts = {
            role: f"outage-{os.getpid()}-{name}-{role}" for role in ("sender", "router", "receiver")
        }

    def __enter__(self) -> Network:
        for host in self.hosts.values():
            ip("netns", "add", host)
            ip("-n", host, "link", "set", "lo", "up")
        for number, (end, side) in enumerate((("sender", "left"), ("receiver", "right")), 1):
            host, router = self.hosts[end], self.hosts["router"]
            ip("-n", host, "link", "add", "link0", "type", "veth", "peer", "name", side, "netns", router)
            for place, link, last in ((host, "link0", 1), (router, side, 2)):
                ip("-n", place, "addr", "add", f"10.0.{number}.{last}/24", "dev", link)
                ip("-n", place, "link", "set", link, "up")
                shape = ("root", "tbf", "rate", "2mbit", "burst", "4k", "limit", "75k")
                run("tc", "-n", place, "qdisc", "add", "dev", link, *shape)
            ip("-n", host, "route", "add", "default", "via", f"10.0.{number}.2")
        run(*self.at("router"), "sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv4.icmp_ratelimit=0")
        return self

    def __exit__(self, *_: object) -> None:
        for host in self.hosts.values():
            subprocess.run(["ip", "netns", "del", host], check=False)

    def at(self, role: str) -> tuple[str, ...]:
        """The words before a command that is to run at a host."""
        return ("ip", "netns", "exec", self.hosts[role])

    def route(self, role: str, words: str) -> None:
        """Change the routes of a host."""
        ip("-n", self.hosts[role], *words.split())


def run(*words: str) -> None:
    """Run a command that must succeed."""
    subprocess.run(words, check=True)


def ip(*words: str) -> None:
    """Run the command `ip` with these words."""
    run("ip", *words)


def programs(transport: str, multihop: str) -> tuple[list[str], list[str]]:
    """A server and its client."""
    if transport in ("tpa", "mesh"):
        both = ["--plain", "--transport", transport]
        return [multihop, "perf", "--listen", "0.0.0.0:7451", *both], [
            multihop,
            "perf",
            "10.0.2.1:7451",
            "--time",
            "300",
            *both,
        ]
    return ["iperf3", "-s"], ["iperf3", "-c", "10.0.2.1", "-t", "300", "-C", transport]


def start(words: list[str]) -> subprocess.Popen[bytes]:
    """Start a program that says nothing."""
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def received(process: subprocess.Popen[bytes]) -> int:
    """Bytes that have reached the namespace of a program over its link."""
    lines = Path(f"/proc/{process.pid}/net/dev").read_text("ascii").splitlines()
    return next(int(line.split(":")[1].split()[0]) for line in lines if "link0:" in line)


def measure(transport: str, way: str, number: int, multihop: str) -> float | None:
    """Seconds from the return of the route until data arrives; None if it does not."""
    server, client = programs(transport, multihop)
    with Network(f"{transport}-{number}") as network:
        listener = start([*network.at("receiver"), *server])
        time.sleep(1.0)
        sender = start([*network.at("sender"), *client])
        try:
            time.sleep(BEFORE)
            begun = received(listener)
            if begun < SEGMENTS:
                raise SystemExit(f"{transport} does not send: {' '.join(client)}")
            host, away, back_again = WAYS[way]
            network.route(host, away)
            time.sleep(AWAY)
            network.route(host, back_again)
            back, there = time.monotonic(), received(listener)
            while time.monotonic() < back + PATIENCE:
                if received(listener) >= there + SEGMENTS:
                    return time.monotonic() - back
                time.sleep(0.002)
            return None
        finally:
            for process in (sender, listener):
                process.kill()
                process.wait()


def main() -> int:
    """Measure every transport, all at a time, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=3, help="runs of each case (default: 3)")
    parser.add_argument(
        "--multihop", default="target/release/multihop", help="the command (default: that of make build)"
    )
    options = parser.parse_args()
    missing = [
        program for program in ("ip", "tc", "iperf3", options.multihop) if shutil.which(program) is None
    ]
    if missing or os.geteuid() != 0:
        print(f"missing: {', '.join(missing) or 'root'}", file=sys.stderr)
        return 1
    known = CONTROLS.read_text("ascii").split()
    transports = [one for one in TRANSPORTS if one in known or one in ("tpa", "mesh")]
    found: dict[tuple[str, str], list[float | None]] = {}
    for number in range(options.runs):
        for way in WAYS:
            with ThreadPoolExecutor(len(transports)) as pool:
                times = pool.map(
                    lambda one, way=way, number=number: measure(one, way, number, options.multihop),
                    transports,
                )
                for transport, seconds in zip(transports, times, strict=True):
                    found.setdefault((transport, way), []).append(seconds)
    print(f"Seconds until data arrives again, median and range of {options.runs}\n")
    print(f"| transport | {' | '.join(WAYS)} |\n|---|{'---|' * len(WAYS)}")
    for transport in transports:
        print(f"| {transport} | {' | '.join(shown(found[transport, way]) for way in WAYS)} |")
    return 0


def shown(times: list[float | None]) -> str:
    """A median and the range around it."""
    known = [seconds for seconds in times if seconds is not None]
    if len(known) < len(times):
        return f"not within {PATIENCE:g} s in {len(times) - len(known)} of {len(times)}"
    return f"{statistics.median(known):.2f} ({min(known):.2f} to {max(known):.2f})"


if __name__ == "__main__":
    sys.exit(main())
