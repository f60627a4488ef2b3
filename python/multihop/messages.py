"""Messages by priority and with deadlines between hosts: channels of `mesh`, for asyncio.

>>> import asyncio
>>> from multihop import messages
>>> async def main():
...     async def vehicle(connection):
...         async for channel in connection:
...             async for message in channel:
...                 await channel.send(message.data.upper())
...
...     security = messages.Security.plain()
...     async with await messages.serve(vehicle, "127.0.0.1", 0, security=security) as server:
...         async with await messages.connect(*server.address, security=security) as connection:
...             commands = connection.channel("commands", priority=0)
...             await commands.send(b"arm")
...             return (await commands.receive()).data
>>> asyncio.run(main())
b'ARM'
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import multihop._core as _core
from multihop.security import Security

__all__ = ["Channel", "Connection", "Message", "Security", "Server", "connect", "serve"]

LONGEST = 64 * 2**20
"""Bytes of the longest message that a channel puts together in memory."""

Connected = Callable[["Connection"], Awaitable[None]]
_Begin = Callable[[Callable[[Any, BaseException | None], None]], None]
"""Begins a call in another thread, which passes its value or its error to a function."""


@dataclass(frozen=True)
class Message:
    """A message that has arrived."""

    data: bytes
    number: int
    """Number of the message in its direction of the channel, from 0."""
    missed: int = 0
    """Messages before this one that the sender gave up because of their deadline."""
    is_late: bool = False
    """Whether the deadline had passed, as far as the receiver can judge."""


class Channel:
    """Messages in both directions. Iterate over it asynchronously, or call `receive`."""

    def __init__(self, channel: _core.MessageChannel) -> None:
        self._channel = channel
        self._receiving = _Repeated(channel.receive)
        self._parts = bytearray()
        self._missed = 0
        self.name, self.priority, self.deadline, self.is_ordered = channel.options()

    async def send(self, message: bytes) -> int:
        """Queue a message and return its number; waits while the channel is full."""
        return int(await _answer(lambda decide: self._channel.send(message, decide)))

    async def receive(self) -> Message | None:
        """Wait for the next message; `None` after the other end has closed.

        A cancelled call loses no message. One task at a time may receive.
        """
        while True:
            delivery = await self._receiving.next()
            if delivery is None:
                return None
            if message := self._add(*delivery):
                return message

    def _add(self, number: int, data: bytes | None, gap: int, is_last: bool, is_late: bool) -> Message | None:
        """Add a delivery to the parts of a message; returns the message if it is whole."""
        if data is None:
            self._parts.clear()
            self._missed += gap
            return None
        self._parts += data
        if len(self._parts) > LONGEST:
            raise ValueError(f"a message is longer than {LONGEST} bytes")
        if not is_last:
            return None
        message = Message(bytes(self._parts), number, self._missed, is_late)
        self._parts.clear()
        self._missed = 0
        return message

    @property
    def counters(self) -> dict[str, int]:
        """Messages `sent`, `given_up` because of their deadline, `delivered`, `late`, and `missed`."""
        return self._channel.counters()

    async def __aiter__(self) -> AsyncIterator[Message]:
        while (message := await self.receive()) is not None:
            yield message


class Connection:
    """A connection with channels. Iterate over it asynchronously for channels that the other end opens."""

    def __init__(self, connection: _core.MessageConnection) -> None:
        self._connection = connection
        self._accepting = _Repeated(connection.accept)

    def channel(
        self, name: str = "", *, priority: int = 3, deadline: float | None = None, is_ordered: bool = True
    ) -> Channel:
        """Open a channel, which both ends can use.

        Messages of class 0 leave first, those of class 7 last. A message that cannot arrive within `deadline`
        seconds is given up.
        """
        return Channel(self._connection.open(name, priority, deadline, is_ordered))

    async def accept(self) -> Channel | None:
        """Wait for a channel that the other end opens; `None` after it has closed the connection."""
        found = await self._accepting.next()
        return None if found is None else Channel(found)

    async def close(self) -> None:
        """Close this side, and wait until the other end has everything."""
        await _answer(self._connection.finish)

    def abort(self) -> None:
        """End the connection now, with a reset to the other end; waiting calls fail."""
        self._connection.abort()

    @property
    def peer(self) -> tuple[str, int]:
        """Address and port of the other end."""
        return self._connection.peer_address()

    async def __aiter__(self) -> AsyncIterator[Channel]:
        while (channel := await self.accept()) is not None:
            yield channel

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            await self.close()
        else:
            self.abort()


class Server:
    """The server that `serve` returns."""

    def __init__(self, listener: _core.MessageListener, callback: Connected) -> None:
        self._listener, self._callback = listener, callback
        self._tasks: set[asyncio.Task[None]] = set()
        self._accepting = asyncio.create_task(self._accept())

    @property
    def address(self) -> tuple[str, int]:
        """Address and port on which the server accepts connections."""
        return self._listener.address()

    async def close(self) -> None:
        """Accept no more connections, and cancel what serves those that exist."""
        self._listener.close()
        for task in (self._accepting, *self._tasks):
            task.cancel()
        await asyncio.gather(self._accepting, *self._tasks, return_exceptions=True)

    async def _accept(self) -> None:
        while True:
            connection = Connection(await _answer(self._listener.accept))
            task = asyncio.create_task(self._serve(connection))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _serve(self, connection: Connection) -> None:
        try:
            await self._callback(connection)
            await connection.close()
        except Exception as error:
            connection.abort()
            problem = {"message": "unhandled exception while serving a connection", "exception": error}
            asyncio.get_running_loop().call_exception_handler(problem)
        except asyncio.CancelledError:
            connection.abort()
            raise

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


async def connect(host: str, port: int, *, security: Security) -> Connection:
    """Open a connection with channels to a server."""
    address = await _resolve(host, port)
    return Connection(await _answer(lambda decide: _core.messages_connect(address, port, security, decide)))


async def serve(callback: Connected, host: str, port: int, *, security: Security) -> Server:
    """Accept connections with channels; `callback` is called with each, in a task of its own."""
    address = await _resolve(host, port)
    listener = await _answer(lambda decide: _core.messages_listen(address, port, security, decide))
    return Server(listener, callback)


async def _resolve(host: str, port: int) -> str:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_DGRAM)
    return str(found[0][4][0])


class _Repeated:
    """A call that is made again and again. A cancelled wait leaves its answer for the next one."""

    def __init__(self, begin: _Begin) -> None:
        self._begin = begin
        self._pending: asyncio.Future[Any] | None = None

    async def next(self) -> Any:
        """Wait for the next answer."""
        self._pending = self._pending or _answer(self._begin)
        try:
            return await asyncio.shield(self._pending)
        finally:
            if self._pending.done():
                self._pending = None


def _answer(begin: _Begin) -> asyncio.Future[Any]:
    """Begin a call whose answer comes from another thread."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def decide(value: Any, error: BaseException | None) -> None:
        with contextlib.suppress(RuntimeError):  # the loop was closed before
            loop.call_soon_threadsafe(_decided, future, value, error)

    begin(decide)
    return future


def _decided(future: asyncio.Future[Any], value: Any, error: BaseException | None) -> None:
    if future.cancelled():
        return
    if error is None:
        future.set_result(value)
    else:
        future.set_exception(error)
