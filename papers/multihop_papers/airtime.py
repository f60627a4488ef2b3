"""Airtimes of 802.11 frames, computed from the standard, to check the simulator."""

from __future__ import annotations

from dataclasses import dataclass

# IEEE 802.11 DSSS: microseconds and bytes.
SLOT = 20.0
SIFS = 10.0
DIFS = 50.0
RTS_BYTES = 20
CTS_BYTES = 14
ACK_BYTES = 14
DATA_HEADER_BYTES = 28  # three addresses and FCS, no LLC
CW_MIN = 31
UDP_IP_BYTES = 28
TCP_IP_BYTES = 40
PREAMBLE = {"long": 192.0, "short": 96.0}  # with the PLCP header

# Mean backoff before a frame: ns-2 draws 0..CW-1 slots, the standard 0..CW.
MEAN_BACKOFF = {"ns2": SLOT * (CW_MIN - 1) / 2, "standard": SLOT * CW_MIN / 2}


@dataclass(frozen=True)
class Radio:
    """Rates in Mb/s, and the flavour of the rules."""

    rate: float = 2.0
    basic_rate: float = 1.0
    preamble: str = "long"
    flavour: str = "ns2"

    def frame(self, size: int, rate: float) -> float:
        """A frame of `size` bytes, us."""
        return PREAMBLE[self.preamble] + 8 * size / rate

    def data(self, ip_bytes: int) -> float:
        """A frame with an IP packet, us."""
        return self.frame(ip_bytes + DATA_HEADER_BYTES, self.rate)

    def control(self, size: int) -> float:
        """An RTS, CTS or ACK, us."""
        return self.frame(size, self.basic_rate)

    def exchange(self, ip_bytes: int, *, rts: bool) -> float:
        """Duration from one packet's DIFS to the end of its ACK, with the mean backoff, us."""
        announced = self.control(RTS_BYTES) + self.control(CTS_BYTES) + 2 * SIFS if rts else 0.0
        acknowledged = self.data(ip_bytes) + SIFS + self.control(ACK_BYTES)
        return DIFS + MEAN_BACKOFF[self.flavour] + announced + acknowledged

    def udp_kbps(self, payload: int, *, rts: bool) -> float:
        """Goodput over one hop from a greedy source of datagrams."""
        return 8000 * payload / self.exchange(payload + UDP_IP_BYTES, rts=rts)

    def tcp_kbps(self, payload: int, *, rts: bool, segments_per_ack: int = 1) -> float:
        """Goodput over one hop if segments and ACKs alternate and never collide."""
        segment = self.exchange(payload + TCP_IP_BYTES, rts=rts)
        ack = self.exchange(TCP_IP_BYTES, rts=rts)
        return 8000 * payload * segments_per_ack / (segments_per_ack * segment + ack)
