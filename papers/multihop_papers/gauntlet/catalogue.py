"""The gauntlet: both halves, and networks that nobody had seen."""

from __future__ import annotations

import math
from collections.abc import Mapping

from multihop_papers.declare import (
    GAUNTLET,
    GOODPUT,
    INSTANT,
    RTX,
    Axis,
    Document,
    Effort,
    Metric,
)
from multihop_papers.gauntlet.drawn import DRAWN_BY, MESH_FROZEN, drawn
from multihop_papers.gauntlet.networks import (
    FROZEN,
    MAC,
    OWN,
    SHARED,
    START,
    TEST,
    TEST_SEED,
    TRAINING,
    UNSEEN_SEED,
    Network,
    rivals,
)
from multihop_papers.gauntlet.standings import BOUND, standings
from multihop_papers.papers.across import ENERGY, EVERY
from multihop_papers.papers.tcp_ap import paced
from multihop_papers.study import Experiment, Values


def logarithms(document: Document) -> float:
    """Sum of the logarithms of goodputs, which proportional fairness maximises; without delivery 0."""
    return math.fsum(math.log1p(flow["goodput_kbps"]) for flow in document["flows"])


LOGARITHMS = Metric("logarithms", "sum over flows of ln(1 + goodput in kb/s)", logarithms)
DELAY = Metric("delay", "95% quantile of the one-way delay, mean over flows, ms", "flows.*.delay_ms.p95")
METRICS = (GOODPUT, LOGARITHMS, INSTANT, RTX, DELAY, ENERGY)
TRANSPORTS = Axis(
    "transport",
    {
        BOUND: {"flow.*.app": "paced", "flow.*.transport": "udp"},
        **paced([*EVERY, "cubic", "vegas", "westwood"]).values,
    },
)
HOW = (
    "Every transport runs in the same networks: chains, layouts of several flows, and nodes at random and "
    "moving. Others have fading, hidden terminals, losses one by one and in bursts, a wire to a server, "
    "files, or a flow of another kind on the same path. The transport paced is the best constant rate of "
    "datagrams, over chains only. "
    f"Networks, seeds and metrics were frozen on {FROZEN}, in two halves."
)


def left_out(cell: Values) -> bool:
    """A second flow of another kind is for shared networks, and the best constant rate for chains."""
    network, transport, beside = cell
    is_chain = network.startswith("chain")
    return (beside != OWN and network != SHARED) or (transport == BOUND and not is_chain)


def half(
    id: str, place: str, purpose: str, networks: Mapping[str, Network], cbr: float, first: int
) -> Experiment:
    """One half; the rate is that of the CBR source beside a transport."""
    return Experiment(
        id=id,
        paper=GAUNTLET,
        place=place,
        title=f"every transport in {len(networks)} networks",
        found=f"{HOW} {purpose}",
        scenario={
            "warmup": START,
            "mac": MAC,
            "energy": {},
            "topology": {"kind": "chain", "hops": 1},
            "flow": [{"transport": "newreno", "start": START}],
        },
        axes=[Axis("network", networks), TRANSPORTS, Axis("beside", rivals(cbr))],
        metrics=METRICS,
        quick=Effort(3, {"duration": START + 60.0}, first=first),
        full=Effort(20, {"duration": START + 100.0}, first=first),
        left_out=left_out,
        spread="transport",
        more=standings,
    )


TRAINING_HALF = half(
    "gauntlet",
    "training half",
    "This half may be used to design and tune transports.",
    TRAINING,
    100.0,
    1,
)
TEST_HALF = half(
    "gauntlet-test",
    "test half",
    "This half has other layouts, lengths, rates, movements and seeds; no transport may be tuned on it.",
    TEST,
    60.0,
    TEST_SEED,
)
HALVES = (TRAINING_HALF, TEST_HALF)
UNSEEN = half(
    "gauntlet-unseen",
    "drawn networks",
    f"These networks were drawn at random by the first digits, {DRAWN_BY:08x}, of the commit that froze "
    f"`mesh` on {MESH_FROZEN}. Neither the networks nor a constant of a transport was changed after that.",
    drawn(DRAWN_BY),
    80.0,
    UNSEEN_SEED,
)
EXPERIMENTS = (*HALVES, UNSEEN)
