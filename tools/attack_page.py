#!/usr/bin/env python3
"""Attack the page of `multihop route status` with slow clients, and measure how long a genuine request takes.

    python3 tools/attack_page.py            16 and 200 clients of each kind

Needs `make build` with Node, and no rights. A *silent* client connects and sends nothing. A *dripping* client
sends one byte of its request every second. A *deaf* client asks for the page and never reads it.
"""

from __future__ import annotations

import argparse
import contextlib
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from real_programs import MULTIHOP

HOST = "127.0.0.1"
KINDS = {"silent": b"", "dripping": b"G", "deaf": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"}
# Longer than any server may keep a genuine request waiting.
GIVES_UP = 120.0


def main() -> int:
    """Attack with each kind of client; returns 1 if a genuine request has no answer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--multihop", type=Path, default=MULTIHOP, help="the command to attack")
    options = parser.parse_args()
    answered = True
    for kind in KINDS:
        for number in (16, 200):
            with server(options.multihop) as port, clients(port, kind, number):
                seconds = genuine(port)
            answered &= seconds is not None
            took = "no answer" if seconds is None else f"answered after {seconds:.3f} s"
            print(f"{number} {kind} clients: a genuine request is {took}", flush=True)
    return 0 if answered else 1


@contextlib.contextmanager
def server(multihop: Path) -> Iterator[int]:
    """The port of a server of the page."""
    words = [str(multihop), "route", "status", "--page", f"{HOST}:0"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline().split(":")[2].split("/")[0])
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@contextlib.contextmanager
def clients(port: int, kind: str, number: int) -> Iterator[None]:
    """Keep `number` slow clients connected: replace each that the server closes."""
    done = threading.Event()
    threads = [threading.Thread(target=slow, args=(port, KINDS[kind], done)) for _ in range(number)]
    for thread in threads:
        thread.start()
    time.sleep(2)
    try:
        yield
    finally:
        done.set()
        for thread in threads:
            thread.join()


def slow(port: int, begin: bytes, done: threading.Event) -> None:
    """Connect, send the beginning of a request, and stay."""
    while not done.is_set():
        with contextlib.suppress(OSError), socket.create_connection((HOST, port), timeout=5) as stream:
            stream.sendall(begin)
            while not done.wait(1):
                if len(begin) == 1:
                    stream.sendall(begin)
                elif not begin and closed(stream):
                    break
        done.wait(0.2)


def closed(stream: socket.socket) -> bool:
    """Whether the server has closed the connection."""
    stream.settimeout(0.01)
    try:
        return stream.recv(1) == b""
    except TimeoutError:
        return False


def genuine(port: int) -> float | None:
    """The seconds until the first answer to a request that is repeated as a browser repeats it."""
    begin = time.monotonic()
    while time.monotonic() < begin + GIVES_UP:
        with contextlib.suppress(OSError), socket.create_connection((HOST, port), timeout=GIVES_UP) as stream:
            stream.sendall(b"GET /status HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            if stream.recv(12).startswith(b"HTTP/1.1"):
                return time.monotonic() - begin
        time.sleep(0.1)
    return None


if __name__ == "__main__":
    sys.exit(main())
