"""Metrics from a trace of ns-2 (the old format of its wireless traces), under the keys of our own results."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

EVENTS = frozenset({"s", "f", "r", "D"})
ROUTING = frozenset({"AODV", "DSR"})
SHORTEST = 8
"""Words in the shortest line that counts."""
DSR_OPTIONS = re.compile(r"\] \d+ \[(\d) \d+\] \[(\d) [^]]*\] \[(\d) ")
"""Whether a DSR packet has a request, a reply and an error."""


@dataclass(frozen=True)
class End:
    """The sender or the receiver of a flow, as a trace names it, and the payload of its segments."""

    source: int
    destination: int
    payload: int


@dataclass
class Flow:
    """Measurements of one flow from a trace, within the measured time."""

    payload: int
    highest: int = -1
    """Highest number that was sent."""
    sent: int = 0
    retransmitted: int = 0
    expected: int = 0
    """All segments below this number have arrived."""
    ahead: set[int] = field(default_factory=set)
    distinct: int = 0
    """Segments that had not arrived before."""
    delivered: int = 0
    """Segments that the application has read."""

    def send(self, number: int, measured: bool) -> None:
        """Count a segment that leaves its source."""
        self.sent += measured
        self.retransmitted += measured and number <= self.highest
        self.highest = max(self.highest, number)

    def receive(self, number: int, measured: bool, *, in_order: bool) -> None:
        """A segment arrives; datagrams are delivered in any order."""
        if number < self.expected or number in self.ahead:
            return
        self.distinct += measured
        self.ahead.add(number)
        if not in_order:
            self.delivered += measured
            return
        while self.expected in self.ahead:
            self.ahead.remove(self.expected)
            self.expected += 1
            self.delivered += measured


@dataclass
class Trace:
    """The counters of one run."""

    flows: dict[tuple[str, str], Flow]
    """Flows of the trace, by the numbers of sender and receiver."""
    warmup: float
    retry_limit: int = 0
    """Packets that a MAC dropped at its retry limit."""
    messages: Counter[str] = field(default_factory=Counter)
    """Transmissions of routing messages by kind, forwarded ones included."""

    def read(self, line: str) -> None:
        """Count one line of the trace."""
        words = line.split()
        if len(words) < SHORTEST or words[0] not in EVENTS:
            return
        event, layer, kind = words[0], words[3], words[6]
        measured = float(words[1]) >= self.warmup
        if event == "D":
            # The RTS that failed last has a line of its own.
            self.retry_limit += measured and words[3:5] == ["MAC", "RET"] and kind != "RTS"
        elif layer == "AGT" and kind in ("tcp", "cbr"):
            self._segment(words, measured)
        elif layer == "RTR" and event in "sf" and kind in ROUTING:
            self.messages[message(line)] += measured

    def _segment(self, words: list[str], measured: bool) -> None:
        ip = words.index("-------") + 1
        source, destination = (word.strip("[").partition(":")[0] for word in words[ip : ip + 2])
        number, is_tcp = int(words[ip + 4].strip("[]")), words[6] == "tcp"
        flow = self.flows[source, destination]
        if is_tcp and number == 0:  # the SYN
            flow.expected = max(flow.expected, 1)
        elif words[0] == "s":
            flow.send(number, measured)
        else:
            flow.receive(number, measured, in_order=is_tcp)

    def document(self, seconds: float) -> dict[str, Any]:
        """A result with the keys of ours."""
        flows = self.flows.values()
        goodput = [8 * flow.payload * flow.delivered / seconds / 1000 for flow in flows]
        distinct = sum(flow.distinct for flow in flows)
        squares = len(goodput) * sum(x * x for x in goodput)
        return {
            "flows": [
                {
                    "goodput_kbps": kbps,
                    "segments_sent": flow.sent,
                    "segments_retransmitted": flow.retransmitted,
                    "segments_delivered": flow.distinct,
                }
                for kbps, flow in zip(goodput, flows, strict=True)
            ],
            "totals": {
                "goodput_kbps": sum(goodput),
                "jain": sum(goodput) ** 2 / squares if squares else None,
                "retransmission_index": sum(flow.retransmitted for flow in flows) / distinct
                if distinct
                else None,
            },
            "mac": {"drops": self.retry_limit},
            "routing": {"packets": dict(self.messages)},
        }


def measures(lines: Iterable[str], ends: Iterable[End], warmup: float, duration: float) -> dict[str, Any]:
    """The metrics of a run, without its warm-up."""
    trace = Trace({(str(e.source), str(e.destination)): Flow(e.payload) for e in ends}, warmup)
    for line in lines:
        trace.read(line)
    return trace.document(duration - warmup)


def message(line: str) -> str:
    """The kind of the routing message in a line, in the words of our results."""
    for word, kind in (("(REQUEST)", "rreq"), ("(REPLY)", "rrep"), ("(ERROR)", "rerr"), ("(HELLO)", "hello")):
        if word in line:
            return kind
    options = DSR_OPTIONS.search(line)
    if options is None:
        return "other"
    request, reply, error = (flag != "0" for flag in options.groups())
    return "rreq" if request else "rerr" if error else "rrep" if reply else "other"
