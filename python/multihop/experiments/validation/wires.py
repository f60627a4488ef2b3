"""TCP over one wire against closed forms: full queues, random losses, BBR beside flows that fill the queue."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import polars as pl

from multihop import report, theme
from multihop.experiments.declare import GOODPUT, Axis, Claim, Document, Effort, Metric, Plot, Settings
from multihop.experiments.reasons import Reason, not_known, our_model
from multihop.experiments.study import Study
from multihop.experiments.validation.part import Page
from multihop.experiments.validation.wires_models import (
    CUBIC,
    PACKET,
    Bottleneck,
    Growth,
    IndependentLosses,
    bbr_share,
    bbr_share_of_emptied_queue,
    cubic_window,
    full_queue_kbps,
    pftk,
)
from multihop.experiments.verdicts import worst

HEADERS, STAMPS = 40, 12
ACCESS_RATE = 10
"""How much faster the sender's own wire is than the one with the queue."""
ACCESS_DELAY = 0.0001  # s


def wire(rate_kbps: float, rtt: float) -> Settings:
    """A flow from one host to another; the queue is in front of the second wire."""
    return {
        "topology": {"kind": "chain", "hops": 1},
        "host": [
            {"gateway": 0, "name": "a", "rate_kbps": ACCESS_RATE * rate_kbps, "delay": ACCESS_DELAY, "queue": 100_000},
            {"gateway": 0, "name": "b", "rate_kbps": rate_kbps, "delay": rtt / 2 - ACCESS_DELAY, "queue": 100_000},
        ],
        "flow": [{"from": "a", "to": "b"}],
    }


Transport = Mapping[str, Any]


def payload(transport: Transport) -> int:
    """Bytes of data in a packet."""
    stamps = str(transport["preset"]).startswith("linux") and transport.get("timestamps") != "off"
    return PACKET - HEADERS - (STAMPS if stamps else 0)


def per_ack(transport: Transport) -> int:
    """Segments for which the window grows once."""
    delayed = str(transport["kind"]).endswith("+da")
    return 2 if delayed and transport["preset"] != "linux-6" else 1


def growth(transport: Transport) -> Growth:
    """How the window of a transport grows."""
    if str(transport["kind"]).startswith("cubic"):
        return Growth(CUBIC.kept, CUBIC.per_round, cubic=True, catches_up=transport["preset"] != "linux-6")
    return Growth(per_round=1 / per_ack(transport))


def transports(kinds: Mapping[str, Transport], window_max: int) -> Axis:
    """The axis of transports, none of which is limited by its largest window."""
    return Axis("transport", {name: {"flow.*.transport": {**table, "window_max": window_max}} for name, table in kinds.items()})


RENOS: Mapping[str, Transport] = {
    "newreno, rfc": {"kind": "newreno", "preset": "rfc"},
    "newreno, rfc, delayed ACKs": {"kind": "newreno+da", "preset": "rfc"},
    "newreno, rfc, SACK": {"kind": "newreno", "preset": "rfc", "sack": True},
    "newreno, linux-6": {"kind": "newreno+da", "preset": "linux-6"},
}
CUBICS: Mapping[str, Transport] = {
    "cubic, rfc": {"kind": "cubic", "preset": "rfc"},
    "cubic, rfc, SACK": {"kind": "cubic", "preset": "rfc", "sack": True},
    "cubic, linux-6": {"kind": "cubic+da", "preset": "linux-6"},
}
EVERY_SEGMENT: Mapping[str, Transport] = {"cubic, linux-6, no delayed ACKs": {"kind": "cubic", "preset": "linux-6"}}
TWICE = our_model(
    "With delayed ACKs, and with one of the three delays, a segment that leaves at the start of a recovery finds the queue still full, and its loss reduces "
    "the window again, to 0.49 of what it was: multihop then delivers 15% less behind a queue of 3. The model reduces the window once.",
    "validation-wires-buffers: cubic, linux-6, no delayed ACKs",
)
BOTH = {**RENOS, **CUBICS}
BEHIND_QUEUES = {**BOTH, **EVERY_SEGMENT}
QUEUES = (3, 5, 10, 21, 42, 84)
FULL_QUEUES = Bottleneck(10_000.0, 0.1)


def shifted(seed: int) -> Settings:
    """A delay that differs a little: the phase of drop-tail queues is another one with each seed."""
    return {"host.1.delay": 0.05 - ACCESS_DELAY + random.Random(seed).uniform(-1, 1) * 0.0005}


