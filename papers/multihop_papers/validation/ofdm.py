"""One hop and one cell at the rates of OFDM, and their frame errors."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from multihop_papers.airtime import DATA_HEADER_BYTES, UDP_IP_BYTES
from multihop_papers.declare import GOODPUT, Axis, Claim, Document, Effort, Metric, Plot, Settings
from multihop_papers.reasons import our_model
from multihop_papers.study import Experiment
from multihop_papers.validation import bianchi
from multihop_papers.validation.part import Page
from multihop_papers.validation.phys import AH, G_SHORT, PHYS, A, G, N, P, Phy, Rate, aggregated_kbps

PAYLOAD = 1460
SPACING = 15.0  # m: 0.05 us
ACCESS = Axis("access", {"basic": {"mac.rts_threshold": "off"}, "RTS/CTS": {"mac.rts_threshold": 0}})
STATIC: dict[str, Any] = {"routing": {"protocol": "static"}}


def at(phy: Phy, rate: Rate) -> Settings:
    """A profile and a rate, with control frames at the lowest rate of OFDM."""
    return {"radio.phy": phy.name, "radio.budget": "ns-2", "radio.rate": rate.name, "radio.basic_rate": phy.basic}


def long_enough(phy: Phy, rate: Rate) -> Settings:
    """Settings of a profile and a rate, with more time for a slow profile."""
    return {**at(phy, rate), **({"duration": 101.0} if phy in AH else {})}


CASES = {f"{phy.name} {rate.name}": (phy, rate) for phy in PHYS for rate in phy.rates}

ONE_HOP = Page("ofdm", "airtime arithmetic").experiment(
    "ofdm-one-hop",
    "one hop of UDP at every rate of OFDM",
    "Are frame exchanges right to the microsecond in 802.11a, g, n, p and ah? A sender that always has a packet repeats DIFS, mean backoff "
    "(7.5 slots), [RTS, SIFS, CTS, SIFS,] data, SIFS, ACK. The arithmetic counts symbols from the tables of the standard "
    f"(validation/phys.py). Two stations {SPACING:g} m apart; {PAYLOAD} bytes of payload; standard flavour. RTS and CTS at 6 Mb/s (3 Mb/s in "
    "802.11p; in 802.11ah an RTS at MCS 0, and CTS and ACK are preambles). 6 s simulated (101 s of 802.11ah), the first second not counted.",
    Effort(1),
    full=Effort(3),
    scenario={
        **STATIC,
        "duration": 6.0,
        "warmup": 1.0,
        "mac": {"arp": "oracle", "flavour": "standard"},
        "topology": {"kind": "chain", "hops": 1, "spacing": SPACING},
        "flow": [{"app": "cbr", "size": PAYLOAD, "rate_kbps": 60000.0}],
    },
    axes=[ACCESS, Axis("rate", {name: long_enough(*case) for name, case in CASES.items()})],
    metrics=(GOODPUT,),
    reference="arithmetic",
    published={
        "goodput": {
            (access, name): phy.udp_kbps(rate, PAYLOAD, rts=access == "RTS/CTS")
            for access in ACCESS.values
            for name, (phy, rate) in CASES.items()
        }
    },
    claims=[Claim("UDP: goodput agrees", "goodput", {}, near=0.005)],
)

AGGREGATIONS = {"A-MPDU": (64, 0), "A-MSDU": (1, 7935), "both": (64, 7935)}
HT = {f"{phy.name} {rate.name}": (phy, rate) for phy in N for rate in phy.rates}
AGGREGATES = Page("ofdm", "airtime arithmetic").experiment(
    "ofdm-aggregates",
    "one hop of UDP with aggregation",
    "Do aggregates of 802.11n have the right sizes and times? A sender that always has packets fills each frame up to a limit: 64 MPDUs, "
    "65,535 bytes, 5484 us; MPDUs with several packets up to 7935 bytes, in aggregates 4095. Each cycle is DIFS, mean backoff (7.5 slots), "
    "[RTS, SIFS, CTS, SIFS,] the frame, SIFS, and a block ACK, or an ACK of a single MPDU. The arithmetic has no part of the simulator's. Two "
    f"stations {SPACING:g} m apart; {PAYLOAD} bytes of payload; 2 s simulated, the first half second not counted.",
    Effort(1),
    full=Effort(3),
    scenario={
        **STATIC,
        "duration": 2.0,
        "warmup": 0.5,
        "mac": {"arp": "oracle", "flavour": "standard", "queue": 300},
        "topology": {"kind": "chain", "hops": 1, "spacing": SPACING},
        "flow": [{"app": "cbr", "size": PAYLOAD, "rate_kbps": 600000.0}],
    },
    axes=[
        ACCESS,
        Axis(
            "aggregation",
            {
                name: {"mac.ampdu": ampdu if ampdu > 1 else "off", "mac.amsdu": amsdu or "off"}
                for name, (ampdu, amsdu) in AGGREGATIONS.items()
            },
        ),
        Axis("rate", {name: at(*case) for name, case in HT.items()}),
    ],
    metrics=(GOODPUT,),
    reference="arithmetic",
    published={
        "goodput": {
            (access, aggregation, name): aggregated_kbps(phy, rate, PAYLOAD, ampdu=ampdu, amsdu=amsdu, rts=access == "RTS/CTS")
            for access in ACCESS.values
            for aggregation, (ampdu, amsdu) in AGGREGATIONS.items()
            for name, (phy, rate) in HT.items()
        }
    },
    claims=[Claim("UDP: goodput agrees", "goodput", {}, near=0.005)],
)


def rates(*chosen: tuple[Phy, str]) -> dict[str, tuple[Phy, Rate]]:
    """Rates of profiles, by the names of both."""
    return {f"{phy.name} {name}": (phy, next(rate for rate in phy.rates if rate.name == name)) for phy, name in chosen}


CELLS = rates((A, "6M"), (A, "54M"), (G, "54M"), (G_SHORT, "54M"), (P, "12M"), (N[0], "MCS7"), (N[3], "MCS31"))
SLOW_CELLS = rates((AH[0], "MCS0"), (AH[0], "MCS7"), (AH[2], "MCS0"), (AH[2], "MCS8"))
DOUBLINGS = 6  # 16 to 1024


def saturation_kbps(phy: Phy, rate: Rate, n: int, *, rts: bool) -> float:
    """Bianchi's equations with the times of a profile."""
    request, clear, data, ack = phy.parts(rate, PAYLOAD)
    announced = request + clear + 2 * (phy.sifs + bianchi.PROPAGATION) if rts else 0.0
    success = announced + data + phy.sifs + ack + phy.difs + 2 * bianchi.PROPAGATION
    collision = (request if rts else data) + phy.difs + bianchi.PROPAGATION
    tau = bianchi.attempt_probability(n, phy.cw_min + 1, DOUBLINGS)
    return 8000 * PAYLOAD * bianchi.successes(n, tau, phy.slot, success, collision)


