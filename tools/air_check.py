#!/usr/bin/env python3
"""Check `multihop air` with Linux's 802.11s: pings over one and two hops, and none to a node out of range.

    python3 tools/air_check.py target/debug/multihop

Needs root, the module mac80211_hwsim without radios, and iw. `python3 tools/test.py air` runs this check in a
virtual machine. Nodes 0, 1 and 2 are 200 m apart and hear each other up to 250 m, so that 802.11s has to
forward packets between 0 and 2. Node 3 is out of range of all others.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

SCENARIO = """
duration = 100.0
topology = { kind = "list", positions = [[0.0, 0.0], [200.0, 0.0], [400.0, 0.0], [1000.0, 0.0]] }
radio = { phy = "802.11g", model = "threshold", sense_range = 250.0 }
mac = { flavour = "standard" }
"""
JOIN = (
    "iw dev wlan0 set type mp && ip link set wlan0 up && iw dev wlan0 mesh join check freq 2412"
    " && ip addr add 10.9.0.{node}/24 dev wlan0"
)
LATE_LIMIT = 0.005
"""The lateness of 99% of the events and frames that the check allows, s."""


def main(arguments: list[str]) -> int:
    """Run the medium with this program as its command, or be that command."""
    if arguments == ["--inside"]:
        return inside()
    (multihop,) = arguments
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "air.toml"
        scenario.write_text(SCENARIO)
        inner = f"{shlex.quote(sys.executable)} {shlex.quote(__file__)} --inside >&2"
        words = [multihop, "air", str(scenario), "--json", "--late-limit", str(LATE_LIMIT)]
        done = subprocess.run([*words, "--", "sh", "-c", inner], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        return done.returncode
    result = json.loads(done.stdout)["air"]
    counts = ("transmitted", "received", "acknowledged", "retries", "strays", "refused")
    print(", ".join(f"{name} {result[name]}" for name in counts))
    print("lateness ms:", result["wakeups_late_ms"], result["deliveries_late_ms"])
    return 0 if result["acknowledged"] > 0 and result["strays"] == 0 else 1


def inside() -> int:
    """Join the mesh at each node, wait for the links, and ping."""
    for node in range(4):
        at(node, JOIN.format(node=node + 1))
    wait_for(1, "iw dev wlan0 station dump", r"(?s)plink:\s+ESTAB.*plink:\s+ESTAB")
    wait_for(2, "iw dev wlan0 station dump", r"plink:\s+ESTAB")
    for target, arrives in ((2, True), (3, True), (4, False)):
        found = at(0, f"ping -c 3 -i 0.2 -W 1 10.9.0.{target}", check=False)
        summary = next((line for line in found.splitlines() if "received" in line), "no answer")
        print(f"10.9.0.{target}: {summary}", flush=True)
        if (" 0 received" not in summary) != arrives:
            return 1
    hops = re.search(r"^02:00:00:00:00:02 02:00:00:00:00:01 ", at(0, "iw dev wlan0 mpath dump"), re.MULTILINE)
    print("path to node 2 over node 1:", hops is not None, flush=True)
    return 0 if hops else 1


def at(node: int, script: str, check: bool = True) -> str:
    """Run a script in the namespace of a node; returns its output."""
    words = ["ip", "netns", "exec", f"air-{node}", "sh", "-c", script]
    return subprocess.run(words, check=check, stdout=subprocess.PIPE, text=True).stdout


def wait_for(node: int, script: str, pattern: str) -> None:
    """Run a script until its output has this pattern; the virtual machine has a time limit."""
    while not re.search(pattern, at(node, f"sleep 0.2; {script}")):
        pass


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
