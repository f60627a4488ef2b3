#!/usr/bin/env python3
"""Print sentences of documents, help texts or error messages, drawn at random, to be read alone.

    python3 tools/sample_sentences.py documents --seed 7       pages that are written by hand
    python3 tools/sample_sentences.py help -n 60 --seed 7      help texts in docs/commands.md
    python3 tools/sample_sentences.py errors -n 60 --seed 7    messages in the Rust and Python sources
    python3 tools/sample_sentences.py generated --longer 30    long sentences that programs write into pages

Cells of tables and messages count from three words on; a cell follows its column and row in brackets.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import count_words

MIN_WORDS = 3
COMMANDS = Path("docs/commands.md")
FENCE = re.compile(r"^( *)```.*?^\1``` *$", re.DOTALL | re.MULTILINE)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
END = re.compile(
    r"(?<![ .][A-Z]\.)"
    r"(?:(?<=[^.\d][.!?])[)*\"]*\s+(?=`|[*\[(\"]*[A-Z0-9])|(?<=\w[.!?])\s+(?=`|[*\[(\"]*[A-Z]))"
)
CLAIM = re.compile(r"(?:NOT )?HELD[ :]|NOT [A-Z]+[ :]")
"""A claim of a page of results: its verdict, text and numbers."""
START_OF_ITEM = re.compile(r"\s*([*+-]|\d+\.|#+|>) ")
TITLES = re.compile(r"(Arguments|Commands|\w*\s?[Oo]ptions|Usage):|Usage: ")
OPTION = re.compile(r" {2,6}(-|<|\[)\S.*|  [a-z][a-z-]+  .*")
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
REFUSAL = re.compile(
    r"#\[error\(|CommandError::(?:Usage|Other)\(|\bFault::\w+\(|\brefuse\(|Problems::of_file\("
    r"|\bbail!\(|\banyhow!\(|\bcontext\(",
)
STATED = re.compile(r"\b(found|allowed)\b.*[:{]")
PACKAGES = ("python/multihop", "papers/multihop_papers")
EXITS = ("parser.error", "sys.exit")
"""Calls of Python that end a program with a message."""
REACH = 400
"""Characters after the name of a call, in which its message begins."""


class Unit(NamedTuple):
    """A sentence, or a cell of a table, and its place."""

    file: Path
    line: int
    text: str


def main() -> int:
    """Print a sample of one kind of text."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("kind", choices=sorted(KINDS))
    parser.add_argument("-n", "--number", type=int, default=150, help="number of sentences; default 150")
    parser.add_argument("--seed", type=int, default=1, help="seed of the sample; default 1")
    parser.add_argument(
        "--longer", type=int, default=0, metavar="WORDS", help="only sentences that have more words"
    )
    options = parser.parse_args()
    units = [unit for unit in KINDS[options.kind]() if count_words.words(unit.text) > options.longer]
    drawn = random.Random(options.seed).sample(units, min(options.number, len(units)))
    print("\n\n".join(f"{unit.file}:{unit.line}\n{unit.text}" for unit in drawn))
    return 0


def of_documents() -> Iterator[Unit]:
    """Units of the pages that are written by hand."""
    for page in count_words.pages(count_words.ROOT):
        if count_words.section_of(page) != "results":
            yield from document(page, (count_words.ROOT / page).read_text(encoding="utf-8"))


def of_help() -> Iterator[Unit]:
    """Units of the help texts of all commands; a text of several commands counts once."""
    seen: set[str] = set()
    for unit in help_texts(COMMANDS, (count_words.ROOT / COMMANDS).read_text(encoding="utf-8")):
        if unit.text not in seen:
            seen.add(unit.text)
            yield unit


def of_errors() -> Iterator[Unit]:
    """Messages of errors in the sources of all crates and Python packages."""
    root = count_words.ROOT
    for path in sorted((root / "crates").glob("*/src/**/*.rs")):
        if "test" not in path.name:
            yield from errors(path.relative_to(root), path.read_text(encoding="utf-8"))
    for folder in PACKAGES:
        for path in sorted((root / folder).rglob("*.py")):
            yield from python_errors(path.relative_to(root), path.read_text(encoding="utf-8"))


def of_generated() -> Iterator[Unit]:
    """Sentences of pages of results, and of generated parts of other pages; cells and claims do not count."""
    for page in count_words.pages(count_words.ROOT):
        text = (count_words.ROOT / page).read_text(encoding="utf-8")
        made = [text] if count_words.section_of(page) == "results" else count_words.MADE.findall(text)
        for part in made:
            plain = blank(COMMENT, blank(FENCE, part))
            for unit in sentences(page, paragraphs(plain)):
                if not unit.text.startswith("[") and not CLAIM.match(unit.text):
                    yield unit