BUFFERS = Page("wires", "the sawtooth of additive increase, and RFC 9438").experiment(
    "wires-buffers",
    "one flow and a drop-tail queue",
    "A flow uses as much of a wire as its sawtooth allows, from 77% behind a queue of 3 packets to all of it behind 84. Its only losses are those "
    "of the full queue. The window grows until it exceeds wire and queue, by a segment in a round trip or by the function of RFC 9438, and a loss leaves "
    "half or seven tenths of it; while it is below what the wire holds (84 packets), the wire idles. With delayed ACKs the window grows half as fast, but for linux-6, "
    "which counts bytes. The model goes from round trip to round trip; one passes before a loss is found, another one in recovery. After every second loss CUBIC's "
    "function is flat below the window of the loss (fast convergence). 10 Mb/s, 100 ms; 360 s simulated, the first 60 s, in which slow start overshoots, not counted.",
    Effort(1, {"duration": 150.0}),
    full=Effort(3),
    scenario={"duration": 360.0, "warmup": 60.0, **wire(FULL_QUEUES.rate_kbps, FULL_QUEUES.rtt)},
    axes=[
        transports(BEHIND_QUEUES, 600),
        Axis("queue", {queue: {"host.1.queue": queue} for queue in QUEUES}, "queue, packets"),
    ],
    drawn=shifted,
    metrics=(GOODPUT,),
    reference="the model",
    published={
        "goodput": {
            (name, queue): full_queue_kbps(FULL_QUEUES, queue, growth(table), payload(table))
            for name, table in BEHIND_QUEUES.items()
            for queue in QUEUES
        }
    },
    claims=[
        Claim(f"Goodput agrees, {name},", "goodput", {"transport": name}, near=0.05, reason=TWICE if name == "cubic, linux-6" else None)
        for name in BEHIND_QUEUES
    ],
    plots=(
        Plot(
            "line",
            "goodput",
            x="queue",
            by="transport",
            caption="Goodput over the length of a drop-tail queue, with 95% intervals; diamonds are the model.",
        ),
    ),
)

LOSSES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 2e-2, 5e-2)
LOSSY = Bottleneck(1_000_000.0 / ACCESS_RATE, 0.1)
RESPONDING = {name: table for name, table in BOTH.items() if name != "cubic, rfc"}
LEAST_TIMEOUT = {"rfc": 1.0, "linux-6": 0.2 + LOSSY.rtt}


def model_kbps(name: str, loss: float, *, rounds: bool = False) -> float:
    """Goodput if segments are lost independently of each other, or with all that follows in their round trip."""
    table = RESPONDING[name]
    rack = table["preset"] == "linux-6"
    sack = bool(table.get("sack")) or rack
    model = IndependentLosses(growth(table), loss, LOSSY.rtt, timeout(table), sack=sack, rack=rack, rounds=rounds)
    return model.rate() * payload(table) / 125


def formula_kbps(name: str, loss: float) -> float:
    """The published formula: PFTK, or the response function of CUBIC."""
    table = RESPONDING[name]
    if growth(table).cubic:
        return cubic_window(loss, LOSSY.rtt) / LOSSY.rtt * payload(table) / 125
    return pftk(loss, LOSSY.rtt, timeout(table), per_ack(table)) * payload(table) / 125


def timeout(transport: Transport) -> float:
    """The retransmission timeout where round trips do not vary, s."""
    return LEAST_TIMEOUT[str(transport["preset"])]


def beside_formulas(study: Study) -> None:
    """Compare goodput with the model of independent losses and with the published formulas."""
    rows = []
    away: dict[str, dict[str, float]] = defaultdict(dict)
    for name, loss in study.accepted():
        found = study.mean("goodput", (name, loss))
        if found is None:
            continue
        model, formula = model_kbps(name, loss), formula_kbps(name, loss)
        own = "-" if growth(RESPONDING[name]).cubic else f"{model_kbps(name, loss, rounds=True) / formula - 1:+.1%}"
        away[name][f"{loss:g}"] = found.mean / model - 1
        rows.append(
            {
                "transport": name,
                "loss": f"{loss:g}",
                "goodput, kb/s": str(found),
                "independent losses": f"{model:.0f}",
                "difference": f"{found.mean / model - 1:+.1%}",
                "formula": f"{formula:.0f}",
                "goodput from it": f"{found.mean / formula - 1:+.1%}",
                "its assumptions from it": own,
            }
        )
    for kind, drawn in FORMULAS.items():
        draw_responses(study, kind, drawn)
    for name, errors in away.items():
        study.found.append(worst(f"Goodput agrees with independent losses, {name},", errors, BOUNDS[name]))
    study.table(pl.DataFrame(rows), "Goodput, the model of independent losses, and the published formulas")


