#!/usr/bin/env python3
"""Measure Linux's Wi-Fi stack on the medium of `multihop air`, for docs/air.md.

    python3 tools/air_study.py target/debug/multihop [EXPERIMENT ...]

The tool boots the virtual machine of tools/vm.py for each experiment. It needs iw, wpasupplicant and batctl.

* `chain`: four nodes with 802.11s. Pings over three hops, then UDP.
* `hidden`: two senders of UDP that do not hear each other: with RTS, without RTS, and without contention.
  Simulations in which packets have the same length on the air are the comparison.
* `beacons`: the same senders, with and without RTS, in an IBSS with a beacon a second instead of ten.
* `sae`: two nodes with 802.11s and SAE by wpa_supplicant.
* `batman`: three nodes in a chain with batman-adv over IBSS. Pings over one hop and two, then UDP over two.
* `rates`: what `iw station dump` shows of UDP over three distances, with the kernel's rate control and with
  multihop's.
* `wmediumd`: three nodes with IBSS and a configuration of wmediumd, in which node 2 hears node 1 only.
* `repeat`: twenty runs of a chain of three nodes with 802.11s, and the kernel's log after each of them.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import vm

RADIO = """
[radio]
phy = "802.11g"
model = "threshold"
sense_range = 250.0
rate = "6M"
basic_rate = "1M"
[mac]
flavour = "standard"
llc = true
rts_threshold = "off"
"""
SINR_RADIO = """
[radio]
phy = "802.11g"
model = "sinr"
[mac]
llc = true
"""
PLACES = '[topology]\nkind = "list"\npositions = [{}]\n'
MESH = "iw dev wlan0 set type mp && ip link set wlan0 up && iw dev wlan0 mesh join study freq 2412"
IBSS = (
    "iw dev wlan0 set type ibss && ip link set wlan0 up"
    " && iw dev wlan0 ibss join study 2412 fixed-freq 02:11:22:33:44:55"
)
WMEDIUMD = """
ifaces : { ids = [ "02:00:00:00:00:00", "02:00:00:00:01:00", "02:00:00:00:02:00" ]; };
model : { type = "prob"; default_prob = 1.0; links = ((0, 1, 0.25), (1, 2, 0.0)); };
"""
SAE = """
ctrl_interface=/run/wpa{node}
user_mpm=1
network={{
    ssid="study"
    mode=5
    frequency=2412
    key_mgmt=SAE
    psk="a secret phrase"
}}
"""
LIMIT = 900.0
"""Time limit of a virtual machine, s."""
DISTANCES = (100.0, 300.0, 550.0)
"""Lengths of links, m. 802.11g reaches 209 m with 54 Mb/s, 512 m with 12 Mb/s and 608 m with 6 Mb/s."""
PAYLOAD = 1000
GAP, WARMUP, MEASURED = 0.003, 1.0, 10.0
"""Time between packets of a hidden sender, time before the measurement, and its duration, s."""
RUNS = 20
"""Number of runs that the kernel's log must survive without a warning."""
QOS_FIELD = 2
"""Bytes of the kernel's header that simulated data frames lack."""


def main(arguments: list[str]) -> int:
    """Run the named experiments, or all; inside of the virtual machine, one step of an experiment."""
    if arguments[:1] == ["--inside"]:
        return STEPS[arguments[1]](*arguments[2:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("multihop", type=Path, help="the command to measure")
    parser.add_argument(
        "experiments", nargs="*", metavar="EXPERIMENT", help=f"of {', '.join(EXPERIMENTS)}; default: all"
    )
    options = parser.parse_args(arguments)
    for name in options.experiments or EXPERIMENTS:
        if name not in EXPERIMENTS:
            parser.error(f"found experiment {name!r}, allowed: {', '.join(EXPERIMENTS)}")
        print(f"== {name}", flush=True)
        EXPERIMENTS[name](str(options.multihop.resolve()))
    return 0


def on_air(multihop: str, step: str, nodes: int, runs: Sequence[str] = ("",), radio: str = RADIO) -> None:
    """Run a step over a chain of nodes 200 m apart, in a virtual machine: once for each of these options."""
    places = ", ".join(f"[{200.0 * node}, 0.0]" for node in range(nodes))
    over(multihop, step, "air.toml", "duration = 100.0\n" + PLACES.format(places) + radio, runs)


def over(multihop: str, step: str, name: str, text: str, runs: Sequence[str] = ("",)) -> None:
    """Run a step over the network of a file, in a virtual machine: once for each of these options."""
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder)
        (files / name).write_text(text)
        inner = shlex.join(["python3", __file__, "--inside", step])
        air = f"{multihop} air $VM_FILES/{name}"
        script = " && ".join(f"echo '{options}' && {air} {options} -- {inner}" for options in runs)
        machine = vm.Machine(["mac80211_hwsim radios=0"], LIMIT, icount="shift=0,sleep=off")
        outcome = vm.run(machine, script, files)
        print(f"exit code {outcome.code}, {len(outcome.warnings)} warnings of the kernel", flush=True)


def hidden(multihop: str) -> None:
    """Measure two hidden senders in the kernel, with and without contention, and in the simulator."""
    on_air(multihop, "hidden", 3, ["", "--set mac.rts_threshold=0", "--no-contention"])
    for rts in ("off", "0"):
        flow = '[[flow]]\nfrom = {}\nto = 1\napp = "cbr"\nrate_kbps = {}\nsize = {}\n'
        rate = 8 * PAYLOAD / GAP / 1e3
        flows = "".join(flow.format(node, rate, PAYLOAD + QOS_FIELD) for node in (0, 2))
        places = PLACES.format("[0.0, 0.0], [200.0, 0.0], [400.0, 0.0]")
        radio = RADIO.replace("llc", 'arp = "oracle"\nllc')
        with tempfile.TemporaryDirectory() as folder:
            scenario = Path(folder) / "hidden.toml"
            scenario.write_text("duration = 30.0\nwarmup = 2.0\n" + places + radio + flows)
            words = [multihop, "run", str(scenario), "--json", "--set", f"mac.rts_threshold={rts}"]
            done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)
        goodput = json.loads(done.stdout)["totals"]["goodput_kbps"] * PAYLOAD / (PAYLOAD + QOS_FIELD)
        print(f"simulator, RTS threshold {rts}: {goodput:.0f} kb/s")


