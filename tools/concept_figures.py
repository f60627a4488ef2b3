#!/usr/bin/env python3
"""Draw the figures of docs/concepts, each from simulated runs.

    .venv/bin/python tools/concept_figures.py [NAME...]

Without names it draws all of them. Each page quotes the command that shows the run of its figure.
"""

from __future__ import annotations

import shlex
import struct
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

import multihop
from multihop import figure_files, report, theme
from multihop.scenario import Request
from multihop.stats import Interval, interval

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "concepts"
WIDTH = 5.0
"""Width of a figure, inches: its text is readable on a telephone."""
LOST = theme.PAGE["lost"][0]


@dataclass(frozen=True)
class Scene:
    """A scenario of the project and the keys that a figure changes."""

    scenario: str
    changes: tuple[str, ...] = ()
    seed: int = 1

    @property
    def command(self) -> str:
        """The command that shows the run in a browser."""
        settings = [part for change in self.changes for part in ("--set", change)]
        seed = [] if self.seed == 1 else ["--seed", str(self.seed)]
        return shlex.join(["multihop", "view", f"scenarios/{self.scenario}.toml", *seed, *settings])

    def run(self, **settings: Any) -> multihop.Result:
        """Simulate it; keywords are those of `multihop.run`."""
        path = ROOT / "scenarios" / f"{self.scenario}.toml"
        changes = [(key, value) for key, _, value in (change.partition("=") for change in self.changes)]
        asked = Request(path.read_text("utf-8"), "toml", self.scenario, changes)
        return multihop.run(asked, seed=self.seed, **settings)

    def trace(self) -> pl.DataFrame:
        """The packet events of the run."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "packets.txt"
            self.run(trace=path)
            return multihop.read_trace(path)

    def frames(self, start: float, stop: float) -> list[Frame]:
        """The frames that stations transmit from one time to another, s."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "packets.pcapng"
            self.run(pcap=path, pcap_from=start, pcap_until=stop, pcap_length=100)
            return transmissions(path.read_bytes())


@dataclass(frozen=True)
class Frame:
    """A frame on the air; times in seconds."""

    node: int
    kind: str
    start: float
    end: float
    received: bool


KINDS = {0xB4: "RTS", 0xC4: "CTS", 0xD4: "ACK"}
"""First byte of control frames; other frames are data."""
PREAMBLE = 192e-6
"""Long preamble of 802.11b, s."""


def transmissions(capture: bytes) -> list[Frame]:
    """The transmitted frames of a capture, with the receptions that belong to them."""
    sent, received = [], set()
    for node, at, length, data in packets(capture):
        radiotap = struct.unpack_from("<H", data, 2)[0]
        begin, rate = struct.unpack_from("<QxB", data, 8)
        kind = KINDS.get(data[radiotap], "data")
        if has_signal(data):
            received.add((kind, begin - 1, length - radiotap))
        else:
            bits = 8 * (length - radiotap)
            sent.append((node, kind, at, at + PREAMBLE + bits / (rate * 5e5), begin, length - radiotap))
    return [
        Frame(node, kind, start, end, bool({(kind, begin, size), (kind, begin - 1, size)} & received))
        for node, kind, start, end, begin, size in sent
    ]


def has_signal(data: bytes) -> bool:
    """Whether radiotap states the strength of a signal: the frame was received, not transmitted."""
    return bool(struct.unpack_from("<I", data, 4)[0] & 1 << 5)


def packets(capture: bytes) -> Iterator[tuple[int, float, int, bytes]]:
    """Interface, time in seconds, original length and bytes of each packet of a pcapng."""
    at = 0
    while at < len(capture):
        kind, size = struct.unpack_from("<II", capture, at)
        if kind == 6:
            interface, high, low, kept, length = struct.unpack_from("<IIIII", capture, at + 8)
            yield interface, (high << 32 | low) / 1e9, length, capture[at + 28 : at + 28 + kept]
        at += size


