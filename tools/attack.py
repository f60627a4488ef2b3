#!/usr/bin/env python3
"""Attack the programs for real networks on loopback, and say what became of their users.

    python3 tools/attack.py flood       a million hostile datagrams beside a transfer
    python3 tools/attack.py kill        kill -9 of either end at random moments
    python3 tools/attack.py half-open   handshakes from 256 addresses that never end, at recv and at a tunnel
    python3 tools/attack.py stop        1000 connections at recv that stop after HELLO, or later
    python3 tools/attack.py hash        connections at recv that ask for the hash of 1 TiB, and leave

Needs `make build`; `stop` and `hash` also `cargo build --release -p multihop-capi`. Linux, because it uses
all of 127.0.0.0/8.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import hashlib
import os
import random
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from real_programs import LOOPBACK, MULTIHOP, free_port, running, said, tree, write_noise

HELLO_KEYS = bytes([1, 13, 255, 255])  # docs/wire.md
TPA_LEVEL, TPA_TOKEN, TPA_IDENTITY, TPA_PEER, TPA_LINGER = 253, 2, 3, 4, 7  # tpa.h
PATIENCE = 120  # seconds: the default of send and recv
SHORTEST_HELLO = 160


def main() -> int:
    """Run the attack that the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("attack", choices=["flood", "kill", "half-open", "stop", "hash"])
    parser.add_argument("--multihop", type=Path, default=MULTIHOP, help="the command to attack")
    parser.add_argument("--datagrams", type=int, default=10**6, help="of flood")
    parser.add_argument("--kills", type=int, default=50, help="of kill")
    parser.add_argument("--addresses", type=int, default=256, help="of half-open")
    parser.add_argument("--calls", type=int, default=10, help="genuine calls during half-open")
    parser.add_argument("--connections", type=int, default=1000, help="of stop")
    parser.add_argument("--wait", type=float, default=300, help="of stop: seconds for the genuine sender")
    parser.add_argument("--step", choices=STEPS, default="hello", help="of stop: the last message")
    parser.add_argument("--libtpa", type=Path, default=MULTIHOP.parent / "libtpa.so", help="of stop and hash")
    parser.add_argument("--transport", help="of both ends, tpa for example; mesh if it is not given")
    options = parser.parse_args()
    if options.attack in ("stop", "hash") and not options.libtpa.exists():
        parser.error(
            f"there is no {options.libtpa}: cargo build --release -p multihop-capi, or --libtpa FILE"
        )
    options.both = ["--transport", options.transport] if options.transport else []
    with tempfile.TemporaryDirectory() as scratch:
        attacks = {"flood": flood, "kill": kill, "half-open": half_open, "stop": stop, "hash": ask_for_hashes}
        return attacks[options.attack](options, Path(scratch))


def flood(options: argparse.Namespace, folder: Path) -> int:
    """Hostile datagrams at a receiver with a transfer; returns 1 if the transfer fails."""
    source, into = folder / "large", folder / "into"
    write_noise(source, 100_000_000, 1)
    seconds = {}
    for datagrams in (0, options.datagrams):
        shutil.rmtree(into, ignore_errors=True)
        with receiver(options, into) as (program, address, token):
            attacker = threading.Thread(target=throw, args=(address, datagrams))
            begin = time.monotonic()
            attacker.start()
            subprocess.run(
                [options.multihop, "send", "-q", source, address, "--token", token, *options.both], check=True
            )
            seconds[datagrams] = time.monotonic() - begin
            attacker.join()
            memory = peak_memory(program.pid)
            assert program.poll() is None, "the receiver has ended"
        assert tree(into) == {"large": source.read_bytes()}, "the file is not the same"
        print(f"{datagrams} hostile datagrams: 100 MB in {seconds[datagrams]:.1f} s, peak memory {memory} kB")
    return 0


def throw(address: str, datagrams: int) -> None:
    """Send hostile datagrams: garbage, and beginnings of every message of the protocol."""
    rng, to = random.Random(1), endpoint(address)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        for _ in range(datagrams):
            kind, body = rng.randrange(16), rng.randbytes(rng.choice([0, 4, 12, 24, 152, 200, 1400]))
            head = b"" if kind == 0 else bytes([kind, rng.randrange(16), 255, 255])
            with contextlib.suppress(OSError):
                udp.sendto(head + body, to)


