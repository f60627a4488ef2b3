"""Real programs on a simulated radio network, for tests.

>>> from multihop import lab
>>> with lab.chain(hops=2, phy="802.11g") as net:
...     echoes = net[0].run("ping -c 3 -i 0.2 {2}", timeout=20)
...     net.cut(1, 2)
...     assert net[0].start("ping -c 1 -W 1 {2}").wait() != 0

A client of `multihop emulate --control`, with the standard library alone. It needs Linux with user
namespaces, or root.
"""

from __future__ import annotations

import base64
import json
import math
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from multihop._cli import COMMAND

__all__ = [
    "Air",
    "Lab",
    "LabError",
    "Net",
    "Node",
    "NotValidError",
    "Program",
    "ProgramError",
    "Queue",
    "UnavailableError",
    "chain",
    "grid",
    "scenario",
]

Command = str | Sequence[str] | Callable[[], object]
"""A command line for `sh`, or a program with its arguments; `{4}` is node 4's address, `{4:6}` for IPv6.

A function runs in a Python process of its own. It must be at the top of a module that can be imported, and
`functools.partial` gives it arguments.
"""
NodeName = int | str
"""Number or name of a node or host."""


class LabError(Exception):
    """A request that the emulation refuses, or an emulation that has failed."""


class UnavailableError(LabError):
    """The machine does not allow emulations; the message says what to allow."""


class NotValidError(LabError):
    """The emulation was too late for real time: numbers and timeouts of the programs mean nothing."""


class ProgramError(LabError):
    """A program ended with an error, or not in time; the message has its last lines."""


@dataclass
class Lab:
    """Makes networks; its settings hold for all of them."""

    late_limit: float = 0.005
    """Seconds by which 99% of the events and packets may be late; `math.inf` sets no limit."""
    lost_limit: float = 0.01
    """Share of the time that the network may lose because it is late; rates are too low by up to this."""
    virtual_time: bool = False
    """Whether time advances only while all programs wait, so that results are the same in each run."""
    folder: Path = field(default_factory=Path)
    """Folder for captures without a path."""
    record: Path | None = None
    """Prefix of the recordings of all networks: `PREFIX-0.rec`, ... `multihop view` shows them."""
    name: str | None = None
    """Name of the networks in their recordings, by default that of the scenario."""
    recordings: list[Path] = field(default_factory=list)
    """Paths of the recordings of all networks so far."""
    nets: list[Net] = field(default_factory=list)
    """All networks that this object has made."""

    def chain(self, hops: int, phy: str | None = None, spacing: float | None = None, **settings: Any) -> Net:
        """Make a row of `hops + 1` nodes; further settings are those of scenarios.

        Neighbours are `spacing` metres apart: by default two thirds of the range of the slowest rate, so
        that nobody hears the node after the next.
        """
        return self._layout({"kind": "chain", "hops": hops}, phy, spacing, settings)

    def grid(
        self, rows: int, columns: int, phy: str | None = None, spacing: float | None = None, **settings: Any
    ) -> Net:
        """Make rows and columns of nodes, numbered row by row, with the distances of `chain`."""
        return self._layout({"kind": "grid", "rows": rows, "columns": columns}, phy, spacing, settings)

    def scenario(self, source: str | PathLike[str] | Mapping[str, Any]) -> Net:
        """Make the network of a scenario: a file, the name of an example, or a table."""
        if isinstance(source, Mapping):
            return self._net("-", json.dumps(source))
        return self._net(fspath(source), None)

    def _layout(
        self,
        topology: dict[str, Any],
        phy: str | None,
        spacing: float | None,
        settings: Mapping[str, Any],
    ) -> Net:
        table: dict[str, Any] = {"name": "lab", "duration": LONGEST, "mac": {"arp": "queueing"}}
        if phy is not None:
            table["radio"] = {"phy": phy}
        for key, value in settings.items():
            known = table.get(key)
            is_table = isinstance(value, Mapping) and isinstance(known, Mapping)
            table[key] = {**known, **value} if is_table and known is not None else value
        if spacing is None:
            spacing = SPACING * _range(table)
        table["topology"] = {**topology, "spacing": spacing}
        return self.scenario(table)

    def _net(self, file: str, line: str | None) -> Net:
        words = [_command(), "emulate", file, "--control"]
        if self.virtual_time:
            words.append("--virtual-time")
        if self.record is not None:
            path = self.record.with_name(f"{self.record.name}-{len(self.recordings)}.rec")
            self.recordings.append(path)
            words += ["--record", str(path)]
            if self.name is not None:
                words += ["--set", f"name={self.name}"]
        net = Net(self, words, line)
        self.nets.append(net)
        return net


