"""The reference of scenario files."""

import re

import multihop
import results_reference
import scenario_reference

STRUCTS = """\
/// One run.
#[derive(Serialize)]
pub struct RunResult {
    /// Flows; see [`Flow::rate`].
    #[serde(default)]
    pub flows: Vec<Flow>,
    /// Kind of traffic.
    pub kind: Option<Kind>,
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
"""


def test_the_tables_of_the_document_are_those_of_the_schema() -> None:
    text = scenario_reference.DOCUMENT.read_text(encoding="utf-8")
    assert scenario_reference.document(text, multihop.schema()) == text, "run tools/scenario_reference.py"


def test_every_key_has_its_bounds_default_and_meaning() -> None:
    tables = scenario_reference.reference(multihop.schema())
    assert "| `capture_db` | 0 to 200 | `10` | Ratio of powers with which the first frame survives" in tables
    assert "| `hops` | whole number, 1 to 99999 | required | Number of links; " in tables
    assert '| `short_retry` | whole number, 1 to 1000000 or `"off"` | `7` |' in tables
    assert "### `[[flow]]`" in tables
    assert "### `radio.fading` with kind `rician`" in tables


def test_results_have_a_table_for_each_struct() -> None:
    tables = results_reference.reference(STRUCTS)
    assert [line for line in tables.splitlines() if line.startswith("#")] == [
        "### The document",
        "### `flows[]`",
        "### `kind voice`",
    ]
    assert "| `flows` | Flows; see `flows[].rate`. |" in tables
    assert "| `rate` | Bytes \\| time, in kb/s. |" in tables


def test_every_key_of_results_has_a_row() -> None:
    source = results_reference.SOURCE.read_text(encoding="utf-8")
    tables = results_reference.reference(source)
    for name in re.findall(r"^    pub (\w+): ", source, re.MULTILINE):
        assert f"| `{name}` | " in tables, name


def test_only_what_lies_between_the_marks_is_replaced() -> None:
    begin, end = scenario_reference.BEGIN, scenario_reference.END
    text = f"a\n{begin}\nold\n{end}\nb\n"
    assert scenario_reference.insert(text, begin, "new\n") == f"a\n{begin}\n\nnew\n\n{end}\nb\n"
