#!/usr/bin/env python3
"""Measure telemetry in time over lossy hops: channels of `mesh`, QUIC datagrams, UDP and TCP.

    python3 tools/telemetry_in_time.py [--seconds 30] [--runs 3] [--losses 0 0.05 0.1 0.2]

Fifty messages of 200 bytes a second cross an emulated chain of four hops with 802.11g at 54 Mb/s, whose
hops lose packets. `mesh` has an unordered channel with a deadline of 200 ms. QUIC (quinn, `cargo build
--release` in tools/quic) has datagrams, once with quinn's buffer of 1 MB for datagrams that wait, once with
2 kB. Senders of `mesh` try to connect until a connection opens, and time counts from the first message that
has arrived. Printed are the share of the messages that arrived within 200 ms, its 95% confidence interval,
the values of the runs, the seconds until the first message had arrived, and the share of the time that the
emulation lost.

Needs root, and the Python package `multihop`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from commands_beside_images import QUIC
from real_programs import MULTIHOP

BYTES, INTERVAL, DEADLINE = 200, 0.02, 0.2
PORT = 7461
WARMUP, TAIL = 5.0, 1.0
"""Start and end of a run whose messages do not count, s."""
PATIENCE = 180.0
"""Longest time until the first message arrives, s."""
TRANSPORTS = ("mesh", "quic", "quic-2kB", "udp", "cubic", "bbr")
CHAIN = """
duration = {duration:.1f}
topology = {{ kind = "chain", hops = 4, spacing = 110.0 }}
radio = {{ phy = "802.11g", rate = "54M", basic_rate = "24M", loss = {loss} }}
mac = {{ arp = "queueing" }}

