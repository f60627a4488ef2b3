"""Traces of the ORBIT testbed as files for `radio.measured`."""

from pathlib import Path

import pytest

import rutgers_links


def written(folder: Path, sender: str, receiver: str, text: str) -> None:
    """One trace as the data set has it."""
    place = folder / f"Results_node{sender}_DailyTest_Sat-Oct-15-03_06_34-2005"
    place.mkdir(exist_ok=True)
    (place / f"sdec{receiver}").write_text(text)


def test_each_frame_is_a_row_and_a_lost_one_has_no_signal(tmp_path: Path) -> None:
    written(tmp_path, "1-4", "2-5", "0 31\n2 128\n3 29\n")
    written(tmp_path, "2-5", "1-4", "299 7\n")
    rows = list(rutgers_links.rows(tmp_path, ["1-4", "2-5"]))
    assert rows[:4] == ["0.0,0,1,31", "0.1,0,1,", "0.2,0,1,", "0.3,0,1,29"]
    assert (len(rows), rows[-1]) == (600, "29.9,1,0,7")


def test_a_link_without_a_file_has_no_signal_and_a_missing_transmitter_is_named(tmp_path: Path) -> None:
    written(tmp_path, "1-4", "2-5", "0 31\n")
    assert rutgers_links.trace(tmp_path, "1-4", "8-8") == [None] * 300
    with pytest.raises(ValueError, match="transmitter 2-5"):
        list(rutgers_links.rows(tmp_path, ["1-4", "2-5"]))
