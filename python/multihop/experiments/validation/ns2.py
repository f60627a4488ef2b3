"""The ns2 flavour against ns-2 itself."""

from __future__ import annotations

from typing import Any

import polars as pl

from multihop.experiments.declare import GOODPUT, RTX, Axis, Document, Effort, Metric, axis
from multihop.experiments.measures import total
from multihop.experiments.ns2 import program
from multihop.experiments.ns2.pairs import Pairs, Sender
from multihop.experiments.study import Study, Values
from multihop.experiments.validation.part import Page
from multihop.experiments.verdicts import HELD, NOT_DECIDED, NOT_HELD, Verdict
from multihop.stats import Interval, interval

LIMIT = 0.03
PAYLOAD = 1460
# The constants of ns-2.35: preset of 2.30, no limit to the back-off but 60 s.
TCP = {"preset": "ns2-2.30", "rto_max": 60.0, "backoff_limit": 1_000_000}


def _tcp(kind: str, window: int) -> dict[str, Any]:
    return {"app": "ftp", "transport": {"kind": kind, "window_max": window, **TCP}}


SENDERS = {
    "UDP": Sender({"app": "cbr", "rate_kbps": 2000.0, "size": PAYLOAD}),
    "NewReno": Sender(_tcp("newreno", 20), "Newreno", window=20),
    "Reno, window 8": Sender(_tcp("reno", 8), "Reno", window=8),
    "NewReno, delayed ACKs": Sender(_tcp("newreno+da", 20), "Newreno", delayed_acks=True, window=20),
    "CBR": Sender({"app": "cbr", "rate_kbps": 16.384, "size": 512}),
}
# DSR puts a second IP header before a segment of TCP, which has one already.
ROUTING: dict[str, dict[str, Any]] = {
    "static": {"routing.protocol": "static", "mac.arp": "oracle"},
    "AODV": {"routing.protocol": "aodv"},
    "DSR": {"routing.protocol": "dsr", "routing.ip_extra": 20},
}


def _per_segment(value: str) -> Metric:
    def of(document: Document) -> float | None:
        delivered = total(document, "segments_delivered")
        return 1000 * float(COUNTS[value](document)) / delivered if delivered else None

    return Metric(value, f"{value} for each 1000 segments", of)


COUNTS = {
    "retry limits": lambda document: document["mac"]["drops"],
    "route errors": lambda document: document["routing"]["packets"].get("rerr", 0),
}
METRICS = (GOODPUT, RTX, *map(_per_segment, COUNTS))


def compare(study: Study) -> None:
    """Run ns-2 on the same networks and put its numbers beside ours."""
    pairs = Pairs(study, "routing", "sender", SENDERS)
    missing = pairs.run()
    if missing:
        study.text(f"{missing} runs of ns-2 are missing: {program.PROGRAM} is not installed (Debian: ns2).")
        return
    study.text(f"Against ns-{program.version()}.") if program.installed() else None
    study.table(_table(study, pairs), "Ours, then ns-2, then the paired difference relative to ns-2")
    for value in study.axes[0].values:
        cells = [cell for cell in study.accepted() if cell[0] == value]
        study.found.append(_verdict(study, pairs, str(value), cells))
    for note in NOTES[study.experiment.id]:
        study.text(note)


def _table(study: Study, pairs: Pairs) -> pl.DataFrame:
    rows = []
    for cell in study.accepted():
        row = {one.name: str(value) for one, value in zip(study.axes, cell, strict=True)}
        for metric in METRICS:
            ours, theirs = study.samples(metric.name, cell).values(), pairs.samples(metric, cell).values()
            row[metric.label] = f"{_mean(ours)}; {_mean(theirs)}"
        found = difference(study, pairs, cell)
        row["difference, %"] = f"{100 * found.mean:+.1f} ± {100 * found.half:.1f}" if found else "-"
        rows.append(row)
    return pl.DataFrame(rows)


def _mean(values: Any) -> str:
    found = list(values)
    return str(interval(found)) if found else "-"


def difference(study: Study, pairs: Pairs, cell: Values) -> Interval | None:
    """Our goodput less that of ns-2, seed by seed, as a share of ns-2's mean; nothing if ns-2 delivers nothing."""
    ours, theirs = study.samples("goodput", cell), pairs.samples(GOODPUT, cell)
    mean = interval(theirs.values()).mean
    if not mean:
        return None
    return interval((ours[seed] - theirs[seed]) / mean for seed in ours if seed in theirs)


