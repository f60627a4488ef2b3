"""The fuzz targets, and how tools/fuzz.sh runs them."""

import os
import shutil
import subprocess
import tomllib
from pathlib import Path

import build

FUZZ = build.ROOT / "fuzz"
TARGETS = sorted(path.stem for path in (FUZZ / "targets").glob("*.rs"))
KILOBYTES = 16
"""Allowed for the seeds of one target."""


def test_every_target_is_built_and_has_a_few_kilobytes_of_seeds() -> None:
    bins = tomllib.loads((FUZZ / "Cargo.toml").read_text())["bin"]
    assert sorted(one["name"] for one in bins) == TARGETS
    for target in TARGETS:
        sizes = [path.stat().st_size for path in (FUZZ / "seeds" / target).glob("*")]
        assert sizes, f"{target} has no seeds: tools/fuzz.sh 60 {target} && tools/fuzz.sh seeds {target}"
        assert sum(sizes) <= KILOBYTES * 1024, f"{target} has {sum(sizes)} bytes of seeds"


def test_every_target_is_run_with_its_seeds_and_a_crash_fails_and_names_its_input(tmp_path: Path) -> None:
    done = fuzz(tmp_path, crashing="tcp")
    assert done.returncode != 0
    for target in TARGETS:
        said = (tmp_path / f"{target}.run").read_text()
        assert f"fuzz/seeds/{target}" in said.split()
        if target != "tcp":
            assert f"{target}: 12 inputs, 3 of them from seeds and corpus, no crash" in done.stdout
    assert "tcp: CRASHED on the input in fuzz/artifacts/tcp/crash-1" in done.stdout
    assert (tmp_path / "fuzz/artifacts/tcp/crash-1").is_file()


def test_targets_without_a_crash_pass(tmp_path: Path) -> None:
    assert fuzz(tmp_path, crashing="").returncode == 0


def fuzz(folder: Path, crashing: str) -> subprocess.CompletedProcess[str]:
    """Run tools/fuzz.sh with programs that only note how they are run."""
    for place in ("tools", "fuzz", "bin"):
        (folder / place).mkdir()
    shutil.copy(build.ROOT / "tools/fuzz.sh", folder / "tools")
    shutil.copytree(FUZZ / "targets", folder / "fuzz/targets")
    shutil.copytree(FUZZ / "seeds", folder / "fuzz/seeds")
    program(folder / "bin/cargo", "true")
    program(folder / "bin/rustc", "echo host: fake")
    program(folder / "bin/c++", "true")
    for target in TARGETS:
        says = "echo INFO: seed corpus: files: 3 min: 1b >&2; echo stat::number_of_executed_units: 12 >&2"
        if target == crashing:
            input_ = f"fuzz/artifacts/{target}/crash-1"
            says = f"touch {input_}; echo Test unit written to {input_}; exit 77"
        program(folder / "out/fake/release" / target, f'echo "$@" > {folder}/{target}.run; {says}')
    environment = {
        **os.environ,
        "PATH": f"{folder}/bin:{os.environ['PATH']}",
        "CARGO_TARGET_DIR": str(folder / "out"),
        "CXX": "c++",
    }
    words = [str(folder / "tools/fuzz.sh"), "1"]
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=False)


def program(path: Path, text: str) -> None:
    """Write a shell script that can be run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
