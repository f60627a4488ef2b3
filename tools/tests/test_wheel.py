import base64
import csv
import hashlib
import io
import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import build

multihop_backend = pytest.importorskip("multihop_backend", exc_type=ImportError)

SHARE = ("man/man1/multihop.1", "man/man1/multihop-run.1", "bash-completion/completions/multihop")
SHELLS = ("zsh/site-functions/_multihop", "fish/vendor_completions.d/multihop.fish")


@pytest.fixture
def wheel() -> Path:
    found = list((build.VENV / "wheels").glob("multihop-*.whl"))
    if not found:
        pytest.skip("no wheel; python3 tools/build.py package builds it")
    return found[0]


def test_the_wheel_runs_on_other_distributions(wheel: Path) -> None:
    assert "-abi3-manylinux_2_" in wheel.name


def test_the_wheel_has_pages_completions_and_licences(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        for path in (*SHARE, *SHELLS):
            (name,) = (name for name in names if name.endswith(f".data/data/share/{path}"))
            assert b"multihop" in archive.read(name)
        for licence in ("LICENSE-APACHE", "LICENSE-MIT"):
            (name,) = (name for name in names if name.endswith(f".dist-info/licenses/{licence}"))
            assert archive.read(name) == (build.ROOT / licence).read_bytes()
        assert "multihop/py.typed" in names


def test_the_wheel_is_the_library_and_the_command(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        sizes = {entry.filename: entry.compress_size for entry in archive.infolist()}
    tops = {name.split("/")[0] for name in sizes}
    assert len(tops) == 3, tops
    assert all(top == "multihop" or top.startswith("multihop-0.") for top in tops), tops
    assert sizes[multihop_backend.COMMAND] < 10_000, "the command is a launcher"
    # The size of the module depends on the profile of the build.
    (module,) = (name for name in sizes if name.endswith(".so"))
    assert module == multihop_backend.MODULE
    assert sum(size for name, size in sizes.items() if name != module) < 300_000


def test_packages_of_programs_are_released_without_symbols() -> None:
    # Cargo forgets the profile's `strip` for packages with settings of their own.
    release = tomllib.loads((build.ROOT / "Cargo.toml").read_text())["profile"]["release"]
    packages = release["package"].items()
    of_programs = {name: settings for name, settings in packages if has_program(build.ROOT / "crates" / name)}
    assert "multihop-cli" in of_programs
    assert {settings.get("strip") for settings in of_programs.values()} == {release["strip"]}


def has_program(package: Path) -> bool:
    manifest = package / "Cargo.toml"
    return manifest.is_file() and ((package / "src/main.rs").is_file() or "cdylib" in manifest.read_text())


def test_the_experiments_are_a_wheel_of_their_own() -> None:
    (papers,) = (build.VENV / "wheels").glob("multihop_papers-*-py3-none-any.whl")
    with zipfile.ZipFile(papers) as archive:
        names = archive.namelist()
    assert {"multihop_papers/command.py", "multihop_papers/ns2/network.tcl"} <= set(names)
    assert not [name for name in names if name.endswith(".pyc") or "tests/" in name]


def test_the_list_of_files_is_complete_and_correct(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (record,) = (name for name in archive.namelist() if name.endswith(".dist-info/RECORD"))
        rows = list(csv.reader(archive.read(record).decode().splitlines()))
        assert sorted(name for name, _, _ in rows) == sorted(archive.namelist())
        for name, digest, size in rows:
            if name != record:
                content = archive.read(name)
                found = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
                assert (digest, size) == (f"sha256={found}", str(len(content)))


def test_an_archive_has_the_bytes_and_modes_of_its_members() -> None:
    members = [
        multihop_backend.Member("a/empty", b"", 0o100644),
        multihop_backend.Member("a/text", b"several words " * 1000, 0o100644),
        multihop_backend.Member("b/program", bytes(range(256)) * 300, 0o100755),
    ]
    content = multihop_backend.archive(members)
    assert multihop_backend.archive(members) == content
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        entries = archive.infolist()
        found = [(entry.filename, archive.read(entry), entry.external_attr >> 16) for entry in entries]
        assert {entry.date_time for entry in entries} == {(1980, 1, 1, 0, 0, 0)}
    assert found == [tuple(member) for member in members]
    assert len(content) < 2000


def test_the_command_of_the_wheel_is_executable_and_has_every_scenario(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        mode = archive.getinfo(multihop_backend.COMMAND).external_attr >> 16
    assert mode == 0o100755
    done = subprocess.run([unpacked(wheel, tmp_path), "example"], capture_output=True, text=True, check=True)
    files = [path.stem for path in (build.ROOT / "scenarios").glob("*.toml")]
    assert sorted(line.split()[0] for line in done.stdout.splitlines()) == sorted(files)


def unpacked(wheel: Path, folder: Path) -> Path:
    """The command of the wheel with its module in a folder."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extract(multihop_backend.MODULE, folder)
        command = Path(archive.extract(multihop_backend.COMMAND, folder))
    command.chmod(0o755)
    return command


def test_pages_of_a_command_that_cannot_run_come_from_another(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = tmp_path / "other command"
    other.write_text('case $1 in manual) mkdir "$2" && echo page > "$2/a.1";; *) echo for $2;; esac\n')
    monkeypatch.setenv("MULTIHOP_COMMAND", f"sh '{other}'")
    with multihop_backend.runnable(b"a program for another processor", b"") as words:
        found = multihop_backend.pages(words)
    assert found["man/man1/a.1"] == b"page\n"
    assert found["bash-completion/completions/multihop"] == b"for bash\n"


def test_the_exit_code_of_the_launcher_is_that_of_the_command(wheel: Path, tmp_path: Path) -> None:
    command = unpacked(wheel, tmp_path)
    for words, code in (["--version"], 0), (["check", "missing.toml"], 2):
        assert subprocess.run([command, *words], cwd=tmp_path, capture_output=True).returncode == code, words


def test_output_without_a_reader_is_an_error_of_the_command_and_no_signal(
    wheel: Path, tmp_path: Path
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([unpacked(wheel, tmp_path), "example", "chain-4"], stdout=writer)
    os.close(writer)
    assert done.returncode == 141


@pytest.mark.parametrize(("number", "closed"), [(0, "<&-"), (1, ">&-")])
def test_a_closed_standard_stream_is_open_to_nowhere(
    wheel: Path, tmp_path: Path, number: int, closed: str
) -> None:
    words = f"exec {unpacked(wheel, tmp_path)} check /proc/self/fd/{number} {closed}"
    done = subprocess.run(["sh", "-c", words], capture_output=True, text=True)
    assert done.returncode == 2
    assert "duration: is missing" in done.stderr  # in an empty file


def test_a_launcher_without_its_module_says_so(wheel: Path, tmp_path: Path) -> None:
    command = unpacked(wheel, tmp_path)
    (tmp_path / multihop_backend.MODULE).unlink()
    done = subprocess.run([command, "--version"], capture_output=True, text=True)
    assert done.returncode == 126
    assert done.stderr.startswith("multihop: the command cannot load its module: ")
    assert str(tmp_path / multihop_backend.MODULE) in done.stderr


def test_a_launcher_with_rights_of_its_own_loads_nothing(wheel: Path, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("a program that runs as its owner, who is another user, needs root")
    command = unpacked(wheel, tmp_path)
    os.chown(command, 65534, 65534)
    command.chmod(0o4755)
    done = subprocess.run([command, "--version"], capture_output=True, text=True)
    if done.stdout:
        pytest.skip(f"{tmp_path} is on a file system without setuid")
    assert done.returncode == 126
    assert "has rights of its own (setuid or setcap)" in done.stderr


def test_only_symbols_of_python_may_be_missing(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        module = archive.read(multihop_backend.MODULE)
    assert multihop_backend.weakened(module) == module, "the module of the wheel is weakened already"
    with pytest.raises(RuntimeError, match="no ELF file"):
        multihop_backend.weakened(b"\x7fELF\x01\x01")


def test_a_command_that_needs_a_newer_c_library_than_the_wheel_is_refused() -> None:
    command = b"...GLIBC_2.4\0GLIBC_2.34\0GLIBC_PRIVATE..."
    multihop_backend.check_compatibility("multihop-1-cp311-abi3-manylinux_2_34_x86_64.whl", command)
    older = "multihop-1-cp311-abi3-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"
    with pytest.raises(RuntimeError, match=r"needs glibc 2\.34, and .* promises 2\.17"):
        multihop_backend.check_compatibility(older, command)


@pytest.mark.parametrize("words", [["--profile", "dev"], ["--strip", "--profile=dev"]])
def test_the_command_is_built_in_the_profile_of_the_module(words: list[str]) -> None:
    assert multihop_backend.option("--profile", words) == "dev"
    assert multihop_backend.option("--target", words) is None


def test_without_arguments_the_command_is_built_for_release() -> None:
    assert multihop_backend.option("--profile", []) is None


def test_the_source_archive_has_the_page_of_view_and_the_launcher(tmp_path: Path) -> None:
    pytest.importorskip("maturin")
    page = build.WEB / "dist" / "view.html"
    if not page.is_file():
        pytest.skip("web/dist/view.html has not been built; python3 tools/build.py web builds it")
    words = [sys.executable, "-m", "maturin", "sdist", "--out", str(tmp_path)]
    subprocess.run(words, cwd=build.ROOT, check=True, capture_output=True)
    (archive,) = tmp_path.iterdir()
    with tarfile.open(archive) as files:
        names = {name.partition("/")[2] for name in files.getnames()}
    crates = {"crates/multihop-cli/pages/view.html", "crates/multihop-scenario/scenarios/chain-4.toml"}
    assert {*crates, "tools/backend/multihop_backend.py"} <= names
    assert "crates/multihop-launcher/src/main.rs" in names, "the wheel is built from the archive, too"
