#!/usr/bin/env python3
"""Measure commands of 2 kB beside images: over channels of `mesh`, QUIC and TCP.

    python3 tools/commands_beside_images.py [--radio 802.11b] [--seconds 30] [--runs 3] [--figure FILE]

Ten commands a second and images without a pause cross an emulated chain of four hops: images of 2 MB with
802.11g at 54 Mb/s, or of 100 kB with 802.11b at 2 Mb/s, because 2 MB would take longer than a run. `mesh` has
a channel for each, commands in class 0. QUIC (quinn, `cargo build --release` in tools/quic) has a stream for
each message, and streams of commands have the higher priority. TCP has two connections. Each transport also
sends images alone, and commands alone. Printed are the delay of commands (ms), from the call that sends them
until their last byte has arrived, and the goodput of images (Mb/s) from the first to the last that has
arrived.

Needs root, and the Python package `multihop`.
"""

from __future__ import annotations

import argparse
import asyncio
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
from typing import Any

from real_programs import MULTIHOP, ROOT

QUIC = ROOT / "tools" / "quic" / "target" / "release" / "multihop-quic"
COMMAND = 2_000
INTERVAL = 0.1
PORT = 7460
WARMUP = 5.0
"""Start of a run whose commands do not count, s."""
TRANSPORTS = {"mesh": "mesh, channels", "quic": "QUIC, streams", "cubic": "TCP CUBIC", "bbr": "TCP BBR"}
LOADS = {"both": (True, True), "images": (False, True), "commands": (True, False)}
"""Whether commands, and whether images are sent."""


@dataclass(frozen=True)
class Radio:
    """The radio of all nodes, its rate in Mb/s, the distance between neighbours, and the size of images."""

    keys: str
    rate: int
    spacing: float
    image: int


RADIOS = {
    "802.11g": Radio('phy = "802.11g", rate = "54M", basic_rate = "24M"', 54, 110.0, 2_000_000),
    "802.11b": Radio('phy = "802.11b", rate = "2M"', 2, 200.0, 100_000),
}
CHAIN = """
duration = {duration:.1f}
topology = {{ kind = "chain", hops = 4, spacing = {spacing} }}
radio = {{ {radio} }}
mac = {{ arp = "queueing" }}

[[program]]
node = 4
command = '{receiver} > {out}'
"""

Times = dict[str, list[list[int]]]
"""Departure and arrival of commands and of images, nanoseconds of the clock that all processes share."""


def message(size: int) -> bytes:
    """A message that begins with its departure."""
    return time.monotonic_ns().to_bytes(8, "big") + bytes(size - 8)


def note(times: list[list[int]], data: bytes) -> None:
    """Note the arrival of a message."""
    times.append([int.from_bytes(data[:8], "big"), time.monotonic_ns()])


async def mesh_receiver(seconds: float) -> Times:
    """Receive from the channels of one connection."""
    from multihop import messages

    times: Times = {"commands": [], "images": []}

    async def receive(channel: messages.Channel, kind: list[list[int]]) -> None:
        async for one in channel:
            note(kind, one.data)

    async def connected(connection: messages.Connection) -> None:
        kinds = iter(times.values())
        tasks = [asyncio.create_task(receive(channel, next(kinds))) async for channel in connection]
        await asyncio.gather(*tasks)

    plain = messages.Security.plain()
    async with await messages.serve(connected, "0.0.0.0", PORT, security=plain):
        await asyncio.sleep(seconds)
    return times


async def mesh_sender(to: str, seconds: float, image: int, has_commands: bool, has_images: bool) -> None:
    """Send over the channels of one connection."""
    from multihop import messages

    connection = await messages.connect(to, PORT, security=messages.Security.plain())
    commands = connection.channel("commands", priority=0)
    images = connection.channel("images", priority=5)

    async def send_commands() -> None:
        due = time.monotonic()
        while True:
            await commands.send(message(COMMAND))
            due += INTERVAL
            await asyncio.sleep(max(0.0, due - time.monotonic()))

    async def send_images() -> None:
        while True:
            await images.send(message(image))

    wanted = [send_commands()] * has_commands + [send_images()] * has_images
    tasks = [asyncio.create_task(task) for task in wanted]
    await asyncio.sleep(seconds)
    for task in tasks:
        task.cancel()
    connection.abort()


