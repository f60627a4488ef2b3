"""ElRakabawy, Klemm, Lindemann: TCP with Adaptive Pacing; section 5, several flows at once."""

from __future__ import annotations

from typing import Any

from multihop_papers.declare import FAIRNESS, GOODPUT, Axis, Claim, Document, Effort, Metric, Plot, Unstated, axis, versus
from multihop_papers.papers import findings
from multihop_papers.papers.tcp_ap import BARS, BASE, BASIC, FLOW_GOODPUTS, PAPER, TWO, VARIANTS, paced, steady
from multihop_papers.papers.tpa_simulation import by_range
from multihop_papers.reasons import left_open, not_in_ns2
from multihop_papers.study import Experiment


def fairer(by: str, at_least: float, **more: Any) -> Claim:
    """TCP-AP against NewReno, Jain's index."""
    claim = f"TCP-AP is fairer than NewReno{by}"
    return versus(claim, "fairness", "tcp-ap", "newreno", at_least=at_least, **more)


def goodputs(document: Document) -> list[float]:
    """The goodput of each flow."""
    return [flow["goodput_kbps"] for flow in document["flows"]]


def lesser_share(document: Document) -> float:
    """Share of both flows' goodput that the lesser one gets."""
    return min(goodputs(document)) / sum(goodputs(document))


def outer_multiple(document: Document) -> float | None:
    """First and last goodput as a multiple of the others' sum; None where the others deliver nothing."""
    first, *others, last = goodputs(document)
    return (first + last) / sum(others) if sum(others) else None


