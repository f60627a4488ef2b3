"""Tests that docs/wire.md is enough for a second implementation, and that its examples hold."""

import random

import pytest
import tpa_peer
from tpa_peer import Connection, Segment


def test_the_example_of_the_page() -> None:
    datagram = bytes.fromhex("0abc4008 0defc00e 11220007 ee")
    segment = Segment(0x0ABC, 1, tx=0x11, window=7, data=b"\xee", congested=True, last=True, held=True)
    segment.ack, segment.ack_block, segment.arrived, segment.ack_tx = True, 0x0DEF, frozenset({0, 1}), 0x22
    assert segment.encode() == datagram
    assert tpa_peer.decode(datagram) == segment


def test_a_cookie_is_shown_as_on_the_page() -> None:
    caller = Connection(b"", caller=True)
    caller.iss, caller.mine = 7, {tpa_peer.VERSION: 3, tpa_peer.COOKIE: 0}
    caller.poll(0.0)
    caller.receive(0.1, bytes.fromhex("0000000a 00070000 00000000 0a105e11c0de000102030405060708090a0b"))
    caller.poll(0.1)
    assert [datagram.hex() for datagram in caller.out] == [
        "000700020000000000000040" + "010103" + "0a10" + "00" * 16,
        "000700020000000001000040" + "010103" + "0a10" + "5e11c0de000102030405060708090a0b",
    ]


@pytest.mark.parametrize(
    "datagram",
    ["", "0001 0001", "0001 c000 0000 0000 00 00 0001 ee", "0001 0000 0000 0000 00 00 0001 ee"],
    ids=["empty", "cut off", "two positions", "data at no position"],
)
def test_what_no_sender_makes_is_refused(datagram: str) -> None:
    with pytest.raises(tpa_peer.ImpossibleError):
        tpa_peer.decode(bytes.fromhex(datagram))


@pytest.mark.parametrize("faults", [0.0, 0.1])
def test_the_second_implementation_talks_to_itself(faults: float) -> None:
    rng = random.Random(1)
    there, back = rng.randbytes(40_000), rng.randbytes(13_000)
    caller, listener = Connection(there, caller=True), Connection(back, caller=False)
    under_way: list[tuple[float, Connection, bytes]] = []
    now = 0.0
    while min(caller.over_at, listener.over_at) == tpa_peer.NEVER:
        for end, other in ((caller, listener), (listener, caller)):
            end.poll(now)
            while end.out:
                datagram = end.out.popleft()
                copies = rng.choices([0, 1, 2], [faults, 1 - 2 * faults, faults])[0]
                under_way += [(now + rng.uniform(0.001, 0.004), other, datagram)] * copies
        now += 0.001
        assert now < 600
        for arrival in [arrival for arrival in under_way if arrival[0] <= now]:
            under_way.remove(arrival)
            arrival[1].receive(now, arrival[2])
    assert bytes(listener.received) == there
    assert bytes(caller.received) == back
