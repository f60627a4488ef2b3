"""The kernel's TCP beside the simulator's, with the options of Linux today."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

import multihop
from multihop.results import Result
from multihop.stats import Interval, independent, interval
from multihop_papers.declare import Axis, Document, Metric, Plot
from multihop_papers.emulated.chain import HOPS, MAC
from multihop_papers.emulated.part import QUICK, experiment
from multihop_papers.emulated.programs import AGAIN, GOODPUT, LATE, Program, choice, pairs
from multihop_papers.measures import frame
from multihop_papers.study import Study
from multihop_papers.verdicts import HELD, NOT_DECIDED, NOT_HELD

NEAR = 0.1
"""How far goodput and round trips may differ."""
CONTROLS = ("reno", "cubic", "bbr")
SECONDS = 60
"""Duration of each run, s. How slow start ends differs from run to run, and lasts for up to 10 s:
longer runs vary less.
"""
SEEDS = 40
"""Runs of each cell in the simulator, where they cost little."""


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
LONG = (4, 8)
"""The hops over which flows lose segments by collisions."""
WITHOUT: Mapping[str, dict[str, Any]] = {
    "nothing": {},
    "prr": {"prr": False},
    "undo": {"undo": False},
    "byte_counting": {"byte_counting": False},
    "rto_margin": {"rto_margin": 0.0},
    "all_rtt": {"all_rtt": False},
    "ack_delay_max": {"ack_delay_max": "off"},
}
"""The preset without one of its options."""


def simulated(hops: int, transport: Mapping[str, Any], seconds: int, seed: int) -> dict[str, Any]:
    """The run of a transport over a chain, as iperf3 measures it: from its start, after a short connection."""
    ends = {"from": hops, "to": 0}
    # iperf3's connection for control has resolved all addresses.
    flows = [
        {**ends, "start": 0.0, "app": "file", "bytes": 100, "transport": "newreno"},
        {**ends, "start": 1.0, "transport": transport},
    ]
    network = {"mac": MAC, "topology": {"kind": "chain", "hops": hops}, "flow": flows, "record": {"what": ["rtt"], "every": 0.0}}
    return {"source": {"name": "beside", **network}, "duration": seconds + 1.0, "warmup": 1.0, "seed": seed}


def trip(document: Document) -> float | None:
    """The mean of the kernel's smoothed round trips, as iperf3 samples them: one in each second."""
    said = document["outputs"][1]
    streams = said.get("end", {}).get("streams", []) if isinstance(said, Mapping) else []
    trips = [one["sender"]["mean_rtt"] / 1e3 for one in streams if one.get("sender", {}).get("mean_rtt")]
    return statistics.fmean(trips) if trips else None


def smoothed(samples: Sequence[tuple[float, float]], start: float, seconds: int) -> float:
    """Smoothed round trip of the simulator's samples (time, round trip): weight one eighth, read in each second."""
    left = iter(samples)
    now, value = next(left)
    found, mean = [], value
    for second in range(1, seconds + 1):
        while now <= start + second:
            mean += (value - mean) / 8
            now, value = next(left, (math.inf, 0.0))
        found.append(mean)
    return statistics.fmean(found)


def simulated_trip(result: Result, seconds: int) -> float:
    """The mean round trip of a simulated run, as of a kernel's."""
    of = (pl.col("series") == "rtt_ms") & (pl.col("id") == 1)
    return smoothed(result.series.filter(of).sort("time", maintain_order=True).select("time", "value").rows(), 1.0, seconds)


TRIP = Metric("trip", "mean round trip, ms", trip)


def relative(kernel: Sequence[float], ours: Sequence[float]) -> Interval:
    """How much the kernel's mean exceeds the simulator's, as a share of the latter, with Welch's interval."""
    found, mean = independent(kernel, ours), statistics.fmean(ours)
    return Interval(found.mean / mean, found.half / mean, found.n, found.level)


def near(found: Interval) -> str:
    """Whether an interval of differences lies within the limits, outside, or neither."""
    if max(abs(found.low), abs(found.high)) <= NEAR:
        return HELD
    return NOT_HELD if found.low > NEAR or found.high < -NEAR else NOT_DECIDED


def percent(found: Interval) -> str:
    """A relative difference with its interval."""
    half = f" ± {100 * found.half:.1f}" if math.isfinite(found.half) else ""
    return f"{100 * found.mean:+.1f}{half}"


def judge(study: Study, name: str, what: str, cells: Mapping[int, Interval]) -> None:
    """The verdict on a control: the worst of its cells decides."""
    verdicts = {hops: near(found) for hops, found in cells.items()}
    worst = next(word for word in (NOT_HELD, NOT_DECIDED, HELD) if word in verdicts.values())
    named = [hops for hops, word in verdicts.items() if word != HELD] or [max(cells, key=lambda hops: abs(cells[hops].mean))]
    why = ", ".join(f"{hops} hops: {percent(cells[hops])}%, {verdicts[hops]}" for hops in named)
    study.verdict(f"{name}: {what} of kernel and simulator agree within {NEAR:.0%}", {HELD: True, NOT_HELD: False}.get(worst), why)