def _verdict(study: Study, pairs: Pairs, group: str, cells: list[Values]) -> Verdict:
    compared = {cell: difference(study, pairs, cell) for cell in cells}
    found = {cell: one for cell, one in compared.items() if one}
    if not found:
        return Verdict(f"{group}: goodput agrees with ns-2 within {LIMIT:.0%}", NOT_DECIDED, "ns-2 delivers nothing")
    inside = sum(one.low >= -LIMIT and one.high <= LIMIT for one in found.values())
    # Where ns-2 delivers nothing, nothing agrees.
    word = word_of(list(found.values())) if len(found) == len(compared) else NOT_HELD
    worst = max(found, key=lambda cell: abs(found[cell].mean))
    name = " ".join(str(value) for value in worst)
    why = f"{inside} of {len(compared)} intervals are inside; largest mean difference {found[worst].mean:+.1%} ± {found[worst].half:.1%}, {name}"
    return Verdict(f"{group}: goodput agrees with ns-2 within {LIMIT:.0%}", word, why)


def word_of(differences: list[Interval]) -> str:
    """Held if every interval lies within the limit, not held if one lies outside of it."""
    if any(one.low > LIMIT or one.high < -LIMIT for one in differences):
        return NOT_HELD
    inside = all(one.low >= -LIMIT and one.high <= LIMIT for one in differences)
    return HELD if inside else NOT_DECIDED


NOTES = {
    "validation-ns2-chain": (
        "Before this study greedy UDP over 3 hops carried 1.5% more here than in ns-2. The traces differ first in which station gets "
        "the medium after the RTS of nodes 1 and 2 have collided. Both reach node 0 at the same instant, because the node that is twice "
        "as far began one time of flight earlier. ns-2 runs the events of one instant in the order in which they were scheduled, so "
        "that the RTS of node 2, which left first, occupies the receiver; the other is stronger, both are lost, and node 0 waits EIFS. "
        "Here the number of a table slot decided. In half of the cases the RTS of node 1 came first, captured the receiver and set "
        "node 0's NAV for a whole exchange. Node 0 was next in 33% of these collisions, in ns-2 in 60%. The ns2 flavour now orders "
        "such arrivals by departure.",
        "Greedy chains of more than 5 hops: ns-2 carries what the flavour carries. The prototype of validation-chain, which carries more, "
        "is the one that departs from ns-2.",
        "Two stations whose backoffs end within one time of flight: in ns-2, as here, both transmit and both frames are lost.",
    ),
    "validation-ns2-routes": (
        "AODV: before this study a flow over 8 hops carried 14% more here than in ns-2, and over 10 hops 72% more. The traces differ first "
        "in the answers to the request of a local repair. Here the repair increased the sequence number of the route, as RFC 3561 has "
        "it, and only the destination could answer. ns-2 keeps the number. Nodes upstream, whose own routes lead through the "
        "repairing node, answer and do not forward the request; the repairing node ignores these answers because they are not "
        "shorter than the route that broke. It repeats the request only after up to 10 s, and meanwhile packets of its destination wait. "
        "The preset `ns2` now does the same (deviation aodv-2 has what remains).",
        "DSR: ns-2's own agent loses as much. A false link failure, that is, a retry limit between neighbours that are in range, removes the "
        "only path. Over 3 to 6 hops about half of the goodput of static routes is left in both programs, so that this is no "
        "fault of this simulator's DSR. The paper on ELFN measured 484, 340, 246 and 205 kb/s over 3 to 6 hops under a DSR of 1999 (Reno, "
        "window 8), which is nearer to static routes than to the DSR of ns-2.35. One of the 20 intervals of DSR lies outside of the limit, as "
        "is to be expected of intervals of 95%.",
        "Over 7 and more hops the goodput of AODV varies by a fifth between seeds in both programs; 8 seeds do not decide 3%.",
        "DSR over 1 and 2 hops carries less here because ns-2 leaves the source route out of all packets of a flow but the first "
        "(flow state), 0.5 and 1%.",
    ),
    "validation-ns2-layouts": (
        "With static routes the cross and the grid agree in goodput, retransmissions and retry limits. What the TPA paper prints for its "
        "grid lies below both programs at a sense range of 550 m; the flavour is not the reason.",
    ),
    "validation-ns2-moving": (
        "Movements are the same in both programs, so that the differences between seeds cancel in the paired difference. Single "
        "runs still differ: a collision more or less changes the routes that follow.",
    ),
}
HOPS = axis("hops", "topology.hops", list(range(1, 11)), "hops")
SETTING = (
    "2 Mb/s data, 1 Mb/s basic rate, long preamble, RTS/CTS before every data frame, 250 m and 550 m; 1460 bytes of payload; TCP "
    "with the constants of ns-2.35. Packets of ns-2 are 6 bytes smaller because its data header has a fourth address; frames are "
    "equally long. Positions, movement and starts of flows are those of our runs with the same seed. 120 s simulated, the "
    "first 20 s not counted."
)
PAGE = Page("ns2", "ns-2.35 (Debian package ns2)", SETTING)
BASE: dict[str, Any] = {"duration": 120.0, "warmup": 20.0}


