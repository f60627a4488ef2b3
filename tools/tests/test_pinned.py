"""tools/pinned.py: which cases there are."""

import pytest

import pinned


def test_every_case_has_a_name_of_its_own() -> None:
    names = pinned.names()
    assert len(names) > 100
    assert len(set(names)) == len(names)


def test_an_unknown_case_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert pinned.main(["--case", "mac/nothing"]) == 2
    assert "found no case mac/nothing" in capsys.readouterr().err
