"""Tests of the checks of the source tree."""

from email.parser import HeaderParser

import pytest

import check_deviations
import check_layers
import check_licences
import check_paths
import check_size
import check_threats


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
    assert check_licences.permits(expression, check_licences.ALLOWED) is allowed


def test_the_licences_of_npm_packages() -> None:
    lock = """{"packages": {
        "": {"name": "page", "license": "none of this list"},
        "node_modules/axe-core": {"version": "4.1.0", "license": "MPL-2.0"},
        "node_modules/a/node_modules/@b/c": {"version": "2.0.0"}
    }}"""
    assert list(check_licences.npm_packages(lock)) == [("axe-core 4.1.0", "MPL-2.0"), ("@b/c 2.0.0", "")]


def test_the_licence_of_a_wheel() -> None:
    metadata = HeaderParser().parsestr(
        "Classifier: License :: OSI Approved :: BSD License\nLicense: see file\n"
    )
    assert check_licences.wheel_licence(metadata) == "BSD-3-Clause"
    assert check_licences.wheel_licence(HeaderParser().parsestr("License: MIT License\n")) == "MIT"


def test_code_lines_leave_out_comments_and_the_test_module() -> None:
    rust = "//! Words.\n\nuse core::fmt;\nfn f() {} // counted\n#[cfg(test)]\nmod tests {\nfn g() {}\n}\n"
    assert check_size.code_lines(rust, "//") == 2


def test_tags_of_deviations() -> None:
    assert check_deviations.IN_CODE.findall("x(); // DEVIATION aodv-4: no gratuitous RREP") == ["aodv-4"]
    document = "## tcp-1\n* `dsr-2`: text\n| **olsr-3** | text |\nsee aodv-4\n"
    assert check_deviations.IN_DOCUMENT.findall(document) == ["tcp-1", "dsr-2", "olsr-3"]


def test_places_of_one_machine() -> None:
    base = "/" + "root"
    assert check_paths.PLACES.search(f"see {base}/x")
    assert check_paths.PLACES.search(f'open("{base}")')
    assert not check_paths.PLACES.search(f"a path{base}/x, https://example.org{base}")


def test_every_attack_names_tests_that_exist() -> None:
    text = """\
| attack | test of the crate |
|---|---|
| reads | `known`, `other::known` |
| writes | `absent` and `known` |
| lists | |
| links | `known` (multihop-cli) |
| floods | not prevented |

| attack | by |
|---|---|
| is no row | of such a table |
"""
    rows = list(check_threats.attacks(text))
    assert [attack for attack, _ in rows] == ["reads", "writes", "lists", "links", "floods"]
    tests = {"multihop-net": {"known"}, "multihop-cli": set[str]()}
    assert check_threats.problems(rows, tests.__getitem__) == [
        "writes: there is no test absent in multihop-net",
        'lists: names no test, allowed: names of tests, or "not prevented"',
        "links: there is no test known in multihop-cli",
    ]
