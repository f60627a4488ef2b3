"""Frames of a capture file as a table.

>>> from multihop import lab
>>> from multihop.frames import frames
>>> with lab.chain(hops=2) as net:
...     capture = net.capture()
...     text = net[0].run("ping -c 3 -i 0.2 {2}", timeout=20)
>>> frames(capture).filter(kind="data", received=False)["node"].value_counts()
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars

__all__ = ["frames"]


def frames(path: str | PathLike[str]) -> polars.DataFrame:
    """Frames of a file that `Net.capture` or `multihop run --pcap` has written.

    A frame has a row where it was sent and one at each node that received it. `from` is missing in ACKs and
    CTSs, which do not have it; `to` is `ff:ff:ff:ff:ff:ff` for a broadcast. An incomplete last frame of a
    network that runs is left out.
    """
    import polars

    rows = list(_rows(Path(path).read_bytes()))
    return polars.DataFrame(rows, schema={**COLUMNS}, orient="row")


Row = tuple[float, str, bool, str, bool, str | None, str | None, int, int | None]


def _rows(content: bytes) -> Iterator[Row]:
    interfaces: list[str] = []
    place = 0
    if content[:4] != SECTION or content[8:12] != ORDER:
        raise ValueError("found another file, allowed: a capture of multihop (pcapng)")
    while place + 12 <= len(content):
        kind, length = struct.unpack_from("<II", content, place)
        if length < 12 or place + length > len(content):
            break
        body = content[place + 8 : place + length - 4]
        if kind == INTERFACE:
            interfaces.append(_name(body))
        elif kind == PACKET:
            number, high, low, kept, whole = struct.unpack_from("<IIIII", body)
            nanoseconds = high << 32 | low
            yield _frame(interfaces[number], nanoseconds / 1e9, body[20 : 20 + kept], whole)
        place += length


def _name(body: bytes) -> str:
    place = 8
    while place + 4 <= len(body):
        code, length = struct.unpack_from("<HH", body, place)
        if code == IF_NAME:
            return body[place + 4 : place + 4 + length].decode()
        place += 4 + -(-length // 4) * 4
    return ""


def _frame(node: str, time: float, packet: bytes, whole: int) -> Row:
    header, present = struct.unpack_from("<HI", packet, 2)
    frame = packet[header:]
    control, flags = frame[0], frame[1]
    kind = KINDS.get(control & 0xFC, "data" if control & 0x0C == DATA else "other")
    to = _address(frame, 4)
    sender = None if kind in {"ack", "cts"} else _address(frame, 10)
    signal = _signal(packet, present)
    return (time, node, signal is not None, kind, bool(flags & RETRY), sender, to, whole - header, signal)


def _signal(packet: bytes, present: int) -> int | None:
    """Signal of a received frame in the radiotap header, dBm; sent frames have none."""
    if not present >> SIGNAL & 1:
        return None
    place, more = 8, present
    while more >> 31 & 1:
        (more,) = struct.unpack_from("<I", packet, place)
        place += 4
    for bit, (size, align) in FIELDS.items():
        if present >> bit & 1:
            place = -(-place // align) * align
            if bit == SIGNAL:
                return int(struct.unpack_from("<b", packet, place)[0])
            place += size
    return None


def _address(frame: bytes, place: int) -> str | None:
    address = frame[place : place + 6]
    return address.hex(":") if len(address) == 6 else None


SECTION, ORDER = b"\x0a\x0d\x0d\x0a", b"\x4d\x3c\x2b\x1a"
INTERFACE, PACKET, IF_NAME = 1, 6, 2
DATA, RETRY, SIGNAL = 0x08, 0x08, 5
KINDS = {0xB4: "rts", 0xC4: "cts", 0xD4: "ack", 0x94: "block-ack", 0x84: "block-ack-request"}
"""Kinds of frames by type and subtype; all other data frames are `data`."""
FIELDS = {0: (8, 8), 1: (1, 1), 2: (1, 1), 3: (4, 2), 4: (2, 2), 5: (1, 1)}
"""Size and alignment of the radiotap fields up to the signal: TSFT, flags, rate, channel, FHSS, signal."""
COLUMNS: dict[str, type] = {
    "time": float,
    "node": str,
    "received": bool,
    "kind": str,
    "retry": bool,
    "from": str,
    "to": str,
    "bytes": int,
    "signal_dbm": int,
}