def tcp_receiver(seconds: float, image: int) -> Times:
    """Receive from two connections; the first byte of each tells what it carries."""
    times: Times = {"commands": [], "images": []}

    def receive(connection: socket.socket) -> None:
        stream = connection.makefile("rb")
        kind, size = (("commands", COMMAND), ("images", image))[stream.read(1)[0]]
        while len(data := stream.read(size)) == size:
            note(times[kind], data)

    def accept(server: socket.socket) -> None:
        while True:
            threading.Thread(target=receive, args=(server.accept()[0],), daemon=True).start()

    server = socket.create_server(("0.0.0.0", PORT))
    threading.Thread(target=accept, args=(server,), daemon=True).start()
    time.sleep(seconds)
    return times


def tcp_sender(
    control: str, to: str, seconds: float, image: int, has_commands: bool, has_images: bool
) -> None:
    """Send over a connection for commands and one for images."""

    def send(kind: int, size: int, interval: float) -> None:
        with socket.socket() as stream:
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            stream.connect((to, PORT))
            stream.sendall(bytes([kind]))
            due = time.monotonic()
            while True:
                stream.sendall(message(size))
                due = max(due + interval, time.monotonic() - 1000 * interval)
                time.sleep(max(0.0, due - time.monotonic()) if interval else 0.0)

    wanted = [(0, COMMAND, INTERVAL)] * has_commands + [(1, image, 0.0)] * has_images
    for one in wanted:
        threading.Thread(target=send, args=one, daemon=True).start()
    time.sleep(seconds)


def receive(transport: str, seconds: float, image: int) -> None:
    """Receive for a while; print the times."""
    times = asyncio.run(mesh_receiver(seconds)) if transport == "mesh" else tcp_receiver(seconds, image)
    print(json.dumps(times), flush=True)


def send(transport: str, to: str, seconds: float, image: int, load: str) -> None:
    """Send for a while."""
    wanted = LOADS[load]
    if transport == "mesh":
        asyncio.run(mesh_sender(to, seconds, image, *wanted))
    else:
        tcp_sender(transport, to, seconds, image, *wanted)


def measured(options: argparse.Namespace, transport: str, load: str, seed: int) -> tuple[Times, float]:
    """Times of one run, and the share of time that the emulation lost."""
    seconds, radio = options.seconds, RADIOS[options.radio]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        own = f"{sys.executable} {Path(__file__).resolve()}"
        if transport == "quic":
            receiver = f"{QUIC} server 0.0.0.0:{PORT} --messages"
            sender = f"{QUIC} messages 10.0.0.5:{PORT} --seconds {seconds} --image {radio.image}"
            sender += {"both": "", "images": " --no-commands", "commands": " --no-images"}[load]
        else:
            own += f" --radio {options.radio}"
            receiver = f"{own} --receive {transport} --seconds {seconds + 4}"
            sender = f"{own} --send {transport} --load {load} --seconds {seconds}"
        out = folder / "times.json"
        chain = {"duration": seconds + 60, "spacing": radio.spacing, "radio": radio.keys}
        scenario = CHAIN.format(**chain, receiver=receiver, out=out)
        (folder / "chain.toml").write_text(scenario, encoding="utf-8")
        command = [options.multihop, "emulate", folder / "chain.toml", "--seed", seed, "--out", folder, "--"]
        script = f"sleep 1; {sender}; for n in $(seq 300); do [ -s {out} ] && exit; sleep 0.1; done"
        words = [str(word) for word in [*command, "sh", "-c", script]]
        subprocess.run(words, check=True, capture_output=True)
        lost = json.loads((folder / "result.json").read_text())["emulation"]["lost_share"]
        return json.loads(out.read_text()), lost


def summary(runs: Sequence[Times], image: int) -> tuple[float | None, float | None, float | None]:
    """Median and 99% quantile of the commands' delays, ms, and mean goodput of images, Mb/s."""
    delays, rates = [], []
    for run in runs:
        commands = run["commands"]
        counted = commands[round(WARMUP / INTERVAL) :]
        delays += [(arrival - departure) / 1e6 for departure, arrival in counted]
        arrivals = sorted(arrival for _, arrival in run["images"])
        if len(arrivals) > 1:
            rates.append((len(arrivals) - 1) * image * 8e3 / (arrivals[-1] - arrivals[0]))
    rate = statistics.mean(rates) if rates else None
    if len(delays) < 2:
        return None, None, rate
    percentiles = statistics.quantiles(delays, n=100)
    return percentiles[49], percentiles[98], rate


