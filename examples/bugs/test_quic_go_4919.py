"""Random loss of packets, as by netem, is no model of a lossy radio: quic-go/quic-go#4919."""

import re
from shutil import which

import pytest

from multihop.lab import Lab


def lost_and_retried(lab: Lab, of: str) -> tuple[int, int]:
    """Lost pings of 200, and retransmissions by the MAC, when a tenth of the frames or packets is lost."""
    with lab.chain(hops=1, phy="802.11g", spacing=50) as net:
        net.lossy(0.1, of=of)
        output = net[0].run("ping -c 200 -i 0.01 -W 2 {1}", timeout=60)
        received = re.search(r"(\d+) received", output)
        assert received is not None
        return 200 - int(received[1]), net.air.retries(0)


@pytest.mark.skipif(which("ping") is None, reason="not installed: ping")
def test_a_radio_delays_packets_that_random_loss_removes(mesh_lab: Lab) -> None:
    """Frames are lost as often as packets, but the MAC transmits frames again."""
    lost, retries = lost_and_retried(mesh_lab, of="frames")
    assert lost == 0
    assert retries > 10
    lost, _ = lost_and_retried(mesh_lab, of="packets")
    assert lost > 10