FROZEN = our_model(
    "In Bianchi's model every counter falls by one in a busy slot, too; in the standard counters stand still while the medium is busy. "
    "The difference counts where busy slots are frequent: 50 stations with windows from 16 slots. With counters that stand still, the "
    "slots of the model counted one by one give 2.8% more than its fixed point at 6 Mb/s.",
    "tools/bianchi_slots.py",
)


def cell(name: str, title: str, cells: dict[str, tuple[Phy, Rate]], offered: float, setting: str, duration: float) -> Experiment:
    """Cells of saturated stations beside Bianchi's model."""
    return Page("ofdm", "G. Bianchi, IEEE JSAC 18(3), 2000").experiment(
        name,
        title,
        "Bianchi's fixed point with the numbers of each profile: slot, SIFS, window of 16 to 1024 slots, frame times. Every station of a "
        f"cell always has a packet to send: {PAYLOAD} bytes over UDP to the next of n stations on a circle with a radius of 20 m. Standard "
        f"flavour, {setting}; no EIFS (see validation-bianchi), no retry limits, no capture; {duration:g} s simulated, the first second not "
        "counted.",
        Effort(2, keep={"stations": (2, 10, 20)}),
        full=Effort(5),
        scenario={
            **STATIC,
            "duration": duration,
            "warmup": 1.0,
            "radio": {"capture_db": 200.0},
            "mac": {"flavour": "standard", "eifs": False, "short_retry": "off", "long_retry": "off", "arp": "oracle"},
            "topology": {"kind": "list"},
        },
        axes=[
            ACCESS,
            Axis("rate", {name: at(*case) for name, case in cells.items()}),
            Axis("stations", {n: bianchi.cell(n, offered) for n in bianchi.STATIONS}, "stations"),
        ],
        metrics=(GOODPUT,),
        reference="the model",
        published={
            "goodput": {
                (access, name, n): saturation_kbps(phy, rate, n, rts=access == "RTS/CTS")
                for access in ACCESS.values
                for name, (phy, rate) in cells.items()
                for n in bianchi.STATIONS
            }
        },
        claims=[Claim("Goodput agrees", "goodput", {}, near=0.03, reason=FROZEN)],
        plots=(
            Plot(
                "line",
                "goodput",
                x="stations",
                by="rate",
                panel="access",
                caption="Saturation goodput of one cell, with 95% intervals; diamonds are Bianchi's model.",
            ),
        ),
    )


CELL = cell("ofdm-cell", "saturation throughput of one cell of OFDM", CELLS, 60000.0, "RTS and CTS at the lowest rate of OFDM", 11.0)
CELL_AH = cell(
    "ofdm-cell-ah",
    "saturation throughput of one cell of 802.11ah",
    SLOW_CELLS,
    8000.0,
    "RTS at MCS 0, CTS and ACK are preambles",
    101.0,
)


def received(document: Document) -> float:
    """Share of the transmitted data frames that arrived, %."""
    return 100.0 * float(document["flows"][0]["segments_delivered"]) / float(document["mac"]["frames"]["data"])