def draw(rows: Sequence[dict[str, Any]]) -> str:
    """Delays of commands, and goodput of images, as SVG: a row of two charts for each radio."""
    from multihop import figure_files, report

    radios = [radio for radio in RADIOS if any(row["radio"] == radio for row in rows)]
    with report.drawing():
        figure = report.Picture(figsize=(9.0, 2.4 * len(radios) + 1.2), layout="constrained")
        charts = figure.subplots(len(radios), 2, squeeze=False)
    for radio, (left, right) in zip(radios, charts, strict=True):
        draw_radio([row for row in rows if row["radio"] == radio], left, right)
        left.set_title(f"{radio}, {RADIOS[radio].rate} Mb/s", loc="left")
    handles, labels = charts[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower left", ncols=2, fontsize="small")
    handles, labels = charts[0][1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower right", ncols=2, fontsize="small")
    return figure_files.figure_file(figure)


def draw_radio(rows: Sequence[dict[str, Any]], left: Any, right: Any) -> None:
    """Delays and goodput over one radio."""
    found = {(row["transport"], row["load"]): row for row in rows}
    names = [name for name in TRANSPORTS if (name, "both") in found][::-1]
    for load, marker in (("commands", "o"), ("both", "s")):
        for key, filled in (("p50", "none"), ("p99", None)):
            shown = {"commands": "alone", "both": "beside images"}[load]
            left.plot(
                [found[name, load][key] for name in names],
                range(len(names)),
                marker,
                fillstyle=filled,
                color={"commands": "C0", "both": "C3"}[load],
                label=f"{shown}, {'median' if key == 'p50' else '99%'}",
            )
    left.set(xscale="log", xlabel="delay of commands, ms")
    for load, shift, colour in (("images", 0.18, "C0"), ("both", -0.18, "C3")):
        rates = [found[name, load]["rate"] or 0.0 for name in names]
        shown = {"images": "alone", "both": "beside commands"}[load]
        right.barh([row + shift for row in range(len(names))], rates, 0.34, color=colour, label=shown)
    right.set(xlabel="goodput of images, Mb/s")
    for chart in (left, right):
        chart.set_yticks(range(len(names)), [TRANSPORTS[name] for name in names])


def main(arguments: Sequence[str]) -> int:
    """Run the measurement, or one end of a run."""
    parser = argparse.ArgumentParser(description="Measure commands beside images.")
    parser.add_argument("--radio", choices=list(RADIOS), default="802.11g")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--transports", nargs="+", default=list(TRANSPORTS), choices=list(TRANSPORTS))
    parser.add_argument("--out", type=Path, help="also write the values into this file")
    parser.add_argument("--figure", type=Path, help="draw the figure into this file")
    parser.add_argument(
        "--values", type=Path, nargs="+", help="draw values that --out wrote, and measure nothing"
    )
    parser.add_argument("--multihop", type=Path, default=MULTIHOP)
    for end in ("--receive", "--send", "--load"):
        parser.add_argument(end, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.receive:
        receive(options.receive, options.seconds, RADIOS[options.radio].image)
        return 0
    if options.send:
        send(options.send, "10.0.0.5", options.seconds, RADIOS[options.radio].image, options.load)
        return 0
    options.multihop = options.multihop.resolve()
    rows: list[dict[str, Any]] = []
    if options.values:
        rows = [json.loads(line) for path in options.values for line in path.read_text().splitlines()]
        options.transports = []
    for transport in options.transports:
        for load in LOADS:
            runs = [measured(options, transport, load, seed + 1) for seed in range(options.runs)]
            p50, p99, rate = summary([times for times, _ in runs], RADIOS[options.radio].image)
            lost = max(lost for _, lost in runs)
            row = {"radio": options.radio, "transport": transport, "load": load}
            row |= {"p50": p50, "p99": p99, "rate": rate, "lost": lost}
            shown = {
                key: round(value, 3) if isinstance(value, float) else value for key, value in row.items()
            }
            print(json.dumps(shown), flush=True)
            rows.append(shown)
    if options.out:
        options.out.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    if options.figure:
        options.figure.write_text(draw(rows), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
