"""The fuzz targets, and how tools/fuzz.sh runs them."""

import os
import re
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
    assert sorted(tomllib.loads((FUZZ / "Cargo.toml").read_text())["features"]) == TARGETS
    assert re.findall(r'^    (\w+) "\1",$', (FUZZ / "src/main.rs").read_text(), re.MULTILINE) == TARGETS
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
    assert builds(tmp_path) == ["--all-features"]


def test_a_named_target_has_a_program_with_no_other_target(tmp_path: Path) -> None:
    done = fuzz(tmp_path, "tcp", "udp", crashing="udp")
    assert builds(tmp_path) == ["--features=tcp", "--features=udp"]
    assert sorted(path.name for path in tmp_path.glob("*.run")) == ["tcp.run", "udp.run"]
    assert f"reproduce with: FUZZ_TARGET=udp {tmp_path}/out/fake/release/udp " in done.stdout


def builds(folder: Path) -> list[str]:
    """What every call of Cargo selected."""
    return [line.split()[-1] for line in (folder / "builds").read_text().splitlines()]


def fuzz(folder: Path, *targets: str, crashing: str) -> subprocess.CompletedProcess[str]:
    """Run tools/fuzz.sh with programs that only note how they are run."""
    for place in ("tools", "fuzz", "bin"):
        (folder / place).mkdir()
    shutil.copy(build.ROOT / "tools/fuzz.sh", folder / "tools")
    shutil.copytree(FUZZ / "targets", folder / "fuzz/targets")
    shutil.copytree(FUZZ / "seeds", folder / "fuzz/seeds")
    program(folder / "bin/cargo", f'echo "$@" >> {folder}/builds')
    program(folder / "bin/rustc", "echo host: fake")
    program(folder / "bin/c++", "true")
    input_ = "fuzz/artifacts/$FUZZ_TARGET/crash-1"
    text = f"""
        echo "$@" > {folder}/$FUZZ_TARGET.run
        if [ $FUZZ_TARGET = "{crashing}" ]; then
            touch {input_}
            echo Test unit written to {input_}
            exit 77
        fi
        echo INFO: seed corpus: files: 3 min: 1b >&2
        echo stat::number_of_executed_units: 12 >&2
    """
    program(folder / "out/fake/release/multihop-fuzz", text)
    environment = {
        **os.environ,
        "PATH": f"{folder}/bin:{os.environ['PATH']}",
        "CARGO_TARGET_DIR": str(folder / "out"),
        "CXX": "c++",
    }
    words = [str(folder / "tools/fuzz.sh"), "1", *targets]
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=False)


def program(path: Path, text: str) -> None:
    """Write a shell script that can be run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