def rates(multihop: str) -> None:
    """Let the kernel count transmissions over three distances, with either rate control."""
    runs = [
        f"--set mac.rate_control={rule} --set topology.positions=[[0.0,0.0],[{metres},0.0]]"
        for rule in ("kernel", "minstrel")
        for metres in DISTANCES
    ]
    on_air(multihop, "rates", 2, runs, SINR_RADIO)


def at(node: int, script: str) -> None:
    """Run a script in the namespace of a node; its output appears."""
    subprocess.run(["ip", "netns", "exec", f"air-{node}", "sh", "-c", script], check=False)


def start(node: int, *step: str) -> subprocess.Popen[bytes]:
    """Start a step of this file in the namespace of a node."""
    return subprocess.Popen(["ip", "netns", "exec", f"air-{node}", "python3", __file__, "--inside", *step])


def chain_inside() -> int:
    """Ping over three hops of 802.11s, then send UDP."""
    for node in range(4):
        at(node, f"{MESH} && ip addr add 10.9.0.{node + 1}/24 dev wlan0")
    time.sleep(6)
    at(0, "ping -c 8 -i 0.5 -W 2 10.9.0.4; iw dev wlan0 mpath dump")
    return transfer(3, 0.01)


def hidden_inside(join: str = IBSS) -> int:
    """Send UDP from nodes 0 and 2 to node 1."""
    for node in range(3):
        at(node, f"{join} && ip addr add 10.9.0.{node + 1}/24 dev wlan0")
    time.sleep(4)
    for node in (0, 2):
        at(node, "ip neigh replace 10.9.0.2 lladdr 02:00:00:00:00:01 dev wlan0 nud permanent")
    sink = start(1, "sink")
    floods = [start(node, "flood", "10.9.0.2", str(GAP)) for node in (0, 2)]
    return sink.wait() + sum(flood.wait() for flood in floods)


def sae_inside() -> int:
    """Join a mesh with SAE, and ping."""
    subprocess.run(["modprobe", "-a", "ccm", "cmac", "gcm", "ctr"], check=True)
    for node in range(2):
        config = Path(f"/run/sae{node}.conf")
        config.write_text(SAE.format(node=node))
        at(node, f"wpa_supplicant -B -i wlan0 -c {config}; ip addr add 10.9.0.{node + 1}/24 dev wlan0")
    time.sleep(15)
    at(0, "iw dev wlan0 station dump | grep -E 'Station|plink|authorized|MFP'; ping -c 5 -i 0.3 10.9.0.2")
    return 0


def batman_inside() -> int:
    """Join an IBSS with batman-adv, and ping."""
    subprocess.run(["modprobe", "batman_adv"], check=True)
    # With bridge loop avoidance, batman-adv drops broadcasts, and so ARP, for half a minute after its start.
    batman = (
        "ip link add bat0 type batadv && batctl meshif bat0 bridge_loop_avoidance 0"
        " && ip link set wlan0 master bat0 && ip link set bat0 up"
    )
    for node in range(3):
        at(
            node,
            f"{IBSS} && ip link set wlan0 mtu 1532 && {batman} && ip addr add 10.9.0.{node + 1}/24 dev bat0",
        )
    time.sleep(12)
    at(0, "batctl meshif bat0 o; ping -c 5 10.9.0.2; ping -c 5 10.9.0.3")
    return transfer(2, 0.02)