class Net:
    """A running network; it ends with its `with` block, or by `close`."""

    def __init__(self, lab: Lab, words: list[str], line: str | None) -> None:
        self._lab = lab
        self._captures = 0
        self.virtual_time = lab.virtual_time
        """Whether time advances only while all programs wait."""
        self.result: dict[str, Any] | None = None
        """The result of `multihop emulate`, once the network has been closed."""
        self._link = _Link(words, line)
        stations = self._link.ready.result()["stations"]
        self.nodes = [Node(self, number, **station) for number, station in enumerate(stations)]
        """All nodes, then all hosts."""
        self.air = Air(self)
        """Counters of the radios."""

    def __getitem__(self, node: NodeName) -> Node:
        return self.nodes[self._number(node)]

    def __len__(self) -> int:
        return len(self.nodes)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and not isinstance(error, Exception):
            self._end()
            return
        try:
            self.close()
        except NotValidError as verdict:
            raise verdict from error
        except LabError:
            if error is None:
                raise

    def close(self) -> None:
        """End programs and network. Raises `NotValidError` if the network was too late for real time."""
        if self.result is None:
            self._end()
            self._judge()

    def ask(self, request: str, **keys: Any) -> dict[str, Any]:
        """Send a request of `multihop emulate --control` and return its reply."""
        return self._link.ask(request, keys)

    def cut(self, a: NodeName, b: NodeName) -> None:
        """Put a wall between two nodes: they neither hear nor sense each other."""
        self.ask("cut", link=[a, b])

    def mend(self, a: NodeName, b: NodeName) -> None:
        """Remove the wall between two nodes."""
        self.ask("mend", link=[a, b])

    def move(self, node: NodeName, to: tuple[float, float]) -> None:
        """Move a node to a place, in metres. Static routes remain."""
        self.ask("move", node=node, to=list(to))

    def lossy(self, chance: float, link: tuple[NodeName, NodeName] | None = None, of: str = "frames") -> None:
        """Lose frames at random, which the MAC transmits again, or `packets`, which only transports can.

        Without `link`, the chance holds for all links.
        """
        where = {} if link is None else {"link": list(link)}
        self.ask("loss", chance=chance, of=of, **where)

    def freeze(self, node: NodeName) -> None:
        """Stop a node: its radio is silent, its programs stand still."""
        self.ask("freeze", node=node)

    def thaw(self, node: NodeName) -> None:
        """Let a frozen node go on."""
        self.ask("thaw", node=node)

    def kill(self, program: Program) -> None:
        """Kill a program and its children by SIGKILL."""
        program.signal("KILL")

    def queue(self, node: NodeName) -> Queue:
        """Interface queue of a node."""
        return Queue(self, node)

    def capture(self, path: str | PathLike[str] | None = None) -> Path:
        """Write all frames from now on into a file for Wireshark (pcapng); returns its path."""
        if path is None:
            path = self._lab.folder / f"capture-{self._captures}.pcapng"
            self._captures += 1
        place = Path(path).absolute()
        self.ask("capture", file=str(place))
        return place

    def time(self) -> float:
        """Virtual time of the network, in seconds."""
        return float(self.ask("status")["time"])

    def _end(self) -> None:
        self.result = self._link.end()

    def _judge(self) -> None:
        assert self.result is not None
        emulation = self.result["emulation"]
        limit, allowed = 1e3 * self._lab.late_limit, self._lab.lost_limit
        reasons = [
            f"99% of the {what} were up to {late['p99']:.1f} ms late (at most {late['max']:.1f} ms), "
            f"allowed: {limit:g} ms"
            for what in ("events", "packets")
            if (late := emulation[LATENESS[what]]) is not None and late["p99"] > limit
        ]
        if emulation["lost_share"] > allowed and not math.isinf(limit):
            lost = 100 * emulation["lost_share"]
            reasons.append(f"{lost:.1f}% of the time was lost, allowed: {100 * allowed:g}%")
        if reasons:
            raise NotValidError(f"not valid: the emulation was too late for real time: {'; '.join(reasons)}")

    def _number(self, node: NodeName) -> int:
        names = [known.name for known in self.nodes]
        if isinstance(node, str) and node in names:
            return names.index(node)
        if isinstance(node, int) and 0 <= node < len(names):
            return node
        raise LabError(
            f"found node {node!r}, allowed: 0 to {len(names) - 1}, or a name: {', '.join(names[:20])}"
        )


