#!/usr/bin/env python3
"""Measure ssh and MQTT through a tunnel beside a bulk copy over the same hops.

    python3 tools/tunnel_classes.py [--hops N] [--radio NAME] [--seconds S] [--without-classes] [--dscp]

Runs `multihop emulate` with a chain of nodes, as root. At the last node are a gateway, sshd, mosquitto and
a sink; at the first node the near end of the tunnel, and programs that are not changed. Measured are the time
from a keystroke in an ssh session until its echo, and the round trip of an MQTT message from a client through
the broker to the same client: first alone, then beside a TCP connection that sends without end.
Needs openssh-server and mosquitto.
"""

from __future__ import annotations

import argparse
import os
import pty
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from real_programs import MULTIHOP, running

TOKEN = "gfw06-sfgfd-tdvxj-48mw9-befah"
SSH, MQTT, SINK = 9022, 1883, 9000
LOCAL = 10000
"""Difference between a port at the last node and its entrance at the first node."""
RADIOS = {
    "802.11b": 'phy = "802.11b"\nrate = "11M"\n',
    "802.11g": 'phy = "802.11g"\nrate = "54M"\n',
}
FILL = 10.0
"""Seconds of the bulk copy before the measurement."""
INTERVAL = 0.1
"""Seconds between two keystrokes, and between two messages."""


