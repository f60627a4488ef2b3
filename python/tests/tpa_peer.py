"""TPA's plain wire format a second time, written from docs/wire.md and nothing else.

What it decides for itself is as simple as can be: a window that never changes, one timeout for every
segment, and a receiver that always has room.
"""

import random
import select
import socket
import struct
import time
from collections import deque
from dataclasses import dataclass, field

HEADER = struct.Struct(">HHHHBBH")
POSITIONS = 12
DEFAULT_INTERVAL = 100_000
OUR_VERSION = 3
EVERY_WINDOW, BLOCK_END, GAPS = 1, 2, 4  # the ACK rule
VERSION, MSS, K, CWND_MAX, ACK_RULE, NOTICES, TTL, ACK_INTERVAL, SHORTEST_TIMEOUT, COOKIE = range(1, 11)
# Of each type: the length, the least and the most that its value may be, and what holds if it is missing.
OPTIONS = {
    VERSION: (1, 0, 255, None),
    MSS: (2, 1, 65_535, 536),
    K: (1, 1, 12, 12),
    CWND_MAX: (1, 1, 255, 2),
    ACK_RULE: (1, 0, 7, 0),
    NOTICES: (1, 0, 1, 0),
    TTL: (1, 1, 255, 64),
    ACK_INTERVAL: (4, 0, 2**32 - 1, DEFAULT_INTERVAL),
    SHORTEST_TIMEOUT: (4, 0, 2**32 - 1, 200_000),
    COOKIE: (16, 0, 2**128 - 1, None),
}
TIMEOUT = 0.4  # more than the other end's ACK interval, and a loopback's round trip
LATE = 0.5  # instead of two minutes: how long a closed end of a test answers
WINDOW = 64
NEVER = float("inf")


class ImpossibleError(Exception):
    """A segment that no correct sender makes; it is dropped."""


@dataclass
class Segment:
    block: int = 0
    position: int | None = None
    ack: bool = False
    rst: bool = False
    syn: bool = False
    fin: bool = False
    ack_block: int = 0
    arrived: frozenset[int] = frozenset()
    congested: bool = False
    last: bool = False
    held: bool = False
    tx: int = 0
    ack_tx: int = 0
    window: int = WINDOW
    data: bytes = b""

    def encode(self) -> bytes:
        bitmap = 0 if self.position is None else bit(self.position)
        flags = self.ack << 3 | self.rst << 2 | self.syn << 1 | self.fin
        acked = sum(bit(position) for position in self.arrived)
        marks = self.congested << 3 | self.last << 2 | self.held << 1
        first, second = bitmap << 4 | flags, acked << 4 | marks
        fields = (self.block, first, self.ack_block, second, self.tx, self.ack_tx, self.window)
        return HEADER.pack(*fields) + self.data


def bit(position: int) -> int:
    """Bit 0 of a field is its most significant one."""
    return 1 << (POSITIONS - 1 - position)


def positions(bitmap: int) -> frozenset[int]:
    return frozenset(position for position in range(POSITIONS) if bitmap & bit(position))


def decode(datagram: bytes) -> Segment:
    if len(datagram) < HEADER.size:
        raise ImpossibleError("shorter than the header")
    block, first, ack_block, second, tx, ack_tx, window = HEADER.unpack_from(datagram)
    marked = positions(first >> 4)
    if len(marked) > 1:
        raise ImpossibleError("two positions")
    ack, rst, syn, fin = (bool(first & 1 << place) for place in (3, 2, 1, 0))
    congested, last, held = (bool(second & 1 << place) for place in (3, 2, 1))
    segment = Segment(
        block, next(iter(marked), None), ack, rst, syn, fin, ack_block, positions(second >> 4),
        congested, last, held, tx, ack_tx, window, datagram[HEADER.size:],
    )  # fmt: skip
    check_kind(segment)
    return segment


def check_kind(s: Segment) -> None:
    """The table of kinds: which flags, marks and data go together."""
    if s.position is None:
        possible = not s.fin and not s.last and (s.syn or not s.data)
    else:
        possible = not s.syn and not s.rst and (bool(s.data) != s.fin) and (s.last or not s.fin)
    if s.rst:
        possible = possible and s.ack and not s.syn
    if not possible:
        raise ImpossibleError(f"no kind of segment: {s}")


def encode_options(options: dict[int, int]) -> bytes:
    return b"".join(
        bytes([kind, OPTIONS[kind][0]]) + value.to_bytes(OPTIONS[kind][0], "big")
        for kind, value in options.items()
    )


def decode_options(data: bytes) -> dict[int, int | None]:
    options: dict[int, int | None] = {kind: missing for kind, (_, _, _, missing) in OPTIONS.items()}
    at = 0
    while at < len(data):
        kind = data[at]
        if kind == 0:
            at += 1
            continue
        if at + 2 > len(data) or at + 2 + data[at + 1] > len(data):
            raise ImpossibleError("an option is cut off")
        value, at = data[at + 2 : at + 2 + data[at + 1]], at + 2 + data[at + 1]
        if kind in OPTIONS:
            length, least, most, _ = OPTIONS[kind]
            number = int.from_bytes(value, "big")
            if len(value) != length or not least <= number <= most:
                raise ImpossibleError(f"option {kind} is {value.hex()}")
            options[kind] = number
    return options


