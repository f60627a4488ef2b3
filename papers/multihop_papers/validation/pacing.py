"""TCP-AP over chains and over a cross, and what its traces show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from multihop import report
from multihop.results import Result
from multihop.stats import Interval, interval
from multihop_papers.declare import FAIRNESS, GOODPUT, INSTANT, Axis, Claim, Effort, Metric, Plot, axis, versus
from multihop_papers.measures import DROPS, frame, mean
from multihop_papers.study import Study, Values
from multihop_papers.traces import traced
from multihop_papers.validation.ack_trips import AckTrips, quantile
from multihop_papers.validation.part import Page

HOPS = (4, 6, 8, 10, 12)
BY_TEXT = {"rules": "paper"}
KINDS = ["newreno", "newreno+dyn", "tcp-cwl", "tcp-ap", "tcp-ap+da", "tcp-ap+dyn", "tcp-ap-sync"]
RESPONSE_KINDS = ["tcp-ap", "newreno", "tcp-cwl"]
CLAMPS = range(1, 9)
WARMUP = 20.0
PAPER = "S. ElRakabawy, A. Klemm, C. Lindemann, TCP with Adaptive Pacing for Multihop Wireless Networks, MobiHoc 2005"
# As the paper's section 3 has it.
BASE: dict[str, Any] = {
    "duration": 220.0,
    "warmup": WARMUP,
    "mac": {"rts_threshold": 0, "queue": 50},
    "topology": {"kind": "chain"},
    "routing": {"protocol": "aodv"},
    "flow": [{"transport": "newreno"}],
}
CROSS: dict[str, Any] = {"topology": {"kind": "cross"}, "flow": [{"transport": "newreno"}] * 2}
LENGTHS = axis("hops", "topology.hops", HOPS, "hops")
SETTING = (
    "As in the paper's section 3, nodes are 200 m apart, with a range of 250 m, and sense the carrier over 550 m. Data at "
    "2 Mb/s, basic rate 1 Mb/s, ns2 flavour and ARP, RTS/CTS before every data frame, queues of 50 packets, AODV. Segments "
    "of 1460 bytes, `ns2-2005`. "
    "The first 20 s are not "
    "counted. The paper has batch means of one run of 55,000 packets; its text gives numbers, and its figures give none."
)
PAGE = Page("pacing", PAPER, SETTING)


def by_text(kind: str) -> Any:
    """A transport; TCP-AP as the text has it."""
    return {"kind": kind, **BY_TEXT} if kind.startswith("tcp-ap") else kind


def kinds(names: Sequence[str]) -> Axis:
    """The axis of transports."""
    return Axis("transport", {name: {"flow.*.transport": by_text(name)} for name in names})


def more_than(text: str, of: str, against: str, lengths: Sequence[int]) -> list[Claim]:
    """One transport delivers more than another, a claim for each length."""
    return [versus(f"{text} over {h} hops", "goodput", of, against, at={"hops": h}) for h in lengths]


CHAIN = PAGE.experiment(
    "pacing-chain",
    "one flow over a chain",
    "Does pacing by the delay of four hops and the variation of round trips do for one flow over a chain what its inventors found? "
    "They have TCP-AP up to 84% above NewReno, 7 to 17% more with dynamic ACKs, and up to 27% above the window of h/4 (tcp-cwl) with "
    "synchronised clocks.",
    Effort(10),
    scenario=BASE,
    axes=[LENGTHS, kinds(KINDS)],
    metrics=(GOODPUT, DROPS),
    spread="transport",
    claims=[
        *more_than("TCP-AP delivers more than NewReno", "tcp-ap", "newreno", HOPS),
        *(
            versus(
                f"TCP-AP loses less than a tenth of NewReno's packets over {h} hops",
                "drops",
                "tcp-ap",
                "newreno",
                at={"hops": h},
                at_most=0.1,
            )
            for h in HOPS
        ),
        *more_than("TCP-AP delivers more than NewReno with dynamic ACKs", "tcp-ap", "newreno+dyn", (10, 12)),
        *more_than("Dynamic ACKs help TCP-AP", "tcp-ap+dyn", "tcp-ap", HOPS),
        *more_than("TCP-AP with synchronised clocks is above NewReno with a window of h/4", "tcp-ap-sync", "tcp-cwl", HOPS),
    ],
    plots=(Plot("line", "goodput", x="hops", by="transport", caption="Goodput of one flow over a chain, with 95% intervals."),),
)


def best(study: Study) -> None:
    """Name the best window at each length."""
    rows = []
    for hops in HOPS:
        window = max(CLAMPS, key=lambda n: mean(study, "goodput", (hops, n)).mean)
        rows.append([hops, window, max(1, (hops + 2) // 4)])
    study.table(frame(["hops", "best", "h/4"], rows), "The best window, and the one that tcp-cwl takes")


WINDOW = PAGE.experiment(
    "pacing-window",
    "the best window over a chain",
    "NewReno with every largest window from 1 to 8 segments. `multihop sweep scenarios/best-window.toml` runs the search for another "
    "network.",
    Effort(3),
    scenario=BASE,
    axes=[LENGTHS, Axis("window", {n: {"flow.0.transport": {"kind": "newreno", "window_max": n}} for n in CLAMPS}, "segments")],
    metrics=(GOODPUT,),
    spread="window",
    more=best,
)
TWO_FLOWS = PAGE.experiment(
    "pacing-cross",
    "two flows over the cross for 500 s",
    "Do two TCP-AP flows share the cross, as in the paper, where Jain's index is above 0.99?",
    Effort(10),
    scenario={**BASE, **CROSS, "duration": 520.0},
    axes=[kinds(KINDS)],
    metrics=(
        GOODPUT,
        Metric("first", "flow 0, kb/s", "flows.0.goodput_kbps"),
        Metric("second", "flow 1, kb/s", "flows.1.goodput_kbps"),
        FAIRNESS,
        INSTANT,
        DROPS,
    ),
    claims=[
        Claim("Two TCP-AP flows share the cross: Jain's index above 99% over 500 s", "fairness", {"transport": "tcp-ap"}, at_least=99.0),
        versus("Over 2 s as well they share better than two NewReno flows", "instant", "tcp-ap", "newreno"),
    ],
)
# s: the first flow ends, the second begins, both phases are over; not counted at the beginning of each phase.
FIRST_ENDS, SECOND_BEGINS, ENDS, SETTLING, EVERY = 60, 30, 90, 5, 2
PHASES = {
    "first alone": (0, SETTLING, SECOND_BEGINS),
    "first, beside the second": (0, SECOND_BEGINS + SETTLING, FIRST_ENDS),
    "second beside it": (1, SECOND_BEGINS + SETTLING, FIRST_ENDS),
    "second alone": (1, FIRST_ENDS + SETTLING, ENDS),
}


def phases(study: Study) -> None:
    """Goodput over time, and in each phase."""
    found = {cell[0]: [phase(study.results(cell), *span) for span in PHASES.values()] for cell in study.accepted()}
    rows = [[kind, *means] for kind, means in found.items()]
    study.table(frame(["transport", *PHASES], rows), f"Means, kb/s, without the first {SETTLING} s of each phase")
    _, first, second, after = found["tcp-ap"]
    left = found["newreno"][3]
    text = "A second TCP-AP flow gets its share of the cross: more than two thirds of the first's"
    study.verdict(text, second.mean > 2 / 3 * first.mean, f"{second} kb/s beside {first}")
    text = "When the first flow ends, TCP-AP takes what is free, more than NewReno does"
    study.verdict(text, after.low > left.high, f"{after} kb/s, NewReno {left}")
    for cell in study.accepted():
        draw(study, cell, found[cell[0]])


def draw(study: Study, cell: Values, means: Sequence[Interval]) -> None:
    """Goodput of both flows over time, over the runs."""
    figure, axes = report.new_figure("time, s", "goodput, kb/s", cell[0])
    for flow, look in ((0, "tcp-ap"), (1, "newreno")):
        windows = [goodput(result, flow) for result in study.results(cell)]
        times = windows[0]["time"].to_list()
        values = [interval(one["value"][n] for one in windows) for n in range(len(times))]
        report.curve(axes, times, values, look, f"flow {flow}")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=8)
    caption = f"{cell[0]}: flow 0 ends at {FIRST_ENDS} s, flow 1 begins at {SECOND_BEGINS} s; with 95% intervals."
    finding = f"With {cell[0]} the second flow delivers {means[2]} kb/s beside the first, and {means[3]} kb/s alone."
    study.figure(figure, caption, finding)


def goodput(result: Result, flow: int) -> pl.DataFrame:
    """The goodput of one flow in each window."""
    return result.series.filter(pl.col("id") == flow, pl.col("series") == "goodput_kbps")


def phase(results: Sequence[Result], flow: int, begins: float, ends: float) -> Interval:
    """The mean goodput of one flow in the windows of a phase."""
    inside = (pl.col("time") - EVERY >= begins) & (pl.col("time") <= ends)
    values = [goodput(result, flow).filter(inside)["value"].to_list() for result in results]
    return interval(sum(run) / len(run) for run in values)


RESPONSE = PAGE.experiment(
    "pacing-response",
    "a flow that comes and one that goes",
    "Figures 10 to 12 until 90 s: is a flow that starts let in, and one that stops replaced?",
    Effort(10),
    scenario={
        **BASE,
        **CROSS,
        "duration": float(ENDS),
        "flow": [{"transport": "newreno", "stop": FIRST_ENDS}, {"transport": "newreno", "start": SECOND_BEGINS}],
        "record": {"every": EVERY, "what": ["goodput"]},
    },
    axes=[kinds(RESPONSE_KINDS)],
    metrics=(GOODPUT,),
    more=phases,
)
TRACED: dict[str, Any] = {
    **{kind: by_text(kind) for kind in ("tcp-cwl", "tcp-ap", "tcp-ap-sync", "tcp-ap+da", "tcp-ap+dyn")},
    "tcp-ap+dyn, ACKs after 300 ms at the latest": {"kind": "tcp-ap+dyn", "ack_delay": 0.3, **BY_TEXT},
}


def acks(study: Study) -> None:
    """Read from traces how ACKs travel against the data of their flow."""
    rows = []
    for cell in study.accepted():
        with traced(study, cell, 1) as trace:
            trips = AckTrips.read(trace, 4, WARMUP)
        cov = study.result(cell).series.filter(pl.col("time") > WARMUP)["value"].mean()
        rows.append(
            [
                cell[0],
                f"{sum(trips.gaps) / len(trips.gaps):.1f}",
                f"{cov:.2f}" if isinstance(cov, float) else "none",
                quantile(trips.there, 0.5),
                f"{trips.late:.0%}",
                f"{sum(trips.held) / len(trips.held):.1f}",
                f"{trips.crossing:.0%}",
                quantile(trips.clear, 0.5),
                quantile(trips.crossed, 0.5),
                quantile(trips.crossed, 0.9),
            ]
        )
    study.table(frame(COLUMNS, rows), "Traces over four hops, seed 1")
    for paragraph in EXPLANATION:
        study.text(paragraph)


COLUMNS = [
    "transport",
    "mean gap, ms",
    "variation",
    "data, median delay, ms",
    "ACKs made by the timer",
    "held, mean ms",
    "ACKs that cross data",
    "ACK, clear, median delay, ms",
    "ACK, crossing, median delay, ms",
    "90%, ms",
]
ACKS = PAGE.experiment(
    "pacing-acks",
    "why some margins differ from the paper's",
    "An ACK 'crosses' data if data was on its way between the departure and the arrival of the ACK.",
    Effort(1),
    scenario={**BASE, "topology": {"kind": "chain", "hops": 4}, "record": {"every": 1.0, "what": ["cov"]}},
    axes=[Axis("transport", {name: {"flow.0.transport": kind} for name, kind in TRACED.items()})],
    metrics=(GOODPUT,),
    more=acks,
)
EXPLANATION = (
    "Over four hops a window of one is hard to beat. If they do not meet, data take 30.4 ms to the receiver and the ACK takes 7.1 ms "
    "back. That window sends a segment every 37.7 ms, and nothing ever meets. A pacer alone on the chain sends sooner as the variation "
    "falls, until segments leave before the previous ACK is back. Some of those then wait for each other, the variation rises, and the "
    "gap with it. The gap varies around 37.7 ms and is 44 ms in the mean, also with synchronised clocks. Fewer ACKs help: with delayed "
    "ACKs the gap is 36 ms. The paper's text does not say over how many hops TCP-AP is 27% above the window, or 84% above NewReno.",
    "Dynamic ACKs need four segments within 100 ms. Over four hops four segments come 48 ms apart. So the timer makes every ACK, 14 ms "
    "after the newest data, when the next segment is on its way: most ACKs meet it and take twice as long. The variation is 0.23 "
    "instead of 0.08, which keeps the gap where the timer wins. A timer of 300 ms never expires, and the gap is 36 ms (the options "
    "show what that brings). Longer paths have several segments on their way in any case, so that the timer costs less.",
    "The variation keeps TCP-AP below the window on longer paths too. With one flow alone over 6 to 12 hops, round trips vary by 0.22 "
    "to 0.25, because some ACKs meet data of their own flow. The factor 1 + 2 cov makes the gap half as long again. Without that factor "
    "(`history = 1`) TCP-AP carries 248, 229, 220 and 210 kb/s over 6, 8, 10 and 12 hops, more than the window of h/4 and than NewReno "
    "with dynamic ACKs over all but the first. Over four hops it carries 289 kb/s. The paper's text does not say by how much its round "
    "trips varied.",
    "An outage must not pace. With round trips across timeouts, Jain's index over 500 s is 0.984 ± 0.021. Seed 4, by the trace of "
    "`multihop run scenarios/cross.toml --seed 4 --trace --out DIR --set routing.protocol=aodv --set mac.rts_threshold=0 --set "
    'duration=240 --set warmup=20 --set flow.1.start=0 --set \'flow.*.transport={ kind = "tcp-ap", rules = "paper", ap_across_timeouts = true }\'`: at '
    "195.65 s node 4 loses its route to node 0 and requests another until 203.03 s, four times without success. The ACKs of flow 0 "
    "wait there, the sender's timer expires at 202.46 s, and then all ACKs arrive, 7.4 s old. Those of segments that had not been "
    "retransmitted are samples. The variation is above 3 and the rate below 1 kb/s for as long as 50 samples take at that rate. This is a "
    "minute in which the other flow has the cross to itself. TCP's own timing never goes across a timeout; the paper, whose index is "
    "above 0.99 for every alpha and N that it tries, does not say.",
)
EXPERIMENTS = (CHAIN, WINDOW, TWO_FLOWS, RESPONSE, ACKS)