def panels(rows: int, height: float, **options: Any) -> tuple[Any, list[Any]]:
    """A figure with panels one below the other."""
    with report.drawing():
        figure = report.Picture(figsize=(WIDTH, height), layout="constrained")
        axes = figure.subplots(rows, 1, squeeze=False, **options)[:, 0]
    return figure, list(axes)


COLOURS = {
    "RTS": theme.OTHERS[3].colour,
    "CTS": theme.OTHERS[2].colour,
    "data": theme.OTHERS[0].colour,
    "ACK": "#cd8300",
}


def draw_frames(axes: Any, frames: Sequence[Frame], nodes: dict[int, str], start: float) -> None:
    """A row for each node with its frames as bars; frames that nobody received are hatched."""
    seen: set[str] = set()
    for frame in frames:
        if frame.node not in nodes:
            continue
        label = frame.kind if frame.received else f"{frame.kind}, lost"
        axes.barh(
            list(nodes).index(frame.node),
            1000 * (frame.end - frame.start),
            left=1000 * (frame.start - start),
            height=0.6,
            color=COLOURS[frame.kind] if frame.received else "white",
            edgecolor=COLOURS[frame.kind] if frame.received else LOST,
            hatch="" if frame.received else "////",
            label="" if label in seen else label,
        )
        seen.add(label)
    axes.set_yticks(range(len(nodes)), nodes.values())
    axes.set_ylim(len(nodes) - 0.4, -0.6)
    axes.set_xlabel("time, ms")
    axes.grid(visible=False)


def legend_above(figure: Any, axes: Any, columns: int) -> None:
    """A legend over the panels, so that it hides no curve."""
    handles, labels = axes.get_legend_handles_labels()
    order = sorted(
        range(len(labels)), key=lambda place: [*KINDS.values(), labels[place]].index(labels[place])
    )
    handles, labels = [handles[place] for place in order], [labels[place] for place in order]
    figure.legend(handles, labels, loc="outside upper center", ncols=columns, fontsize=9, frameon=False)


def values(result: multihop.Result, name: str, flow: int = 0) -> tuple[list[float], list[float]]:
    """Times and values of a series of a flow."""
    found = result.series.filter(
        (pl.col("series") == name) & (pl.col("subject") == "flow") & (pl.col("id") == flow)
    )
    return found["time"].to_list(), found["value"].to_list()


WINDOWS = [1, 2, 3, 4, 6, 8, 16, 32]


def clamped(window: int, seed: int = 1) -> Scene:
    """NewReno over eight hops with a limit of its window, segments."""
    transport = f'flow.0.transport={{ kind = "newreno", window_max = {window} }}'
    return Scene("chain-4", ("topology.hops=8", transport), seed)


def tcp_over_hops() -> Any:
    """Goodput and delay of NewReno over eight hops, for each limit of its window."""
    figure, (top, bottom) = panels(2, 5.0, sharex=True)
    found = []
    for window in WINDOWS:
        scenes = [clamped(window, seed) for seed in (1, 2, 3)]
        found.append([scene.run().totals for scene in scenes])
    for axes, name, metric in (
        (top, "goodput, kb/s", lambda totals: totals["goodput_kbps"]),
        (bottom, "delay, ms", lambda totals: totals["delay_ms"]["mean"]),
    ):
        report.curve(axes, WINDOWS, [interval(map(metric, runs)) for runs in found], "newreno")
        axes.set(ylabel=name, ylim=(0, None))
    bottom.set(xlabel="limit of the window, segments")
    return figure


HIDDEN = Scene("hidden")


def hidden_stations() -> Any:
    """Frames of two senders that do not sense each other."""
    start = 10.0
    frames = HIDDEN.frames(start, start + 0.05)
    figure, (axes,) = panels(1, 3.0)
    names = {0: "sender 1", 1: "receiver 1", 2: "sender 2", 3: "receiver 2"}
    draw_frames(axes, frames, names, start)
    legend_above(figure, axes, 3)
    return figure


