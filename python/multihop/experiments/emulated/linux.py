"""The kernel's TCP beside the simulator's, with the options of Linux today."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

import multihop
from multihop.experiments.declare import Axis, Document, Metric, Plot
from multihop.experiments.emulated.chain import HOPS, MAC, simulated
from multihop.experiments.emulated.part import QUICK, experiment
from multihop.experiments.emulated.programs import AGAIN, GOODPUT, LATE, Program, choice, pairs
from multihop.experiments.measures import frame
from multihop.experiments.study import Study
from multihop.stats import interval

NEAR = 0.1
"""How far goodput and round trips may differ."""
CONTROLS = ("reno", "cubic", "bbr")


def control(name: str) -> Program:
    """iperf3 with a buffer of one size, so that the window does not grow during the flow."""
    return Program("exec iperf3 -s -p {port}", f"exec iperf3 -c $TO -p {{port}} -t $SECONDS -C {name} -J -w 64K")


# Of twice 64 KiB the kernel offers 81,920 bytes as its window (`max_snd_wnd` of iperf3): 56 segments of 1448.
LINUX: dict[str, Any] = {"preset": "linux-6", "window_max": 56}
SIMULATED: Mapping[str, dict[str, Any]] = {
    "reno": {"kind": "newreno+da", **LINUX},
    "cubic": {"kind": "cubic+da", "hystart": True, **LINUX},
    "bbr": {"kind": "bbr", **LINUX},
}


def trip(document: Document) -> float | None:
    """The mean of the kernel's smoothed round trips, as iperf3 samples them."""
    said = document["outputs"][1]
    streams = said.get("end", {}).get("streams", []) if isinstance(said, Mapping) else []
    trips = [one["sender"]["mean_rtt"] / 1e3 for one in streams if one.get("sender", {}).get("mean_rtt")]
    return statistics.fmean(trips) if trips else None


TRIP = Metric("trip", "mean round trip, ms", trip)


DIFFERS = (
    "Over one and two hops the kernel retransmits 1% of its segments at most. Over four and eight hops a flow loses segments by collisions, and how large its "
    "window is, and so its round trips are, depends on when: the round trips of single runs differ by a factor of up to two, and the intervals of three runs "
    "are wider than what is judged. The kernel also has what the simulator's TCP lacks: it undoes reductions of the window after a false recovery, reduces it "
    "segment by segment, and delays ACKs by more than 40 ms where segments arrive seldom."
)


def beside(study: Study) -> None:
    """Run every cell in the simulator as well, and compare."""
    seconds = 30 if study.effort is study.experiment.full else QUICK
    cells = study.accepted()
    found = iter(multihop.run_all([simulated(hops, SIMULATED[name], seconds, seed) for hops, name in cells for seed in study.each_seed()]))
    rows: list[list[Any]] = []
    far: dict[str, dict[str, float]] = {"goodput": {}, "round trips": {}}
    for hops, name in cells:
        results = [next(found) for _ in study.each_seed()]
        ours = interval(result.goodput_kbps for result in results)
        trips = interval(result.data["flows"][0]["rtt_ms"]["mean"] for result in results)
        real, real_trips = study.mean("goodput", (hops, name)), study.mean("trip", (hops, name))
        assert real is not None
        assert real_trips is not None
        errors = real.mean / ours.mean - 1, real_trips.mean / trips.mean - 1
        for what, error in zip(far, errors, strict=True):
            far[what][f"{name}, {hops} hops"] = error
        rows.append([hops, name, real, ours, f"{errors[0]:+.1%}", real_trips, trips, f"{errors[1]:+.1%}"])
    columns = [
        "hops",
        "control",
        "kernel, kb/s",
        "simulated, kb/s",
        "difference",
        "kernel, ms",
        "simulated, ms",
        "difference of round trips",
    ]
    study.table(frame(columns, rows), "Goodput and round trips in the kernel, and in the simulator")
    study.text(DIFFERS)
    for what, errors_of in far.items():
        for name in CONTROLS:
            of = {cell: error for cell, error in errors_of.items() if cell.startswith(name)}
            if of:
                cell, error = max(of.items(), key=lambda one: abs(one[1]))
                study.verdict(
                    f"{name}: {what} of kernel and simulator agree within {NEAR:.0%}", abs(error) <= NEAR, f"most in {cell}: {error:+.1%}"
                )


CHAIN = experiment(
    "linux-chain",
    "the kernel's TCP and the simulator's, with the options of Linux today",
    "One flow of iperf3 over 1 to 8 hops of 2 Mb/s with Reno, CUBIC and BBR of the kernel, and the same networks in the simulator with "
    "newreno, cubic with HyStart++, and bbr, all with the preset linux-6 and delayed ACKs. Windows of 56 segments at most.",
    flows=1,
    runs=3,
    scenario={"mac": MAC, "topology": {"kind": "chain", "hops": 8}, "program": pairs((8, 0))},
    axes=[
        Axis("hops", {n: {"topology.hops": n, "program.1.node": n} for n in HOPS}, "hops"),
        choice({name: control(name) for name in CONTROLS}),
    ],
    metrics=(GOODPUT, TRIP, AGAIN, LATE),
    spread="hops",
    plots=(Plot("bar", "goodput", x="transport", panel="hops", apart=True, caption="Goodput over chains, 95% intervals."),),
    more=beside,
)

EXPERIMENTS = (CHAIN,)