def main() -> int:
    """Run the emulation, or what runs inside it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--multihop", type=Path, default=MULTIHOP, help="the command to measure")
    parser.add_argument("--hops", type=int, default=4)
    parser.add_argument("--radio", choices=sorted(RADIOS), default="802.11b")
    parser.add_argument("--seconds", type=float, default=30.0, help="of each measurement")
    parser.add_argument("--seed", type=int, default=1, help="of the simulated network")
    parser.add_argument("--edca", action="store_true", help="radios with access categories")
    parser.add_argument("--without-classes", action="store_true", help="a connection for each flow")
    parser.add_argument("--dscp", action="store_true", help="packets with the DSCP of their class")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="of both ends")
    parser.add_argument("--role", choices=["near", "sink"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.multihop = options.multihop.resolve()
    roles: dict[str | None, Callable[[argparse.Namespace], int]] = {None: emulate, "near": near, "sink": sink}
    return roles[options.role](options)


def emulate(options: argparse.Namespace) -> int:
    """Run everything in an emulation."""
    for program in ("/usr/sbin/sshd", "/usr/sbin/mosquitto"):
        if not Path(program).exists():
            print(f"{program} is missing: install openssh-server and mosquitto", file=sys.stderr)
            return 1
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        own = [sys.executable, str(Path(__file__).resolve()), *sys.argv[1:], "--folder", scratch, "--role"]
        both = arguments(options)
        programs: list[list[object]] = [
            [options.multihop, "tunnel", "--listen", "0.0.0.0", "--allow", "*:*", *both],
            ["/usr/sbin/sshd", "-D", "-e", "-f", str(sshd_config(folder))],
            ["/usr/sbin/mosquitto", "-c", str(mosquitto_config(folder))],
            [*own, "sink"],
        ]
        tables = [f"[[program]]\nnode = {options.hops}\ncommand = '{quoted(words)}'\n" for words in programs]
        scenario = folder / "chain.toml"
        scenario.write_text(
            f"seed = {options.seed}\nduration = {3 * options.seconds + 120}\n"
            f'[topology]\nkind = "chain"\nhops = {options.hops}\n[radio]\n{RADIOS[options.radio]}'
            + ('[mac]\nflavour = "standard"\nedca = true\n' if options.edca else "")
            + "".join(tables)
        )
        words = [str(options.multihop), "emulate", str(scenario), "--", *own, "near"]
        return subprocess.run(words, check=False).returncode


def arguments(options: argparse.Namespace) -> list[str]:
    """Arguments of both ends of the tunnel."""
    keys = [word for pair in options.set for word in ("--set", pair)]
    return ["--token", TOKEN, *(["--transport", "mesh"] if keys else []), *keys] + ["--dscp"] * options.dscp


def quoted(words: list[object]) -> str:
    """A command for the shell."""
    return " ".join(f'"{word}"' for word in words)


def sshd_config(folder: Path) -> Path:
    """Keys of both ends, and a configuration for root with its key."""
    Path("/run/sshd").mkdir(exist_ok=True)
    for name in ("host", "user"):
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(words, check=True)
    shutil.copy(folder / "user.pub", folder / "authorized")
    config = folder / "sshd_config"
    config.write_text(
        f"Port {SSH}\nListenAddress 127.0.0.1\nHostKey {folder}/host\n"
        f"AuthorizedKeysFile {folder}/authorized\nPidFile none\n"
        "StrictModes no\nUsePAM no\nPermitRootLogin yes\n"
    )
    return config


def mosquitto_config(folder: Path) -> Path:
    """A broker for everybody at this node."""
    config = folder / "mosquitto.conf"
    config.write_text(f"listener {MQTT} 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\n")
    return config


def sink(options: argparse.Namespace) -> int:
    """Read everything, and write the number of bytes into a file every 100 ms."""
    total = 0
    with socket.create_server(("127.0.0.1", SINK)) as listener:
        stream, _ = listener.accept()
        count, written = options.folder / "count", time.monotonic()
        while data := stream.recv(65536):
            total += len(data)
            if time.monotonic() - written > 0.1:
                written = time.monotonic()
                (options.folder / "new").write_text(str(total))
                (options.folder / "new").rename(count)
    return 0


def near(options: argparse.Namespace) -> int:
    """Measure alone, then beside the bulk copy."""
    classes = [] if options.without_classes else ["--class", f"{SSH}=0", "--class", f"{MQTT}=1"]
    ports = [("--forward", f"{LOCAL + port}:127.0.0.1:{port}") for port in (SSH, MQTT, SINK)]
    tunnel = [options.multihop, "tunnel", f"node{options.hops}", *(word for pair in ports for word in pair)]
    with running([*tunnel, *classes, *arguments(options)]) as program:
        time.sleep(3)
        assert program.poll() is None, "the near end has ended"
        session, mqtt = Session(options.folder), Mqtt()
        alone = measure(options, session, mqtt)
        stop = threading.Event()
        bulk = threading.Thread(target=fill, args=(stop,))
        bulk.start()
        time.sleep(FILL)
        count = options.folder / "count"
        begin, before = time.monotonic(), int(count.read_text())
        beside = measure(options, session, mqtt)
        kbps = (int(count.read_text()) - before) * 8e-3 / (time.monotonic() - begin)
        stop.set()
    bulk.join()
    named = "a connection for each flow" if options.without_classes else "classes"
    print(f"{options.hops} hops of {options.radio}, {named}: bulk copy {kbps:.0f} kb/s")
    for name in alone:
        pairs = [(one, quantile(alone[name], one), quantile(beside[name], one)) for one in (0.5, 0.99)]
        text = ", ".join(f"{q:.0%} {a:.1f} -> {b:.1f} ms ({b / a:.1f} times)" for q, a, b in pairs)
        print(f"{name}, {len(alone[name])} and {len(beside[name])}: {text}", flush=True)
    return 0


def fill(stop: threading.Event) -> None:
    """Send as bulk data as much as the tunnel takes."""
    block = os.urandom(65536)
    with socket.create_connection(("127.0.0.1", LOCAL + SINK)) as stream:
        stream.settimeout(1)
        while not stop.is_set():
            try:
                stream.send(block)
            except TimeoutError:
                continue
            except OSError:
                return


def measure(options: argparse.Namespace, session: Session, mqtt: Mqtt) -> dict[str, list[float]]:
    """Round trips of keystrokes and messages, ms."""
    times: dict[str, list[float]] = {"ssh": [], "mqtt": []}
    exchanges = {"ssh": session.exchange, "mqtt": mqtt.exchange}

    def repeat(name: str) -> None:
        end = time.monotonic() + options.seconds
        while (begin := time.monotonic()) < end:
            exchanges[name]()
            took = time.monotonic() - begin
            times[name].append(1e3 * took)
            time.sleep(max(0.0, INTERVAL - took))

    threads = [threading.Thread(target=repeat, args=(name,)) for name in times]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times


def quantile(times: list[float], share: float) -> float:
    """A quantile of measured times."""
    return sorted(times)[min(len(times) - 1, int(share * len(times)))]


class Session:
    """An ssh session in a terminal, whose remote terminal echoes."""

    def __init__(self, folder: Path) -> None:
        """Log in with the key of the measurement."""
        self.terminal, own = pty.openpty()
        words = ["ssh", "-tt", "-p", str(LOCAL + SSH), "-i", str(folder / "user"), "-F", "none"]
        words += ["-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-q", "127.0.0.1"]
        self.ssh = subprocess.Popen([*words, "echo ready; cat >/dev/null"], stdin=own, stdout=own, stderr=own)
        os.close(own)
        heard = b""
        while b"ready\r\n" not in heard:
            heard += os.read(self.terminal, 1000)
        self.typed = 0

    def exchange(self) -> None:
        """Type a letter, and wait for its echo; sometimes end the line, which a terminal bounds."""
        self.typed += 1
        os.write(self.terminal, b"x" if self.typed % 100 else b"\n")
        heard = os.read(self.terminal, 10)
        while heard.startswith(b"\r") and not heard.endswith(b"\n"):
            heard += os.read(self.terminal, 10)
        assert heard in (b"x", b"\r\n"), heard


class Mqtt:
    """A client of MQTT 3.1.1 that gets its own messages."""

    def __init__(self) -> None:
        """Connect through the tunnel and subscribe to one topic."""
        self.stream = socket.create_connection(("127.0.0.1", LOCAL + MQTT))
        self.stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.send(0x10, self.text("MQTT") + b"\x04\x02\x00\x00" + self.text("near"))
        assert self.receive()[0] == 0x20, "no CONNACK"
        self.send(0x82, b"\x00\x01" + self.text("t") + b"\x00")
        assert self.receive()[0] == 0x90, "no SUBACK"
        self.sent = 0

    @staticmethod
    def text(text: str) -> bytes:
        """A string with its length."""
        return struct.pack(">H", len(text)) + text.encode()

    def send(self, kind: int, body: bytes) -> None:
        """Send a packet of less than 128 bytes."""
        self.stream.sendall(bytes([kind, len(body)]) + body)

    def receive(self) -> tuple[int, bytes]:
        """Receive a packet of less than 128 bytes."""
        head = self.exactly(2)
        return head[0], self.exactly(head[1])

    def exactly(self, length: int) -> bytes:
        """Receive this many bytes."""
        data = b""
        while len(data) < length:
            part = self.stream.recv(length - len(data))
            assert part, "the broker has closed the connection"
            data += part
        return data

    def exchange(self) -> None:
        """Publish a message of 64 bytes, and wait until it comes back."""
        self.sent += 1
        body = self.text("t") + self.sent.to_bytes(64, "big")
        self.send(0x30, body)
        assert self.receive() == (0x30, body), "another message"


if __name__ == "__main__":
    sys.exit(main())
