"""Static networks placed at random: pairs of nodes with a path between them, under every protocol."""

from __future__ import annotations

import random
from collections import Counter
from functools import cache
from typing import NamedTuple

import polars as pl

from multihop import report, theme
from multihop.stats import Interval, interval
from multihop_papers.declare import Document, Effort, Metric, Settings, versus
from multihop_papers.measures import frame, mean, total
from multihop_papers.paths import RANGE, distances
from multihop_papers.study import Study
from multihop_papers.validation.part import Page
from multihop_papers.validation.protocols import AODV, DSR, OLSR, PROTOCOLS, UU, UU_HELLO, protocols

NODES, SIDE, PAIRS = 50, 1000.0, 10
# s: the first pair begins, the next ones follow, all end. The pairs' datagrams never meet.
FIRST, STAGGER, STOP = 30.0, 3.1, 115.0
PAYLOAD = 512
PATIENCE = 4.05  # s
FEW = 25  # pairs; a mean of fewer is not drawn
COMPARED = (AODV, UU, UU_HELLO, DSR, OLSR)
UNLIMITED = f"{UU}, requests through the whole network"
PATIENT = f"{UU_HELLO}, neighbour_life = {PATIENCE:g} s"


class Placement(NamedTuple):
    """Nodes placed here, not by the simulator, so that paths are known independently of it."""

    positions: list[list[float]]
    pairs: list[tuple[int, int, int]]
    """Sender, receiver, links of the shortest path."""


@cache
def place(seed: int) -> Placement:
    """Place nodes, and draw pairs that have a path."""
    rng = random.Random(seed)
    positions = [[rng.uniform(0, SIDE), rng.uniform(0, SIDE)] for _ in range(NODES)]
    connected = [
        (source, target, hops) for source in range(NODES) for target, hops in distances(positions, source).items() if target != source
    ]
    return Placement(positions, rng.sample(connected, PAIRS))


def drawn(seed: int) -> Settings:
    """One datagram a second between each pair of a placement."""
    placement = place(seed)
    flow = {"app": "cbr", "rate_kbps": 8e-3 * PAYLOAD, "size": PAYLOAD, "stop": STOP}
    return {
        "topology.positions": placement.positions,
        "flow": [
            {"from": source, "to": target, "start": FIRST + STAGGER * number, **flow}
            for number, (source, target, _) in enumerate(placement.pairs)
        ],
    }


def delivered(document: Document) -> float:
    """Share of the datagrams, %."""
    return 100 * total(document, "segments_delivered") / total(document, "segments_sent")


def stretch(document: Document) -> float | None:
    """Mean over the pairs of links crossed over links of the shortest path."""
    flows = [flow for flow in document["flows"] if flow["mean_hops"] is not None]
    return sum(flow["mean_hops"] / flow["shortest_hops"] for flow in flows) / len(flows) if flows else None


def explore(study: Study) -> None:
    """Judge and show what pairs, not placements, tell."""
    pairs = {cell[0]: tabulate(study, cell[0]) for cell in study.accepted()}
    compared = pl.concat([pairs[name].with_columns(protocol=pl.lit(name)) for name in COMPARED])
    judge(study, compared)
    rows = [[name, *row(pairs[name])] for name in pairs]
    columns = ["protocol", "pairs served", "datagrams delivered", "always a shortest path", "longest stretch"]
    study.table(frame(columns, rows), "Pairs; 'always a shortest path': every datagram of the pair took one")
    draw(study, pairs)
    losses(study)
    explain(study, pairs)


def tabulate(study: Study, name: str) -> pl.DataFrame:
    """A row for each pair."""
    rows = [
        {
            "links": links,
            "sent": flow["segments_sent"],
            "delivered": flow["segments_delivered"],
            "hops": flow["mean_hops"],
            "oracle": flow["shortest_hops"],
        }
        for seed, result in enumerate(study.results((name,)), 1)
        for (_, _, links), flow in zip(place(seed).pairs, result.data["flows"], strict=True)
    ]
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(stretch=pl.col("hops") / pl.col("links"))


def judge(study: Study, flows: pl.DataFrame) -> None:
    """Compare the paths with the search, and delivery with what routing alone may lose."""
    differing = flows.filter((pl.col("oracle") - pl.col("links")).abs() > 1e-6).height
    text = "The simulator's own shortest paths (`shortest_hops`) are those of the search"
    study.verdict(text, differing == 0, f"{differing} of {flows.height} differ")
    served = flows.filter(pl.col("delivered") > 0).height
    study.verdict("Every pair is served under every protocol", served == flows.height, f"{served} of {flows.height}")
    for name in (*COMPARED, PATIENT):
        # HELLOs that collide; the patient variant shows it.
        least = 0.98 if name == UU_HELLO else 0.999
        share = mean(study, "delivered", (name,)).mean / 100
        study.verdict(f"{name}: at least {least:.1%} of the datagrams arrive", share >= least, f"{share:.2%}")
    shortest = min(flows["stretch"].drop_nulls())
    text = "Nothing arrives over fewer links than the shortest path has"
    study.verdict(text, shortest >= 1 - 1e-9, f"least stretch {shortest:.3f}")
    longest = max(flows.filter(protocol=OLSR)["stretch"].drop_nulls())
    text = "OLSR, whose relays cover all shortest paths, takes them"
    study.verdict(text, longest < 1.01, f"largest stretch {longest:.3f}")


def row(flows: pl.DataFrame) -> list[str]:
    """One protocol's line of the table."""
    direct = (flows["stretch"] < 1 + 1e-9).sum()
    return [
        f"{(flows['delivered'] > 0).sum()} of {flows.height}",
        f"{float(flows['delivered'].sum()) / float(flows['sent'].sum()):.2%}",
        f"{direct / flows.height:.1%}",
        f"{max(flows['stretch'].drop_nulls()):.2f}",
    ]