DIFFERS = (
    "Both sides read the smoothed round trip once in each second, and both flows begin with resolved addresses and an empty network. Over one and two hops "
    "the queue of the first station decides. Over four and eight hops a flow loses segments by collisions, and how large its window is depends on when. "
    "The options whose tables show it: the handshake is BBR's first shortest round trip. Without it (all_rtt) the model of the path begins with a full "
    "queue, which BBR keeps for seconds. A window that counts bytes (byte_counting) grows twice as fast under delayed ACKs. The receiver acknowledges each "
    "segment for a while after a duplicate, and after a pause that is longer than its timeout, as repairs over eight hops make one (ack_delay_max). These "
    "ACKs take the air of data. A timeout that exceeds the round trip by 200 ms (rto_margin) keeps BBR's timer from expiring over four hops. PRR and undo "
    "are worth nothing that these intervals show. Undoing is seldom but at the start. Ten segments cross eight hops more slowly than the handshake, and the timer "
    "expires although nothing was lost. The report of the duplicate restores the window, in the kernel (TCPLossUndo of nstat) as in the simulator. "
    "What is known to differ: iperf3 writes whenever the kernel has room, so that segments in the middle of a flow are pushed. Over eight hops these are a third of "
    "Reno's (tshark on a capture of `multihop emulate --pcap`). The receiver acknowledges them at once. A simulated source that never ends pushes none. "
    "Under BBR the kernel sends in pairs above 1.2 Mb/s, and after a pause its next gap is up to a half shorter (tcp_update_skb_after_send). The simulator's "
    "segments leave one by one, at full gaps. More waits in the queue, and the shortest round trip, which BBR measures with four segments in flight every ten "
    "seconds, is longer. That is about half of BBR's difference over one hop; the cause of the other half is not known. CUBIC's start is HyStart++ in the "
    "simulator, and HyStart in the kernel."
)


def beside(study: Study) -> None:
    """Run every cell in the simulator as well, and compare."""
    is_full = study.effort is study.experiment.full
    seconds, seeds = (SECONDS, range(1, SEEDS + 1)) if is_full else (QUICK, study.each_seed())
    cells = study.accepted()
    found = iter(multihop.run_all([simulated(hops, SIMULATED[name], seconds, seed) for hops, name in cells for seed in seeds]))
    rows: list[list[Any]] = []
    far: dict[str, dict[str, dict[int, Interval]]] = {what: {name: {} for name in CONTROLS} for what in ("goodput", "round trips")}
    for hops, name in cells:
        results = [next(found) for _ in seeds]
        flows = [result.data["flows"][1] for result in results]
        ours = {
            "goodput": [flow["goodput_kbps"] for flow in flows],
            "round trips": [simulated_trip(result, seconds) for result in results],
        }
        kernel = {
            what: list(study.samples(metric, (hops, name)).values()) for what, metric in (("goodput", "goodput"), ("round trips", "trip"))
        }
        row: list[Any] = [hops, name]
        for what, values in ours.items():
            difference = relative(kernel[what], values)
            far[what][name][hops] = difference
            row += [interval(kernel[what]), interval(values), percent(difference)]
        again = interval(100 * flow["segments_retransmitted"] / flow["segments_delivered"] for flow in flows)
        rows.append([*row, study.mean("again", (hops, name)), again])
    columns = [
        "hops",
        "control",
        "kernel, kb/s",
        "simulated, kb/s",
        "difference, %",
        "kernel, ms",
        "simulated, ms",
        "difference of round trips, %",
        "kernel, retransmitted, %",
        "simulated, retransmitted, %",
    ]
    caption = f"Goodput, round trips and retransmissions in the kernel, and of {len(seeds)} runs in the simulator. Differences with Welch's interval"
    study.table(frame(columns, rows), caption)
    if is_full:
        pieces(study)
    study.text(DIFFERS)
    for what, of in far.items():
        for name, differences in of.items():
            if differences:
                judge(study, name, what, differences)


def pieces(study: Study) -> None:
    """Effect of each option of the preset, in the simulator."""
    seeds = range(1, SEEDS // 2 + 1)
    cells = [(name, hops) for name in CONTROLS for hops in LONG]
    runs = [simulated(hops, SIMULATED[name] | off, SECONDS, seed) for off in WITHOUT.values() for name, hops in cells for seed in seeds]
    found = iter(multihop.run_all(runs))
    goodput, trips = [], []
    for option in WITHOUT:
        results = [[next(found) for _ in seeds] for _ in cells]
        goodput.append([option, *(interval(one.data["flows"][1]["goodput_kbps"] for one in cell) for cell in results)])
        trips.append([option, *(interval(simulated_trip(one, SECONDS) for one in cell) for cell in results)])
    columns = ["without", *(f"{name}, {hops} hops" for name, hops in cells)]
    for what, rows in (("goodput, kb/s", goodput), ("round trip, ms", trips)):
        study.table(frame(columns, rows), f"What each option of linux-6 is worth in the simulator: {what}, {len(seeds)} runs")


CHAIN = experiment(
    "linux-chain",
    "the kernel's TCP and the simulator's, with the options of Linux today",
    "One flow of iperf3 over 1 to 8 hops of 2 Mb/s with Reno, CUBIC and BBR of the kernel. The same networks run in the simulator with "
    "newreno, cubic with HyStart++, and bbr, all with the preset linux-6 and delayed ACKs. Windows of 56 segments at most.",
    flows=1,
    runs=12,
    seconds=SECONDS,
    scenario={"mac": MAC, "topology": {"kind": "chain", "hops": 8}, "program": pairs((8, 0))},
    axes=[
        Axis("hops", {n: {"topology.hops": n, "program.1.node": n} for n in HOPS}, "hops"),
        choice({name: control(name) for name in CONTROLS}),
    ],
    metrics=(GOODPUT, TRIP, AGAIN, LATE),
    spread="hops",
    sheet="linux",
    plots=(Plot("bar", "goodput", x="transport", panel="hops", apart=True, caption="Goodput over chains, 95% intervals."),),
    more=beside,
)

EXPERIMENTS = (CHAIN,)
