#!/usr/bin/env python3
"""Compare TPA on real sockets with kernel TCP and QUIC; writes docs/validation/net-*.md.

    python3 tools/net_study.py lossy     a slow path that loses packets (needs root)
    python3 tools/net_study.py long      a fast and long path, with few losses (needs root)
    python3 tools/net_study.py local     CPU time per byte on loopback and a veth pair (veth needs root)
    python3 tools/net_study.py relay     files through a relay that loses, duplicates, reorders and damages datagrams

Times are wall-clock times, so other programs on the machine affect the results. Needs iperf3.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import net_pages
from net_pages import CPU, INTACT, PAGES, Measured, Table

ROOT = Path(__file__).resolve().parent.parent
MULTIHOP = str(ROOT / "target" / "release" / "multihop")
IMPAIR = str(ROOT / "target" / "release" / "examples" / "impair")
QUIC = str(ROOT / "tools" / "quic" / "target" / "release" / "multihop-quic")
T95 = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 8: 2.365, 10: 2.262}  # Student's t, two sides


def main() -> int:
    """Run one study and write its page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("study", choices=["lossy", "long", "local", "relay"])
    parser.add_argument("--seconds", type=float, default=20.0, help="duration of each run")
    parser.add_argument("--seeds", type=int, default=3, help="runs of each case")
    parser.add_argument(
        "--jobs", type=int, default=3, help="parallel runs, in studies whose bottleneck is the path"
    )
    parser.add_argument("--megabytes", type=int, default=10, help="for relay: size of the file")
    options = parser.parse_args()
    build()
    title, setting, tables = {"lossy": lossy, "long": long, "local": local, "relay": relay}[options.study](
        options
    )
    again = " ".join(["python3", "tools/net_study.py", *sys.argv[1:]])
    page = write(options.study, Measured(title, setting, again, tables), PAGES)
    print(f"{page}\n.venv/bin/python tools/net_pages.py draws the figure", flush=True)
    return 0


def write(study: str, measured: Measured, folder: Path) -> str:
    """Write the page of a study and return its text.

    The tables are written first. If the page cannot be made of them, net_pages.py makes it later without new runs.
    """
    path = folder / f"net-{study}.md"
    path.write_text(net_pages.bare(measured), encoding="utf-8")
    page = net_pages.page(study, measured)
    path.write_text(page, encoding="utf-8")
    return page


def build() -> None:
    """Build the measured programs."""
    cargo = ["cargo", "build", "--release", "--locked", "--quiet"]
    subprocess.run([*cargo, "-p", "multihop-cli"], cwd=ROOT, check=True)
    subprocess.run([*cargo, "-p", "multihop-testkit", "--example", "impair"], cwd=ROOT, check=True)
    subprocess.run([*cargo], cwd=ROOT / "tools" / "quic", check=True)


Page = tuple[str, str, Sequence[Table]]
"""Title, setting and tables of a page."""


@dataclass(frozen=True)
class Flow:
    """A sending program and its server."""

    name: str
    server: str
    client: str
    read: Callable[[dict[str, Any]], float]  # received Mb/s


def flows(host: str, seconds: float) -> list[Flow]:
    """The compared programs; QUIC and TPA report bytes over the time from the first to the last received."""

    def multihop(name: str, keys: str) -> Flow:
        return Flow(
            name,
            f"{MULTIHOP} perf --listen {host}:7451 --plain {keys}",
            f"{MULTIHOP} perf {host}:7451 --time {seconds} --json --plain {keys}",
            lambda said: float(said["forward"]["goodput_kbps"]) / 1e3,
        )

    def tpa(cwnd_max: int) -> Flow:
        return multihop(f"TPA, cwnd_max {cwnd_max}", f"--set cwnd_max={cwnd_max}")

    def tcp(control: str) -> Flow:
        return Flow(
            f"TCP {control}",
            f"iperf3 -s -1 -B {host}",
            f"iperf3 -c {host} -t {seconds:g} -C {control} -J",
            lambda said: float(said["end"]["sum_received"]["bits_per_second"]) / 1e6,
        )

    quic = Flow(
        "QUIC (quinn, cubic)",
        f"{QUIC} server {host}:7000",
        f"{QUIC} client {host}:7000 --seconds {seconds}",
        lambda said: float(said["mbps"]),
    )
    mesh = multihop("mesh", "--transport mesh")
    return [tpa(3), tpa(12), mesh, tcp("reno"), tcp("cubic"), tcp("bbr"), quic]


