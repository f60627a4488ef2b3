"""Delay routing and path reservation: how TCP fares over routes chosen by average delay (APDR)."""

from __future__ import annotations

from typing import Any

from multihop.papers.declare import (
    CHANGES,
    GOODPUT,
    HOPS,
    INVALID,
    OSCILLATIONS,
    RTT,
    Axis,
    Claim,
    Effort,
    Experiment,
    Metric,
    Plot,
    Unstated,
    axis,
)

PAPER = "APDR"
WEIGHTS = (0.2, 0.4, 0.6, 0.8)
OLSR = {"protocol": "olsr", "count_changes": True}
REORDERED = Metric("reordered", "segments out of order", "flows.*.out_of_order")
RADIO = {"rate": "11M"}
UNSTATED = (
    Unstated(
        "the range and power of the radios",
        "250 m, 550 m sensed",
        "OPNET's model is not described; the distances fit these ranges",
    ),
    Unstated(
        "RTO minimum, window", "RFC 6298 and 64 segments", "the text refers to another for TCP's parameters"
    ),
)
TCP = {"kind": "newreno", "preset": "rfc"}
BASE: dict[str, Any] = {
    "radio": RADIO,
    "mac": {"flavour": "standard", "rts_threshold": "off"},
    "routing": {"protocol": "olsr"},
}
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
    axes=[axis("weight", "routing.weight", WEIGHTS, "weight of the latest delay")],
    metrics=(GOODPUT, REORDERED, RTT, CHANGES, OSCILLATIONS),
    quick=Effort(2),
    full=Effort(10),
    published={"reordered": {(0.2,): 551.0, (0.4,): 1121.0, (0.6,): 5052.0, (0.8,): 29081.0}},
    claims=[
        Claim(
            "weight 0.8 reorders more segments than 0.2",
            "reordered",
            {"weight": 0.8},
            {"weight": 0.2},
            at_least=1.0,
        ),
        Claim(
            "the route changes more often with weight 0.8",
            "changes",
            {"weight": 0.8},
            {"weight": 0.2},
            at_least=1.0,
        ),
        Claim("weight 0.8 delivers less than 0.2", "goodput", {"weight": 0.8}, {"weight": 0.2}, at_most=1.0),
    ],
    unstated=(
        *UNSTATED,
        Unstated(
            "where S and D stand",
            "as in Figure 2: rows 400 m apart, neighbours 200 m",
            "the figure's measures",
        ),
    ),
    plots=(
        Plot("line", "goodput", x="weight", caption="Throughput over the weight."),
        Plot(
            "line",
            "reordered",
            x="weight",
            caption="Segments out of order; diamonds are the paper's (of 1800 s).",
        ),
        Plot("time", "cwnd", by="weight", panel="weight", caption="Congestion window over time, seed 1."),
    ),
)
# Section 4: ten connections at a time, each a Pareto file, the next after two MSL.
TRAFFIC = {
    "count": 10, "app": "file", "transport": TCP, "bytes": {"pareto": {"mean": 2_000_000, "shape": 2.0}},
    "first": 50.0, "gap": [0.0, 5.0], "restart": 240.0,
}  # fmt: skip
NODES = Axis("nodes", {n: {"topology.nodes": n} for n in range(10, 71, 10)}, "nodes")
WALK: dict[str, Any] = {
    **BASE,
    "duration": 28_800.0,
    "warmup": 50.0,
    "radio": {**RADIO, "loss": 0.10},
    "topology": {"kind": "random", "nodes": 50, "area": [1000.0, 1000.0]},
    "mobility": {"kind": "random-walk", "speed_max": 2.0, "leg_mean": 30.0},
    "traffic": TRAFFIC,
}
ROUTINGS = Axis(
    "routing",
    {
        "olsr": {"routing": OLSR},
        "apdr 0.2": {"routing": {"protocol": "apdr", "weight": 0.2}},
        "apdr 0.8": {"routing": {"protocol": "apdr", "weight": 0.8}},
    },
    "",
)
MEASURED = (
    GOODPUT,
    CHANGES,
    RTT,
    REORDERED,
    HOPS,
    INVALID,
    OSCILLATIONS,
    Metric("collisions", "frames lost to others", "mac.collisions"),
)
FEW = Effort(3, {"duration": 1000.0}, {"nodes": [10, 30, 50]})
FULL = Effort(4)
HOURS = Unstated(
    "8 hours of one placement, or several",
    "8 hours of four seeds",
    "one placement says nothing about the next",
)
MOBILE = Experiment(
    id="apdr-mobile",
    paper=PAPER,
    place="Figures 7 to 10, Table 2, section 6",
    title="ten files at a time among walking nodes",
    found="APDR has up to 1% more invalid routes than OLSR, longer paths, up to 22% (weight 0.2) and 37% (0.8) smaller round trips, fewer "
    "collisions, more reordering, and less throughput, the less the denser the network.",
    scenario=WALK,
    axes=[NODES, ROUTINGS],
    metrics=MEASURED,
    quick=FEW,
    full=FULL,
    published={"hops": {}},
    claims=[
        Claim(
            "OLSR delivers more than APDR",
            "goodput",
            {"routing": "olsr"},
            {"routing": ["apdr 0.2", "apdr 0.8"]},
            at_least=1.0,
            each={"nodes": [30, 50]},
        ),
        Claim(
            "round trips are smaller with APDR",
            "rtt",
            {"routing": "apdr 0.8"},
            {"routing": "olsr"},
            at_most=1.0,
            each={"nodes": [30, 50]},
        ),
        Claim(
            "APDR reorders more",
            "reordered",
            {"routing": "apdr 0.8"},
            {"routing": "olsr"},
            at_least=1.0,
            each={"nodes": [30, 50]},
        ),
        Claim(
            "APDR's paths are longer",
            "hops",
            {"routing": "apdr 0.2"},
            {"routing": "olsr"},
            at_least=1.0,
            each={"nodes": [30, 50]},
        ),
    ],
    unstated=(*UNSTATED, HOURS),
    plots=(
        Plot("line", "goodput", x="nodes", by="routing", caption="Throughput."),
        Plot("line", "rtt", x="nodes", by="routing", caption="Round-trip time."),
        Plot("line", "invalid", x="nodes", by="routing", caption="Packets without a valid route."),
    ),
)
STATIC = Experiment(
    id="apdr-static",
    paper=PAPER,
    place="Figures 11 and 12, Table 3, section 7",
    title="reserved paths among nodes that stand still",
    found="With a path reserved for each flow throughput grows notably, the more the denser the network; round trips of 60 to 150 ms against 60 to "
    "420 ms; less reordering.",
    scenario={**WALK, "mobility": {"kind": "static"}},
    axes=[
        NODES,
        Axis(
            "routing",
            {"olsr": {"routing": OLSR}, "apdr-pr": {"routing": {"protocol": "apdr-pr"}}},
            "",
        ),
    ],
    metrics=MEASURED,
    quick=FEW,
    full=FULL,
    claims=[
        Claim(
            "reserved paths deliver more than OLSR",
            "goodput",
            {"routing": "apdr-pr"},
            {"routing": "olsr"},
            at_least=1.0,
            each={"nodes": [30, 50]},
        ),
        Claim(
            "their round trips are smaller",
            "rtt",
            {"routing": "apdr-pr"},
            {"routing": "olsr"},
            at_most=1.0,
            each={"nodes": [30, 50]},
        ),
        Claim(
            "they reorder less",
            "reordered",
            {"routing": "apdr-pr"},
            {"routing": "olsr"},
            at_most=1.0,
            each={"nodes": [30, 50]},
        ),
    ],
    unstated=(*UNSTATED, HOURS),
    plots=(
        Plot("line", "goodput", x="nodes", by="routing", caption="Throughput."),
        Plot("line", "reordered", x="nodes", by="routing", caption="Segments out of order, mean of a flow."),
    ),
)
PR_MOBILE = Experiment(
    id="apdr-pr-mobile",
    paper=PAPER,
    place="section 8, left open",
    title="reserved paths among walking nodes",
    found="The paper leaves it open: a reserved path breaks when nodes move. Held until it comes back, or chosen anew.",
    scenario=WALK,
    axes=[
        NODES,
        Axis(
            "routing",
            {
                "olsr": {"routing": OLSR},
                **{
                    f"apdr-pr, {word}": {"routing": {"protocol": "apdr-pr", "on_break": word}}
                    for word in ("hold", "reselect")
                },
            },
            "",
        ),
    ],
    metrics=MEASURED,
    quick=FEW,
    full=FULL,
    unstated=UNSTATED,
    plots=(Plot("line", "goodput", x="nodes", by="routing", caption="Throughput."),),
)
HYSTERESIS = Experiment(
    id="apdr-hysteresis",
    paper=PAPER,
    place="ours",
    title="does a threshold for switching do what reservation does?",
    found="A route is left only for one that is better by a share of its delay. Does that give a mobile network what reserved paths give a static one?",
    scenario=WALK,
    axes=[
        NODES,
        Axis(
            "routing",
            {
                "olsr": {"routing": OLSR},
                "apdr": {"routing": {"protocol": "apdr"}},
                **{
                    f"apdr, {share:.0%}": {"routing": {"protocol": "apdr", "hysteresis": share}}
                    for share in (0.2, 0.5)
                },
            },
            "",
        ),
    ],
    metrics=MEASURED,
    quick=FEW,
    full=FULL,
    unstated=UNSTATED,
    plots=(Plot("line", "goodput", x="nodes", by="routing", caption="Throughput."),),
)
EXPERIMENTS = (OSCILLATION, MOBILE, STATIC, PR_MOBILE, HYSTERESIS)
