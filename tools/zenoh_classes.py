#!/usr/bin/env python3
"""Measure zenoh's round trips beside bulk data over several hops: plain TCP, and a tunnel with classes.

    python3 tools/zenoh_classes.py [--over tcp|links|tunnel] [--hops N] [--radio NAME] [--seconds S]

Runs `multihop emulate` with a chain of nodes, as root. A zenoh peer at the first node publishes 64 bytes with
the priority real-time ten times a second, and a peer at the last node returns them, as zenoh's examples
z_ping and z_pong do: first alone, then beside a publisher of 100,000 bytes with the priority background that
publishes without end, as z_pub_thr does. Over `tcp` the session has one TCP connection, over `links` one for
each priority, over `tunnel` one for each priority through `multihop tunnel --class`.
Needs the package eclipse-zenoh (1.10.2).
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from real_programs import MULTIHOP, running
from tunnel_classes import INTERVAL, RADIOS, TOKEN, quantile, quoted

PORT = 7440
"""The connection of priority p has this port and p."""
LOCAL = 10000
"""Difference between a port at the last node and its entrance at the first node."""
PRIORITIES = range(1, 8)
SEND_BUFFER = 65536
"""Bytes of each socket of zenoh that wait for the network."""
FILL = 10.0
"""Seconds of the bulk data before the measurement."""


def main() -> int:
    """Run the emulation, or what runs inside it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--multihop", type=Path, default=MULTIHOP, help="the command to measure")
    parser.add_argument("--over", choices=["tcp", "links", "tunnel"], default="tunnel")
    parser.add_argument("--hops", type=int, default=4)
    parser.add_argument("--radio", choices=sorted(RADIOS), default="802.11g")
    parser.add_argument("--seconds", type=float, default=30.0, help="of each measurement")
    parser.add_argument("--seed", type=int, default=1, help="of the simulated network")
    parser.add_argument("--role", choices=["near", "far"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.multihop = options.multihop.resolve()
    roles: dict[str | None, Callable[[argparse.Namespace], int]] = {None: emulate, "near": near, "far": far}
    return roles[options.role](options)


def emulate(options: argparse.Namespace) -> int:
    """Run everything in an emulation."""
    own: list[object] = [sys.executable, Path(__file__).resolve(), *sys.argv[1:], "--role"]
    gateway: list[object] = [options.multihop, "tunnel", "--listen", "0.0.0.0", "--allow", "*:*"]
    programs = [[*gateway, "--token", TOKEN], [*own, "far"]]
    tables = [f"[[program]]\nnode = {options.hops}\ncommand = '{quoted(words)}'\n" for words in programs]
    with tempfile.TemporaryDirectory() as scratch:
        scenario = Path(scratch) / "chain.toml"
        scenario.write_text(
            f"seed = {options.seed}\nduration = {3 * options.seconds + 120}\n"
            f'[topology]\nkind = "chain"\nhops = {options.hops}\n[radio]\n{RADIOS[options.radio]}'
            + "".join(tables)
        )
        words = [str(word) for word in [options.multihop, "emulate", scenario, "--", *own, "near"]]
        return subprocess.run(words, check=False).returncode


def session(side: str, endpoints: list[str]) -> Any:
    """A zenoh peer that listens at, or connects to, these endpoints."""
    zenoh = import_module("zenoh")

    config = zenoh.Config()
    values = {
        "mode": "peer",
        "scouting/multicast/enabled": False,
        # Both peers are processes of one host, and would pass large payloads by memory.
        "transport/shared_memory/enabled": False,
        # A socket of loopback has room for megabytes, and zenoh closes a session that cannot send for 5 s.
        "transport/link/tcp/so_sndbuf": SEND_BUFFER,
        "transport/unicast/max_links": len(endpoints),
        "listen/endpoints": [],
        f"{side}/endpoints": endpoints,
    }
    for key, value in values.items():
        config.insert_json5(key, json.dumps(value))
    return zenoh.open(config)


def endpoints(options: argparse.Namespace, host: str, offset: int) -> list[str]:
    """An endpoint for each priority, or one for all."""
    if options.over == "tcp":
        return [f"tcp/{host}:{PORT}"]
    return [f"tcp/{host}:{PORT + offset + one}?prio={one}-{one}" for one in PRIORITIES]


def far(options: argparse.Namespace) -> int:
    """Return each ping, and the number of bulk bytes with it."""
    peer = session("listen", endpoints(options, "0.0.0.0", 0))
    zenoh = import_module("zenoh")

    bulk = 0

    def count(sample: Any) -> None:
        nonlocal bulk
        bulk += len(sample.payload)

    block = zenoh.CongestionControl.BLOCK
    pong = peer.declare_publisher(
        "pong", priority=zenoh.Priority.REAL_TIME, congestion_control=block, express=True
    )
    subscribers = [
        peer.declare_subscriber("bulk", count),
        peer.declare_subscriber(
            "ping", lambda sample: pong.put(sample.payload.to_bytes()[:56] + number(bulk))
        ),
    ]
    while subscribers:
        time.sleep(1)
    return 0


def number(value: int) -> bytes:
    """Eight bytes."""
    return value.to_bytes(8, "big")


def near(options: argparse.Namespace) -> int:
    """Measure, through a tunnel if wanted."""
    if options.over != "tunnel":
        time.sleep(3)
        return measure(options, endpoints(options, f"10.0.0.{options.hops + 1}", 0))
    flows = []
    for one in PRIORITIES:
        flows += ["--forward", f"{LOCAL + PORT + one}:127.0.0.1:{PORT + one}"]
        flows += ["--class", f"{PORT + one}={one}"]
    with running([options.multihop, "tunnel", f"node{options.hops}", *flows, "--token", TOKEN]):
        time.sleep(3)
        return measure(options, endpoints(options, "127.0.0.1", LOCAL))


def measure(options: argparse.Namespace, targets: list[str]) -> int:
    """Ping alone, then beside the bulk data."""
    zenoh = import_module("zenoh")

    peer = session("connect", targets)
    pongs: queue.Queue[bytes] = queue.Queue()
    listening = peer.declare_subscriber("pong", lambda sample: pongs.put(sample.payload.to_bytes()))
    block = zenoh.CongestionControl.BLOCK
    ping = peer.declare_publisher(
        "ping", priority=zenoh.Priority.REAL_TIME, congestion_control=block, express=True
    )
    bulk = peer.declare_publisher("bulk", priority=zenoh.Priority.BACKGROUND, congestion_control=block)
    time.sleep(5)

    def exchange() -> tuple[float, int]:
        begin = time.monotonic()
        ping.put(bytes(64))
        answer = pongs.get(timeout=60)
        return 1e3 * (time.monotonic() - begin), int.from_bytes(answer[56:], "big")

    def exchanges() -> list[float]:
        times, end = [], time.monotonic() + options.seconds
        while time.monotonic() < end:
            times.append(exchange()[0])
            time.sleep(max(0.0, INTERVAL - times[-1] / 1e3))
        return times

    alone = exchanges()

    def fill() -> None:
        while True:
            bulk.put(bytes(100_000))

    threading.Thread(target=fill, daemon=True).start()
    time.sleep(FILL)
    begin, before = time.monotonic(), exchange()[1]
    beside = exchanges()
    kbps = (exchange()[1] - before) * 8e-3 / (time.monotonic() - begin)
    print(f"{options.hops} hops of {options.radio}, over {options.over}: bulk data {kbps:.0f} kb/s")
    pairs = [(one, quantile(alone, one), quantile(beside, one)) for one in (0.5, 0.99)]
    text = ", ".join(f"{q:.0%} {a:.1f} -> {b:.1f} ms ({b / a:.1f} times)" for q, a, b in pairs)
    print(f"ping, {len(alone)} and {len(beside)}: {text}", flush=True)
    del listening
    # The session would wait for its bulk data.
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
