"""Explicit link failure notification among moving nodes, against what Holland and Vaidya found."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

import multihop
from multihop import report
from multihop.experiments.elfn import BASE, MOVING, RENO, tcp
from multihop.stats import Interval, interval
from study import Study

SPEEDS = (10.0, 20.0, 30.0)  # m/s
AMONG = 30.0  # m/s, where options are compared
PATTERNS = range(1, 21)
HOPS = range(1, 11)
CHAIN_SECONDS = 60.0
CHAIN_SEEDS = range(1, 4)

ELFN = tcp("elfn")
RARE = tcp("elfn", probe_interval=30.0)
SOON = tcp("elfn", probe_interval="rtt")
AT_ALL_SPEEDS = {
    "Reno": RENO,
    "ELFN, 2 s": ELFN,
    "ELFN, 30 s": RARE,
}
FIRST_PROBE = 2.0  # s
STAND_BY = 6.0  # its number in the series of states
# Name: whose colours, and the mark.
DRAWN = {"Reno": ("reno", "o"), "ELFN, 2 s": ("elfn", "o"), "ELFN, 30 s": ("elfn", "^")}
# Name: the transport, and what it is compared with.
OPTIONS = {
    "`probe_interval = 0.5`": (tcp("elfn", probe_interval=0.5), ELFN),
    "`probe_interval = 10`": (tcp("elfn", probe_interval=10.0), ELFN),
    "`probe_interval = 30`": (RARE, ELFN),
    '`probe_interval = "rtt"`': (SOON, ELFN),
    '`probe = "lowest-lost"`': (tcp("elfn", probe="lowest-lost"), ELFN),
    '`exit = "new"`': (tcp("elfn", exit="new"), ELFN),
    '`restore = "window"`': (tcp("elfn-w"), ELFN),
    '`restore = "rto-window"`': (tcp("elfn-rto-w"), ELFN),
    "`probe_max = 3`": (tcp("elfn", probe_max=3), ELFN),
    "`newreno+elfn` instead of `newreno`": (tcp("newreno+elfn"), tcp("newreno")),
    "`tcp-ap+elfn` instead of `tcp-ap`": (tcp("tcp-ap+elfn"), tcp("tcp-ap")),
}
ROUTINGS: dict[str, dict[str, Any]] = {
    "DSR without replies from caches": {"protocol": "dsr", "cache_replies": False},
    "AODV (ns2), MAC": {"protocol": "aodv"},
    "OLSR, MAC": {"protocol": "olsr", "link_failure": "mac"},
}


def study() -> Study:
    """Run the patterns with and without notices."""
    page = Study(
        "Explicit link failure notification among moving nodes",
        "Does a sender that is told of broken links, stands by and probes carry more than one that backs "
        "off, by as much as Holland and Vaidya's text says, and is it true that rare probes undo it?",
        f"Their setting: 30 nodes in 1500 m x 300 m, random waypoint without pauses, speeds from 0.9 v to "
        f"1.1 v, runs of 3600/v s, one connection with a window of eight packets and delayed ACKs, DSR, ARP "
        f"with one packet, ns-2 as of 1999. Patterns {PATTERNS[0]} to {PATTERNS[-1]}, which are the same "
        "movement at every speed; theirs cannot be had. The *share* is the throughput acknowledged to the "
        "sender over what is expected (their Equation 3.1), which comes from static chains of "
        f"{HOPS[0]} to {HOPS[-1]} hops of 200 m, {len(CHAIN_SEEDS)} runs of {CHAIN_SECONDS:g} s each. 95% "
        "Student-t intervals over the patterns; differences are taken pattern by pattern.",
    )
    with tempfile.TemporaryDirectory(prefix="multihop-") as scratch:
        runs = Runs(Path(scratch))
        compare(page, runs)
        endings(page, runs)
        options(page, runs)
        routings(page, runs)
    return page


class Runs:
    """Shares of the expected throughput, each setting run once."""

    def __init__(self, scratch: Path) -> None:
        self.chains = chains()
        self.table = scratch / "chain.json"
        self.table.write_text(json.dumps(self.chains), encoding="utf-8")
        self.known: dict[str, list[float]] = {}

    def shares(
        self, transport: Mapping[str, Any], speed: float, routing: Mapping[str, Any] | None = None
    ) -> list[float]:
        """A share for each pattern."""
        scenario = self.scenario(transport, speed, routing)
        key = json.dumps(scenario, sort_keys=True)
        if key not in self.known:
            results = multihop.run_all({**scenario, "seed": pattern} for pattern in PATTERNS)
            flows = [result.data["flows"][0] for result in results]
            self.known[key] = [flow["acked_kbps"] / flow["expected_goodput_kbps"] for flow in flows]
        return self.known[key]

    def scenario(
        self, transport: Mapping[str, Any], speed: float, routing: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """One setting; the seed is the pattern."""
        return {
            **MOVING,
            "duration": 3600.0 / speed,
            "mobility": {**MOVING["mobility"], "speed": speed},
            "routing": {**BASE["routing"], **(routing or {})},
            "flow": [{"from": 0, "to": 1, "transport": dict(transport)}],
            "expected": {"table": str(self.table)},
        }


def chains() -> dict[str, float]:
    """Throughput of Reno over static chains, kb/s, by hops."""
    scenarios = [
        {
            **BASE,
            "duration": CHAIN_SECONDS,
            "seed": seed,
            "topology": {"kind": "chain", "hops": hops, "spacing": 200.0},
            "flow": [{"transport": RENO}],
        }
        for hops in HOPS
        for seed in CHAIN_SEEDS
    ]
    acked = [result.data["flows"][0]["acked_kbps"] for result in multihop.run_all(scenarios)]
    n = len(CHAIN_SEEDS)
    return {str(hops): sum(acked[n * i : n * i + n]) / n for i, hops in enumerate(HOPS)}


def gain(better: Sequence[float], worse: Sequence[float]) -> Interval:
    """Difference, pattern by pattern."""
    return interval(a - b for a, b in zip(better, worse, strict=True))


def compare(page: Study, runs: Runs) -> None:
    """The paper's Figures 11 and 12."""
    shares = {name: {v: runs.shares(kind, v) for v in SPEEDS} for name, kind in AT_ALL_SPEEDS.items()}
    page.text(
        "What chains carry, kb/s: "
        + ", ".join(f"{kbps:.0f}" for kbps in runs.chains.values())
        + f" over {HOPS[0]} to {HOPS[-1]} hops."
    )
    page.table(
        ["share of the expected throughput", *(f"{v:g} m/s" for v in SPEEDS)],
        [[name, *(str(interval(found[v])) for v in SPEEDS)] for name, found in shares.items()],
    )
    reno, elfn, rare = (shares[name] for name in ("Reno", "ELFN, 2 s", "ELFN, 30 s"))
    page.table(
        ["difference of shares", *(f"{v:g} m/s" for v in SPEEDS)],
        [
            [name, *(str(gain(a[v], b[v])) for v in SPEEDS)]
            for name, a, b in (
                ("ELFN, 2 s less Reno", elfn, reno),
                ("ELFN, 30 s less Reno", rare, reno),
                ("ELFN, 30 s less ELFN, 2 s", rare, elfn),
            )
        ],
    )
    draw(page, shares)
    page.text(
        "The paper has probes every 30 s below plain TCP. So are ours in the mean at every speed, but by "
        f"less than {len(PATTERNS)} patterns can tell."
    )
    judge(page, shares)


