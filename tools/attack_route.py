#!/usr/bin/env python3
"""Attack a routing daemon from its link, and say what became of its routes.

    python3 tools/attack_route.py                   a million datagrams, as fast as they go
    python3 tools/attack_route.py --neighbors       the same at daemons with a list of neighbours
    python3 tools/attack_route.py --burst olsr      730 HELLOs a second for 12 s, each with 300 new neighbours

Three hosts in a line, each a network namespace, run `multihop route`. A stranger on the first link sends its
own HELLOs, TCs, MIDs, HNAs and unknown messages, and the same with changed bits, bytes and lengths. Needs
root and `make build`.

A burst comes from the last link instead, and consists of valid messages:

    olsr     HELLOs with 300 new neighbours each, at daemons with OLSR
    floods   TCs, MIDs and HNAs of new originators with 300 new nodes each, at daemons with OLSR
    apdr     the HELLOs of `olsr`, at daemons with APDR
    aodv     HELLOs, requests, replies and errors for new hosts, at daemons with AODV

It prints how long a route between the hosts was missing, the share of a processor that each daemon used,
the age of the oldest message that counted as news, the routes of the daemon in the middle at the end of the
burst and after a silence, and the daemons' memory. The exit code is 1 if a route was missing for over 3 s or
a daemon used over a third of a processor.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import route_bursts
from attack import peak_memory
from real_programs import MULTIHOP

NEWNET = 0x40000000  # CLONE_NEWNET
PORT = 698
STRANGER, HEARS = "10.0.1.200", "10.0.1.2"
MAX_AWAY, MAX_SHARE = 3.0, 1 / 3
QUICK = ["--set", "routing.hello_interval=0.5", "--set", "routing.tc_interval=1"]


def main() -> int:
    """Attack; returns 1 if a daemon ends or a route between genuine hosts is lost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--multihop", type=Path, default=MULTIHOP, help="the command to attack")
    parser.add_argument("--datagrams", type=int, default=10**6)
    parser.add_argument("--neighbors", action="store_true", help="daemons have lists of neighbours")
    parser.add_argument("--burst", choices=route_bursts.BURSTS, help="valid messages from the last link")
    parser.add_argument("--rate", type=float, default=730.0, help="datagrams of a burst in a second")
    parser.add_argument("--seconds", type=float, default=12.0, help="duration of a burst")
    parser.add_argument(
        "--silence", type=float, default=70.0, help="seconds after a burst until the last look"
    )
    options = parser.parse_args()
    with network() as (left, middle, right):
        lists = {left: [HEARS], middle: ["10.0.1.1", "10.0.2.3"], right: ["10.0.2.2"]}
        daemons = []
        for name, interfaces in ((left, ["one"]), (middle, ["two", "three"]), (right, ["four"])):
            allowed = [word for address in lists[name] for word in ("--neighbor", address)]
            words = ["ip", "netns", "exec", name, options.multihop, "-q", "route", *interfaces]
            words += settings(options.burst)
            words += allowed if options.neighbors else []
            daemons.append(subprocess.Popen([str(word) for word in words]))
        try:
            run = burst if options.burst else attack
            return run(options, (left, middle, right), daemons)
        finally:
            for daemon in daemons:
                daemon.kill()
                daemon.wait()


def attack(
    options: argparse.Namespace, hosts: tuple[str, str, str], daemons: list[subprocess.Popen[bytes]]
) -> int:
    """Send all datagrams while the routes are watched."""
    left, middle, right = hosts
    genuine = {
        left: ["10.0.1.2", "10.0.2.3"],
        middle: ["10.0.1.1", "10.0.2.3"],
        right: ["10.0.2.2", "10.0.1.1"],
    }
    before = wait_for_routes(genuine)
    thrower = threading.Thread(target=throw, args=(left, options.datagrams))
    begin = time.monotonic()
    thrower.start()
    looks, lost = 0, set()
    while thrower.is_alive():
        looks += 1
        lost |= {(name, looks) for name in hosts if vias(name, genuine[name]) != before[name]}
        time.sleep(0.1)
    seconds = time.monotonic() - begin
    time.sleep(1)
    after = {name: vias(name, genuine[name]) for name in hosts}
    alive = all(daemon.poll() is None for daemon in daemons)
    status = json.loads(in_namespace(middle, str(options.multihop), "route", "status", "--json"))
    memory = peak_memory(daemons[1].pid)
    print(f"{options.datagrams} datagrams in {seconds:.1f} s; daemons alive: {alive}")
    kept = "the same" if after == before else "others"
    print(f"routes between the hosts, looked at {looks} times: {len(lost)} times others; afterwards {kept}")
    print(f"the daemon in the middle: {counters(status)}, peak memory {memory} kB")
    return 0 if alive and after == before and not lost else 1


