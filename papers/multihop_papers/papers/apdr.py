"""Delay routing and path reservation: how TCP fares over routes chosen by average delay (APDR)."""

from __future__ import annotations

from typing import Any

from multihop_papers.declare import (
    CHANGES,
    GOODPUT,
    HOPS,
    INVALID,
    OSCILLATIONS,
    RTT,
    Axis,
    Claim,
    Document,
    Effort,
    Metric,
    Plot,
    Unstated,
    axis,
    rows,
    versus,
)
from multihop_papers.measures import frame
from multihop_papers.papers import findings
from multihop_papers.papers.common import Common
from multihop_papers.reasons import Switch, left_open
from multihop_papers.study import Experiment, Study

PAPER = "APDR"
WEIGHTS = (0.2, 0.4, 0.6, 0.8)
OLSR = {"protocol": "olsr", "count_changes": True}
REORDERED = Metric("reordered", "segments out of order", "flows.*.out_of_order")
RADIO = {"rate": "11M"}
WINDOW, ABOVE_QUEUE = 44, 64  # segments: 65,535 bytes, the most without window scaling; more than a queue of 50 takes
UNSTATED = (
    Unstated("the range and power of the radios", "250 m, 550 m sensed", "OPNET's model is not described; the distances fit these ranges"),
    Unstated("RTO minimum", "RFC 6298", "the text refers to another for TCP's parameters"),
)
TCP_WINDOW = Unstated(
    "TCP's window", "44 segments (65,535 bytes)", "the text has a buffer of 50 segments; 64 overflow it (apdr-oscillation)"
)
TCP = {"kind": "newreno", "preset": "rfc", "window_max": WINDOW}
AT_WINDOW = {"window": WINDOW}
BASE: dict[str, Any] = {
    "radio": RADIO,
    "mac": {"arp": "ns2", "flavour": "standard", "rts_threshold": "off"},
    "routing": {"protocol": "olsr"},
}
TABLE_1 = {0.2: 551.0, 0.4: 1121.0, 0.6: 5052.0, 0.8: 29081.0}
OSCILLATION = Experiment(
    id="apdr-oscillation",
    paper=PAPER,
    place="Figures 3 to 6, Table 1, section 5",
    title="one flow that moves between two routes",
    found="Two disjoint routes of four hops. The greater the weight of the latest delay, the more often the route changes, the more segments are "
    "reordered (551 to 29,081 in 1800 s) and the less TCP delivers.",
    scenario={
        **BASE,
        "duration": 1800.0,
        "warmup": 50.0,
        "topology": {"kind": "diamond"},
        "flow": [{"transport": TCP, "start": 50.0}],
        "routing": {"protocol": "apdr"},
        "record": {"every": 2.0, "what": ["cwnd", "rtt", "goodput"]},
    },
    axes=[
        axis("window", "flow.0.transport.window_max", [WINDOW, ABOVE_QUEUE], "segments"),
        axis("weight", "routing.weight", WEIGHTS, "weight of the latest delay"),
    ],
    metrics=(GOODPUT, REORDERED, RTT, CHANGES, OSCILLATIONS),
    quick=Effort(3, keep={"weight": [0.2, 0.8]}),
    full=Effort(5),
    published={"reordered": {(window, weight): count for window in (WINDOW, ABOVE_QUEUE) for weight, count in TABLE_1.items()}},
    other_readings=(ABOVE_QUEUE,),
    claims=[
        versus("weight 0.8 reorders more segments than 0.2", "reordered", 0.8, 0.2, axis="weight", at=AT_WINDOW),
        versus("the route changes more often with weight 0.8", "changes", 0.8, 0.2, axis="weight", at=AT_WINDOW),
        versus("weight 0.8 delivers less than 0.2", "goodput", 0.8, 0.2, axis="weight", at=AT_WINDOW, at_most=1.0),
    ],
    unstated=(
        *UNSTATED,
        Unstated(
            "TCP's window", "44 segments (65,535 bytes), and 64", "the text has a buffer of 50 segments, which a window of 64 overflows"
        ),
        Unstated("where S and D stand", "as in Figure 2: rows 400 m apart, neighbours 200 m", "the figure's measures"),
    ),
    plots=(
        Plot("line", "goodput", x="weight", panel="window", caption="Throughput over the weight."),
        Plot("line", "reordered", x="weight", panel="window", caption="Segments out of order; diamonds are the paper's (of 1800 s)."),
        Plot("time", "cwnd", by="weight", panel="weight", at=AT_WINDOW, caption="Congestion window over time, seed 1."),
    ),
)
# Section 4: ten connections at a time, each a Pareto file, the next after two MSL.
TRAFFIC = {
    "count": 10,
    "app": "file",
    "transport": TCP,
    "bytes": {"pareto": {"mean": 2_000_000, "shape": 2.0}},
    "first": 50.0,
    "gap": [0.0, 5.0],
    "restart": 240.0,
}
NODES = Axis("nodes", {n: {"topology.nodes": n} for n in range(10, 71, 10)}, "nodes")
# 10% of what arrives is damaged: of frames, which the MAC retransmits, or of packets.
FRAME_LOSS = 0.10
ERRORS = Axis("error", {"frames": {}, "packets": {"radio.frame_loss": 0.0, "radio.loss": FRAME_LOSS}}, "damaged:")
WALK: dict[str, Any] = {
    **BASE,
    "radio": {**RADIO, "frame_loss": FRAME_LOSS},
    "duration": 28_800.0,
    "warmup": 50.0,
    "topology": {"kind": "random", "nodes": 50, "area": [1000.0, 1000.0]},
    "mobility": {"kind": "random-walk", "speed_max": 2.0, "leg_mean": 30.0},
    "traffic": TRAFFIC,
}


