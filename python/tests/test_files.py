"""Files that get their names when they are complete."""

from __future__ import annotations

from pathlib import Path

import pytest

from multihop.files import complete_file


def test_a_failed_write_leaves_the_earlier_file(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text("earlier")

    def interrupted() -> None:
        with complete_file(path) as part:
            part.write_text("half of")
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        interrupted()
    assert [file.name for file in tmp_path.iterdir()] == ["results.jsonl"]
    assert path.read_text() == "earlier"


def test_a_complete_file_replaces_the_earlier_one_and_follows_links(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("earlier")
    link = tmp_path / "link"
    link.symlink_to("target")
    with complete_file(link) as part:
        part.write_text("new")
        assert link.read_text() == "earlier"
    assert link.is_symlink()
    assert (tmp_path / "target").read_text() == "new"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["link", "target"]


def test_a_device_is_written_directly_and_an_unwritten_file_is_not_made(tmp_path: Path) -> None:
    with complete_file(Path("/dev/null")) as part:
        assert part == Path("/dev/null")
    with complete_file(tmp_path / "series.csv"):
        pass
    assert list(tmp_path.iterdir()) == []
