"""ELFN, section 6: what notices are worth as a share of the expected throughput, with each option and other routing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import polars as pl

from multihop_papers.declare import ACKED, EXPECTED, Axis, Effort, Metric, Plot, Unstated, versus
from multihop_papers.measures import difference, frame, mean
from multihop_papers.papers.elfn import FAST, RENO, SPEEDS, kinds, moving, tcp
from multihop_papers.reasons import not_knowable
from multihop_papers.study import Study

SHARE = Metric("share", "share of the expected throughput", "flows.0.acked_kbps", per="flows.0.expected_goodput_kbps")
TWENTY = Effort(20)
ELFN = tcp("elfn")
RARE, SOON = tcp("elfn", probe_interval=30.0), tcp("elfn", probe_interval="rtt")
AMONG = Axis("speed", {30: SPEEDS.values[30]}, SPEEDS.label)
FIRST_PROBE = 2.0  # s
STAND_BY = 6.0  # its number in the series of states


HIGHEST = "no pattern carries more than is expected of it"


def highest(study: Study) -> float:
    """The greatest share of the expected throughput."""
    return max(max(study.samples("share", cell).values()) for cell in study.accepted())


def above_expected(study: Study) -> str:
    """Why a pattern may deliver more than is expected of it."""
    return (
        "The text calls the expected throughput a reasonable upper bound, not a bound (section 3), and makes it of the means of chains at rest, "
        "which Figure 1 prints without intervals (elfn-chain has them). A pattern with few breaks delivers what a chain of its length "
        f"delivers, which differs from that mean by chance, here by {highest(study) - 1:+.1%}. Whether single patterns exceed it by as little "
        "cannot be known from Figures 4 and 11."
    )


def shares(study: Study) -> None:
    """Compare shares pattern by pattern."""
    speeds = list(FAST["speed"])
    rows = []
    for of, against in (("elfn, 2 s", "reno"), ("elfn, 30 s", "reno"), ("elfn, 30 s", "elfn, 2 s")):
        found = [difference(study, "share", (v, of), (v, against)) for v in speeds]
        rows.append([f"{of} less {against}", *found])
        if (of, against) == ("elfn, 30 s", "reno"):
            text = "probes every 30 s are not better than no notices; the paper has them below plain TCP"
            why = f"share {', '.join(map(str, found))} at {', '.join(map(str, speeds))} m/s"
            study.verdict(text, all(one.low <= 0 for one in found), why)
    study.verdict(HIGHEST, highest(study) <= 1, f"most: {highest(study):.3f}", study.experiment.reasons[HIGHEST].of(study))
    study.table(frame(["difference of shares", *(f"{v} m/s" for v in speeds)], rows), "Differences, pattern by pattern")


PROBES = moving(
    "elfn-probe",
    "Figures 11 and 12, section 6",
    "explicit notices, and how often to probe",
    "ELFN brings throughput closer to what is expected at every speed; probes every 2 s do best, every 30 s worse than Reno.",
    axes=[SPEEDS, kinds({"reno": RENO, **{f"elfn, {s} s": tcp("elfn", probe_interval=float(s)) for s in (2, 4, 6, 10, 15, 30)}})],
    metrics=(ACKED, EXPECTED, SHARE),
    quick=Effort(20, keep=FAST),
    claims=[
        versus(f"ELFN with probes every 2 s carries more than Reno{what}", metric, "elfn, 2 s", "reno", each=FAST)
        for metric, what in (("acked", ""), ("share", ", as a share of what is expected"))
    ]
    + [
        versus(f"probes every 30 s carry less than probes every 2 s{what}", metric, "elfn, 30 s", "elfn, 2 s", at_most=1.0, each=FAST)
        for metric, what in (("acked", ""), ("share", ", as a share of what is expected"))
    ]
    + [versus("probes every 30 s carry less than Reno at 30 m/s", "acked", "elfn, 30 s", "reno", at={"speed": 30}, at_most=1.0)],
    unstated=(Unstated("probe intervals between 2 and 30 s", "4, 6, 10, 15 s", "the text names the ends alone"),),
    plots=(
        Plot("line", "acked", x="speed", by="transport", caption="Throughput over mean speed."),
        Plot(
            "line",
            "share",
            x="speed",
            by="transport",
            caption="Share of the expected throughput over mean speed, with 95% intervals over the patterns (Figure 12).",
        ),
        Plot(
            "scatter",
            "acked",
            x="expected",
            by="transport",
            panel="speed",
            caption="Measured over expected throughput, a dot for each pattern.",
        ),
    ),
    more=shares,
    reasons={HIGHEST: not_knowable(above_expected)},
)


class Spell(NamedTuple):
    """One time in standby, s."""

    lasted: float
    back: float
    """Time from the end of this standby to the next one."""


def endings(study: Study) -> None:
    """Say what ends standby, by the series of states."""
    (cell,) = study.accepted()
    spells = [spell for result in study.results(cell) for spell in standbys(result.series)]
    early = [spell for spell in spells if spell.lasted < FIRST_PROBE]
    again = sum(spell.back < 1.0 for spell in early)
    study.text(
        f"At 30 m/s ELFN entered standby {len(spells)} times and came back. {len(early)} times it did so before the first probe left: ACKs "
        'that were in flight when the link broke are ACKs, too. With `exit = "new"` they still acknowledge new data. '
        f"{again} of these times it entered standby again within a second."
    )


def standbys(series: pl.DataFrame) -> list[Spell]:
    """The times in standby that ended, of one run."""
    rows = series.filter(pl.col("series") == "state").select("time", "value").rows()
    starts = [at for at, state in rows if state == STAND_BY]
    ends = [after for (_, state), (after, _) in pairwise(rows) if state == STAND_BY]
    nexts = [*starts[1:], math.inf]
    return [Spell(end - start, then - end) for start, end, then in zip(starts, ends, nexts, strict=False)]


STANDBY = moving(
    "elfn-standby",
    "section 6, ours",
    "what ends standby",
    "A sender in standby leaves it when an ACK comes. Which ACKs are these?",
    scenario={"record": {"every": 0.0, "what": ["state"]}},
    axes=[AMONG, kinds({"elfn": ELFN})],
    metrics=(SHARE,),
    quick=TWENTY,
    plots=(),
    more=endings,
)
BASES: dict[str, Mapping[str, Any]] = {"elfn": ELFN, "newreno": tcp("newreno"), "tcp-ap": tcp("tcp-ap")}
# Name: the transport, and what it is compared with.
OPTIONS: dict[str, tuple[Mapping[str, Any], str]] = {
    "probe_interval = 0.5": (tcp("elfn", probe_interval=0.5), "elfn"),
    "probe_interval = 10": (tcp("elfn", probe_interval=10.0), "elfn"),
    "probe_interval = 30": (RARE, "elfn"),
    'probe_interval = "rtt"': (SOON, "elfn"),
    'probe = "lowest-lost"': (tcp("elfn", probe="lowest-lost"), "elfn"),
    'exit = "new"': (tcp("elfn", exit="new"), "elfn"),
    'restore = "window"': (tcp("elfn-w"), "elfn"),
    'restore = "rto-window"': (tcp("elfn-rto-w"), "elfn"),
    "probe_max = 3": (tcp("elfn", probe_max=3), "elfn"),
    "newreno+elfn": (tcp("newreno+elfn"), "newreno"),
    "tcp-ap+elfn": (tcp("tcp-ap+elfn"), "tcp-ap"),
}


def worth(study: Study) -> None:
    """Compare each option with its base."""
    found = {name: difference(study, "share", (30, name), (30, base)) for name, (_, base) in OPTIONS.items()}
    rows = [
        [name, base, mean(study, "share", (30, name)), mean(study, "share", (30, base)), found[name]] for name, (_, base) in OPTIONS.items()
    ]
    study.table(frame(["changed", "base", "share", "share of the base", "difference"], rows), "Differences, pattern by pattern")
    window, timeout, lowest = (found[f"{key}"] for key in ('restore = "window"', 'restore = "rto-window"', 'probe = "lowest-lost"'))
    study.verdict("a window of one after a break has little effect: below 0.1", abs(window.mean) < 0.1, str(window))
    text = "the timeout of a new connection has a larger effect, for the worse"
    study.verdict(text, timeout.high < 0 and timeout.mean < window.mean, str(timeout))
    study.verdict("the choice of the packet that probes has almost no effect: below 0.05", abs(lowest.mean) < 0.05, str(lowest))


SINGLE = moving(
    "elfn-options",
    "section 6, ours",
    "each option at 30 m/s",
    "One option at a time, against ELFN as the paper has it, or against the transport without notices.",
    axes=[AMONG, kinds({**BASES, **{name: kind for name, (kind, _) in OPTIONS.items()}})],
    metrics=(SHARE,),
    quick=TWENTY,
    full=TWENTY,
    plots=(),
    more=worth,
)
ROUTINGS: dict[str, dict[str, Any]] = {
    "DSR without replies from caches": {"routing.cache_replies": False},
    "AODV (ns2), MAC": {"routing.protocol": "aodv"},
    "OLSR, MAC": {"routing.protocol": "olsr", "routing.link_failure": "mac"},
}


def other_routing(study: Study) -> None:
    """Compare with Reno over the same routing."""
    rows = []
    for name in ROUTINGS:
        gains = [difference(study, "share", (30, name, kind), (30, name, "reno")) for kind in ("elfn, 2 s", "elfn, rtt")]
        rows.append([name, *gains])
    study.table(frame(["routing", "elfn, 2 s, less reno", "elfn, rtt, less reno"], rows), "Differences of shares, pattern by pattern")
    study.text(
        "Under AODV 2 s are too long: Reno's first timeout, 1 s, requests a new route before the first probe would. Probes that follow the "
        "round-trip time gain there, too."
    )


ROUTING = moving(
    "elfn-routing",
    "section 6, ours",
    "notices of other routing protocols at 30 m/s",
    "AODV and OLSR tell the source by ICMP.",
    axes=[AMONG, Axis("routing", ROUTINGS), kinds({"reno": RENO, "elfn, 2 s": ELFN, "elfn, rtt": SOON})],
    metrics=(SHARE,),
    quick=TWENTY,
    full=TWENTY,
    plots=(),
    spread="transport",
    more=other_routing,
)
EXPERIMENTS = (PROBES, STANDBY, SINGLE, ROUTING)
