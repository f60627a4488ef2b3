"""Asks a host ten times a second whether it is reached, and says when it was. A program of its own, without the package.

probe.py answer               send every datagram back
probe.py ask ADDRESS SECONDS  print the numbers of the questions that were answered, as ranges
probe.py silences ADDRESS SECONDS  print from when to when no answer came, as times of day in seconds
probe.py arrivals INTERFACE SECONDS  print when no data arrived at an interface for a second or longer
"""

from __future__ import annotations

import contextlib
import select
import socket
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

PORT = 7007
EVERY = 0.1
"""Interval between two questions, s."""
PATIENCE = 2.0
"""Seconds for the last answers."""
LOOK, DATA = 0.02, 500
"""Seconds between looks at an interface, and bytes that are more than messages of routing."""
SILENT = 1.0
"""Seconds without data that are printed."""
GAP = 0.35
"""Seconds without an answer that are printed."""


def answer() -> None:
    """Send every datagram back."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.bind(("", PORT))
        while True:
            with contextlib.suppress(OSError):
                udp.sendto(*udp.recvfrom(100))


def ask(address: str, seconds: float) -> None:
    """Print which questions are answered."""
    answered = {number for number, _ in answers(address, seconds)}
    print(" ".join(f"{first}-{last}" for first, last in ranges(sorted(answered))))


def silences(address: str, seconds: float) -> None:
    """Print when answers were missing; the first silence begins with the first question, the last ends with the last."""
    last, end = time.time(), time.time() + seconds
    for _, now in answers(address, seconds):
        if now - last >= GAP:
            print(f"{last:.3f}-{now:.3f}", flush=True)
        last = now
    if end - last >= GAP:
        print(f"{last:.3f}-{end:.3f}", flush=True)


def answers(address: str, seconds: float) -> Iterator[tuple[int, float]]:
    """Ask, whatever errors the network reports; the numbers of questions that are answered, and when."""
    begin = time.monotonic()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.setblocking(False)
        number = 0
        while (now := time.monotonic() - begin) < seconds + PATIENCE:
            if now >= EVERY * number and now < seconds:
                with contextlib.suppress(OSError):
                    udp.sendto(number.to_bytes(4, "big"), (address, PORT))
                number += 1
            wait = max(0.0, EVERY * number - now) if now < seconds else PATIENCE
            if not select.select([udp], [], [], wait)[0]:
                continue
            try:
                answer_to = int.from_bytes(udp.recv(100), "big")
            except OSError:
                continue
            yield answer_to, time.time()


def arrivals(interface: str, seconds: float) -> None:
    """Print when data stopped arriving, and when it arrived again."""
    before, last, end = 0, None, time.monotonic() + seconds
    while time.monotonic() < end:
        now = received(interface)
        if now - before >= DATA:
            clock = datetime.now()
            if last is not None and (clock - last).total_seconds() >= SILENT:
                print(f"{last:%H:%M:%S.%f} {clock:%H:%M:%S.%f}", flush=True)
            last = clock
        before = now
        time.sleep(LOOK)


def received(interface: str) -> int:
    """The bytes that an interface has taken."""
    lines = Path("/proc/net/dev").read_text("ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.strip().startswith(f"{interface}:"))


def ranges(numbers: list[int]) -> list[tuple[int, int]]:
    """First and last of the numbers that follow each other."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


if __name__ == "__main__":
    if sys.argv[1] == "answer":
        answer()
    elif sys.argv[1] == "arrivals":
        arrivals(sys.argv[2], float(sys.argv[3]))
    elif sys.argv[1] == "silences":
        silences(sys.argv[2], float(sys.argv[3]))
    else:
        ask(sys.argv[2], float(sys.argv[3]))