def kill(options: argparse.Namespace, folder: Path) -> int:
    """Kill either end of a transfer at random moments; returns 1 if a file is wrong."""
    rng, source, into = random.Random(1), folder / "from", folder / "into"
    source.mkdir()
    for number in range(300):
        write_noise(source / f"small{number}", 2000, number)
    for number in range(8):
        write_noise(source / f"large{number}", 10_000_000, number)
    whole = {f"from/{name}": content for name, content in tree(source).items()}
    port, complete, wrong = free_port(), 0, 0
    words = [
        options.multihop,
        "recv",
        "--plain",
        "--listen",
        f"{LOOPBACK}:{port}",
        "--to",
        into,
        *options.both,
    ]
    for _ in range(options.kills):
        if len(finished(into, whole)) == len(whole):
            complete += 1
            shutil.rmtree(into)
        with running(words) as program:
            said(program, "listening on ")
            sender = subprocess.Popen(
                [
                    options.multihop,
                    "send",
                    "-q",
                    "--plain",
                    "--patience",
                    "5",
                    *options.both,
                    source,
                    f"{LOOPBACK}:{port}",
                ],
                stderr=subprocess.DEVNULL,
            )
            time.sleep(rng.uniform(0.05, 1.5))
            (sender if rng.random() < 0.5 else program).kill()
            sender.kill()
            sender.wait()
        found = finished(into, whole)
        wrong += sum(content != whole[name] for name, content in found.items())
    print(f"{options.kills} kills: {wrong} wrong files, {complete} complete transfers in between")
    with running(words) as program:
        said(program, "listening on ")
        subprocess.run(
            [options.multihop, "send", "-q", "--plain", *options.both, source, f"{LOOPBACK}:{port}"],
            check=True,
        )
    assert finished(into, whole) == whole, "the last transfer is not complete"
    print("the same command then completes the folder")
    return 1 if wrong else 0


def finished(into: Path, whole: dict[str, bytes]) -> dict[str, bytes]:
    """The files with final names that are there."""
    return {name: content for name, content in tree(into).items() if name in whole} if into.exists() else {}


def half_open(options: argparse.Namespace, folder: Path) -> int:
    """Handshakes that never end; returns 1 if a genuine caller waits for 2 s or more."""
    public = {}
    for name in ("listener", "caller"):
        public[name] = make_key(options, folder / name)
    authorized = folder / "authorized"
    authorized.write_text(f"{public['caller']}\n")
    keys: list[object] = ["--key", folder / "listener", "--authorized-keys", authorized, *options.both]
    caller: list[object] = ["--key", folder / "caller", "--known-peers", folder / "known", *options.both]
    worst = 0.0
    words = [options.multihop, "recv", "--listen", f"{LOOPBACK}:0", "--to", folder / "into", *keys]
    with running(words) as program:
        address = said(program, "listening on ")
        worst = max(worst, calls(options, "recv", address, lambda: send(options, folder, address, caller)))
    echo = socket.create_server((LOOPBACK, 0))
    threading.Thread(target=serve_bytes, args=(echo,), daemon=True).start()
    gateway = [options.multihop, "tunnel", "--listen", f"{LOOPBACK}:0", "--allow", "localhost:*", *keys]
    with running(gateway) as program:
        address = said(program, "listening on ")
        target = f"0:{LOOPBACK}:{echo.getsockname()[1]}"
        with running([options.multihop, "tunnel", address, "--forward", target, *caller]) as near:
            assert near.stdout is not None
            local = near.stdout.readline().split()[0]
            worst = max(worst, calls(options, "tunnel", address, lambda: fetch_byte(local)))
    return 0 if worst < 2 else 1