LOSSES = {
    "none": "",
    "2%": "--loss 0.02",
    "5%": "--loss 0.05",
    "10%": "--loss 0.1",
    "5%, bursts": "--loss 0.05 --burst 50",
}


def lossy(options: argparse.Namespace) -> Page:
    """Goodput over a slow path with losses."""
    compared = flows("10.77.0.2", options.seconds)
    rows = goodputs(compared, "--rate 2 --delay 20 --queue 50", LOSSES, options)
    setting = f"""Two network namespaces with a user-space link between them (`impair path`): 2 Mb/s, 20 ms each way, a queue of
50 packets, packets of up to 1500 bytes. Losses are random for each packet in both directions, ACKs included; bursts last 50 ms in
the mean, 8 packets at the full rate. Each run has one flow of {options.seconds:g} s, measured from its start; {options.seeds} runs of
each case with different losses, {options.jobs} in parallel; 95% Student-t intervals. TCP is the kernel's ({os.uname().release}) by
iperf3, its congestion control set explicitly. QUIC is quinn with its defaults. TPA and mesh are plain; TPA is in its profile for
real networks."""
    return (
        "TPA, mesh, TCP and QUIC over a slow path with losses",
        setting,
        [Table("Goodput, Mb/s, by packet loss", ["transport", *LOSSES], rows)],
    )


FEW_LOSSES = {"none": "", "0.1%": "--loss 0.001", "2%": "--loss 0.02"}


def long(options: argparse.Namespace) -> Page:
    """Goodput over a path with thousands of segments on the way."""
    compared = [flow for flow in flows("10.77.0.2", options.seconds) if not flow.name.startswith("TPA")]
    rows = goodputs(compared, "--rate 200 --delay 50 --queue 1000", FEW_LOSSES, options)
    setting = f"""Two network namespaces with a user-space link between them (`impair path`): 200 Mb/s, 50 ms each way, a queue of
1000 packets, packets of up to 1500 bytes. Losses are random for each packet in both directions. Each run has one flow of
{options.seconds:g} s, measured from its start, so that a slow start counts. {options.seeds} runs of each case with different losses, {options.jobs}
at a time; 95% Student-t intervals. TCP is the kernel's ({os.uname().release}) by iperf3. QUIC is quinn with its defaults; mesh is plain."""
    return (
        "mesh, TCP and QUIC over a fast and long path",
        setting,
        [Table("Goodput, Mb/s, by packet loss", ["transport", *FEW_LOSSES], rows)],
    )


def goodputs(
    compared: Sequence[Flow], path: str, losses: dict[str, str], options: argparse.Namespace
) -> list[list[str]]:
    """A row for each program: its goodput with each kind of loss."""
    cases = [(flow, loss, seed) for seed in range(options.seeds) for loss in losses for flow in compared]

    def run(case: tuple[Flow, str, int]) -> float:
        flow, loss, seed = case
        return over_path(flow, f"{path} {losses[loss]} --seed {seed + 1}", options)

    with ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(run, cases))
    found: dict[tuple[str, str], list[float]] = {}
    for (flow, loss, _), mbps in zip(cases, results, strict=True):
        found.setdefault((flow.name, loss), []).append(mbps)
    return [[flow.name, *(mean(found[flow.name, loss]) for loss in losses)] for flow in compared]


def over_path(flow: Flow, path: str, options: argparse.Namespace) -> float:
    """Goodput of one run, Mb/s; 0 if it failed."""
    command = [
        IMPAIR,
        "path",
        *shlex.split(path),
        "--far",
        f"{flow.server} > /dev/null",
        "--near",
        f"sleep 0.5; {flow.client}",
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=options.seconds * 3 + 60)
        mbps = flow.read(json.loads(done.stdout))
    except (subprocess.TimeoutExpired, json.JSONDecodeError, KeyError) as error:
        print(f"{flow.name}, {path}: {error!r}", file=sys.stderr)
        return 0.0
    print(f"{flow.name}, {path}: {mbps:.3f} Mb/s", flush=True)
    return mbps


