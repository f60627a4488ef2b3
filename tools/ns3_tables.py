"""Tables of docs/models that compare multihop with ns-3; `tools/beside_ns3.py --table` prints them."""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from net_pages import table
from net_study import mean

Values = Mapping[str, float]
"""Values of one run, by the names of the table's columns or rows."""


@dataclass(frozen=True)
class Ns3:
    """A row of ns-3: a program of `tools/ns3` with options."""

    title: str
    program: str
    options: Sequence[str]
    read: Callable[[Mapping[str, Any]], Values]


@dataclass(frozen=True)
class Multihop:
    """A row of multihop: a scenario."""

    title: str
    scenario: Mapping[str, Any]
    read: Callable[[Mapping[str, Any]], Values]
    captures: bool = False  # `read` gets the packets of OLSR too, as `olsr`


@dataclass(frozen=True)
class Page:
    """Text of one page of tables."""

    rows: Sequence[Ns3 | Multihop]
    seeds: int
    digits: Mapping[str, int] = field(default_factory=dict)  # of each value; its names are the columns
    is_transposed: bool = False  # columns are the programs
    is_paired: bool = False  # each row of ns-3 and the row of multihop after it share a line


def measured(page: Page, seeds: int | None, programs: Path, multihop: Path) -> list[list[Values]]:
    """Run every row with every seed; for each row, what its runs give."""
    numbers = range(1, (seeds or page.seeds) + 1)
    runs = [(row, seed) for row in page.rows for seed in numbers]
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor() as pool:

        def run(work: tuple[int, tuple[Ns3 | Multihop, int]]) -> Values:
            index, (row, seed) = work
            if isinstance(row, Ns3):
                found = output([str(programs / row.program), *row.options, f"--seed={seed}"])
                values = row.read(json.loads(found))
            else:
                folder = Path(scratch) / str(index)
                folder.mkdir()
                values = row.read(simulated(row, seed, folder, multihop))
            print(f"{row.title}, seed {seed}: {dict(values)}", file=sys.stderr, flush=True)
            return values

        found = list(pool.map(run, enumerate(runs)))
    return [found[first : first + len(numbers)] for first in range(0, len(found), len(numbers))]


def show(page: Page, found: Sequence[Sequence[Values]]) -> str:
    """The table of what was measured for each row."""
    cells = [
        [row.title, *(mean([one[name] for one in values], digits) for name, digits in page.digits.items())]
        for row, values in zip(page.rows, found, strict=True)
    ]
    lines = [["", *page.digits], *cells]
    if page.is_paired:
        columns = [f"{name}: {program}" for name in page.digits for program in ("ns-3", "multihop")]
        lines = [["", *columns], *(paired(*two) for two in zip(cells[::2], cells[1::2], strict=True))]
    if page.is_transposed:
        lines = [list(line) for line in zip(*lines, strict=True)]
    return table(lines[0], lines[1:])


def paired(one: Sequence[str], other: Sequence[str]) -> list[str]:
    """One line of two rows: their title, and beside each value of the first that of the second."""
    return [one[0], *(value for pair in zip(one[1:], other[1:], strict=True) for value in pair)]


def simulated(row: Multihop, seed: int, folder: Path, multihop: Path) -> dict[str, Any]:
    """The result of one run of multihop."""
    file = folder / "scenario.json"
    file.write_text(json.dumps({**row.scenario, "seed": seed}), encoding="utf-8")
    words = [str(multihop), "run", str(file), "--json", "--quiet"]
    if row.captures:
        words += ["--out", str(folder), "--pcap"]
    result: dict[str, Any] = json.loads(output(words))
    if row.captures:
        result["olsr"] = olsr_packets(folder / "packets.pcapng")
    return result


