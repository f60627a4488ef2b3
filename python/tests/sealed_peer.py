"""TPA's sealed datagrams a second time, with a token, written from docs/wire.md, the Noise specification
(revision 34) and RFCs 7748 and 8439. Slow, and no model for a use of cryptography: nothing here takes
constant time.

It calls `ADDRESS PORT TOKEN` and sends what it reads; what comes back it writes, and at the end how often
the keys of each direction have changed.
"""

import hashlib
import hmac
import secrets
import select
import socket
import struct
import sys
import time
from collections import deque

import tpa_peer
from tpa_peer import Connection

HELLO, COOKIE, ANSWER, _, DATA, _ = range(1, 7)
TOKEN = 1
PROTOCOL = b"Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s"
PROLOGUE = b"multihop TPA sealed 1"
SHORTEST_HELLO = 160
DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
KEY_LASTS = 4  # datagrams, not 2^20: so that keys change in a test
PRIME = 2**255 - 19


def psk(token: str) -> bytes:
    text = token.lower().replace("-", "").replace(" ", "").translate(str.maketrans("oil", "011"))
    number = 0
    for character in text:
        number = number << 5 | DIGITS.index(character)
    bits = (number << 3).to_bytes(16, "big")
    check = hashlib.blake2s(b"token" + bits[:15]).digest()[0] & 0xF8
    if len(text) != 25 or bits[15] != check:
        raise ValueError("mistyped")
    return hashlib.blake2s(b"multihop TPA token 1" + bits[:15]).digest()


def x25519(secret: bytes, point: bytes) -> bytes:
    """RFC 7748, section 5."""
    clamped = bytearray(secret)
    clamped[0] &= 248
    clamped[31] = clamped[31] & 127 | 64
    k, u = int.from_bytes(clamped, "little"), int.from_bytes(point, "little") % 2**255
    x2, z2, x3, z3, swap = 1, 0, u, 1, 0
    for t in reversed(range(255)):
        bit = k >> t & 1
        if swap ^ bit:
            x2, x3, z2, z3 = x3, x2, z3, z2
        swap = bit
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        aa, bb, da, cb = a * a, b * b, d * a, c * b
        e = aa - bb
        x3, z3 = (da + cb) ** 2 % PRIME, u * (da - cb) ** 2 % PRIME
        x2, z2 = aa * bb % PRIME, e * (aa + 121665 * e) % PRIME
    if swap:
        x2, z2 = x3, z3
    return (x2 * pow(z2, PRIME - 2, PRIME) % PRIME).to_bytes(32, "little")


def chacha20(key: bytes, nonce: bytes, text: bytes, counter: int) -> bytes:
    """RFC 8439, section 2.4."""
    out = bytearray()
    for at in range(0, len(text), 64):
        start = struct.unpack("<16I", b"expand 32-byte k" + key + struct.pack("<I", counter) + nonce)
        state = list(start)
        for n in range(80):
            a, step = n % 4, n // 4 % 2
            b, c, d = 4 + (a + step) % 4, 8 + (a + 2 * step) % 4, 12 + (a + 3 * step) % 4
            for x, y, z, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                state[x] = (state[x] + state[y]) % 2**32
                turned = state[z] ^ state[x]
                state[z] = (turned << turn | turned >> (32 - turn)) % 2**32
        stream = struct.pack("<16I", *((a + b) % 2**32 for a, b in zip(state, start, strict=True)))
        out += bytes(a ^ b for a, b in zip(text[at : at + 64], stream, strict=False))
        counter += 1
    return bytes(out)


