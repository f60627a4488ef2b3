"""Average path-delay routing and reserved paths in random networks that walk and that stand still."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from apdr import FULL, MAC, OLSR, TCP, WINDOW
from multihop import Result, report
from multihop.report import BLUE, GREEN, ORANGE, SKY
from multihop.stats import Interval, interval
from study import Study, is_positive, kept, word

# A short version; MULTIHOP_FULL=1 is an hour.
SECONDS = 3600.0 if FULL else 200.0
SEEDS = range(1, 4)
SIZES = (10, 30, 50, 70) if FULL else (20, 70)
FIRST = 50.0
SEGMENT = 1460  # bytes
VARIANTS: dict[str, dict[str, Any]] = {
    "OLSR": OLSR,
    "APDR 0.2": {"protocol": "apdr", "weight": 0.2},
    "APDR 0.8": {"protocol": "apdr", "weight": 0.8},
    "APDR 0.8, hysteresis": {"protocol": "apdr", "weight": 0.8, "hysteresis": 0.3, "hold": 10.0},
    "APDR-PR": {"protocol": "apdr-pr", "on_break": "hold"},
    "APDR-PR, reselect": {"protocol": "apdr-pr", "on_break": "reselect"},
}
COLOURS = dict(zip(VARIANTS, (ORANGE, SKY, BLUE, "#999999", GREEN, "#117733"), strict=True))
NETWORKS = {
    "walking": {"kind": "random-walk", "speed_max": 2.0, "leg_mean": 30.0},
    "standing": {"kind": "static"},
}
QUANTITIES = {
    "kb/s": "goodput",
    "all, kb/s": "total",
    "RTT, ms": "rtt",
    "out of order, %": "reordered",
    "links": "hops",
    "invalid routes, %": "invalid",
    "collisions a frame": "collisions",
    "retries, %": "retries",
    "routing, kb/s": "control",
    "route changes a minute": "changes",
}
FIGURES = {
    "goodput": "throughput of a transfer (kb/s)",
    "rtt": "round trip (ms)",
    "reordered": "segments out of order (%)",
    "hops": "links of a path",
    "invalid": "packets without a valid route (%)",
    "collisions": "collisions a frame",
}
HYSTERESIS, RESERVED, RESELECT = "APDR 0.8, hysteresis", "APDR-PR", "APDR-PR, reselect"
# Where each hop loses packets, not frames.
LOST, LOST_NODES = ("OLSR", "APDR 0.8"), 30
SAID = {True: "more is delivered", False: "less", None: "not decided"}
# What has more of what, where, and who says so.
CLAIMS = [
    ("walking", "OLSR", "APDR 0.2", "goodput", "OLSR delivers more than APDR 0.2, kb/s (Figure 8)"),
    ("walking", "OLSR", "APDR 0.8", "goodput", "OLSR delivers more than APDR 0.8, kb/s (Figure 8)"),
    ("walking", "OLSR", "APDR 0.2", "rtt", "Round trips are shorter under APDR 0.2, ms (Figure 9a)"),
    ("walking", "OLSR", "APDR 0.8", "rtt", "Round trips are shorter under APDR 0.8, ms (Figure 9a)"),
    ("walking", "APDR 0.2", "OLSR", "reordered", "APDR 0.2 reorders more than OLSR, % (Figure 9b)"),
    ("walking", "APDR 0.8", "APDR 0.2", "reordered", "APDR 0.8 reorders more than 0.2, % (Figure 9b)"),
    ("walking", "APDR 0.2", "OLSR", "hops", "Paths of APDR 0.2 are longer, links (Table 2)"),
    ("walking", "APDR 0.8", "OLSR", "hops", "Paths of APDR 0.8 are longer, links (Table 2)"),
    ("walking", "OLSR", "APDR 0.8", "collisions", "Fewer collisions under APDR 0.8, a frame (Figure 10)"),
    ("walking", "APDR 0.8", "OLSR", "invalid", "More invalid routes under APDR 0.8, % (Figure 7)"),
    ("standing", RESERVED, "OLSR", "goodput", "Reserved paths deliver more than OLSR, kb/s (Figure 11)"),
    ("standing", "OLSR", RESERVED, "rtt", "Round trips are shorter on reserved paths, ms (Table 3)"),
    ("standing", "OLSR", RESERVED, "invalid", "Fewer invalid routes with reserved paths, % (Table 3)"),
    ("standing", "OLSR", RESERVED, "collisions", "Fewer collisions on reserved paths, a frame (Table 3)"),
    ("standing", "OLSR", RESERVED, "reordered", "Reserved paths reorder less than OLSR, % (Figure 12)"),
    ("standing", RESERVED, "APDR 0.8", "goodput", "Reserved paths deliver more than APDR 0.8, kb/s"),
    ("walking", HYSTERESIS, "APDR 0.8", "goodput", "Hysteresis gains on APDR 0.8, kb/s (ours)"),
    ("walking", "OLSR", HYSTERESIS, "goodput", "OLSR delivers more than hysteresis, kb/s (ours)"),
    ("walking", RESELECT, RESERVED, "goodput", "Paths that break are better replaced, kb/s (section 8)"),
    ("walking", "OLSR", RESELECT, "goodput", "OLSR delivers more than those, kb/s (section 8)"),
]

Results = dict[tuple[str, int, str, int], Result]


def scenario(network: str, nodes: int, variant: str, seed: int) -> dict[str, Any]:
    """Ten files at a time between nodes drawn at random (section 4 of the report)."""
    return {
        "name": f"{network}-{nodes}",
        "seed": seed,
        "duration": SECONDS,
        "warmup": FIRST,
        "radio": {"rate": "11M", "frame_loss": 0.1},
        "mac": MAC,
        "topology": {"kind": "random", "nodes": nodes, "area": [1000.0, 1000.0], "connected": False},
        "mobility": NETWORKS[network],
        "routing": VARIANTS[variant],
        "traffic": {
            "count": 10,
            "transport": {**TCP, "window_max": WINDOW},
            "bytes": {"pareto": {"mean": 2_000_000, "shape": 2.0}},
            "first": FIRST,
            "gap": [0.0, 5.0],
            "restart": 240.0,
        },
    }


def study() -> Study:
    """Figures 7 to 12 and Tables 2 and 3 of the report."""
    page = Study(
        "APDR in random networks",
        "What do routes by delay, reserved paths and hysteresis do to TCP among nodes that walk and "
        "nodes that stand still, as in sections 6 and 7 of D. Triantafyllidou, K. Al Agha, Improve TCP "
        "Performance in Ad Hoc Networks, with Delay Routing and Path Reservation, 2009?",
        f"{SIZES[0]} to {SIZES[-1]} nodes in a square of 1 km, 11 Mb/s, 10% of the frames damaged by "
        "channel error (the MAC repeats them), walks of 30 s in one direction at up to 2 m/s; ten "
        f"NewReno transfers at a time of Pareto files (mean 2 MB, shape 2) from {FIRST:.0f} s on, the "
        f"next 240 s after one has ended; {SECONDS:.0f} s, seeds {SEEDS[0]} to {SEEDS[-1]}, the same "
        "placements, walks and transfers for every variant; 95% Student-t intervals. The report ran 8 "
        "hours of one pattern, up to 70 nodes. Placements may be disconnected. Widths of intervals are "
        "those of so few seeds; the verdicts are on paired differences, and a statement whose interval "
        f"contains zero is not decided. TCP has at most {WINDOW} segments under way, as on "
        "[the diamond](apdr.md). Without `MULTIHOP_FULL=1` in front of the command it is a shorter version.",
        full=FULL,
    )
    # Seed by seed: whatever is finished are pairs.
    cases = [(net, n, name, seed) for seed in SEEDS for n in SIZES for net in NETWORKS for name in VARIANTS]
    results = dict(zip(cases, kept("apdr-networks", (scenario(*case) for case in cases)), strict=True))
    judge(page, results)
    for network in NETWORKS:
        page.text(f"### Nodes that are {network}")
        page.table(
            ["routing", "nodes", *QUANTITIES],
            [row(results, (network, nodes, name)) for nodes in SIZES for name in VARIANTS],
        )
        for quantity, label in FIGURES.items():
            draw(page, results, network, quantity, label)
    page.text(
        "*kb/s*: the mean of the transfers that began, each over its own time; *all*: what was delivered, "
        "over the run. *Out of order*: arrivals above the number expected, of all that arrived; those "
        "behind a loss count too. *Collisions a frame*: a frame may be lost at many receivers, and HELLOs "
        "and TCs count as frames: all nodes of APDR send TCs that list all neighbours, and costs behind "
        "them. *Retries*: of data frames, channel errors included. *Routing*: what all nodes send of it."
    )
    page.text(
        "**What is as the report says.** Among nodes that walk round trips become shorter under APDR; paths "
        "become longer, reordering more and throughput less, and these three the more so the more nodes "
        "there are. Among nodes that stand still reserved paths deliver more than APDR (from 50 nodes on). "
        "**What is not.** Collisions do not become fewer: paths of more links, and TCs of all nodes with all "
        "neighbours (see *routing*), put more frames into the air. Reserved paths do not deliver more than "
        "OLSR: its routes hardly change where nothing moves, and a path of least delay at one moment has "
        "more links than need be for as long as its flow lasts. Packets without a valid route are few with "
        "either where there are many nodes. **What the report left open.** Among nodes that walk a path that "
        "is held when it breaks stops its flow (see *all*); flows that take another deliver at least as much "
        "as under APDR 0.8. "
        f"Hysteresis against APDR 0.8: {decided(results)}."
    )
    packets_lost(page)
    return page


def number(result: Result, quantity: str) -> float:
    """One quantity of a run."""
    flows: list[dict[str, Any]] = result.data["flows"]
    if quantity == "goodput":
        return float(sum(flow["goodput_kbps"] for flow in flows)) / len(flows)
    if quantity == "reordered":
        return 100.0 * by_segments(flows, lambda flow: flow["out_of_order"] / flow["segments_delivered"])
    if quantity == "invalid":
        return 100.0 * float(result.routing["invalid_routes"] or 0.0)
    if quantity == "total":
        segments = float(sum(flow["segments_delivered"] for flow in flows))
        return 8e-3 * SEGMENT * segments / (SECONDS - FIRST)
    if quantity == "control":
        return 8e-3 * float(sum(result.routing["bytes"].values())) / (SECONDS - FIRST)
    if quantity == "retries":
        return 100.0 * float(result.mac["retries"]) / float(result.mac["frames"]["data"])
    if quantity == "collisions":
        return float(result.mac["collisions"]) / float(sum(result.mac["frames"].values()))
    if quantity == "changes":
        return 60.0 * float(result.routing["route_changes"]) / (SECONDS - FIRST)
    if quantity == "hops":
        return by_segments(flows, lambda flow: flow["mean_hops"])
    timed = [flow for flow in flows if flow["rtt_ms"]]
    return by_segments(timed, lambda flow: flow["rtt_ms"]["mean"])


def by_segments(flows: list[dict[str, Any]], value: Callable[[dict[str, Any]], float]) -> float:
    """The mean of the transfers, each weighted by what it delivered."""
    arrived = [flow for flow in flows if flow["segments_delivered"] > 0]
    weights = [float(flow["segments_delivered"]) for flow in arrived]
    total = math.fsum(weight * value(flow) for weight, flow in zip(weights, arrived, strict=True))
    return total / max(math.fsum(weights), 1.0)


def of(results: Results, case: tuple[str, int, str], quantity: str) -> Interval:
    """One quantity over the seeds."""
    return interval(number(results[case[0], case[1], case[2], seed], quantity) for seed in SEEDS)


def row(results: Results, case: tuple[str, int, str]) -> list[str]:
    """One line of a table."""
    _, nodes, name = case
    return [name, str(nodes), *(str(of(results, case, quantity)) for quantity in QUANTITIES.values())]


def judge(page: Study, results: Results) -> None:
    """The report's findings and ours, by paired differences: in the largest network, then in each."""
    rows = []
    for network, more, less, quantity, claim in CLAIMS:
        found = {n: difference(results, (network, n), (more, less), quantity) for n in SIZES}
        page.gain(f"{claim}, {SIZES[-1]} nodes {network}", found[SIZES[-1]])
        rows.append([f"{claim}, {network}", *(f"{gain}, {word(gain)}" for gain in found.values())])
    page.text("### Differences at every size")
    page.text("Means and intervals of paired differences; a statement holds where it is positive.")
    page.table(["statement", *(f"{nodes} nodes" for nodes in SIZES)], rows)