@dataclass(frozen=True)
class Node:
    """A node or host, whose programs see only its network."""

    net: Net = field(repr=False)
    number: int
    name: str
    address: str
    """IPv4 address of the node inside the network."""
    address6: str
    """IPv6 address of the node inside the network."""

    def start(
        self,
        command: Command | None = None,
        *,
        image: str | PathLike[str] | None = None,
        environment: Mapping[str, str] | None = None,
        directory: str | PathLike[str] | None = None,
        listens: int | None = None,
    ) -> Program:
        """Start a program. With `listens`, wait until a socket of the node has this TCP or UDP port.

        With `image`, the program runs in a copy of a container's image: a folder with an OCI image layout, or
        with the root of a system. Without a command, the image's own program starts.
        """
        keys: dict[str, Any] = {"node": self.number}
        if isinstance(command, str):
            keys["command"] = _filled(self.net, command)
        elif callable(command):
            keys["command"] = _call(command)
        elif command is not None:
            keys["command"] = [_filled(self.net, word) for word in command]
        if image is not None:
            keys["image"] = str(Path(image).absolute())
        if environment is not None:
            keys["environment"] = dict(environment)
        if directory is not None:
            keys["directory"] = fspath(directory)
        started = self.net.ask("start", **keys)
        shown = str(command) if callable(command) else keys.get("command", keys.get("image", ""))
        program = Program(self, shown, started["program"], started["pid"])
        if listens is not None:
            program.wait_until_listening(listens)
        return program

    def run(
        self,
        command: Command | None = None,
        *,
        timeout: float = 60.0,
        image: str | PathLike[str] | None = None,
        environment: Mapping[str, str] | None = None,
        directory: str | PathLike[str] | None = None,
    ) -> str:
        """Run a program to its end and return its output.

        Raises `ProgramError`, with the last lines, if the exit code is not zero or the program takes longer
        than `timeout` seconds; then it is killed.
        """
        program = self.start(command, image=image, environment=environment, directory=directory)
        try:
            code = program.wait(timeout)
        except TimeoutError:
            program.signal("KILL")
            raise ProgramError(program.failure(f"has not ended after {timeout:g} s")) from None
        if code != 0:
            raise ProgramError(program.failure(f"ended with {_ending(code)}"))
        return program.output()