def draw_responses(study: Study, kind: str, formulas: Sequence[str]) -> None:
    """A figure of the transports of one congestion control, with the formulas of some of them."""
    figure, axes = report.new_figure("chance that a packet is lost", "goodput, kb/s")
    names = [name for name in study.axes[0].values if name.startswith(kind)]
    for name, look in zip(names, theme.OTHERS, strict=False):
        points = {loss: found for loss in study.axes[1].values if (found := study.mean("goodput", (name, loss)))}
        report.curve(axes, list(points), points.values(), name, look=look)
    for name, line in zip(formulas, ("-", "--", ":"), strict=False):
        report.reference(axes, list(LOSSES), [formula_kbps(name, loss) for loss in LOSSES], f"formula, {name}", line)
    axes.set(xscale="log", yscale="log")
    axes.legend(fontsize=8)
    study.figure(figure, f"Goodput over the chance of a loss, with 95% intervals, and the published formula: {kind}.")


FORMULAS: Mapping[str, Sequence[str]] = {
    "newreno": ("newreno, rfc", "newreno, rfc, delayed ACKs", "newreno, linux-6"),
    "cubic": ("cubic, linux-6",),
}
"""The transports whose formulas are drawn: those of others equal one of them."""
BOUNDS = {
    "newreno, rfc": 0.12,
    "newreno, rfc, SACK": 0.1,
    "newreno, rfc, delayed ACKs": 0.2,
    "newreno, linux-6": 0.15,
    "cubic, rfc, SACK": 0.15,
    "cubic, linux-6": 0.22,
}
"""Largest relative difference from the model of independent losses."""


LOSING = Page("wires", "J. Padhye, V. Firoiu, D. Towsley, J. Kurose, Modeling TCP Throughput, SIGCOMM 1998; RFC 9438").experiment(
    "wires-losses",
    "one flow and random losses",
    "With random losses NewReno has the goodput of a model in which segments are lost independently of each other, within 12% from p = 0.0001 to 0.05 (with SACK 10%). With delayed ACKs, under rfc and "
    "linux-6, it has up to 18% less: an odd segment waits for its ACK, and linux-6 waits a quarter of a round trip for reordering; the model leaves both out. "
    "PFTK's formula is no measure of 5%: a simulation of its own assumptions departs from it by 6% to -28% (last column of the table). "
    "PFTK takes mean windows for their distribution, which hides 7% where losses are rare (the mean of the distribution is 1.31 over the root of p, the formula's 1.22), and "
    "leaves out what slow start after a timeout costs where losses are frequent. It also takes each loss to lose the rest of its round trip, as a full queue "
    "may do. On a wire with independent losses most of these segments arrive: they cause the duplicate ACKs of a fast retransmission, and a window has few timeouts. "
    "The model of independent losses goes from round trip to round trip: a recovery repairs all losses of a window in one round trip with SACK and one in each without, a lost retransmission "
    "and a window without any arrival wait for the timeout (1 s for rfc, 0.3 s for linux-6, which finds lost retransmissions by time). CUBIC's published "
    "response function (RFC 9438, the larger one of its cubic and its Reno-friendly window) is that of periodic losses; random ones leave more, as for NewReno. "
    "100 Mb/s, 100 ms, long queues; losses towards the receiver only; 220 s simulated, the first 20 s not counted.",
    Effort(1, {"duration": 60.0}),
    full=Effort(2),
    scenario={"duration": 220.0, "warmup": 20.0, **wire(LOSSY.rate_kbps, LOSSY.rtt)},
    axes=[
        transports(RESPONDING, 10_000),
        Axis("loss", {loss: {"host.1.loss_to_host": loss} for loss in LOSSES}, "chance that a packet is lost"),
    ],
    metrics=(GOODPUT,),
    more=beside_formulas,
    spread="loss",
)

WARE = Bottleneck(10_000.0, 0.04)
DEPTHS = (2, 4, 8, 16)
BESIDE = {f"{n} {name}": (n, name) for name in ("cubic, linux-6", "newreno, linux-6") for n in (1, 4)}
LATEST_START = 10.0  # s


def packets(depth: float) -> int:
    """A queue of so many products of bandwidth and delay, in packets."""
    return round(depth * WARE.rtt * WARE.packets_per_second)


def share_of_bbr(document: Document) -> float | None:
    """The goodput of the first flow as a share of that of all flows."""
    flows = [float(flow["goodput_kbps"]) for flow in document["flows"]]
    return flows[0] / sum(flows) if sum(flows) > 0 else None


