"""The project's congestion controls in the kernel, beside the kernel's own and beside the simulator."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

import multihop
from multihop.stats import interval
from multihop_papers.declare import Axis, Document, Metric, Plot
from multihop_papers.emulated.chain import LINUX, simulated
from multihop_papers.emulated.part import QUICK, experiment
from multihop_papers.emulated.programs import AGAIN, FAIRNESS, GOODPUT, LATE, TRANSPORTS, Program, choice, pairs
from multihop_papers.measures import frame
from multihop_papers.study import Study

HOPS = (1, 2, 4, 8)
MAC = {"arp": "queueing"}
AT_ONCE = "mh_ap, ACKs at once"
"""A receiver that acknowledges each segment, by an option of its route."""


def control(name: str, receiver: str = "") -> Program:
    """iperf3 with a control, and what its server receives in every 2 s."""
    return Program(
        f"{receiver}exec iperf3 -s -p {{port}} -J -i 2",
        f"exec iperf3 -c $TO -p {{port}} -t $SECONDS -C {name} -J -i 2 --get-server-output",
    )


CONTROLS: Mapping[str, Program] = {
    **{name: control(name) for name in ("reno", "cubic", "bbr", "mh_ap", "mh_clamp", "mh_mesh", "mh_adtcp")},
    AT_ONCE: control("mh_ap", "ip route replace 10.0.0.0/24 dev radio0 quickack 1; "),
    "mesh, plain": TRANSPORTS["mesh, plain"],
}
# What a sender alone can know: round trips without the time for which the receiver delays ACKs.
PACED = {**LINUX, "rules": "paper", "ap_rtt": "net", "mss": 1448, "initial_window": 2}
SIMULATED: Mapping[str, dict[str, Any]] = {
    "mh_ap": {"kind": "tcp-ap+da", **PACED},
    AT_ONCE: {"kind": "tcp-ap", **PACED},
    "mh_clamp": {"kind": "newreno+da", **LINUX, "mss": 1448, "window_max": 2, "initial_window": 2},
    "mh_mesh": {"kind": "mesh", "mss": 1448, "ack_every": 2},
    "mh_adtcp": {"kind": "adtcp+da", **LINUX, "mss": 1448, "timestamps": 1e-3},
}
NEAR = 0.1


def short_fairness(document: Document) -> float | None:
    """The mean of Jain's index over intervals of 2 s, in which both flows run."""
    flows = [_intervals(said) for said in document["outputs"][1::2]]
    indices = [sum(rates) ** 2 / (len(rates) * sum(x * x for x in rates)) for rates in zip(*flows, strict=False) if any(rates)]
    return 100 * statistics.fmean(indices) if indices else None


def _intervals(said: Any) -> list[float]:
    server = said.get("server_output_json", {}) if isinstance(said, Mapping) else {}
    return [float(one["sum"]["bits_per_second"]) for one in server.get("intervals", [])]


def beside(study: Study) -> None:
    """Run the cells of our controls in the simulator as well, and compare."""
    seconds = 30 if study.effort is study.experiment.full else QUICK
    cells = [(hops, name) for hops, name in study.accepted() if name in SIMULATED]
    runs = [simulated(hops, SIMULATED[name], seconds, seed) for hops, name in cells for seed in study.each_seed()]
    found = iter(multihop.run_all(runs))
    rows, far = [], {}
    for hops, name in cells:
        ours = interval(next(found).goodput_kbps for _ in study.each_seed())
        real = study.mean("goodput", (hops, name))
        assert real is not None
        difference = real.mean / ours.mean - 1
        rows.append([hops, name, real, ours, f"{difference:+.1%}"])
        far[f"{name}, {hops} hops"] = difference
    study.table(
        frame(["hops", "control", "in the kernel, kb/s", "simulated, kb/s", "difference"], rows), "In the kernel, and in the simulator"
    )
    study.text(
        "The simulator's sender knows for how long the receiver has delayed an ACK; mh_ap sends two segments so that their ACK is not delayed. "
        "Both count round trips without the delay of an ACK. What differs is the variation: mh_ap keeps its gaps, and the delay of four hops is the same. "
        "While the emulation stands still, for some milliseconds at a time, the clock of the kernel goes on. Round trips are that much longer then, "
        "segments that leave meanwhile meet in the first queue, and both remain in the variation for 50 samples. "
        "The simulated mesh beside mh_mesh has one ACK for two segments, as the kernel's receiver."
    )
    if far:
        cell, value = max(far.items(), key=lambda one: abs(one[1]))
        study.verdict(
            f"our controls and their models deliver the same within {NEAR:.0%}", abs(value) <= NEAR, f"most in {cell}: {value:+.1%}"
        )


CHAIN = experiment(
    "kernel-chain",
    "congestion controls in the kernel over chains",
    "One flow of iperf3 over 1 to 8 hops of 2 Mb/s, with three controls of the kernel and those of multihop tcp, which must be loaded.",
    flows=1,
    runs=3,
    scenario={"mac": MAC, "topology": {"kind": "chain", "hops": 8}, "program": pairs((8, 0))},
    axes=[Axis("hops", {n: {"topology.hops": n, "program.1.node": n} for n in HOPS}, "hops"), choice(CONTROLS)],
    metrics=(GOODPUT, AGAIN, LATE),
    spread="hops",
    plots=(Plot("bar", "goodput", x="transport", panel="hops", apart=True, caption="Goodput over chains, 95% intervals."),),
    more=beside,
)

SHORT_FAIRNESS = Metric("short", "Jain's index over 2 s, %", short_fairness)
CROSS = experiment(
    "kernel-cross",
    "congestion controls in the kernel, two flows that cross",
    "Two chains of four hops share their middle station; both flows use the same control.",
    flows=2,
    runs=5,
    scenario={"mac": MAC, "topology": {"kind": "cross"}, "program": pairs((4, 0), (8, 5))},
    axes=[choice(CONTROLS, 2)],
    metrics=(GOODPUT, FAIRNESS, SHORT_FAIRNESS, AGAIN, LATE),
    plots=(Plot("bar", "goodput", x="transport", caption="Aggregate goodput of two flows that cross, 95% intervals."),),
)

EXPERIMENTS = (CHAIN, CROSS)
