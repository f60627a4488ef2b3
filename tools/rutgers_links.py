#!/usr/bin/env python3
r"""Make a file for `radio.measured` of links that were recorded on the ORBIT testbed, and play it.

git clone https://github.com/sensorlab/link-quality-estimation
python3 tools/rutgers_links.py link-quality-estimation/datasets/trace1_Rutgers/data/dbm-10 --out links.csv
                                                         links among five nodes; others: --nodes 1-2 8-7
... --play target/release/multihop                       and a table of what each link delivers if played
... --play target/release/multihop --emulate             and in `multihop emulate`; needs root and iperf3

CRAWDAD's data set rutgers/noise (Kaul, Gruteser, Seskar, 2007) has 29 nodes on 8 m x 8 m. Each transmitted
300 frames of 802.11, one every 100 ms, while noise was injected. The file of a link and direction has a line
for each frame that arrived: its number, and its RSSI, which is in dB above the noise (Atheros). The nodes
transmitted one after the other; here all of them begin at 0 s. A frame that did not arrive becomes an empty
cell: no signal.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from net_pages import table

FRAMES = 300
INTERVAL = 0.1  # s
SECONDS = 30.0
ENDING = 10.0
"""Seconds that iperf3 has for its report."""
NODES = ("1-4", "2-5", "3-4", "4-3", "4-5")
"""Links among these have from 6 to 24 dB at the level dbm-10."""
INVALID = 128  # RSSI of a frame whose power the card did not measure


def main() -> int:
    """Convert the links among some nodes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="one level of noise of the data set, such as dbm-10")
    parser.add_argument("--nodes", nargs="+", default=NODES, metavar="ROW-COLUMN", help="two nodes or more")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")
    parser.add_argument("--play", type=Path, metavar="MULTIHOP", help="the command that plays each link")
    parser.add_argument("--emulate", action="store_true", help="with --play: in real time, too")
    options = parser.parse_args()
    try:
        lines = list(rows(options.folder, options.nodes))
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    options.out.write_text("time,from,to,snr_db\n" + "\n".join(lines) + "\n", encoding="utf-8")
    if options.play:
        print(played(options))
    return 0


def rows(folder: Path, nodes: Sequence[str]) -> Iterator[str]:
    """Rows of every link; nodes get the numbers of their places in the list."""
    for number, sender in enumerate(nodes):
        for other, receiver in enumerate(nodes):
            if sender != receiver:
                for place, snr_db in enumerate(trace(folder, sender, receiver)):
                    cell = "" if snr_db is None else str(snr_db)
                    yield f"{place * INTERVAL:.1f},{number},{other},{cell}"


def trace(folder: Path, sender: str, receiver: str) -> list[int | None]:
    """The SNR of each frame from one node to another; `None` for frames that did not arrive."""
    found: list[int | None] = [None] * FRAMES
    folders = sorted(folder.glob(f"Results_node{sender}_*"))
    if len(folders) != 1:
        raise ValueError(f"{folder}: {len(folders)} folders of transmitter {sender}, expected one")
    file = folders[0] / f"sdec{receiver}"
    # A link without a file had no frame that arrived.
    text = file.read_text(encoding="ascii") if file.is_file() else ""
    for line in text.splitlines():
        number, rssi = map(int, line.split())
        if number < FRAMES and 0 <= rssi < INVALID:
            found[number] = rssi
    return found


def played(options: argparse.Namespace) -> str:
    """A table of what each link delivers if it is the only one in use, the weakest first."""
    lines = []
    for one, other in itertools.combinations(range(len(options.nodes)), 2):
        found = trace(options.folder, options.nodes[one], options.nodes[other])
        known = [snr_db for snr_db in found if snr_db is not None]
        network = scenario(options.out, len(options.nodes))
        result = run(options.play, network | {"flow": [flow(one, other)]})
        rates = result["mac"]["rates"]
        goodput = [result["totals"]["goodput_kbps"]]
        if options.emulate:
            goodput.append(emulated(options.play, network, one, other))
        lines.append(
            [
                f"{options.nodes[one]} to {options.nodes[other]}",
                f"{statistics.mean(known):.1f}" if known else "",
                f"{len(known)}",
                max(rates, key=lambda name: rates[name]),
                *(f"{kbps / 1e3:.1f}" for kbps in goodput),
            ]
        )
    lines.sort(key=lambda line: float(line[1] or 0))
    head = ["link", "mean SNR, dB", "frames recorded", "most used rate", "simulator, Mb/s"]
    return table([*head, "emulation, Mb/s"] if options.emulate else head, lines)


def scenario(traces: Path, nodes: int) -> dict[str, Any]:
    """Nodes of 802.11g, each of which reaches every other in one hop."""
    hops = [[at, to, to] for at, to in itertools.permutations(range(nodes), 2)]
    return {
        "duration": SECONDS,
        "topology": {"kind": "list", "positions": [[float(node), 0.0] for node in range(nodes)]},
        "radio": {"phy": "802.11g", "measured": {"file": str(traces.resolve())}},
        "mac": {"arp": "oracle"},
        "routing": {"protocol": "static", "next_hops": hops},
    }


def flow(sender: int, receiver: int) -> dict[str, Any]:
    """More datagrams than a link delivers."""
    return {"from": sender, "to": receiver, "app": "cbr", "rate_kbps": 40_000.0, "size": 1440}


def run(multihop: Path, network: Mapping[str, Any]) -> dict[str, Any]:
    """The result of a simulation."""
    with tempfile.TemporaryDirectory() as scratch:
        file = written(network, scratch)
        result: dict[str, Any] = json.loads(output([str(multihop), "run", file, "--json", "--quiet"]))
    return result


def emulated(multihop: Path, network: Mapping[str, Any], sender: int, receiver: int) -> float:
    """Goodput that iperf3 measures over one link in real time, in kb/s."""
    server = [{"node": receiver, "command": "iperf3 -s"}]
    network = {**network, "duration": SECONDS + ENDING}
    client = f"sleep 1; iperf3 -J -u -b 40M -l 1440 -t {SECONDS - 4:g} -c node{receiver}"
    with tempfile.TemporaryDirectory() as scratch:
        file = written({**network, "program": server}, scratch)
        words = [str(multihop), "emulate", file, "--node", str(sender), "--", "sh", "-c", client]
        text = output(words)
    found = json.loads(text[text.index("{") : text.rindex("}") + 1])
    return float(found["end"]["sum_received"]["bits_per_second"]) / 1e3


def written(network: Mapping[str, Any], folder: str) -> str:
    """The name of a new scenario file."""
    file = Path(folder) / "links.json"
    file.write_text(json.dumps(network), encoding="utf-8")
    return str(file)


def output(command: Sequence[str]) -> str:
    """The standard output of a program, which must succeed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{command[0]}: exit status {done.returncode}\n{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