def settings(burst: str | None) -> list[str]:
    """Options of the daemons."""
    if burst is None:
        return QUICK
    protocol, _ = route_bursts.BURSTS[burst]
    return ["--set", f"routing.protocol={protocol}"]


def burst(
    options: argparse.Namespace, hosts: tuple[str, str, str], daemons: list[subprocess.Popen[bytes]]
) -> int:
    """Send a burst while the routes between the hosts are watched."""
    left, middle, right = hosts
    genuine = {left: ["10.0.2.3"], middle: ["10.0.1.1", "10.0.2.3"], right: ["10.0.1.1"]}
    stopped = threading.Event()
    for name, to in ((left, "10.0.2.3"), (right, "10.0.1.1")):
        threading.Thread(target=talk_from, args=(name, to, stopped)).start()
    try:
        before = wait_for_routes(genuine)
        watch = route_bursts.Watch(lambda: all(vias(name, genuine[name]) == before[name] for name in hosts))
        watcher = threading.Thread(target=watch.run)
        watcher.start()
        used = [route_bursts.processor_time(daemon.pid) for daemon in daemons]
        begin = time.monotonic()
        sender = threading.Thread(target=send_from, args=(right, options))
        sender.start()
        sender.join()
        silent_since = time.monotonic()
        shares = [
            (route_bursts.processor_time(daemon.pid) - one) / (silent_since - begin)
            for daemon, one in zip(daemons, used, strict=True)
        ]
        at_end = status_of(middle, options)
        oldest = 0.0
        while (silent := time.monotonic() - silent_since) < options.silence:
            oldest = max(oldest, route_bursts.oldest(status_of(middle, options), silent))
            time.sleep(1)
        after = status_of(middle, options)
        watch.stopped.set()
        watcher.join()
    finally:
        stopped.set()
    alive = all(daemon.poll() is None for daemon in daemons)
    print(f"longest time without a genuine route: {watch.away.longest:.1f} s; daemons alive: {alive}")
    print("share of a processor while the burst lasts: " + ", ".join(f"{share:.0%}" for share in shares))
    print(f"oldest message that counted as news: {oldest:.1f} s")
    print(f"routes of the daemon in the middle: {routes_of(at_end)} at the end of the burst, ", end="")
    print(f"{routes_of(after)} after {options.silence:.0f} s of silence")
    print("peak memory: " + ", ".join(f"{peak_memory(daemon.pid)} kB" for daemon in daemons))
    if after is not None:
        print(f"the daemon in the middle: {counters(after)}")
    return 0 if alive and watch.away.longest <= MAX_AWAY and max(shares) <= MAX_SHARE else 1


def send_from(name: str, options: argparse.Namespace) -> None:
    """Send a burst from a namespace, on this thread."""
    enter(name)
    sent = route_bursts.send(options.burst, options.rate, options.seconds)
    print(f"{sent} datagrams in {options.seconds:.1f} s")


def talk_from(name: str, to: str, stopped: threading.Event) -> None:
    """Keep a route from a namespace in use, on this thread."""
    enter(name)
    route_bursts.talk(to, stopped)


def status_of(name: str, options: argparse.Namespace) -> dict[str, Any] | None:
    """Status that a daemon reports; None if it does not answer in time."""
    with contextlib.suppress(subprocess.CalledProcessError, json.JSONDecodeError):
        document: dict[str, Any] = json.loads(
            in_namespace(name, str(options.multihop), "route", "status", "--json")
        )
        return document
    return None


def routes_of(status: dict[str, Any] | None) -> str:
    """How many routes a daemon has."""
    return "no answer" if status is None else str(len(status["routes"]))


def counters(status: dict[str, Any]) -> str:
    """Counters of the daemon's datagrams, as text."""
    return ", ".join(f"{name} {number}" for name, number in status["datagrams"].items() if number)


