"""Value of each piece of `mesh`: the transport with a piece taken out, or a constant changed."""

from __future__ import annotations

from collections.abc import Mapping

from multihop_papers.declare import GAUNTLET, GOODPUT, INSTANT, Axis, Effort, Settings
from multihop_papers.gauntlet.catalogue import DELAY, LOGARITHMS
from multihop_papers.gauntlet.networks import MAC, START, TRAINING
from multihop_papers.study import Experiment

NETWORKS = (
    "chain 1",
    "chain 4",
    "chain 8",
    "cross",
    "grid",
    "random",
    "moving, AODV",
    "losses",
)
CHANGES: Mapping[str, Settings] = {
    "mesh": {},
    "no correction": {"correction": 0.0},
    "no delay allowed": {"delay": 0.0},
    "an ACK for each segment": {"ack_every": 1},
    "an ACK for 4 segments": {"ack_every": 4},
    "backlog 0.1": {"backlog": 0.1},
    "backlog 1.6": {"backlog": 1.6},
    "gain 0.2": {"gain": 0.2},
}
"""Settings of `mesh` without a piece, or with another constant."""
PIECES = Experiment(
    id="mesh-pieces",
    paper=GAUNTLET,
    place="training half",
    title="what each piece of mesh is worth",
    found="`mesh` with one piece taken out or one constant changed, in networks of the training half.",
    scenario={
        "warmup": START,
        "mac": MAC,
        "topology": {"kind": "chain", "hops": 1},
        "flow": [{"transport": "mesh", "start": START}],
    },
    axes=[
        Axis("network", {name: TRAINING[name] for name in NETWORKS}),
        Axis(
            "change",
            {name: {"flow.*.transport": {"kind": "mesh", **keys}} for name, keys in CHANGES.items()},
        ),
    ],
    metrics=(GOODPUT, LOGARITHMS, INSTANT, DELAY),
    quick=Effort(3, {"duration": START + 60.0}),
    full=Effort(10, {"duration": START + 100.0}),
    spread="change",
    sheet="mesh-pieces",
)
