#!/usr/bin/env python3
"""Compare reserved paths of real daemons (SRv6) with routes of least delay, and both with the simulator.

    chrt -f 10 python3 tools/reserved_paths.py [--runs N] [--seconds S] [--release]

A ring of ten stations has two disjoint paths of five hops. One flow of numbered UDP datagrams
crosses the ring. Under `apdr` its own load makes the path expensive, so that routes move to the
other side. The table has, for the emulation (`multihop route` at each station, kernels that
forward) and the simulator, means with half the 95% interval of: datagrams that arrived after one
with a higher number, goodput, and the mean one-way delay, also without the first second. Datagrams
sent in the first second may leave before their path is reserved. Route changes are those of all
routes of all daemons; the simulator counts changes of routes that packets use. `--release` also
measures the time from the last packet of a flow to the release of its path, which takes 300 s
longer. An emulation is repeated if 1% of its events or packets were later than 5 ms, or if more than 1% of
the time was lost. Needs root, `multihop` and `ip`.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from real_programs import MULTIHOP
from two_paths import STUDENT

STATIONS, SPACING = 10, 200.0
FAR = STATIONS // 2
PORT, SIZE = 5001, 1000
HEADERS = 40 + 8 + 16 * FAR
"""Bytes of IPv6 and of the routing header in front of each datagram."""
START = 30.0
"""Seconds after which all stations know all paths."""
EARLIER = 5.0
"""Time between the start of the other programs and that of the flow, s."""
PROTOCOLS = ("apdr", "apdr-pr")
WEIGHT = 0.8
RELEASE = 300.0
SO_TIMESTAMPNS = 35
TIMESPEC = struct.Struct("@ll")
"""Time stamp that the kernel attaches to a datagram."""
TRIES = 4
"""Runs until one is valid."""


def main() -> int:
    """Measure all protocols in both worlds and print the table."""
    if sys.argv[1:2] in (["send"], ["receive"], ["watch"]):
        return program(sys.argv[1:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--multihop", type=Path, default=MULTIHOP, help="the command to measure")
    parser.add_argument("--runs", type=int, default=4, help="runs of each protocol")
    parser.add_argument("--seconds", type=float, default=60.0, help="length of the flow")
    parser.add_argument(
        "--rates", type=float, nargs="+", default=[320.0, 1600.0], help="rates of the flow, kb/s"
    )
    parser.add_argument("--jobs", type=int, default=1, help="emulations at a time")
    parser.add_argument("--release", action="store_true", help="measure the release of a path")
    options = parser.parse_args()
    names = ["load, kb/s", "protocol", "world", "out of order", "first second", "goodput, kb/s"]
    names += ["delay, ms", "delay after the first second, ms", "route changes"]
    print(f"| {' | '.join(names)} |")
    print("|---" * len(names) + "|")
    worlds: dict[str, Callable[..., dict[str, float]]]
    with ThreadPoolExecutor(options.jobs) as pool:
        for rate, protocol in itertools.product(options.rates, PROTOCOLS):
            worlds = {"emulated": emulated, "simulated": simulated}
            if protocol == "apdr-pr":
                worlds["simulated, with the headers of SRv6"] = partial(simulated, extra=HEADERS)
            for world, run in worlds.items():
                seeds = range(1, options.runs + 1)
                each = list(pool.map(partial(run, options, rate, protocol), seeds))
                cells = [
                    interval([one[key] for one in each])
                    for key in ("unordered", "first", "goodput", "delay", "settled", "changes")
                ]
                print(f"| {rate:g} | `{protocol}` | {world} | {' | '.join(cells)} |", flush=True)
    if options.release:
        options.seconds = 5.0
        silent = emulated(options, 160.0, "apdr-pr", 1, release=True)["released"]
        print(f"released {silent:.1f} s after the last packet")
    return 0


def interval(values: list[float]) -> str:
    """Mean and half the 95% interval."""
    middle = statistics.fmean(values)
    if math.isnan(middle):
        return ""
    if len(values) < 2:
        return f"{middle:.1f}"
    half = STUDENT[len(values)] * statistics.stdev(values) / math.sqrt(len(values))
    return f"{middle:.1f} ± {half:.1f}"


def scenario(seed: int, duration: float) -> str:
    """A ring in which each station reaches two others."""
    radius = SPACING / 2 / math.sin(math.pi / STATIONS)
    turns = [2 * math.pi * n / STATIONS for n in range(STATIONS)]
    positions = [[round(radius * (1 + math.cos(t)), 1), round(radius * (1 + math.sin(t)), 1)] for t in turns]
    return (
        f'seed = {seed}\nduration = {duration}\nradio.rate = "11M"\n'
        'mac = { arp = "queueing", flavour = "standard", rts_threshold = "off" }\n'
        f'[topology]\nkind = "list"\npositions = {positions}\n'
    )


def simulated(
    options: argparse.Namespace, rate: float, protocol: str, seed: int, extra: int = 0
) -> dict[str, float]:
    """One run of the simulator, whose agents have the configuration of the daemons."""
    flow = (
        f"[[flow]]\nfrom = 0\nto = {FAR}\nstart = {START}\nstop = {START + options.seconds}\n"
        f'app = "cbr"\nrate_kbps = {rate * (1 + extra / SIZE)}\nsize = {SIZE + extra}\n'
    )
    routing = (
        f'[routing]\nprotocol = "{protocol}"\npreset = "rfc"\n'
        f'triggered = true\nclocks = "echoed"\nweight = {WEIGHT}\n'
    )
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch, "ring.toml")
        file.write_text(scenario(seed, START + options.seconds + 5) + routing + flow, "utf-8")
        done = subprocess.run([options.multihop, "run", file, "--json"], check=True, capture_output=True)
    document: dict[str, Any] = json.loads(done.stdout)
    found = document["flows"][0]
    return {
        "unordered": found["out_of_order"],
        "first": math.nan,
        "goodput": found["segments_delivered"] * SIZE * 8e-3 / options.seconds,
        "delay": found["delay_ms"]["mean"],
        "settled": math.nan,
        "changes": document["routing"]["route_changes"],
    }


def emulated(
    options: argparse.Namespace, rate: float, protocol: str, seed: int, *, release: bool = False
) -> dict[str, float]:
    """One emulation, repeated while the machine was too busy for it."""
    for _ in range(TRIES):
        found = once(options, rate, protocol, seed, release=release)
        if found["valid"]:
            return found
    raise SystemExit(f"{TRIES} runs were late: use a machine with less other work, or chrt -f 10")


def once(
    options: argparse.Namespace, rate: float, protocol: str, seed: int, *, release: bool
) -> dict[str, float]:
    """One run of daemons and kernels."""
    keys = f"--set routing.protocol={protocol} --set routing.weight={WEIGHT}"
    if protocol == "apdr-pr":
        keys += f" --set reserve=[{PORT}]"
    daemon = f"{options.multihop} route radio0 --quiet {keys}"
    after = RELEASE + 15.0 if release else 5.0
    tool = f"{sys.executable} {Path(__file__).resolve()}"
    commands = [(n, f"exec {daemon}", 0.0) for n in range(STATIONS)]
    commands += [(FAR, f"exec {tool} receive {EARLIER + options.seconds + 1}", START - EARLIER)]
    commands += [(0, f"exec {tool} send 10.0.0.{FAR + 1} {rate} {options.seconds}", START)]
    # Programs that start together with the flow would delay its first datagrams.
    commands += [
        (n, f"exec {tool} watch {options.multihop} {n} {EARLIER + options.seconds + after}", START - EARLIER)
        for n in range(STATIONS)
    ]
    programs = "".join(
        f'[[program]]\nnode = {node}\ncommand = "{command}"\nstart = {start}\n'
        for node, command, start in commands
    )
    duration = START + options.seconds + after + 2
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        text = scenario(seed, duration) + '[emulation]\ninterface = "tap"\n' + programs
        (folder / "ring.toml").write_text(text, "utf-8")
        done = subprocess.run(
            [options.multihop, "emulate", "ring.toml", "--late-limit", "0.005", "--out", "out", "--json"],
            cwd=folder,
            check=False,
            capture_output=True,
        )
        try:
            sent = json.loads((folder / "sent.json").read_text("utf-8"))
            received = json.loads((folder / "received.json").read_text("utf-8"))
            watched = [json.loads((folder / f"watched-{n}.json").read_text("utf-8")) for n in range(STATIONS)]
        except FileNotFoundError as error:
            raise SystemExit(f"{error}: {done.stderr.decode()}") from error
    document = json.loads(done.stdout)
    return {
        "unordered": received["unordered"],
        "first": sum(number * SIZE * 8e-3 < rate for number in received["late"]),
        "goodput": received["count"] * SIZE * 8e-3 / options.seconds,
        "delay": mean(received["delays"]),
        "settled": mean([one for one in received["delays"] if one[0] * SIZE * 8e-3 >= rate]),
        "changes": sum(one["changes"] for one in watched),
        "valid": document["emulation"]["valid"],
        "released": (watched[0]["released"] or math.nan) - sent["last"],
    }


def program(words: list[str]) -> int:
    """A program at a station; its result is a file."""
    match words:
        case ["send", address, rate, seconds]:
            found = send(address, float(rate), float(seconds))
            Path("sent.json").write_text(json.dumps(found), "utf-8")
        case ["receive", seconds]:
            Path("received.json").write_text(json.dumps(receive(float(seconds))), "utf-8")
        case ["watch", command, node, seconds]:
            seen = watch(command, float(seconds), 1.0 if node == "0" else 5.0)
            Path(f"watched-{node}.json").write_text(json.dumps(seen), "utf-8")
    return 0


def send(address: str, rate: float, seconds: float) -> dict[str, float]:
    """Send numbered datagrams with the time."""
    begin, count, every = time.monotonic(), 0, SIZE * 8 / (rate * 1000)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.connect((address, PORT))
        while count * every < seconds:
            time.sleep(max(0.0, begin + count * every - time.monotonic()))
            head = f"{count} {time.time()} ".encode()
            try:
                udp.send(head.ljust(SIZE, b"."))
            except OSError as error:
                print(error)
            count += 1
    return {"count": count, "last": time.time()}


def receive(seconds: float) -> dict[str, Any]:
    """Count datagrams, and those that arrive after one with a higher number. The kernel stamps arrivals."""
    end, highest = time.monotonic() + seconds, -1
    late: list[int] = []
    delays: dict[int, float] = {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.bind(("", PORT))
        udp.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        udp.settimeout(0.2)
        while time.monotonic() < end:
            try:
                datagram, stamps, _, _ = udp.recvmsg(2000, socket.CMSG_SPACE(TIMESPEC.size))
            except TimeoutError:
                continue
            number, sent, _ = datagram.split(b" ", 2)
            seconds_and_ns = TIMESPEC.unpack(stamps[0][2])
            if int(number) < highest:
                late.append(int(number))
            highest = max(highest, int(number))
            arrived = seconds_and_ns[0] + 1e-9 * seconds_and_ns[1]
            delays.setdefault(int(number), arrived - float(sent))
    return {"count": len(delays), "unordered": len(late), "late": late, "delays": list(delays.items())}


def mean(delays: list[tuple[int, float]]) -> float:
    """Mean of the delays of numbered datagrams, ms."""
    return 1000 * statistics.fmean(delay for _, delay in delays) if delays else math.nan


def watch(command: str, seconds: float, every: float) -> dict[str, float | None]:
    """Changes of next hops, and when the last path was released."""
    end, before, released, last = time.monotonic() + seconds, None, None, 0
    had = False
    while time.monotonic() < end:
        done = subprocess.run([command, "route", "status", "--json"], check=False, capture_output=True)
        if done.returncode == 0:
            status = json.loads(done.stdout)
            last = status["route_changes"]
            before = last if before is None else before
            if had and not status["reserved"] and released is None:
                released = time.time()
            had = had or bool(status["reserved"])
        time.sleep(every)
    return {"changes": last - (before or 0), "released": released}


if __name__ == "__main__":
    sys.exit(main())
