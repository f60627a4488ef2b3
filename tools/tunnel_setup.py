#!/usr/bin/env python3
"""Measure how long new connections through a tunnel take beside a bulk transfer over the same hops.

    python3 tools/tunnel_setup.py [--hops N] [--connections N] [--multihop PROGRAM] [--transport NAME]

Runs `multihop emulate` with a chain of nodes, as root. At the last node are a gateway, a receiver of files
and a server that returns each byte. At the first node `multihop send` fills the path, and a tunnel's near end
carries one new connection after the other. Printed is the time from connecting until the first byte has
returned.
"""

from __future__ import annotations

import argparse
import os
import socket
import socketserver
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from real_programs import MULTIHOP, running

TOKEN = "gfw06-sfgfd-tdvxj-48mw9-befah"
ECHO, LOCAL = 9000, 9001
FILL = 10.0
"""Seconds of the bulk transfer before the first connection."""
PAUSE = 0.5
"""Seconds between two connections."""


def main() -> int:
    """Run the emulation, or what runs inside it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--multihop", type=Path, default=MULTIHOP, help="the command to measure")
    parser.add_argument("--hops", type=int, default=4)
    parser.add_argument("--connections", type=int, default=30)
    parser.add_argument("--transport", help="of all programs; mesh if it is not given")
    parser.add_argument("--seed", type=int, default=1, help="of the simulated network")
    parser.add_argument("--pcap", type=Path, help="file for the frames of all nodes")
    parser.add_argument("--role", choices=["near", "echo"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.multihop = options.multihop.resolve()
    roles = {None: emulate, "near": near, "echo": echo}
    return roles[options.role](options)


def both(options: argparse.Namespace) -> list[str]:
    """Arguments that both ends of each connection get."""
    return ["--token", TOKEN, *(["--transport", options.transport] if options.transport else [])]


def emulate(options: argparse.Namespace) -> int:
    """Run everything in an emulation."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        own = [sys.executable, str(Path(__file__).resolve()), *sys.argv[1:], "--folder", scratch, "--role"]
        common = [str(word) for word in both(options)]
        programs = [
            [str(options.multihop), "tunnel", "--listen", "0.0.0.0", "--allow", "*:*", *common],
            [str(options.multihop), "recv", "--listen", "0.0.0.0", "--to", str(folder / "inbox"), *common],
            [*own, "echo"],
        ]
        tables = [
            f"[[program]]\nnode = {options.hops}\ncommand = '''{' '.join(map(quoted, words))}'''\n"
            for words in programs
        ]
        duration = FILL + 60 + 10 * options.connections
        head = f"seed = {options.seed}\nduration = {duration}\n"
        head += f'[topology]\nkind = "chain"\nhops = {options.hops}\n'
        scenario = folder / "chain.toml"
        scenario.write_text(head + "".join(tables))
        capture = ["--pcap", str(options.pcap)] if options.pcap else []
        words = [str(options.multihop), "emulate", *capture, str(scenario), "--", *own, "near"]
        return subprocess.run(words, check=False).returncode


def quoted(word: str) -> str:
    """A word for the shell."""
    return f'"{word}"'


def echo(_: argparse.Namespace) -> int:
    """Return every byte to its sender."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            while data := self.request.recv(1):
                self.request.sendall(data)

    socketserver.ThreadingTCPServer(("127.0.0.1", ECHO), Handler).serve_forever()
    return 0


def near(options: argparse.Namespace) -> int:
    """Fill the path, connect many times, and print the times."""
    last = f"node{options.hops}"
    large = options.folder / "large"
    with large.open("wb") as file:
        file.truncate(10**9)
        file.write(os.urandom(10**7) * 10)
    tunnel = [options.multihop, "tunnel", last, "--forward", f"{LOCAL}:127.0.0.1:{ECHO}", *both(options)]
    with running(tunnel) as program:
        time.sleep(2)
        assert program.poll() is None, "the near end has ended"
        quiet = [connection() for _ in range(5)]
        print(f"without the transfer: median {statistics.median(quiet):.3f} s, longest {max(quiet):.3f} s")
        with running([options.multihop, "send", "--quiet", large, last, *both(options)]) as bulk:
            time.sleep(FILL)
            times = []
            for _ in range(options.connections):
                times.append(connection())
                time.sleep(PAUSE)
            assert bulk.poll() is None, "the transfer has ended before the connections"
    times.sort()
    print(f"beside it: {len(times)} connections, median {statistics.median(times):.3f} s,", end=" ")
    print(f"9 of 10 within {times[len(times) * 9 // 10 - 1]:.3f} s, {sum(t > 0.9 for t in times)} over 0.9 s")
    print(" ".join(f"{one:.3f}" for one in times), flush=True)
    return 0


def connection() -> float:
    """Seconds until the first byte of a new connection has returned."""
    begin = time.monotonic()
    with socket.create_connection(("127.0.0.1", LOCAL), 60) as stream:
        stream.sendall(b"x")
        assert stream.recv(1) == b"x", "the tunnel has closed the connection"
    return time.monotonic() - begin


if __name__ == "__main__":
    sys.exit(main())
