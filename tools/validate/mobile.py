"""Fifty moving nodes: what each routing protocol delivers, what it costs, and where packets are lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise, product

from losses import Losses
from moving import (
    AREAS,
    BYTES,
    DELAY,
    DELIVERY,
    FAST,
    FLOWS,
    INVALID,
    NODES,
    PACKETS,
    PARTITIONED,
    PAYLOAD,
    PER_SECOND,
    REST,
    SECONDS,
    SEEDS,
    SPEEDS,
    STOP,
    STRETCH,
    TRACED,
    WARMUP,
    Case,
    Metric,
    gain,
    mean,
    run,
    total,
    trace,
)
from multihop import Result, report
from protocols import PROTOCOLS, curve
from study import Study

# s after the last HELLO, the shortest first.
NEIGHBOUR_LIFE = {"uu-hello": 2.05, "aodv-hello": 4.5, "olsr": 6.0}
BY_MAC = {"aodv-hello": "aodv", "uu-hello": "uu", "olsr": "olsr-mac"}

Found = Mapping[Case, list[Result]]
Variants = Mapping[str, list[Result]]


def study() -> Study:
    """Run every protocol at every speed in both areas."""
    page = Study("Routing among moving nodes", QUESTION, setting())
    cases = [Case(*values) for area in AREAS for values in product([area], PROTOCOLS, SPEEDS[area])]
    found = run({case: case.scenario() for case in cases})
    variants = run(VARIANTS)
    traced = {name: trace(Case("square", name, FAST)) for name in PROTOCOLS}
    judge(page, found, variants, traced)
    explain(page, found, variants, traced)
    for area, (width, height) in AREAS.items():
        page.text(f"### {width:g} m x {height:g} m")
        for metric in METRICS:
            if metric.drawn and (area == "square" or metric is DELIVERY):
                draw(page, found, area, metric)
            tabulate(page, found, area, metric)
        apart = [f"{mean(found[Case(area, 'aodv', v)], PARTITIONED)} ({label(v)})" for v in SPEEDS[area]]
        page.text(f"{capital(PARTITIONED.name)}, the same for all protocols: {', '.join(apart)}.")
    return page


def setting() -> str:
    """What all runs have in common."""
    return (
        f"{NODES} nodes under random waypoint with a stationary start and no pauses, speeds uniform from "
        "v/2 to 3v/2, so that the same seed at another v is the same movement at another pace; v = "
        f"{', '.join(f'{v:g}' for v in SPEEDS['square'][1:])} m/s and, as *at rest*, {REST:g} m/s. The "
        f"nodes' mean speed is 0.91 v. {FLOWS} flows between {2 * FLOWS} nodes, {PER_SECOND} "
        f"datagrams of {PAYLOAD} bytes a second each, the sources in turn; {SECONDS:g} s simulated, flows "
        f"from {WARMUP:g} s to {STOP:g} s; range 250 m, 2 Mb/s data, 1 Mb/s basic rate, ns2 flavour and ARP, "
        "RTS/CTS; no second IP header for any protocol, so that the air is the same for all; DSR without "
        f"flow state. Seeds {SEEDS[0]} to {SEEDS[-1]}, the same movements for every protocol; 95% Student-t "
        "intervals over the seeds. *MAC* and *HELLO* say how broken links are found."
    )


def label(speed: float) -> str:
    """Of a column."""
    return "at rest" if speed == REST else f"{speed:g} m/s"


def draw(page: Study, found: Found, area: str, metric: Metric) -> None:
    """One metric over the speed."""
    figure, axes = report.new_figure("v, mean of the speeds drawn, m/s", metric.name)
    for name in PROTOCOLS:
        points = [mean(found[Case(area, name, speed)], metric) for speed in SPEEDS[area]]
        curve(axes, SPEEDS[area], points, name)
    if metric.log:
        axes.set_yscale("log")
    elif metric is not STRETCH:
        axes.set_ylim(bottom=0)
    axes.legend(fontsize=8)
    width, height = AREAS[area]
    text = f"{capital(metric.name)} over the speed, {width:g} m x {height:g} m, with 95% intervals"
    page.figure(f"mobile-{area}-{metric.drawn}", figure, text)


def tabulate(page: Study, found: Found, area: str, metric: Metric) -> None:
    """One metric of every protocol at every speed."""
    page.text(f"{capital(metric.name)}:")
    page.table(
        ["protocol", *[label(speed) for speed in SPEEDS[area]]],
        [
            [protocol.label, *[str(mean(found[Case(area, name, v)], metric)) for v in SPEEDS[area]]]
            for name, protocol in PROTOCOLS.items()
        ],
    )


def capital(text: str) -> str:
    """For the start of a sentence."""
    return text[0].upper() + text[1:]


def judge(page: Study, found: Found, variants: Variants, traced: Mapping[str, Losses]) -> None:
    """The verdicts."""
    rest = {name: mean(found[Case("square", name, REST)], DELIVERY).mean for name in PROTOCOLS}
    least = min(rest, key=lambda name: rest[name])
    claim = (
        f"At rest every protocol delivers at least 98% (least {rest[least]:.2%}, {PROTOCOLS[least].label})"
    )
    page.verdict(claim, rest[least] >= 0.98)
    for area, name in product(AREAS, ("aodv", "uu", "dsr")):
        share = mean(found[Case(area, name, 5.0)], DELIVERY)
        claim = (
            f"{PROTOCOLS[name].label} at 5 m/s, {area}: above 95%, as Broch and others found (found {share})"
        )
        page.verdict(claim, share.mean > 0.95)
    for area, (hello, mac) in product(AREAS, BY_MAC.items()):
        more = gain(found[Case(area, mac, FAST)], found[Case(area, hello, FAST)], DELIVERY)
        claim = (
            f"{PROTOCOLS[mac].label} delivers more than {PROTOCOLS[hello].label}, 20 m/s, {area} (by {more})"
        )
        page.verdict(claim, more.low > 0)
    for area, (sooner, later) in product(AREAS, pairwise(NEIGHBOUR_LIFE)):
        more = gain(found[Case(area, sooner, FAST)], found[Case(area, later, FAST)], DELIVERY)
        claim = (
            f"The sooner a silent neighbour is given up, the more arrives: {PROTOCOLS[sooner].label} before "
            f"{PROTOCOLS[later].label}, 20 m/s, {area} (by {more})"
        )
        page.verdict(claim, more.low > 0)
    for hello in ("aodv-hello", "uu-hello"):
        unnoticed, life = traced[hello].mean_run / PER_SECOND, NEIGHBOUR_LIFE[hello]
        claim = (
            f"{PROTOCOLS[hello].label}: a broken link takes datagrams for half to all of the {life:g} s "
            f"that a neighbour may be silent (found {unnoticed:.2f} s)"
        )
        page.verdict(claim, life / 2 <= unnoticed <= life)
    for mac in ("aodv", "uu"):
        run_length = traced[mac].mean_run
        claim = f"{PROTOCOLS[mac].label}: a broken link takes one datagram (found {run_length:.2f})"
        page.verdict(claim, run_length < 1.2)
    stretch = mean(found[Case("square", "olsr", REST)], STRETCH)
    page.verdict(f"OLSR at rest takes shortest paths (stretch {stretch})", stretch.mean < 1.005)
    for name, metric, sign, claim in CAUSES:
        difference = gain(variants[name], found[Case("square", BASES[name], FAST)], metric)
        held = difference.low > 0 if sign > 0 else difference.high < 0
        page.verdict(f"{claim} ({metric.name} changes by {difference})", held)


def explain(page: Study, found: Found, variants: Variants, traced: Mapping[str, Losses]) -> None:
    """Why they order as they do."""
    page.text("### Why they order as they do")
    for paragraph in reasons(found, variants, traced):
        page.text(paragraph)
    sent = {name: TRACED * total(found[Case("square", name, FAST)][0], "segments_sent") for name in PROTOCOLS}
    codes = [code for code in CODES if any(losses.reasons[code] for losses in traced.values())]
    page.text(
        f"Datagrams lost at 20 m/s in the square, in % of those sent, by the traces of seeds {SEEDS[0]} to "
        f"{SEEDS[TRACED - 1]}, and for how long one node's MAC gave up on one flow's datagrams without a "
        "break (their number / 4, s); *broken links met*: how often it began to:"
    )
    page.table(
        ["protocol", *[CODES[code] for code in codes], "given up in a row, s", "broken links met"],
        [
            [
                PROTOCOLS[name].label,
                *[f"{100 * losses.reasons[code] / sent[name]:.2f}" for code in codes],
                f"{losses.mean_run / PER_SECOND:.2f}" if losses.runs else "-",
                str(len(losses.runs)),
            ]
            for name, losses in traced.items()
        ],
    )
    page.text("What changes at 20 m/s in the square when one thing is changed:")
    rows = {PROTOCOLS[base].label: found[Case("square", base, FAST)] for base in BASES.values()}
    rows |= {f"{PROTOCOLS[base].label}, {name}": variants[name] for name, base in BASES.items()}
    page.table(
        ["protocol", *[metric.name for metric in COMPARED]],
        [[name, *means(results)] for name, results in sorted(rows.items())],
    )


def reasons(found: Found, variants: Variants, traced: Mapping[str, Losses]) -> Iterator[str]:
    """A paragraph for each cause."""

    def value(metric: Metric, name: str, speed: float = FAST) -> float:
        return mean(found[Case("square", name, speed)], metric).mean

    numbers = {
        "silent": {name: losses.mean_run / PER_SECOND for name, losses in traced.items() if losses.runs},
        "breaks": {name: len(losses.runs) for name, losses in traced.items()},
        "delivery": {name: value(DELIVERY, name) for name in PROTOCOLS},
        "delay": {name: value(DELAY, name) for name in PROTOCOLS},
        "packets": {name: value(PACKETS, name) for name in PROTOCOLS},
        "packets_at_rest": {name: value(PACKETS, name, REST) for name in PROTOCOLS},
        "stretch": {name: value(STRETCH, name) for name in PROTOCOLS},
        "lost_at_1": 1 - value(DELIVERY, "aodv", 1.0),
        "partitioned_at_1": value(PARTITIONED, "aodv", 1.0),
        "forgetting": mean(variants[FORGETFUL], DELIVERY).mean,
        "known": mean(variants[KNOWN], DELAY).mean,
        "plain": mean(variants[PLAIN], STRETCH).mean,
        "ringed": mean(variants[RINGED], STRETCH).mean,
    }
    for paragraph in REASONS.strip().split("\n\n"):
        yield " ".join(paragraph.split()).format(**numbers)


def means(results: list[Result]) -> list[str]:
    """The metrics of the table of causes."""
    return [str(mean(results, metric)) for metric in COMPARED]


METRICS = (DELIVERY, PACKETS, BYTES, INVALID, DELAY, STRETCH)
COMPARED = (DELIVERY, PACKETS, DELAY, STRETCH)

FORGETFUL = "ways forgotten after 3 s"
KNOWN = "addresses known"
PLAIN = "no local repair"
RINGED = "no local repair, first request of TTL 1"
VARIANTS = {
    FORGETFUL: Case("square", "dsr", FAST).scenario(cache_timeout=3.0),
    KNOWN: Case("square", "olsr", FAST).scenario(arp="oracle"),
    PLAIN: Case("square", "aodv", FAST).scenario(local_repair="off"),
    RINGED: Case("square", "aodv", FAST).scenario(local_repair="off", ttl_start=1),
}
# Of what each is a variant.
BASES = {FORGETFUL: "dsr", KNOWN: "olsr", PLAIN: "aodv", RINGED: "aodv"}
# What a variant changes, up or down, and what that shows.
CAUSES = (
    (FORGETFUL, DELIVERY, +1, "What DSR loses at 20 m/s it loses to ways that its caches never forget"),
    (KNOWN, DELAY, -1, "OLSR's mean delay is that of datagrams which ns-2's ARP holds"),
    (PLAIN, STRETCH, -1, "Local repair lengthens the paths of AODV (ns2)"),
)
CODES = {
    "RET": "given up by the MAC",
    "NRTE": "no route",
    "ARP": "lost their place in ARP",
    "IFQ": "queue full",
    "STAL": "stale",
    "TTL": "TTL",
    "TOUT": "waited too long",
}
QUESTION = (
    "How much does each routing protocol deliver when nodes move, at what cost, and does what it loses "
    "follow from how it works? The answers of the literature, such as J. Broch, D. Maltz, D. Johnson, Y.-C. "
    "Hu, J. Jetcheva, A Performance Comparison of Multi-Hop Wireless Ad Hoc Network Routing Protocols, "
    "MobiCom 1998, hold for their speeds: uniform from 0 to 20 m/s with a classic start, which is 3 to 5 m/s "
    "for most of a run (see [stationarity](stationarity.md))."
)

REASONS = """
**How soon a broken link is noticed decides what arrives.** The MAC notices with the first datagram. With
HELLOs a node goes on sending to a neighbour that has left: by the traces for {silent[uu-hello]:.1f} s of
the 2.05 s for which AODV-UU allows a neighbour to be silent, and for {silent[aodv-hello]:.1f} s of the 4.5
s of ns-2's AODV. OLSR allows 6 s; its runs are shorter ({silent[olsr]:.1f} s), since other news often
changes the way before, but it meets broken links more often. At 20 m/s {delivery[uu-hello]:.0%},
{delivery[aodv-hello]:.0%} and {delivery[olsr]:.0%} arrive, in this order; told by the MAC, the same
protocols deliver {delivery[uu]:.0%}, {delivery[aodv]:.0%} and {delivery[olsr-mac]:.0%}. At rest, where no
link breaks, nothing of this is left. At 1 m/s the users of the MAC lose about what cannot arrive: AODV
(ns2) {lost_at_1:.1%}, while there is no path for {partitioned_at_1:.1%} of the time.

