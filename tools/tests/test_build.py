"""The steps of the build."""

from pathlib import Path

import pytest

import build


def test_a_folder_with_a_blank_is_refused_before_anything_is_built(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(build, "TARGET", tmp_path / "my folder")
    monkeypatch.setattr(build, "need_cargo", lambda: None)
    assert build.main(["profile"]) == 1
    assert "a path without blanks" in capsys.readouterr().err
    assert not (tmp_path / "my folder").exists()