def after(a: int, b: int) -> int:
    """How many blocks a lies after b, by serial arithmetic."""
    return (a - b + 2**15) % 2**16 - 2**15


@dataclass
class Outgoing:
    """A segment of the block that is being sent."""

    data: bytes
    last: bool
    sent: float | None = None
    acked: bool = False

    def in_flight(self, now: float) -> bool:
        return self.sent is not None and not self.acked and now < self.sent + TIMEOUT


@dataclass
class Block:
    """A block that arrives. The number of a SYN is one without segments."""

    number: int
    end: int | None = None
    got: dict[int, Segment] = field(default_factory=dict)

    def complete(self) -> bool:
        return self.end is not None and len(self.got) == self.end + 1

    def has_gap(self) -> bool:
        return any(position > len(self.got) - 1 for position in self.got)

    def check(self, position: int, s: Segment, k: int, mss: int) -> None:
        if position >= k or (position == k - 1 and not s.last) or len(s.data) > mss:
            raise ImpossibleError(f"position {position} of {k} with {len(s.data)} bytes")
        if self.end is not None and (position > self.end or (s.last and position != self.end)):
            raise ImpossibleError(f"position {position}, but {self.end} was the last")
        if s.last and any(other > position for other in self.got):
            raise ImpossibleError(f"position {position} is the last of a block that goes on")


