"""The sample of sentences that is read alone."""

from pathlib import Path

import pytest

import build
import count_words
import sample_sentences

PAGE = Path("page.md")


def texts(units: object) -> list[str]:
    assert hasattr(units, "__iter__")
    return [unit.text for unit in units]


def test_a_page_has_sentences_items_and_cells_without_code_and_generated_text() -> None:
    text = """# A title here

One first sentence
over two lines. `code` begins this. A second one (RFC 9293) follows.

* an item of the list

| name | its meaning here |
|---|---|
| `one` | a cell of words |
| two | small |

```
no words of code
```
<!-- made by tool.py -->
no generated words here
<!-- end -->
"""
    units = list(sample_sentences.document(PAGE, text))
    assert texts(units) == [
        "A title here",
        "One first sentence over two lines.",
        "`code` begins this.",
        "A second one (RFC 9293) follows.",
        "an item of the list",
        "[its meaning here: `one`] a cell of words",
    ]
    assert [unit.line for unit in units] == [1, 3, 3, 3, 6, 10]


def test_help_texts_have_no_names_of_options() -> None:
    text = """<!-- prints: multihop x --help -->

```
Do a thing with files

Usage: multihop x [OPTIONS]

Options:
      --seed <N>             Seed of the run, in
                             two lines. A default is given
      --a-very-long-option <NAME>
          Text on another line
```
"""
    assert texts(sample_sentences.help_texts(PAGE, text)) == [
        "Do a thing with files",
        "Seed of the run, in two lines.",
        "A default is given",
        "Text on another line",
    ]


@pytest.mark.parametrize(
    "source",
    [
        '#[error("the message of one error")]',
        'CommandError::Usage(format!("the message \\\n    of one error"))',
        'let text = "the message of one error"; return Fault::at_key(k, "the message of one error");',
    ],
)
def test_messages_of_errors_are_found(source: str) -> None:
    tests = '\n#[cfg(test)]\nmod tests { bail!("no message of a test"); }'
    assert texts(sample_sentences.errors(PAGE, source + tests)) == ["the message of one error"]


def test_messages_of_python_are_found() -> None:
    source = """
raise ValueError(f"jobs is {jobs + 1}, allowed: 1")
parser.error("no such kind" " of file")
print("this is no message")
raise KeyError(name)
"""
    assert texts(sample_sentences.python_errors(PAGE, source)) == [
        "jobs is {jobs + 1}, allowed: 1",
        "no such kind of file",
    ]


@pytest.mark.parametrize("kind", sorted(sample_sentences.KINDS))
def test_the_project_has_enough_units_of_each_kind(kind: str) -> None:
    units = list(sample_sentences.KINDS[kind]())
    assert len(units) >= 150
    assert all((build.ROOT / unit.file).is_file() for unit in units[:20])


def test_few_sentences_that_programs_write_are_long() -> None:
    """Sentences of experiments and of their reports have at most 30 words, but for a few."""
    found = list(sample_sentences.of_generated())
    long = [unit for unit in found if count_words.words(unit.text) > 30]
    assert len(found) > 5000
    assert len(long) < 100, "\n".join(f"{unit.file}:{unit.line}: {unit.text}" for unit in long)
