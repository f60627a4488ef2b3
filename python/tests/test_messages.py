"""Channels of messages between asyncio programs on this host."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from multihop import messages
from multihop.messages import Channel, Connection, Security

PLAIN = Security.plain()
LIMIT = 60.0


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def limited() -> None:
        await asyncio.wait_for(test(), LIMIT)

    asyncio.run(limited())


async def echo(connection: Connection) -> None:
    async def answer(channel: Channel) -> None:
        async for message in channel:
            await channel.send(message.data)

    async with asyncio.TaskGroup() as tasks:
        async for channel in connection:
            tasks.create_task(answer(channel))


def test_messages_of_several_channels_are_answered() -> None:
    async def test() -> None:
        async with (
            await messages.serve(echo, "127.0.0.1", 0, security=PLAIN) as server,
            await messages.connect(*server.address, security=PLAIN) as connection,
        ):
            commands = connection.channel("commands", priority=0)
            images = connection.channel("images", priority=5, is_ordered=False)
            image = bytes(range(256)) * 4000
            sent = asyncio.create_task(images.send(image))
            for number in range(5):
                assert await commands.send(b"arm") == number
                answer = await commands.receive()
                assert answer == messages.Message(b"arm", number)
            await sent
            answer = await images.receive()
            assert answer is not None
            assert answer.data == image
            assert (commands.counters["sent"], commands.counters["delivered"]) == (5, 5)

    run(test)


def test_the_peer_sees_options_and_the_end() -> None:
    seen: list[tuple[str, int, float | None, bool]] = []

    async def look(connection: Connection) -> None:
        async for channel in connection:
            seen.append((channel.name, channel.priority, channel.deadline, channel.is_ordered))

    async def test() -> None:
        async with await messages.serve(look, "127.0.0.1", 0, security=PLAIN) as server:
            async with await messages.connect(*server.address, security=PLAIN) as connection:
                channel = connection.channel("telemetry", priority=1, deadline=0.2, is_ordered=False)
                await channel.send(b"")
            assert await channel.receive() is None

    run(test)
    assert seen == [("telemetry", 1, 0.2, False)]


def test_a_cancelled_receive_loses_nothing() -> None:
    async def test() -> None:
        async with (
            await messages.serve(echo, "127.0.0.1", 0, security=PLAIN) as server,
            await messages.connect(*server.address, security=PLAIN) as connection,
        ):
            channel = connection.channel()
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(channel.receive(), 0.05)
            await channel.send(b"first")
            await asyncio.sleep(0.2)
            answer = await channel.receive()
            assert answer is not None
            assert answer.data == b"first"

    run(test)


def test_errors_name_the_reason() -> None:
    async def test() -> None:
        async with await messages.serve(echo, "127.0.0.1", 0, security=PLAIN) as server:
            connection = await messages.connect(*server.address, security=PLAIN)
            with pytest.raises(OSError, match="priority is 8, allowed: 0 to 7"):
                connection.channel(priority=8)
            with pytest.raises(OSError, match="allowed: 1 ms to 1 day"):
                connection.channel(deadline=0.0)
            with pytest.raises(ValueError, match="deadline"):
                connection.channel(deadline=-1.0)
            channel = connection.channel()
            connection.abort()
            with pytest.raises(ConnectionError):
                await channel.receive()
            with pytest.raises(ConnectionError):
                await connection.accept()
            host, port = server.address
        with pytest.raises(ConnectionRefusedError):
            await messages.connect(host, port, security=PLAIN)

    run(test)


def test_a_gap_is_counted_in_the_next_message() -> None:
    channel = object.__new__(Channel)
    channel._parts, channel._missed = bytearray(), 0
    assert channel._add(0, b"ab", 0, False, False) is None
    assert channel._add(0, None, 3, True, False) is None
    assert channel._add(3, b"c", 0, True, True) == messages.Message(b"c", 3, 3, True)
