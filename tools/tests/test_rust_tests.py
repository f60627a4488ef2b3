"""Programs of tests run while others are compiled."""

import json
from pathlib import Path

import pytest

import rust_tests


def artifact(folder: Path, name: str, script: str) -> dict[str, object]:
    """What Cargo reports of a program of tests, here a shell script."""
    crate = folder / name
    crate.mkdir()
    program = crate / "it"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return {
        "reason": "compiler-artifact",
        "manifest_path": str(crate / "Cargo.toml"),
        "profile": {"test": True},
        "target": {"name": "it"},
        "executable": str(program),
    }


def install_cargo(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put a shell script in the place of Cargo."""
    cargo = folder / "bin" / "cargo"
    cargo.parent.mkdir()
    cargo.write_text(f"#!/bin/sh\n{script}\n")
    cargo.chmod(0o755)
    monkeypatch.setenv("PATH", f"{cargo.parent}:/usr/bin:/bin:{Path.home()}/.cargo/bin")


def test_programs_that_wait_for_the_clock_begin_after_the_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready = tmp_path / "compiled"
    early = artifact(tmp_path, "multihop-core", 'echo "early $*"; pwd; exit 101')
    late = artifact(tmp_path, rust_tests.LATE[0], f"ls {ready}")
    library = {**early, "profile": {"test": False}}
    messages = "\n".join(json.dumps(message) for message in (late, library, early))
    script = f"""case "$*" in
        *--doc*) echo "doc tests"; exit;;
    esac
    echo "Compiling"
    cat <<'END'
{messages}
END
    touch {ready}"""
    install_cargo(tmp_path, monkeypatch, script)
    shown: list[str] = []
    build, first, second, docs = rust_tests.run(["--locked"], 3, shown.append)
    assert (build.lines, build.code, shown) == (["Compiling"], 0, ["Compiling"])
    assert first.lines == ["early --show-output --test-threads=3", str(tmp_path / "multihop-core")]
    assert first.code == 101
    assert (second.lines, second.code) == ([str(ready)], 0)
    assert docs.lines == ["doc tests"]


def test_what_does_not_compile_is_reported_and_has_no_doc_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_cargo(tmp_path, monkeypatch, "echo 'error: expected `;`'; exit 101")
    shown: list[str] = []
    (build,) = rust_tests.run([], 1, shown.append)
    assert (build.lines, build.code) == (["error: expected `;`"], 101)
