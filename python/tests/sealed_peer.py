"""TPA's sealed datagrams a second time, written from docs/wire.md, the Noise specification
(revision 34) and RFCs 7748 and 8439. Slow, and no model for a use of cryptography: nothing here takes
constant time.

It calls `ADDRESS PORT SECRET`, a token or a private key, and sends what it reads; what comes back it writes,
and at the end how often the keys of each direction have changed.
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

HELLO, COOKIE, ANSWER, _, DATA, _, _, _, OFFER, ACCEPT = range(1, 11)
TOKEN, KEYS = 12, 13
SECRET = "tpa-secret-"
PROLOGUE, PROLOGUE_REKEY = b"multihop sealed 3", b"multihop rekey 3"
SHORTEST_HELLO = 160
HEADER = tpa_peer.HEADER.size
DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
KEY_LASTS = 4  # datagrams, not 2^20: so that keys change in a test
NO_TOKEN = bytes(16)  # this end resets nothing, and takes no reset
RETRY = 1.0  # seconds without an answer to an offer
PRIME, BASE = 2**255 - 19, b"\x09" + bytes(31)


def bits(text: str) -> bytes:
    """The bytes of base 32, filled up with zeros."""
    text = text.lower().replace("-", "").replace(" ", "").translate(str.maketrans("oil", "011"))
    number = 0
    for character in text:
        number = number << 5 | DIGITS.index(character)
    return (number << -5 * len(text) % 8).to_bytes((5 * len(text) + 7) // 8, "big")


def psk(token: str) -> bytes:
    found = bits(token)
    if len(found) != 16 or found[15] != hashlib.blake2s(b"token" + found[:15]).digest()[0] & 0xF8:
        raise ValueError("mistyped")
    return hashlib.blake2s(b"multihop TPA token 1" + found[:15]).digest()


def key_of(prefix: str, text: str) -> bytes:
    found = bits(text.removeprefix(prefix))
    if len(found) != 35 or found[32:] != hashlib.blake2s(prefix.encode() + found[:32]).digest()[:3]:
        raise ValueError("mistyped")
    return found[:32]


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


def masked(first_key: bytes, datagram: bytes) -> bytes:
    """The datagram with number of the key and counter masked, or not masked any more."""
    key = hashlib.blake2s(key=first_key, person=b"mhheader").digest()
    mask = chacha20(key, datagram[-12:], bytes(9), int.from_bytes(datagram[-16:-12], "little"))
    other = bytearray(datagram)
    for at, bits in zip((1, *range(8, 16)), mask, strict=True):
        other[at] ^= bits
    return bytes(other)


class Handshake:
    """Caller's side of the handshake, as far as both patterns share it."""

    pattern, protocol, added = 0, b"", 0

    def __init__(self, prologue: bytes) -> None:
        name = self.protocol
        self.h = name.ljust(32, b"\0") if len(name) <= 32 else hashlib.blake2s(name).digest()
        self.ck, self.key, self.n = self.h, b"", 0
        self.mix_hash(prologue)
        self.secret = secrets.token_bytes(32)

    def mix_hash(self, data: bytes) -> None:
        self.h = hashlib.blake2s(self.h + data).digest()

    def hkdf(self, material: bytes, outputs: int) -> list[bytes]:
        temporary = hmac.digest(self.ck, material, "blake2s")
        out = [b""]
        for n in range(1, outputs + 1):
            out.append(hmac.digest(temporary, out[-1] + bytes([n]), "blake2s"))
        return out[1:]

    def mix_key(self, material: bytes) -> None:
        (self.ck, self.key), self.n = self.hkdf(material, 2), 0

    def encrypt(self, text: bytes) -> bytes:
        if self.key:
            text, self.n = seal(self.key, self.n, self.h, text), self.n + 1
        self.mix_hash(text)
        return text

    def decrypt(self, sealed: bytes) -> bytes:
        text = unseal(self.key, self.n, self.h, sealed)
        if text is None:
            raise ValueError("not from the listener")
        self.n += 1
        self.mix_hash(sealed)
        return text

    def split(self) -> list[bytes]:
        return self.hkdf(b"", 2)

    def first(self, payload: bytes) -> bytes:
        raise NotImplementedError

    def second(self, message: bytes) -> bytes:
        raise NotImplementedError


class TokenHandshake(Handshake):
    """`NNpsk0`: psk, e; e, ee."""

    pattern, protocol, added = TOKEN, b"Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s", 32 + 16

    def __init__(self, text: str, prologue: bytes, _listener: bytes) -> None:
        super().__init__(prologue)
        self.psk = psk(text)

    def first(self, payload: bytes) -> bytes:
        self.ck, hashed, self.key = self.hkdf(self.psk, 3)
        self.mix_hash(hashed)
        e = x25519(self.secret, BASE)
        self.mix_hash(e)
        self.mix_key(e)
        return e + self.encrypt(payload)

    def second(self, message: bytes) -> bytes:
        e, sealed = message[:32], message[32:]
        self.mix_hash(e)
        self.mix_key(e)
        self.mix_key(x25519(self.secret, e))
        return self.decrypt(sealed)


class KeysHandshake(Handshake):
    """`IK`: (the listener's key is known;) e, es, s, ss; e, ee, se."""

    pattern, protocol, added = KEYS, b"Noise_IK_25519_ChaChaPoly_BLAKE2s", 32 + 48 + 16 + 16

    def __init__(self, text: str, prologue: bytes, listener: bytes) -> None:
        super().__init__(prologue)
        self.own, self.theirs = key_of(SECRET, text), listener
        self.mix_hash(listener)

    def first(self, payload: bytes) -> bytes:
        e = x25519(self.secret, BASE)
        self.mix_hash(e)
        self.mix_key(x25519(self.secret, self.theirs))
        s = self.encrypt(x25519(self.own, BASE))
        self.mix_key(x25519(self.own, self.theirs))
        return e + s + self.encrypt(payload)

    def second(self, message: bytes) -> bytes:
        e, sealed = message[:32], message[32:]
        self.mix_hash(e)
        self.mix_key(x25519(self.secret, e))
        self.mix_key(x25519(self.own, e))
        return self.decrypt(sealed)


