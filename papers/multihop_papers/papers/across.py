"""Comparisons across the papers, which nobody has published."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from multihop_papers.declare import FAIRNESS, GOODPUT, HOPS, INSTANT, RTX, Axis, Effort, Metric, Plot, Unstated, axis
from multihop_papers.papers.tcp_ap import paced, transport
from multihop_papers.study import Experiment

PAPER = "Across papers"
EVERY = [
    "reno",
    "newreno",
    "tcp-2",
    "tcp-3",
    "tcp-uc",
    "tcp-cwl",
    "tcp-ap",
    "tcp-ap+da",
    "elfn",
    "adtcp",
    "tpa-2",
    "tpa-3",
    "tpa*-2",
    "tpa*-3",
    "tpa-ap-2",
    "tpa-ap-3",
    "tpa*-ap-3",
    "mesh",
]
TODAY = ["cubic", "bbr"]
BEST = ["newreno", "tcp-3", "tcp-ap", "elfn", "adtcp", "tpa*-3", "tpa*-ap-3", "mesh"]
ENERGY = Metric("energy", "energy, J per MB", "energy.joules_per_mb")
OURS = Unstated("constants of the transports", "the default of each", "one table needs one ground: AODV as in ns-2 with MAC feedback")


def between(count: int, start: float = 20.0) -> list[dict[str, Any]]:
    """Flows between separate pairs of nodes."""
    return [{"from": 2 * i, "to": 2 * i + 1, "transport": "newreno", "start": start} for i in range(count)]


def along(count: int) -> dict[str, Any]:
    """Flows along the pairs of a layout."""
    return {"flow": [{"transport": "newreno", "start": 20.0}] * count}


RANDOM = {"topology": {"kind": "random", "nodes": 50, "area": [1000.0, 1000.0]}}
WALKING = {"mobility": {"kind": "random-waypoint", "speed": [1.0, 9.0], "pause": 20.0}}
BASE: dict[str, Any] = {
    "duration": 320.0,
    "warmup": 20.0,
    "energy": {},
    "topology": {"kind": "chain", "hops": 4},
    "routing": {"protocol": "aodv"},
    **along(1),
}
LAYOUTS = Axis(
    "layout",
    {
        "chain 4": {},
        "chain 8": {"topology.hops": 8},
        "cross": {"topology": {"kind": "cross"}, **along(2)},
        "grid": {"topology": {"kind": "grid"}, **along(6)},
        "random": {**RANDOM, "flow": between(5)},
        "mobile": {**RANDOM, **WALKING, "flow": between(5)},
    },
    "",
)
TRANSPORTS = Experiment(
    id="all-transports",
    paper=PAPER,
    place="ours",
    title="every transport in the same networks",
    found="Goodput, fairness, retransmissions and energy of every transport over a chain, a cross, a grid, at random, and among moving nodes.",
    scenario=BASE,
    axes=[LAYOUTS, paced([*EVERY, *TODAY])],
    metrics=(GOODPUT, FAIRNESS, INSTANT, RTX, ENERGY),
    quick=Effort(4, {"duration": 60.0}),
    full=Effort(10),
    unstated=(OURS,),
    plots=(
        Plot("bar", "goodput", x="transport", panel="layout", apart=True, caption="Aggregate goodput."),
        Plot("bar", "energy", x="transport", panel="layout", apart=True, caption="Energy of all nodes for each MB delivered."),
    ),
)
PROTOCOLS = Axis(
    "routing",
    {
        "aodv": {"routing": {"protocol": "aodv"}},
        "dsr": {"routing": {"protocol": "dsr"}},
        "olsr": {"routing": {"protocol": "olsr"}},
        "apdr": {"routing": {"protocol": "apdr"}},
    },
    "",
)
# As dense as 50 nodes on a square kilometre, whatever their number.
NODES = Axis("nodes", {n: {"topology.nodes": n, "topology.area": [(n * 20_000.0) ** 0.5] * 2} for n in (10, 25, 50, 100)}, "nodes")
ROUTING = Experiment(
    id="all-routing",
    paper=PAPER,
    place="ours",
    title="the best transports over every routing protocol",
    found="Five flows among nodes that move at 1 to 9 m/s, 10 to 100 nodes at one density.",
    scenario={**BASE, **RANDOM, **WALKING, "flow": between(5)},
    axes=[NODES, PROTOCOLS, paced(BEST)],
    metrics=(GOODPUT, INSTANT, RTX, HOPS),
    quick=Effort(3, {"duration": 50.0}, {"nodes": [10, 25, 50], "transport": ["newreno", "elfn", "tpa*-3"]}),
    full=Effort(6),
    unstated=(OURS,),
    plots=(Plot("line", "goodput", x="nodes", by="transport", panel="routing", caption="Aggregate goodput."),),
)
THREE = ("tpa*-3", "tcp-ap", "newreno")
MIXED = Experiment(
    id="mixed",
    paper=PAPER,
    place="TPA section 6, left open",
    title="TPA, TCP-AP and NewReno in one network",
    found="Who starves whom when six flows of three kinds share a grid, beside six flows of one kind.",
    scenario={**BASE, "topology": {"kind": "grid"}, **along(6)},
    axes=[
        Axis(
            "flows",
            {
                "mixed": {f"flow.{i}.transport": transport(THREE[i % 3]) for i in range(6)},
                **{f"all {name}": {"flow.*.transport": transport(name)} for name in THREE},
            },
            "flows",
        )
    ],
    metrics=(
        GOODPUT,
        FAIRNESS,
        INSTANT,
        *(Metric(f"flow{i + 1}", f"flow {i + 1} ({THREE[i % 3]} when mixed), kb/s", f"flows.{i}.goodput_kbps") for i in range(6)),
    ),
    quick=Effort(4, {"duration": 120.0}),
    full=Effort(15),
    unstated=(OURS,),
    plots=(Plot("bar", "goodput", x="flows", caption="Aggregate goodput."), Plot("bar", "fairness", x="flows", caption="Jain's index.")),
)
SERVER, GATEWAY = "server", 4
MESH, WIRE = {"from": 0, "to": GATEWAY}, {"from": GATEWAY, "to": SERVER}


def backwards(flow: dict[str, Any]) -> dict[str, Any]:
    """Flow with source and destination exchanged."""
    return {**flow, "from": flow["to"], "to": flow["from"]}


def whole(kind: str) -> list[dict[str, Any]]:
    """One connection from end to end."""
    return [{"from": 0, "to": SERVER, "transport": transport(kind)}]


def split(kind: str) -> list[dict[str, Any]]:
    """A trunk of this kind in the mesh, one of NewReno in the wire."""
    return [{**WIRE, "transport": "newreno"}, {**MESH, "transport": transport(kind)}]


CONNECTIONS = {
    **{kind: whole(kind) for kind in ("newreno", "tcp-3", "tcp-ap", "mesh")},
    **{f"{kind}, split": split(kind) for kind in ("newreno", "tcp-ap", "tpa*-3", "tpa*-ap-3", "mesh")},
}


def downwards(flows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Flows from the server: the trunk in the wire carries the data first."""
    return [backwards(flow) for flow in reversed(flows)]


