"""Zenoh's default congestion control gives up a large message on an idle radio: eclipse-zenoh/zenoh#2258."""

import sys

import pytest

from multihop.lab import Lab

pytest.importorskip("zenoh", reason="not installed: eclipse-zenoh")

SESSION = """
import sys, threading, time, zenoh
config = zenoh.Config()
config.insert_json5("mode", '"peer"')
config.insert_json5("scouting/multicast/enabled", "false")
"""
SUBSCRIBER = (
    SESSION
    + """
config.insert_json5("listen/endpoints", '["tcp/0.0.0.0:7447"]')
end = threading.Event()

def arrived(sample):
    print(len(sample.payload.to_bytes()), flush=True)
    if len(sample.payload.to_bytes()) == 1:
        end.set()

with zenoh.open(config) as session:
    subscriber = session.declare_subscriber("x", arrived)
    end.wait()
"""
)
PUBLISHER = (
    SESSION
    + """
config.insert_json5("connect/endpoints", f'["tcp/{sys.argv[1]}:7447"]')
with zenoh.open(config) as session:
    control = getattr(zenoh.CongestionControl, sys.argv[2])
    publisher = session.declare_publisher("x", congestion_control=control)
    while not publisher.matching_status.matching:
        time.sleep(0.05)
    publisher.put(bytes(5_000_000))
    session.put("x", bytes(1), congestion_control=zenoh.CongestionControl.BLOCK)
    threading.Event().wait()
"""
)


@pytest.mark.parametrize(("control", "received"), [("DROP", "1\n"), ("BLOCK", "5000000\n1\n")])
def test_a_large_message_arrives_with_block_only(mesh_lab: Lab, control: str, received: str) -> None:
    """A message of 5 MB, then one of 1 byte, over one hop of 802.11n that is otherwise idle."""
    with mesh_lab.chain(hops=1, phy="802.11n-20", spacing=20) as net:
        subscriber = net[1].start([sys.executable, "-c", SUBSCRIBER], listens=7447)
        net[0].start([sys.executable, "-c", PUBLISHER, "{1}", control])
        assert subscriber.wait(timeout=60) == 0, subscriber.errors()
        assert subscriber.output() == received
