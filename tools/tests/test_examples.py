"""The Python examples run."""

import runpy
from pathlib import Path

import pytest

import build

EXAMPLES = build.ROOT / "examples"


def test_compare(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(Path(EXAMPLES, "compare.py")), run_name="__main__")
    newreno, clamped = capsys.readouterr().out.splitlines()
    assert newreno.startswith("newreno ")
    assert clamped.startswith("tcp-2 ")
    assert "± " in newreno
