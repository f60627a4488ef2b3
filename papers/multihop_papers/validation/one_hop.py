"""One hop: goodput against the arithmetic of frame times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from multihop_papers.airtime import Radio
from multihop_papers.declare import GOODPUT, Axis, Claim, Effort, Plot
from multihop_papers.study import Study, Values
from multihop_papers.validation.contention import tcp_kbps
from multihop_papers.validation.part import Page
from multihop_papers.verdicts import worst

RATES = {1.0: "1M", 2.0: "2M", 5.5: "5.5M", 11.0: "11M"}
PAYLOAD = 1460
BASE: dict[str, Any] = {
    "duration": 60.0,
    "warmup": 5.0,
    "mac": {"arp": "oracle"},
    "topology": {"kind": "chain", "hops": 1},
    "routing": {"protocol": "static"},
}
FLAVOURS = Axis("flavour", {name: {"mac.flavour": name} for name in ("ns2", "standard")})
PREAMBLES = Axis("preamble", {name: {"radio.preamble": name} for name in ("long", "short")})
ACCESS = Axis("access", {"RTS/CTS": {"mac.rts_threshold": 0}, "basic": {"mac.rts_threshold": "off"}})
RATE = Axis("rate", {rate: {"radio.rate": name} for rate, name in RATES.items()}, "data rate, Mb/s")
# A source that always has a packet.
GREEDY = Axis("rate", {rate: {**keys, "flow.0.rate_kbps": 1000 * rate} for rate, keys in RATE.values.items()}, RATE.label)
# The window fits into the queue, so that nothing is lost.
TRANSPORTS = Axis(
    "transport", {kind: {"flow": [{"app": "ftp", "transport": {"kind": kind, "window_max": 20}}]} for kind in ("newreno", "newreno+da")}
)
SETTING = (
    f"Two stations; {PAYLOAD} bytes of payload; basic rate 1 Mb/s; 60 s simulated, the first 5 s not counted. The mean backoff is 15 "
    "slots in the ns2 flavour, which draws 0 to 30, and 15.5 in the standard one."
)


def arithmetic() -> dict[Values, float]:
    """DIFS, mean backoff, [RTS, SIFS, CTS, SIFS,] data, SIFS, ACK, repeated; kb/s."""
    return {
        (flavour, preamble, access, rate): Radio(rate, 1.0, preamble, flavour).udp_kbps(PAYLOAD, rts=access == "RTS/CTS")
        for flavour in FLAVOURS.values
        for preamble in PREAMBLES.values
        for access in ACCESS.values
        for rate in RATES
    }


UDP = Page("one-hop", "airtime arithmetic").experiment(
    "one-hop-udp",
    "one hop of UDP",
    "Is one frame exchange right to the microsecond? A sender that always has a packet repeats DIFS, mean backoff, [RTS, SIFS, "
    f"CTS, SIFS,] data, SIFS, ACK; nothing else happens on the air, so that the arithmetic is exact. {SETTING}",
    Effort(5),
    scenario={**BASE, "flow": [{"app": "cbr", "size": PAYLOAD}]},
    axes=[FLAVOURS, PREAMBLES, ACCESS, GREEDY],
    metrics=(GOODPUT,),
    reference="arithmetic",
    published={"goodput": arithmetic()},
    claims=[Claim("UDP: goodput agrees", "goodput", {}, near=0.005)],
    plots=(
        Plot(
            "line",
            "goodput",
            x="rate",
            by="access",
            at={"flavour": "ns2", "preamble": "long"},
            caption="One hop of UDP, ns2 flavour, long preamble, with 95% intervals; diamonds are the arithmetic.",
        ),
    ),
)


def overlap(study: Study) -> None:
    """Compare TCP with a slot-by-slot model, and with segments and ACKs that take turns."""
    names = [axis.name for axis in study.axes]
    rows, errors = [], {}
    for cell in study.accepted():
        at = dict(zip(names, cell, strict=True))
        expected, in_turns = models(at)
        measured = study.mean("goodput", cell)
        assert measured is not None
        case = " ".join(str(value) for value in cell)
        errors[case] = measured.mean / expected - 1
        difference = f"{errors[case]:+.2%}"
        rows.append(
            {
                **{n: str(v) for n, v in at.items()},
                "measured, kb/s": str(measured),
                "expected, kb/s": f"{expected:.1f}",
                "difference": difference,
                "in turns, kb/s": f"{in_turns:.1f}",
            }
        )
    study.found.append(worst("NewReno: goodput agrees", errors, 0.02))
    study.table(pl.DataFrame(rows), "Goodput beside the model")


def models(at: Mapping[str, Any]) -> tuple[float, float]:
    """Goodputs that the slot-by-slot model and the plain arithmetic expect, kb/s."""
    radio = Radio(at["rate"], 1.0, at["preamble"], at["flavour"])
    rts, acks = at["access"] == "RTS/CTS", 2 if at["transport"].endswith("+da") else 1
    return (tcp_kbps(radio, PAYLOAD, rts=rts, segments_per_ack=acks), radio.tcp_kbps(PAYLOAD, rts=rts, segments_per_ack=acks))


TCP = Page("one-hop", "a slot-by-slot model").experiment(
    "one-hop-tcp",
    "one hop of TCP",
    "If segments and ACKs took turns and never met, the arithmetic would be exact for TCP as well (column 'in turns'). In fact the "
    "backoffs of the two stations overlap, which gains time. Now and then they end in the same slot, which costs an RTS with "
    "RTS/CTS and a whole segment without. The column 'expected' counts that, slot by slot, in a model of these two stations alone "
    f"(validation/contention.py). The window is 20 segments. {SETTING}",
    Effort(5),
    scenario={**BASE, "flow": [{"app": "ftp"}]},
    axes=[TRANSPORTS, FLAVOURS, PREAMBLES, ACCESS, RATE],
    metrics=(GOODPUT,),
    plots=(
        Plot(
            "line",
            "goodput",
            x="rate",
            by="transport",
            panel="access",
            at={"flavour": "ns2", "preamble": "long"},
            caption="One hop of TCP, ns2 flavour, long preamble, with 95% intervals.",
        ),
    ),
    more=overlap,
    spread="rate",
)
EXPERIMENTS = (UDP, TCP)