ROUNDS = Scene("chain-4", ("flow.0.transport=tpa-3", "radio.loss=0.03", "duration=30"))


def tpa() -> Any:
    """Segments of two blocks of TPA: first transmissions, retransmissions, arrivals."""
    start, stop = 25.4, 27.0
    events = ROUNDS.trace().filter((pl.col("pkt") == "tpa") & pl.col("time").is_between(start, stop))
    figure, (axes,) = panels(1, 4.0)
    first: set[str] = set()
    numbers: dict[str, list[tuple[float, int]]] = {"transmitted": [], "retransmitted": [], "arrived": []}
    origin = None
    for event, time, number in events.select("evt", "time", "seq").iter_rows():
        block, _, place = number.partition(".")
        origin = int(block) if origin is None else origin
        segment = 12 * (int(block) - origin) + int(place)
        if event == "s":
            kind = "retransmitted" if number in first else "transmitted"
            first.add(number)
        elif event == "r":
            kind = "arrived"
        else:
            continue
        numbers[kind].append((time - start, segment))
    looks = {"transmitted": ("o", COLOURS["data"]), "retransmitted": ("X", LOST), "arrived": ("|", "black")}
    for kind, points in numbers.items():
        marker, colour = looks[kind]
        x, y = zip(*points, strict=True)
        axes.plot(x, y, marker, color=colour, markersize=6 if marker != "|" else 9, label=kind)
    top = max(segment for points in numbers.values() for _, segment in points)
    for border in range(0, top + 1, 12):
        axes.axhline(border - 0.5, color="0.45", linewidth=0.8, linestyle=":")
    axes.set(xlabel="time, s", ylabel="number of the segment")
    legend_above(figure, axes, 3)
    return figure


BURSTS = Scene("chain-4", ("topology.hops=8", "duration=70", "flow.0.transport=newreno"))
PACED = Scene("chain-4", ("topology.hops=8", "duration=70", "flow.0.transport=tcp-ap"))


def adaptive_pacing() -> Any:
    """Data segments on their way over eight hops, without pacing and with it."""
    start, stop = 60.0, 61.5
    figure, axes = panels(2, 5.6, sharex=True)
    for place, (scene, name) in zip(axes, ((BURSTS, "NewReno"), (PACED, "TCP-AP")), strict=True):
        colour = theme.style(scene.changes[-1].partition("=")[2]).colour
        trace = scene.trace().filter((pl.col("pkt") == "tcp") & pl.col("time").is_between(start - 2, stop))
        for _, packet in trace.group_by("uid", maintain_order=True):
            shown = packet.filter(pl.col("evt") != "D")
            place.plot(shown["time"] - start, shown["node"], color=colour, linewidth=1.2)
            lost = packet.filter(pl.col("evt") == "D")
            place.plot(lost["time"] - start, lost["node"], "X", color=LOST, markersize=7)
        place.set(ylabel="node", title=name, xlim=(0, stop - start), yticks=range(0, 9, 2))
    axes[-1].set_xlabel("time, s")
    return figure


RENO = Scene("dsr-mobile-30", ("duration=180", "mobility.pattern=8"))
ELFN = Scene("dsr-mobile-30", (*RENO.changes, "flow.0.transport.kind=elfn"))


def elfn() -> Any:
    """Data delivered by Reno and by ELFN among the same moving nodes."""
    figure, (top, bottom) = panels(2, 4.4, sharex=True, height_ratios=[3, 1])
    for scene, name in ((RENO, "reno"), (ELFN, "elfn")):
        result = scene.run(**{"record.every": 1.0, "record.what": ["goodput", "state"]})
        delivered(top, result, name)
        if name == "elfn":
            times, states = values(result, "state")
            standby = [state == 6 for state in states]
            bottom.fill_between(times, standby, step="post", color=theme.style("elfn").colour)
    top.set(ylabel="delivered, MB", ylim=(0, None))
    bottom.set(xlabel="time, s", ylabel="stand-by", yticks=[])
    top.legend()
    return figure


