"""TPA on real networks: streams for asyncio that behave like asyncio's own, and blocking sockets.

>>> import asyncio
>>> from multihop import net
>>> async def main():
...     async def echo(reader, writer):
...         writer.write(await reader.read())
...         await writer.drain()
...         writer.close()
...
...     server = await net.start_server(echo, "127.0.0.1", 0, security=net.Security.plain())
...     port = server.sockets[0].getsockname()[1]
...     reader, writer = await net.open_connection("127.0.0.1", port, security=net.Security.plain())
...     writer.write(b"hello")
...     writer.write_eof()
...     answer = await reader.read()
...     writer.close()
...     server.close()
...     return answer
>>> asyncio.run(main())
b'hello'
"""

from __future__ import annotations

import asyncio
import select
import socket
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Self

import multihop._core as _core
from multihop.security import Security

__all__ = [
    "Listener",
    "Security",
    "Server",
    "Socket",
    "StreamWriter",
    "connect",
    "listen",
    "new_token",
    "open_connection",
    "start_server",
]

LIMIT = 2**16  # asyncio's default: bytes that a reader buffers
LINGER = 60.0  # seconds that closing waits for the peer, as in libtpa

Address = tuple[str, int]
Connected = Callable[[asyncio.StreamReader, "StreamWriter"], Awaitable[None] | None]


async def open_connection(
    host: str, port: int, *, security: Security, cwnd_max: int | None = None, limit: int = LIMIT
) -> tuple[asyncio.StreamReader, StreamWriter]:
    """Open a connection, like `asyncio.open_connection`."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
    address = str(found[0][4][0])
    opening = _core.tpa_connect(address, port, security, cwnd_max)
    decided = loop.create_future()
    loop.add_reader(opening.fileno(), decided.set_result, None)
    try:
        await decided
    finally:
        loop.remove_reader(opening.fileno())
        opening.cancel()
    return await _streams(opening.result(), limit)


async def start_server(
    client_connected_cb: Connected,
    host: str,
    port: int,
    *,
    security: Security,
    cwnd_max: int | None = None,
    limit: int = LIMIT,
    backlog: int = 100,
) -> Server:
    """Accept connections, like `asyncio.start_server`; the callback may be a coroutine function."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
    address = str(found[0][4][0])
    opening = partial(_core.tpa_listen, address, port, security, cwnd_max, backlog)
    listener = await loop.run_in_executor(None, opening)
    return Server(loop, listener, client_connected_cb, limit)


def connect(
    host: str, port: int, *, security: Security, cwnd_max: int | None = None, timeout: float | None = None
) -> Socket:
    """Open a connection and wait until it is established; raises TimeoutError after `timeout` seconds."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
    opening = _core.tpa_connect(str(found[0][4][0]), port, security, cwnd_max)
    if not select.select([opening], [], [], timeout)[0]:
        raise TimeoutError(f"no connection within {timeout:g} s")
    return Socket(opening.result())


def listen(
    host: str, port: int, *, security: Security, cwnd_max: int | None = None, backlog: int = 100
) -> Listener:
    """Begin to accept connections; `accept` of the result returns them one by one."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
    return Listener(_core.tpa_listen(str(found[0][4][0]), port, security, cwnd_max, backlog))


def new_token() -> str:
    """A secret for `Security.token`, which the other end needs too."""
    return _core.tpa_token()


class Socket(socket.socket):
    """One end of a connection, with the methods of a connected TCP socket."""

    def __init__(self, connection: _core.Connection) -> None:
        super().__init__(fileno=connection.take_descriptor())
        self._connection = connection

    def recv(self, size: int, flags: int = 0) -> bytes:
        """Receive up to `size` bytes, as `socket.recv` does; raises an error if the connection is broken."""
        data = super().recv(size, flags)
        if size and not data:
            self._check()
        return data

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:
        """Receive into a buffer, as `socket.recv_into` does; raises an error if the connection is broken."""
        length = super().recv_into(buffer, nbytes, flags)
        if length == 0:
            self._check()
        return length

    def send(self, data: Any, flags: int = 0) -> int:
        """Send some of the bytes and return their number, as `socket.send` does."""
        try:
            return super().send(data, flags)
        except (BrokenPipeError, ConnectionResetError):
            self._check()
            raise

    def sendall(self, data: Any, flags: int = 0) -> None:
        """Send all bytes, as `socket.sendall` does."""
        try:
            super().sendall(data, flags)
        except (BrokenPipeError, ConnectionResetError):
            self._check()
            raise

    def close(self) -> None:
        """Close the connection and wait until the peer has received all data.

        TPA runs in this process: data that the peer has not received when the process ends is lost.
        """
        was_open = self.fileno() != -1
        super().close()
        if was_open and self.fileno() == -1 and not self._connection.closed(LINGER):
            raise TimeoutError(f"the peer did not receive everything within {LINGER:g} s")

    def getpeername(self) -> Address:
        """The peer's address and port."""
        return self._connection.peer_address()

    def getsockname(self) -> Address:
        """Local address and port of the connection."""
        return self._connection.local_address()

    def stats(self) -> dict[str, Any]:
        """Statistics of the connection."""
        return self._connection.stats()

    def peer_key(self) -> str | None:
        """The authenticated key of the peer."""
        return self._connection.peer_key()

    def _check(self) -> None:
        if error := self._connection.error():
            raise error


