"""ADTCP where nothing moves: a timeout is no disconnection there, and it must not cost what NewReno's does not."""

from __future__ import annotations

from multihop_papers.declare import GOODPUT, RTX, Axis, Effort, Unstated, versus
from multihop_papers.papers import across
from multihop_papers.study import Experiment

STANDING = ("chain 4", "chain 8", "cross", "grid")
STAMPED = {"kind": "newreno", "timestamps": 1e-6}
KINDS = {"newreno": "newreno", "newreno, timestamps": STAMPED, "adtcp": "adtcp", "adtcp, window 8": {"kind": "adtcp", "window_max": 8}}
STATIC = Experiment(
    id="adtcp-static",
    paper="ADTCP",
    place="sections 2.1 and 4.1, ours",
    title="networks without movement",
    found="The paper has nodes at rest with streams and channel errors alone. Here NewReno and ADTCP are compared where all losses are those of "
    "hidden stations and false route failures, with windows of up to 64 segments. After a timeout ADTCP restores the window that it had (adtcp-4).",
    scenario=across.BASE,
    axes=[
        Axis("layout", {name: across.LAYOUTS.values[name] for name in STANDING}, ""),
        Axis("transport", {name: {"flow.*.transport": kind} for name, kind in KINDS.items()}),
    ],
    metrics=(GOODPUT, RTX),
    quick=Effort(2, {"duration": 120.0}),
    full=Effort(12, looks=6),
    claims=[
        versus(
            "ADTCP delivers at least 95% of what NewReno with timestamps delivers",
            "goodput",
            "adtcp",
            "newreno, timestamps",
            at_least=0.95,
            each={"layout": list(STANDING)},
        ),
    ],
    unstated=(Unstated("the routing", "AODV as in ns-2 with MAC feedback", "the paper's simulations have DSR"),),
    spread="transport",
)