def delivered(axes: Any, result: multihop.Result, name: str) -> None:
    """The data that a flow has delivered by each second."""
    times, rates = values(result, "goodput_kbps")
    total, sums = 0.0, []
    for rate in rates:
        total += rate / 8000
        sums.append(total)
    look = theme.style(name)
    axes.plot(times, sums, color=look.colour, linestyle=look.line, label=name)


LOSSY = ("routing.protocol=aodv", "routing.ip_extra=0", "radio.loss=0.05", "duration=180")
PLAIN = Scene("dsr-mobile-30", (*LOSSY, "flow.0.transport=newreno"))
ADTCP = Scene("dsr-mobile-30", (*LOSSY, "flow.0.transport=adtcp"))
STATES = {1: "congestion", 2: "route change", 4: "channel error", 8: "disconnection"}


def adtcp() -> Any:
    """Data delivered by NewReno and ADTCP, and the states that the receiver of ADTCP finds."""
    figure, (top, bottom) = panels(2, 4.8, sharex=True, height_ratios=[3, 2])
    for scene, name in ((PLAIN, "newreno"), (ADTCP, "adtcp")):
        series = ["goodput", "network"] if name == "adtcp" else ["goodput"]
        result = scene.run(**{"record.every": 1.0, "record.what": series})
        delivered(top, result, name)
    times, bits = values(result, "network")
    for row, bit in enumerate(STATES):
        shown = [time for time, value in zip(times, bits, strict=True) if int(value) & bit]
        bottom.plot(shown, [row] * len(shown), "|", color=theme.style("adtcp").colour, markersize=10)
    bottom.set_yticks(range(len(STATES)), STATES.values())
    bottom.set(xlabel="time, s", ylim=(3.6, -0.6))
    top.set(ylabel="delivered, MB", ylim=(0, None))
    top.legend()
    return figure


SLOW = Scene("apdr-diamond", ("routing.weight=0.2", "duration=160"))
FAST = Scene("apdr-diamond", ("routing.weight=0.8", "duration=160"))


TOP = 1
"""First relay of the top path of the diamond."""


def apdr() -> Any:
    """Paths of the data packets on the diamond, for two weights of the latest delay."""
    start, stop = 100.0, 160.0
    figure, axes = panels(2, 4.0, sharex=True)
    for place, (scene, weight) in zip(axes, ((SLOW, 0.2), (FAST, 0.8)), strict=True):
        trace = scene.trace().filter(
            (pl.col("pkt") == "tcp") & (pl.col("hops") == 1) & pl.col("time").is_between(start, stop)
        )
        shares = trace.group_by((pl.col("time") - start).floor().alias("second"), maintain_order=True).agg(
            (100 * (pl.col("node") == TOP).mean()).alias("share")
        )
        times, top = shares["second"].to_list(), shares["share"].to_list()
        place.fill_between(times, top, step="post", color=theme.OTHERS[0].colour, label="top path")
        place.fill_between(
            times, top, 100, step="post", color=theme.OTHERS[1].colour, alpha=0.5, label="bottom path"
        )
        place.set(ylabel="data, %", ylim=(0, 100), title=f"weight of the latest delay: {weight}")
    legend_above(figure, axes[0], 2)
    axes[-1].set_xlabel("time, s")
    return figure


QUEUED = Scene("chain-4", ("topology.hops=8", "flow.0.transport=newreno"))
MESH = Scene("chain-4", ("topology.hops=8", "flow.0.transport=mesh"))