KINDS = {"documents": of_documents, "help": of_help, "errors": of_errors, "generated": of_generated}


def document(page: Path, text: str) -> Iterator[Unit]:
    """Sentences and cells of a page, without code, comments and generated text."""
    for pattern in (count_words.MADE, FENCE, COMMENT):
        text = blank(pattern, text)
    yield from sentences(page, paragraphs(text))


def blank(pattern: re.Pattern[str], text: str) -> str:
    """A text in which every match is replaced by its line breaks, so that lines keep their numbers."""
    return pattern.sub(lambda found: "\n" * found[0].count("\n"), text)


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Paragraphs, items and cells, with the number of their first line."""
    start, block = 0, ""
    heads: list[str] = []
    for number, line in enumerate([*text.splitlines(), ""], 1):
        item = START_OF_ITEM.match(line)
        cells = line.lstrip().startswith("|")
        if block and (item or cells or not line.strip()):
            yield start, block
            block = ""
        if cells:
            heads = yield from row(number, line, heads)
            continue
        heads = []
        if line.strip():
            start = start if block else number
            block = f"{block} {line[item.end() :] if item else line}".strip()


def row(number: int, line: str, heads: list[str]) -> Generator[tuple[int, str], None, list[str]]:
    """Cells of a row of a table, each after its column and row in brackets; returns the columns."""
    cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
    if not heads:
        return cells
    for head, cell in zip(heads, cells, strict=False):
        if is_long(cell):
            yield number, f"[{head}: {cells[0]}] {cell}" if cell != cells[0] else f"[{head}] {cell}"
    return heads


def help_texts(page: Path, text: str) -> Iterator[Unit]:
    """Sentences of the outputs of --help, without usage lines and names of options."""
    for output in re.finditer(r"<!-- prints: [^\n]*--help -->\n\n```\n(.*?)```\n", text, re.DOTALL):
        first = text.count("\n", 0, output.start(1)) + 1
        yield from sentences(page, descriptions(first, output[1]))


def descriptions(first: int, output: str) -> Iterator[tuple[int, str]]:
    """Descriptions in the output of --help, with the number of their first line."""
    start, block = first, ""
    for number, line in enumerate([*output.splitlines(), ""], first):
        is_title, is_option = TITLES.match(line), OPTION.match(line)
        if block and (is_title or is_option or not line.strip()):
            yield start, block
            block = ""
        if is_option:
            start, block = number, re.sub(r"^ *\S.*?(  +|$)", "", line)
        elif line.strip() and not is_title:
            start = start if block else number
            block = f"{block} {line.strip()}".strip()


def errors(file: Path, text: str) -> Iterator[Unit]:
    """Messages of a Rust file, up to its tests."""
    text = text.partition("\n#[cfg(test)]")[0]
    text = re.sub(r"^ *//.*$", "", text, flags=re.MULTILINE)
    calls = [found.end() for found in REFUSAL.finditer(text)]
    for found in LITERAL.finditer(text):
        message = re.sub(r"\\\n\s*", "", found[1])
        near = any(
            0 <= found.start() - call < REACH and ";" not in text[call : found.start()] for call in calls
        )
        if is_long(message) and "\n" not in message and (near or STATED.search(message)):
            yield Unit(file, text.count("\n", 0, found.start()) + 1, message)


def python_errors(file: Path, text: str) -> Iterator[Unit]:
    """Messages of exceptions and exits in a Python file, with expressions in braces."""
    for node in ast.walk(ast.parse(text)):
        call = node.exc if isinstance(node, ast.Raise) else node
        if not isinstance(call, ast.Call) or not call.args:
            continue
        if call is node and ast.unparse(call.func) not in EXITS:
            continue
        message = " ".join(message_of(call.args[0]).split())
        if is_long(message):
            yield Unit(file, call.lineno, message)


def message_of(argument: ast.expr) -> str:
    """The text of a literal or of a formatted string; empty for other expressions."""
    match argument:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(
                f"{{{ast.unparse(part.value)}}}" if isinstance(part, ast.FormattedValue) else message_of(part)
                for part in parts
            )
    return ""


def sentences(file: Path, blocks: Iterable[tuple[int, str]]) -> Iterator[Unit]:
    """Sentences of blocks of text; a cell of a table is not divided."""
    for line, block in blocks:
        for sentence in [block] if block.startswith("[") else END.split(block):
            if sentence and is_long(sentence):
                yield Unit(file, line, sentence.strip())


def is_long(text: str) -> bool:
    """True from MIN_WORDS words on."""
    return count_words.words(text) >= MIN_WORDS


if __name__ == "__main__":
    raise SystemExit(main())