def olsr_packets(capture: Path) -> Counter[str]:
    """Packets and messages of OLSR in a capture of all nodes, each counted at its sender."""
    fields = ["frame.interface_name", "ip.src", "olsr.message_type", "olsr.origin_addr"]
    words = ["tshark", "-r", str(capture), "-Y", "olsr", "-T", "fields"]
    counts: Counter[str] = Counter()
    for line in output([*words, *(word for name in fields for word in ("-e", name))]).splitlines():
        station, sender, kinds, origins = line.split("\t")
        # Node 0 has the address 10.0.0.1. The interfaces of its neighbours capture the packet as well.
        if station != f"node{int(sender.rpartition('.')[2]) - 1}":
            continue
        counts["packet"] += 1
        for kind, origin in zip(kinds.split(","), origins.split(","), strict=True):
            counts["hello" if kind == "1" else "tc" if origin == sender else "tc-forwarded"] += 1
    return counts


def output(command: Sequence[str]) -> str:
    """The standard output of a program, which must succeed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{command[0]}: exit status {done.returncode}\n{done.stderr}")
    return done.stdout


def listed(places: Sequence[tuple[float, float]]) -> str:
    """The option of ns-3's programs with these places."""
    return "--positions=" + ":".join(f"{x:g},{y:g}" for x, y in places)


AGGREGATION = {
    "packets live for 10 s in the queue (`MaxDelay`) instead of 0.5 s": "--ns3::WifiMacQueue::MaxDelay=10s",
    "no request after a missing block ACK (`UseExplicitBarAfterMissedBlockAck`)": (
        "--ns3::QosTxop::UseExplicitBarAfterMissedBlockAck=false"
    ),
    "no limit of failed attempts (`MaxSsrc`) instead of 7": (
        "--ns3::WifiRemoteStationManager::MaxSsrc=1000000"
    ),
}
"""Settings of ns-3 whose defaults differ from what stations of multihop do with aggregates."""


def aggregation() -> Page:
    """Ten saturated stations around a receiver, with A-MPDUs."""
    seconds, warmup = 8.0, 2.0
    angles = [2 * math.pi * n / 10 for n in range(10)]
    places = [(0.0, 0.0), *((round(5 * math.cos(a), 3), round(5 * math.sin(a), 3)) for a in angles)]
    lives, asks, attempts = AGGREGATION.items()
    changes = [("ns-3", ""), lives, ("AIFSN 2 instead of 3", "--aifsn=2"), asks, attempts]
    goodput, requests, frames = "goodput, Mb/s", "block ACK requests a second", "A-MPDUs a second"

    def of_ns3(said: Mapping[str, Any]) -> Values:
        counts = said["counts"]
        asked = counts.get("block-ack-request", 0)
        return {goodput: sum(said["kbps"]) / 1e3, requests: asked / seconds, frames: counts["data"] / seconds}

    def of_multihop(result: Mapping[str, Any]) -> Values:
        sent = result["mac"]["frames"]
        asked = sent.get("block-ack-request", 0)
        kbps = result["totals"]["goodput_kbps"]
        return {goodput: kbps / 1e3, requests: asked / seconds, frames: sent["aggregate"] / seconds}

    starts = {n: 1 + 0.0011 * n for n in range(1, 11)}
    flows = ":".join(f"{n}-0@{start}" for n, start in starts.items())
    common = [listed(places), f"--flows={flows}", f"--duration={warmup + seconds}", f"--warmup={warmup}"]
    rows: list[Ns3 | Multihop] = []
    options: list[str] = []
    for title, change in changes:
        options = [*options, change] if change else options
        rows.append(Ns3(title, "wlan", [*common, *options], of_ns3))
    flow = {"to": 0, "app": "cbr", "rate_kbps": 10_000.0, "size": 1460}
    scenario = {
        "duration": warmup + seconds,
        "warmup": warmup,
        "topology": {"kind": "list", "positions": places},
        "radio": {"phy": "802.11n-20", "budget": "ns-2", "rate": "MCS7"},
        "mac": {
            "flavour": "standard",
            "llc": True,
            "arp": "oracle",
            "rts_threshold": "off",
            "ampdu": 64,
            "queue": 200,
        },
        "flow": [{**flow, "from": n, "start": start} for n, start in starts.items()],
    }
    rows.append(Multihop("multihop, `llc = true`", scenario, of_multihop))
    return Page(rows, 3, {goodput: 1, requests: 0, frames: 0})