def draw(study: Study, pairs: dict[str, pl.DataFrame]) -> None:
    """Stretch over the length of the shortest path."""
    figure, axes = report.new_figure("links of the shortest path", "links crossed / links of the shortest path")
    counts = pairs[AODV]["links"].value_counts()
    lengths = sorted(counts.filter(pl.col("count") >= FEW)["links"])
    report.reference(axes, lengths, [1.0 for _ in lengths], "shortest path", "--")
    for number, (name, look) in enumerate(zip(COMPARED, theme.OTHERS, strict=False)):
        shifted = [length + 0.06 * (number - len(COMPARED) // 2) for length in lengths]
        points = [stretch_at(pairs[name], length) for length in lengths]
        report.curve(axes, shifted, points, name, look=look)
    axes.set_xticks(lengths)
    axes.set_ylim(0.98, 1.2)
    axes.legend(fontsize=8, ncols=3, loc="upper center")
    largest = {name: float(max(pairs[name]["stretch"].drop_nulls())) for name in COMPARED}
    low, high = min(largest, key=lambda name: largest[name]), max(largest, key=lambda name: largest[name])
    finding = f"The largest stretch ranges from {largest[low]:.2f} ({low}) to {largest[high]:.2f} ({high})."
    study.figure(
        figure,
        "Stretch by the length of the shortest path, with 95% intervals over the pairs; lengths of fewer than "
        f"{FEW} pairs are left out, marks are moved apart.",
        finding,
    )


def stretch_at(flows: pl.DataFrame, length: int) -> Interval:
    """Over pairs, not placements: few placements have many pairs of one length."""
    return interval(flows.filter(links=length)["stretch"].drop_nulls())


def losses(study: Study) -> None:
    """Count the packets lost, of any kind, by reason."""
    dropped = {name: Counter[str]() for name in COMPARED}
    for name, counter in dropped.items():
        for result in study.results((name,)):
            counter.update(result.drops)
    reasons = sorted({reason for counter in dropped.values() for reason in counter})
    rows = [[name, *(counter[reason] for reason in reasons)] for name, counter in dropped.items()]
    study.table(frame(["protocol", *reasons], rows), "Packets lost, of any kind, in all placements together")
    study.text(
        "arp: ns-2's ARP holds one packet for an unknown address, and a newer one takes its place; end: still held there when the run "
        "ended."
    )


def explain(study: Study, pairs: dict[str, pl.DataFrame]) -> None:
    """Why paths are longer than need be, and why HELLOs lose datagrams."""
    far, near = pairs[UNLIMITED], pairs[UU]
    study.text(
        "AODV takes the path of the request that came first, and a request reaches no further than its TTL: first 5 and then 7 under ns2; 1, 3, "
        "5 and 7 under uu. A path as long as a TTL is found by a request that cannot make a detour. One that is shorter than the TTL that "
        "finds it may be found over as many links. Hence the waves, with troughs at 5 for both and at 3 for uu. If requests go through "
        "the whole network at once (`expanding_ring = false`), AODV (uu) has a stretch of "
        f"{mean(study, 'stretch', (UNLIMITED,))}, and of {stretch_at(far, 5)} instead of {stretch_at(near, 5)} at 5 links."
    )
    unrouted = sum(result.drops.get("no-route", 0) for result in study.results((PATIENT,)))
    study.text(
        "AODV (uu) with HELLOs loses datagrams although nothing moves. A neighbour counts as lost 2.05 s after it was last heard. That is "
        "when two HELLOs in a row have collided with other frames, and packets in flight have no route until another is found. Given "
        f"{PATIENCE:g} s instead, so that four in a row must be lost, {unrouted} packets are without a route and "
        f"{mean(study, 'delivered', (PATIENT,)).mean:.2f}% arrive."
    )


PLACEMENTS = Page("placements", "a breadth-first search").experiment(
    "placements",
    "routes in static networks",
    "Does every routing protocol find a route wherever there is one, and how good is it? Nothing moves and there is next to no "
    f"load, so that whatever is lost is lost by routing. 50 placements of {NODES} nodes, uniform in {SIDE:g} m x {SIDE:g} m, range "
    f"{RANGE:g} m, connected or not. In each {PAIRS} pairs drawn from those with a path, which breadth-first search over the positions "
    f"finds independently of the simulator. One datagram of {PAYLOAD} bytes a second between each pair, the pairs a tenth of a second "
    f"apart, from {FIRST:g} s (each pair {STAGGER:g} s after the previous one) to {STOP:g} s of 120 s. 2 Mb/s data, 1 Mb/s basic rate, "
    "ns2 flavour and ARP, RTS/CTS. The seed is the placement.",
    Effort(50),
    scenario={"duration": 120.0, "warmup": 20.0, "radio": {"range": RANGE}, "topology": {"kind": "list"}},
    drawn=drawn,
    axes=[
        protocols(
            **{name: PROTOCOLS[name] for name in COMPARED},
            **{UNLIMITED: {**PROTOCOLS[UU], "expanding_ring": False}, PATIENT: {**PROTOCOLS[UU_HELLO], "neighbour_life": PATIENCE}},
        )
    ],
    metrics=(
        Metric("delivered", "datagrams delivered, %", delivered),
        Metric("stretch", "links crossed / links of the shortest path", stretch),
    ),
    claims=[versus("Requests of growing reach shorten the paths of AODV (uu)", "stretch", UNLIMITED, UU, axis="protocol")],
    more=explore,
)
EXPERIMENTS = (PLACEMENTS,)
