"""multihop.net: streams that behave like asyncio's, and sockets that wait."""

import asyncio
import contextlib
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
import tpa_peer

from multihop import net

PLAIN = net.Security.plain()
TOKEN = net.Security.token(net.new_token())
DATA = bytes(range(256)) * 1000
COMMAND = Path(sys.executable).with_name("multihop")


def run(main: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(main, 20))


async def echo(reader: asyncio.StreamReader, writer: net.StreamWriter) -> None:
    while data := await reader.read(5000):
        writer.write(data)
        await writer.drain()
    writer.close()


def test_an_echo_server_for_many_clients() -> None:
    async def main() -> None:
        async with await net.start_server(echo, "127.0.0.1", 0, security=PLAIN) as server:
            port = server.sockets[0].getsockname()[1]

            async def client(number: int) -> None:
                reader, writer = await net.open_connection("127.0.0.1", port, security=PLAIN)
                assert writer.get_extra_info("peername") == ("127.0.0.1", port)
                data = bytes([number]) * 50_000
                writer.write(data)
                writer.write_eof()
                assert await reader.readexactly(len(data)) == data
                assert await reader.read() == b""
                assert writer.stats()["bytes_sent"] == len(data)
                writer.close()
                await writer.wait_closed()

            await asyncio.gather(*(client(number) for number in range(5)))

    run(main())


def test_who_knows_the_token_may_connect() -> None:
    async def main() -> None:
        async with await net.start_server(echo, "::1", 0, security=TOKEN) as server:
            port = server.sockets[0].getsockname()[1]
            reader, writer = await net.open_connection("::1", port, security=TOKEN)
            writer.write(b"secret")
            writer.write_eof()
            assert await reader.read() == b"secret"
            writer.close()
            other = net.Security.token(net.new_token())
            with pytest.raises((OSError, asyncio.TimeoutError)):
                await asyncio.wait_for(net.open_connection("::1", port, security=other), 1)

    run(main())


def test_lines_and_what_a_callback_does_wrong() -> None:
    async def main() -> None:
        problems: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, problem: problems.append(problem))

        async def stumble(reader: asyncio.StreamReader, writer: net.StreamWriter) -> None:
            writer.write((await reader.readline()).upper())
            await writer.drain()
            await reader.readline()
            raise RuntimeError("stumbled")

        server = await net.start_server(stumble, "127.0.0.1", 0, security=PLAIN)
        port = server.sockets[0].getsockname()[1]
        reader, writer = await net.open_connection("127.0.0.1", port, security=PLAIN)
        writer.write(b"first\n")
        assert await reader.readline() == b"FIRST\n"
        writer.write(b"second\n")
        assert await reader.read() == b""
        assert str(problems[0]["exception"]) == "stumbled"
        writer.close()
        server.close()
        await server.wait_closed()
        assert not server.is_serving()

    run(main())


def test_a_writer_that_nobody_reads_waits_in_drain() -> None:
    async def main() -> None:
        async def never(_: asyncio.StreamReader, writer: net.StreamWriter) -> None:
            await asyncio.sleep(1)
            writer.transport.abort()

        server = await net.start_server(never, "127.0.0.1", 0, security=PLAIN)
        port = server.sockets[0].getsockname()[1]
        _, writer = await net.open_connection("127.0.0.1", port, security=PLAIN)
        writer.write(bytes(10_000_000))
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(writer.drain(), 0.5)
        writer.transport.abort()
        server.close()
        await server.wait_closed()

    run(main())