[[program]]
node = 4
command = '{receiver} > {out}'
"""

Times = list[list[int]]
"""Departure and arrival of each message, nanoseconds of the clock that all processes share."""


def schedule(seconds: float) -> Sequence[float]:
    """Departures, seconds of the monotonic clock."""
    begin = time.monotonic()
    return [begin + number * INTERVAL for number in range(round(seconds / INTERVAL))]


def message(departure: float) -> bytes:
    """A message that begins with its departure."""
    return round(departure * 1e9).to_bytes(8, "big") + bytes(BYTES - 8)


def times_of(data: bytes) -> list[int]:
    """Departure and arrival of a message that has arrived now."""
    return [int.from_bytes(data[:8], "big"), time.monotonic_ns()]


def is_over(times: Times, begin: float, seconds: float) -> bool:
    """Whether a receiver that began at this time has waited long enough."""
    if times:
        return time.monotonic() > times[0][1] / 1e9 + seconds
    return time.monotonic() > begin + PATIENCE


async def mesh_receiver(seconds: float) -> Times:
    """Receive from a channel."""
    from multihop import messages

    times: Times = []

    async def connected(connection: messages.Connection) -> None:
        async for channel in connection:
            async for one in channel:
                times.append(times_of(one.data))

    async with await messages.serve(connected, "0.0.0.0", PORT, security=messages.Security.plain()):
        begin = time.monotonic()
        while not is_over(times, begin, seconds):
            await asyncio.sleep(0.1)
    return times


async def mesh_sender(to: str, seconds: float) -> None:
    """Send in a channel with a deadline."""
    from multihop import messages

    connection = None
    while connection is None:
        # After several SYNs without an answer, the next connection begins without backoff.
        with contextlib.suppress(OSError):
            connection = await messages.connect(to, PORT, security=messages.Security.plain())
    channel = connection.channel("telemetry", priority=1, deadline=DEADLINE, is_ordered=False)
    for departure in schedule(seconds):
        await asyncio.sleep(max(0.0, departure - time.monotonic()))
        await channel.send(message(departure))
    connection.abort()


def receiver(transport: str, seconds: float) -> Times:
    """Receive datagrams, or the byte stream of one connection."""
    times: Times = []

    def datagrams() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            udp.bind(("0.0.0.0", PORT))
            while True:
                times.append(times_of(udp.recv(2048)))

    def stream() -> None:
        with socket.create_server(("0.0.0.0", PORT)) as server:
            connection = server.accept()[0].makefile("rb")
            while len(data := connection.read(BYTES)) == BYTES:
                times.append(times_of(data))

    threading.Thread(target=datagrams if transport == "udp" else stream, daemon=True).start()
    begin = time.monotonic()
    while not is_over(times, begin, seconds):
        time.sleep(0.1)
    return times


def sender(transport: str, to: str, seconds: float) -> None:
    """Send datagrams, or a byte stream."""
    if transport == "udp":
        connection = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    else:
        connection = socket.socket()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, transport.encode())
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with connection:
        connection.connect((to, PORT))
        for departure in schedule(seconds):
            time.sleep(max(0.0, departure - time.monotonic()))
            connection.sendall(message(departure))


def in_time(times: Times, seconds: float) -> float:
    """Share of the messages between warm-up and end that arrived in time."""
    if not times:
        return 0.0
    first = min(departure for departure, _ in times)
    begin, end = first + WARMUP * 1e9, first + (seconds - TAIL) * 1e9
    counted = {departure: arrival for departure, arrival in reversed(times) if begin <= departure < end}
    arrived = sum(arrival - departure <= DEADLINE * 1e9 for departure, arrival in counted.items())
    return arrived / round((end - begin) / 1e9 / INTERVAL)


@dataclass(frozen=True)
class Run:
    """Share in time, seconds until the first message arrived, and share of time that the emulation lost."""

    in_time: float
    first: float | None
    lost: float


def measured(options: argparse.Namespace, transport: str, loss: float, seed: int) -> Run:
    """One run."""
    seconds = options.seconds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        own = f"{sys.executable} {Path(__file__).resolve()}"
        if transport.startswith("quic"):
            receive = f"{QUIC} server 0.0.0.0:{PORT} --telemetry {seconds + 8}"
            send = f"{QUIC} telemetry 10.0.0.5:{PORT} --seconds {seconds}"
            send += " --buffer 2000" if transport == "quic-2kB" else ""
        else:
            receive = f"{own} --receive {transport} --seconds {seconds}"
            send = f"{own} --send {transport} --seconds {seconds}"
        out = folder / "times.json"
        scenario = CHAIN.format(duration=seconds + PATIENCE + 60, receiver=receive, out=out, loss=loss)
        (folder / "chain.toml").write_text(scenario, encoding="utf-8")
        script = f"sleep 1; {send}; for n in $(seq 2400); do [ -s {out} ] && exit; sleep 0.1; done"
        command = [options.multihop, "emulate", folder / "chain.toml", "--seed", seed, "--out", folder]
        words = [str(word) for word in [*command, "--", "sh", "-c", script]]
        begin = time.monotonic_ns()
        subprocess.run(words, check=True, capture_output=True)
        lost = json.loads((folder / "result.json").read_text())["emulation"]["lost_share"]
        found = json.loads(out.read_text() or "[]")
        times = found["telemetry"] if isinstance(found, dict) else found
        first = (times[0][1] - begin) / 1e9 if times else None
        return Run(in_time(times, seconds), first, lost)


def main(arguments: Sequence[str]) -> int:
    """Run the measurement, or one end of a run."""
    parser = argparse.ArgumentParser(description="Measure telemetry in time over lossy hops.")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--losses", type=float, nargs="+", default=[0.0, 0.05, 0.1, 0.2])
    parser.add_argument("--transports", nargs="+", default=list(TRANSPORTS), choices=TRANSPORTS)
    parser.add_argument("--multihop", type=Path, default=MULTIHOP)
    for end in ("--receive", "--send"):
        parser.add_argument(end, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.receive:
        is_mesh = options.receive == "mesh"
        times = (
            asyncio.run(mesh_receiver(options.seconds))
            if is_mesh
            else receiver(options.receive, options.seconds)
        )
        print(json.dumps(times), flush=True)
        return 0
    if options.send:
        if options.send == "mesh":
            asyncio.run(mesh_sender("10.0.0.5", options.seconds))
        else:
            sender(options.send, "10.0.0.5", options.seconds)
        return 0
    from multihop.stats import interval

    options.multihop = options.multihop.resolve()
    for loss in options.losses:
        for transport in options.transports:
            runs = [measured(options, transport, loss, seed + 1) for seed in range(options.runs)]
            shares = [run.in_time for run in runs]
            half = interval(shares).half if len(shares) > 1 else None
            row = {
                "loss": loss,
                "transport": transport,
                "in_time": round(statistics.mean(shares), 4),
                "half": half and round(half, 4),
                "runs": [round(share, 4) for share in shares],
                "first": [run.first and round(run.first, 1) for run in runs],
                "lost": round(max(run.lost for run in runs), 4),
            }
            print(json.dumps(row), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
