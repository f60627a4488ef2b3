#!/usr/bin/env python3
"""Compare quinn as a simulated transport with the program quinn over the emulated network, on one chain.

    chrt -f 10 .venv/bin/python tools/compare_quic.py [--hops 4] [--seeds 20] [--runs 5] [--control bbr3]

Prints the mean goodput of both with the 95% interval, and the ratio. The simulated flow is `transport =
"quinn"` of `multihop-with-quic`; the program is tools/quic. Both send for `--seconds`. With `--control` both
use that congestion control of multihop instead of quinn's CUBIC. A run of the emulation counts only if it is
valid: 99% of events and packets at most 5 ms late, and at most 1% of the time lost. `chrt` keeps the
emulation in time on a machine that is busy with other work. Needs root, and programs built by

    cargo build --release -p multihop-cli && cargo build --release -p multihop-quic
    cargo build --release --manifest-path tools/quic/Cargo.toml
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from multihop.stats import Interval, interval

ROOT = Path(__file__).resolve().parent.parent
SIMULATOR = ROOT / "target" / "release" / "multihop-with-quic"
MULTIHOP = ROOT / "target" / "release" / "multihop"
QUIC = ROOT / "tools" / "quic" / "target" / "release" / "multihop-quic"
TRIES = 4
"""Runs of the emulation, at most, for each valid one."""


@dataclass(frozen=True)
class Chain:
    """One chain with one flow, and the programs that run it."""

    options: argparse.Namespace
    folder: Path

    def scenario(self, duration: float, tables: str) -> Path:
        """A file with the chain and these tables."""
        file = self.folder / "chain.toml"
        radio = f'[radio]\nphy = "{self.options.phy}"\n[mac]\narp = "queueing"\n'
        chain = f'[topology]\nkind = "chain"\nhops = {self.options.hops}\n'
        file.write_text(f"duration = {duration}\n{radio}{chain}{tables}")
        return file

    def simulated(self, seed: int) -> float:
        """Goodput of the simulated flow, kb/s."""
        control = f"multihop-{self.options.control}" if self.options.control else "cubic"
        times = f"start = 1.0\nstop = {1.0 + self.options.seconds}"
        transport = f'transport = {{ kind = "quinn", control = "{control}" }}'
        flow = f"[[flow]]\n{times}\n{transport}\n"
        file = self.scenario(2.0 + self.options.seconds, flow)
        command = [self.options.simulator, "run", file, "--seed", str(seed), "--json", "--quiet"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return float(json.loads(done.stdout)["flows"][0]["goodput_kbps"])

    def emulated(self, seed: int) -> float | None:
        """Goodput of the program in simulated time, kb/s; nothing if the run is not valid."""
        quic, hops, out = self.options.quic, self.options.hops, self.folder / "out"
        server = f"{quic} server 10.0.0.{hops + 1}:7000"
        file = self.scenario(300.0, f"[[program]]\nnode = {hops}\ncommand = {json.dumps(server)}\n")
        client = f"{quic} client 10.0.0.{hops + 1}:7000 --seconds {self.options.seconds} --send-window 500000"
        if self.options.control:
            client += f" --control {self.options.control}"
        command = [self.options.multihop, "emulate", file, "--seed", str(seed), "--late-limit", "0.005"]
        command += ["--quiet", "--out", out, "--", "sh", "-c", f"sleep 1; {client}"]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        emulation = json.loads((out / "result.json").read_text())["emulation"]
        lost = float(emulation["lost_share"])
        print(f"  emulated: {done.stdout.strip()}, lost {lost:.2%}, valid {emulation['valid']}", flush=True)
        if not emulation["valid"]:
            return None
        return 1e3 * float(json.loads(done.stdout.splitlines()[-1])["mbps"]) / (1.0 - lost)


def shown(name: str, found: list[float]) -> Interval:
    """The interval of a mean, which is printed."""
    mean = interval(found)
    print(f"{name}: {mean.mean:.1f} ± {mean.half:.1f} kb/s, {len(found)} runs", flush=True)
    return mean


def main() -> int:
    """Measure both, and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hops", type=int, default=4, help="hops of the chain")
    parser.add_argument("--phy", default="802.11b", help="physical layer of the radios")
    parser.add_argument("--seconds", type=float, default=30.0, help="length of a flow")
    parser.add_argument("--seeds", type=int, default=20, help="simulated runs")
    parser.add_argument("--runs", type=int, default=5, help="valid emulated runs")
    parser.add_argument("--control", help="congestion control of multihop at the sender: bbr3, cubic, ...")
    parser.add_argument("--simulator", type=Path, default=SIMULATOR, help="the command with quinn")
    parser.add_argument("--multihop", type=Path, default=MULTIHOP, help="the command that emulates")
    parser.add_argument("--quic", type=Path, default=QUIC, help="the program with quinn")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        chain = Chain(options, Path(scratch))
        simulated = [chain.simulated(seed) for seed in range(1, options.seeds + 1)]
        means = shown("simulated", simulated)
        emulated: list[float] = []
        for seed in range(1, TRIES * options.runs + 1):
            if len(emulated) < options.runs and (goodput := chain.emulated(seed)) is not None:
                emulated.append(goodput)
    if len(emulated) < 2:
        print("too few valid runs of the emulation: the machine is busy")
        return 1
    print(f"emulated / simulated: {shown('emulated', emulated).mean / means.mean:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