class Listener:
    """Accepts connections; `fileno` is readable while one is waiting."""

    def __init__(self, listener: _core.Listener) -> None:
        self._listener = listener

    def accept(self, timeout: float | None = None) -> tuple[Socket, Address]:
        """Wait for the next connection; raises TimeoutError after `timeout` seconds."""
        while select.select([self], [], [], timeout)[0]:
            try:
                connection = self._listener.accept()
            except BlockingIOError:
                continue  # another thread was faster
            return Socket(connection), connection.peer_address()
        raise TimeoutError(f"nobody connected within {timeout:g} s")

    def fileno(self) -> int:
        """A descriptor to poll."""
        return self._listener.fileno()

    def getsockname(self) -> Address:
        """Address and port on which the listener accepts connections."""
        return self._listener.address()

    def close(self) -> None:
        """Stop accepting connections on this address."""
        self._listener.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class StreamWriter(asyncio.StreamWriter):
    """asyncio's StreamWriter, with the addresses and statistics of TPA."""

    def __init__(
        self,
        connection: _core.Connection,
        transport: asyncio.WriteTransport,
        protocol: asyncio.BaseProtocol,
        reader: asyncio.StreamReader,
    ) -> None:
        super().__init__(transport, protocol, reader, asyncio.get_running_loop())
        self._connection = connection

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """`peername` and `sockname` as for TCP, and `peer_key`."""
        known: dict[str, Callable[[], Any]] = {
            "peername": self._connection.peer_address,
            "sockname": self._connection.local_address,
            "peer_key": self._connection.peer_key,
        }
        return known[name]() if name in known else super().get_extra_info(name, default)

    def stats(self) -> dict[str, Any]:
        """Statistics of the connection."""
        return self._connection.stats()

    async def wait_closed(self) -> None:
        """Wait until it is closed and the peer has everything: the protocol ends with the process."""
        await super().wait_closed()
        await asyncio.get_running_loop().run_in_executor(None, self._connection.closed, LINGER)


class Server(asyncio.AbstractServer):
    """The server that `start_server` returns."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, listener: _core.Listener, callback: Connected, limit: int
    ) -> None:
        self._loop, self._listener, self._callback, self._limit = loop, listener, callback, limit
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = loop.create_future()
        self.sockets: tuple[Listener, ...] = (Listener(listener),)
        loop.add_reader(listener.fileno(), self._accept)

    def get_loop(self) -> asyncio.AbstractEventLoop:
        """The event loop of the server."""
        return self._loop

    def is_serving(self) -> bool:
        """Whether the listener accepts connections."""
        return not self._closed.done()

    async def start_serving(self) -> None:
        """Do nothing: the server accepts connections from the start."""

    async def serve_forever(self) -> None:
        """Serve until this is cancelled, then close."""
        try:
            await asyncio.shield(self._closed)
        finally:
            self.close()
            await self.wait_closed()

    def close(self) -> None:
        """Stop accepting connections; existing ones continue."""
        if not self._closed.done():
            self._loop.remove_reader(self._listener.fileno())
            self._listener.close()
            self._closed.set_result(None)
            self.sockets = ()

    async def wait_closed(self) -> None:
        """Wait until it is closed and every connection's coroutine has ended."""
        await asyncio.shield(self._closed)
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _accept(self) -> None:
        try:
            connection = self._listener.accept()
        except BlockingIOError:
            return
        except OSError as error:
            self._loop.call_exception_handler({"message": "the listener failed", "exception": error})
            self.close()
            return
        task = self._loop.create_task(self._serve(connection))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, connection: _core.Connection) -> None:
        reader, writer = await _streams(connection, self._limit)
        try:
            waits = self._callback(reader, writer)
            if waits is not None:
                await waits
        except asyncio.CancelledError:
            writer.transport.abort()
            raise
        except Exception as error:
            message = "unhandled exception in client_connected_cb"
            self._loop.call_exception_handler({"message": message, "exception": error})
            writer.transport.abort()


class _Protocol(asyncio.StreamReaderProtocol):
    """asyncio's StreamReaderProtocol, with the error of a broken connection."""

    def __init__(self, connection: _core.Connection, reader: asyncio.StreamReader) -> None:
        super().__init__(reader, loop=asyncio.get_running_loop())
        self._connection = connection

    def eof_received(self) -> bool | None:
        if self._connection.error() is None:
            return super().eof_received()
        return False  # the transport closes, and connection_lost has the reason

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(self._connection.error() or exc)


async def _streams(connection: _core.Connection, limit: int) -> tuple[asyncio.StreamReader, StreamWriter]:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=limit, loop=loop)
    end = socket.socket(fileno=connection.take_descriptor())
    transport, protocol = await loop.create_connection(lambda: _Protocol(connection, reader), sock=end)
    return reader, StreamWriter(connection, transport, protocol, reader)