def draw(page: Study, shares: Mapping[str, Mapping[float, list[float]]]) -> None:
    """Shares over speed."""
    figure, axes = report.new_figure("mean speed, m/s", "share of the expected throughput")
    for name, (transport, marker) in DRAWN.items():
        report.curve(
            axes, SPEEDS, (interval(shares[name][v]) for v in SPEEDS), transport, name, marker=marker
        )
    axes.set_xticks(SPEEDS)
    axes.set_ylim(0, 1)
    axes.legend()
    page.figure(
        "elfn",
        figure,
        "Share of the expected throughput over mean speed, with 95% intervals over the patterns "
        "(the paper's Figure 12)",
    )


def judge(page: Study, shares: Mapping[str, Mapping[float, list[float]]]) -> None:
    """The paper's text."""
    reno, elfn, rare = (shares[name] for name in ("Reno", "ELFN, 2 s", "ELFN, 30 s"))
    better = {v: gain(elfn[v], reno[v]) for v in SPEEDS}
    page.verdict(
        "Notices with probes every 2 s raise the mean throughput at each speed, as the paper's Figure 11 "
        f"({listed(better.values())} of what is expected)",
        all(found.low > 0 for found in better.values()),
    )
    worse = {v: gain(rare[v], elfn[v]) for v in SPEEDS}
    page.verdict(
        f"Throughput hangs on the time between probes: 30 s instead of 2 s costs ({listed(worse.values())})",
        all(found.high < 0 for found in worse.values()),
    )
    undone = {v: gain(rare[v], reno[v]) for v in SPEEDS}
    page.verdict(
        "Probes every 30 s are no better than no notices, where the paper has them below plain TCP "
        f"({listed(undone.values())})",
        all(found.low <= 0 for found in undone.values()),
    )
    highest = max(share for found in shares.values() for v in SPEEDS for share in found[v])
    page.verdict(f"No pattern carries more than is expected of it (most: {highest:.2f})", highest <= 1)


