#!/usr/bin/env python3
"""Compare real programs over an emulated chain of 802.11n stations, in turn.

    chrt -f 10 python3 tools/over_hops.py [PROGRAM ...]

Prints the mean of each program with half the 95% interval, and every run:

    mesh, cubic, bbr, mh_mesh, ...   goodput at the receiver for `--seconds`, Mb/s: `multihop perf --plain`,
                                     or iperf3 with a control of the kernel or of `multihop tcp`
    send, rsync-cubic, rsync-bbr     time of a file of `--megabytes` from the start of the program to its
                                     end, s: `multihop send` with a token, or rsync to its daemon with a
                                     control of the kernel

Goodput and times are those of virtual time. A run is repeated if 1% of its events or packets were later
than 5 ms, or if more than 1% of the time was lost; the last column has the number of such runs. Needs
root, `make build`, iperf3 and rsync. `chrt` keeps the emulation in time on a machine that is busy with other
work.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from real_programs import MULTIHOP, write_noise
from two_paths import STUDENT, TOKEN

CONTROLS = {"send": "", "rsync-cubic": "cubic", "rsync-bbr": "bbr"}
"""The kernel's congestion control of each program that sends a file."""
TRIES = 4
"""Runs of one measurement, at most, until one is valid."""
PORT = 5201
RSYNCD = "port = {port}\nuse chroot = no\nuid = root\ngid = root\n[in]\npath = {into}\nread only = no\n"


