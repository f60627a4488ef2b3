"""The reference of scenario files."""

import re
from pathlib import Path

import pytest

import multihop
import quantity_reference
import rust_reference
import scenario_reference
import tree

STRUCTS = """\
/// One run.
#[derive(Serialize)]
pub struct RunResult {
    /// Flows; see [`Flow::rate`].
    #[serde(default)]
    pub flows: Vec<Flow>,
    /// Kind of traffic; `None` without flows.
    pub kind: Option<Kind>,
    /// Costs.
    #[serde(flatten)]
    pub costs: Costs,
}

/// One flow.
pub struct Flow {
    /// Bytes | time,
    /// in kb/s.
    pub rate: f64,
}

/// Kinds of traffic.
pub enum Kind {
    /// Calls.
    Voice(Voice),
}

/// One call.
pub struct Voice {
    /// Opinion score.
    pub mos: f64,
}

/// Costs of a run.
pub struct Costs {
    /// Time on the air.
    pub airtime: f64,
}

/// A configuration.
pub struct Config {
    /// Interval between messages, s.
    ///
    /// A reason.
    #[key(1..=9)]
    pub interval: u32,
    /// Family of addresses.
    #[key(
        name = "ipv6",
        help = "Whether addresses are those of IPv6.",
        with = Self::family_key
    )]
    pub family: Family,
    /// State that is no key.
    pub state: u32,
}

/// Inputs of an agent.
pub enum Input {
    /// A packet arrived; `None` is text.
    Packet(Routable),
    /// A message arrived after [`Output::Purge`].
    Message {
        /// Sender of the message.
        from: Ipv4Addr,
        /// Its time to live.
        ttl: u8,
    },
}

/// A message of a protocol.
pub trait CustomMessage: Any + Send {
    /// Bytes that [`emit`](Self::emit) appends, if the agent [wants them](Agent::wants).
    fn wire_len(&self) -> usize;
}
"""


def test_the_tables_of_the_document_are_those_of_the_schema() -> None:
    text = scenario_reference.DOCUMENT.read_text(encoding="utf-8")
    tables = scenario_reference.reference(multihop.schema())
    assert scenario_reference.insert(text, tables) == text, "run tools/scenario_reference.py"


def test_every_key_has_its_bounds_default_and_meaning() -> None:
    tables = scenario_reference.reference(multihop.schema())
    assert "| `capture_db` | 0 to 200 | `10` | Ratio of powers with which the first frame survives" in tables
    assert "| `hops` | whole number, 1 to 99999 | required | Number of links; " in tables
    assert '| `short_retry` | whole number, 1 to 1000000 or `"off"` | `7` |' in tables
    assert "### `[[flow]]`" in tables
    assert "### `radio.fading` with kind `rician`" in tables


@pytest.mark.parametrize("name", rust_reference.DOCUMENTS)
def test_the_tables_of_structs_are_those_of_the_source(name: str) -> None:
    text = (tree.ROOT / name).read_text(encoding="utf-8")
    assert "<!-- made by tools/rust_reference.py: " in text
    assert rust_reference.document(name, text) == text, "run tools/rust_reference.py"


def test_a_document_has_a_table_for_each_struct() -> None:
    structs = dict(rust_reference.structs_of(STRUCTS))
    tables = rust_reference.tables("RunResult", structs)
    assert [line for line in tables.splitlines() if line.startswith("#")] == [
        "### `flows[]`",
        "### `kind voice`",
    ]
    assert "| `flows` | Flows; see `flows[].rate`. |" in tables
    assert "| `rate` | Bytes \\| time, in kb/s. |" in tables
    assert "| `kind` | Kind of traffic; `null` without flows. |\n| `airtime` | Time on the air. |" in tables


def test_a_configuration_has_a_row_for_each_key() -> None:
    structs = dict(rust_reference.structs_of(STRUCTS))
    assert rust_reference.tables("Config", structs) == (
        "| key | meaning |\n|---|---|\n"
        "| `interval` | Interval between messages, s. |\n"
        "| `ipv6` | Whether addresses are those of IPv6. |\n"
    )


