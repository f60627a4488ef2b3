"""Behaviour of known programs that shows on a radio, each in a short test of `multihop.lab`."""

import re
import sys
from importlib.util import find_spec
from pathlib import Path
from shutil import which

import pytest

from multihop.lab import Lab, UnavailableError


@pytest.fixture
def nets(tmp_path: Path) -> Lab:
    lab = Lab(late_limit=float("inf"), folder=tmp_path)
    try:
        lab.chain(hops=1).close()
    except UnavailableError as error:
        pytest.skip(str(error))
    return lab


SUBSCRIBER = """
import time, zenoh
config = zenoh.Config()
config.insert_json5("mode", '"peer"')
config.insert_json5("listen/endpoints", '["tcp/0.0.0.0:7447"]')
config.insert_json5("scouting/multicast/enabled", "false")
with zenoh.open(config) as session:
    session.declare_subscriber("x", lambda sample: print(len(sample.payload.to_bytes()), flush=True))
    time.sleep(600)
"""
PUBLISHER = """
import sys, time, zenoh
config = zenoh.Config()
config.insert_json5("mode", '"peer"')
config.insert_json5("connect/endpoints", f'["tcp/{sys.argv[1]}:7447"]')
config.insert_json5("scouting/multicast/enabled", "false")
control = getattr(zenoh.CongestionControl, sys.argv[2])
with zenoh.open(config) as session:
    publisher = session.declare_publisher("x", congestion_control=control)
    time.sleep(2)  # until the subscription is known here
    publisher.put(bytes(5_000_000))
    time.sleep(8)
"""


@pytest.mark.parametrize(("control", "arrives"), [("BLOCK", True), ("DROP", False)])
def test_zenoh_drops_a_large_message_on_an_idle_radio(nets: Lab, control: str, arrives: bool) -> None:
    """The congestion control DROP, the default, gives up a message of 5 MB (eclipse-zenoh/zenoh#2258)."""
    if find_spec("zenoh") is None:
        pytest.skip("not installed: eclipse-zenoh")
    with nets.chain(hops=1, phy="802.11n-20", spacing=20) as net:
        subscriber = net[1].start([sys.executable, "-c", SUBSCRIBER], listens=7447)
        net[0].run([sys.executable, "-c", PUBLISHER, "{1}", control], timeout=60)
        assert subscriber.output() == ("5000000\n" if arrives else "")


def test_a_radio_delays_packets_that_random_loss_removes(nets: Lab) -> None:
    """Random loss of packets, as by netem, is no model of a lossy radio (quic-go/quic-go#4919).

    Frames are lost as often as packets, but the MAC transmits frames again.
    """
    if which("ping") is None:
        pytest.skip("not installed: ping")

    def lost_packets(of: str) -> tuple[int, int]:
        with nets.chain(hops=1, phy="802.11g", spacing=50) as net:
            net.lossy(0.1, of=of)
            output = net[0].run("ping -c 200 -i 0.01 -W 2 {1}", timeout=60)
            received = re.search(r"(\d+) received", output)
            assert received is not None
            return 200 - int(received[1]), net.air.retries(0)

    lost, retries = lost_packets("frames")
    assert lost == 0
    assert retries > 10
    lost, _ = lost_packets("packets")
    assert lost > 10
