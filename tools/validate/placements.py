"""Static networks placed at random: pairs of nodes with a path between them, under every protocol."""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import polars as pl

import multihop
from multihop import Result, report
from multihop.stats import Interval, interval
from protocols import PROTOCOLS, curve
from study import Study

COMPARED = ("aodv", "uu", "uu-hello", "dsr", "olsr")
PLACEMENTS = range(1, 51)
NODES = 50
SIDE = 1000.0  # m
RANGE = 250.0  # m
PAIRS = 10
SECONDS = 120.0
WARMUP = 20.0
FIRST = 30.0
STAGGER = 3.1  # s; the pairs' datagrams never meet, each pair's are a tenth of a second after another's
STOP = 115.0
PAYLOAD = 512
PATIENCE = 4.05  # s
FEW = 25  # pairs; a mean of fewer is not drawn


class Placement(NamedTuple):
    """Nodes placed by this study, not by the simulator, so that paths are known apart from it."""

    seed: int
    positions: list[list[float]]
    pairs: list[tuple[int, int, int]]
    """Sender, receiver, links of the shortest path."""

    def scenario(self, protocol: str, **options: Any) -> dict[str, Any]:
        """One datagram a second between each pair, with more options of the protocol."""
        flow = {"app": "cbr", "rate_kbps": 8e-3 * PAYLOAD, "size": PAYLOAD, "stop": STOP}
        return {
            "name": f"placement-{self.seed}",
            "duration": SECONDS,
            "warmup": WARMUP,
            "seed": self.seed,
            "radio": {"range": RANGE},
            "topology": {"kind": "list", "positions": self.positions},
            "routing": {**PROTOCOLS[protocol].routing, **options},
            "flow": [
                {"from": source, "to": target, "start": FIRST + STAGGER * number, **flow}
                for number, (source, target, _) in enumerate(self.pairs)
            ],
        }


def study() -> Study:
    """Run every placement under every protocol."""
    page = Study(
        "Routes in static networks",
        "Does every routing protocol find a way wherever there is one, and how good is it? Nothing moves "
        "and there is next to no load, so that whatever is lost is lost by routing.",
        f"{len(PLACEMENTS)} placements of {NODES} nodes, uniform in {SIDE:g} m x {SIDE:g} m, range "
        f"{RANGE:g} m, connected or not; in each {PAIRS} pairs drawn from those with a path, "
        f"which breadth-first search over the positions finds apart from the simulator; one datagram of "
        f"{PAYLOAD} bytes a second between each pair, the pairs a tenth of a second after each other, from "
        f"{FIRST:g} s (each pair {STAGGER:g} s after the one before) to {STOP:g} s of {SECONDS:g} s; "
        "2 Mb/s data, 1 Mb/s basic rate, ns2 flavour and ARP, RTS/CTS; placement and seed "
        f"{PLACEMENTS[0]} to {PLACEMENTS[-1]}; 95% Student-t intervals over the placements.",
    )
    placements = [place(seed) for seed in PLACEMENTS]
    cases = [(name, placement) for name in COMPARED for placement in placements]
    results = multihop.run_all(placement.scenario(name) for name, placement in cases)
    flows = tabulate(cases, results)
    drops = {name: Counter[str]() for name in COMPARED}
    for (name, _), result in zip(cases, results, strict=True):
        drops[name] += Counter(result.drops)
    judge(page, flows)
    page.table(
        ["protocol", "pairs served", "datagrams delivered", "always a shortest path", "stretch", "longest"],
        [row(name, flows.filter(protocol=name)) for name in COMPARED],
    )
    page.text(
        "*Stretch* is links crossed / links of the shortest path, the mean of a placement's pairs; "
        "*longest* the largest of any pair; *always a shortest path*: the pairs whose every datagram "
        "took one."
    )
    draw(page, flows)
    judge_rings(page, placements, flows)
    explain(page, drops)
    judge_patience(page, placements)
    return page


