import os
import platform
import subprocess
import tarfile
import tomllib
import zipfile
from pathlib import Path

import multihop_backend
import pytest

import build
import release
import release_check
import sbom


def test_the_same_files_make_the_same_archive(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000")
    archives: list[Path] = []
    for name in ("a", "b"):
        folder = tmp_path / name / "multihop"
        release.write(folder / "bin/multihop", "program", 0o755)
        os.utime(folder / "bin/multihop", (0, len(archives)))
        archives.append(tmp_path / f"{name}.tar.gz")
        release.archive(folder, archives[-1])
    assert archives[0].read_bytes() == archives[1].read_bytes()
    with tarfile.open(archives[0]) as files:
        entry = files.getmember("multihop/bin/multihop")
    assert (entry.mode & 0o777, entry.mtime, entry.uname) == (0o755, 1000, "root")


def test_paths_of_this_machine_are_not_in_a_release() -> None:
    flags = release.reproducible()["CARGO_ENCODED_RUSTFLAGS"].split("\x1f")
    assert f"--remap-path-prefix={build.ROOT}=/multihop" in flags


def test_a_list_of_parts_has_what_a_crate_is_built_from_and_not_its_tests() -> None:
    crates = sbom.crates(build.ROOT, "multihop-wire")
    names = {one["name"]: one for one in crates["components"]}
    assert crates["metadata"]["component"]["purl"].startswith("pkg:cargo/multihop-wire@")
    assert {"multihop-core", "crc32fast"} <= set(names)
    assert "proptest" not in names
    assert names["crc32fast"]["hashes"][0]["alg"] == "SHA-256"
    listed = {one["ref"] for one in crates["dependencies"]}
    assert all(set(one["dependsOn"]) <= listed for one in crates["dependencies"])


def test_every_published_crate_describes_itself() -> None:
    for manifest in sorted(build.ROOT.glob("crates/*/Cargo.toml")):
        package = tomllib.loads(manifest.read_text())["package"]
        if package.get("publish", True):
            assert package["readme"] == "README.md"
            assert (manifest.parent / "README.md").read_text().startswith("# multihop")
            assert 1 <= len(package["keywords"]) <= 5
            assert package["categories"]
            assert package["metadata"]["docs"]["rs"]["targets"] == ["x86_64-unknown-linux-gnu"]


def test_interfaces_are_compared_with_the_last_tag_or_else_the_last_change_of_the_version(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(build, "ROOT", tmp_path)

    def commit(files: dict[str, str]) -> str:
        for name, text in files.items():
            release.write(tmp_path / name, text)
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        for words in (["add", "--all"], [*who, "commit", "--quiet", "--message=c"]):
            subprocess.run(["git", *words], cwd=tmp_path, check=True)
        return release_check.git("rev-parse", "--short", "HEAD")

    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    old = commit({"Cargo.toml": 'version = "0.1.0"\n', "crates/core/Cargo.toml": ""})
    assert commit({"Cargo.toml": 'version = "0.2.0"\n', "crates/new/Cargo.toml": ""}) != old
    assert release_check.earlier_version() == old
    found = {name: release_check.is_compared(tmp_path / "crates" / name, old) for name in ("core", "new")}
    assert found == {"core": True, "new": False}
    release.write(tmp_path / "crates/core/Cargo.toml", "publish = false\n")
    assert not release_check.is_compared(tmp_path / "crates/core", old)
    subprocess.run(["git", "tag", "v0.1.1", "HEAD~1"], cwd=tmp_path, check=True)
    assert release_check.earlier_version() == "v0.1.1"


def test_a_list_of_parts_in_a_wheel_does_not_name_the_folder_of_the_build(tmp_path: Path) -> None:
    wheel = tmp_path / "a.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("a.cyclonedx.json", f"path+{build.ROOT.as_uri()}/crates/a#1")
    assert multihop_backend.lists_of_parts(wheel) == {"a.cyclonedx.json": b"path+file:///multihop/crates/a#1"}


def test_a_wheel_whose_command_cannot_run_here_gets_its_pages_from_the_static_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    built: list[tuple[str, str]] = []
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(release, "static", lambda system: Path("/a b") / system.name)
    monkeypatch.setattr(release, "wheel", lambda target, _, command, *__: built.append((target, command)))
    release.wheels(list(release.SYSTEMS.values()))
    release.musl_wheels([release.SYSTEMS["x86_64"]])
    assert built == [
        ("x86_64-unknown-linux-gnu", ""),
        ("aarch64-unknown-linux-gnu", "qemu-aarch64-static '/a b/aarch64'"),
        ("x86_64-unknown-linux-musl", "'/a b/x86_64'"),
    ]


def test_programs_for_other_systems_link_without_optimisation(monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[str] = []
    monkeypatch.setattr(build, "need_cargo", lambda: None)
    monkeypatch.setattr(build, "run_quietly", lambda *_: 0)
    monkeypatch.setattr(release, "run", lambda *words: commands.append(" ".join(words)))
    release.other_systems([])
    assert len(commands) == 2 * len(release.LINKED)
    assert all("zigbuild --profile dev --locked" in command for command in commands)
    assert release.link("a", profile="dev") == build.TARGET / "a/debug"
    assert release.link("a") == build.TARGET / "a/release"


def test_two_builds_of_a_fresh_clone_are_compared(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    contents = iter(["one", "one", "one", "other"])

    def write(folder: Path) -> None:
        release.write(folder / "out/dist/wheel", next(contents))

    monkeypatch.setattr(build, "ROOT", tmp_path)
    monkeypatch.setattr(build, "TARGET", tmp_path / "target")
    monkeypatch.setattr(release, "DIST", tmp_path / "out/dist")
    monkeypatch.setattr(release_check, "build_in", write)
    assert [release_check.reproducible() for _ in range(2)] == [0, 1]
    printed = capsys.readouterr().out.splitlines()
    assert printed[:2] == ["wheel: the same bytes", "wheel: DIFFERS"]