def collided(document: Document) -> float | None:
    """Data frames that fail for another reason than channel error, which takes frames and ACKs alike, %."""
    mac = document["mac"]
    sent = int(mac["frames"]["data"])
    if not sent:
        return None
    answered = 1.0 - (int(mac["retries"]) + int(mac["drops"])) / sent
    return 100 * (1 - answered / (1 - FRAME_LOSS) ** 2)


COLLIDED = Metric("collided", "data frames lost to collisions, %", collided)
MEASURED = (
    Metric("goodput", "throughput of a transfer, kb/s", "flows.*.goodput_kbps"),
    CHANGES,
    RTT,
    Metric("reordered", "segments out of order, %", "flows.*.out_of_order", 100.0, "flows.*.segments_delivered"),
    HOPS,
    INVALID,
    OSCILLATIONS,
    COLLIDED,
)
HOURS = Unstated("8 hours of one placement, or several", "some minutes of several placements", "one placement says nothing about the next")
DAMAGE = Unstated(
    "what the 10% of channel error are a share of",
    "of frames, which the MAC retransmits",
    "if it is of packets, round trips are far below Table 3's 60 to 420 ms (apdr-damage)",
)
THROUGHPUT = Plot("line", "goodput", x="nodes", by="routing", caption="Throughput.")
DENSITIES = [10, 30, 50]


# Sections 6 to 8: files between nodes drawn at random.
network = Common(
    PAPER,
    scenario=WALK,
    unstated=(*UNSTATED, TCP_WINDOW, HOURS, DAMAGE),
    metrics=MEASURED,
    quick=Effort(3, {"duration": 300.0}, {"nodes": [30, 50]}),
    full=Effort(6, {"duration": 300.0}, {"nodes": DENSITIES}),
    plots=(THROUGHPUT,),
)


def beside_olsr(routings: dict[str, dict[str, Any]]) -> list[Axis]:
    """Numbers of nodes, and OLSR and something else."""
    return [NODES, Axis("routing", {"olsr": {"routing": OLSR}, **routings})]


def dense(text: str, metric: str, of: Any, against: Any, *, less: bool = False, **more: Any) -> Claim:
    """A claim about two kinds of routing in dense networks."""
    bound: dict[str, Any] = {"at_most": 1.0} if less else {"at_least": 1.0}
    return versus(text, metric, of, against, axis="routing", each={"nodes": [30, 50]}, **bound, **more)


def apdr(**more: Any) -> dict[str, Any]:
    """Routes by average delay."""
    return {"routing": {"protocol": "apdr", **more}}


def reserving(**more: Any) -> dict[str, Any]:
    """A path reserved for each flow."""
    return {"routing": {"protocol": "apdr-pr", **more}}


