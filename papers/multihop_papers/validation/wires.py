"""TCP over one wire against closed forms: full queues, random losses, BBR beside flows that fill the queue."""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import partial

import polars as pl

from multihop_papers.declare import GOODPUT, Axis, Claim, Document, Effort, Metric, Plot, Settings
from multihop_papers.study import Study
from multihop_papers.validation import wires_losses, wires_options
from multihop_papers.validation.part import Page
from multihop_papers.validation.wires_models import (
    Bottleneck,
    bbr_share,
    bbr_share_of_emptied_queue,
    full_queue_kbps,
)
from multihop_papers.validation.wires_setting import (
    ACCESS_DELAY,
    CUBICS,
    FULL_QUEUES,
    RENOS,
    Transport,
    growth,
    payload,
    transports,
    wire,
)

EVERY_SEGMENT: Mapping[str, Transport] = {"cubic, linux-6, no delayed ACKs": {"kind": "cubic", "preset": "linux-6"}}
BOTH = {**RENOS, **CUBICS}
BEHIND_QUEUES = {**BOTH, **EVERY_SEGMENT}
QUEUES = (3, 5, 10, 21, 42, 84)


def shifted(seed: int) -> Settings:
    """A delay that differs a little: the phase of drop-tail queues is another one with each seed."""
    return {"host.1.delay": 0.05 - ACCESS_DELAY + random.Random(seed).uniform(-1, 1) * 0.0005}


BUFFERS = Page("wires", "the sawtooth of additive increase, and RFC 9438").experiment(
    "wires-buffers",
    "one flow and a drop-tail queue",
    "A flow uses as much of a wire as its sawtooth allows, from 77% behind a queue of 3 packets to all of it behind 84. Its only losses are those "
    "of the full queue. "
    "The window grows until it exceeds wire and queue, by a segment in a round trip or by the function of RFC 9438. A loss "
    "leaves half or seven tenths of it. While it is below what the wire holds "
    "(84 packets), the wire idles. With delayed ACKs the window grows half as fast, but for linux-6, "
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
    claims=[Claim(f"Goodput agrees, {name},", "goodput", {"transport": name}, near=0.05) for name in BEHIND_QUEUES],
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
    "BBR's share hardly depends on the number of other flows, and is 0.71 to 0.96 of that in Ware's model. In the model BBR may have twice in flight what it "
    "takes for bandwidth times shortest round trip. It finds that round trip once in ten seconds, when it leaves the queue to the others. Ware takes what the "
    "others have in the full queue for what BBR then finds there. Here it finds less, for two reasons. The others' window alone must also fill "
    "the wire once BBR's packets have left, which takes a round trip, and the window is on average below that of a full queue. A model with both, in which the "
    "queue has emptied when BBR looks, is the lower bound. The longer a round trip relative to the 200 ms of BBR's look, the less of that happens. One flow of BBR and one or four of another "
    "transport. 10 Mb/s, 40 ms; queues of 2 to 16 products of bandwidth and delay (33 packets); 360 s simulated, the first 60 s not counted.",
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

EXPERIMENTS = (BUFFERS, *wires_losses.EXPERIMENTS, BBR, *wires_options.EXPERIMENTS)
