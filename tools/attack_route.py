#!/usr/bin/env python3
"""Attack a routing daemon from its link, and say what became of its routes.

    python3 tools/attack_route.py                   a million datagrams, as fast as they go
    python3 tools/attack_route.py --neighbors       the same at daemons with a list of neighbours

Three hosts in a line, each a network namespace, run `multihop route`. A stranger on the first link sends its
own HELLOs, TCs, MIDs, HNAs and unknown messages, and the same with changed bits, bytes and lengths. Needs
root and `make build`.
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

from attack import peak_memory
from real_programs import MULTIHOP

NEWNET = 0x40000000  # CLONE_NEWNET
PORT = 698
STRANGER, HEARS = "10.0.1.200", "10.0.1.2"
QUICK = ["--set", "routing.hello_interval=0.5", "--set", "routing.tc_interval=1"]


def main() -> int:
    """Attack; returns 1 if a daemon ends or a route between genuine hosts is lost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--multihop", type=Path, default=MULTIHOP, help="the command to attack")
    parser.add_argument("--datagrams", type=int, default=10**6)
    parser.add_argument("--neighbors", action="store_true", help="daemons have lists of neighbours")
    options = parser.parse_args()
    with network() as (left, middle, right):
        lists = {left: [HEARS], middle: ["10.0.1.1", "10.0.2.3"], right: ["10.0.2.2"]}
        daemons = []
        for name, interfaces in ((left, ["one"]), (middle, ["two", "three"]), (right, ["four"])):
            allowed = [word for address in lists[name] for word in ("--neighbor", address)]
            words = ["ip", "netns", "exec", name, options.multihop, "-q", "route", *interfaces, *QUICK]
            words += allowed if options.neighbors else []
            daemons.append(subprocess.Popen([str(word) for word in words]))
        try:
            return attack(options, (left, middle, right), daemons)
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


def counters(status: dict[str, Any]) -> str:
    """What it did with the datagrams."""
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
    """What a command prints in a namespace."""
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
        (right, "four", ["10.0.2.3"]),
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


def throw(name: str, datagrams: int) -> None:
    """Send hostile datagrams from this namespace, on this thread."""
    libc = ctypes.CDLL(None, use_errno=True)
    with Path(f"/run/netns/{name}").open("rb") as namespace:
        if libc.setns(namespace.fileno(), NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")
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