def test_interfaces_have_a_row_for_each_variant_and_method() -> None:
    interfaces = dict(rust_reference.interfaces_of(STRUCTS))
    assert interfaces["Input"] == (
        "| value | meaning |\n|---|---|\n"
        "| `Packet(Routable)` | A packet arrived; `None` is text. |\n"
        "| `Message { from, ttl }` | A message arrived after `Output::Purge`. |\n"
    )
    assert interfaces["CustomMessage"] == (
        "| method | meaning |\n|---|---|\n"
        "| `wire_len` | Bytes that `emit` appends, if the agent wants them (`Agent::wants`). |\n"
    )


def test_every_series_of_a_transport_has_a_row() -> None:
    table = quantity_reference.table()
    names = set(re.findall(r"^\| `(\w+)` \| \w* \| .+ \| .+\. \|$", table, re.MULTILINE))
    words = set(multihop.schema()["properties"]["record"]["properties"]["what"]["items"]["enum"])
    assert words - names == {"goodput", "hops", "queue", "shortest"}
    assert names <= words


@pytest.mark.parametrize(
    ("path", "root"),
    [
        ("multihop-sim/src/results.rs", "RunResult"),
        ("multihop-emulate/src/lateness.rs", "EmulationResult"),
    ],
)
def test_every_key_of_a_document_has_a_row(path: str, root: str) -> None:
    source = (rust_reference.CRATES / path).read_text(encoding="utf-8")
    tables = rust_reference.tables(root, dict(rust_reference.structs_of(source)))
    for name in re.findall(r"^    pub (\w+): ", source, re.MULTILINE):
        assert f"| `{name}` | " in tables, name


def test_only_what_lies_between_the_marks_is_replaced() -> None:
    begin, end = scenario_reference.BEGIN, scenario_reference.END
    text = f"a\n{begin}\nold\n{end}\nb\n"
    assert scenario_reference.insert(text, "new\n") == f"a\n{begin}\n\nnew\n\n{end}\nb\n"


def test_the_bytes_of_a_comment_are_below_the_heading_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ["Segments.", "", "# Bytes", "", "One *byte* (`docs/a.md#b`).", "", "## Header", ""]
    lines += ["```text", "00", "```"]
    comment = "".join(f"//! {line}".rstrip() + "\n" for line in lines)
    (tmp_path / "tpa.rs").write_text(comment + "\nuse core::fmt;\n", encoding="utf-8")
    monkeypatch.setattr(rust_reference, "CRATES", tmp_path)
    begin, end = "<!-- made by tools/rust_reference.py: bytes of tpa.rs -->\n", "<!-- end -->\n"
    head = "a\n\n## TPA\n\n```sh\n# a comment\n```\n\n"
    page = rust_reference.document("docs/wire.md", f"{head}{begin}old\n{end}b\n")
    section = "Code: `crates/tpa.rs`\n\nOne [byte](a.md#b).\n\n### Header\n\n```\n00\n```\n"
    assert page == f"{head}{begin}\n{section}\n{end}b\n"


LINK_TO_A_FILE = re.compile(
    r"^\s*//[/!].*\](?:\(|: )(?!https?://|#)[^)\s]*(?:/|\.md|\.html)|^(?!\s*//).*\]\((?!https://|#)[^)\s]*/"
)
"""A link in a doc comment or a README that leads to a file of the repository."""


@pytest.mark.parametrize(
    ("line", "is_dead"),
    [
        ("//! | 9 | about [keys](docs/wire.md#keys) |", True),
        ("/// As in [TPA](../tpa.md).", True),
        ("//! [TPA]: ../../docs/tpa.md", True),
        ("See [the guide](docs/guide.md).", True),
        ("/// [`Data`](crate::Data) of [RFC 793](https://www.rfc-editor.org/rfc/rfc793#section-3).", False),
        ("//! A message about *keys* (`docs/wire.md#keys`).", False),
    ],
)
def test_links_that_would_be_dead_on_docs_rs_are_found(line: str, is_dead: bool) -> None:
    assert bool(LINK_TO_A_FILE.search(line)) == is_dead


def test_no_comment_or_readme_of_a_crate_links_to_a_file() -> None:
    paths = [path for path in tree.files() if path.parts[0] == "crates" and path.suffix in (".rs", ".md")]
    assert len(paths) > 500
    dead = [
        f"{path}:{number}"
        for path in paths
        for number, line in enumerate((tree.ROOT / path).read_text(encoding="utf-8").splitlines(), 1)
        if (path.suffix == ".md" or line.lstrip().startswith("//")) and LINK_TO_A_FILE.search(line)
    ]
    assert dead == []