def _senders(*names: str) -> Axis:
    return Axis(
        "sender",
        {name: {f"flow.*.{key}": value for key, value in SENDERS[name].ours.items()} for name in names},
    )


def _routing(*names: str) -> Axis:
    return Axis("routing", {name: ROUTING[name] for name in names})


def _flows(count: int, **ends: list[int]) -> list[dict[str, Any]]:
    """Flows that follow each other by half a second, so that their first packets do not collide."""
    return [{"start": 1.0 + number / 2, **{key: nodes[number] for key, nodes in ends.items()}} for number in range(count)]


CHAIN = PAGE.experiment(
    "ns2-chain",
    "chains with static routes in ns-2",
    "Does ns-2 itself carry what the ns2 flavour carries? Chains of 200 m hops with fixed routes and known addresses. ns-2 has no "
    "routing agent for this; here its nodes have one link layer object for each neighbour.",
    Effort(6),
    scenario={**BASE, "topology": {"kind": "chain"}, "flow": _flows(1)},
    axes=[_senders("UDP", "NewReno", "Reno, window 8", "NewReno, delayed ACKs"), _routing("static"), HOPS],
    metrics=METRICS,
    more=compare,
)
ROUTED = PAGE.experiment(
    "ns2-routes",
    "chains under routing protocols in ns-2",
    "What do false link failures cost in ns-2? The same chains under AODV and DSR, with ns-2's ARP.",
    Effort(8),
    scenario={**BASE, "topology": {"kind": "chain"}, "flow": _flows(1)},
    axes=[_routing("AODV", "DSR"), _senders("NewReno", "Reno, window 8"), HOPS],
    metrics=METRICS,
    more=compare,
)
LAYOUTS = PAGE.experiment(
    "ns2-layouts",
    "cross and grid in ns-2",
    "Several flows that meet: two in the cross, six in the grid.",
    Effort(6),
    scenario=BASE,
    axes=[
        Axis(
            "layout",
            {kind: {"topology.kind": kind, "flow": _flows(count)} for kind, count in (("cross", 2), ("grid", 6))},
        ),
        _routing("static", "AODV", "DSR"),
        _senders("NewReno", "NewReno, delayed ACKs"),
    ],
    metrics=METRICS,
    more=compare,
)
MOVING = PAGE.experiment(
    "ns2-moving",
    "moving nodes in ns-2",
    "30 nodes move by random waypoint in 1000 m x 500 m, at 0.5 to 10 m/s without pauses; four flows.",
    Effort(12),
    scenario={
        **BASE,
        "topology": {"kind": "random", "nodes": 30, "area": [1000.0, 500.0]},
        "mobility": {"kind": "random-waypoint", "speed": [0.5, 10.0]},
        "flow": _flows(4, **{"from": [0, 2, 4, 6], "to": [1, 3, 5, 7]}),
    },
    axes=[_routing("AODV", "DSR"), _senders("NewReno", "CBR")],
    metrics=METRICS,
    more=compare,
)
EXPERIMENTS = (CHAIN, ROUTED, LAYOUTS, MOVING)