class Sealed:
    """Protection of a connection: puts its segments into datagrams, and takes them out."""

    def __init__(self, connection: Connection, secret: str) -> None:
        self.connection, self.out = connection, deque[bytes]()
        # The cookie is not an option of the SYN here.
        self.cookie = connection.mine.pop(tpa_peer.COOKIE).to_bytes(16, "big")
        self.index, self.peer = secrets.token_bytes(4), b""
        self.kind = KeysHandshake if secret.startswith(SECRET) else TokenHandshake
        self.secret, self.handshake, self.hello, self.listener = secret, Handshake(b""), b"", b""
        self.sending, self.receiving, self.after, self.before = b"", b"", b"", b""
        self.first_sending, self.first_receiving = b"", b""
        # Numbers of the keys that seal what we send and receive; the first counter under ours.
        self.key, self.newest, self.counter, self.since = 0, 0, 0, 0
        self.binding, self.rekey, self.offer, self.offered = b"", Handshake(b""), b"", 0.0
        self.seen = set[int]()

    def poll(self, now: float) -> None:
        self.connection.poll(now)
        self.refresh(now)
        while self.connection.out:
            segment = self.connection.out.popleft()
            if not self.peer:
                self.out.append(self.say_hello(segment))
                continue
            self.out.append(self.seal(DATA, segment))

    def say_hello(self, syn: bytes) -> bytes:
        """Without a proof until there is a cookie, and with it the listener's key."""
        if any(self.cookie) and not self.hello:
            self.handshake = self.kind(self.secret, PROLOGUE + self.index + self.cookie, self.listener)
            payload = NO_TOKEN + syn
            shortest = SHORTEST_HELLO - 24 - self.kind.added
            self.hello = self.handshake.first(payload.ljust(shortest, b"\0"))
        noise = self.hello or bytes(SHORTEST_HELLO - 24)
        hello = bytes([HELLO, self.kind.pattern, 255, 255]) + self.index + self.cookie + noise
        if not self.listener:
            return hello
        return hello + hashlib.blake2s(hello, key=self.listener, digest_size=16, person=b"mhseal 2").digest()

    def refresh(self, now: float) -> None:
        """Offer new keys, unless an exchange is in progress."""
        if self.counter - self.since < KEY_LASTS or self.after or not self.seen:
            return
        if not self.offer:
            number = (self.key + 1).to_bytes(8, "big")
            self.rekey = self.kind(self.secret, PROLOGUE_REKEY + number + self.binding, self.listener)
            self.offer, self.offered = number + self.rekey.first(b""), -RETRY
        if now >= self.offered + RETRY:
            self.offered = now
            self.out.append(self.seal(OFFER, self.offer))

    def accepted(self, message: bytes) -> None:
        if not self.offer or message[:8] != self.offer[:8]:
            return
        self.rekey.second(message[8:])
        self.sending, self.after = self.rekey.split()
        self.key, self.offer, self.since = self.key + 1, b"", self.counter

    def seal(self, kind: int, text: bytes) -> bytes:
        header = bytes([kind, self.key % 256, 255, 255]) + self.peer + self.counter.to_bytes(8, "big")
        self.counter += 1
        return masked(self.first_sending, header + seal(self.sending, self.counter - 1, header, text))

    def receive(self, now: float, datagram: bytes) -> None:
        kind, index, rest = datagram[0], datagram[4:8], datagram[8:]
        if index != self.index or datagram[2:4] != b"\xff\xff":
            return
        if kind == COOKIE and not self.peer and rest[:16] != self.cookie:
            self.cookie, self.listener = rest[:16], rest[16:]
            self.hello, self.connection.next_try = b"", now
        elif kind == ANSWER and not self.peer:
            segment, self.peer = self.handshake.second(rest[4:])[len(NO_TOKEN) :], rest[:4]
            self.sending, self.receiving = self.handshake.split()
            self.first_sending, self.first_receiving = self.sending, self.receiving
            self.binding = self.handshake.h
            self.connection.receive(now, segment)
        elif kind in (DATA, ACCEPT) and self.sending:
            opened = self.open(masked(self.first_receiving, datagram))
            if opened is not None and kind == DATA:
                self.connection.receive(now, opened)
            elif opened is not None:
                self.accepted(opened)

    def open(self, datagram: bytes) -> bytes | None:
        header, sealed, counter = datagram[:16], datagram[16:], int.from_bytes(datagram[8:16], "big")
        if counter in self.seen:
            return None
        keys = {self.newest: self.receiving, self.newest + 1: self.after, self.newest - 1: self.before}
        number, key = next(((n, key) for n, key in keys.items() if key and n % 256 == header[1]), (0, b""))
        text = unseal(key, counter, header, sealed) if key else None
        if text is not None:
            self.seen.add(counter)
            if number > self.newest:
                self.before, self.receiving, self.after = self.receiving, key, b""
                self.newest = number
        return text


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
    address, port, secret = sys.argv[1:]
    sealed = Sealed(Connection(sys.stdin.buffer.read(), caller=True), secret)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        sys.stdout.buffer.write(run(sealed, udp, (address, int(port)), 60))
    print(sealed.key, sealed.newest, file=sys.stderr)


if __name__ == "__main__":
    main()