def place(seed: int) -> Placement:
    """Places nodes and draws pairs that have a path."""
    rng = random.Random(seed)
    positions = [[rng.uniform(0, SIDE), rng.uniform(0, SIDE)] for _ in range(NODES)]
    connected = [
        (source, target, hops)
        for source in range(NODES)
        for target, hops in distances(positions, source).items()
        if target != source
    ]
    return Placement(seed, positions, rng.sample(connected, PAIRS))


def distances(positions: Sequence[Sequence[float]], source: int) -> dict[int, int]:
    """Links from one node to each that it can reach."""
    found = {source: 0}
    waiting = deque([source])
    while waiting:
        here = waiting.popleft()
        x, y = positions[here]
        for node, (u, v) in enumerate(positions):
            if node not in found and (u - x) ** 2 + (v - y) ** 2 <= RANGE**2:
                found[node] = found[here] + 1
                waiting.append(node)
    return found


def tabulate(cases: Sequence[tuple[str, Placement]], results: Sequence[Result]) -> pl.DataFrame:
    """A row for each pair under each protocol."""
    rows = [
        {
            "protocol": name,
            "seed": placement.seed,
            "links": links,
            "sent": flow["segments_sent"],
            "delivered": flow["segments_delivered"],
            "hops": flow["mean_hops"],
            "oracle": flow["shortest_hops"],
        }
        for (name, placement), result in zip(cases, results, strict=True)
        for (_, _, links), flow in zip(placement.pairs, result.data["flows"], strict=True)
    ]
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(stretch=pl.col("hops") / pl.col("links"))


def judge(page: Study, flows: pl.DataFrame) -> None:
    """The verdicts."""
    differing = flows.filter((pl.col("oracle") - pl.col("links")).abs() > 1e-6)
    claim = "The simulator's own shortest paths (`shortest_hops`) are those of the search"
    page.verdict(claim, differing.is_empty())
    unserved = flows.filter(delivered=0)
    page.verdict(
        f"Every pair is served under every protocol ({flows.height - unserved.height} of {flows.height})",
        unserved.is_empty(),
    )
    for name in COMPARED:
        share = delivery(flows.filter(protocol=name))
        # See `judge_patience`.
        least = 0.98 if name.endswith("hello") else 0.999
        claim = f"{PROTOCOLS[name].label}: at least {least:.1%} of the datagrams arrive"
        page.verdict(f"{claim} (found {share:.2%})", share >= least)
    shortest = flows.filter(pl.col("stretch") < 1 - 1e-9)
    page.verdict("Nothing arrives over fewer links than the shortest path has", shortest.is_empty())
    longest = max(flows.filter(protocol="olsr")["stretch"].drop_nulls())
    claim = f"OLSR, whose relays cover all shortest paths, takes them (largest stretch {longest:.3f})"
    page.verdict(claim, longest < 1.01)


def delivery(flows: pl.DataFrame) -> float:
    """Share of the datagrams that arrived."""
    return float(flows["delivered"].sum()) / float(flows["sent"].sum())


def row(name: str, flows: pl.DataFrame) -> list[str]:
    """One protocol's line of the table."""
    direct = (flows["stretch"] < 1 + 1e-9).sum()
    return [
        PROTOCOLS[name].label,
        f"{(flows['delivered'] > 0).sum()} of {flows.height}",
        f"{delivery(flows):.2%}",
        f"{direct / flows.height:.1%}",
        str(interval(by_placement(flows))),
        f"{max(flows['stretch'].drop_nulls()):.2f}",
    ]