def poly1305(key: bytes, text: bytes) -> bytes:
    """RFC 8439, section 2.5."""
    r = int.from_bytes(key[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
    total = 0
    for at in range(0, len(text), 16):
        total = (total + int.from_bytes(text[at : at + 16] + b"\1", "little")) * r % (2**130 - 5)
    return ((total + int.from_bytes(key[16:], "little")) % 2**128).to_bytes(16, "little")


def tag(key: bytes, nonce: bytes, known: bytes, sealed: bytes) -> bytes:
    def padded(text: bytes) -> bytes:
        return text + bytes(-len(text) % 16)

    lengths = struct.pack("<QQ", len(known), len(sealed))
    return poly1305(chacha20(key, nonce, bytes(32), 0), padded(known) + padded(sealed) + lengths)


def seal(key: bytes, counter: int, known: bytes, text: bytes) -> bytes:
    nonce = bytes(4) + counter.to_bytes(8, "little")
    sealed = chacha20(key, nonce, text, 1)
    return sealed + tag(key, nonce, known, sealed)


def unseal(key: bytes, counter: int, known: bytes, sealed: bytes) -> bytes | None:
    nonce = bytes(4) + counter.to_bytes(8, "little")
    text, found = sealed[:-16], sealed[-16:]
    return chacha20(key, nonce, text, 1) if tag(key, nonce, known, text) == found else None


def next_key(key: bytes) -> bytes:
    return seal(key, 2**64 - 1, b"", bytes(32))[:32]


class Handshake:
    """The caller's side of `NNpsk0`."""

    def __init__(self, token: str, index: bytes) -> None:
        self.h = hashlib.blake2s(PROTOCOL).digest()
        self.ck, self.key, self.n = self.h, b"", 0
        self.mix_hash(PROLOGUE + index)
        self.psk, self.secret = psk(token), secrets.token_bytes(32)

    def mix_hash(self, data: bytes) -> None:
        self.h = hashlib.blake2s(self.h + data).digest()

    def hkdf(self, material: bytes, outputs: int) -> list[bytes]:
        temporary = hmac.digest(self.ck, material, "blake2s")
        out = [b""]
        for n in range(1, outputs + 1):
            out.append(hmac.digest(temporary, out[-1] + bytes([n]), "blake2s"))
        return out[1:]

    def mix_key(self, material: bytes) -> None:
        self.ck, self.key = self.hkdf(material, 2)
        self.n = 0

    def first(self, payload: bytes) -> bytes:
        self.ck, hashed, self.key = self.hkdf(self.psk, 3)
        self.mix_hash(hashed)
        public = x25519(self.secret, b"\x09" + bytes(31))
        self.mix_hash(public)
        self.mix_key(public)
        sealed = seal(self.key, 0, self.h, payload)
        self.mix_hash(sealed)
        return public + sealed

    def second(self, message: bytes) -> bytes | None:
        public, sealed = message[:32], message[32:]
        self.mix_hash(public)
        self.mix_key(public)
        self.mix_key(x25519(self.secret, public))
        return unseal(self.key, 0, self.h, sealed)

    def split(self) -> list[bytes]:
        return self.hkdf(b"", 2)


class Sealed:
    """What puts the segments of a connection into datagrams, and takes them out."""

    def __init__(self, connection: Connection, token: str) -> None:
        self.connection, self.out = connection, deque[bytes]()
        # The cookie is not an option of the SYN here.
        self.cookie = connection.mine.pop(tpa_peer.COOKIE).to_bytes(16, "big")
        self.index, self.peer = secrets.token_bytes(4), b""
        self.handshake, self.hello = Handshake(token, self.index), b""
        self.sending, self.receiving, self.before = b"", b"", b""
        # Numbers of the keys that seal what we send and receive, and that the other end has seen of ours.
        self.key, self.newest, self.counter, self.since = 0, 0, 0, 0
        self.shown, self.seen = True, set[int]()

    def poll(self, now: float) -> None:
        self.connection.poll(now)
        while self.connection.out:
            segment = self.connection.out.popleft()
            self.out.append(self.seal(segment) if self.peer else self.say_hello(segment))

    def say_hello(self, syn: bytes) -> bytes:
        if any(self.cookie) and not self.hello:
            self.hello = self.handshake.first(syn + bytes(SHORTEST_HELLO - 24 - 32 - 16 - len(syn)))
        noise = self.hello or bytes(SHORTEST_HELLO - 24)
        return bytes([HELLO, TOKEN, 255, 255]) + self.index + self.cookie + noise

    def seal(self, segment: bytes) -> bytes:
        if self.counter - self.since >= KEY_LASTS and self.shown:
            self.sending, self.key, self.shown = next_key(self.sending), self.key + 1, False
            self.since = self.counter
        keys = self.key % 16 << 4 | self.newest % 16
        header = bytes([DATA, keys, 255, 255]) + self.peer + self.counter.to_bytes(8, "big")
        self.counter += 1
        return header + seal(self.sending, self.counter - 1, header, segment)

    def receive(self, now: float, datagram: bytes) -> None:
        kind, index, rest = datagram[0], datagram[4:8], datagram[8:]
        if index != self.index or datagram[2:4] != b"\xff\xff":
            return
        if kind == COOKIE and not self.peer and rest != self.cookie:
            self.cookie, self.connection.next_try = rest, now
        elif kind == ANSWER and not self.peer:
            segment = self.handshake.second(rest[4:])
            if segment is not None:
                self.peer = rest[:4]
                self.sending, self.receiving = self.handshake.split()
                self.connection.receive(now, segment)
        elif kind == DATA and self.peer:
            segment = self.open(datagram)
            if segment is not None:
                self.connection.receive(now, segment)

    def open(self, datagram: bytes) -> bytes | None:
        header, sealed, counter = datagram[:16], datagram[16:], int.from_bytes(datagram[8:16], "big")
        if counter in self.seen:
            return None
        used = header[1] >> 4
        keys = {self.newest: self.receiving, self.newest + 1: next_key(self.receiving)}
        keys[self.newest - 1] = self.before
        number, key = next(((n, key) for n, key in keys.items() if key and n % 16 == used), (0, b""))
        segment = unseal(key, counter, header, sealed) if key else None
        if segment is not None:
            self.seen.add(counter)
            self.shown |= header[1] % 16 == self.key % 16
            if number > self.newest:
                self.before, self.receiving, self.newest = self.receiving, key, number
        return segment


def run(sealed: Sealed, udp: socket.socket, peer: tuple[str, int], seconds: float) -> bytes:
    """Move a connection on a socket until both directions are closed; what arrived."""
    end = time.monotonic() + seconds
    while (now := time.monotonic()) < sealed.connection.over_at:
        if now > end:
            raise TimeoutError(f"{len(sealed.connection.received)} bytes in {seconds} s")
        sealed.poll(now)
        while sealed.out:
            udp.sendto(sealed.out.popleft(), peer)
        if select.select([udp], [], [], 0.01)[0]:
            sealed.receive(time.monotonic(), udp.recvfrom(65_535)[0])
    return bytes(sealed.connection.received)


def main() -> None:
    address, port, token = sys.argv[1:]
    sealed = Sealed(Connection(sys.stdin.buffer.read(), caller=True), token)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        sys.stdout.buffer.write(run(sealed, udp, (address, int(port)), 60))
    print(sealed.key, sealed.newest, file=sys.stderr)


if __name__ == "__main__":
    main()