def beside_bbr(number: int, name: str, seed: int) -> Settings:
    """A flow of BBR and some of another transport, which begin at random instants."""
    draws = random.Random(seed)
    tables = [{"kind": "bbr"}, *[BOTH[name]] * number]
    return {
        "flow": [
            {"from": "a", "to": "b", "start": draws.uniform(0, LATEST_START), "transport": {**table, "window_max": 5000}}
            for table in tables
        ]
    }


def between(study: Study) -> None:
    """Compare BBR's share with Ware's model, and with one whose pipe is empty when BBR looks at its round trip."""
    rows, ratios, misses = [], {}, []
    for beside, depth in study.accepted():
        found = study.mean("share", (beside, depth))
        if found is None:
            continue
        kept = growth(BOTH[BESIDE[beside][1]]).kept
        most = 100 * bbr_share(packets(depth), WARE)
        least = 100 * bbr_share_of_emptied_queue(packets(depth), WARE, kept)
        case = f"{beside}, {depth}"
        ratios[case] = found.mean / most
        if not least <= found.mean + found.half or not found.mean - found.half <= most:
            misses.append(f"{case}: {found}, {least:.1f} to {most:.1f}")
        rows.append(
            {
                "beside": beside,
                "queue": depth,
                "share, %": str(found),
                "Ware": f"{most:.1f}",
                "relative to Ware": f"{ratios[case]:.2f}",
                "pipe filled by the others": f"{least:.1f}",
            }
        )
    study.table(pl.DataFrame(rows), "BBR's share of the goodput, and two models of it")
    study.verdict(
        "BBR's share lies between the two models",
        not misses,
        "; ".join(misses) or f"{min(ratios.values()):.2f} to {max(ratios.values()):.2f} of Ware's model",
    )


BBR = Page(
    "wires", "R. Ware, M. Mukerjee, S. Seshan, J. Sherry, Modeling BBR's Interactions with Loss-Based Congestion Control, IMC 2019"
).experiment(
    "wires-bbr",
    "BBR beside flows that fill the queue",
    "BBR's share hardly depends on the number of other flows, and is 0.72 to 0.95 of that in Ware's model. In the model BBR may have twice in flight what it "
    "takes for bandwidth times shortest round trip. It finds that round trip once in ten seconds, when it leaves the queue to the others. Ware takes what the "
    "others have in the full queue for what BBR then finds there. Here it finds less, for two reasons: the others' window alone must also fill "
    "the wire once BBR's packets have left, which takes a round trip, and the window is on average below that of a full queue. A model with both, in which the "
    "queue has emptied when BBR looks, is the lower bound; the longer a round trip relative to the 200 ms of BBR's look, the less of that happens. One flow of BBR and one or four of another "
    "transport; 10 Mb/s, 40 ms; queues of 2 to 16 products of bandwidth and delay (33 packets); 360 s simulated, the first 60 s not counted.",
    Effort(1, {"duration": 160.0}),
    full=Effort(2),
    scenario={"duration": 360.0, "warmup": 60.0, **wire(WARE.rate_kbps, WARE.rtt)},
    axes=[
        Axis("beside", {name: partial(beside_bbr, *case) for name, case in BESIDE.items()}),
        Axis("queue", {depth: {"host.1.queue": packets(depth)} for depth in DEPTHS}, "queue, products of bandwidth and delay"),
    ],
    metrics=(Metric("share", "BBR's share of the goodput, %", share_of_bbr, 100.0),),
    reference="Ware's model",
    published={"share": {(beside, depth): 100 * bbr_share(packets(depth), WARE) for beside in BESIDE for depth in DEPTHS}},
    plots=(
        Plot(
            "line",
            "share",
            x="queue",
            by="beside",
            caption="BBR's share beside one and four flows that fill the queue, with 95% intervals; diamonds are Ware's model.",
        ),
    ),
    more=between,
)

OPTION_KINDS = ("newreno+da", "cubic", "bbr", "bbr3")
NO_SACK: Mapping[str, Any] = {"sack": False, "rack": False, "prr": False, "undo": False, "all_rtt": False}
ONLY_SACK: Mapping[str, Any] = {**NO_SACK, "sack": True}
REPAIRS: Mapping[str, Mapping[str, Any]] = {
    "no SACK": NO_SACK,
    "no SACK, slow-but-steady": {**NO_SACK, "recovery": "slow-but-steady"},
    "SACK": ONLY_SACK,
    "RACK": {**ONLY_SACK, "rack": True},
    "RACK, PRR, undo": {"sack": True, "rack": True, "prr": True, "undo": True, "all_rtt": True},
}
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "": {},
    "timestamps": {"timestamps": 0.001},
    "no limited transmit": {"limited_transmit": False},
    "bytes counted": {"byte_counting": True},
    "HyStart++": {"hystart": True, "timestamps": 0.001},
}
OPTION_QUEUES = (5, 42)
TODAY = ("bbr", "bbr3")
"""Kinds that need SACK."""


