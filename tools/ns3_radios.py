"""Tables that compare radios sold today with ns-3; `tools/beside_ns3.py --table` prints them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ns3_tables import AGGREGATION, Multihop, Ns3, Page, Values, kbps_of, listed

POWER_DBM, NOISE_FIGURE_DB = 18.0, 5.0
"""Transmit power and noise figure of the link budgets of devices: docs/models/budgets.md."""
DETECTION_DB = 4.0
"""Ratio of signal to noise at which ns-3 notices a preamble."""
WEAKEST_DBM = -105.0
"""Power of the weakest preamble that ns-3 looks at; below the noise, so that the ratio decides."""
QUEUE = 500  # packets
SIZE = 1460  # bytes of a datagram
GOODPUT = "goodput, Mb/s"
RATE = "most used rate"


@dataclass(frozen=True)
class Band:
    """Parameters that depend on the band."""

    gain_dbi: float  # of each antenna
    loss_db: float  # in free space at 1 m


BAND_2_4 = Band(2.0, 40.05)
BAND_5 = Band(3.0, 46.68)


@dataclass(frozen=True)
class Standard:
    """A physical layer as both programs name it."""

    phy: str
    options: Mapping[str, Any]  # of ns-3
    modes: Mapping[str, str]  # ns-3's name of each rate of multihop, the slowest first
    mbps: float  # more than a link carries
    mac: Mapping[str, Any]
    band: Band = BAND_5
    rate: str = "MCS2"  # in networks of several hops

    def radio(self, exponent: float, rate: str | None = None) -> dict[str, Any]:
        """The radio of multihop: the budget of a device, with a path loss that ns-3 has as well."""
        law = {"kind": "log-distance", "exponent": exponent, "reference_db": self.band.loss_db}
        found = {"phy": self.phy, "detection_db": DETECTION_DB, "path_loss": law}
        return found | ({"rate": rate} if rate else {})

    @property
    def is_in_networks(self) -> bool:
        """Whether networks of several stations are compared under this standard."""
        return self.options.get("width", 20) == 20 and "guard" not in self.options

    @property
    def aggregates(self) -> bool:
        """Whether stations send A-MPDUs."""
        return self.phy != "802.11g"

    def metres(self, snr_db: float, exponent: float) -> float:
        """The distance at which a link has this ratio of signal to noise."""
        noise_dbm = -173.98 + 10 * math.log10(1e6 * self.options.get("width", 20)) + NOISE_FIGURE_DB
        power_dbm = POWER_DBM + 2 * self.band.gain_dbi
        loss_db = power_dbm - noise_dbm - snr_db - self.band.loss_db
        return float(round(10 ** (loss_db / (10 * exponent)), 1))

    def words(self, exponent: float, rate: str | None = None) -> list[str]:
        """Options by which ns-3 has this radio."""
        options = {
            **self.options,
            "rate": self.modes[rate] if rate else "minstrel",
            "control": "ErpOfdmRate6Mbps" if self.band is BAND_2_4 else "OfdmRate6Mbps",
            "power": POWER_DBM + 2 * self.band.gain_dbi,
            "noise-figure": NOISE_FIGURE_DB,
            "minimum-rssi": WEAKEST_DBM,
            "exponent": exponent,
            "reference-loss": self.band.loss_db,
        }
        return [f"--{name}={value}" for name, value in options.items()]


def schemes(prefix: str, count: int) -> dict[str, str]:
    """The modulation and coding schemes of one stream."""
    return {f"MCS{index}": f"{prefix}Mcs{index}" for index in range(count)}


def wide(standard: str, ampdu: int, width: int) -> dict[str, Any]:
    """Options of ns-3 for a standard with channels of several widths."""
    return {"standard": standard, "ampdu": ampdu, "width": width}


ERP = {"1M": "DsssRate1Mbps", "2M": "DsssRate2Mbps", "5.5M": "DsssRate5_5Mbps"}
ERP |= {"6M": "ErpOfdmRate6Mbps", "9M": "ErpOfdmRate9Mbps", "11M": "DsssRate11Mbps"}
ERP |= {f"{mbps}M": f"ErpOfdmRate{mbps}Mbps" for mbps in (12, 18, 24, 36, 48, 54)}
AC_BYTES, AX_BYTES = 1_048_575, 6_500_631
"""Most bytes of an A-MPDU."""
STANDARDS = (
    Standard("802.11g", {"standard": "802.11g"}, ERP, 40.0, {}, BAND_2_4, "12M"),
    Standard("802.11n-20", {"standard": "802.11n"}, schemes("Ht", 8), 100.0, {}),
    Standard("802.11ac-20", wide("802.11ac", AC_BYTES, 20), schemes("Vht", 9), 120.0, {}),
    Standard("802.11ac-80", wide("802.11ac", AC_BYTES, 80), schemes("Vht", 10), 500.0, {}),
    Standard("802.11ax-20", wide("802.11ax", AX_BYTES, 20), schemes("He", 12), 180.0, {"ampdu": 256}),
    Standard(
        "802.11ax-20-long-guard",
        wide("802.11ax", AX_BYTES, 20) | {"guard": 3200},
        schemes("He", 12),
        180.0,
        {"ampdu": 256},
    ),
    Standard("802.11ax-80", wide("802.11ax", AX_BYTES, 80), schemes("He", 12), 700.0, {"ampdu": 256}),
)


def distances() -> Page:
    """A saturated link with Minstrel at growing distances."""
    exponent, duration, warmup = 3.0, 6.0, 3.0
    rows: list[Ns3 | Multihop] = []

    def values(kbps: Sequence[float], frames: Mapping[str, int], numbers: Mapping[str, int]) -> Values:
        most = max(frames, key=lambda name: frames[name], default="")
        return {GOODPUT: sum(kbps) / 1e3, RATE: numbers.get(most, -1) if sum(kbps) else -1}

    for standard in STANDARDS:
        steps = {name: index for index, name in enumerate(standard.modes)}
        theirs = {name: steps[ours] for ours, name in standard.modes.items()}

        def of_ns3(said: Mapping[str, Any], numbers: Mapping[str, int] = theirs) -> Values:
            return values(said["kbps"], said["modes"], numbers)

        def of_multihop(result: Mapping[str, Any], numbers: Mapping[str, int] = steps) -> Values:
            return values(kbps_of(result), result["mac"]["rates"], numbers)

        for snr in (40, 35, 30, 26, 23, 20, 17, 14, 11, 9, 7, 6, 5, 4.5, 4, 3.5, 3, 2.5, 2):
            metres = standard.metres(snr, exponent)
            network = Network([(0.0, 0.0), (metres, 0.0)], [(0, 1)], standard.mbps, duration, warmup)
            title = f"{standard.phy}, {metres:g} m, {snr} dB"
            rows.append(Ns3(title, "wlan", [*network.words(), *standard.words(exponent)], of_ns3))
            rows.append(Multihop(title, network.scenario(standard, exponent), of_multihop))
    return Page(rows, 1, {GOODPUT: 1, RATE: 0}, is_paired=True)


EXPONENT = 4.0
"""Path-loss exponent in networks of several hops: nodes two hops apart do not sense each other."""
SNR_DB = 13.0
"""Ratio of signal to noise of their links."""
TIMES: Mapping[str, Any] = {"duration": 22.0, "warmup": 2.0}


def total(said: Mapping[str, Any]) -> Values:
    """The goodput of all flows of a run."""
    kbps: Sequence[float] = said["kbps"] if "kbps" in said else kbps_of(said)
    return {GOODPUT: sum(kbps) / 1e3}


def networks() -> Page:
    """Hidden stations and chains of four hops at fixed rates, in channels of 20 MHz."""
    rows: list[Ns3 | Multihop] = []
    for standard in (one for one in STANDARDS if one.is_in_networks):
        rate, metres = standard.rate, standard.metres(SNR_DB, EXPONENT)
        places = [(metres * node, 0.0) for node in range(5)]
        for title, nodes, flows, rts in (
            ("hidden pair", 3, [(0, 1), (2, 1)], "off"),
            ("hidden pair, RTS", 3, [(0, 1), (2, 1)], "on"),
            ("chain of four hops", 5, [(0, 4)], "off"),
            ("chain of four hops, RTS", 5, [(0, 4)], "on"),
        ):
            if standard.aggregates and title == "hidden pair":
                continue
            network = Network(places[:nodes], flows, standard.mbps, **TIMES)
            options = [
                *standard.words(EXPONENT, rate),
                f"--rts={rts}",
                *(AGGREGATION.values() if standard.aggregates else ()),
            ]
            name = f"{standard.phy}, {rate}, {title}"
            rows.append(Ns3(name, "wlan", [*network.words(), *options], total))
            rows.append(Multihop(name, network.scenario(standard, EXPONENT, rate, rts), total))
    return Page(rows, 5, {GOODPUT: 2}, is_paired=True)


def hidden() -> Page:
    """Two hidden stations with aggregates and without RTS, under variants of ns-3's aggregation."""
    standard = STANDARDS[1]
    rate, metres = standard.rate, standard.metres(SNR_DB, EXPONENT)
    places = [(metres * node, 0.0) for node in range(3)]
    network = Network(places, [(0, 1), (2, 1)], standard.mbps, **TIMES)
    options = [*network.words(), *standard.words(EXPONENT, rate)]
    rows: list[Ns3 | Multihop] = [Ns3("ns-3", "wlan", options, total)]
    for title, option in AGGREGATION.items():
        options = [*options, option]
        rows.append(Ns3(f"and {title}", "wlan", options, total))
    rows.append(Multihop("multihop", network.scenario(standard, EXPONENT, rate), total))
    return Page(rows, 5, {GOODPUT: 1})