def mesh() -> Any:
    """Packets in all queues of a chain of eight hops under NewReno and `mesh`."""
    figure, (axes,) = panels(1, 3.4)
    for scene, name in ((QUEUED, "newreno"), (MESH, "mesh")):
        result = scene.run(**{"record.every": 0.25, "record.what": ["queue"]})
        queues = result.series.filter((pl.col("series") == "queue") & pl.col("time").is_between(60, 90))
        sums = queues.group_by("time", maintain_order=True).agg(pl.col("value").sum())
        look = theme.style(name)
        axes.plot(
            sums["time"] - 60,
            sums["value"],
            color=look.colour,
            linestyle=look.line,
            label=f"{name}: {result.totals['goodput_kbps']:.0f} kb/s",
        )
    axes.set(xlabel="time, s", ylabel="packets in queues", ylim=(0, None))
    legend_above(figure, axes, 2)
    return figure


CHAIN = Scene("chain-4")


def simulator() -> Any:
    """Frames of the first data segments over a chain of four hops."""
    start = 0.0
    frames = CHAIN.frames(start, 0.12)
    first = next(place for place, frame in enumerate(frames) if frame.end - frame.start > 0.005)
    begin = max(frame.start for frame in frames[:first] if frame.kind == "RTS")
    figure, (axes,) = panels(1, 3.2)
    shown = [frame for frame in frames if begin <= frame.start < begin + 0.045]
    draw_frames(axes, shown, {node: f"node {node}" for node in range(5)}, begin)
    legend_above(figure, axes, 4)
    return figure


SEEDS = Scene("chain-4", ("radio.loss=0.01", "warmup=5", "duration=25"))
GROUPS, GROUP = 20, 5


def intervals() -> Any:
    """Twenty studies of five seeds each: their intervals, and the mean of all hundred runs."""
    goodputs = [
        Scene(SEEDS.scenario, SEEDS.changes, seed).run().goodput_kbps for seed in range(1, GROUPS * GROUP + 1)
    ]
    mean = sum(goodputs) / len(goodputs)
    figure, (axes,) = panels(1, 3.6)
    report.reference(axes, [0, GROUPS + 1], [mean, mean], f"mean of {len(goodputs)} runs", "--")
    for number in range(GROUPS):
        found: Interval = interval(goodputs[GROUP * number : GROUP * (number + 1)])
        hit = found.contains(mean)
        axes.errorbar(
            number + 1,
            found.mean,
            yerr=found.half,
            color=COLOURS["data"] if hit else LOST,
            marker="o" if hit else "X",
            capsize=3,
        )
    axes.set(xlabel="study of five seeds", ylabel="goodput, kb/s", xticks=range(1, GROUPS + 1, 3))
    axes.legend()
    return figure


FIGURES: dict[str, Callable[[], Any]] = {
    "tcp-over-hops": tcp_over_hops,
    "hidden-stations": hidden_stations,
    "tpa": tpa,
    "adaptive-pacing": adaptive_pacing,
    "elfn": elfn,
    "adtcp": adtcp,
    "apdr": apdr,
    "mesh": mesh,
    "simulator": simulator,
    "intervals": intervals,
}
SHOWN: dict[str, Sequence[Scene]] = {
    "tcp-over-hops": (clamped(2), clamped(32)),
    "hidden-stations": (HIDDEN,),
    "tpa": (ROUNDS,),
    "adaptive-pacing": (BURSTS, PACED),
    "elfn": (RENO, ELFN),
    "adtcp": (PLAIN, ADTCP),
    "apdr": (SLOW, FAST),
    "mesh": (QUEUED, MESH),
    "simulator": (CHAIN,),
    "intervals": (SEEDS,),
}
"""Runs that a page names, so that readers can look at them."""


def main(names: Sequence[str]) -> int:
    """Draw the figures of these names, or all."""
    if unknown := set(names) - set(FIGURES):
        print(f"found {', '.join(sorted(unknown))}, allowed: {', '.join(FIGURES)}", file=sys.stderr)
        return 2
    for name in names or FIGURES:
        path = PAGES / f"{name}.svg"
        path.write_text(figure_files.figure_file(FIGURES[name]()), encoding="utf-8")
        print(path.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