def wait_for_routes(genuine: dict[str, list[str]]) -> dict[str, list[str]]:
    """The next hops, once there are all."""
    for _ in range(300):
        found = {name: vias(name, to) for name, to in genuine.items()}
        if all("" not in hops for hops in found.values()):
            return found
        time.sleep(0.1)
    raise TimeoutError(f"no routes: {found}")


def vias(name: str, destinations: list[str]) -> list[str]:
    """The next hop to each destination by routes of daemons; empty where there is none."""
    lines = in_namespace(name, "ip", "route", "show", "proto", "77").splitlines()
    routes = {words[0]: words[2] for words in map(str.split, lines)}
    return [routes.get(to, "") for to in destinations]


def in_namespace(name: str, *words: str) -> str:
    """Output of a command that runs in a namespace."""
    done = subprocess.run(["ip", "netns", "exec", name, *words], capture_output=True, text=True, check=True)
    return done.stdout


@contextlib.contextmanager
def network() -> Iterator[tuple[str, str, str]]:
    """Three namespaces in a line; the stranger's address is on the first link."""
    left, middle, right = (f"multihop-{os.getpid()}-{n}" for n in range(3))
    lines = [
        *(f"netns add {name}" for name in (left, middle, right)),
        f"link add one netns {left} type veth peer name two netns {middle}",
        f"link add three netns {middle} type veth peer name four netns {right}",
    ]
    for name, interface, addresses in (
        (left, "one", ["10.0.1.1", STRANGER]),
        (middle, "two", ["10.0.1.2"]),
        (middle, "three", ["10.0.2.2"]),
        (right, "four", ["10.0.2.3", route_bursts.SENDER]),
    ):
        lines += [f"-n {name} addr add {address}/24 dev {interface}" for address in addresses]
        lines += [f"-n {name} link set {interface} up"]
    try:
        for line in lines:
            subprocess.run(["ip", *line.split()], check=True)
        yield left, middle, right
    finally:
        for name in (left, middle, right):
            subprocess.run(["ip", "netns", "del", name], check=False)


def enter(name: str) -> None:
    """Move this thread to a namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    with Path(f"/run/netns/{name}").open("rb") as namespace:
        if libc.setns(namespace.fileno(), NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")


def throw(name: str, datagrams: int) -> None:
    """Send hostile datagrams from this namespace, on this thread."""
    enter(name)
    rng = random.Random(1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        udp.bind((STRANGER, 0))
        for _ in range(datagrams):
            with contextlib.suppress(OSError):
                udp.sendto(mutated(rng), ("10.0.1.255", PORT))


def mutated(rng: random.Random) -> bytes:
    """A message of the stranger, as it is or damaged."""
    some = b"".join(b"\x64" + rng.randbytes(3) for _ in range(rng.randrange(20)))
    hears = bytes([10, 0, 0, 6]) + (8).to_bytes(2, "big") + socket.inet_aton(HEARS)
    others = bytes([6, 0]) + (4 + len(some)).to_bytes(2, "big") + some
    hello = bytes([0, 0, 5, 3, 10, 0, 0, 8]) + socket.inet_aton(HEARS) + others
    kind, body = rng.choice(
        [
            (1, hello),
            (1, hears),
            (2, rng.randbytes(2) + bytes(2) + some),
            (3, some),
            (4, b"".join(some[n : n + 4] + b"\xff" * 4 for n in range(0, len(some), 4))),
            (99, bytes(40)),
        ]
    )
    originator = b"\x64" + rng.randbytes(3) if rng.randrange(4) == 0 else socket.inet_aton(STRANGER)
    head = bytes([kind, 0x86]) + (12 + len(body)).to_bytes(2, "big") + originator + bytes([9, 0])
    message = head + rng.randbytes(2) + body
    packet = bytearray((4 + len(message)).to_bytes(2, "big") + rng.randbytes(2) + message)
    for _ in range(rng.randrange(4)):
        at = rng.randrange(len(packet))
        match rng.randrange(3):
            case 0:
                packet[at] ^= 1 << rng.randrange(8)
            case 1:
                packet[at] = rng.randrange(256)
            case _:
                del packet[max(at, 1) :]
    return bytes(packet)


if __name__ == "__main__":
    sys.exit(main())