@dataclass(frozen=True)
class Program:
    """A program that was started at a node."""

    node: Node
    command: str | Sequence[str]
    number: int
    pid: int | None
    """Process number on this machine, of a program that has not ended at its start."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end, and return the exit code, or minus the signal that ended the program.

        Raises `TimeoutError` after so many seconds of virtual time.
        """
        ended = self._ask("wait", timeout=timeout)
        if not ended["ended"]:
            raise TimeoutError(f"{self._shown()} has not ended after {timeout:g} s")
        return int(-ended["signal"] if ended["exit_code"] is None else ended["exit_code"])

    def is_running(self) -> bool:
        """Whether the program has not ended."""
        return not self._ask("wait", timeout=0)["ended"]

    def output(self) -> str:
        """Everything on standard output so far; of more than 4 MB, the newest part."""
        return self._text("stdout", 0)

    def errors(self) -> str:
        """Everything on standard error so far; of more than 4 MB, the newest part."""
        return self._text("stderr", 0)

    def signal(self, name: str) -> None:
        """Send a signal, such as `TERM` or `KILL`, to the program and its children."""
        self._ask("signal", signal=name)

    def kill(self) -> None:
        """Kill the program and its children by SIGKILL."""
        self.signal("KILL")

    def terminate(self) -> None:
        """Ask the program and its children to end, by SIGTERM."""
        self.signal("TERM")

    def wait_until_listening(self, port: int, timeout: float = 10.0) -> None:
        """Wait until a socket of the node has a local TCP or UDP port, for at most `timeout` seconds."""
        end = self._now() + timeout
        while port not in self._listening():
            if not self.is_running():
                raise ProgramError(self.failure(f"ended before port {port} was open"))
            if self._now() > end:
                raise ProgramError(self.failure(f"has not opened port {port} in {timeout:g} s"))
            self._rest(0.01)

    def _listening(self) -> set[int]:
        if self.node.net.virtual_time:
            return set(self.node.net.ask("ports", node=self.node.number)["open"])
        return _listening(self.pid)

    def _now(self) -> float:
        return self.node.net.time() if self.node.net.virtual_time else time.monotonic()

    def _rest(self, seconds: float) -> None:
        if self.node.net.virtual_time:
            self._ask("wait", timeout=seconds)
        else:
            time.sleep(seconds)

    def failure(self, what: str) -> str:
        """Text of an error, with the last lines of the program."""
        both = "".join(self._text(stream, -LAST_BYTES) for stream in ("stdout", "stderr"))
        lines = both.splitlines()[-LAST_LINES:]
        return "\n".join([f"{self._shown()} {what}" + ("; its last lines:" if lines else ""), *lines])

    def _shown(self) -> str:
        words = self.command if isinstance(self.command, str) else " ".join(self.command)
        return f"{words!r} at {self.node.name}"

    def _text(self, stream: str, start: int) -> str:
        pieces = []
        while True:
            piece = self._ask("output", stream=stream, **{"from": start})
            pieces.append(piece["text"])
            start = piece["next"]
            if start >= piece["end"]:
                return "".join(pieces)

    def _ask(self, request: str, **keys: Any) -> dict[str, Any]:
        return self.node.net.ask(request, program=self.number, **keys)


@dataclass(frozen=True)
class Queue:
    """Interface queue of a node."""

    net: Net = field(repr=False)
    node: NodeName

    def now(self) -> int:
        """Number of packets that wait now."""
        return int(self.net.air.counters(self.node)["queue"])

    def max(self) -> int:
        """Largest number of packets that have waited so far."""
        return int(self.net.air.counters(self.node)["longest_queue"])

    def drops(self) -> int:
        """Number of packets that were dropped because the queue was full."""
        return int(self.net.air.counters(self.node)["queue_drops"])


