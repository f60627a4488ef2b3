#!/usr/bin/env python3
"""Attack a program that receives messages, and measure its memory and what an honest peer notices.

    python3 tools/attack_messages.py [--connections 200] [--figure FILE]

The program is an asyncio server of `multihop.messages` on loopback, protected by a token. A stranger floods
its port with datagrams. A peer that has the token opens channels until it is refused, chooses impossible
deadlines and priorities, sends a message above the limit, floods all classes, and fills channels that the
program does not read. Printed are the largest resident memory of the program in each step (MB), the delay
of an honest peer's messages (ms), and the errors of the attacker. The tool fails if an answer to the honest
peer takes longer than 250 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from real_programs import LOOPBACK

CHANNELS = 64
"""Channels of a connection that a peer accepts."""
MAX_ANSWER = 250.0
"""Longest time of an honest peer's answer, ms: a person who steers something notices longer delays."""
MEBIBYTE = 2**20


@dataclass
class Watch:
    """Measurements of the attacked program and of an honest peer."""

    process: int
    step: str = "idle"
    memory: list[tuple[float, float, str]] = field(default_factory=list)
    """Time, s, resident memory, MB, and step."""
    steps: list[tuple[str, float]] = field(default_factory=list)
    """Steps, and when they began."""
    begin: float = field(default_factory=time.monotonic)

    def resident(self) -> float:
        """Resident memory of the program, MB."""
        pages = int(Path(f"/proc/{self.process}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / MEBIBYTE

    def note(self) -> None:
        """Note the memory now."""
        self.memory.append((time.monotonic() - self.begin, self.resident(), self.step))

    async def run(self) -> None:
        """Note the memory four times a second."""
        while True:
            self.note()
            await asyncio.sleep(0.25)


async def attacked(token: str) -> None:
    """Answer channels of the name `honest`, read those of the name `read`, and ignore all others."""
    from multihop import messages

    async def serve(channel: messages.Channel) -> None:
        async for message in channel:
            if channel.name == "honest":
                await channel.send(message.data)

    async def connected(connection: messages.Connection) -> None:
        kept = []
        async with asyncio.TaskGroup() as tasks:
            async for channel in connection:
                if channel.name in ("honest", "read"):
                    tasks.create_task(serve(channel))
                else:
                    kept.append(channel)

    def failed(_loop: object, problem: dict[str, Any]) -> None:
        error = problem.get("exception")
        errors = error.exceptions if isinstance(error, ExceptionGroup) else [error]
        if not all(isinstance(one, ConnectionResetError) for one in errors):
            print(f"    the program ends the connection: {errors}", flush=True, file=sys.stderr)

    asyncio.get_running_loop().set_exception_handler(failed)
    security = messages.Security.token(token)
    async with await messages.serve(connected, LOOPBACK, 0, security=security) as server:
        print(json.dumps(server.address), flush=True)
        await asyncio.Event().wait()


async def honest(port: int, token: str) -> None:
    """Send a message ten times a second; print its departure (s) and the time until its answer (ms)."""
    from multihop import messages

    connection = await messages.connect(LOOPBACK, port, security=messages.Security.token(token))
    channel = connection.channel("honest", priority=0)
    while True:
        begin = time.monotonic()
        await channel.send(bytes(100))
        await channel.receive()
        print(json.dumps([begin, (time.monotonic() - begin) * 1e3]), flush=True)
        await asyncio.sleep(0.1)


def flood(port: int, count: int) -> list[str]:
    """Datagrams of a stranger: garbage, and beginnings of every message of the protocol."""
    rng = random.Random(1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        for _ in range(count):
            kind, body = rng.randrange(16), rng.randbytes(rng.choice([0, 4, 12, 24, 152, 200, 1400]))
            head = b"" if kind == 0 else bytes([kind, rng.randrange(16), 255, 255])
            with contextlib.suppress(OSError):
                udp.sendto(head + body, (LOOPBACK, port))
    return []


async def caught(action: Callable[[], Any]) -> str:
    """Text of the error of an action."""
    try:
        result = action()
        if isinstance(result, Awaitable):
            await result
    except TimeoutError:
        return "nothing within 30 s"
    except (OSError, ValueError) as error:
        return str(error)
    return "no error"


async def opens(connection: Any) -> list[str]:
    """Open channels without end, with impossible options."""
    year = 365 * 86400.0
    impossible: list[dict[str, float]] = [{"priority": each} for each in (8, 255)]
    impossible += [{"deadline": each} for each in (0.0, 3 * year)]
    problems = [await caught(partial(connection.channel, "x", **keys)) for keys in impossible]
    for _ in range(100_000):
        problem = await caught(lambda: connection.channel("read"))
        if problem != "no error":
            problems.append(problem)
            break
    return problems


async def oversized(connection: Any) -> list[str]:
    """Send a message that is longer than the receiver takes."""
    channel = connection.channel("read")
    data = bytes(MEBIBYTE * 80)

    async def send() -> None:
        await channel.send(data)
        await channel.receive()

    return [await caught(lambda: asyncio.wait_for(send(), 30.0))]


async def classes(connection: Any, seconds: float) -> list[str]:
    """Flood every class with small and with large messages."""

    async def send(priority: int, size: int) -> None:
        channel = connection.channel("read", priority=priority)
        while True:
            await channel.send(bytes(size))

    tasks = [asyncio.create_task(send(priority, size)) for priority in range(8) for size in (1, 100_000)]
    await asyncio.sleep(seconds)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return []


async def hoard(connect: Callable[[], Awaitable[Any]], count: int, seconds: float) -> list[str]:
    """Fill channels that the receiver does not read."""
    problems: set[str] = set()

    async def fill(connection: Any, number: int) -> None:
        channel = connection.channel("ignored", priority=number % 8)
        while True:
            await channel.send(bytes(16_000))

    async def one() -> list[asyncio.Task[None]]:
        connection = await connect()
        return [asyncio.create_task(fill(connection, number)) for number in range(CHANNELS)]

    tasks = []
    end = time.monotonic() + seconds
    for _ in range(count):
        tasks += await one()
    await asyncio.sleep(max(0.0, end - time.monotonic()))
    for task in tasks:
        if task.done() and (error := task.exception()):
            problems.add(str(error))
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return sorted(problems)


async def attack(options: argparse.Namespace, process: int, port: int, token: str) -> Watch:
    """Run all steps, and print what became of each."""
    from multihop import messages

    watch = Watch(process)
    observer = asyncio.create_task(watch.run())
    connections: list[messages.Connection] = []

    async def connect() -> messages.Connection:
        one = await messages.connect(LOOPBACK, port, security=messages.Security.token(token))
        connections.append(one)
        return one

    async def idle() -> list[str]:
        await asyncio.sleep(options.seconds)
        return []

    async def with_one(action: Callable[..., Awaitable[list[str]]], *arguments: Any) -> list[str]:
        return await action(await connect(), *arguments)

    steps: dict[str, Callable[[], Awaitable[list[str]]]] = {
        "idle": idle,
        "stranger floods": lambda: asyncio.to_thread(flood, port, options.datagrams),
        "impossible options": lambda: with_one(opens),
        "message of 80 MiB": lambda: with_one(oversized),
        "all classes": lambda: with_one(classes, options.seconds),
        f"{options.connections} peers hoard": lambda: hoard(
            connect, options.connections, 3 * options.seconds
        ),
        "after": idle,
    }
    for name, step in steps.items():
        watch.step = name
        watch.steps.append((name, time.monotonic()))
        problems = await step()
        watch.note()
        for connection in connections:
            connection.abort()
        connections.clear()
        largest = max(memory for _, memory, of in watch.memory if of == name)
        print(f"{name}: {largest:.0f} MB", flush=True)
        for problem in problems:
            print(f"    refused: {problem}", flush=True)
    observer.cancel()
    await asyncio.gather(observer, return_exceptions=True)
    return watch


def report_delays(watch: Watch, lines: Sequence[str]) -> float:
    """Print the delays of the honest peer in each step, and return the longest (ms)."""
    found = [json.loads(line) for line in lines]
    ends = [begin for _, begin in watch.steps[1:]] + [float("inf")]
    for (name, begin), end in zip(watch.steps, ends, strict=True):
        delays = [delay for at, delay in found if begin <= at < end]
        if delays:
            median, slowest = statistics.median(delays), max(delays)
            print(f"honest peer, {name}: median {median:.1f} ms, slowest of {len(delays)} {slowest:.0f} ms")
    return max((delay for _, delay in found), default=0.0)


def draw(watch: Watch) -> str:
    """Resident memory over time, as SVG."""
    from multihop import figure_files, report

    with report.drawing():
        figure = report.Picture(figsize=(9.0, 3.2), layout="constrained")
        axes = figure.subplots()
    times, sizes = [at for at, _, _ in watch.memory], [size for _, size, _ in watch.memory]
    axes.plot(times, sizes, color="C0")
    top, place = max(sizes), -times[-1]
    for index, name in enumerate(dict.fromkeys(step for _, _, step in watch.memory)):
        inside = [at for at, _, step in watch.memory if step == name]
        axes.axvspan(inside[0], inside[-1], color="0.9" if index % 2 else "1.0", zorder=0)
        # Names of short steps stand side by side.
        place = max(inside[0], place + 0.04 * times[-1])
        axes.text(place, top * 1.02, name, rotation=30, fontsize="small", va="bottom")
    axes.set(xlabel="time, s", ylabel="resident memory, MB", ylim=(0, top * 1.35), xlim=(0, times[-1]))
    return figure_files.figure_file(figure)


def main(arguments: Sequence[str]) -> int:
    """Run the attacked program and the attacks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--connections", type=int, default=200, help="of peers that hoard")
    parser.add_argument("--datagrams", type=int, default=300_000, help="of the stranger")
    parser.add_argument("--seconds", type=float, default=5.0, help="of a step")
    parser.add_argument("--figure", type=Path, help="draw the memory into this file")
    parser.add_argument("--attacked", help=argparse.SUPPRESS)
    parser.add_argument("--honest", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.attacked:
        asyncio.run(attacked(options.attacked))
        return 0
    if options.honest:
        asyncio.run(honest(int(options.honest[0]), options.honest[1]))
        return 0
    from multihop import net

    token, own = net.new_token(), [sys.executable, str(Path(__file__).resolve())]
    with subprocess.Popen([*own, "--attacked", token], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        _, port = json.loads(program.stdout.readline())
        peer_words = [*own, "--honest", str(port), token]
        with tempfile.TemporaryFile("w+") as delays, subprocess.Popen(peer_words, stdout=delays) as peer:
            try:
                watch = asyncio.run(attack(options, program.pid, port, token))
                has_ended = program.poll() is not None or peer.poll() is not None
            finally:
                program.kill()
                peer.kill()
            peer.wait()
            delays.seek(0)
            slowest = report_delays(watch, [line for line in delays if line.endswith("]\n")])
    if slowest > MAX_ANSWER:
        print(f"an answer took {slowest:.0f} ms, allowed: {MAX_ANSWER:.0f} ms")
        return 1
    if has_ended:
        print("the program, or the honest peer, has ended")
        return 1
    if options.figure:
        options.figure.write_text(draw(watch), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