@dataclass(frozen=True)
class Cost:
    """The costs of one run."""

    mbps: float
    cpu_per_gb: float


def local(options: argparse.Namespace) -> Page:
    """Throughput and CPU time without a limiting network."""
    parts = []
    for place, host in [("Loopback", "127.0.0.1"), ("A veth pair between two namespaces", "10.0.0.2")]:
        compared = local_flows(host, options.seconds)
        runs: dict[str, list[Cost]] = {flow.name: [] for flow in compared}
        for _ in range(options.seeds):
            for flow in compared:
                runs[flow.name].append(cost(flow, place, options))
        rows = [
            [name, mean([run.mbps for run in costs], 0), mean([run.cpu_per_gb for run in costs], 1)]
            for name, costs in runs.items()
        ]
        columns = ["transport", "Mb/s", CPU]
        parts.append(Table(place, columns, rows))
    load = os.getloadavg()[1]
    setting = f"""One flow of {options.seconds:g} s, {options.seeds} runs, 95% Student-t intervals. Both ends are on one machine with {os.cpu_count()} processors, which
had other load too (load average {load:.1f}). CPU time is that of all programs of a run, in user and kernel mode, per
10^9 bytes delivered. TCP is the kernel's ({os.uname().release}) by iperf3; QUIC is quinn with its defaults; TPA and mesh are `multihop perf`, encrypted with a
token unless marked as plain."""
    return "What a byte costs", setting, parts


def local_flows(host: str, seconds: float) -> list[Flow]:
    """Plain and encrypted TPA and mesh, one TCP, QUIC."""
    compared = flows(host, seconds)
    token = new_token()
    sealed = [
        Flow(
            f"{flow.name}, encrypted",
            flow.server.replace("--plain", f"--token {token}"),
            flow.client.replace("--plain", f"--token {token}"),
            flow.read,
        )
        for flow in compared[:3]
    ]
    plain = [Flow(f"{flow.name}, plain", flow.server, flow.client, flow.read) for flow in compared[:3]]
    return [
        *plain,
        *sealed,
        *[flow for flow in compared if flow.name in ("TCP cubic", "QUIC (quinn, cubic)")],
    ]