LESSER = Metric("lesser", "share of the lesser flow, %", lesser_share, 100.0)
OUTER = Metric("outer", "FTP 1 and 6 together, times the other four", outer_multiple)
PARALLEL = steady(
    "ap-parallel",
    "Figures 16 and 17, section 5.1.2",
    "two flows side by side",
    "One NewReno flow takes nearly all, the other gets about 10%; with TCP-AP both get the same, and together more than with NewReno.",
    scenario={"topology": {"kind": "parallel"}, "flow": TWO, "record": {"every": 1.0, "what": ["goodput", "cov"]}},
    claims=[
        Claim("TCP-AP is fair: Jain's index above 0.99", "fairness", {"transport": ["tcp-ap"]}, at_least=99.0),
        versus("TCP-AP delivers more than NewReno", "goodput", "tcp-ap", "newreno"),
        fairer(" by a quarter", 1.25, reason=not_in_ns2(findings.alternating, "validation-ns2-layouts: parallel, AODV")),
    ],
    metrics=(GOODPUT, FAIRNESS, *FLOW_GOODPUTS, LESSER),
    published={"lesser": {("newreno",): 10.0}},
    plots=(Plot("time", "cov", by="transport", caption="Coefficient of variation over time, seed 1 (Figure 17)."), *BARS),
)
ASYMMETRIC = steady(
    "ap-asymmetric",
    "Figure 18, section 5.1.3",
    "a flow of 4 hops beside one of 10",
    "With NewReno the shorter flow takes nearly all; TCP-AP is far fairer, TCP-AP with delayed ACKs fairer still, at slightly less aggregate goodput.",
    scenario={"topology": {"kind": "asymmetric-parallel"}, "flow": TWO},
    claims=[
        fairer("", 1.1),
        versus("delayed ACKs make TCP-AP fairer still", "fairness", "tcp-ap+dyn", "tcp-ap"),
        versus(
            "NewReno delivers more in all than TCP-AP",
            "goodput",
            "newreno",
            "tcp-ap",
            reason=left_open(findings.newreno_alone, "ap-asymmetric: both with dynamic ACKs", "ap-asymmetric: without"),
        ),
    ],
    plots=BARS,
)
ONE_RANGE = steady(
    "ap-grid",
    "Figures 19 and 20, section 5.1.4",
    "six flows on a grid",
    "With NewReno FTP 1 and FTP 6 are the only active flows; with delayed ACKs they get over 12 times what the other four "
    "get. With TCP-AP none starves, although FTP 1 and 6 still get more. "
    "In a symmetric layout TCP-AP is perfectly fair.",
    scenario={"topology": {"kind": "grid"}, "flow": [{"transport": "newreno"}] * 6},
    axes=[axis("layout", "topology.kind", ["grid", "grid-symmetric"]), paced(VARIANTS)],
    metrics=(GOODPUT, FAIRNESS, *(Metric(f"ftp{n}", f"FTP {n}, kb/s", f"flows.{n - 1}.goodput_kbps") for n in range(1, 7)), OUTER),
    published={"outer": {("grid", "newreno+dyn"): 12.0}},
    claims=[
        fairer(" by half", 1.5, at={"layout": "grid"}, reason=not_in_ns2(findings.grid_starves_less, "validation-ns2-layouts: grid, AODV")),
        Claim(
            "TCP-AP is perfectly fair in the symmetric layout: above 0.95",
            "fairness",
            {"transport": "tcp-ap", "layout": "grid-symmetric"},
            at_least=95.0,
        ),
    ],
    plots=(
        Plot("bar", "goodput", x="layout", by="transport", caption="Aggregate goodput."),
        Plot("bar", "fairness", x="layout", by="transport", caption="Jain's index."),
    ),
    unstated=(
        Unstated(
            "the symmetric layout", "the lines of a hexagram", "the paper does not show it: positions of all six flows are alike here"
        ),
    ),
)
GRID = by_range(ONE_RANGE)
DENSITY = steady(
    "ap-density",
    "Figure 7, section 4.3",
    "more nodes on the same path",
    "Nodes that are not on the route do not count: the factor of spatial reuse does not depend on density.",
    scenario={"topology": {"kind": "chain", "hops": 7, "spacing": 200.0}},
    axes=[
        Axis(
            "spacing",
            {200: {}, 100: {"topology.hops": 14, "topology.spacing": 100.0}, 66.7: {"topology.hops": 21, "topology.spacing": 66.667}},
            "distance of neighbours, m",
        ),
        paced(["newreno", "tcp-ap"]),
    ],
    metrics=(GOODPUT,),
    claims=[
        versus(
            "TCP-AP delivers the same within 15% on a chain twice as dense",
            "goodput",
            100,
            200,
            axis="spacing",
            at={"transport": "tcp-ap"},
            at_least=0.85,
            at_most=1.15,
        )
    ],
    plots=(Plot("line", "goodput", x="spacing", by="transport", caption="Goodput over 1400 m."),),
)
FILES = {"app": "pareto", "mean_bytes": 30_000.0, "shape": 1.5, "mean_pause": 1.0}
ONOFF = Experiment(
    id="ap-onoff-parallel",
    paper=PAPER,
    place="Figures 22 and 23, section 5.2.1",
    title="small files with pauses, side by side",
    found="Goodput while transferring grows with the pauses under TCP-AP and stays where it is under NewReno; both are fair as soon as there are "
    "pauses, TCP-AP also without (NewReno: 0.64).",
    scenario={**BASE, "topology": {"kind": "parallel"}, "flow": [{**FILES, "transport": "newreno"}] * 2},
    axes=[
        axis("pause", "flow.*.mean_pause", [0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0], "mean pause, s"),
        paced(["newreno", "tcp-ap", "newreno+da", "tcp-ap+da"]),
    ],
    metrics=(GOODPUT, FAIRNESS),
    quick=Effort(3, {"duration": 200.0}, {"pause": [0.0, 0.2, 0.6, 1.0]}),
    full=Effort(4, {"duration": 660.0}),
    published={"fairness": {(0.0, "newreno"): 64.0}},
    claims=[
        versus("TCP-AP's goodput grows from no pause to 1 s", "goodput", 1.0, 0.0, axis="pause", at={"transport": "tcp-ap"}, at_least=1.1),
        versus(
            "NewReno's goodput stays within 10%",
            "goodput",
            1.0,
            0.0,
            axis="pause",
            at={"transport": "newreno"},
            at_least=0.9,
            at_most=1.1,
            reason=left_open(findings.pauses_free_the_air, "ap-parallel: a file without end", "ap-onoff-parallel: files at once"),
        ),
        Claim("TCP-AP is fair without pauses", "fairness", {"transport": "tcp-ap", "pause": 0.0}, at_least=95.0),
    ],
    unstated=(
        BASIC,
        Unstated("what without pauses means", "files follow each other at once", "the text equates it with a file without end"),
    ),
    plots=(
        Plot("line", "goodput", x="pause", by="transport", caption="Goodput while transferring, both flows together."),
        Plot("line", "fairness", x="pause", by="transport", caption="Jain's index."),
    ),
)
EXPERIMENTS = (PARALLEL, ASYMMETRIC, GRID, DENSITY, ONOFF)