def calls(options: argparse.Namespace, what: str, address: str, call: Callable[[], None]) -> float:
    """Genuine calls without the flood and during it; the longest time of one of these."""
    longest = 0.0
    for addresses in (0, options.addresses):
        stop, sent = threading.Event(), [0]
        attacker = threading.Thread(target=knock, args=(address, addresses, stop, sent))
        attacker.start()
        time.sleep(2 if addresses else 0)
        times = []
        for _ in range(options.calls):
            begin = time.monotonic()
            call()
            times.append(time.monotonic() - begin)
            time.sleep(0.2)
        stop.set()
        attacker.join()
        longest = max(times)
        print(
            f"{what}, {addresses} attacking addresses, {sent[0]} hellos: {len(times)} callers served, "
            f"the slowest after {longest:.2f} s"
        )
    return longest


def send(options: argparse.Namespace, folder: Path, address: str, caller: list[object]) -> None:
    """Send a small file under a new name."""
    source = folder / f"note{time.monotonic_ns()}"
    source.write_text("a line\n")
    words = [options.multihop, "send", "-q", source, address, *caller]
    subprocess.run([str(word) for word in words], check=True)


def fetch_byte(local: str) -> None:
    """Connect through the tunnel, and read one byte."""
    with socket.create_connection(endpoint(local), 20) as connection:
        assert connection.recv(1) == b"x"


def serve_bytes(server: socket.socket) -> None:
    """Send a byte over every connection."""
    while True:
        connection, _ = server.accept()
        with connection:
            connection.sendall(b"x")


def knock(address: str, addresses: int, stop: threading.Event, sent: list[int]) -> None:
    """Begin handshakes from many addresses, with valid cookies and seals, and random proofs."""
    sockets = []
    for number in range(addresses):
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.bind((f"127.{66 + number // 64}.{number % 64}.9", 0))
        udp.settimeout(1)
        sockets.append((udp, cookie(udp, endpoint(address))))
    while sockets and not stop.is_set():
        for udp, (shown, key) in sockets:
            hello = HELLO_KEYS + os.urandom(4) + shown + os.urandom(SHORTEST_HELLO - 24 - 16)
            seal = hashlib.blake2s(hello, key=key, digest_size=16, person=b"mhseal 2").digest()
            with contextlib.suppress(OSError):
                udp.sendto(hello + seal, endpoint(address))
                sent[0] += 1
        time.sleep(0.01)
    for udp, _ in sockets:
        udp.close()


def cookie(udp: socket.socket, to: tuple[str, int]) -> tuple[bytes, bytes]:
    """The listener's cookie for a socket, and its public key."""
    for _ in range(5):
        with contextlib.suppress(TimeoutError):
            udp.sendto(HELLO_KEYS + os.urandom(4) + bytes(SHORTEST_HELLO - 8), to)
            reply = udp.recv(200)
            return reply[8:24], reply[24:56]
    raise TimeoutError("the listener gives no cookie")


def frame(kind: int, *body: bytes) -> bytes:
    """A message of a file transfer (crates/multihop-apps/src/files/message.rs)."""
    whole = b"".join(body)
    return struct.pack(">BI", kind, len(whole)) + whole


def listing(name: bytes, size: int) -> bytes:
    """The list of a sender with one file, all of it a hole."""
    entry = struct.pack(">BHqIQQH", 1, 0o644, 0, 0xFFFFFFFF, size, 0, len(name))
    return frame(2, entry, name) + frame(3, struct.pack(">I", 1))


HELLO = frame(1, b"multihop files\x02", struct.pack(">I", 1000 * PATIENCE))
STEPS: dict[str, Callable[[int], bytes]] = {
    "hello": lambda _: HELLO,
    "list": lambda number: HELLO + listing(b"file%d" % number, 10**6),
    "file": lambda number: (
        HELLO + listing(b"file%d" % number, 10**6) + frame(6, bytes(12)) + frame(7, b"data")
    ),
}
"""First messages of a connection of `stop`, up to the step at which it stops."""


