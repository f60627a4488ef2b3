"""The figures of docs/concepts: their runs are those that the pages name, and captures are read correctly."""

import struct

import concept_figures
from concept_figures import FIGURES, PAGES, SHOWN, Frame, Scene


def test_each_page_has_its_figure_and_the_commands_of_its_runs() -> None:
    assert {path.stem for path in PAGES.glob("*.md")} == set(FIGURES) == set(SHOWN)
    for name, scenes in SHOWN.items():
        page = (PAGES / f"{name}.md").read_text("utf-8")
        assert f"({name}.svg)" in page
        for scene in scenes:
            assert f"    {scene.command}\n" in page, scene.command


def test_commands_quote_keys_for_the_shell() -> None:
    scene = Scene("chain-4", ('flow.0.transport={ kind = "elfn" }',), seed=2)
    assert (
        scene.command
        == "multihop view scenarios/chain-4.toml --seed 2 --set 'flow.0.transport={ kind = \"elfn\" }'"
    )


def test_frames_of_a_capture_are_received_or_lost() -> None:
    capture = packet(0, 1_000_000, transmitted(1000, 0xB4)) + packet(1, 1_352_000, received(1001, 0xB4))
    capture += packet(1, 5_000_000, transmitted(5000, 0xC4))
    frames = concept_figures.transmissions(capture)
    assert [(frame.node, frame.kind, frame.received) for frame in frames] == [
        (0, "RTS", True),
        (1, "CTS", False),
    ]
    assert abs(frames[0].end - frames[0].start - (192e-6 + 20 * 8 / 1e6)) < 1e-9


def test_a_segment_crosses_four_hops_with_four_frames_each() -> None:
    frames = concept_figures.CHAIN.frames(0.0, 0.12)
    last = next(frame for frame in frames if frame.node == 3 and long_data(frame))
    on_the_way = [frame for frame in frames if frame.end <= last.end and long_data(frame)]
    assert {frame.node for frame in on_the_way} == {0, 1, 2, 3}
    assert {frame.kind for frame in frames} == {"RTS", "CTS", "data", "ACK"}


def long_data(frame: Frame) -> bool:
    return frame.kind == "data" and frame.end - frame.start > 0.005


def packet(interface: int, at: int, data: bytes) -> bytes:
    """An enhanced packet block; the time is in nanoseconds."""
    body = struct.pack("<IIIII", interface, at >> 32, at & 0xFFFFFFFF, len(data), len(data))
    padded = data + bytes(-len(data) % 4)
    size = len(body) + len(padded) + 12
    return struct.pack("<II", 6, size) + body + padded + struct.pack("<I", size)


def transmitted(start: int, kind: int) -> bytes:
    """A control frame of 20 bytes at 1 Mb/s, behind radiotap with a time, flags and a rate."""
    return struct.pack("<BBHIQBB", 0, 0, 18, 0x7, start, 0x10, 2) + bytes([kind]) + bytes(19)


def received(start: int, kind: int) -> bytes:
    """The frame at its receiver: radiotap also states the strength of the signal."""
    return struct.pack("<BBHIQBBb", 0, 0, 19, 0x27, start, 0x10, 2, -50) + bytes([kind]) + bytes(19)
