"""One hop: goodput against the arithmetic of frame times."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

from contention import tcp_kbps
from multihop import report
from multihop.airtime import Radio
from multihop.stats import Interval
from study import Study, greedy, measure, percent

RATES = {"1M": 1.0, "2M": 2.0, "5.5M": 5.5, "11M": 11.0}
SEEDS = range(1, 6)
SECONDS = 60.0
WARMUP = 5.0
PAYLOAD = 1460
WINDOW = 20  # segments


@dataclass(frozen=True)
class Case:
    """One combination."""

    transport: str
    flavour: str
    preamble: str
    rts: bool
    rate: str

    def scenario(self) -> dict[str, Any]:
        """What the simulator runs; TCP's window fits the queue, so that nothing is lost."""
        flow = {"app": "ftp", "transport": {"kind": self.transport, "window_max": WINDOW}}
        if self.transport == "udp":
            flow = greedy(1000 * RATES[self.rate], PAYLOAD)
        return {
            "name": "one-hop",
            "duration": SECONDS,
            "warmup": WARMUP,
            "radio": {"rate": self.rate, "preamble": self.preamble},
            "mac": {"flavour": self.flavour, "rts_threshold": 0 if self.rts else "off", "arp": "oracle"},
            "topology": {"kind": "chain", "hops": 1},
            "routing": {"protocol": "static"},
            "flow": [flow],
        }

    @cached_property
    def expected(self) -> float:
        """What frame times and back-off say, kb/s."""
        if self.transport == "udp":
            return self.in_turns
        return tcp_kbps(self.radio, PAYLOAD, rts=self.rts, segments_per_ack=self.segments_per_ack)

    @property
    def in_turns(self) -> float:
        """The arithmetic alone: for TCP, as if segments and ACKs never met."""
        if self.transport == "udp":
            return self.radio.udp_kbps(PAYLOAD, rts=self.rts)
        return self.radio.tcp_kbps(PAYLOAD, rts=self.rts, segments_per_ack=self.segments_per_ack)

    @property
    def radio(self) -> Radio:
        """The radio of the arithmetic."""
        return Radio(RATES[self.rate], 1.0, self.preamble, self.flavour)

    @property
    def segments_per_ack(self) -> int:
        """Two with delayed ACKs."""
        return 2 if self.transport.endswith("+da") else 1

    def __str__(self) -> str:
        access = "RTS/CTS" if self.rts else "basic"
        return f"{self.transport} {self.flavour} {self.preamble} {access} {self.rate}"


def study() -> Study:
    """Run every combination."""
    page = Study(
        "One hop against airtime arithmetic",
        "Is one frame exchange right to the microsecond? A sender that always has a packet repeats "
        "DIFS, mean back-off, [RTS, SIFS, CTS, SIFS,] data, SIFS, ACK; nothing else happens on the air.",
        f"Two stations; {PAYLOAD} bytes of payload; TCP with a window of {WINDOW} segments; basic rate "
        f"1 Mb/s; {SECONDS:g} s simulated, the first {WARMUP:g} s not counted; seeds {SEEDS[0]} to "
        f"{SEEDS[-1]}; 95% Student-t intervals. Mean back-off 15 slots in the ns2 flavour (it draws 0 to "
        "30), 15.5 in the standard one.",
    )
    found = measure({case: case.scenario() for case in cases()}, SEEDS)
    errors = {case: found[case].mean / case.expected - 1 for case in found}
    for kind, limit in (("udp", 0.005), ("newreno", 0.02)):
        of_kind = {str(case): error for case, error in errors.items() if case.transport.startswith(kind)}
        page.worst(f"{kind}: goodput agrees", of_kind, limit)
    page.text(
        "For UDP the arithmetic is exact. For TCP it would be if segments and ACKs took turns and never "
        "met (column *in turns*); in truth the two stations' back-offs overlap, which gains time, and now "
        "and then end in the same slot, which costs an RTS with RTS/CTS and a whole segment without. "
        "Column *expected* counts that, slot by slot, in a model of these two stations alone "
        "(`tools/validate/contention.py`)."
    )
    draw(page, found)
    for transport in TRANSPORTS:
        page.text(f"### {transport}")
        page.table(
            [
                "flavour, preamble, access, rate",
                "measured, kb/s",
                "expected, kb/s",
                "difference",
                "in turns, kb/s",
            ],
            [row(case, value) for case, value in found.items() if case.transport == transport],
        )
    return page


def row(case: Case, value: Interval) -> list[str]:
    """One line of the table."""
    difference = percent(value.mean, case.expected)
    return [
        str(case).split(" ", 1)[1],
        str(value),
        f"{case.expected:.1f}",
        difference,
        f"{case.in_turns:.1f}",
    ]


def cases() -> Iterator[Case]:
    """Every combination, in the order of the tables."""
    axes = (TRANSPORTS, ("ns2", "standard"), ("long", "short"), (True, False), RATES)
    return (Case(*values) for values in product(*axes))


def draw(page: Study, found: dict[Case, Interval]) -> None:
    """Goodput over the rate, ns2 flavour and long preamble; one figure for each access method."""
    for rts, access, name in ((True, "RTS/CTS", "one-hop-rts"), (False, "basic access", "one-hop-basic")):
        figure, axes = report.new_figure("data rate, Mb/s", "goodput, kb/s")
        for transport in TRANSPORTS:
            line = [Case(transport, "ns2", "long", rts, rate) for rate in RATES]
            rates = [RATES[case.rate] for case in line]
            report.reference(axes, rates, [case.expected for case in line], "", "--")
            report.curve(axes, rates, [found[case] for case in line], transport, joined=False)
        axes.set_ylim(bottom=0)
        axes.legend()
        page.figure(
            name,
            figure,
            f"One hop, {access}, ns2 flavour, long preamble: measured (marks, 95% intervals) over the "
            "arithmetic (grey)",
        )


TRANSPORTS = ("udp", "newreno", "newreno+da")