class Tpa:
    """Connections that an attacker opens with libtpa."""

    def __init__(self, path: Path, address: str, security: dict[int, str]) -> None:
        self.library, self.security = ctypes.CDLL(str(path), use_errno=True), security
        host, port = endpoint(address)
        self.address = struct.pack("=H", socket.AF_INET) + struct.pack(">H", port)
        self.address += socket.inet_aton(host) + bytes(8)

    def connect(self, said: bytes) -> int:
        """A connection on which this has been said."""
        number = self.library.tpa_socket(socket.AF_INET, socket.SOCK_STREAM, 0)
        for option, value in self.security.items():
            text = value.encode()
            self.check(self.library.tpa_setsockopt(number, TPA_LEVEL, option, text, len(text)))
        linger = ctypes.byref(ctypes.c_int(0))
        self.check(self.library.tpa_setsockopt(number, TPA_LEVEL, TPA_LINGER, linger, 4))
        self.check(self.library.tpa_connect(number, self.address, len(self.address)))
        self.check(self.library.tpa_send(number, said, len(said), 0))
        return int(number)

    def close(self, number: int) -> None:
        """End a connection at once."""
        self.library.tpa_close(number)

    @staticmethod
    def check(result: int) -> None:
        """Raise the error of a call."""
        if result < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def make_key(options: argparse.Namespace, key: Path) -> str:
    """Create a private key; the public one."""
    words = [options.multihop, "keygen", key]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()[-1]


def stop(options: argparse.Namespace, folder: Path) -> int:
    """Connections that stop in the middle; returns 1 if a genuine sender waits for 20 s or more."""
    worst = 0.0
    keys = [folder / name for name in ("listener", "caller", "attacker")]
    public = [make_key(options, key) for key in keys]
    authorized = folder / "authorized"
    authorized.write_text("\n".join(public[1:]) + "\n")
    words = [options.multihop, "recv", "--listen", f"{LOOPBACK}:0", "--to", folder / "into"]
    words += ["--key", keys[0], "--authorized-keys", authorized, *options.both]
    caller = ["--key", keys[1], "--peer", public[0], *options.both]
    for connections in (0, options.connections):
        with running(words) as program:
            address = said(program, "listening on ")
            tpa = Tpa(options.libtpa, address, {TPA_IDENTITY: str(keys[2]), TPA_PEER: public[0]})
            opened = [tpa.connect(STEPS[options.step](number)) for number in range(connections)]
            source = folder / f"note{connections}"
            source.write_text("a line\n")
            send_words = [options.multihop, "send", "-q", source, address, *caller]
            begin = time.monotonic()
            ended = "has ended with an error"
            try:
                if subprocess.run(send_words, check=False, timeout=options.wait).returncode == 0:
                    ended = "is served"
            except subprocess.TimeoutExpired:
                ended = "still waits"
            worst = time.monotonic() - begin
            print(f"{connections} connections, last message {options.step}: a genuine sender", end=" ")
            print(f"{ended} after {worst:.1f} s", flush=True)
            for number in opened:
                tpa.close(number)
    return 0 if ended == "is served" and worst < 20 else 1


def ask_for_hashes(options: argparse.Namespace, folder: Path) -> int:
    """Connections that ask for the hash of a huge file, and leave; returns 1 if the receiver goes on."""
    into = folder / "into"
    into.mkdir()
    huge = 1 << 40
    with (into / "huge").open("wb") as file:
        file.truncate(huge)
    with receiver(options, into) as (program, address, token):
        tpa = Tpa(options.libtpa, address, {TPA_TOKEN: token})
        for _ in range(8):
            number = tpa.connect(HELLO + listing(b"huge", huge))
            time.sleep(0.5)
            tpa.close(number)
        used = []
        for _ in range(4):
            before = processor_time(program.pid)
            time.sleep(5)
            used.append(processor_time(program.pid) - before)
        print(
            "processor time of the receiver in each 5 s after they have left: "
            + ", ".join(f"{one:.2f} s" for one in used)
        )
    return 0 if used[-1] < 0.5 else 1


def processor_time(process: int) -> float:
    """Seconds of the processor that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def receiver(options: argparse.Namespace, into: Path) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """A running `recv`, its address and its token."""
    with running(
        [options.multihop, "recv", "--listen", f"{LOOPBACK}:0", "--to", into, *options.both]
    ) as program:
        yield program, said(program, "listening on "), said(program, "token: ")


def endpoint(address: str) -> tuple[str, int]:
    """Host and port of an address."""
    host, port = address.rsplit(":", 1)
    return host, int(port)


def peak_memory(process: int) -> str:
    """Kilobytes that a process has used at most."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    return next(line.split()[1] for line in lines if line.startswith("VmHWM:"))


if __name__ == "__main__":
    sys.exit(main())
