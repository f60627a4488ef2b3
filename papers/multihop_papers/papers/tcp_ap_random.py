"""ElRakabawy, Klemm, Lindemann: TCP with Adaptive Pacing; sections 5.1.5 and 5.2.2, nodes at random.

The paper has one placement, which it does not print. It says that every pair has a path and that the ends of one flow,
FTP 4, are two hops apart, in contrast to all others. Pairs at random are often nearer.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from itertools import chain

from multihop_papers.declare import FAIRNESS, GOODPUT, HOPS, Axis, Document, Effort, Metric, Plot, Settings, Unstated, versus
from multihop_papers.papers import findings
from multihop_papers.papers.common import Common
from multihop_papers.papers.printed import Gain, in_text
from multihop_papers.papers.tcp_ap import BASE, BASIC, PAPER, VARIANTS, paced
from multihop_papers.papers.tcp_ap_flows import FILES, fairer
from multihop_papers.paths import distances
from multihop_papers.reasons import not_knowable

NODES, AREA, FLOWS = 120, (2500.0, 1000.0), 10
# The hops between the ends of FTP 4, and of all others: at least, at most.
DRAWN, DESCRIBED, FAR = "drawn", "as described", "far"
LENGTHS: dict[str, list[tuple[int, int]]] = {
    DRAWN: [(1, 99)] * FLOWS,
    DESCRIBED: [(3, 99)] * 3 + [(2, 2)] + [(3, 99)] * 6,
    FAR: [(6, 99)] * FLOWS,
}
PAIRS = Axis(
    "pairs",
    {
        name: {f"flow.{i}.{end}": 2 * FLOWS * group + 2 * i + to for i in range(FLOWS) for to, end in enumerate(("from", "to"))}
        for group, name in enumerate(LENGTHS)
    },
    "",
)


@cache
def placement(seed: int) -> Settings:
    """Nodes that are all connected, numbered so that the pairs of each kind have the numbers of the axis."""
    rng = random.Random(seed)
    while True:
        positions = [[rng.uniform(0, side) for side in AREA] for _ in range(NODES)]
        is_connected = len(distances(positions, 0)) == NODES
        if is_connected and (pairs := draw(rng, [distances(positions, node) for node in range(NODES)])):
            ends = list(chain.from_iterable(pairs))
            order = ends + [node for node in range(NODES) if node not in ends]
            return {"topology.positions": [positions[node] for node in order]}


def draw(rng: random.Random, hops: list[dict[int, int]]) -> list[tuple[int, int]] | None:
    """Pairs of all kinds, every node in one of them at most; nothing if there are not enough."""
    free = set(range(NODES))
    pairs = []
    for least, most in chain.from_iterable(LENGTHS.values()):
        fit = [(a, b) for a in sorted(free) for b in sorted(free) if a != b and least <= hops[a][b] <= most]
        if not fit:
            return None
        pairs.append(rng.choice(fit))
        free -= {*pairs[-1]}
    return pairs


def starving(document: Document) -> float:
    """Flows that get less than a tenth of the mean of all."""
    found = [flow["goodput_kbps"] for flow in document["flows"]]
    return float(sum(one < sum(found) / len(found) / 10 for one in found))


STARVING = Metric("starving", "flows with less than a tenth of the mean", starving)
FLOW = {"transport": "newreno", "from": 0, "to": 1}
PLACEMENT = (
    BASIC,
    Unstated(
        "the placement and the pairs",
        "drawn anew for each seed: pairs of which one is two hops apart and the others at least three, as the text has them. For comparison, any pairs, and pairs at least six hops apart",
        "the paper has one placement, which it does not print; means over placements say more",
    ),
)


placed = Common(
    PAPER,
    scenario={**BASE, "topology": {"kind": "list", "positions": [[0.0, 0.0]] * NODES}, "warmup": 20.0},
    unstated=PLACEMENT,
    drawn=placement,
    other_readings=(DRAWN, FAR),
)


def between(pairs: int, transports: Sequence[str]) -> list[Axis]:
    """So many pairs of each kind among the same nodes, and the transports."""
    named = {name: {key: value for key, value in values.items() if int(key.split(".")[1]) < pairs} for name, values in PAIRS.values.items()}
    return [Axis("pairs", named), paced(transports)]


ONE_PLACEMENT = not_knowable(findings.short_routes)

RANDOM = placed(
    "ap-random",
    "Figure 21, section 5.1.5",
    "120 nodes at random, ten flows",
    "NewReno lets five of ten flows almost starve; with TCP-AP none starves, at 6% less aggregate goodput.",
    scenario={"flow": [FLOW] * FLOWS},
    axes=between(FLOWS, VARIANTS),
    metrics=(GOODPUT, FAIRNESS, STARVING, HOPS),
    quick=Effort(6, {"duration": 60.0}),
    full=Effort(10, {"duration": 300.0}, looks=6, seconds=1200.0),
    published={"starving": {(DESCRIBED, "newreno"): 5.0}},
    claims=[
        fairer(" by half", 1.5, at={"pairs": DESCRIBED}),
        versus(
            "TCP-AP costs at most twice the paper's 6% of goodput",
            "goodput",
            "tcp-ap",
            "newreno",
            at={"pairs": DESCRIBED},
            at_least=0.88,
            reason=ONE_PLACEMENT,
        ),
    ],
    more=in_text(Gain("TCP-AP beside NewReno", "tcp-ap", "newreno", -0.06, at={"pairs": DESCRIBED})),
    plots=(
        Plot("bar", "goodput", x="pairs", by="transport", caption="Aggregate goodput."),
        Plot("bar", "fairness", x="pairs", by="transport", caption="Jain's index."),
    ),
)
ONOFF_RANDOM = placed(
    "ap-onoff-random",
    "Figure 24, section 5.2.2",
    "small files at random",
    "Five flows of small files, pauses of 1 s: TCP-AP delivers 91% more than NewReno, 58% more with delayed ACKs in both, and is fairer.",
    scenario={"flow": [{**FILES, **FLOW}] * 5},
    axes=between(5, ["newreno", "newreno+da", "tcp-ap", "tcp-ap+da"]),
    metrics=(GOODPUT, FAIRNESS),
    quick=Effort(6, {"duration": 80.0}),
    full=Effort(10, {"duration": 300.0}),
    claims=[
        versus(
            "TCP-AP delivers 91% more than NewReno",
            "goodput",
            "tcp-ap",
            "newreno",
            at={"pairs": DESCRIBED},
            size=0.91,
            reason=ONE_PLACEMENT,
        ),
        versus(
            "with delayed ACKs 58% more",
            "goodput",
            "tcp-ap+da",
            "newreno+da",
            at={"pairs": DESCRIBED},
            size=0.58,
            reason=ONE_PLACEMENT,
        ),
        versus("TCP-AP is fairer", "fairness", "tcp-ap", "newreno", at={"pairs": DESCRIBED}),
    ],
    plots=(
        Plot("bar", "goodput", x="pairs", by="transport", caption="Goodput while transferring, all flows together."),
        Plot("bar", "fairness", x="pairs", by="transport", caption="Jain's index."),
    ),
)
EXPERIMENTS = (RANDOM, ONOFF_RANDOM)
