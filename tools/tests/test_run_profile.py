"""The profile for the compiler: its runs, and the flags that use it."""

from pathlib import Path
from typing import Any

import pytest

import multihop
import run_profile


def test_every_scenario_runs_with_every_radio() -> None:
    for scenario in run_profile.SCENARIOS:
        for radio in run_profile.RADIOS:
            settings: dict[str, Any] = {"radio": radio}
            multihop.check(scenario, **settings)


def test_a_profile_concerns_only_code_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RUSTFLAGS", raising=False)
    ((variable, flags),) = run_profile.with_flag("-Cprofile-use=x").items()
    assert variable.startswith("CARGO_TARGET_")
    assert variable.endswith("_RUSTFLAGS")
    assert flags == "-Cprofile-use=x"


def test_flags_of_the_user_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUSTFLAGS", "-Ctarget-cpu=native")
    added = run_profile.with_flag("-Cprofile-use=x")
    assert added == {"RUSTFLAGS": "-Ctarget-cpu=native -Cprofile-use=x"}


def test_a_profile_is_collected_once_for_each_program(tmp_path: Path) -> None:
    counts = 'counts=$(dirname "$LLVM_PROFILE_FILE"); mkdir -p "$counts"; echo "$2" >> "$counts/1.profraw"'
    counting = script(tmp_path / "counting", counts)
    tool = script(tmp_path / "tool", 'cat "$4"/*.profraw > "$3"')
    first = run_profile.profile_of(counting, tmp_path, tool)
    runs = first.read_text().split()
    assert runs == [name for name in run_profile.SCENARIOS for _ in run_profile.RADIOS]
    assert run_profile.profile_of(counting, tmp_path, script(tmp_path / "tool", "exit 1")) == first
    script(counting, counts + " # another program")
    second = run_profile.profile_of(counting, tmp_path, script(tmp_path / "tool", 'cat "$4"/* > "$3"'))
    assert second != first
    assert not first.exists()
    assert second.read_text().split() == runs


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path
