import sys
from pathlib import Path

import pytest

import wheel_size

LISTED = """\
0000000000001000 0000000000000010 t multihop_sim::world::World::run_until::h0123456789abcdef
0000000000001010 0000000000000020 t core::ptr::drop_in_place<multihop_sim::results::Result>
0000000000001030 0000000000000004 T memcpy
0000000000001034 0000000000000001 t core::slice::sort::stable::drift::sort::<u8>
0000000000002000 0000000000000040 r multihop_sim::TABLE
                 U malloc
"""


def test_code_is_counted_by_crate_and_by_kind() -> None:
    crates, kinds = wheel_size.grouped(wheel_size.functions(LISTED.splitlines()))
    assert crates == {"multihop_sim": 0x30, "C": 4, "core": 1}
    assert kinds == {"drop glue": 0x20, "sorts": 1}


@pytest.mark.skipif(sys.platform != "linux", reason="programs are ELF files on Linux")
def test_sections_have_the_bytes_of_the_file() -> None:
    content = Path("/bin/sh").read_bytes()
    sections = dict(wheel_size.parts(content))
    assert ".text" in sections
    assert all(len(section) >= wheel_size.SMALLEST and section in content for section in sections.values())
