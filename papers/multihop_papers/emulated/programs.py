"""The programs that are compared, and how what they print is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from multihop_papers.declare import Axis, Document, Metric, Settings

TOKEN = "tz0w2-7hbxa-7dv1q-2zxtc-8a8ts"
"""A token made by `multihop recv`; nothing here is secret."""
START = 1.5
"""When clients start, s: their servers listen by then."""
DRAIN = 9.0
"""How long the 128 KiB in a send buffer may take at the end over eight hops, s; with two flows twice as long."""


@dataclass(frozen=True)
class Program:
    """A server, and a client that sends to `$TO` for `$SECONDS`; `{port}` is replaced."""

    server: str
    client: str


def tcp(control: str) -> Program:
    """Client and server of the kernel's TCP with this congestion control."""
    return Program("exec iperf3 -s -p {port}", f"exec iperf3 -c $TO -p {{port}} -t $SECONDS -C {control} -J")


def perf(both: str, client: str = "") -> Program:
    """`multihop perf` with options of both ends, and of the client."""
    return Program(
        f"exec $MULTIHOP perf --listen 0.0.0.0:{{port}} {both}",
        f"exec $MULTIHOP perf $TO:{{port}} --time $SECONDS --json {both} {client}".rstrip(),
    )


SEALED = f"--token {TOKEN}"


def tpa(window: int, security: str = SEALED) -> Program:
    """TPA on real sockets in its profile for them; the listener has defaults."""
    return perf(security, f"--set cwnd_max={window}")


PLAIN = "--plain"
# A file that takes about the time of the others: 1.3 Mb/s, divided by the hops. The time is that of the whole command.
# All programs share a folder, and a file that is there already is not sent.
SEND = Program(
    f"exec $MULTIHOP recv --listen 0.0.0.0:{{port}} --to received-{{port}} --once --token {TOKEN} --quiet",
    "hops=$(($(env | grep -c ^ADDRESS_) - 1)); bytes=$((SECONDS * 162500 / hops)); head -c $bytes /dev/urandom > file{port}; "
    f"begin=$(date +%s%N); $MULTIHOP send file{{port}} $TO:{{port}} --token {TOKEN} --quiet && "
    'echo "{{\\"kbps\\": $((bytes * 8000000 / ($(date +%s%N) - begin)))}}"',
)
TRANSPORTS: Mapping[str, Program] = {
    "reno": tcp("reno"),
    "cubic": tcp("cubic"),
    "bbr": tcp("bbr"),
    "quinn": Program("exec $QUIC server 0.0.0.0:{port}", "exec $QUIC client $TO:{port} --seconds $SECONDS --send-window 65536"),
    "TPA 3, plain": tpa(3, PLAIN),
    "TPA 12, plain": tpa(12, PLAIN),
    "TPA 3": tpa(3),
    "TPA 12": tpa(12),
    "mesh, plain": perf(f"{PLAIN} --transport mesh"),
    "mesh": perf(f"{SEALED} --transport mesh"),
    "multihop send": SEND,
}
FEW = ("reno", "cubic", "bbr", "TPA 3", "TPA 12", "mesh")


# Datagrams of 1460 bytes at a constant rate.
UDP = Program("exec iperf3 -s -p {port}", "exec iperf3 -c $TO -p {port} -u -b ${{RATE}}k -l 1460 -t $SECONDS -J --get-server-output")


def flow(number: int, program: Program) -> dict[str, Any]:
    """Makes the pair of programs with this number run it."""
    port = 5201 + number
    commands = (program.server, program.client)
    return {f"program.{2 * number + end}.command": command.format(port=port) for end, command in enumerate(commands)}


def choice(names: Mapping[str, Program], flows: int = 1) -> Axis:
    """The axis of transports: all flows use the same."""
    values: dict[str, Settings] = {}
    for name, program in names.items():
        values[name] = {key: value for number in range(flows) for key, value in flow(number, program).items()}
    return Axis("transport", values)


def pairs(*ends: tuple[int, int]) -> list[dict[str, Any]]:
    """The programs of flows from one node to another."""
    listed: list[dict[str, Any]] = []
    for source, destination in ends:
        environment = [f"TO=10.0.0.{destination + 1}", "SECONDS=0", "RATE=0"]
        listed.append({"node": destination, "command": "true"})
        listed.append({"node": source, "command": "true", "environment": environment})
    return listed


def length(seconds: int, flows: int = 1, start: float = START) -> dict[str, Any]:
    """When the clients start, how long they send, and the emulation with them."""
    settings: dict[str, Any] = {"duration": start + seconds + DRAIN * max(flows, 1)}
    for number in range(flows):
        client = f"program.{2 * number + 1}"
        settings |= {f"{client}.start": start, f"{client}.environment.1": f"SECONDS={seconds}"}
    return settings


def goodput(document: Document, number: int) -> float | None:
    """Goodput of a flow at its receiver, kb/s of virtual time: programs measure by the wall clock."""
    listener, said = document["outputs"][2 * number : 2 * number + 2]
    if isinstance(said, Mapping):
        found = next((read(said) for key, read in RATES.items() if key in said), None)
    else:
        found = _received(str(listener))
    return None if found is None else found / (1 - document["emulation"]["lost_share"])


def _received(listener: str) -> float | None:
    """Goodput that `multihop perf --listen` reports of a client that had to be ended: its last bytes took too long."""
    found = re.search(r"(\d+) bytes in ([\d.]+) s", listener)
    return None if found is None else 8e-3 * int(found[1]) / float(found[2])


def _iperf(said: Mapping[str, Any]) -> float | None:
    server = said.get("server_output_json", said).get("end", {})
    received = server.get("sum_received") or server.get("sum") or {}
    return received["bits_per_second"] / 1e3 if "bits_per_second" in received else None


RATES: Mapping[str, Callable[[Mapping[str, Any]], float | None]] = {
    "end": _iperf,
    "forward": lambda said: float(said["forward"]["goodput_kbps"]),
    "mbps": lambda said: 1e3 * float(said["mbps"]),
    "kbps": lambda said: float(said["kbps"]),
}


def flows_of(document: Document) -> list[float]:
    """The goodput of each flow; one whose client failed delivered nothing."""
    return [goodput(document, number) or 0.0 for number in range(len(document["outputs"]) // 2)]


def jain(document: Document) -> float | None:
    """How fairly the flows share."""
    flows = flows_of(document)
    squares = len(flows) * sum(x * x for x in flows)
    return 100 * sum(flows) ** 2 / squares if squares else None


def again(document: Document) -> float | None:
    """Segments that were sent again for each hundred delivered, of all flows that say it."""
    shares = [share for said in document["outputs"][1::2] if (share := _again(said)) is not None]
    return sum(shares) / len(shares) if shares else None


def _again(said: Any) -> float | None:
    if not isinstance(said, Mapping):
        return None
    if "forward" in said:
        sent, delivered = said["forward"]["sender"]["retransmitted"], said["forward"]["receiver"]["delivered"]
    else:
        # iperf3 has bytes; a segment of the kernel has 1448 of them.
        end = said.get("end", {})
        sent = end.get("sum_sent", {}).get("retransmits")
        delivered = end.get("sum_received", {}).get("bytes", 0) / 1448
    return 100 * sent / delivered if sent is not None and delivered else None


GOODPUT = Metric("goodput", "aggregate goodput, kb/s", lambda document: sum(flows_of(document)))
FAIRNESS = Metric("fairness", "Jain's index, %", jain)
AGAIN = Metric("again", "retransmitted, %", again)
LATE = Metric("late", "late in 99% of the events, ms", "emulation.wakeups_late_ms.p99")
