#!/usr/bin/env python3
"""Measure what `multihop send` survives: restarts of either host, new addresses, a partition.

    python3 tools/survive.py [CASE...] [--multihop PROGRAM]

20 MB over four emulated hops of 802.11g, routed by `multihop route` at each of five nodes; as root, a
minute or two for each case:

    listener   the receiver is killed, and starts again 5 s later
    addresses  both hosts get other addresses at the same time; the receiver keeps its name
    partition  the second relay is out of reach for 60 s
    reboot     the sender is killed and loses its address; 5 s later both are back, by the same command

Printed is the time from the instant at which nothing is in the way any more to the next bytes of the file
at the receiver, and whether the file is whole. After a partition or new addresses that instant is when the
kernel of the sender's host has its route again.
"""

from __future__ import annotations

import argparse
import filecmp
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SIZE = 20_000_000
BEGIN, FAULT, PARTITION, LIMIT = 15.0, 30.0, 60.0, 240.0
"""Virtual seconds: start of the transfer, with known routes; the fault; the partition's length; the end."""
HOPS = 4
CASES = ("listener", "addresses", "partition", "reboot")

SCENARIO = """
duration = {limit}
[topology]
kind = "list"
positions = {positions}
[mobility]
kind = "waypoints"
waypoints = {waypoints}
[radio]
phy = "802.11g"
budget = "ns-2"
rate = "24M"
[mac]
arp = "queueing"
[emulation]
interface = "tap"
"""
PROGRAM = """
[[program]]
node = {node}
start = {start}
command = '''{command}'''
"""
TOKEN = "gfw06-sfgfd-tdvxj-48mw9-befah"
RECEIVE = f"exec $MULTIHOP recv --to inbox --quiet --token {TOKEN} --once"
SEND = f"exec $MULTIHOP send file node4 --token {TOKEN} --wait"
WHOLE = "date +%s.%N > whole"
"""Notes the time from which on nothing is in the way."""
ROUTED = "until ip route get {} | grep -q via; do sleep 0.1; done"
"""Waits for the route to an address."""


def programs(case: str) -> list[tuple[int, float, str]]:
    """Node, start and command of every program."""
    routes = [(node, 0.0, "exec $MULTIHOP route radio0 --quiet") for node in range(HOPS + 1)]
    receiver, sender = (HOPS, 0.0, RECEIVE), (0, BEGIN, SEND)
    if case == "listener":
        killed = f"sh -c '{RECEIVE}' & sleep {FAULT}; kill -9 $!; sleep 5; {WHOLE}; {RECEIVE}"
        return [*routes, (HOPS, 0.0, killed), sender]
    if case == "reboot":
        lost = "ip addr del 10.0.0.1/24 dev radio0; sleep 5; ip addr add 10.0.0.1/24 dev radio0"
        killed = f"sh -c '{SEND}' & sleep {FAULT - BEGIN}; kill -9 $!; {lost}; {WHOLE}; {SEND}"
        return [*routes, receiver, (0, BEGIN, killed)]
    if case == "addresses":
        there = "ip addr del 10.0.0.5/24 dev radio0; ip addr add 10.0.0.105/24 dev radio0"
        here = "ip addr del 10.0.0.1/24 dev radio0; ip addr add 10.0.0.101/24 dev radio0"
        named = "sed 's/10[.]0[.]0[.]5\\b/10.0.0.105/' /etc/hosts > hosts; cat hosts > /etc/hosts"
        changes = [
            (HOPS, FAULT, there),
            (0, FAULT, f"{here}; {named}; {ROUTED.format('10.0.0.105')}; {WHOLE}"),
        ]
        return [*routes, receiver, sender, *changes]
    return [*routes, receiver, sender, (0, FAULT + PARTITION, f"{ROUTED.format('10.0.0.5')}; {WHOLE}")]


def scenario(case: str) -> str:
    """The scenario file of a case."""
    positions = [[200.0 * node, 0.0] for node in range(HOPS + 1)]
    waypoints = [[[0.0, *position]] for position in positions]
    if case == "partition":
        x, y = positions[2]
        waypoints[2] += [
            [FAULT, x, y],
            [FAULT + 0.1, x, 900.0],
            [FAULT + PARTITION - 0.1, x, 900.0],
            [FAULT + PARTITION, x, y],
        ]
    text = SCENARIO.format(limit=LIMIT, positions=positions, waypoints=waypoints)
    for node, start, command in programs(case):
        text += PROGRAM.format(node=node, start=start, command=command)
    return text


def arrived(inbox: Path) -> int:
    """Bytes of the file that the receiver has stored so far."""
    try:
        return max((path.stat().st_size for path in inbox.iterdir()), default=0)
    except FileNotFoundError:
        return 0


def measure(case: str, multihop: str, folder: Path) -> tuple[float | None, bool]:
    """Seconds from the end of the fault to the next bytes, and whether the file arrived."""
    (folder / "file").write_bytes(os.urandom(SIZE))
    (folder / "inbox").mkdir()
    (folder / "case.toml").write_text(scenario(case), encoding="utf-8")
    command = [multihop, "emulate", "case.toml", "--out", "out"]
    environment = {**os.environ, "MULTIHOP": multihop}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
    whole, inbox, samples = folder / "whole", folder / "inbox", [(time.time(), 0)]
    try:
        while process.poll() is None and not (inbox / "file").exists():
            size = arrived(inbox)
            if size != samples[-1][1]:
                samples.append((time.time(), size))
            time.sleep(0.02)
        is_whole = (inbox / "file").exists() and filecmp.cmp(folder / "file", inbox / "file", shallow=False)
    finally:
        process.terminate()
        process.wait()
    if not whole.exists():
        return None, is_whole
    back = float(whole.read_text(encoding="ascii"))
    return next((at - back for at, _ in samples if at > back), None), is_whole


def main() -> int:
    """Measure the cases, one after the other."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").split("\n\n")[0], formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"{', '.join(CASES)}; default: all")
    parser.add_argument(
        "--multihop", default=str(ROOT / "target/release/multihop"), help="the command to run"
    )
    parser.add_argument("--keep", action="store_true", help="keep the folders, and print their names")
    options = parser.parse_args()
    unknown = [case for case in options.cases if case not in CASES]
    if unknown:
        parser.error(f"unknown case {unknown[0]}; allowed: {', '.join(CASES)}")
    failed = False
    for case in options.cases or CASES:
        folder = Path(tempfile.mkdtemp(prefix=f"survive-{case}-"))
        begin = time.monotonic()
        after, is_whole = measure(case, str(Path(options.multihop).resolve()), folder)
        failed |= not is_whole
        bytes_after = "no bytes after the fault" if after is None else f"bytes {after:.1f} s after the fault"
        verdict = "file is whole" if is_whole else "file is NOT whole"
        print(f"{case:10} {bytes_after}, {verdict}, {time.monotonic() - begin:.0f} s", flush=True)
        if options.keep:
            print(folder)
        else:
            shutil.rmtree(folder)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
