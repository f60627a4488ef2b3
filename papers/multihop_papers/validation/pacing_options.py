"""Effect of each option of adaptive pacing."""

from __future__ import annotations

from typing import Any

from multihop_papers.declare import FAIRNESS, GOODPUT, INSTANT, Axis, Effort, versus
from multihop_papers.measures import DROPS, frame, ratio
from multihop_papers.study import Study
from multihop_papers.validation.pacing import BASE, CROSS, LENGTHS
from multihop_papers.validation.pacing import PAPER as SOURCE
from multihop_papers.validation.part import Page

PAGE = Page("pacing-options", SOURCE)
PAPERS = "the paper's"
PAPER: dict[str, Any] = {"kind": "tcp-ap", "rules": "paper"}
OPTIONS: dict[str, dict[str, Any]] = {
    PAPERS: {},
    "alpha = 0": {"alpha": 0.0},
    "alpha = 0.9": {"alpha": 0.9},
    "history = 1: no variation": {"history": 1},
    "history = 10": {"history": 10},
    "history = 200": {"history": 200},
    "reuse_hops = 2": {"reuse_hops": 2},
    "reuse_hops = 3": {"reuse_hops": 3},
    "reuse_hops = 5": {"reuse_hops": 5},
    'cov = "mad"': {"cov": "mad"},
    'clock = "synchronised" (tcp-ap-sync)': {"clock": "synchronised"},
    'ap_rtt = "timed"': {"ap_rtt": "timed"},
    "ap_across_timeouts = true": {"ap_across_timeouts": True},
    "pacing_k = 2": {"pacing_k": 2},
    'pacing_k = 2, pacing_k_mean = "scaled"': {"pacing_k": 2, "pacing_k_mean": "scaled"},
    "delayed ACKs (+da)": {"kind": "tcp-ap+da"},
    '+da, ap_rtt = "timed"': {"kind": "tcp-ap+da", "ap_rtt": "timed"},
    "dynamic ACKs (+dyn)": {"kind": "tcp-ap+dyn"},
    "+dyn, ack_delay = 0.3": {"kind": "tcp-ap+dyn", "ack_delay": 0.3},
    "window_max = 4": {"window_max": 4},
    'preset = "rfc"': {"preset": "rfc"},
}
NETWORKS: dict[str, dict[str, Any]] = {"4 hops": {"topology.hops": 4}, "8 hops": {"topology.hops": 8}, "cross": CROSS}
WITHOUT: dict[str, dict[str, Any]] = {
    "window h/4": {"kind": "tcp-cwl"},
    "TCP-AP, same clock": {"kind": "tcp-ap-sync"},
    "TCP-AP": PAPER,
    "TCP-AP, no variation": PAPER | {"history": 1},
}


def changes(study: Study) -> None:
    """Text of the changes of goodput by each option, seed by seed."""
    rows = []
    for option in OPTIONS:
        found = (ratio(study, "goodput", (name, option), (name, PAPERS)) for name in NETWORKS)
        rows.append([option, *(f"{100 * (one.mean - 1):+.1f} ± {100 * one.half:.1f}" for one in found)])
    study.table(frame(["option", *(f"{name}, %" for name in NETWORKS)], rows[1:]), "Change of goodput")


SINGLE = PAGE.experiment(
    "pacing-options",
    "what each option changes",
    "What does each option change, and by how much? One at a time, against the paper's settings, over the chains and the cross of the "
    "study of pacing, 220 s each, the first 20 s not counted. `pacing_k` is shown for what it does to TCP; it was made for TPA.",
    Effort(5),
    scenario=BASE,
    axes=[Axis("network", NETWORKS), Axis("option", {name: {"flow.*.transport": PAPER | keys} for name, keys in OPTIONS.items()})],
    metrics=(GOODPUT, DROPS, FAIRNESS, INSTANT),
    spread="network",
    claims=[
        versus(
            f"The mean absolute deviation stands in for the standard deviation: at least 95% of the goodput, {name}",
            "goodput",
            'cov = "mad"',
            PAPERS,
            axis="option",
            at={"network": name},
            at_least=0.95,
        )
        for name in NETWORKS
    ],
    more=changes,
)
VARIATION = PAGE.experiment(
    "pacing-variation",
    "a paced flow alone, with and without the variation",
    "What keeps a paced flow that is alone below a clamped one? With a history of one round trip there is no variation, so that the gap "
    "is the delay of four hops and nothing more. It is one factor, 1 + 2 cov, that keeps TCP-AP from passing the clamped window on a "
    "chain without other traffic, with one clock or two. Round trips vary by 0.22 to 0.25 although nothing competes (series `cov`), "
    "because some ACKs meet data of their own flow. The gap is half as long again as the delay requires. "
    "Without that factor TCP-AP "
    "passes the window from six hops on, and loses 8 to 14 packets in 1000; over four hops data and ACKs meet all the more.",
    Effort(5),
    scenario=BASE,
    axes=[LENGTHS, Axis("transport", {name: {"flow.0.transport": kind} for name, kind in WITHOUT.items()})],
    metrics=(GOODPUT, DROPS),
    spread="transport",
)
EXPERIMENTS = (SINGLE, VARIATION)