**OLSR that is told by the MAC stays behind AODV.** It meets broken links {breaks[olsr-mac]} times, AODV
(uu) {breaks[uu]} times: AODV asks for a new way and gets one that exists, OLSR computes it from HELLOs of
up to 6 s and TCs of up to 15 s ago. Nodes that know different things send datagrams in circles, as those
show that ran out of TTL, which happens to no other protocol.

**What it costs.** OLSR sends its HELLOs and TCs whether anybody needs them: at rest
{packets_at_rest[olsr]:.2f} packets for each datagram, against {packets_at_rest[uu]:.2f} of AODV (uu) and
{packets_at_rest[dsr]:.2f} of DSR. On demand, every break is paid for with a search: {packets[uu]:.1f} at 20
m/s. AODV with HELLOs pays for both. Part of the rise with HELLOs is that fewer datagrams are left to divide
by.

**DSR** sends a datagram that meets a broken link another way: in the traces no datagram was lost because a
MAC gave up on it, and up to 10 m/s none delivers more. At 20 m/s too many of the ways in its caches, which
never forget, are broken: datagrams wait, take detours and lose their places in queues. With ways that are
forgotten after 3 s it delivers {forgetting:.1%} instead of {delivery[dsr]:.1%}.

**Mean delays are those of a few datagrams.** OLSR's {delay[olsr]:.0f} ms at 20 m/s are {known:.0f} ms if
addresses are known: ns-2's ARP holds one datagram for each neighbour that has not answered, until there is
another for it. Delivery does not change, since the held ones are few.

**Paths.** OLSR's are shortest at rest, by design. Among moving nodes its figure is of what still arrives,
which is what had few links to cross. AODV (ns2) has longer paths than AODV (uu): {stretch[aodv]:.2f}
against {stretch[uu]:.2f} at 20 m/s. Local repair, which joins a detour to the way so far, is half of it:
without, {plain:.2f}. That its first request already reaches five links, where that of uu reaches one, is
not the rest ({ringed:.2f} with one).
"""
