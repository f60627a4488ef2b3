"""Rate control: over SNR, in a crowded cell, and between the ranges of HELLOs and data."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from multihop_papers.airtime import Radio
from multihop_papers.declare import GOODPUT, Axis, Cell, Claim, Document, Effort, Metric, Plot, Settings, versus
from multihop_papers.measures import frame
from multihop_papers.reasons import Reason
from multihop_papers.study import Study, Values
from multihop_papers.validation.part import Page

PAGE = Page("rates", "the best fixed rate")
FIXED = ("1M", "2M", "5.5M", "11M")
# The figure over SNR has room for seven; AARF, the last, is not in it.
RULES = ("arf", "cara", "minstrel", "aarf")
PAYLOAD = 1460
CONTROLS: dict[str, Settings] = {
    **{rate: {"radio.rate": rate} for rate in FIXED},
    **{rule: {"radio.rate": "11M", "mac.rate_control": rule} for rule in RULES},
}
MAC = {"flavour": "standard", "rts_threshold": "off", "arp": "oracle"}
GREEDY = {"app": "cbr", "rate_kbps": 12000.0, "size": PAYLOAD}
NOISE = -93.55  # dBm
LOSS = 40.05 + 60.0  # dB over 100 m with exponent 3
SNR = tuple(range(-4, 13))
# Minstrel's rules: bytes of the packet that it compares rates by, and the bounds of its probabilities.
TYPICAL, GOOD, HOPELESS = 1200, 0.9, 0.1
ARRIVES = 0.001
"""A rate at which fewer frames succeed is not shown."""


def share(rate: str) -> Metric:
    """The share of data frames that have a rate."""

    def of(document: Document) -> float | None:
        rates = document["mac"].get("rates")
        total = sum(rates.values()) if rates else 0
        return 100 * rates.get(rate, 0) / total if total else None

    return Metric(f"at {rate}", f"frames at {rate}b/s, %", of)


# dB: the best rate loses more than a tenth of its frames.
STEPS = (-4, -3, 1, 5)
CLEAR = tuple(snr for snr in SNR if snr not in STEPS)
WHY = (
    "A tenth of the packets begins with a rate that could be faster; where none is, that is a transmission that fails and doubles the window. "
    "Retries leave the best rate after one or two failures, although at 1 dB 2 Mb/s is the best one for the retry as well. At 5 dB "
    "Minstrel does not see that failures double the window, and takes a rate that never fails for one that fails a tenth of the time. The table "
    "shows that this leaves a small lead of 5.5 Mb/s over 11 Mb/s, which an estimate from the few samples of an interval often misses."
)


def near_the_best(
    text: str, levels: Sequence[int], fixed: Sequence[str], *, of: str = "minstrel", at: Cell | None = None, reason: Reason | None = None
) -> Claim:
    """A rule beside the fixed rate that carries most."""
    each = {"snr": list(levels)}
    return versus(text, "goodput", of, list(fixed), axis="control", at=at, at_least=0.95, each=each, reason=reason)


def best(study: Study, fixed: Sequence[str], snr: int, before: Values = ()) -> str:
    """The fixed rate that carries most."""
    means = {rate: found.mean for rate in fixed if (found := study.mean("goodput", (*before, rate, snr)))}
    return max(means, key=lambda rate: means[rate])


def expectations(
    study: Study,
    fixed: Sequence[str],
    levels: Sequence[int],
    exchange: Callable[[str], float],
    *,
    before: Values = (),
    rules: Sequence[str] = ("minstrel",),
) -> None:
    """Compare Minstrel's expectations for the best rate and for faster ones with their goodputs. `before`: the values of the first axes."""
    rows = []
    for snr in (level for level in levels if (*before, fixed[0], level) in study.accepted()):
        for rate in fixed[fixed.index(best(study, fixed, snr, before)) :]:
            cell = (*before, rate, snr)
            frames, failures = (sum(count(result.data["mac"]) for result in study.results(cell)) for count in (sent, failed))
            success = 1 - failures / frames
            if success >= ARRIVES:
                expected = 8000 * TYPICAL * (min(success, GOOD) if success >= HOPELESS else 0.0) / exchange(rate)
                used = [share_of(study, (*before, rule, snr), rate) for rule in rules]
                rows.append([snr, rate, f"{success:.1%}", f"{expected:.0f}", str(study.mean("goodput", cell)), *map(str, used)])
    columns = ["SNR, dB", "rate", "frames that succeed", "Minstrel expects, kb/s", "the rate carries, kb/s"]
    columns += [f"frames of {rule} at it, %" for rule in rules]
    study.table(frame(columns, rows), "Where Minstrel is not within 5% of the best fixed rate (no fading): that rate, and faster ones")