def grid() -> Page:
    """Nine stations of 802.11g with Minstrel in a grid; a flow along each row and each column."""
    standard, exponent = STANDARDS[0], 3.0
    rows: list[Ns3 | Multihop] = []
    for snr in (35, 30, 26, 20):
        metres = standard.metres(snr, exponent)
        places = [(metres * (node % 3), metres * (node // 3)) for node in range(9)]
        flows = [(0, 2), (3, 5), (6, 8), (0, 6), (1, 7), (2, 8)]
        network = Network(places, flows, standard.mbps, duration=12.0, warmup=2.0, is_chain=False)
        scenario = network.scenario(standard, exponent)
        words = [*network.words(), *standard.words(exponent)]
        as_ns3 = {**scenario, "radio": {**scenario["radio"], "cca_dbm": -82.0}}
        title = f"{metres:g} m, {snr} dB"
        rows.append(Ns3(f"{title}: ns-3", "wlan", words, total))
        rows.append(Multihop(f"{title}: multihop", scenario, total))
        rows.append(Multihop(f"{title}: multihop, busy from -82 dBm", as_ns3, total))
    return Page(rows, 5, {GOODPUT: 1})


UNLIMITED = ("--ns3::WifiRemoteStationManager::MaxSlrc=1000000", "--LimitedRts::Attempts=0")
"""Options of ns-3 under which a station gives no packet up."""


def reservations() -> Page:
    """Chains of four hops with RTS: ns-3 keeps every NAV, and aggregating stations give up no packet."""
    rows: list[Ns3 | Multihop] = []
    for standard in (one for one in STANDARDS if one.is_in_networks):
        rate, metres = standard.rate, standard.metres(SNR_DB, EXPONENT)
        places = [(metres * node, 0.0) for node in range(5)]
        network = Network(places, [(0, 4)], standard.mbps, duration=52.0, warmup=2.0)
        options = [*network.words(), *standard.words(EXPONENT, rate), "--rts=on", "--nav-reset=0"]
        scenario = network.scenario(standard, EXPONENT, rate, "on")
        if standard.aggregates:
            options += [*AGGREGATION.values(), *UNLIMITED]
            scenario["mac"] |= {"short_retry": "off", "long_retry": "off"}
        title = f"{standard.phy}, {rate}, chain of four hops, RTS"
        rows += [Ns3(title, "wlan", options, total), Multihop(title, scenario, total)]
    return Page(rows, 5, {GOODPUT: 2}, is_paired=True)


@dataclass(frozen=True)
class Network:
    """Saturated flows of datagrams between nodes that stand still."""

    places: Sequence[tuple[float, float]]
    flows: Sequence[tuple[int, int]]
    mbps: float  # of each flow
    duration: float
    warmup: float
    is_chain: bool = True  # packets go from node to node in the order of their numbers

    def start(self, index: int) -> float:
        """When a flow begins: different starts, so that frames do not collide for ever."""
        return 1 + 0.0011 * index

    def words(self) -> list[str]:
        """Options by which ns-3 has this network."""
        flows = ":".join(f"{a}-{b}@{self.start(index)}" for index, (a, b) in enumerate(self.flows))
        kbps = f"--kbps={1e3 * self.mbps:g}"
        times = [f"--duration={self.duration}", f"--warmup={self.warmup}"]
        chain = self.is_chain and any(abs(a - b) > 1 for a, b in self.flows)
        words = [listed(self.places), f"--flows={flows}", f"--chain={int(chain)}"]
        return [*words, kbps, f"--size={SIZE}", *times]

    def scenario(
        self, standard: Standard, exponent: float, rate: str | None = None, rts: str = "off"
    ) -> dict[str, Any]:
        """A scenario of multihop."""
        threshold = 0 if rts == "on" else "off"
        cbr = {"app": "cbr", "rate_kbps": 1e3 * self.mbps, "size": SIZE}
        return {
            "duration": self.duration,
            "warmup": self.warmup,
            "topology": {"kind": "list", "positions": self.places},
            "radio": standard.radio(exponent, rate),
            "mac": {"arp": "oracle", "queue": QUEUE, "rts_threshold": threshold, **standard.mac},
            "flow": [
                {"from": a, "to": b, "start": self.start(index), **cbr}
                for index, (a, b) in enumerate(self.flows)
            ],
        }


def missed() -> Page:
    """Chains of four hops without RTS: how strong a frame is sensed whose preamble a station has missed."""
    rows: list[Ns3 | Multihop] = []
    for standard, snr in ((STANDARDS[3], SNR_DB), (STANDARDS[1], SNR_DB + 2)):
        rate, metres = standard.rate, standard.metres(snr, EXPONENT)
        width = standard.options.get("width", 20)
        network = Network([(metres * node, 0.0) for node in range(5)], [(0, 4)], standard.mbps, **TIMES)
        options = [*network.words(), *standard.words(EXPONENT, rate), *AGGREGATION.values()]
        scenario = network.scenario(standard, EXPONENT, rate)
        energy_dbm = round(-62 + 10 * math.log10(width / 20))
        for busy_dbm in (-82, energy_dbm):
            radio = {**scenario["radio"], "cca_dbm": busy_dbm}
            title = f"{standard.phy}, {rate}, {snr:g} dB, busy from {busy_dbm} dBm"
            rows.append(Ns3(title, "wlan", [*options, f"--ns3::WifiPhy::CcaSensitivity={busy_dbm}"], total))
            rows.append(Multihop(title, {**scenario, "radio": radio}, total))
    return Page(rows, 5, {GOODPUT: 1}, is_paired=True)


PAGES = {
    "distances": distances,
    "networks": networks,
    "reservations": reservations,
    "grid": grid,
    "hidden": hidden,
    "missed": missed,
}
