"""Average path-delay routing and reserved paths in random networks that walk and that stand still."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import multihop
from apdr import FULL, MAC, OLSR, TCP
from multihop import Result, report
from multihop.report import BLUE, GREEN, ORANGE, SKY
from multihop.stats import Interval, interval
from study import Study

# A short version; MULTIHOP_FULL=1 is an hour, ten seeds, and every size.
SECONDS = 3600.0 if FULL else 200.0
SEEDS = range(1, 11 if FULL else 4)
SIZES = tuple(range(10, 71, 10)) if FULL else (20, 50)
FIRST = 50.0
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
    "RTT, ms": "rtt",
    "out of order, %": "reordered",
    "links": "hops",
    "invalid routes, %": "invalid",
    "collisions a frame": "collisions",
    "route changes a minute": "changes",
}

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
            "transport": TCP,
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
        "hours of one pattern. `MULTIHOP_FULL=1` in front of the command makes it an hour, ten seeds and "
        "seven sizes. Placements may be disconnected. Widths of intervals are those of so few seeds; the "
        "verdicts are on paired differences.",
    )
    cases = [(net, n, name, seed) for net in NETWORKS for n in SIZES for name in VARIANTS for seed in SEEDS]
    results = dict(zip(cases, multihop.run_all(scenario(*case) for case in cases), strict=True))
    judge(page, results)
    for network in NETWORKS:
        page.text(f"### Nodes that are {network}")
        page.table(
            ["routing", "nodes", *QUANTITIES],
            [
                [
                    name,
                    str(nodes),
                    *(str(of(results, (network, nodes, name), q)) for q in QUANTITIES.values()),
                ]
                for nodes in SIZES
                for name in VARIANTS
            ],
        )
        for quantity, label in [("goodput", "throughput (kb/s)"), ("rtt", "round trip (ms)")]:
            draw(page, results, network, quantity, label)
    page.text(
        "*kb/s*: the mean of the transfers that began. *Out of order*: arrivals above the number "
        "expected, of all that arrived; those behind a loss count too. *Collisions a frame*: a frame may "
        "be lost at many receivers, and HELLOs and TCs count as frames: all nodes of APDR send TCs that "
        "list all neighbours, and costs behind them."
    )
    page.text(
        "**Which packets the 10% are** the report does not say. If each hop loses 10% of the packets "
        "after all that the MAC does (`loss = 0.1` in place of `frame_loss = 0.1`), NewReno waits for "
        "timeouts most of the time: a third of the segments come out of order under every routing, links "
        "carry next to nothing, and routes by delay have nothing to choose by. The report's few percent "
        "of reordering and its throughput speak for errors that the MAC repairs."
    )
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
    """The report's findings, by paired differences in the largest network."""
    nodes = SIZES[-1]
    for network, more, less, quantity, claim in [
        ("walking", "OLSR", "APDR 0.8", "goodput", "OLSR delivers more than APDR 0.8 (Figure 8), kb/s"),
        ("walking", "OLSR", "APDR 0.8", "rtt", "Round trips are shorter under APDR 0.8 (Figure 9a), ms"),
        ("walking", "APDR 0.8", "OLSR", "reordered", "APDR 0.8 reorders more (Figure 9b), % of segments"),
        ("walking", "APDR 0.8", "OLSR", "hops", "Paths of APDR are longer (Table 2), links"),
        ("walking", "OLSR", "APDR 0.8", "collisions", "Fewer collisions under APDR (Figure 10), a frame"),
        ("standing", "APDR-PR", "OLSR", "goodput", "Reserved paths deliver more than OLSR (Figure 11), kb/s"),
        ("standing", "OLSR", "APDR-PR", "rtt", "Round trips are shorter on reserved paths (Table 3), ms"),
        (
            "standing",
            "OLSR",
            "APDR-PR",
            "reordered",
            "Reserved paths reorder less (Figure 12), %",
        ),
        (
            "walking",
            "APDR 0.8, hysteresis",
            "APDR 0.8",
            "goodput",
            "Hysteresis gains throughput, kb/s",
        ),
    ]:
        pairs = [[number(results[network, nodes, name, s], quantity) for name in (more, less)] for s in SEEDS]
        difference = interval(a - b for a, b in pairs)
        page.verdict(f"{claim}, {nodes} nodes {network} (by {difference})", difference.low > 0)


def draw(page: Study, results: Results, network: str, quantity: str, label: str) -> None:
    """One quantity over the number of nodes."""
    figure, axes = report.new_figure("nodes", label)
    for offset, name in enumerate(VARIANTS):
        points = [of(results, (network, nodes, name), quantity) for nodes in SIZES]
        axes.errorbar(
            [nodes + 0.5 * (offset - len(VARIANTS) // 2) for nodes in SIZES],
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
