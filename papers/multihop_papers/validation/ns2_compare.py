"""Put the numbers of ns-2 beside those of the same networks here, with as many seeds as decide it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from multihop.stats import Interval, independent, interval
from multihop_papers.declare import GOODPUT, RTX, Document, Metric
from multihop_papers.measures import total
from multihop_papers.ns2 import program
from multihop_papers.ns2.pairs import Kind, Pairs, Sender
from multihop_papers.sequential import schedule
from multihop_papers.study import Study, Values
from multihop_papers.verdicts import HELD, NOT_DECIDED, NOT_HELD, Verdict

LIMIT = 0.03
PAYLOAD = 1460
# The constants of ns-2.35: preset of 2.30, no limit to the back-off but 60 s.
TCP = {"preset": "ns2-2.30", "rto_max": 60.0, "backoff_limit": 1_000_000}


def tcp(kind: str, window: int) -> dict[str, Any]:
    """Keys of a flow with the constants of ns-2.35."""
    return {"app": "ftp", "transport": {"kind": kind, "window_max": window, **TCP}}


SENDERS = {
    "UDP": Sender({"app": "cbr", "rate_kbps": 2000.0, "size": PAYLOAD}),
    "NewReno": Sender(tcp("newreno", 20), "Newreno", window=20),
    "Reno, window 8": Sender(tcp("reno", 8), "Reno", window=8),
    "NewReno, delayed ACKs": Sender(tcp("newreno+da", 20), "Newreno", delayed_acks=True, window=20),
    "CBR": Sender({"app": "cbr", "rate_kbps": 16.384, "size": 512}),
    "TCP-2": Sender(tcp("newreno+da", 2), "Newreno", delayed_acks=True, window=2),
    "TCP-3": Sender(tcp("newreno+da", 3), "Newreno", delayed_acks=True, window=3),
}
# DSR puts a second IP header before a segment of TCP, which has one already.
ROUTING: dict[str, dict[str, Any]] = {
    "static": {"routing.protocol": "static", "mac.arp": "oracle"},
    "AODV": {"routing.protocol": "aodv"},
    "DSR": {"routing.protocol": "dsr", "routing.ip_extra": 20},
}


def _per_segment(value: str) -> Metric:
    def of(document: Document) -> float | None:
        delivered = total(document, "segments_delivered")
        return 1000 * float(COUNTS[value](document)) / delivered if delivered else None

    return Metric(value, f"{value} for each 1000 segments", of)


COUNTS = {
    "retry limits": lambda document: document["mac"]["drops"],
    "route errors": lambda document: document["routing"]["packets"].get("rerr", 0),
}
METRICS = (GOODPUT, RTX, *map(_per_segment, COUNTS))


@dataclass(frozen=True)
class Comparison:
    """The `more` of a study that has its runs in ns-2 too; `routing` and `sender` are among its axes."""

    seeds: int
    """Number of seeds of ns-2 at the first look; runs of this simulator are cheap and are all made.
    """
    looks: int = 2
    """How often the runs of ns-2 are judged: each time there are twice as many in the cells that are not decided."""
    notes: Sequence[str] = ()

    def __call__(self, study: Study) -> None:
        """Run ns-2 on the same networks and put its numbers beside ours."""
        found = self.compared(study)
        if found.missing:
            study.text(f"{found.missing} runs of ns-2 are missing: {program.PROGRAM} is not installed (Debian: ns2).")
            return
        study.text(f"Against ns-{program.version()}.") if program.installed() else None
        study.table(pl.DataFrame([found.row(cell) for cell in study.accepted()]), self.caption)
        for value in study.axes[0].values:
            cells = [cell for cell in study.accepted() if cell[0] == value]
            study.found += [found.verdict(str(value), cells), found.in_the_mean(str(value), cells)]
        for note in self.notes:
            study.text(note)

    @property
    def level(self) -> float:
        """Level of the intervals of each look, so that a decision at any look is wrong in 5% of the cases at most."""
        return 1 - 0.05 / self.looks

    @property
    def caption(self) -> str:
        """Caption that explains the numbers of a row."""
        more = "; cells that the first runs of ns-2 do not decide have twice as many" if self.looks > 1 else ""
        return f"Ours; ns-2; the difference of goodput relative to ns-2 with its {self.level:.1%} interval{more}"

    def compared(self, study: Study) -> Compared:
        """The runs of ns-2 that belong to a study."""
        found = Compared(study, Pairs(study, lambda cell: kind(study, cell)), self.level)
        undecided = study.accepted()
        for seeds in schedule(self.seeds, self.looks):
            if missing := found.pairs.run(undecided, seeds):
                return replace(found, missing=missing)
            differences = ((cell, found.difference(cell)) for cell in undecided)
            undecided = [cell for cell, one in differences if one is None or word_of([one]) == NOT_DECIDED]
        return found


def kind(study: Study, cell: Values) -> Kind:
    """Counterpart of a cell in ns-2."""
    axes = study.experiment.axes
    names = dict(zip((one.name for one in axes), cell, strict=True))
    settings = {key: value for one, chosen in zip(axes, cell, strict=True) for key, value in one.values[chosen].items()}
    return Kind(names["routing"], SENDERS[names["sender"]], settings.get("radio.sense_range", Kind.sense_range))


@dataclass(frozen=True)
class Compared:
    """A study beside its runs in ns-2."""

    study: Study
    pairs: Pairs
    level: float
    missing: int = 0
    """Runs of ns-2 that are not there."""

    def row(self, cell: Values) -> dict[str, str]:
        """Ours beside theirs in one cell, and the verdict."""
        found = {one.name: str(value) for one, value in zip(self.study.axes, cell, strict=True)}
        return found | self.measured(cell)

    def measured(self, cell: Values) -> dict[str, str]:
        """The numbers of a row."""
        found = {}
        for metric in METRICS:
            ours, theirs = self.study.samples(metric.name, cell).values(), self.pairs.samples(metric, cell).values()
            found[metric.label] = f"{_mean(ours)}; {_mean(theirs)}"
        found["runs"] = f"{self.study.seeds}; {self.pairs.seeds[cell]}"
        one = self.difference(cell)
        found["difference, %"] = f"{100 * one.mean:+.1f} ± {100 * one.half:.1f}" if one else "-"
        found[f"within {LIMIT:.0%}"] = WORDS[word_of([one])] if one else "no goodput"
        return found

    def difference(self, cell: Values) -> Interval | None:
        """Our goodput less that of ns-2, as a share of ns-2's mean; nothing if ns-2 delivers nothing.

        Nodes that move do so alike with the same seed; the seeds of other networks have nothing in common.
        """
        ours, theirs = self.study.samples("goodput", cell), self.pairs.samples(GOODPUT, cell)
        mean = interval(theirs.values()).mean
        if not mean:
            return None
        if "mobility" in self.study.experiment.scenario:
            return interval([(ours[seed] - theirs[seed]) / mean for seed in ours if seed in theirs], self.level)
        return independent([x / mean for x in ours.values()], [x / mean for x in theirs.values()], self.level)

    def verdict(self, group: str, cells: list[Values]) -> Verdict:
        """Whether all cells of a group agree."""
        compared = {cell: self.difference(cell) for cell in cells}
        found = {cell: one for cell, one in compared.items() if one}
        text = f"{group}: goodput agrees with ns-2 within {LIMIT:.0%}"
        if not found:
            return Verdict(text, NOT_DECIDED, "ns-2 delivers nothing")
        inside = sum(word_of([one]) == HELD for one in found.values())
        # Where ns-2 delivers nothing, nothing agrees.
        word = word_of(list(found.values())) if len(found) == len(compared) else NOT_HELD
        worst = max(found, key=lambda cell: abs(found[cell].mean))
        largest = f"{in_words(found[worst])}, {' '.join(map(str, worst))}"
        return Verdict(text, word, f"{inside} of {len(compared)} intervals are inside; largest mean difference {largest}")

    def in_the_mean(self, group: str, cells: list[Values]) -> Verdict:
        """Whether a group agrees in the mean of its cells."""
        found = [one for cell in cells if (one := self.difference(cell))]
        text = f"{group}: the mean difference of goodput from ns-2 is within {LIMIT:.0%}"
        if not found:
            return Verdict(text, NOT_DECIDED, "ns-2 delivers nothing")
        mean = mean_of(found)
        return Verdict(text, word_of([mean]), in_words(mean))


def _mean(values: Any) -> str:
    found = list(values)
    return str(interval(found)) if found else "-"


def mean_of(differences: list[Interval]) -> Interval:
    """The mean of several differences, each with the same weight."""
    count = len(differences)
    half = math.fsum(one.half**2 for one in differences) ** 0.5 / count
    return Interval(math.fsum(one.mean for one in differences) / count, half, count, differences[0].level)


def in_words(difference: Interval) -> str:
    """A difference in per cent."""
    return f"{difference.mean:+.1%} ± {difference.half:.1%}"


def word_of(differences: list[Interval]) -> str:
    """Held if every interval lies within the limit, not held if one lies outside of it."""
    if any(one.low > LIMIT or one.high < -LIMIT for one in differences):
        return NOT_HELD
    inside = all(one.low >= -LIMIT and one.high <= LIMIT for one in differences)
    return HELD if inside else NOT_DECIDED


WORDS = {HELD: "yes", NOT_HELD: "no", NOT_DECIDED: "not decided"}