class Connection:
    """One end of a TPA connection. Datagrams and the time go in; datagrams are taken from `out`."""

    def __init__(self, to_send: bytes, *, caller: bool, mss: int = 1000, k: int = 12, cwnd: int = 2) -> None:
        self.to_send, self.received, self.out = to_send, bytearray(), deque[bytes]()
        self.mine = {VERSION: OUR_VERSION, MSS: mss, K: k, CWND_MAX: cwnd}
        self.theirs: dict[int, int] | None = None
        if caller:
            self.mine[COOKIE] = 0
        self.caller, self.established = caller, False
        self.tries, self.next_try = 0, 0.0
        # What is sent: a block at a time.
        self.iss = self.block = random.randrange(2**16)
        self.outgoing: list[Outgoing] = []
        self.tx, self.peer_window, self.next_probe = 0, 0, 0.0
        self.fin_sent = self.fin_acked = False
        # What arrives: the open block, and the one before it.
        self.previous, self.open = Block(0), Block(0)
        self.peer_iss, self.newest_tx = 0, 0
        self.unacknowledged, self.held_tx, self.ack_at = 0, 0, NEVER
        self.fin_arrived, self.over_at = False, NEVER

    def receive(self, now: float, datagram: bytes) -> None:
        try:
            s = decode(datagram)
            if s.rst:
                self.reset(s)
            elif s.syn:
                self.syn(now, s)
            elif self.theirs is not None:
                if s.ack:
                    self.acknowledged(s)
                if s.position is not None:
                    self.data(now, s, s.position, self.theirs)
                elif not s.ack:  # a probe, which no AckTxSeq names
                    self.acknowledge(self.open, (self.newest_tx + 128) % 2**8)
                self.peer_window = s.window
        except ImpossibleError:
            pass

    def poll(self, now: float) -> None:
        """Do what is due, and send what may be sent."""
        opening = not self.established and (self.caller or self.theirs is not None)
        if opening and now >= self.next_try:
            if self.tries == 5:
                raise TimeoutError("no answer to the SYN")
            self.send_syn(now)
        if now >= self.ack_at:
            self.acknowledge(self.open, self.held_tx, held=True)
        if self.established and self.theirs is not None and not self.fin_acked:
            self.send_data(now, self.theirs)
        if self.fin_acked and self.fin_arrived:
            self.over_at = min(self.over_at, now + LATE)

    # Opening and resetting.

    def send_syn(self, now: float) -> None:
        s = Segment(self.iss, syn=True, tx=self.tries, data=encode_options(self.mine))
        if self.theirs is not None:
            s.ack, s.ack_block, s.ack_tx = True, self.open.number, self.newest_tx
        self.out.append(s.encode())
        self.tries, self.next_try = self.tries + 1, now + 2**self.tries

    def syn(self, now: float, s: Segment) -> None:
        options = decode_options(s.data)
        cookie = options.pop(COOKIE)
        if s.ack and cookie is not None:
            if self.caller and self.theirs is None and s.ack_block == self.iss:
                self.mine[COOKIE], self.next_try = cookie, now
            return
        version = options.pop(VERSION)
        if version != OUR_VERSION:
            self.out.append(Segment(self.iss, ack=True, rst=True, ack_block=s.block).encode())
            return
        if s.ack and s.ack_block != self.iss:
            return
        if self.theirs is None:
            self.theirs = {kind: value for kind, value in options.items() if value is not None}
            self.open, self.peer_window = Block(s.block, end=-1), s.window
            self.peer_iss, self.newest_tx = s.block, s.tx
        if s.ack:
            self.established = True
            self.acknowledge(self.open, s.tx)
        elif s.block == self.peer_iss:
            self.newest_tx = s.tx
            self.send_syn(now)

    def reset(self, s: Segment) -> None:
        if s.ack_block == self.iss or after(self.block, s.ack_block) in (0, 1):
            raise ConnectionResetError

    # Sending.

    def send_data(self, now: float, theirs: dict[int, int]) -> None:
        if all(segment.acked for segment in self.outgoing):
            self.next_block(min(self.mine[MSS], theirs[MSS]))
        room = min(self.mine[CWND_MAX], self.peer_window)
        room -= sum(segment.in_flight(now) for segment in self.outgoing)
        for position, segment in enumerate(self.outgoing):
            if room > 0 and not segment.acked and not segment.in_flight(now):
                s = Segment(self.block, position, fin=self.fin_sent, last=segment.last, tx=self.tx % 2**8)
                self.out.append(s.encode() + segment.data)
                segment.sent, self.tx, room = now, self.tx + 1, room - 1
        if self.peer_window == 0 and now >= self.next_probe:
            self.out.append(Segment(self.block).encode())
            self.next_probe = now + TIMEOUT

    def next_block(self, mss: int) -> None:
        """Cut the next block; FIN is alone in the one after the last data."""
        self.block, self.tx = (self.block + 1) % 2**16, 0
        size = mss * self.mine[K]
        block, self.to_send = self.to_send[:size], self.to_send[size:]
        self.fin_sent = not block
        pieces = [block[at : at + mss] for at in range(0, len(block), mss)] or [b""]
        self.outgoing = [Outgoing(piece, last=piece is pieces[-1]) for piece in pieces]

    def acknowledged(self, s: Segment) -> None:
        behind = after(self.block, s.ack_block)
        sent = {position for position, segment in enumerate(self.outgoing) if segment.sent is not None}
        if behind < 0 or (behind == 0 and not s.arrived <= sent):
            raise ImpossibleError(f"an ACK of what was never sent: {s}")
        self.established = True
        if behind == 0:
            for position in s.arrived:
                self.outgoing[position].acked = True
            self.fin_acked = self.fin_sent and self.outgoing[0].acked

    # Receiving.

    def data(self, now: float, s: Segment, position: int, theirs: dict[int, int]) -> None:
        ahead = after(s.block, self.open.number)
        if ahead == -1 and self.previous.complete():
            self.acknowledge(self.previous, s.tx)
        if ahead not in (0, 1) or (ahead == 1 and not self.open.complete()):
            return
        block = self.open if ahead == 0 else Block(s.block)
        block.check(position, s, theirs[K], self.mine[MSS])
        self.established = True
        if ahead == 1:
            self.previous, self.open = self.open, block
        repeated, had_gap = position in block.got, block.has_gap()
        block.got.setdefault(position, s)
        self.newest_tx = s.tx
        if s.last:
            block.end = position
        if block.complete() and not repeated:
            self.received += b"".join(block.got[place].data for place in sorted(block.got))
            self.fin_arrived = any(segment.fin for segment in block.got.values())
        if self.unacknowledged == 0:
            interval = min(theirs[ACK_INTERVAL], theirs[SHORTEST_TIMEOUT] // 2)
            requested = 0 if s.ack else 1000 * s.ack_tx
            self.ack_at, self.held_tx = now + (requested or interval) / 1e6, s.tx
        self.unacknowledged += 1
        rule = theirs[ACK_RULE]
        wanted = min(theirs[CWND_MAX] if rule & EVERY_WINDOW else 2, theirs[K], WINDOW)
        at_end = bool(rule & BLOCK_END) and block.complete()
        at_gap = bool(rule & GAPS) and (had_gap or block.has_gap())
        if s.congested or repeated or at_end or at_gap or self.unacknowledged >= wanted:
            self.acknowledge(block, s.tx)

    def acknowledge(self, block: Block, tx: int, *, held: bool = False) -> None:
        arrived = frozenset(block.got)
        s = Segment(self.block, ack=True, ack_block=block.number, arrived=arrived, held=held, ack_tx=tx)
        self.out.append(s.encode())
        if block is self.open:
            self.unacknowledged, self.ack_at = 0, NEVER


def run(connection: Connection, udp: socket.socket, peer: tuple[str, int] | None, seconds: float) -> bytes:
    """Move a connection on a socket until both directions are closed; what arrived."""
    end = time.monotonic() + seconds
    while (now := time.monotonic()) < connection.over_at:
        if now > end:
            raise TimeoutError(f"{len(connection.received)} bytes in {seconds} s")
        connection.poll(now)
        while connection.out and peer is not None:
            udp.sendto(connection.out.popleft(), peer)
        if select.select([udp], [], [], 0.01)[0]:
            datagram, sender = udp.recvfrom(65_535)
            peer = peer or sender
            if sender == peer:
                connection.receive(time.monotonic(), datagram)
    return bytes(connection.received)