def main() -> int:
    """Run all programs in turn, so that a disturbance does not concern one program only; print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("programs", nargs="*", default=["mesh", "mh_mesh", "cubic", "bbr"], metavar="PROGRAM")
    parser.add_argument("--multihop", type=Path, default=MULTIHOP, help="the command to measure")
    parser.add_argument("--runs", type=int, default=5, help="runs of each program")
    parser.add_argument("--hops", type=int, default=4, help="hops of the chain")
    parser.add_argument("--phy", default="802.11n-20", help="physical layer of the radios")
    parser.add_argument("--rate", default="MCS4", help="bit rate of the radios")
    parser.add_argument("--ampdu", type=int, default=32, help="MPDUs of a frame; 0: no aggregation")
    parser.add_argument(
        "--frame-loss", type=float, default=0.0, help="share of frames lost, which the MAC repeats"
    )
    parser.add_argument(
        "--loss", type=float, default=0.0, help="share of packets lost over all hops together"
    )
    parser.add_argument("--discipline", default="drop-tail", help="of the queues: also codel, fq-codel")
    parser.add_argument("--megabytes", type=int, default=20, help="size of the file")
    parser.add_argument("--seconds", type=int, default=20, help="length of a flow")
    options = parser.parse_args()
    found: dict[str, list[float]] = {name: [] for name in options.programs}
    late = dict.fromkeys(found, 0)
    with tempfile.TemporaryDirectory() as scratch:
        lab = Lab(Path(scratch), options)
        write_noise(lab.file, options.megabytes * 10**6, 1)
        for _ in range(options.runs):
            for name, runs in found.items():
                for _ in range(TRIES):
                    if (measured := lab.run(name)) is not None:
                        runs.append(measured)
                        break
                    late[name] += 1
    print("| program | mean | runs | late runs |\n|---|---|---|---|")
    for name, runs in found.items():
        unit = "s" if name in CONTROLS else "Mb/s"
        each = ", ".join(f"{one:.2f}" for one in runs)
        print(f"| {name} | {mean(runs)} {unit} | {each} | {late[name]} |")
    return 0


def mean(runs: list[float]) -> str:
    """The mean with half the 95% interval."""
    if len(runs) < 2:
        return " ".join(f"{one:.2f}" for one in runs)
    half = STUDENT.get(len(runs), 1.96) * statistics.stdev(runs) / math.sqrt(len(runs))
    return f"{statistics.fmean(runs):.2f} ± {half:.2f}"


@dataclass
class Lab:
    """The chain, and a folder for everything that its programs need."""

    folder: Path
    options: argparse.Namespace

    def __post_init__(self) -> None:
        self.file, self.into, self.out = (self.folder / name for name in ("file", "in", "out"))
        self.multihop, self.last = self.options.multihop, f"node{self.options.hops}"

    def run(self, name: str) -> float | None:
        """Goodput or time of a program in one run; nothing if the emulation was late."""
        receiver, sender = self.transfer(name) if name in CONTROLS else self.flow(name)
        self.into.mkdir(exist_ok=True)
        for one in self.into.iterdir():
            one.unlink()
        scenario = self.folder / "chain.toml"
        scenario.write_text(self.scenario(receiver))
        emulate = [self.multihop, "emulate", scenario, "--late-limit", "0.005", "--out", self.out, "--quiet"]
        words = [*emulate, "--", "sh", "-c", f"sleep 1; {sender}"]
        said = subprocess.run(words, capture_output=True, text=True, check=False)
        emulation = json.loads((self.out / "result.json").read_text())["emulation"]
        if not emulation["valid"]:
            return None
        virtual = 1.0 - float(emulation["lost_share"])
        if name not in CONTROLS:
            return goodput(said.stdout) / virtual
        if (self.into / "file").read_bytes() != self.file.read_bytes():
            raise RuntimeError(f"{name} has not sent the file: {said.stderr}")
        return float(said.stdout.split()[-1]) / 1e9 * virtual

    def scenario(self, receiver: str) -> str:
        """The chain with the receiver's program at its last station."""
        options = self.options
        radio = [f'phy = "{options.phy}"', f'rate = "{options.rate}"', f"frame_loss = {options.frame_loss}"]
        radio.append(f"loss = {1.0 - (1.0 - options.loss) ** (1.0 / options.hops)}")
        mac = ['arp = "queueing"', f'discipline = "{options.discipline}"']
        if options.ampdu:
            mac.append(f"ampdu = {options.ampdu}")
        topology = ['kind = "chain"', f"hops = {options.hops}"]
        program = [f"node = {options.hops}", f"command = {json.dumps(receiver)}"]
        tables = {"[radio]": radio, "[mac]": mac, "[topology]": topology, "[[program]]": program}
        lines = [line for head, keys in tables.items() for line in (head, *keys)]
        return "\n".join(["duration = 300.0", *lines])

    def flow(self, name: str) -> tuple[str, str]:
        """Commands of both ends that send as fast as they can, and print JSON."""
        seconds = self.options.seconds
        if name == "mesh":
            both = "--plain --transport mesh --quiet"
            receiver = f"{self.multihop} perf --listen 0.0.0.0:{PORT} {both}"
            return receiver, f"{self.multihop} perf {self.last}:{PORT} --time {seconds} --json {both}"
        client = f"iperf3 -c {self.last} -p {PORT} -t {seconds} -J"
        if name.startswith("mh_"):
            return f"iperf3 -s -p {PORT}", f"{self.multihop} tcp run --quiet --control {name} -- {client}"
        return f"iperf3 -s -p {PORT}", f"{client} -C {name}"

    def transfer(self, name: str) -> tuple[str, str]:
        """Commands of both ends that send the file, and print the time in ns."""
        timed = "begin=$(date +%s%N); {} && echo $(($(date +%s%N) - begin))"
        if name == "send":
            listen = f"--listen 0.0.0.0:{PORT} --to {self.into} --once"
            receiver = f"{self.multihop} recv {listen} --token {TOKEN} --quiet"
            sender = f"{self.multihop} send {self.file} {self.last}:{PORT} --token {TOKEN} --quiet"
            return receiver, timed.format(sender)
        configuration = self.folder / "rsyncd.conf"
        configuration.write_text(RSYNCD.format(port=PORT, into=self.into))
        choose = f"sysctl -q -w net.ipv4.tcp_congestion_control={CONTROLS[name]}; "
        sender = f"rsync {self.file} rsync://{self.last}:{PORT}/in/"
        return f"rsync --daemon --no-detach --config={configuration}", choose + timed.format(sender)


def goodput(said: str) -> float:
    """Mb/s at the receiver, from what iperf3 or `multihop perf` prints."""
    text = re.search(r"\{.*\}", said, re.DOTALL)
    if text is None:
        raise RuntimeError(f"no result: {said}")
    found = json.loads(text[0])
    if "forward" in found:
        return float(found["forward"]["goodput_kbps"]) / 1e3
    return float(found["end"]["sum_received"]["bits_per_second"]) / 1e6


if __name__ == "__main__":
    sys.exit(main())
