"""Average path-delay routing and reserved paths in random networks whose nodes walk or stand still."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from multihop_papers.declare import Axis, Claim, Document, Effort, Metric, Plot, versus
from multihop_papers.measures import difference, frame, total, weighted
from multihop_papers.study import Study
from multihop_papers.validation.apdr import MAC, OLSR, PAPER, TCP, WINDOW
from multihop_papers.validation.part import Page
from multihop_papers.verdicts import HELD, NOT_DECIDED, NOT_HELD, decide

FIRST = 50.0
SEGMENT = 1460  # bytes
LARGEST = 70  # nodes
HYSTERESIS, RESERVED, RESELECT = "APDR 0.8, hysteresis", "APDR-PR", "APDR-PR, reselect"
ROUTINGS: dict[str, dict[str, Any]] = {
    "OLSR": OLSR,
    "APDR 0.2": {"protocol": "apdr", "weight": 0.2},
    "APDR 0.8": {"protocol": "apdr", "weight": 0.8},
    HYSTERESIS: {"protocol": "apdr", "weight": 0.8, "hysteresis": 0.3, "hold": 10.0},
    RESERVED: {"protocol": "apdr-pr", "on_break": "hold"},
    RESELECT: {"protocol": "apdr-pr", "on_break": "reselect"},
}
WALKING = {"kind": "random-walk", "speed_max": 2.0, "leg_mean": 30.0}
# What has more of what, where, and who says so.
STATEMENTS = (
    ("walking", "OLSR", "APDR 0.2", "goodput", "OLSR delivers more than APDR 0.2 (Figure 8)"),
    ("walking", "OLSR", "APDR 0.8", "goodput", "OLSR delivers more than APDR 0.8 (Figure 8)"),
    ("walking", "OLSR", "APDR 0.2", "rtt", "Round trips are shorter under APDR 0.2 (Figure 9a)"),
    ("walking", "OLSR", "APDR 0.8", "rtt", "Round trips are shorter under APDR 0.8 (Figure 9a)"),
    ("walking", "APDR 0.2", "OLSR", "reordered", "APDR 0.2 reorders more than OLSR (Figure 9b)"),
    ("walking", "APDR 0.8", "APDR 0.2", "reordered", "APDR 0.8 reorders more than APDR 0.2 (Figure 9b)"),
    ("walking", "APDR 0.2", "OLSR", "hops", "Paths of APDR 0.2 are longer (Table 2)"),
    ("walking", "APDR 0.8", "OLSR", "hops", "Paths of APDR 0.8 are longer (Table 2)"),
    ("walking", "OLSR", "APDR 0.8", "collisions", "APDR 0.8 has fewer collisions than OLSR (Figure 10)"),
    ("walking", "APDR 0.8", "OLSR", "invalid", "APDR 0.8 sends more packets without a valid route than OLSR (Figure 7)"),
    ("standing", RESERVED, "OLSR", "goodput", "Reserved paths deliver more than OLSR (Figure 11)"),
    ("standing", "OLSR", RESERVED, "rtt", "Round trips are shorter on reserved paths (Table 3)"),
    ("standing", "OLSR", RESERVED, "invalid", "Reserved paths send fewer packets without a valid route than OLSR (Table 3)"),
    ("standing", "OLSR", RESERVED, "collisions", "Reserved paths have fewer collisions than OLSR (Table 3)"),
    ("standing", "OLSR", RESERVED, "reordered", "Reserved paths reorder less than OLSR (Figure 12)"),
    ("standing", RESERVED, "APDR 0.8", "goodput", "Reserved paths deliver more than APDR 0.8"),
    ("walking", HYSTERESIS, "APDR 0.8", "goodput", "APDR 0.8 delivers more with hysteresis"),
    ("walking", "OLSR", HYSTERESIS, "goodput", "OLSR delivers more than APDR 0.8 with hysteresis"),
    ("walking", RESELECT, RESERVED, "goodput", "APDR-PR delivers more if it replaces broken paths (section 8)"),
    ("walking", "OLSR", RESELECT, "goodput", "OLSR delivers more than APDR-PR that replaces broken paths (section 8)"),
)


def each_second(document: Document, kilobits: float) -> float:
    """A rate over the time in which transfers run."""
    return kilobits / (float(document["sim_seconds"]) - FIRST)


METRICS = (
    Metric("goodput", "throughput of a transfer, kb/s", "flows.*.goodput_kbps"),
    Metric("total", "all, kb/s", lambda one: each_second(one, 8e-3 * SEGMENT * total(one, "segments_delivered"))),
    Metric("rtt", "RTT, ms", lambda one: weighted(one, lambda flow: (flow["rtt_ms"] or {}).get("mean"))),
    Metric("reordered", "out of order, %", lambda one: weighted(one, lambda flow: 100 * flow["out_of_order"] / flow["segments_delivered"])),
    Metric("hops", "links of a path", lambda one: weighted(one, lambda flow: flow["mean_hops"])),
    Metric("invalid", "invalid routes, %", lambda one: 100 * float(one["routing"]["invalid_routes"] or 0.0)),
    Metric("collisions", "collisions per frame", lambda one: one["mac"]["collisions"] / sum(one["mac"]["frames"].values())),
    Metric("retries", "retries, %", "mac.retries", 100.0, "mac.frames.data"),
    Metric("control", "routing, kb/s", lambda one: each_second(one, 8e-3 * sum(one["routing"]["bytes"].values()))),
    Metric("changes", "route changes per minute", lambda one: each_second(one, 60.0 * one["routing"]["route_changes"])),
)
BASE: dict[str, Any] = {
    "duration": 3600.0,
    "warmup": FIRST,
    "radio": {"rate": "11M", "frame_loss": 0.1},
    "mac": MAC,
    "topology": {"kind": "random", "nodes": LARGEST, "area": [1000.0, 1000.0], "connected": False},
    "mobility": WALKING,
    "traffic": {
        "count": 10,
        "transport": {**TCP, "window_max": WINDOW},
        "bytes": {"pareto": {"mean": 2_000_000, "shape": 2.0}},
        "first": FIRST,
        "gap": [0.0, 5.0],
        "restart": 240.0,
    },
}
SETTING = (
    "Networks of 10 to 70 nodes in a square of 1 km, 11 Mb/s, 10% of the frames damaged by channel error (the MAC retries them), walks of 30 s in one "
    f"direction at up to 2 m/s. Ten NewReno transfers at a time of Pareto files (mean 2 MB, shape 2) from {FIRST:.0f} s on, the next 240 s "
    "after one has ended. Runs of 3600 s (200 s with --quick). The placements, walks and transfers are the same for every routing protocol. The "
    "report ran 8 hours of one pattern, up to 70 nodes. Placements may be disconnected. TCP has at most "
    f"{WINDOW} segments in flight, as on the diamond."
)


def claims() -> Iterator[Claim]:
    """The report's findings and ours, in the largest network."""
    for network, more, less, metric, text in STATEMENTS:
        at = {"network": network, "nodes": LARGEST}
        yield versus(f"{text}, {LARGEST} nodes {network}", metric, more, less, axis="routing", at=at)