@dataclass(frozen=True)
class Air:
    """Counters of the radios, since the start."""

    net: Net = field(repr=False)

    def counters(self, node: NodeName) -> dict[str, Any]:
        """All counters of a node, as the reply to the request `counters` has them."""
        return self.net.ask("counters", node=node)

    def retries(self, node: NodeName, to: NodeName | None = None) -> int:
        """Retries of a node, to one neighbour or to all."""
        return self._sum("retries", node, to)

    def delivered(self, node: NodeName, to: NodeName | None = None) -> int:
        """Packets that a node's neighbours acknowledged."""
        return self._sum("delivered", node, to)

    def dropped(self, node: NodeName, to: NodeName | None = None) -> int:
        """Packets that the MAC of a node gave up."""
        return self._sum("dropped", node, to)

    def _sum(self, counter: str, node: NodeName, to: NodeName | None) -> int:
        neighbour = None if to is None else self.net[to].number
        links = self.counters(node)["links"]
        return sum(int(link[counter]) for link in links if neighbour in (None, link["to"]))


class _Link:
    """Requests to the command, and the replies, which a thread reads."""

    def __init__(self, words: list[str], line: str | None) -> None:
        self.ready: Future[dict[str, Any]] = Future()
        self._result: Future[dict[str, Any]] = Future()
        self._replies: dict[int, Future[dict[str, Any]]] = {}
        self._lock = threading.Lock()
        self._last = 0
        self._ended: LabError | None = None
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        try:
            self._process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors
            )
        except OSError as error:
            self._errors.close()
            raise LabError(_unusable(words[0], error)) from None
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        try:
            if line is not None:
                self._write(line)
            self.ready.result()
        except BaseException:
            self._stop()
            raise

    def ask(self, request: str, keys: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request and wait for its reply."""
        reply: Future[dict[str, Any]] = Future()
        with self._lock:
            self._last += 1
            number = self._last
            self._replies[number] = reply
            if self._ended is not None:
                raise self._ended
        self._write(json.dumps({"id": number, "do": request, **keys}))
        return reply.result()

    def end(self) -> dict[str, Any]:
        """End the emulation and return its result."""
        self._stop()
        return self._result.result()

    def _write(self, line: str) -> None:
        assert self._process.stdin is not None
        # A closed pipe: the thread that reads finds the reason.
        with self._lock, suppress(OSError, ValueError):
            self._process.stdin.write(f"{line}\n".encode())
            self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with suppress(ValueError, OSError):
            for line in self._process.stdout:
                self._note(json.loads(line))
        self._process.wait()
        self._fail()

    def _note(self, message: dict[str, Any]) -> None:
        match message:
            case {"event": "ready"}:
                self.ready.set_result(message)
            case {"event": "result"}:
                self._result.set_result(message["result"])
            case {"id": number, "ok": result}:
                self._take(number).set_result(result)
            case {"id": number, "error": error}:
                self._take(number).set_exception(LabError(error))

    def _take(self, number: int) -> Future[dict[str, Any]]:
        with self._lock:
            return self._replies.pop(number)

    def _fail(self) -> None:
        """Tell everybody who waits that nothing comes any more."""
        self._errors.seek(0)
        reason = self._errors.read().decode(errors="replace").strip().removeprefix("multihop: ")
        error = LabError(reason or "the emulation has ended")
        if any(text in reason for text in REFUSALS):
            error = UnavailableError(f"this machine allows no emulation: {reason}")
        with self._lock:
            self._ended = error
        for future in [self.ready, self._result, *self._replies.values()]:
            if not future.done():
                future.set_exception(error)

    def _stop(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._lock, suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._reader.join()
        self._process.stdout.close()
        self._errors.close()


def chain(
    hops: int,
    phy: str | None = None,
    spacing: float | None = None,
    *,
    virtual_time: bool = False,
    **settings: Any,
) -> Net:
    """Make a row of `hops + 1` nodes; further settings are those of scenarios.

    The network is that of `Lab.chain` with default limits.
    """
    return Lab(virtual_time=virtual_time).chain(hops, phy, spacing, **settings)


def grid(
    rows: int,
    columns: int,
    phy: str | None = None,
    spacing: float | None = None,
    *,
    virtual_time: bool = False,
    **settings: Any,
) -> Net:
    """Make rows and columns of nodes, numbered row by row, with the distances of `chain`."""
    return Lab(virtual_time=virtual_time).grid(rows, columns, phy, spacing, **settings)


def scenario(source: str | PathLike[str] | Mapping[str, Any], *, virtual_time: bool = False) -> Net:
    """Make the network of a scenario: a file, the name of an example, or a table."""
    return Lab(virtual_time=virtual_time).scenario(source)


def _command() -> str:
    """The command: that in the variable MULTIHOP, that of the package, or that on the path."""
    if named := os.environ.get("MULTIHOP"):
        return named
    if Path(COMMAND).exists():
        return COMMAND
    return shutil.which("multihop") or COMMAND


def _unusable(command: str, error: OSError) -> str:
    """Error message for a command that cannot run."""
    return f"cannot run {command}: {error.strerror}; set MULTIHOP to the path of the command multihop"


def _range(table: Mapping[str, Any]) -> float:
    """Range of the slowest rate of a scenario's radio, in metres."""
    pair = {**table, "topology": {"kind": "chain", "hops": 1}, "flow": [{"transport": "newreno"}]}
    words = [_command(), "check", "-"]
    try:
        done = subprocess.run(words, input=json.dumps(pair), capture_output=True, text=True, check=False)
    except OSError as error:
        raise LabError(_unusable(words[0], error)) from None
    found = re.search(r"reaches (\d+) m", done.stdout + done.stderr)
    if found is None:
        raise LabError(done.stderr.strip().removeprefix("multihop: ") or "the scenario has no range")
    return float(found[1])


def _filled(net: Net, text: str) -> str:
    """Replace `{4}` by the address of node 4, and `{4:6}` by its IPv6 address."""
    known = {str(node.number): node for node in net.nodes} | {node.name: node for node in net.nodes}

    def address(found: re.Match[str]) -> str:
        node = known.get(found[1])
        if node is None:
            return found[0]
        return node.address6 if found[2] else node.address

    return re.sub(r"\{([\w.-]+)(:6)?\}", address, text)


def _call(function: Callable[[], object]) -> list[str]:
    """Command that calls a function in a new Python process with the module path of this one."""
    try:
        text = base64.b64encode(pickle.dumps(function)).decode()
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise LabError(f"found {function!r}, allowed: a function at the top of a module ({error})") from None
    return [sys.executable, "-c", CALL, text, *sys.path]


def _listening(pid: int | None) -> set[int]:
    """Local ports of the sockets in the network of a process: TCP sockets that listen, and UDP sockets."""
    ports = set()
    for kind in ("tcp", "tcp6", "udp", "udp6"):
        with suppress(OSError):
            for line in Path(f"/proc/{pid}/net/{kind}").read_text().splitlines()[1:]:
                _, local, _, state, *_ = line.split()
                if kind.startswith("udp") or state == LISTEN:
                    ports.add(int(local.rpartition(":")[2], 16))
    return ports


def _ending(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"signal {-code}"


CALL = "import base64, pickle, sys; sys.path[:] = sys.argv[2:]; pickle.loads(base64.b64decode(sys.argv[1]))()"
"""Program that calls a function."""
SPACING = 2 / 3
"""Distance of neighbours, in ranges of the slowest rate: nobody hears the node after the next."""
LONGEST = 86_400.0
"""Duration of a network that nobody closes, s."""
LATENESS = {"events": "wakeups_late_ms", "packets": "deliveries_late_ms"}
"""Keys of the result with the lateness of the network."""
LAST_LINES = 20
LAST_BYTES = 4000
PATIENCE = 30.0
"""Seconds for the end of the programs and of the network."""
LISTEN = "0A"
"""State of a listening TCP socket in Linux (`TCP_LISTEN`)."""
REFUSALS = (
    "cannot make a network namespace",
    "cannot make a TUN interface",
    "cannot become root",
    "cannot make a PID",
)
"""Beginnings of the command's messages on machines that do not allow emulations."""