def test_security_must_be_chosen_and_agree() -> None:
    with pytest.raises(PermissionError, match="no security mode"):
        net.connect("127.0.0.1", 9, security=net.Security())
    with pytest.raises(OSError, match="token"):
        net.connect("127.0.0.1", 9, security=net.Security.token("no token"))
    with pytest.raises(ValueError, match="cwnd_max is 13"):
        net.connect("127.0.0.1", 9, security=PLAIN, cwnd_max=13)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Private keys of a listener, a caller and a stranger, and two shared keys."""
    files: dict[str, list[str]] = {
        "listener": [],
        "caller": [],
        "stranger": [],
        "shared": ["--shared"],
        "other": ["--shared"],
    }
    for name, options in files.items():
        subprocess.run([COMMAND, "keygen", *options, tmp_path / name], check=True, capture_output=True)
    return tmp_path


def public_key(file: Path) -> str:
    found = re.search("tpa-public-[0-9a-z]{56}", file.read_text())
    assert found
    return found[0]


def test_strict_callers_shared_keys_and_silent_listeners(folder: Path) -> None:
    authorized = folder / "authorized_keys"
    authorized.write_text(public_key(folder / "caller") + "\n")

    def listening(silent: bool) -> net.Listener:
        security = net.Security.keys(
            folder / "listener", authorized_keys=authorized, shared_key=folder / "shared", silent=silent
        )
        return net.listen("127.0.0.1", 0, security=security)

    def call(listener: net.Listener, who: str, shared: str, timeout: float = 10, **known: Any) -> None:
        known = known or {"peer": public_key(folder / "listener")}
        security = net.Security.keys(folder / who, shared_key=folder / shared, **known)
        net.connect(*listener.getsockname(), security=security, timeout=timeout).close()

    with listening(silent=False) as listener:
        call(listener, "caller", "shared")
        with pytest.raises(PermissionError, match="does not accept"):
            call(listener, "stranger", "shared")
        with pytest.raises(ConnectionRefusedError, match="another shared key"):
            call(listener, "caller", "other")
        with pytest.raises(PermissionError, match="first contacts are refused"):
            call(listener, "caller", "shared", known_peers=folder / "known", strict=True)
        call(listener, "caller", "shared", known_peers=folder / "known")
        call(listener, "caller", "shared", known_peers=folder / "known", strict=True)
    with listening(silent=True) as listener:
        call(listener, "caller", "shared")
        for who, shared in [("stranger", "shared"), ("caller", "other")]:
            with pytest.raises(TimeoutError):
                call(listener, who, shared, timeout=2)  # a refusal would count after 1 s


def test_a_listener_with_a_token_can_be_silent() -> None:
    security = net.Security.token(net.new_token(), silent=True)
    with net.listen("127.0.0.1", 0, security=security) as listener:
        net.connect(*listener.getsockname(), security=security, timeout=5).close()
        with pytest.raises(TimeoutError):
            net.connect(*listener.getsockname(), security=TOKEN, timeout=1)


@contextlib.contextmanager
def in_thread(function: Callable[[], None]) -> Iterator[None]:
    thread = threading.Thread(target=function)
    thread.start()
    yield
    thread.join(20)
    assert not thread.is_alive()


def test_nobody_listens() -> None:
    with net.listen("127.0.0.1", 0, security=PLAIN) as listener:
        address = listener.getsockname()
    with pytest.raises(ConnectionRefusedError, match="refused"):
        net.connect(*address, security=PLAIN, timeout=5)


def test_blocking_sockets() -> None:
    with net.listen("127.0.0.1", 0, security=PLAIN) as listener:
        with pytest.raises(TimeoutError):
            listener.accept(0.01)

        def serve() -> None:
            accepted, _ = listener.accept(10)
            with accepted, accepted.makefile("rwb") as file:
                file.write(file.read(len(DATA)))

        with in_thread(serve), net.connect(*listener.getsockname(), security=PLAIN) as caller:
            caller.settimeout(10)
            caller.sendall(DATA)
            caller.shutdown(socket.SHUT_WR)
            assert caller.getpeername() == listener.getsockname()
            assert b"".join(iter(lambda: caller.recv(5000), b"")) == DATA


def test_the_second_implementation_calls() -> None:
    with net.listen("127.0.0.1", 0, security=PLAIN) as listener:

        def serve() -> None:
            accepted, _ = listener.accept(10)
            with accepted, accepted.makefile("rb") as file:
                accepted.sendall(file.read()[::-1])

        with in_thread(serve), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            caller = tpa_peer.Connection(DATA, caller=True)
            udp.bind(("127.0.0.1", 0))
            assert tpa_peer.run(caller, udp, listener.getsockname(), 15) == DATA[::-1]


def test_the_second_implementation_is_called() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.bind(("127.0.0.1", 0))

        def call() -> None:
            with net.connect(*udp.getsockname(), security=PLAIN, cwnd_max=12) as caller:
                caller.sendall(DATA)
                caller.shutdown(socket.SHUT_WR)
                assert b"".join(iter(lambda: caller.recv(5000), b"")) == DATA[:10_000]

        with in_thread(call):
            listener = tpa_peer.Connection(DATA[:10_000], caller=False)
            assert tpa_peer.run(listener, udp, None, 15) == DATA