def explain(study: Study) -> None:
    """Add the table of Minstrel's expectations for each rate of 802.11b."""

    def exchange(rate: str) -> float:
        return Radio(float(rate.rstrip("M")), 1.0, "long", "standard").exchange(TYPICAL, rts=False)

    expectations(study, FIXED, STEPS, exchange, before=("none",))


def sent(mac: Document) -> int:
    """Number of data frames sent."""
    return int(mac["frames"]["data"])


def failed(mac: Document) -> int:
    """Data frames without an ACK; there is no RTS."""
    return int(mac["retries"]) + int(mac["drops"])


def share_of(study: Study, cell: Values, rate: str) -> float:
    """The share of the frames in a cell that have a rate, %."""
    counts = [result.data["mac"]["rates"] for result in study.results(cell)]
    at_it, total = sum(each.get(rate, 0) for each in counts), sum(sum(each.values()) for each in counts)
    return round(100.0 * float(at_it) / float(total), 1)


NO_FADING = {"fading": "none"}
LINK = PAGE.experiment(
    "rates-snr",
    "one link at any SNR",
    "Does each rule find the rate that carries most? One link of 100 m, saturated with datagrams of 1460 bytes; the transmit power sets the "
    "mean SNR. 802.11b with a basic rate of 1 Mb/s, standard flavour without RTS/CTS; 30 s simulated, the first 5 s not counted. "
    "With fading, each block of 0.5 s or of 20 ms has a Rayleigh draw of its own.",
    Effort(2, {"duration": 10.0}, {"snr": [-2, 3, 8]}),
    full=Effort(5),
    scenario={
        "duration": 30.0,
        "warmup": 5.0,
        "radio": {
            "model": "sinr",
            "path_loss": {"kind": "log-distance", "exponent": 3.0, "reference_db": 40.05},
            "sensitivity_dbm": -130.0,
        },
        "mac": MAC,
        "topology": {"kind": "chain", "hops": 1, "spacing": 100.0},
        "routing": {"protocol": "static", "next_hops": [[0, 1, 1]]},
        "flow": [GREEDY],
    },
    axes=[
        Axis(
            "fading",
            {
                "none": {},
                "0.5 s": {"radio.fading": {"kind": "rayleigh", "coherence": 0.5}},
                "20 ms": {"radio.fading": {"kind": "rayleigh", "coherence": 0.02}},
            },
        ),
        Axis("control", CONTROLS),
        Axis("snr", {snr: {"radio.tx_power_dbm": snr + LOSS + NOISE} for snr in SNR}, "mean SNR, dB"),
    ],
    metrics=(GOODPUT, share("11M"), share("1M")),
    claims=[
        near_the_best(
            "Minstrel carries at least 95% of the best fixed rate where one rate is clearly the best", CLEAR, FIXED, at=NO_FADING
        ),
        near_the_best(
            "Minstrel carries at least 95% of the best fixed rate where the best rate loses frames",
            STEPS,
            FIXED,
            at=NO_FADING,
            reason=Reason(WHY),
        ),
        versus(
            "Under fades of 20 ms, in which failures come in groups, ARF carries at most two thirds of the best fixed rate",
            "goodput",
            "arf",
            list(FIXED),
            axis="control",
            at={"fading": "20 ms"},
            at_most=0.67,
            each={"snr": list(range(4, 10))},
        ),
    ],
    plots=(
        Plot(
            "line",
            "goodput",
            x="snr",
            by="control",
            panel="fading",
            at={"control": [*FIXED, "arf", "cara", "minstrel"]},
            caption="Goodput of one link over its mean SNR: four fixed rates and three rules (AARF lies between ARF and CARA or below both).",
        ),
    ),
    spread="snr",
    more=explain,
)

STATIONS = (1, 2, 5, 10, 20)


def cell(n: int) -> Settings:
    """Stations on a circle around one that receives from all of them."""
    angles = [2 * math.pi * i / n for i in range(n)]
    circle = [[50 + 20 * math.cos(a), 50 + 20 * math.sin(a)] for a in angles]
    return {
        "topology.positions": [[50.0, 50.0], *circle],
        "flow": [{"from": i, "to": 0, **GREEDY, "rate_kbps": 14000.0 / n} for i in range(1, n + 1)],
    }