def difference(
    results: Results, where: tuple[str, int], variants: tuple[str, str], quantity: str
) -> Interval:
    """By how much one routing has more of a quantity than another, seed by seed."""
    pairs = ([number(results[*where, name, seed], quantity) for name in variants] for seed in SEEDS)
    return interval(more - less for more, less in pairs)


def decided(results: Results) -> str:
    """At which sizes hysteresis gains, or loses, among nodes that walk."""
    gains = {n: difference(results, ("walking", n), (HYSTERESIS, "APDR 0.8"), "goodput") for n in SIZES}
    found = {n: is_positive(gain) for n, gain in gains.items()}
    parts = [(said, [str(n) for n in SIZES if found[n] is held]) for held, said in SAID.items()]
    return "; ".join(f"{said} at {', '.join(sizes)} nodes" for said, sizes in parts if sizes)


def packets_lost(page: Study) -> None:
    """The same where each hop loses packets after all that the MAC does."""
    lossy = {"radio": {"rate": "11M", "loss": 0.1}}
    cases = [(name, seed) for name in LOST for seed in SEEDS]
    asked = ({**scenario("walking", LOST_NODES, name, seed), **lossy} for name, seed in cases)
    found = dict(zip(cases, kept("apdr-networks", asked), strict=True))
    page.text(
        "**Which packets the 10% are** the report does not say. If each hop loses 10% of the packets "
        "after all that the MAC does (`loss = 0.1` in place of `frame_loss = 0.1`), NewReno waits for "
        "timeouts most of the time, links carry next to nothing, and routes by delay have nothing to "
        "choose by. The report's few percent of reordering and its throughput speak for errors that the "
        f"MAC repairs. {LOST_NODES} nodes that walk, packets lost:"
    )
    page.table(
        ["routing", *QUANTITIES],
        [
            [
                name,
                *(
                    str(interval(number(found[name, seed], of) for seed in SEEDS))
                    for of in QUANTITIES.values()
                ),
            ]
            for name in LOST
        ],
    )


def draw(page: Study, results: Results, network: str, quantity: str, label: str) -> None:
    """One quantity over the number of nodes."""
    figure, axes = report.new_figure("nodes", label)
    for offset, name in enumerate(VARIANTS):
        points = [of(results, (network, nodes, name), quantity) for nodes in SIZES]
        axes.errorbar(
            [nodes + 0.8 * (offset - len(VARIANTS) // 2) for nodes in SIZES],
            [point.mean for point in points],
            yerr=[0.0 if math.isinf(point.half) else point.half for point in points],
            color=COLOURS[name],
            marker="o",
            markersize=4,
            capsize=3,
            label=name,
        )
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=8)
    page.figure(f"apdr-{network}-{quantity}", figure, f"{label.capitalize()}, nodes {network}.")
