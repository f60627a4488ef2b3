"""Costs of TCP's options on a wire that loses packets only at its queue."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from multihop_papers.declare import Axis, Effort
from multihop_papers.reasons import Reason, our_model
from multihop_papers.study import Study
from multihop_papers.validation.part import Page
from multihop_papers.validation.wires_setting import FULL_QUEUES, transports, wire

NO_SACK: Mapping[str, Any] = {"sack": False, "rack": False, "prr": False, "undo": False, "all_rtt": False}
ONLY_SACK: Mapping[str, Any] = {**NO_SACK, "sack": True}
REPAIRS: Mapping[str, Mapping[str, Any]] = {
    "no SACK": NO_SACK,
    "SACK": ONLY_SACK,
    "RACK": {**ONLY_SACK, "rack": True},
    "RACK, PRR, undo": {"sack": True, "rack": True, "prr": True, "undo": True, "all_rtt": True},
}
PRESETS = ("rfc", "linux-6")
"""The presets that the documents recommend."""
OLD_PRESETS = ("ns2-1999", "ns2-2002", "ns2-2005", "ns2-2.30", "linux")
"""The presets of old simulators and testbeds."""
TIMERS = {"rfc": "slow-but-steady", "linux-6": "impatient"}
"""The rule for the timer in recovery that a preset does not have."""
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "": {},
    "delayed ACKs": {"kind": "+da"},
    "timestamps": {"timestamps": 0.001},
    "no limited transmit": {"limited_transmit": False},
    "bytes counted": {"byte_counting": True},
    "HyStart++": {"hystart": True, "timestamps": 0.001},
    "ECN": {"ecn": True},
    "initial window of 10": {"initial_window": 10},
    "timeout of 0.2 s": {"rto_min": 0.2},
}
AT_THE_START = ("ECN", "initial window of 10")
"""Options that change only the start of a connection on a wire whose queue does not mark: they are run with all others."""
KINDS = ("newreno", "cubic", "vegas", "westwood", "prague", "bbr", "bbr3")
TODAY = ("prague", "bbr", "bbr3")
"""Kinds that exist on hosts of today only; BBR needs SACK."""
DELAYING = ("prague", "bbr", "bbr3")
"""Kinds that delay ACKs without a suffix."""
QUEUES = (5, 20, 84, 168)


@dataclass(frozen=True)
class Combination:
    """A congestion control with a preset, a way to repair losses, and other options."""

    kind: str
    preset: str
    repair: str
    options: tuple[str, ...] = ()
    other_timer: bool = False
    """Whether partial ACKs restart the timer by the rule that the preset does not have."""

    @property
    def name(self) -> str:
        """The name in tables."""
        timer = TIMERS[self.preset] if self.other_timer else ""
        return ", ".join(filter(None, (self.kind, self.preset, self.repair, timer, *self.options)))

    @property
    def has_sack(self) -> bool:
        """Whether SACK is negotiated."""
        return self.repair != "no SACK"

    @property
    def is_impatient(self) -> bool:
        """Whether only the first partial ACK of a recovery restarts the timer."""
        return not self.has_sack and (self.preset == "rfc") != self.other_timer

    @property
    def table(self) -> dict[str, Any]:
        """The transport of a scenario."""
        table: dict[str, Any] = {"kind": self.kind, "preset": self.preset, **REPAIRS[self.repair]}
        for option in self.options:
            setting = dict(OPTIONS[option])
            suffix = setting.pop("kind", "")
            table |= setting
            table["kind"] += suffix
        if self.other_timer:
            table["recovery"] = TIMERS[self.preset]
        return table


def option_sets(kind: str) -> Iterator[tuple[str, ...]]:
    """No option, each option alone, all of them together."""
    allowed = [option for option in OPTIONS if option and not (option == "delayed ACKs" and kind in DELAYING)]
    yield ()
    for option in allowed:
        if option not in AT_THE_START:
            yield (option,)
    yield tuple(option for option in allowed if option not in ("timestamps", "timeout of 0.2 s"))


def combinations() -> Iterator[Combination]:
    """Every congestion control with every preset, way of repair, and set of options."""
    for kind in KINDS:
        for preset in PRESETS[1:] if kind in TODAY else PRESETS:
            yield from of_preset(kind, preset)
    for kind in ("newreno", "cubic"):
        for preset in OLD_PRESETS:
            yield Combination(kind, preset, "no SACK")
            yield Combination(kind, preset, "SACK")


def of_preset(kind: str, preset: str) -> Iterator[Combination]:
    """A congestion control under a recommended preset."""
    is_bbr = kind.startswith("bbr")
    for repair in REPAIRS:
        if not (is_bbr and repair == "no SACK"):
            yield from (Combination(kind, preset, repair, options) for options in option_sets(kind))
    if not is_bbr:
        yield Combination(kind, preset, "no SACK", other_timer=True)


COMBINATIONS = {one.name: one for one in combinations()}

BY_RFC_6582 = our_model(
    "RFC 6582 restarts the timer at the first partial ACK only. A trace (seed 1, queue of 168) shows that CUBIC loses 17 segments of a round trip, repairs one in "
    "each round trip of 0.25 s, and times out 1.3 s after the recovery began. The threshold is then reduced a second time (RFC 5681, equation 4), and the "
    "function begins flat and ends steep (RFC 9438, section 4.8), so that the next full queue ends in the same way. RFC 6298 allows to restart the timer at every ACK of new data.",
    "validation-wires-options: cubic, rfc, no SACK, slow-but-steady",
)
BELOW_RFC_6298 = our_model(
    "RFC 6298 requires a minimum of 1 s. A trace (seed 1, queue of 5) shows that the third partial ACK comes too late for a timeout of 0.3 s. The ACKs of what the "
    "receiver already has then cover many segments at once. They release a burst of 11 segments, of which a queue of 5 drops half. One full queue costs three timeouts.",
    "validation-wires-options: cubic, rfc, no SACK",
)
OF_OLD_SIMULATORS = our_model(
    "The presets reproduce ns-2: the window equals the threshold at the end of a recovery, whatever is in flight (exit_recovery_fix_ 0), which lets out a burst. A "
    "trace (`ns2-2005`, seed 1, queue of 84) shows 8 losses at the full queue, and 19 more from the burst 0.2 s after their repair.",
    "validation-wires-options: cubic, ns2-2005, SACK",
)


OF_VEGAS = our_model(
    "Without RACK a timestamp is the only measurement of a round trip, and that of a delayed ACK includes the wait for its second segment (RFC 7323, section 4.3). Where "
    "segments travel in pairs, the shortest round trip of each round is 2 to 3 ms above the shortest of all, which looks to Vegas like 1 to 3 segments in a queue. Then it "
    "keeps its window. A trace (`rfc` with all options, queue of 168) shows a window of 51 of the 84 segments that the wire holds, without losses. Linux measures from the "
    "departure of the newest segment that an ACK covers, as the simulator does with RACK, under which Vegas keeps 99% in every run.",
    "validation-wires-options: vegas, linux-6, RACK",
)


@dataclass(frozen=True)
class Group:
    """Combinations of which none may deliver less than nine tenths of the best."""

    text: str
    belongs: Callable[[Combination], bool]
    reason: Reason | None = None


def is_of_today(one: Combination) -> bool:
    """Whether the documents recommend its preset."""
    return one.preset in PRESETS


def times_out_early(one: Combination) -> bool:
    """Whether its minimum timeout is below that of RFC 6298, which the timer may reach in a recovery."""
    return "timeout of 0.2 s" in one.options or one.preset == "linux-6"


def is_vegas_without_sack(one: Combination) -> bool:
    """Whether a combination is Vegas, which takes round trips from timestamps alone."""
    return one.kind == "vegas" and not one.has_sack


def is_without_sack(one: Combination) -> bool:
    """Whether a combination has a recommended preset without SACK, and is not Vegas."""
    return is_of_today(one) and not one.has_sack and not is_vegas_without_sack(one)


GROUPS = (
    Group("with SACK", lambda one: is_of_today(one) and one.has_sack),
    Group("of Vegas without SACK", is_vegas_without_sack, OF_VEGAS),
    Group(
        "without SACK whose timer restarts at every ACK of new data",
        lambda one: is_without_sack(one) and not one.is_impatient,
    ),
    Group(
        "without SACK whose timer restarts at the first partial ACK, with the timeout of RFC 6298,",
        lambda one: is_without_sack(one) and one.is_impatient and not times_out_early(one),
        BY_RFC_6582,
    ),
    Group(
        "without SACK whose timer restarts at the first partial ACK, with a timeout of 0.2 s,",
        lambda one: is_without_sack(one) and one.is_impatient and times_out_early(one),
        BELOW_RFC_6298,
    ),
    Group("of presets of old simulators and testbeds, with SACK,", lambda one: not is_of_today(one) and one.has_sack),
    Group(
        "of presets of old simulators and testbeds, without SACK,", lambda one: not is_of_today(one) and not one.has_sack, OF_OLD_SIMULATORS
    ),
)
LISTED = 20
WORST_SHARE = 0.9


def cost_of_options(study: Study) -> None:
    """Compare each combination of options with the best one of the same congestion control behind the same queue."""
    means = {cell: float(study.result(cell).data["totals"]["goodput_kbps"]) for cell in study.accepted()}
    best: dict[tuple[str, Any], float] = defaultdict(float)
    for (name, queue), mean in means.items():
        kind = COMBINATIONS[name].kind
        best[kind, queue] = max(best[kind, queue], mean)
    shares = {cell: mean / best[COMBINATIONS[cell[0]].kind, cell[1]] for cell, mean in means.items()}
    ordered = sorted(shares, key=lambda cell: shares[cell])
    rows = [
        {"options": name, "queue": queue, "goodput, kb/s": f"{means[name, queue]:.0f}", "of the best": f"{shares[name, queue]:.3f}"}
        for name, queue in ordered[:LISTED]
    ]
    study.table(pl.DataFrame(rows), f"The {LISTED} that lose most, of {len(shares)}")
    for group in GROUPS:
        judge(study, group, shares)


def judge(study: Study, group: Group, shares: Mapping[tuple[Any, ...], float]) -> None:
    """The verdict on a group: its worst combination, and all that cost more than a tenth."""
    own = {cell: share for cell, share in shares.items() if group.belongs(COMBINATIONS[cell[0]])}
    if not own:
        return
    least = min(own, key=lambda cell: own[cell])
    below = sum(share < WORST_SHARE for share in own.values())
    why = f"{below} of {len(own)} below; {own[least]:.3f} of the best, {least[0]}, queue of {least[1]}"
    text = f"No combination {group.text} costs more than 10% of the goodput"
    study.verdict(text, own[least] >= WORST_SHARE, why, group.reason)


COSTS = Page("wires", "the best of each congestion control").experiment(
    "wires-options",
    "what options of TCP cost on a wire without losses",
    "With SACK, or with a timer that restarts at every ACK of new data, no combination of options costs more than a tenth "
    "of the goodput. The exception is Vegas without SACK and with delayed ACKs, timestamps and a large initial window. "
    "Without both, CUBIC loses more, and so do presets of old simulators. Seven congestion controls have each of the recommended presets `rfc` and `linux-6` (Prague and BBR only the second), and each of the ways to repair losses. "
    "These ways are NewReno alone, SACK, RACK, and RACK with PRR and undoing. Each of these bases is run alone, with one other option, and with all of them but the short timeout. The options are delayed "
    "ACKs, timestamps, no limited transmit, growth by bytes, HyStart++, a minimum timeout of 0.2 s; ECN and an initial window of 10 only with all of them. Without SACK the other rule for the "
    "timer is run as well. NewReno and CUBIC also have the presets of old simulators and testbeds. The goodput is compared with the best of its congestion "
    "control behind the same queue. 10 Mb/s, 100 ms; 100 s simulated, the first 40 s not counted.",
    Effort(1, keep={"queue": [20]}),
    full=Effort(1),
    scenario={"duration": 100.0, "warmup": 40.0, **wire(FULL_QUEUES.rate_kbps, FULL_QUEUES.rtt)},
    axes=[
        transports({name: one.table for name, one in COMBINATIONS.items()}, 600),
        Axis("queue", {queue: {"host.1.queue": queue} for queue in QUEUES}, "queue, packets"),
    ],
    metrics=(),
    more=cost_of_options,
)
EXPERIMENTS: Sequence[Any] = (COSTS,)