def compare(study: Study) -> None:
    """Show the differences at every size, and say what agrees with the report."""
    sizes = list(study.axes[1].values)
    words: dict[str, list[str]] = {HELD: [], NOT_HELD: [], NOT_DECIDED: []}
    rows = []
    for network, more, less, metric, text in STATEMENTS:
        gains = [difference(study, metric, (network, n, more), (network, n, less)) for n in sizes]
        rows.append([f"{text}, {network}", *(f"{gain}, {decide(gain)}" for gain in gains)])
        if more == HYSTERESIS:
            for n, gain in zip(sizes, gains, strict=True):
                words[decide(gain)].append(str(n))
    study.table(
        frame(["statement", *(f"{n} nodes" for n in sizes)], rows),
        "Means and intervals of paired differences; a statement holds where it is positive",
    )
    study.text(
        "Throughput of a transfer: mean goodput of the transfers that began, each over its own duration. All: goodput of all transfers"
        " over the run. Out of order: share of the arrivals whose number exceeds the expected one, also after a loss. Collisions per "
        "frame: a frame may be lost at many receivers, and HELLOs and TCs count as frames. With APDR every node sends TCs that list "
        "all neighbours and their costs. Retries: share of data frames, channel errors included. Routing: routing messages of all "
        "nodes."
    )
    said = {HELD: "more is delivered", NOT_HELD: "less", NOT_DECIDED: "not decided"}
    found = "; ".join(f"{said[word]} at {', '.join(at)} nodes" for word, at in words.items() if at)
    study.text(
        "What agrees with the report: among walking nodes APDR has shorter round trips than OLSR, longer paths, more reordering and "
        "less throughput. The last three differences grow with the number of nodes. Among standing nodes reserved paths deliver more "
        "than APDR from 50 nodes on. What does not: APDR does not have fewer collisions: its longer paths, and the TCs of all nodes "
        "with all neighbours, put more frames on the air. Reserved paths do not deliver more than OLSR. Routes of OLSR hardly change "
        "where nothing moves. A path with the least delay at one moment has more links than necessary, and keeps them as long as its "
        "flow lasts. With many nodes few packets lack a valid route under either protocol. What the report left open: among walking "
        "nodes a flow stops when its reserved path breaks. Flows that reserve another path deliver at least as much as under APDR 0.8."
        f" Hysteresis against APDR 0.8: {found}."
    )