RECEIVED = Metric("received", "frames received, %", received)
NS3 = """
6M 3 0.135145909869
6M 4 0.939483239715
6M 5 0.998722681934
9M 6 0.302768464393
9M 7 0.957181187794
9M 8 0.998923958592
12M 6 0.125779386568
12M 7 0.937266378476
12M 8 0.998666021882
18M 9 0.290639130625
18M 10 0.955673023314
18M 11 0.998878501954
24M 13 0.697332345189
24M 14 0.986592166184
24M 15 0.999706801071
36M 16 0.614717801377
36M 17 0.980175401562
36M 18 0.99948766806
48M 21 0.801649636457
48M 22 0.991554326957
48M 23 0.999794814866
54M 22 0.633861974236
54M 23 0.978356861526
54M 24 0.999335262585
"""
"""Rate, SINR in dB, and the success of 8192 bits in ns-3's NIST model (ns3.csv of multihop-radio)."""
NS3_AH = """
802.11ah-1 MCS10 4 0.939483239715
802.11ah-1 MCS10 5 0.998722681934
802.11ah-1 MCS9 29 0.587349900144
802.11ah-1 MCS9 30 0.971338279133
802.11ah-2 MCS0 4 0.939483239715
802.11ah-2 MCS0 5 0.998722681934
802.11ah-2 MCS8 28 0.747042067436
802.11ah-2 MCS8 29 0.984834677945
"""
"""Success rates of ns-3 for frames of 802.11ac, which stand for those of 802.11ah. MCS 10 is MCS 0
with twice the energy: its SINR is counted after the repetition.
"""
REPETITION = 10 * math.log10(2)
PATH_LOSS = 70.0  # dB at 10 m: 40 at 1 m, then 30 a decade
NOISE = -93.96  # dBm


def points() -> dict[str, tuple[str, float, float]]:
    """By name: the rate, the SINR, and how many frames of 1024 bytes arrive, %; their header has 24 bits at 6 Mb/s."""
    lines = [line.split() for line in NS3.strip().splitlines()]
    lowest = {db: float(success) for rate, db, success in lines if rate == "6M"}
    return {f"{rate} {db} dB": (rate, float(db), 100 * float(success) * lowest.get(db, 1.0) ** (24 / 8192)) for rate, db, success in lines}


def link(rate: str, db: float) -> Settings:
    """A rate and a SINR without interference."""
    return {"radio.rate": rate, "radio.tx_power_dbm": NOISE + PATH_LOSS + db}


def slow_links() -> Iterator[tuple[str, Settings, float]]:
    """Links of 802.11ah: name, settings and expected success."""
    for line in NS3_AH.strip().splitlines():
        phy, rate, db, success = line.split()
        sinr = float(db) - REPETITION * (rate == "MCS10")
        header = {"802.11ah-1 MCS10": 36, "802.11ah-2 MCS0": 48}.get(f"{phy} {rate}", 0)
        yield (
            f"{phy} {rate} {sinr:.3g} dB",
            {"radio.phy": phy, "radio.budget": "ns-2", **link(rate, sinr)},
            100 * float(success) ** (1 + header / 8192),
        )


POINTS = points()
LINKS = {name: (link(rate, db), expected) for name, (rate, db, expected) in POINTS.items()}
LINKS |= {name: (settings, expected) for name, settings, expected in slow_links()}
ERRORS = Page("ofdm", "ns-3 3.37, NistErrorRateModel").experiment(
    "ofdm-errors",
    "frame errors of OFDM",
    "How many frames of 1024 bytes arrive over a link without interference? The numbers of ns-3 are what its error model returns for 8192 bits "
    "at that SINR, times the success of the 24 bits of the PLCP header (802.11ah: 36 bits in 1 MHz, 48 in 2 MHz). One transmission for "
    f"each packet, a path loss of 70 dB, noise of {NOISE} dBm; 60 s simulated.",
    Effort(5),
    scenario={
        # By hand: static routes of their own use no link that loses most frames.
        "routing": {"protocol": "static", "next_hops": [[0, 1, 1]]},
        "duration": 60.0,
        "radio": {
            "phy": "802.11a",
            "budget": "ns-2",
            "model": "sinr",
            "path_loss": {"kind": "log-distance", "exponent": 3.0, "reference_db": 40.0},
            "noise_floor_dbm": NOISE,
            "sensitivity_dbm": -100.0,
            "cca_dbm": -62.0,
        },
        "mac": {"arp": "oracle", "flavour": "standard", "rts_threshold": "off", "short_retry": 1},
        "topology": {"kind": "chain", "hops": 1, "spacing": 10.0},
        "flow": [{"app": "cbr", "size": 1024 - DATA_HEADER_BYTES - UDP_IP_BYTES, "rate_kbps": 3000.0}],
    },
    axes=[Axis("rate and SINR", {name: settings for name, (settings, _) in LINKS.items()})],
    metrics=(RECEIVED,),
    reference="ns-3",
    published={"received": {(name,): expected for name, (_, expected) in LINKS.items()}},
    claims=[Claim("As many frames arrive", "received", {}, near=0.03)],
)
EXPERIMENTS = (ONE_HOP, AGGREGATES, CELL, CELL_AH, ERRORS)