# The paper's path length does not depend on the weight.
TABLE_2 = rows(
    ["olsr", "apdr 0.2", "apdr 0.8"],
    list(NODES.values),
    """
2.2 2.7 3.2 3.5 3.7 3.8 3.8
2.5 3.0 3.5 3.8 4.1 4.2 4.3
2.5 3.0 3.5 3.8 4.1 4.2 4.3
""",
)
MOBILE = network(
    "apdr-mobile",
    "Figures 7 to 10, Table 2, section 6",
    "ten files at a time among walking nodes",
    "APDR has up to 1% more invalid routes than OLSR, longer paths, up to 22% (weight 0.2) and 37% (0.8) smaller round trips, fewer "
    "collisions, and more reordering. Its throughput is lower, and falls further with denser networks.",
    axes=beside_olsr({"apdr 0.2": apdr(weight=0.2), "apdr 0.8": apdr(weight=0.8)}),
    published={"hops": {(nodes, name): hops for (name, nodes), hops in TABLE_2.items()}},
    claims=[
        dense("OLSR delivers more than APDR", "goodput", "olsr", ["apdr 0.2", "apdr 0.8"]),
        dense("round trips are smaller with APDR", "rtt", "apdr 0.8", "olsr", less=True),
        dense("APDR reorders more", "reordered", "apdr 0.8", "olsr"),
        dense("APDR's paths are longer", "hops", "apdr 0.2", "olsr"),
    ],
    plots=(
        THROUGHPUT,
        Plot("line", "rtt", x="nodes", by="routing", caption="Round-trip time."),
        Plot("line", "invalid", x="nodes", by="routing", caption="Packets without a route."),
    ),
)
TABLE_3 = {
    "rtt": {"olsr": (60.0, 420.0), "apdr-pr": (60.0, 150.0)},
    "invalid": {"olsr": (0.34, 0.78), "apdr-pr": (0.0, 0.34)},
    "collided": {"olsr": (0.0, 0.26), "apdr-pr": (0.0, 0.13)},
}


def extremes(study: Study) -> None:
    """Table 3: the least and the greatest mean over the numbers of nodes."""
    lines = []
    for name, of in TABLE_3.items():
        for routing, bounds in of.items():
            cells = study.select({"routing": routing})
            means = [found.mean for cell in cells if (found := study.mean(name, cell))]
            if not means:
                continue
            for word, printed, ours in zip(("least", "greatest"), bounds, (min(means), max(means)), strict=True):
                error = f"{ours / printed - 1:+.0%}" if printed else ""
                lines.append([name, routing, word, f"{printed:g}", f"{ours:.3g}", error])
                study.compared.append((f"{word} {name} of {routing}", printed, ours))
    if lines:
        study.table(frame(["metric", "routing", "over all densities", "the paper", "ours", "difference"], lines), "Table 3")


GAIN = left_open(
    findings.delay_cost,
    "apdr-static-gain: all transfers",
    "apdr-static",
    Switch(
        "basic_rate = 11M, sense_range = 250, link hysteresis, throughput of all transfers together",
        "apdr-static-gain",
        "reserved paths deliver more than OLSR (all transfers)",
    ),
)
STATIC = network(
    "apdr-static",
    "Figures 11 and 12, Table 3, section 7",
    "reserved paths among nodes that stand still",
    "With a path reserved for each flow throughput grows notably, the more the denser the network; round trips of 60 to 150 ms against 60 to "
    "420 ms; less reordering.",
    axes=beside_olsr({"apdr-pr": reserving()}),
    scenario={"mobility": {"kind": "static"}},
    more=extremes,
    # The other findings of section 7 are judged in apdr-static-gain, with more seeds.
    claims=[
        dense("reserved paths deliver more than OLSR", "goodput", "apdr-pr", "olsr", reason=GAIN),
    ],
    plots=(THROUGHPUT, Plot("line", "reordered", x="nodes", by="routing", caption="Segments out of order.")),
)
FEWER = Effort(3, {"duration": 300.0}, {"nodes": [50]})
PR_MOBILE = network(
    "apdr-pr-mobile",
    "section 8, left open",
    "reserved paths among walking nodes",
    "The paper leaves it open: a reserved path breaks when nodes move. Held until it comes back, or chosen anew.",
    axes=beside_olsr({f"apdr-pr, {word}": reserving(on_break=word) for word in ("hold", "reselect")}),
    full=FEWER,
)
HYSTERESIS = network(
    "apdr-hysteresis",
    "ours",
    "does a threshold for switching do what reservation does?",
    "A route is left only for one that is better by a share of its delay. Does that give a mobile network what reserved paths give a static one?",
    axes=beside_olsr({"apdr": apdr(), **{f"apdr, {share:.0%}": apdr(hysteresis=share) for share in (0.2, 0.5)}}),
    full=FEWER,
)
DAMAGED = Experiment(
    id="apdr-damage",
    paper=PAPER,
    place="section 4, left open",
    title="what the 10% of channel error damage",
    found="The report has 10% packet loss due to errors. Of frames, which the MAC retransmits, or of packets, which TCP retransmits? In Table "
    "3 round trips take from 60 to 420 ms.",
    scenario={**WALK, "mobility": {"kind": "static"}},
    axes=[ERRORS, *beside_olsr({"apdr-pr": reserving()})],
    metrics=MEASURED[:-1],
    quick=Effort(3, {"duration": 300.0}, {"nodes": [30]}),
    full=Effort(3, {"duration": 300.0}, {"nodes": [30]}),
    unstated=(*UNSTATED, TCP_WINDOW, HOURS),
)
EXPERIMENTS = (OSCILLATION, MOBILE, STATIC, PR_MOBILE, HYSTERESIS, DAMAGED)
