"""Bursts of valid routing messages against the daemons of `attack_route.py`.

One sender on the last link sends messages of its own that parse, at a fixed rate, each with claims that no
message before it had.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BROADCAST = "10.0.2.255"
SENDER, HEARS = "10.0.2.200", "10.0.2.2"
PORTS = {"aodv": 654}
OLSR_PORT = 698
#: Claims in one message.
CLAIMS = 300
#: Validity of 6 s, as RFC 3626 writes it in one byte.
SIX_SECONDS = 0x86

Messages = Callable[[], Iterator[bytes]]


@dataclass
class Away:
    """How long the watched routes were missing."""

    longest: float = 0.0
    total: float = 0.0
    since: float | None = None

    def look(self, now: float, is_there: bool) -> None:
        """Note whether all routes are there now."""
        if self.since is not None:
            self.longest = max(self.longest, now - self.since)
            if is_there:
                self.total += now - self.since
                self.since = None
        elif not is_there:
            self.since = now


@dataclass
class Watch:
    """Looks at routes ten times a second until it is stopped."""

    is_there: Callable[[], bool]
    away: Away = field(default_factory=Away)
    stopped: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Look again and again until stopped."""
        while not self.stopped.wait(0.1):
            is_there = self.is_there()
            self.away.look(time.monotonic(), is_there)


def address() -> Iterator[bytes]:
    """Addresses that no message has named yet."""
    number = 0x0B000000
    while True:
        number += 1
        yield struct.pack("!I", number)


def packet(sequence: int, *messages: bytes) -> bytes:
    """A packet of RFC 3626."""
    body = b"".join(messages)
    return struct.pack("!HH", 4 + len(body), sequence & 0xFFFF) + body


def message(kind: int, sequence: int, originator: bytes, ttl: int, body: bytes) -> bytes:
    """A message of RFC 3626."""
    head = struct.pack("!BBH", kind, SIX_SECONDS, 12 + len(body)) + originator
    return head + struct.pack("!BBH", ttl, 0, sequence & 0xFFFF) + body


def hello(sequence: int, claims: bytes) -> bytes:
    """A HELLO with a symmetric link to the daemon and to other nodes."""
    links = socket.inet_aton(HEARS) + claims
    body = struct.pack("!HBB", 0, 5, 3) + struct.pack("!BBH", 10, 0, 4 + len(links)) + links
    return message(1, sequence, socket.inet_aton(SENDER), 1, body)


def hellos() -> Iterator[bytes]:
    """HELLOs with new neighbours each."""
    new = address()
    for sequence in range(1 << 30):
        yield packet(sequence, hello(sequence, b"".join(next(new) for _ in range(CLAIMS))))


def floods() -> Iterator[bytes]:
    """TCs, MIDs and HNAs of originators that do not exist, and HELLOs that name some of them."""
    new = address()
    neighbours = [next(new) for _ in range(100)]
    for sequence in range(1 << 30):
        claims = [next(new) for _ in range(CLAIMS)]
        originator = neighbours[sequence // 4 % 200] if sequence // 4 % 200 < 100 else next(new)
        match sequence % 4:
            case 0:
                yield packet(sequence, hello(sequence, b"".join(neighbours)))
            case 1:
                body = struct.pack("!HH", sequence & 0xFFFF, 0) + b"".join(claims)
                yield packet(sequence, message(2, sequence, originator, 9, body))
            case 2:
                yield packet(sequence, message(3, sequence, originator, 9, b"".join(claims)))
            case _:
                body = b"".join(claim + b"\xff" * 4 for claim in claims)
                yield packet(sequence, message(4, sequence, originator, 9, body))


def requests() -> Iterator[bytes]:
    """Requests, replies and errors of AODV for hosts that do not exist, and the HELLOs of a neighbour."""
    new, own = address(), socket.inet_aton(SENDER)
    for number in range(1 << 30):
        match number % 5:
            case 0:
                yield (
                    struct.pack("!BBBB", 2, 0, 0, 0)
                    + own
                    + struct.pack("!I", number)
                    + own
                    + struct.pack("!I", 2000)
                )
            case 1 | 2:
                head = struct.pack("!BBBBI", 1, 0, 0, 0, number)
                yield head + next(new) + bytes(4) + next(new) + struct.pack("!I", number)
            case 3:
                head = struct.pack("!BBBB", 2, 0, 0, 1) + next(new)
                yield head + struct.pack("!I", number) + own + struct.pack("!I", 86_400_000)
            case _:
                lost = b"".join(next(new) + struct.pack("!I", number) for _ in range(100))
                yield struct.pack("!BBBB", 3, 0, 0, 100) + lost


#: The protocol of the daemons and the messages, by the name of the burst.
BURSTS: dict[str, tuple[str, Messages]] = {
    "olsr": ("olsr", hellos),
    "floods": ("olsr", floods),
    "apdr": ("apdr", hellos),
    "aodv": ("aodv", requests),
}


def send(burst: str, rate: float, seconds: float) -> int:
    """Send a burst from this thread's namespace; returns the number of datagrams."""
    protocol, messages = BURSTS[burst]
    sent, begun = 0, time.monotonic()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        udp.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 9 if protocol == "aodv" else 1)
        udp.bind((SENDER, 0))
        port = PORTS.get(protocol, OLSR_PORT)
        for datagram in messages():
            ahead = begun + sent / rate - time.monotonic()
            if ahead > 0:
                time.sleep(ahead)
            if time.monotonic() - begun >= seconds:
                return sent
            with contextlib.suppress(OSError):
                udp.sendto(datagram, (BROADCAST, port))
            sent += 1
    return sent


def processor_time(process: int) -> float:
    """Seconds that a process has run so far."""
    stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    user, system = re.sub(r".*\)", "", stat).split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def oldest(status: dict[str, Any] | None, silent: float) -> float:
    """Age of the sender's newest message that counted, at the moment at which it counted.

    A daemon that heard the sender `heard_ago` seconds ago, though the sender has been silent for longer, has
    counted an old message as a new one.
    """
    if status is None:
        return 0.0
    heard = [one["heard_ago"] for one in status["neighbours"] if one["address"] == SENDER]
    return max([silent - ago for ago in heard], default=0.0)


def talk(to: str, stopped: threading.Event) -> None:
    """Keep a route from this thread's namespace in use, as AODV needs it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        while not stopped.wait(0.2):
            with contextlib.suppress(OSError):
                udp.sendto(b"in use", (to, 9))
