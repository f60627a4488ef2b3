"""A download by MAVLink FTP waits a second for each lost answer: mavlink/qgroundcontrol#14853.

QGroundControl repeats a request after a fixed second. This time is a setting of the client in pymavlink.
"""

import re
import sys
from pathlib import Path

import pytest

from multihop.lab import Lab

pytest.importorskip("pymavlink", reason="not installed: pymavlink")

AUTOPILOT = """
import struct, sys
from pymavlink import mavutil

FILE, BURST, END_OF_FILE = bytes(20_000), 10, bytes([6])
link = mavutil.mavlink_connection(f"udpout:{sys.argv[1]}:14550", source_system=1)
while True:
    message = link.recv_match(type="FILE_TRANSFER_PROTOCOL", blocking=True, timeout=0.2)
    if message is None:
        link.mav.heartbeat_send(2, 3, 0, 0, 4)
        continue
    number, session, request, size, _, _, _, start = struct.unpack("<HBBBBBBI", bytes(message.payload[:12]))

    def answer(code, data, place=start, last=0):
        global number
        number += 1
        header = struct.pack("<HBBBBBBI", number, session, code, len(data), request, last, 0, place)
        to = (message.get_srcSystem(), message.get_srcComponent())
        link.mav.file_transfer_protocol_send(0, *to, (header + data).ljust(251, b"\\0"))

    if request == 15:  # burst read
        for block in range(BURST):
            place = start + block * size
            data = FILE[place:][:size]
            answer(128 if data else 129, data or END_OF_FILE, place, block == BURST - 1)
    else:  # read, open
        answer(128, FILE[start:][:size] if request == 5 else struct.pack("<I", len(FILE)))
"""


def test_a_fixed_second_slows_downloads(mesh_lab: Lab, tmp_path: Path) -> None:
    """The download with the fixed second takes at least twice as long as with the shorter time."""
    seconds = {}
    for retry_time in (1.0, 0.15):
        with mesh_lab.chain(hops=1) as net:
            net.lossy(0.2, of="packets")
            net[1].start([sys.executable, "-c", AUTOPILOT, "{0}"])
            client = [sys.executable, "-m", "pymavlink.mavftp", "--device", "udpin:0.0.0.0:14550"]
            client += ["--burst_read_size", "200", "--retry_time", str(retry_time)]
            program = net[0].start([*client, "get", "@PARAM/param.pck", str(tmp_path / "file")])
            assert program.wait(timeout=120) == 0, program.errors()
            [written] = re.findall(r"Wrote 20000/20000 bytes .* in ([\d.]+)s", program.errors())
            seconds[retry_time] = float(written)
    assert seconds[1.0] > 2 * seconds[0.15], seconds
