#!/usr/bin/env python3
"""Measure `multihop send FILE --to-all` over four lossy hops, beside transfers to one receiver.

    python3 tools/to_all.py simulate [--receivers 100] [--bytes 10000000] [--seed 1] [--unicasts 20]
    python3 tools/to_all.py emulate [--receivers 20] [--bytes 5000000] [--seed 1] [--alone]

The receivers are at random places on a strip. The farthest are four hops from the source. Each link between
nodes within one range loses 10% to 30% of the frames, drawn for each direction. Nodes within 2.2 ranges sense
and disturb each other. All frames have 24 Mb/s with 802.11g, broadcasts too. Unicasts use `mesh` on the path
with the fewest expected transmissions.

`simulate` runs spread (`app = "spread"`), and `mesh` to the farthest receiver and to others. `emulate` runs
real processes over `multihop emulate`, as root: it kills a receiver and starts it again, sends forged
datagrams, and compares the SHA-256 of all files. With `--alone` it also measures `multihop send` to the
farthest receiver.
"""

from __future__ import annotations

import argparse
import hashlib
import heapq
import json
import math
import random
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from real_programs import MULTIHOP, write_noise

HOPS, RANGE, SENSE = 4, 1.0, 2.2
LENGTH, WIDTH, METRES = 3.4, 1.0, 100
"""Size of the strip in ranges, and metres of a range in the scenario."""
LEAST_LOSS, MOST_LOSS = 0.1, 0.3
FORGED = 20
"""Forged datagrams of an emulation."""
KILLED = """{again} & pid=$!
until [ "$(stat -c %b {folder}/.*.part 2>/dev/null || echo 0)" -ge {blocks} ]; do sleep 0.1; done
kill -9 $pid
stat -c '{{"event": "killed", "bytes": %b, "of": %s}}' {folder}/.*.part
exec {again}
"""
"""Kills a receiver once this many blocks of 512 bytes of the file are on its disk, and starts it again."""
SOON = 120.0
"""Longest time of an emulation, added to that of the slowest allowed transfer, s."""
SLOWEST = 20_000
"""Bytes per second below which a transfer counts as stuck."""


@dataclass(frozen=True)
class Strip:
    """Nodes on a strip; node 0 is the source."""

    places: list[tuple[float, float]]
    loss: dict[tuple[int, int], float]
    hops: list[int]

    @property
    def farthest(self) -> int:
        """A receiver with the most hops."""
        return self.hops.index(max(self.hops))

    def near(self, far: float) -> list[tuple[int, int]]:
        """Pairs of different nodes within a distance."""
        nodes = range(len(self.places))
        pairs = ((a, b) for a in nodes for b in nodes if a != b)
        return [(a, b) for a, b in pairs if math.dist(self.places[a], self.places[b]) <= far]

    def csv(self) -> str:
        """Losses of all directions, in the format of `radio.measured`."""
        rows = [(a, b, self.loss.get((a, b), 1.0)) for a, b in self.near(SENSE)]
        return "time,from,to,loss\n" + "".join(f"0,{a},{b},{loss:.3f}\n" for a, b, loss in rows)

    def path(self, to: int) -> list[int]:
        """The path from the source with the fewest expected transmissions of data and their ACKs."""
        before: dict[int, int] = {}
        cost = {0: 0.0}
        queue = [(0.0, 0)]
        while queue:
            spent, node = heapq.heappop(queue)
            for (a, b), loss in self.loss.items():
                if a != node or spent > cost[node]:
                    continue
                total = spent + 1 / ((1 - loss) * (1 - self.loss[b, a]))
                if total < cost.get(b, math.inf):
                    cost[b], before[b] = total, a
                    heapq.heappush(queue, (total, b))
        path = [to]
        while path[-1] != 0:
            path.append(before[path[-1]])
        return path[::-1]

    def scenario(self, to: int | None, duration: float, rest: str) -> str:
        """A scenario with static routes between the source and a receiver."""
        path = [] if to is None else self.path(to)
        there = [[a, to, b] for a, b in pairwise(path)]
        back = [[b, 0, a] for a, b in pairwise(path)]
        positions = [[round(x * METRES, 1), round(y * METRES, 1)] for x, y in self.places]
        return f"""
duration = {duration:.1f}
topology = {{ kind = "list", positions = {json.dumps(positions)} }}
routing = {{ protocol = "static", next_hops = {json.dumps(there + back)} }}
radio = {{ phy = "802.11g", rate = "24M", basic_rate = "24M", measured = {{ file = "links.csv" }} }}
{rest}
"""


