"""Airtimes of the OFDM profiles, computed from the standard, to check the simulator."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from multihop_papers.airtime import ACK_BYTES, CTS_BYTES, DATA_HEADER_BYTES, RTS_BYTES, UDP_IP_BYTES

LEGACY = {6: 24, 9: 36, 12: 48, 18: 72, 24: 96, 36: 144, 48: 192, 54: 216}
"""Data bits of a symbol by the rate in channels of 20 MHz, Mb/s."""
HT = ((1, 1, 2), (2, 1, 2), (2, 3, 4), (4, 1, 2), (4, 3, 4), (6, 2, 3), (6, 3, 4), (6, 5, 6))
"""Coded bits of a subcarrier, and the code, of MCS 0 to 7."""
VHT = (*HT, (8, 3, 4), (8, 5, 6))
"""Coded bits of a subcarrier, and the code, of MCS 0 to 9."""
PROPAGATION = 0.05  # us over 15 m
QOS_HEADER_BYTES = DATA_HEADER_BYTES + 2
SUBFRAME = 14
"""Bytes before each packet of an A-MSDU."""
DELIMITER = 4
"""Bytes before each MPDU of an A-MPDU."""
BLOCK_ACK_BYTES = 32


@dataclass(frozen=True)
class Rate:
    """How frames at a rate take time, us."""

    name: str
    bits: int
    """Data bits of a symbol."""
    preamble: float
    answer: int
    """Data bits of a symbol of the answers."""
    symbol: float = 4.0
    step: float = 4.0
    tail: int = 6
    extension: float = 0.0
    service: int = 16

    def frame(self, size: int) -> float:
        """A frame of `size` bytes."""
        symbols = math.ceil((self.service + 8 * size + self.tail) / self.bits)
        return self.preamble + self.step * math.ceil(round(symbols * self.symbol / self.step, 6)) + self.extension


@dataclass(frozen=True)
class Phy:
    """A profile of the simulator."""

    name: str
    slot: float
    sifs: float
    rates: tuple[Rate, ...]
    stretch: float = 1.0
    """Times as long as in channels of 20 MHz."""
    extension: float = 0.0
    eifs_ack: float | None = None
    """The ACK of EIFS, if it is not one of OFDM."""
    cw_min: int = 15
    basic: str = "6M"
    """The lowest rate of OFDM, which an RTS has."""

    @property
    def difs(self) -> float:
        """DCF interframe space (DIFS), us."""
        return self.sifs + 2 * self.slot

    def control(self, size: int, bits: int) -> float:
        """A control frame with so many data bits in a symbol."""
        return legacy("", bits, self.stretch, self.extension).frame(size)

    @property
    def eifs(self) -> float:
        """Extended interframe space (EIFS), us."""
        ack = self.control(ACK_BYTES, 24) if self.eifs_ack is None else self.eifs_ack
        return self.sifs + ack + self.difs

    def parts(self, rate: Rate, payload: int) -> tuple[float, float, float, float]:
        """RTS (at the lowest rate of OFDM), CTS, a UDP datagram, ACK."""
        data = rate.frame(payload + UDP_IP_BYTES + DATA_HEADER_BYTES)
        return self.control(RTS_BYTES, 24), self.control(CTS_BYTES, 24), data, self.control(ACK_BYTES, rate.answer)

    def exchange(self, rate: Rate, payload: int, *, rts: bool) -> float:
        """Duration from a datagram's DIFS to the end of its ACK, with the mean backoff of the standard's flavour."""
        request, clear, data, ack = self.parts(rate, payload)
        announced = request + clear + 2 * (self.sifs + PROPAGATION) if rts else 0.0
        backoff = self.slot * self.cw_min / 2
        return self.difs + backoff + announced + data + self.sifs + ack + 2 * PROPAGATION

    def udp_kbps(self, rate: Rate, payload: int, *, rts: bool) -> float:
        """Goodput over one hop from a greedy source of datagrams."""
        return 8000 * payload / self.exchange(rate, payload, rts=rts)


@dataclass(frozen=True)
class S1g(Phy):
    """A profile of 802.11ah, in which a CTS or ACK is a preamble."""

    def control(self, size: int, bits: int) -> float:  # noqa: ARG002, the rate of a frame decides nothing here
        """An RTS at the basic rate, or an answer."""
        basic = next(rate for rate in self.rates if rate.name == self.basic)
        return basic.frame(size) if size == RTS_BYTES else basic.preamble


def mpdus(packet: int, packets: int, amsdu: int) -> list[int]:
    """Bytes of the MPDUs that packets of equal length fill one after the other."""
    together = max(1, next(n for n in range(1, 100) if n * padded(SUBFRAME + packet) + SUBFRAME + packet > amsdu))
    full, rest = divmod(packets, together)
    counts = [together] * full + [rest] * (rest > 0)
    return [QOS_HEADER_BYTES + (packet if n == 1 else (n - 1) * padded(SUBFRAME + packet) + SUBFRAME + packet) for n in counts]


def aggregate(sizes: list[int]) -> int:
    """Bytes of a frame with these MPDUs."""
    if len(sizes) == 1:
        return sizes[0]
    return sum(padded(DELIMITER + size) for size in sizes[:-1]) + DELIMITER + sizes[-1]


def padded(size: int) -> int:
    """A multiple of 4 bytes."""
    return -(-size // 4) * 4


def aggregated_kbps(phy: Phy, rate: Rate, payload: int, *, ampdu: int, amsdu: int, rts: bool) -> float:
    """Goodput in kb/s where each frame takes as many packets as the limits allow."""
    longest = min(amsdu, 4095 - QOS_HEADER_BYTES) if ampdu > 1 else amsdu

    def filled(packets: int) -> list[int]:
        return mpdus(payload + UDP_IP_BYTES, packets, longest)

    def fits(packets: int) -> bool:
        sizes = filled(packets)
        return len(sizes) <= ampdu and aggregate(sizes) <= 65535 and rate.frame(aggregate(sizes)) <= 5484

    packets = next(n for n in range(1, 1000) if not fits(n + 1))
    sizes = filled(packets)
    request, clear, _, ack = phy.parts(rate, payload)
    announced = request + clear + 2 * (phy.sifs + PROPAGATION) if rts else 0.0
    answer = phy.control(BLOCK_ACK_BYTES, rate.answer) if len(sizes) > 1 else ack
    access = phy.difs + phy.slot * phy.cw_min / 2 + announced
    return 8000 * payload * packets / (access + rate.frame(aggregate(sizes)) + phy.sifs + answer + 2 * PROPAGATION)


def legacy(name: str, bits: int, stretch: float = 1.0, extension: float = 0.0) -> Rate:
    """A rate of 802.11a, or of 802.11p, which takes twice as long."""
    answer = max(lowest for lowest in (24, 48, 96) if lowest <= bits)
    return Rate(name, bits, 20 * stretch, answer, 4 * stretch, 4 * stretch, extension=extension)


def high_throughput(subcarriers: int, symbol: float) -> Iterator[Rate]:
    """MCS 0 to 31 of 802.11n behind the mixed preamble."""
    for mcs in range(32):
        streams = mcs // 8 + 1
        coded, numerator, denominator = HT[mcs % 8]
        bits = subcarriers * coded * numerator // denominator * streams
        training = {1: 1, 2: 2, 3: 4, 4: 4}[streams]
        answer = {1: 24, 2: 48}.get(coded, 96)
        yield Rate(f"MCS{mcs}", bits, 32.0 + 4 * training, answer, symbol, tail=12 if bits / symbol > 300 else 6)


def sub_1_ghz(width: int, symbol: float) -> Iterator[Rate]:
    """MCS 0 to 8 of 802.11ah in 2 MHz; in 1 MHz MCS 0 to 9, and 10, which transmits each bit of MCS 0 twice.

    The first symbol of a frame has the long guard interval.
    """
    subcarriers, preamble = {1: (24, 160.0 + 160 + 240), 2: (52, 80.0 + 80 + 80)}[width]
    schemes = {mcs: divmod(subcarriers * coded * numerator, denominator) for mcs, (coded, numerator, denominator) in enumerate(VHT)}
    if width == 1:
        schemes[10] = (schemes[0][0] // 2, 0)
    for mcs, (bits, rest) in schemes.items():
        if rest == 0:
            yield Rate(f"MCS{mcs}", bits, preamble, 0, symbol, symbol, extension=40 - symbol, service=8)


A = Phy("802.11a", 9, 16, tuple(legacy(f"{rate}M", bits) for rate, bits in LEGACY.items()))
P = Phy("802.11p", 13, 32, tuple(legacy(f"{rate / 2:g}M", bits, 2.0) for rate, bits in LEGACY.items()), stretch=2.0, basic="3M")
ERP = tuple(legacy(f"{rate}M", bits, extension=6.0) for rate, bits in LEGACY.items())
G = Phy("802.11g", 20, 10, ERP, extension=6.0, eifs_ack=304.0)
G_SHORT = Phy("802.11g-short-slots", 9, 10, ERP, extension=6.0, eifs_ack=304.0)
N = tuple(
    Phy(f"802.11n-{width}{suffix}", 9, 16, tuple(high_throughput(subcarriers, symbol)))
    for width, subcarriers in ((20, 52), (40, 108))
    for suffix, symbol in (("", 4.0), ("-short-guard", 3.6))
)
AH = tuple(
    S1g(f"802.11ah-{width}{suffix}", 52, 160, tuple(sub_1_ghz(width, symbol)), basic="MCS0")
    for width in (1, 2)
    for suffix, symbol in (("", 40.0), ("-short-guard", 36.0))
)
PHYS = (A, G, G_SHORT, P, *N, *AH)
