"""Whether the papers' lessons hold with radios of today."""

from __future__ import annotations

from typing import Any

from multihop_papers.declare import GOODPUT, INSTANT, RTX, Axis, Effort, Metric, Plot, Settings, Unstated, axis
from multihop_papers.measures import frame
from multihop_papers.papers.tcp_ap import paced
from multihop_papers.study import Experiment, Study

PAPER = "Radios of today"
START = 5.0
YARDSTICK = "newreno"
LESSONS = {
    "tcp-3": "TCP with a window of 3 segments",
    "tcp-ap": "pacing by the delay of four hops (TCP-AP)",
    "tpa*-3": "blocks, few ACKs and a window of 3 (TPA*)",
    "mesh": "a rate by delivery and delay (mesh)",
    "bbr": "for comparison: BBR",
}
"""Names of the transports that papers, and mesh, advise in place of plain TCP."""
TRANSPORTS = paced([YARDSTICK, "cubic", *LESSONS])
OFDM: Settings = {
    "radio.budget": "ns-2",
    "radio.model": "sinr",
    "radio.detection_db": 4.0,
    "radio.basic_rate": "6M",
    "mac.flavour": "standard",
}
SHORT_ACCESS: Settings = {"mac.rts_threshold": "off"}
N: Settings = {**OFDM, **SHORT_ACCESS, "radio.phy": "802.11n-20", "radio.rate": "MCS7"}
RADIO = Axis(
    "radio",
    {
        "b 2M": {},
        "a 6M": {**OFDM, "radio.phy": "802.11a", "radio.rate": "6M"},
        "a 54M": {**OFDM, "radio.phy": "802.11a", "radio.rate": "54M"},
        "a 54M, no RTS": {**OFDM, **SHORT_ACCESS, "radio.phy": "802.11a", "radio.rate": "54M"},
        "n 65M, no RTS": N,
        "n 65M, A-MPDU": {**N, "mac.ampdu": 64},
    },
)
FLOW = {"transport": YARDSTICK, "start": START}
BASE: dict[str, Any] = {
    "duration": START + 30.0,
    "warmup": START,
    "mac": {"arp": "queueing"},
    "routing": {"protocol": "static"},
    "topology": {"kind": "chain", "hops": 1},
    "flow": [FLOW],
}
HOW = (
    "The papers' layouts have nodes 200 m apart. Frames are decoded over 250 m and sensed over 550 m. The radios are that "
    "of the papers, 802.11b at 2 Mb/s, and those of today. These are 802.11a at 6 and 54 Mb/s, and 802.11n at 65 Mb/s (MCS "
    "7, 20 MHz), without and with aggregates of up to 64 MPDUs. "
    "All but 802.11b receive by SINR. b 2M, a 6M and a 54M announce every frame by RTS; the others announce none, as radios of today do. "
    "Static routes, queues of 50 packets."
)
CHAINS = (
    "Do the papers' lessons hold? "
    "As long as a frame carries one packet they do, and more than ever. Without RTS, at 54 and 65 Mb/s, a small window and "
    "TPA gain more over NewReno than at 2 Mb/s. With a window of 3, nothing or nearly nothing is sent twice. "
    "With aggregation "
    "they do not: packets that wait in queues are what long frames are made of. NewReno and CUBIC fill the queues, while a small window and "
    "pacing leave less to aggregate, and carry less over every chain. mesh notices aggregation by ACKs that arrive together. It carries "
    "6% more than NewReno over one hop, 8% over two, 16% over four and 38% over eight. What the others are still good for is "
    "delay: over four and eight hops TCP-3, TCP-AP and TPA* have at most a quarter of NewReno's. The delay of mesh is 57% of NewReno's over "
    "four hops, and as long over eight. "
    "With RTS at 54 Mb/s every transport delivers less than without. Over four and more hops a station 400 m from a "
    "receiver hears neither RTS nor CTS, and leaves a SINR of 12 dB where 54 Mb/s needs 23. A frame that was announced is "
    "tried four times in place of seven."
)
CROSSING = (
    "Do the papers' lessons on fairness hold? Mostly. For TCP-AP Jain's index over 2 s is at least 97%, except at 54 Mb/s with RTS (61 to "
    "76%). For mesh it is at least 90%, except on parallel chains with aggregates: there one of its flows has nearly everything. "
    "NewReno is above 90% at 6 Mb/s only, "
    "and with aggregation one of its flows has nearly everything. On parallel chains the first station "
    "of the other transmits into aggregates of stations that it does not sense. Its packets are given up after seven "
    "attempts (why: page on aggregation). The price is that of the chains: with aggregation TCP-3, TCP-AP and "
    "TPA* carry less. Over crossing chains with aggregates mesh carries 9% more than NewReno."
)
GEOMETRY = Unstated("distances", "the papers', at every rate", "one change at a time: what differs is the radio, not the layout")
QUICK = Effort(2, {"duration": START + 5.0})


def gain(study: Study, metric: str, radio: str, where: Any, transport: str) -> str:
    """How a transport compares with NewReno."""
    ours, theirs = (study.mean(metric, (radio, where, one)) for one in (transport, YARDSTICK))
    return f"{100 * (ours.mean / theirs.mean - 1):+.0f}%" if ours and theirs and theirs.mean else "-"


def answers(study: Study) -> None:
    """The gain of each advice over NewReno, by radio."""
    for hops in (4, 8):
        table = [[text, *(gain(study, "goodput", radio, hops, name) for radio in RADIO.values)] for name, text in LESSONS.items()]
        study.table(frame(["advice", *RADIO.values], table), f"Goodput over {hops} hops beside NewReno's with the same radio.")


DELAY = Metric("delay", "95% quantile of the one-way delay, ms", "flows.*.delay_ms.p95")
CHAIN = Experiment(
    id="today-chain",
    paper=PAPER,
    place="chains",
    title="the papers' advice over chains of today's radios",
    found=f"{HOW} {CHAINS}",
    scenario=BASE,
    axes=[RADIO, axis("hops", "topology.hops", [1, 2, 4, 8], "hops"), TRANSPORTS],
    metrics=(GOODPUT, RTX, DELAY),
    quick=QUICK,
    full=Effort(5),
    unstated=(GEOMETRY,),
    more=answers,
    plots=(Plot("line", "goodput", x="hops", by="transport", panel="radio", apart=True, caption="Goodput over chains."),),
)
CROSS = Experiment(
    id="today-cross",
    paper=PAPER,
    place="crossing and parallel flows",
    title="two flows, with today's radios",
    found=f"{HOW} {CROSSING}",
    scenario={**BASE, "flow": [FLOW] * 2},
    axes=[RADIO, Axis("layout", {kind: {"topology": {"kind": kind}} for kind in ("cross", "parallel")}), paced([YARDSTICK, *LESSONS])],
    metrics=(GOODPUT, INSTANT, RTX),
    quick=QUICK,
    full=Effort(5),
    unstated=(GEOMETRY,),
    plots=(
        Plot("bar", "goodput", x="transport", panel="radio", by="layout", apart=True, caption="Aggregate goodput."),
        Plot("bar", "instant", x="transport", panel="radio", by="layout", caption="Jain's index over 2 s."),
    ),
)
EXPERIMENTS = (CHAIN, CROSS)
