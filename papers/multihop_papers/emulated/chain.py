"""Every transport over chains, beside the simulator; round trips beside arithmetic."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

import multihop
from multihop.stats import interval
from multihop_papers import airtime
from multihop_papers.declare import Axis, Metric, Plot
from multihop_papers.emulated.part import QUICK, experiment
from multihop_papers.emulated.programs import AGAIN, GOODPUT, LATE, TRANSPORTS, UDP, choice, pairs
from multihop_papers.measures import frame
from multihop_papers.study import Study

HOPS = (1, 2, 4, 8)
SHORTER = 20
"""Seconds of the runs that are compared with the simulator: there are more of them."""
MAC = {"arp": "queueing"}
# The best rates: the simulator delivers no more at any other, and with eight hops less if more is offered.
UDP_KBPS = {1: 1530.0, 2: 760.0, 4: 365.0, 8: 300.0}
LENGTH = Axis(
    "hops",
    {n: {"topology.hops": n, "program.1.node": n, "program.1.environment.2": f"RATE={UDP_KBPS[n]:g}"} for n in HOPS},
    "hops",
)
# The last node sends to the first, whose address does not change.
CHAIN: dict[str, Any] = {"mac": MAC, "topology": {"kind": "chain", "hops": 8}, "program": pairs((8, 0))}

HEAD_TO_HEAD = experiment(
    "chain",
    "every transport over chains",
    "One flow over 1 to 8 hops of 2 Mb/s. Its transports are three TCPs of the kernel (iperf3), QUIC (quinn with CUBIC), TPA for real networks with windows of 3 "
    "and 12, and mesh, encrypted and plain (multihop perf). A file is timed, too (multihop send, from the start of the command to its end).",
    flows=1,
    runs=3,
    scenario=CHAIN,
    axes=[LENGTH, choice(TRANSPORTS)],
    metrics=(GOODPUT, AGAIN, LATE),
    spread="hops",
    plots=(Plot("bar", "goodput", x="transport", panel="hops", apart=True, caption="Goodput over chains, 95% intervals."),),
)

# What the simulator runs for each program: the kernel's TCP has SACK, timestamps, delayed ACKs, buffers that grow, and
# begins with ten segments (RFC 6928).
LINUX = {"preset": "linux", "window_max": 200, "initial_window": 10}
NET = {"profile": "net"}
SIMULATED: Mapping[str, Any] = {
    "reno": {"kind": "newreno+da", **LINUX},
    "cubic": {"kind": "cubic+da", **LINUX},
    "TPA 3, plain": {"kind": "tpa*-3", **NET},
    "TPA 12, plain": {"kind": "tpa*-3", "cwnd_max": 12, **NET},
    # On real networks 18 bytes of a packet more are headers.
    "mesh, plain": {"kind": "mesh", "mss": 1442},
}
SAME = {name: TRANSPORTS[name] for name in SIMULATED}


def beside(study: Study) -> None:
    """Run every cell in the simulator as well, and compare."""
    seconds = SHORTER if study.effort is study.experiment.full else QUICK
    cells = study.accepted()
    runs = [_simulated(hops, name, seconds, seed) for hops, name in cells for seed in study.each_seed()]
    found = iter(multihop.run_all(runs))
    rows, worst = [], {}
    for hops, name in cells:
        results = [next(found) for _ in study.each_seed()]
        ours = interval(result.goodput_kbps for result in results)
        again = interval(100 * result.data["flows"][0]["retransmission_index"] for result in results)
        real = study.mean("goodput", (hops, name))
        assert real is not None
        worst[f"{name}, {hops} hops"] = difference = real.mean / ours.mean - 1
        rows.append([hops, name, real, ours, f"{difference:+.1%}", study.mean("again", (hops, name)), again])
    columns = [
        "hops",
        "transport",
        "emulated, kb/s",
        "simulated, kb/s",
        "difference",
        "emulated, retransmitted, %",
        "simulated, retransmitted, %",
    ]
    study.table(frame(columns, rows), "The same network with real programs, and in the simulator")
    study.text(TCP_DIFFERS)
    for what, of in (
        ("UDP", ["UDP"]),
        ("TPA", [name for name in SAME if name.startswith("TPA")]),
        ("mesh", ["mesh, plain"]),
        ("Reno", ["reno"]),
        ("CUBIC", ["cubic"]),
    ):
        errors = {cell: value for cell, value in worst.items() if cell.rsplit(", ", 1)[0] in of}
        if errors:
            cell, value = max(errors.items(), key=lambda one: abs(one[1]))
            study.verdict(f"{what}: emulated and simulated goodput agree within 3%", abs(value) <= 0.03, f"most in {cell}: {value:+.1%}")


TCP_DIFFERS = (
    "TCP is not the same code in both. The simulator has NewReno and CUBIC with SACK, timestamps and delayed ACKs of 40 ms, as the preset linux "
    "says. The kernel acknowledges every segment at first, finds losses by time (RACK), and sends a probe before its timeout (TLP). It also ends slow start "
    "of CUBIC by the growth of round trips (HyStart), as RFC 9438 recommends. The simulator's CUBIC has no such rule. The series of its window shows "
    "what follows over one and two hops. Slow start goes far beyond the 50 places of the queue. Seven tenths of that do not fit either, "
    "retransmissions are lost in their turn, and a timeout begins it all again. NewReno halves its window, which fits. With a largest window below "
    "the queue's places (window_max = 44) nothing is lost, and both deliver the same. Reno over two hops: the kernel's slow start, with an ACK for "
    "every segment, goes further beyond the queue than the simulator's and loses more segments. While it repairs them, for seconds, each "
    "segment has an ACK of its own, which takes a quarter of a segment's air (packets.txt of both). `mesh` takes what a busy machine adds to a "
    "one-way delay for a queue."
)


def _simulated(hops: int, name: str, seconds: int, seed: int) -> dict[str, Any]:
    if name != "UDP":
        return simulated(hops, SIMULATED[name], seconds, seed)
    return _network(hops, {"app": "cbr", "rate_kbps": UDP_KBPS[hops], "size": 1460}, seconds, seed)


def simulated(hops: int, transport: Mapping[str, Any], seconds: int, seed: int) -> dict[str, Any]:
    """The run of a transport over a chain, as programs measure it."""
    return _network(hops, {"transport": transport}, seconds, seed)


def _network(hops: int, traffic: Mapping[str, Any], seconds: int, seed: int) -> dict[str, Any]:
    flow = {"from": hops, "to": 0, "start": 0.0, **traffic}
    network = {"mac": MAC, "topology": {"kind": "chain", "hops": hops}, "flow": [flow]}
    # Programs measure from the first byte that arrives.
    return {"source": {"name": "beside", **network}, "duration": seconds + 1.0, "warmup": 1.0, "seed": seed}


SAME_WORLD = experiment(
    "same",
    "the simulator and the emulation",
    "The same chains with real programs, and with the simulator's own transports: a constant rate of UDP, TCP, TPA for real networks and mesh, plain. "
    "TPA and mesh are the same code in both; TCP is the kernel's in one, and this simulator's in the other.",
    flows=1,
    runs=5,
    seconds=SHORTER,
    scenario=CHAIN,
    axes=[LENGTH, choice({"UDP": UDP, **SAME})],
    metrics=(GOODPUT, AGAIN, LATE),
    more=beside,
)

PINGS = 60
TRIP = Metric("trip", "median round trip, ms", lambda document: _median(str(document["outputs"][0])))


def _median(lines: str) -> float | None:
    trips = [float(line.split("time=")[1].split()[0]) for line in lines.splitlines() if "time=" in line]
    return statistics.median(trips) if trips else None


def arithmetic(size: int) -> float:
    """The round trip of one packet over one idle hop, ms.

    Both packets wait for a backoff; in the flavour of ns-2 even when the medium is idle. The answer comes while the request is
    acknowledged, so that the time of the program that answers does not count.
    """
    radio, link = airtime.Radio(), 25.0
    way = airtime.DIFS + radio.control(airtime.RTS_BYTES) + radio.control(airtime.CTS_BYTES) + 2 * airtime.SIFS + radio.data(size + 28)
    ack = airtime.SIFS + radio.control(airtime.ACK_BYTES)
    return (link + 2 * (way + airtime.MEAN_BACKOFF["ns2"]) + ack + link) / 1e3


SIZES = (100, 1000)
PING = experiment(
    "ping",
    "round trips beside arithmetic",
    f"{PINGS} echo requests over one hop at 2 Mb/s, one every 0.1 s. Shown are the times that ping prints, beside the sum of the parts of two exchanges "
    "with RTS/CTS and their mean backoffs.",
    flows=0,
    runs=5,
    seconds=6,
    scenario={"mac": MAC, "topology": {"kind": "chain", "hops": 1}, "program": [{"node": 0, "command": "true", "start": 0.5}]},
    axes=[Axis("bytes", {size: {"program.0.command": f"exec ping -n -c {PINGS} -i 0.1 -s {size} $ADDRESS_1"} for size in SIZES})],
    metrics=(TRIP, LATE),
    reference="arithmetic",
    published={"trip": {(size,): arithmetic(size) for size in SIZES}},
    more=lambda study: trips(study),
)


def trips(study: Study) -> None:
    """Judge the medians of round trips."""
    errors = {cell[0]: found.mean - arithmetic(cell[0]) for cell in study.accepted() if (found := study.mean("trip", cell))}
    text = ", ".join(f"{error:+.2f} ms with {size} bytes" for size, error in errors.items())
    study.verdict("median round trips within 0.2 ms of the arithmetic", all(abs(error) <= 0.2 for error in errors.values()), text)


EXPERIMENTS = (HEAD_TO_HEAD, SAME_WORLD, PING)