def strip(seed: int, receivers: int) -> Strip:
    """The first drawn strip whose nodes are all connected, with the wanted number of hops."""
    for attempt in range(1000):
        rng = random.Random(f"{seed}/{attempt}")
        others = [(rng.uniform(0, LENGTH), rng.uniform(0, WIDTH)) for _ in range(receivers)]
        drawn = Strip([(0.0, WIDTH / 2), *others], {}, [])
        links = drawn.near(RANGE)
        hops = {0: 0}
        front = [0]
        while front:
            front = sorted({b for a, b in links if a in front and b not in hops})
            level = 1 + max(hops.values())
            hops.update((node, level) for node in front)
        if len(hops) == len(drawn.places) and max(hops.values()) == HOPS:
            loss = {link: rng.uniform(LEAST_LOSS, MOST_LOSS) for link in links}
            return Strip(drawn.places, loss, [hops[node] for node in range(len(hops))])
    raise RuntimeError(f"no strip of {receivers} receivers has {HOPS} hops")


def simulated(options: argparse.Namespace, mesh: Strip, folder: Path) -> None:
    """Simulate the transfer to all, and transfers to single receivers."""
    size = options.bytes
    (folder / "links.csv").write_text(mesh.csv(), encoding="utf-8")

    def run(to: int | None, flow: str) -> tuple[dict[str, Any], float]:
        duration = SOON + size / SLOWEST
        path = folder / "run.toml"
        path.write_text(mesh.scenario(to, duration, f"[[flow]]\nfrom = 0\n{flow}\nbytes = {size}\n"))
        ran = subprocess.run(
            [options.multihop, "run", "--quiet", "--json", path], check=True, capture_output=True, text=True
        )
        result = json.loads(ran.stdout)
        return result, result["mac"]["airtime_share"] * result["sim_seconds"]

    receivers = len(mesh.places) - 1
    flow = f'to = {mesh.farthest}\napp = "spread"\nexpect = {receivers}'
    result, _ = run(None, flow)
    spread = result["flows"][0]["spread"]
    print(f"to all {receivers}: {spread['complete']} have {size} bytes after {spread['all_s']} s,", end=" ")
    print(f"{spread['frames_per_symbol']:.1f} frames per symbol, {spread['airtime_s']:.1f} s of air")
    print(f"frames: {spread['frames']}, run in {result['wall_seconds']:.0f} s", flush=True)
    chosen = [1 + n * receivers // options.unicasts for n in range(options.unicasts)]
    times, airs = {}, {}
    for to in {mesh.farthest, *chosen}:
        result, airs[to] = run(to, f'to = {to}\napp = "file"\ntransport = "mesh"')
        flow_result = result["flows"][0]
        if flow_result["stop"] >= result["sim_seconds"]:
            raise RuntimeError(f"the unicast to {to} did not end")
        times[to] = flow_result["stop"] - flow_result["start"]
    air = sum(airs[to] for to in chosen)
    one = times[mesh.farthest]
    print(f"one, the farthest, by mesh: {one:.1f} s; {len(chosen)} unicasts: {air:.1f} s of air", end=", ")
    print(f"mean hops {statistics.mean(mesh.hops[to] for to in chosen):.2f}")
    print(f"ratio of times: {spread['all_s'] / one:.2f}, of air: {spread['airtime_s'] / air:.3f}")


def key(options: argparse.Namespace, path: Path, *words: str) -> str:
    """Create a key; returns its public part."""
    command = [options.multihop, "keygen", *words, path]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def emulated(options: argparse.Namespace, mesh: Strip, folder: Path) -> None:
    """Emulate the transfer with a process for each node."""
    multihop, receivers = options.multihop, len(mesh.places) - 1
    (folder / "links.csv").write_text(mesh.csv(), encoding="utf-8")
    post = key(options, folder / "post")
    key(options, folder / "group", "--shared")
    write_noise(folder / "map", options.bytes, options.seed)
    common = ["--shared-key", folder / "group", "--interface", "radio0"]
    half = options.bytes // 1024
    programs = []
    for node in range(1, receivers + 1):
        key(options, folder / f"key{node}")
        (folder / f"to{node}").mkdir()
        own = ["--to", folder / f"to{node}", "--key", folder / f"key{node}", "--peer", post]
        words = [multihop, "recv", "--group", "--json", *own, *common]
        if node == mesh.farthest:
            again = shlex.join(str(word) for word in words)
            words = ["sh", "-c", KILLED.format(again=again, folder=folder / f"to{node}", blocks=half)]
        programs.append((node, words))
    forge = (
        "import socket,time; s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); time.sleep(4)\n"
        "s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b'radio0')\n"
        f"for n in range({FORGED}): s.sendto(bytes([1])*200, ('239.192.74.57', 7457)); time.sleep(0.1)"
    )
    programs.append((1, [sys.executable, "-c", forge]))
    tables = [program(node, words) for node, words in programs]
    sender = [multihop, "send", folder / "map", "--to-all", "--expect", receivers, "--json", *common]
    sender += ["--key", folder / "post", "--patience", "120"]
    duration = SOON + options.bytes / SLOWEST
    result, lines, begun = emulation(
        options, mesh.scenario(None, duration, "\n".join(tables)), folder, sender
    )
    wanted = hashlib.sha256((folder / "map").read_bytes()).digest()
    paths = [folder / f"to{node}" / "map" for node in range(1, receivers + 1)]
    equal = sum(path.exists() and hashlib.sha256(path.read_bytes()).digest() == wanted for path in paths)
    stored = [path.stat().st_ctime - begun for path in paths if path.exists()]
    events = [
        json.loads(line) for path in (folder / "out").glob("program-*.txt") for line in json_lines(path)
    ]
    forged = sum(event.get("forged", 0) for event in events if event.get("event") == "received")
    listening = sum(event.get("event") == "listening" for event in events)
    if equal < receivers or forged == 0 or listening <= receivers:
        print("\n".join(lines[-3:]))
    air = result["mac"]["airtime_share"] * result["sim_seconds"]
    print(
        f"to all {receivers}: {equal} files with equal SHA-256 after {max(stored, default=math.nan):.1f} s",
        end="",
    )
    print(f" ({options.bytes} bytes), {result['mac']['frames']['broadcast']} broadcasts, {air:.1f} s of air")
    for event in events:
        if event.get("event") == "killed":
            print(f"a receiver was killed with {512 * event['bytes']} of {event['of']} bytes on its disk")
    print(f"starts of receivers: {listening}, forged datagrams counted: {forged}")
    print(f"lateness: {json.dumps(result['emulation'])}", flush=True)
    if options.alone:
        alone(options, mesh, folder, post, max(stored))


def alone(options: argparse.Namespace, mesh: Strip, folder: Path, post: str, all_s: float) -> None:
    """Emulate a transfer by `multihop send` to the farthest receiver alone."""
    to, multihop = mesh.farthest, options.multihop
    (folder / "one").mkdir()
    public = key(options, folder / "one-key")
    receive = [multihop, "recv", "--to", folder / "one", "--key", folder / "one-key", "--peer", post]
    sender = [multihop, "send", folder / "map", f"node{to}", "--key", folder / "post", "--peer", public]
    duration = SOON + options.bytes / SLOWEST
    scenario = mesh.scenario(to, duration, program(to, receive))
    result, _, begun = emulation(options, scenario, folder, sender)
    one = (folder / "one" / "map").stat().st_ctime - begun
    air = result["mac"]["airtime_share"] * result["sim_seconds"]
    print(f"one, the farthest, by send: {one:.1f} s, {air:.1f} s of air; ratio of times: {all_s / one:.2f}")
    print(f"lateness: {json.dumps(result['emulation'])}")


def program(node: int, words: Sequence[object]) -> str:
    """The table of a program."""
    command = json.dumps(shlex.join(str(word) for word in words))
    return f"[[program]]\nnode = {node}\ncommand = {command}\n"


def emulation(
    options: argparse.Namespace, scenario: str, folder: Path, command: Sequence[object]
) -> tuple[dict[str, Any], list[str], float]:
    """Run a command at the source of an emulation; returns the result, the command's output and its start."""
    (folder / "emulated.toml").write_text(scenario, encoding="utf-8")
    words = [
        options.multihop,
        "emulate",
        folder / "emulated.toml",
        "--out",
        folder / "out",
        "--node",
        "0",
        "--",
    ]
    begun = time.time()
    ran = subprocess.run(
        [str(word) for word in [*words, *command]], check=False, stdout=subprocess.PIPE, text=True
    )
    if ran.returncode != 0:
        print(f"the emulation ended with {ran.returncode}", file=sys.stderr)
    return json.loads((folder / "out" / "result.json").read_text()), ran.stdout.splitlines(), begun


def json_lines(path: Path) -> list[str]:
    """Lines of a file that are JSON objects."""
    return [line for line in path.read_text(errors="replace").splitlines() if line.startswith("{")]


def main(arguments: Sequence[str]) -> int:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description="Measure transfers of one file to all nodes.")
    parser.add_argument("way", choices=["simulate", "emulate"])
    parser.add_argument("--receivers", type=int)
    parser.add_argument("--bytes", type=int, default=5_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--unicasts", type=int, default=20, help="receivers of single transfers (simulate)")
    parser.add_argument("--alone", action="store_true", help="also measure one receiver by send (emulate)")
    parser.add_argument("--multihop", type=Path, default=MULTIHOP)
    options = parser.parse_args(arguments)
    options.multihop = options.multihop.resolve()
    mesh = strip(options.seed, options.receivers or (100 if options.way == "simulate" else 20))
    with tempfile.TemporaryDirectory() as name:
        {"simulate": simulated, "emulate": emulated}[options.way](options, mesh, Path(name))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