def endings(page: Study, runs: Runs) -> None:
    """What ends stand-by, by the series of states."""
    record = {"every": 0.0, "what": ["state"]}
    scenario = {**runs.scenario(ELFN, AMONG), "record": record}
    spells = [
        spell
        for result in multihop.run_all({**scenario, "seed": pattern} for pattern in PATTERNS)
        for spell in standbys(result.series)
    ]
    early = [spell for spell in spells if spell.lasted < FIRST_PROBE]
    again = sum(spell.back < 1.0 for spell in early)
    page.text(
        f"At {AMONG:g} m/s ELFN stood by {len(spells)} times and came back. {len(early)} times it did so "
        "before the first probe left: ACKs that were under way when the link broke are ACKs, too, and "
        f'with `exit = "new"` they still acknowledge new data. {again} of these times it stood by again '
        "within a second."
    )


class Spell(NamedTuple):
    """One time on stand-by, s."""

    lasted: float
    back: float
    """From its end to the next."""


def standbys(series: pl.DataFrame) -> list[Spell]:
    """Those that ended, of one run."""
    rows = series.filter(pl.col("series") == "state").select("time", "value").rows()
    starts = [at for at, state in rows if state == STAND_BY]
    ends = [after for (_, state), (after, _) in pairwise(rows) if state == STAND_BY]
    nexts = [*starts[1:], math.inf]
    return [Spell(end - start, then - end) for start, end, then in zip(starts, ends, nexts, strict=False)]


def options(page: Study, runs: Runs) -> None:
    """One at a time."""
    rows, found = [], {}
    for name, (kind, base) in OPTIONS.items():
        shares, reference = runs.shares(kind, AMONG), runs.shares(base, AMONG)
        found[name] = gain(shares, reference)
        rows.append([name, str(interval(shares)), str(interval(reference)), str(found[name])])
    page.text(f"Each option at {AMONG:g} m/s, against ELFN as the paper has it where nothing else is said.")
    page.table(["changed", "share", "share without", "difference"], rows)
    window, timeout = found['`restore = "window"`'], found['`restore = "rto-window"`']
    page.verdict(
        f"A window of one after a break has little effect: below 0.1 (found {window})", abs(window.mean) < 0.1
    )
    page.verdict(
        f"The timeout of a new connection has a larger one, for the worse (found {timeout})",
        timeout.high < 0 and timeout.mean < window.mean,
    )
    lowest = found['`probe = "lowest-lost"`']
    page.verdict(
        f"Which packet probes has almost no effect: below 0.05 (found {lowest})", abs(lowest.mean) < 0.05
    )


def routings(page: Study, runs: Runs) -> None:
    """Other sources of notices."""
    rows = []
    for name, routing in ROUTINGS.items():
        reno, elfn, soon = (runs.shares(kind, AMONG, routing) for kind in (RENO, ELFN, SOON))
        rows.append(
            [name, str(interval(reno)), str(interval(elfn)), *(str(gain(a, reno)) for a in (elfn, soon))]
        )
    page.text(f"Other routing at {AMONG:g} m/s. AODV and OLSR tell the source by ICMP.")
    page.table(["routing", "Reno", "ELFN, 2 s", "difference", 'difference with `"rtt"`'], rows)
    page.text(
        "Under AODV 2 s are too long: Reno's first timeout, 1 s, asks for a new route before the first probe "
        "would. Probes that follow the round-trip time gain there, too."
    )


def listed(intervals: Iterable[Interval]) -> str:
    """For a line of text."""
    return ", ".join(map(str, intervals)) + f" at {', '.join(f'{v:g}' for v in SPEEDS)} m/s"