def spliced(flows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The trunk that carries the data last passes on what the other delivers."""
    return [{**flows[0], "app": "relay", "of": 1}, flows[1]] if len(flows) > 1 else flows


def gateway(id: str, title: str, way: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> Experiment:
    """Every kind of connection over a mesh and a wire."""
    connections = {name: {"flow": spliced(way(flows))} for name, flows in CONNECTIONS.items()}
    return Experiment(
        id=id,
        paper=PAPER,
        place="TPA section 6, left open",
        title=title,
        found="Four hops to a gateway, and a wire of 10 Mb/s to a server. One TCP runs from end to end, or a trunk of its own in the "
        "mesh and NewReno in the wire, spliced at the gateway. "
        "Sent again: both trunks together.",
        scenario={**BASE, "host": [{"gateway": GATEWAY, "name": SERVER}]},
        axes=[axis("delay", "host.0.delay", [0.001, 0.02, 0.1], "delay of the wire, s"), Axis("connection", connections)],
        metrics=(Metric("goodput", "goodput from end to end, kb/s", "flows.0.goodput_kbps"), RTX, ENERGY),
        quick=Effort(4, {"duration": 80.0}),
        full=Effort(15),
        unstated=(OURS,),
        plots=(Plot("bar", "goodput", x="delay", by="connection", caption="Goodput from end to end."),),
    )


UP = gateway("gateway", "a chain that ends in a wired link, up to the server", list)
DOWN = gateway("gateway-down", "a chain that ends in a wired link, down from the server", downwards)
EXPERIMENTS = (TRANSPORTS, ROUTING, MIXED, UP, DOWN)