def rates_inside() -> int:
    """Send UDP over one link, and show its bit rates, of which some are trials, and the kernel's counters."""
    for node in range(2):
        at(node, f"{IBSS} && ip addr add 10.9.0.{node + 1}/24 dev wlan0")
    time.sleep(3)
    receiver = start(1, "sink")
    flood = start(0, "flood", "10.9.0.2", "0.005")
    dump = ["ip", "netns", "exec", "air-0", "iw", "dev", "wlan0", "station", "dump"]
    shown = []
    while receiver.poll() is None:
        text = subprocess.run(dump, check=True, stdout=subprocess.PIPE, text=True).stdout
        shown += re.findall(r"tx bitrate:\s+([\d.]+)", text)
        time.sleep(0.25)
    print(f"median of {len(shown)} bit rates: {statistics.median(map(float, shown))} Mb/s", flush=True)
    at(0, "iw dev wlan0 station dump | grep -E 'signal avg|tx packets|tx retries|tx failed'")
    return receiver.wait() + flood.wait()


def wmediumd_inside() -> int:
    """Ping a neighbour over a link with losses, and a node that is no neighbour."""
    for node in range(3):
        at(node, f"{IBSS} && ip addr add 10.9.0.{node + 1}/24 dev wlan0")
    time.sleep(4)
    for target in (2, 3):
        at(0, f"ping -c 20 -i 0.1 -W 1 10.9.0.{target} | grep received")
    at(0, "iw dev wlan0 station dump | grep -E '^Station|tx packets|tx retries|tx failed'")
    at(1, "ping -c 5 -i 0.1 -W 1 10.9.0.3 | grep received")
    return 0


def repeat_inside() -> int:
    """Ping over two hops of 802.11s, and count the warnings in the kernel's log."""
    for node in range(3):
        at(node, f"{MESH} && ip addr add 10.9.0.{node + 1}/24 dev wlan0")
    time.sleep(6)
    at(0, "ping -c 3 -i 0.5 -W 2 10.9.0.3 | grep received")
    log = subprocess.run(["dmesg"], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    print(f"{sum(bool(vm.WARNING.search(line)) for line in log)} warnings so far", flush=True)
    return 0


def transfer(to: int, gap: float) -> int:
    """Send UDP from node 0 to a node at a constant rate, and print the goodput."""
    receiver = start(to, "sink")
    at(0, f"python3 {shlex.quote(__file__)} --inside flood 10.9.0.{to + 1} {gap}")
    return receiver.wait()


def flood(target: str, gap: str) -> int:
    """Send UDP at a constant rate for longer than the measurement."""
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    began = due = time.monotonic()
    while due < began + WARMUP + MEASURED + 2:
        sender.sendto(bytes(PAYLOAD), (target, 9000))
        due += float(gap)
        time.sleep(max(0.0, due - time.monotonic()))
    return 0


def sink() -> int:
    """Measure the goodput of UDP from each sender, from the first packet on."""
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.bind(("", 9000))
    counts: Counter[str] = Counter()
    _, _ = receiver.recvfrom(4096)
    began = time.monotonic()
    while (now := time.monotonic()) < began + WARMUP + MEASURED:
        data, (address, _) = receiver.recvfrom(4096)
        if now > began + WARMUP:
            counts[address] += len(data)
    rates = {address: 8 * count / MEASURED / 1e3 for address, count in sorted(counts.items())}
    rows = [f"{address}: {rate:.0f} kb/s" for address, rate in rates.items()]
    print(", ".join([*rows, f"together: {sum(rates.values()):.0f} kb/s"]), flush=True)
    return 0


EXPERIMENTS: dict[str, Callable[[str], None]] = {
    "chain": lambda multihop: on_air(multihop, "chain", 4),
    "hidden": hidden,
    "beacons": lambda multihop: on_air(multihop, "beacons", 3, ["", "--set mac.rts_threshold=0"]),
    "sae": lambda multihop: on_air(multihop, "sae", 2),
    "batman": lambda multihop: on_air(multihop, "batman", 3),
    "rates": rates,
    "wmediumd": lambda multihop: over(multihop, "wmediumd", "air.cfg", WMEDIUMD),
    "repeat": lambda multihop: on_air(
        multihop, "repeat", 3, [f"--set seed={run + 1}" for run in range(RUNS)]
    ),
}
STEPS: dict[str, Callable[..., int]] = {
    "chain": chain_inside,
    "hidden": hidden_inside,
    "beacons": lambda: hidden_inside(f"{IBSS} beacon-interval 1000"),
    "sae": sae_inside,
    "batman": batman_inside,
    "rates": rates_inside,
    "wmediumd": wmediumd_inside,
    "repeat": repeat_inside,
    "flood": flood,
    "sink": sink,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