CELL = PAGE.experiment(
    "rates-cell",
    "collisions without bad links",
    "Do collisions lower the rate? Stations 20 m from one receiver, "
    "each with datagrams of 1460 bytes to send at any time. Every link is perfect at 11 Mb/s, so that whatever is lost is "
    "lost to collisions. "
    "Standard flavour without RTS/CTS, no capture; 20 s simulated, the first "
    "5 s not counted.",
    Effort(2, {"duration": 8.0}, {"stations": [1, 10]}),
    full=Effort(5),
    scenario={
        "duration": 20.0,
        "warmup": 5.0,
        "radio": {"rate": "11M", "capture_db": 200.0},
        "mac": MAC,
        "topology": {"kind": "list"},
        "routing": {"protocol": "static"},
    },
    axes=[
        Axis("control", {"11M": CONTROLS["11M"], **{rule: CONTROLS[rule] for rule in RULES}}),
        Axis("stations", {n: cell(n) for n in STATIONS}, "stations"),
    ],
    metrics=(GOODPUT, share("11M"), share("1M")),
    claims=[
        Claim("ARF: with 10 stations most frames have the lowest rate", "at 1M", {"control": "arf", "stations": 10}, at_least=50.0),
        Claim(
            "CARA: with 10 stations 90% of the frames have the highest rate", "at 11M", {"control": "cara", "stations": 10}, at_least=90.0
        ),
        versus(
            "CARA carries twice as much as ARF with 10 stations",
            "goodput",
            "cara",
            "arf",
            axis="control",
            at={"stations": 10},
            at_least=2.0,
        ),
    ],
    plots=(Plot("line", "goodput", x="stations", by="control", caption="Goodput of a cell over the number of its stations."),),
)

SPACING = 70.0
OFFERED = 400.0  # kb/s; five hops at 11 Mb/s carry 520
# Metres with the d^-4 law, from 250 m at 1 Mb/s and the SINR at which a tenth of the frames is lost.
RANGES = {"1M": 250.0, "2M": 192.0, "5.5M": 180.0, "11M": 150.0}
REACH = {"1 Mb/s": {"radio.basic_rate": "1M"}, "11 Mb/s": {"radio.basic_rate": "11M"}}
PROTOCOLS: dict[str, Any] = {
    "static": {"protocol": "static"},
    "AODV": {"protocol": "aodv"},
    "AODV, HELLO": {"protocol": "aodv", "preset": "uu", "link_failure": "hello"},
    "OLSR": {"protocol": "olsr"},
}
GREY = PAGE.experiment(
    "rates-grey",
    "the grey zone between HELLOs and data",
    "Routing messages are broadcast at the basic rate and reach further than data: between the two ranges lies a zone in which a neighbour is "
    "heard that cannot be used. A chain of 10 nodes, "
    f"{SPACING:g} m apart, {SPACING * 9:g} m from end to end; 1 Mb/s reaches 250 m (three nodes on), 11 Mb/s 150 m (two). Datagrams at {OFFERED:g} kb/s from "
    "end to end, and ns-2's flavour. HELLOs, route requests and control frames have the basic rate: 1 Mb/s, or 11 Mb/s, which ends the zone. "
    "Static routes take links that 11 Mb/s reaches. 60 s simulated, the first 20 s not counted.",
    Effort(2, {"duration": 30.0}),
    full=Effort(10),
    scenario={
        "duration": 60.0,
        "warmup": 20.0,
        "radio": {"rate": "11M", "range": RANGES, "sense_range": 550.0},
        "topology": {"kind": "chain", "hops": 9, "spacing": SPACING},
        "flow": [{"app": "cbr", "rate_kbps": OFFERED, "size": PAYLOAD}],
    },
    axes=[
        Axis("routing", {name: {"routing": keys} for name, keys in PROTOCOLS.items()}),
        Axis("basic rate", REACH),
        Axis("control", {"11M": CONTROLS["11M"], **{rule: CONTROLS[rule] for rule in RULES}}),
    ],
    metrics=(
        GOODPUT,
        Metric("hops", "links crossed", "flows.*.mean_hops"),
        share("1M"),
    ),
    claims=[
        Claim(
            f"{routing}: with HELLOs or requests that reach further than data, a fixed 11 Mb/s delivers less than half",
            "goodput",
            {"routing": routing, "basic rate": "1 Mb/s", "control": "11M"},
            at_most=OFFERED / 2,
        )
        for routing in ("AODV, HELLO", "OLSR")
    ]
    + [
        Claim(
            f"{routing}: with the basic rate of the data, everything arrives",
            "goodput",
            {"routing": routing, "basic rate": "11 Mb/s", "control": "11M"},
            at_least=0.98 * OFFERED,
        )
        for routing in ("AODV", "AODV, HELLO", "OLSR")
    ]
    + [
        Claim(
            "OLSR: a rule keeps the long links in use, and they carry less than two thirds of what short ones do",
            "goodput",
            {"routing": "OLSR", "basic rate": "1 Mb/s", "control": rule},
            at_least=OFFERED / 4,
            at_most=2 / 3 * OFFERED,
        )
        for rule in ("arf", "minstrel")
    ],
    plots=(
        Plot(
            "bar",
            "goodput",
            x="control",
            by="basic rate",
            panel="routing",
            caption="Goodput of a chain with a grey zone (basic rate 1 Mb/s) and without one (11 Mb/s).",
        ),
    ),
)
EXPERIMENTS = (LINK, CELL, GREY)