def dcf() -> Page:
    """A flow between two others, which do not sense each other."""
    duration, kbps = 100.0, 2000.0
    places = [(float(x), 400.0 * link) for link in range(3) for x in (0, 200)]
    starts = [0.0013 * link for link in range(3)]
    middle, outer = "middle flow, kb/s", "each outer flow, kb/s"

    def shares(flows: Sequence[float]) -> Values:
        return {middle: flows[1], outer: statistics.mean([flows[0], flows[2]])}

    flows = ":".join(f"{2 * link}-{2 * link + 1}@{start}" for link, start in enumerate(starts))
    options = ["--phy=802.11b", "--rate=2", listed(places), f"--flows={flows}", f"--kbps={kbps:g}"]
    options += [f"--duration={duration}", "--warmup=0"]
    cbr = {"app": "cbr", "rate_kbps": kbps, "size": 1460}
    scenario = {
        "duration": duration,
        "topology": {"kind": "list", "positions": places},
        "flow": [
            {"from": 2 * link, "to": 2 * link + 1, "start": start, **cbr} for link, start in enumerate(starts)
        ],
    }
    title = "ns-3 3.37, 250 m decode range, 550 m sense range"
    rows: list[Ns3 | Multihop] = [Ns3(title, "network", options, lambda said: shares(said["kbps"]))]
    for model, keys in (
        ("sinr", {"flavour": "standard"}),
        ("threshold", {"flavour": "standard"}),
        ("threshold", {"flavour": "standard", "eifs": False}),
        ("threshold", {"flavour": "ns2"}),
    ):
        radio = {"radio": {"model": model}, "mac": {**keys, "arp": "oracle"}}
        words = [f"`{key} = {json.dumps(value)}`" for key, value in {"model": model, **keys}.items()]
        rows.append(Multihop(", ".join(words), {**scenario, **radio}, lambda result: shares(kbps_of(result))))
    return Page(rows, 5, {middle: 0, outer: 0})


def kbps_of(result: Mapping[str, Any]) -> list[float]:
    """The goodput of each flow."""
    return [flow["goodput_kbps"] for flow in result["flows"]]


def olsr() -> Page:
    """Messages and packets on a grid, nearly without traffic."""
    duration, side = 100.0, 5
    packets, bundled = "packets", "messages in a packet"
    hellos, own, others = "HELLOs", "TCs of a node's own", "transmissions of one TC by other nodes"

    def values(counts: Mapping[str, int]) -> Values:
        messages = counts["hello"] + counts["tc"] + counts["tc-forwarded"]
        return {
            packets: counts["packet"],
            bundled: messages / counts["packet"],
            hellos: counts["hello"],
            own: counts["tc"],
            others: counts["tc-forwarded"] / counts["tc"],
        }

    scenario = {
        "duration": duration,
        "topology": {"kind": "grid"},
        "flow": [{"from": 0, "to": 1, "app": "cbr", "rate_kbps": 1.0, "size": 10}],
    }
    rfc = {"protocol": "olsr", "preset": "rfc"}
    waiting = {**rfc, "messages_per_packet": 64, "own_messages_wait": True}
    places = [(200.0 * (n % side), 200.0 * (n // side)) for n in range(side * side)]
    options = ["--phy=802.11b", "--rate=2", "--routing=olsr", "--count=1", listed(places)]
    options += [f"--duration={duration}", "--warmup=0"]

    def of_multihop(title: str, routing: Mapping[str, Any]) -> Multihop:
        return Multihop(title, {**scenario, "routing": routing}, lambda result: values(result["olsr"]), True)

    def of_ns3(title: str, *more: str) -> Ns3:
        return Ns3(title, "network", [*options, *more], lambda said: values(said["counts"]))

    rows: list[Ns3 | Multihop] = [
        of_multihop("`rfc`", rfc),
        of_multihop("`rfc`, 64 messages in a packet, own messages wait", waiting),
        of_ns3("ns-3"),
        of_ns3("ns-3, timers apart", "--apart=1"),
    ]
    return Page(rows, 3, {packets: 0, bundled: 1, hellos: 0, own: 0, others: 1}, is_transposed=True)


PAGES = {"aggregation": aggregation, "dcf": dcf, "olsr": olsr}
