"""The reference of scenario files."""

import multihop
import scenario_reference


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
    assert '### `radio.fading` with `kind = "rician"`' in tables


def test_only_what_lies_between_the_marks_is_replaced() -> None:
    begin, end = scenario_reference.BEGIN, scenario_reference.END
    text = f"a\n{begin}\nold\n{end}\nb\n"
    assert scenario_reference.insert(text, "new\n") == f"a\n{begin}\n\nnew\n\n{end}\nb\n"