def combinations() -> Iterator[tuple[str, Transport]]:
    """Every kind with every preset that the documents recommend, way of repair, and option."""
    for kind in OPTION_KINDS:
        for preset in ("rfc", "linux-6"):
            for repair, repairing in REPAIRS.items():
                if kind in TODAY and (preset == "rfc" or not repairing["sack"]):
                    continue
                for option, setting in OPTIONS.items():
                    name = ", ".join(filter(None, (kind, preset, repair, option)))
                    yield name, {"kind": kind, "preset": preset, **repairing, **setting}


COMBINATIONS = dict(combinations())


def cost_of_options(study: Study) -> None:
    """Compare each combination of options with the best one of the same congestion control behind the same queue."""
    means = {cell: float(study.result(cell).data["totals"]["goodput_kbps"]) for cell in study.accepted()}
    best: dict[tuple[str, Any], float] = defaultdict(float)
    for (name, queue), mean in means.items():
        kind = control(name)
        best[kind, queue] = max(best[kind, queue], mean)
    shares = {cell: mean / best[control(cell[0]), cell[1]] for cell, mean in means.items()}
    ordered = sorted(shares, key=lambda cell: shares[cell])
    rows = [
        {"options": name, "queue": queue, "goodput, kb/s": f"{means[name, queue]:.0f}", "of the best": f"{shares[name, queue]:.3f}"}
        for name, queue in ordered[:LISTED]
    ]
    study.table(pl.DataFrame(rows), f"The {LISTED} that lose most, of {len(shares)}")
    for text, reason, belongs in GROUPS:
        least = next((cell for cell in ordered if belongs(cell[0])), None)
        if least is None:
            continue
        why = f"{shares[least]:.3f} of the best, {least[0]}, queue of {least[1]}"
        study.verdict(f"No combination of options costs {text} more than 10% of the goodput", shares[least] >= WORST_SHARE, why, reason)


def is_bbr(name: str) -> bool:
    """Whether a combination is one of BBR."""
    return name.startswith("bbr")


WITHOUT_RACK = not_known(
    "RFC 6675 does not find lost retransmissions, and BBR, which does not slow down after a loss, loses many behind a short queue. "
    "BBR is specified with RACK, with which the claim holds."
)
GROUPS: Sequence[tuple[str, Reason | None, Callable[[str], bool]]] = (
    ("NewReno and CUBIC", None, lambda name: not is_bbr(name)),
    ("BBR with RACK", None, lambda name: is_bbr(name) and "RACK" in name),
    ("BBR without RACK", WITHOUT_RACK, lambda name: is_bbr(name) and "RACK" not in name),
)


def control(name: str) -> str:
    """The congestion control of a combination, without its rule for ACKs."""
    return name.split(",")[0].removesuffix("+da")


LISTED = 10
WORST_SHARE = 0.9


COSTS = Page("wires", "the best of each congestion control").experiment(
    "wires-options",
    "what options of TCP cost on a wire without losses",
    "No combination of options costs NewReno and CUBIC more than 3% of the goodput, nor BBR more than 10% if it has RACK. NewReno with delayed ACKs and CUBIC have each of the presets rfc and linux-6, with five ways to "
    "repair losses, each alone and with another option: timestamps, no limited transmit, growth by bytes, HyStart++. Its goodput is compared with the best of "
    "its congestion control behind the same queue. The presets of old simulators, and a minimum timeout below that of RFC 6298, are left out: "
    "docs/models/tcp.md says what CUBIC loses with them. 10 Mb/s, 100 ms; 120 s simulated, the first 40 s not counted.",
    Effort(1, keep={"queue": [42]}),
    full=Effort(1),
    scenario={"duration": 120.0, "warmup": 40.0, **wire(FULL_QUEUES.rate_kbps, FULL_QUEUES.rtt)},
    axes=[
        transports(COMBINATIONS, 600),
        Axis("queue", {queue: {"host.1.queue": queue} for queue in OPTION_QUEUES}, "queue, packets"),
    ],
    metrics=(),
    more=cost_of_options,
)
EXPERIMENTS = (BUFFERS, LOSING, BBR, COSTS)