def routings(*names: str) -> Axis:
    """The axis of routing protocols."""
    return Axis("routing", {name: {"routing": ROUTINGS[name]} for name in names})


NETWORKS = Page("apdr-networks", PAPER).experiment(
    "apdr-networks",
    "delay routing in random networks",
    "What do routes by delay, reserved paths and hysteresis do to TCP among nodes that walk and nodes that stand still, as in sections 6 "
    f"and 7? {SETTING}",
    Effort(3, {"duration": 200.0}, {"nodes": [20, LARGEST]}),
    full=Effort(3, {}, {"nodes": [10, 30, 50, LARGEST]}),
    scenario=BASE,
    axes=[
        Axis("network", {"walking": {}, "standing": {"mobility": {"kind": "static"}}}),
        Axis("nodes", {n: {"topology.nodes": n} for n in (10, 20, 30, 50, LARGEST)}, "nodes"),
        routings(*ROUTINGS),
    ],
    metrics=METRICS,
    claims=tuple(claims()),
    plots=tuple(
        Plot("line", metric.name, x="nodes", by="routing", panel="network", caption=f"{metric.label}.")
        for metric in METRICS
        if metric.name in ("goodput", "rtt", "reordered", "hops", "invalid", "collisions")
    ),
    more=compare,
)
LOSSY = Page("apdr-networks", PAPER).experiment(
    "apdr-packets",
    "random networks whose links lose packets",
    "The report does not say of what the 10% are a share. If each hop loses 10% of the packets after all retries of the MAC (`loss = 0.1` "
    "in place of `frame_loss = 0.1`), NewReno waits for timeouts most of the time, links carry next to nothing, and routes by delay have "
    "nothing to choose by. The report's few percent of reordering and its throughput suggest errors that the MAC repairs. 30 nodes that "
    f"walk. {SETTING}",
    Effort(3, {"duration": 200.0}),
    full=Effort(3),
    scenario={**BASE, "radio": {"rate": "11M", "loss": 0.1}, "topology": {**BASE["topology"], "nodes": 30}},
    axes=[routings("OLSR", "APDR 0.8")],
    metrics=METRICS,
)
EXPERIMENTS = (NETWORKS, LOSSY)
