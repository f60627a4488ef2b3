"""ADTCP, section 6: two transfers over four hops of laptops, with what the paper leaves open about them."""

from __future__ import annotations

from typing import Any

from multihop.stats import Interval, interval
from multihop_papers.declare import FAIRNESS, Axis, Claim, Effort, Metric, Plot, Settings, Unstated, gain
from multihop_papers.measures import frame
from multihop_papers.study import Experiment, Study, Values

LINUX = {"preset": "linux", "window_max": 8}
PATIENT = {"kind": "adtcp", "probe_max": "off", **LINUX}
SECONDS = 1500.0
"""Duration of a run, s: 27 MB take so long at 150 kb/s, the longest for which a walk is planned."""
HOPS, SPACING, SPEED = 4, 200.0, 2.0


def walk(far: float, near: float, away: float) -> Settings:
    """A receiver that walks this many metres away and back, and stands for these times at either end, s."""
    home = HOPS * SPACING
    steps = [(near, home), (far / SPEED, home + far), (away, home + far), (far / SPEED, home)]
    path, now = [[0.0, home, 0.0]], 0.0
    while now < SECONDS:
        for seconds, place in steps:
            now += seconds
            if seconds:
                path.append([now, place, 0.0])
    return {"mobility": {"kind": "waypoints", "waypoints": [*([[]] * HOPS), path]}}


CLEAR, WEAK, SINGLE, WALKING, SELDOM = "clear", "weak signal", "weak, single errors", "walking", "walking, seldom away"
CHANNELS: dict[str, Settings] = {
    CLEAR: {"duration": SECONDS},  # its difference is the smallest
    WEAK: {"radio.burst": {"p": 0.02, "r": 0.2}},
    SINGLE: {"radio.frame_loss": 0.25},
    WALKING: walk(100.0, 0.0, 0.0),
    SELDOM: walk(60.0, 60.0, 15.0),
}
SOON, LATE = 0.5, 2.0
PROBES = Axis("probes", {s: {"flow.0.transport.probe_interval": s} for s in (SOON, LATE)}, "interval of probes, s")


def side_by_side(study: Study) -> None:
    """Show how much faster ADTCP is with each setting of what the paper leaves open."""
    rows = [[*cell, faster(study, cell)] for cell in study.accepted()]
    study.table(frame(["channel", "interval of probes, s", "ADTCP / Reno"], rows), "ADTCP as a multiple of Reno, run by run")
    study.compared.append(("clear channel: ADTCP / Reno", 0.95, faster(study, (CLEAR, SOON)).mean))
    study.text(
        "Section 6 leaves three things open that decide the result. How the weak signal loses frames: in bursts of five, and with probes every "
        f"{SOON:g} s, ADTCP is at {faster(study, (WEAK, SOON))} times Reno. Where any frame of any link is lost with a chance of 25%, and "
        f"with probes every {LATE:g} s, it is at {faster(study, (SINGLE, LATE))}. A timeout that one lost segment causes is a disconnection to "
        "ADTCP. If its first probe is lost too it waits for a whole interval, where Reno's timeout of Linux is a few hundred "
        f"milliseconds. And the walk: after a time out of reach Reno waits for about as long again, since its timeout has doubled, and "
        "ADTCP has the channel to itself. Half of the time out of reach makes "
        f"{faster(study, (WALKING, SOON))} times, 25 s in every 135 s {faster(study, (SELDOM, SOON))}."
    )


def faster(study: Study, cell: Values) -> Interval:
    """ADTCP's throughput as a multiple of Reno's beside it."""
    ours, theirs = study.samples("adtcp", cell), study.samples("reno", cell)
    return interval(ours[seed] / theirs[seed] for seed in ours if theirs[seed])


def claim(text: str, channel: str, **bounds: Any) -> Claim:
    """A claim about ADTCP beside Reno."""
    cell = {"channel": channel, "probes": SOON}
    return Claim(text, "adtcp", cell, cell, than="reno", **bounds)


TESTBED = Experiment(
    id="adtcp-testbed",
    paper="ADTCP",
    place="Figure 7, section 6",
    title="four hops of laptops",
    found="Two transfers of 27 MB side by side, ADTCP and Reno. Over a clear channel they are level (less than 5% for ADTCP's computing); with a weak "
    "signal ADTCP is 30% faster, with a walking receiver more than twice as fast.",
    scenario={
        "duration": 300.0,
        "mac": {"arp": "ns2", "flavour": "standard", "rts_threshold": 0},
        "topology": {"kind": "chain", "hops": HOPS, "spacing": SPACING},
        "routing": {"protocol": "static"},
        "flow": [{"from": 0, "to": HOPS, "transport": PATIENT}, {"from": 0, "to": HOPS, "transport": {"kind": "reno", **LINUX}}],
    },
    axes=[Axis("channel", CHANNELS, ""), PROBES],
    metrics=(Metric("adtcp", "ADTCP, kb/s", "flows.0.goodput_kbps"), Metric("reno", "Reno, kb/s", "flows.1.goodput_kbps"), FAIRNESS),
    quick=Effort(5),
    full=Effort(10, {"duration": 600.0}),
    other_readings=(LATE, SINGLE, SELDOM),
    claims=[
        claim("ADTCP and Reno are level over a clear channel, within 10%", CLEAR, at_least=0.9, at_most=1.1),
        claim("30% faster with a weak signal", WEAK, at_least=gain(0.3), size=0.3),
        claim("more than twice as fast with a walking receiver", WALKING, at_least=gain(1.0)),
    ],
    unstated=(
        Unstated(
            "the weak signal",
            "each link loses frames in bursts of five in the mean, 9% of all; also 25% of all frames, one by one",
            "no measure is given; fades outlast a frame",
        ),
        Unstated(
            "the walk",
            "100 m away and back at 2 m/s without a stop, out of reach for half of the time. Another walk is 60 m away, for 25 s of 135 s",
            "disconnections are mentioned, no path and no times",
        ),
        Unstated("the interval of probes", "0.5 s; also 2 s, as in the paper on ELFN", "probing is periodic, without a period"),
        Unstated(
            "27 MB or a time", "transfers without end over a fixed time", "throughput over a time that both share compares them alike"
        ),
    ),
    plots=(
        Plot("bar", "adtcp", x="channel", by="probes", caption="Throughput of ADTCP, by the interval of its probes, s."),
        Plot("bar", "reno", x="channel", by="probes", caption="Throughput of Reno beside it."),
    ),
    more=side_by_side,
)