def draw(page: Study, flows: pl.DataFrame) -> None:
    """Stretch over the length of the shortest path."""
    figure, axes = report.new_figure(
        "links of the shortest path", "links crossed / links of the shortest path"
    )
    counts = flows.filter(protocol=COMPARED[0])["links"].value_counts()
    lengths = sorted(counts.filter(pl.col("count") >= FEW)["links"])
    report.reference(axes, lengths, [1.0 for _ in lengths], "shortest path", "--")
    for offset, name in enumerate(COMPARED):
        shifted = [length + 0.06 * (offset - len(COMPARED) // 2) for length in lengths]
        points = [stretch_at(flows.filter(protocol=name, links=length)) for length in lengths]
        curve(axes, shifted, points, name)
    axes.set_xticks(lengths)
    axes.set_ylim(0.98, 1.2)
    axes.legend(fontsize=8, ncols=3, loc="upper center")
    page.figure(
        "placements",
        figure,
        f"Stretch by the length of the shortest path, with 95% intervals over the pairs; lengths of fewer "
        f"than {FEW} pairs are left out, marks are moved apart",
    )


def by_placement(flows: pl.DataFrame) -> list[float]:
    """Mean stretch of each placement's pairs."""
    means = flows.group_by("seed").agg(pl.col("stretch").mean()).sort("seed")
    return list(means["stretch"])


def stretch_at(flows: pl.DataFrame) -> Interval:
    """Over pairs, not placements: few placements have many pairs of one length."""
    return interval(flows["stretch"].drop_nulls())


def explain(page: Study, drops: dict[str, Counter[str]]) -> None:
    """Why packets are lost."""
    page.text(
        "What was lost, of any kind, in all placements together. *arp*: ns-2's ARP holds one packet for an "
        "unknown address, and a newer one takes its place; *end*: still held there when the run ended."
    )
    reasons = sorted({reason for counter in drops.values() for reason in counter})
    page.table(
        ["protocol", *reasons],
        [[PROTOCOLS[n].label, *[str(drops[n][reason]) for reason in reasons]] for n in COMPARED],
    )


def judge_rings(page: Study, placements: Sequence[Placement], flows: pl.DataFrame) -> None:
    """Whether requests of growing reach are what keeps AODV's paths short."""
    results = multihop.run_all(p.scenario("uu", expanding_ring=False) for p in placements)
    far = tabulate([("uu", placement) for placement in placements], results)
    near = flows.filter(protocol="uu")
    both = zip(by_placement(far), by_placement(near), strict=True)
    longer = interval(without - within for without, within in both)
    page.text(
        "AODV takes the way of the request that came first, and a request reaches no further than its TTL: "
        "5 and then 7 under ns2, 1, 3, 5, 7 under uu. A path as long as a TTL is found by a request that "
        "cannot make a detour; one that is shorter than the TTL that finds it may be found over as many "
        "links. Hence the waves, with troughs at 5 for both and at 3 for uu. If requests go through the "
        "whole network at once (`expanding_ring = false`), AODV (uu) has a stretch of "
        f"{interval(by_placement(far))}, and of {stretch_at(far.filter(links=5))} instead of "
        f"{stretch_at(near.filter(links=5))} at 5 links."
    )
    claim = f"Requests of growing reach shorten the paths of AODV (uu) (without them longer by {longer})"
    page.verdict(claim, longer.low > 0)


def judge_patience(page: Study, placements: Sequence[Placement]) -> None:
    """Whether HELLOs that collide are what AODV-UU loses datagrams to."""
    results = multihop.run_all(p.scenario("uu-hello", neighbour_life=PATIENCE) for p in placements)
    flows = tabulate([("uu-hello", placement) for placement in placements], results)
    unrouted = sum(result.drops.get("no-route", 0) for result in results)
    share = delivery(flows)
    page.text(
        "AODV (uu) with HELLOs loses datagrams though nothing moves: a neighbour counts as lost 2.05 s after "
        "it was last heard, that is when two HELLOs in a row have met other frames, and what is under way "
        f"has no route until another is found. Given {PATIENCE:g} s instead, so that four in a row must be "
        f"lost, {unrouted} packets are without route and {share:.2%} arrive."
    )
    claim = f"AODV (uu), HELLO, given {PATIENCE:g} s: at least 99.9% arrive (found {share:.2%})"
    page.verdict(claim, share >= 0.999)
