"""The steps of the build."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import build


def test_a_folder_with_a_blank_is_refused_before_anything_is_built(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(build, "TARGET", tmp_path / "my folder")
    monkeypatch.setattr(build, "need_cargo", lambda: None)
    assert build.main(["profile"]) == 1
    assert "a path without blanks" in capsys.readouterr().err
    assert not (tmp_path / "my folder").exists()


@pytest.mark.parametrize("lock", build.LOCKS, ids=lambda lock: lock.stem)
def test_the_lock_has_a_hashed_wheel_for_every_requirement(lock: Path) -> None:
    wanted = build.to_lock()[build.LOCKS.index(lock)]
    locked = [Requirement(line.rstrip("\\")) for line in lock.read_text().splitlines() if line[:1].isalnum()]
    for requirement in map(Requirement, wanted):
        versions = [str(one.specifier).removeprefix("==") for one in locked if one.name == requirement.name]
        assert versions, f"{requirement} is not locked: python3 tools/build.py lock"
        assert all(version in requirement.specifier for version in versions), (
            f"{requirement}: locked {versions}"
        )
    entries = re.split(r"\n(?=\w)", lock.read_text())
    assert len(entries) == len(locked)
    assert all("--hash=sha256:" in entry for entry in entries)


@pytest.mark.parametrize("lock", build.LOCKS[1:], ids=lambda lock: lock.stem)
def test_a_lock_has_the_versions_of_the_first_one(lock: Path) -> None:
    """All are installed into one environment."""
    first, other = (
        {line.rstrip("\\ ") for line in one.read_text().splitlines() if "==" in line and ";" not in line}
        for one in (build.LOCK, lock)
    )
    names = {line.split("==")[0] for line in first} & {line.split("==")[0] for line in other}
    assert names or lock == build.LOCK_BUGS
    assert {line for line in first if line.split("==")[0] in names} <= other


def test_programs_that_cannot_be_installed_are_no_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(_: Path) -> None:
        raise subprocess.CalledProcessError(1, "pip")

    monkeypatch.setattr(build, "VENV", tmp_path)
    monkeypatch.setattr(build, "install_locked", refuse)
    build.programs_under_test()
    assert "could not be installed" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr(build, "install_locked", lambda _: None)
    build.programs_under_test()
    assert [path.name for path in tmp_path.iterdir()] == ["installed-bugs"]


def test_the_experiments_have_the_version_of_the_library_and_need_it() -> None:
    cargo = tomllib.loads((build.ROOT / "Cargo.toml").read_text())
    version = cargo["workspace"]["package"]["version"]
    project = build.pyproject(build.PAPERS)["project"]
    assert (project["version"], project["dependencies"]) == (version, [f"multihop=={version}"])
    assert build.optional("papers") == [project["name"]]


def test_the_package_of_the_demo_is_its_sources_and_the_compiled_module(tmp_path: Path) -> None:
    module = tmp_path / (
        "libmultihop_core_py.dylib" if sys.platform == "darwin" else "libmultihop_core_py.so"
    )
    for content in (b"old", b"new"):
        module.write_bytes(content)
        package = build.demo_package(tmp_path) / "multihop"
        assert (package / "_core.abi3.so").read_bytes() == content
        sources = {path.name for path in (build.ROOT / "python/multihop").glob("*.py")}
        assert {path.name for path in package.glob("*.py")} == sources
        assert not (package / "bin").exists()