def new_token() -> str:
    """A token, as made by a receiver without security options."""
    command = [MULTIHOP, "recv", "--listen", "127.0.0.1:0", "--to", tempfile.gettempdir()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as receiver:
        assert receiver.stdout is not None
        token = read_token(receiver.stdout)
        receiver.terminate()
    return token


def read_token(lines: Iterable[str]) -> str:
    """The token in the line that contains it."""
    return next(line.split()[1] for line in lines if line.startswith("token: "))


def cost(flow: Flow, place: str, options: argparse.Namespace) -> Cost:
    """One run on loopback, or in two namespaces."""
    before = processor_seconds()
    limit = options.seconds * 3 + 60
    if place == "Loopback":
        with subprocess.Popen(shlex.split(flow.server), stdout=subprocess.DEVNULL) as server:
            time.sleep(0.5)
            client = shlex.split(flow.client)
            done = subprocess.run(client, capture_output=True, text=True, check=True, timeout=limit)
            server.terminate()
    else:
        ends = ["--far", f"{flow.server} > /dev/null", "--near", f"sleep 0.5; {flow.client}"]
        chain = [IMPAIR, "chain", *ends]
        done = subprocess.run(chain, capture_output=True, text=True, check=True, timeout=limit)
    mbps = flow.read(json.loads(done.stdout))
    gigabytes = mbps * options.seconds / 8e3
    result = Cost(mbps, (processor_seconds() - before) / gigabytes)
    print(f"{place}, {flow.name}: {result.mbps:.0f} Mb/s, {result.cpu_per_gb:.1f} s/GB", flush=True)
    return result


def processor_seconds() -> float:
    """CPU time of all child processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


RELAY_RATE = 10.0
FAULTS = f"--rate {RELAY_RATE:g} --loss 0.2 --duplicate 0.05 --reorder 0.1 --corrupt 0.01"


def relay(options: argparse.Namespace) -> Page:
    """Files through a relay with faults."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "file"
        file.write_bytes(os.urandom(options.megabytes * 1_000_000))
        ways: list[tuple[str, Callable[[Path, int], float]]] = [("sealed, a UDP relay", by_relay)]
        if os.geteuid() == 0:
            ways.append(("plain, a link between namespaces", by_path))
        rows = []
        for name, carry in ways:
            for cwnd_max in (3, 12):
                seconds = carry(file, cwnd_max)
                mbps = options.megabytes * 8 / seconds
                share = f"{mbps / RELAY_RATE:.0%}"
                rows.append([f"{name}, cwnd_max {cwnd_max}", "yes", f"{seconds:.0f}", f"{mbps:.2f}", share])
                print(rows[-1], flush=True)
    columns = ["configuration", INTACT, "seconds", "Mb/s", "of the relay's rate"]
    setting = f"""A file of {options.megabytes} MB of random bytes by `multihop send` and `multihop recv` on one machine. The relay between them has {RELAY_RATE:g} Mb/s.
Of the datagrams in each direction 20% are lost, 5% duplicated, 10% held back for up to 20 ms and thus reordered, and 1% have one bit
flipped (`impair relay` and `path`, seed 1). The hash is SHA-256 of the whole file. A relay between sockets sends damaged
datagrams with a new, correct UDP checksum, unlike real links, and plain TPA relies on that checksum. Plain TPA is therefore
measured over the link between namespaces, which damages packets below UDP."""
    return "A file through a bad relay", setting, [Table("Transfers of the file", columns, rows)]


def by_relay(file: Path, cwnd_max: int) -> float:
    """Transfer a file with encryption between sockets of this host; returns the seconds it took."""
    keys = ["--set", f"cwnd_max={cwnd_max}"]
    with tempfile.TemporaryDirectory() as into:
        receiver = [MULTIHOP, "recv", "--listen", "127.0.0.1:7460", "--to", into, "--once", *keys]
        passing = [IMPAIR, "relay", "--listen", "127.0.0.1:7461", "--to", "127.0.0.1:7460", *FAULTS.split()]
        with (
            subprocess.Popen(receiver, stdout=subprocess.PIPE, text=True) as receiving,
            subprocess.Popen(passing, stderr=subprocess.DEVNULL) as passed,
        ):
            assert receiving.stdout is not None
            token = read_token(receiving.stdout)
            begin = time.monotonic()
            sender = [MULTIHOP, "send", str(file), "127.0.0.1:7461", "--token", token, "--quiet", *keys]
            subprocess.run(sender, check=True)
            seconds = time.monotonic() - begin
            receiving.wait(timeout=60)
            passed.terminate()
        same(file, Path(into) / file.name)
    return seconds


def by_path(file: Path, cwnd_max: int) -> float:
    """Transfer a file without encryption between namespaces; returns the seconds it took."""
    keys = f"--plain --quiet --set cwnd_max={cwnd_max}"
    with tempfile.TemporaryDirectory() as into:
        far = f"{MULTIHOP} recv --listen 10.77.0.2 --to {into} {keys}"
        near = f"sleep 0.5; {MULTIHOP} send {file} 10.77.0.2 {keys}"
        begin = time.monotonic()
        command = [IMPAIR, "path", *FAULTS.split(), "--far", far, "--near", near]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        seconds = time.monotonic() - begin - 0.5
        same(file, Path(into) / file.name)
    return seconds


def same(sent: Path, received: Path) -> None:
    """Compare two files by their hashes."""
    digests = [hashlib.sha256(file.read_bytes()).hexdigest() for file in (sent, received)]
    if digests[0] != digests[1]:
        raise SystemExit(f"{received} differs from {sent}")


def mean(values: Sequence[float], digits: int = 3) -> str:
    """A mean with its 95% interval."""
    if len(values) < 2:
        return f"{values[0]:.{digits}f}"
    half = T95.get(len(values), 2.0) * statistics.stdev(values) / len(values) ** 0.5
    return f"{statistics.mean(values):.{digits}f} ± {half:.{digits}f}"


if __name__ == "__main__":
    sys.exit(main())
