#!/usr/bin/env python3
"""Check that doc comments of crates/*/src, Python packages and tools are understood without neighbours.

A comment is refused if its first sentence begins with words that point elsewhere (OPENINGS), or if that
sentence has fewer than MIN_WORDS words and shares none with the signature beyond the item's name. Comments
that cannot be written otherwise are listed in check_comments.toml, each with a reason.

python3 tools/check_comments.py                         check all comments
python3 tools/check_comments.py --sample 150 --seed 7   print comments of crates drawn at random
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import tree

EXCEPTIONS = Path(__file__).with_suffix(".toml")
MAX_EXCEPTIONS = 40
MIN_WORDS = 4
GENERATED = {Path("python/multihop/settings.py")}
"""Files whose docstrings are written elsewhere."""

OPENINGS = {
    "The same": "say in full what this item is, and name the other item where they differ",
    "That": "name the thing instead of pointing at it",
    "Those": "name the things instead of pointing at them",
    "Of the": "begin with the noun: the number, time or address of ...",
    "What": "begin with a noun: the configuration, reason, outcome or bytes of ...",
    r"None[.,:;]": "say what always holds and why: always returns `None`, because ...",
    "Likewise": "say in full what this item is",
    "As above": "say in full what this item is",
    "Also": "say in full what this item does",
}
SHORT = "say what the item is, with its unit, its bounds and why"

# Words of a signature that say nothing about it, and words of a comment that are no nouns.
PLAIN = """
a an and any are as async at bool box by char const copy crate default def dyn else enum extern
false fn for from i128 i16 i32 i64 i8 if impl in int into is isize it its let mod move mut no none
not of on option or pub ref result return self some static str string struct super the to trait true
type u128 u16 u32 u64 u8 union unsafe usize use vec where which with
"""
FLUFF = re.compile(r"\]\([^)]*\)|\]\[[^]]*\]|\{[a-z]+\}|[`*\[\]<>\"]")
SENTENCE = re.compile(r"(?:[^.!?]|[.!?](?!\s|$)|(?<=\be\.g)\.|(?<=\bi\.e)\.)+[.!?]?")
WORD = re.compile(r"[A-Za-z0-9][\w.'-]*")
PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
DOC = re.compile(r"(?:^[ \t]*///(?!/)[^\n]*\n)+|(?:^[ \t]*//![^\n]*\n)+", re.MULTILINE)
ITEM = re.compile(
    r"(?:pub(?:\([^)]*\))?\s+)?(?:(?:default|async|unsafe|const|extern|\"C\")\s+)*"
    r"(?:(?:fn|struct|enum|trait|mod|union|type|const|static|macro_rules!)\s+(?:mut\s+)?)?(?:r#)?(\w+)"
)
CONTAINER = re.compile(r"( *)(?:pub(?:\([^)]*\))? )?(?:unsafe )?(?:impl\b.*?(?:<.*?> )?|\w+ )(\w+)[^;]*\{$")
PLAIN_WORDS = frozenset(PLAIN.split())


@dataclass(frozen=True)
class Comment:
    """The doc comment of one item, with the text of its signature."""

    path: Path
    line: int
    item: str
    text: str
    signature: str


def main() -> int:
    """Print refused comments and exceptions that no comment needs, or a sample of comments."""
    parser = argparse.ArgumentParser(description="check that doc comments are understood without neighbours")
    parser.add_argument("--sample", type=int, metavar="N", help="print N comments of crates drawn at random")
    parser.add_argument("--seed", type=int, default=0, help="seed of the draw (default: 0)")
    options = parser.parse_args()
    comments = [comment for path in sources() for comment in comments_of(path, read(path))]
    if options.sample is not None:
        print("\n\n".join(sample(comments, options.sample, options.seed)))
        return 0
    exceptions = tomllib.loads(read(EXCEPTIONS.relative_to(tree.ROOT))).get("exception", [])
    found = problems(comments, exceptions)
    print("\n".join(found) or f"{len(comments)} doc comments, {len(exceptions)} exceptions")
    return 1 if found else 0


def sample(comments: Sequence[Comment], number: int, seed: int) -> list[str]:
    """Place, text and signature of comments of crates drawn at random; equal seeds draw equal comments."""
    of_crates = [comment for comment in comments if comment.path.parts[0] == "crates"]
    drawn = random.Random(seed).sample(of_crates, number)
    return [f"{c.path}:{c.line} {c.item}\n{c.text.strip()}\n    {c.signature}" for c in drawn]


def sources() -> list[Path]:
    """Paths of the files whose comments are checked."""
    return [path for path in tree.files() if is_checked(path) and path not in GENERATED]


def is_checked(path: Path) -> bool:
    """Whether a path is a source file of a crate, of a Python package or of tools, and no test."""
    match path.parts:
        case ("crates", _, "src", *_):
            return path.suffix == ".rs"
        case ("python", "multihop", *_) | ("papers", "multihop_papers", *_) | ("tools", *_):
            return path.suffix in (".py", ".pyi") and "tests" not in path.parts
    return False


def read(path: Path) -> str:
    """Contents of a file of the project."""
    return (tree.ROOT / path).read_text(encoding="utf-8")


def problems(comments: Sequence[Comment], exceptions: Sequence[dict[str, str]]) -> list[str]:
    """One line for every refused comment, and for every exception without a reason or a comment."""
    found = {}
    for comment in comments:
        sentence = first_sentence(comment.text)
        if fault := fault_of(sentence, comment):
            head = f'{comment.path}:{comment.line}: {comment.item}: "{sentence}"'
            found[comment] = f"{head} {fault}"
    lines = []
    allowed = {(e.get("path"), e.get("item")) for e in exceptions if e.get("reason")}
    needed = {(str(comment.path), comment.item) for comment in found}
    for e in exceptions:
        key = e.get("path"), e.get("item")
        if key not in allowed:
            lines.append(f"{EXCEPTIONS.name}: {key[0]}, {key[1]}: write a reason")
        elif key not in needed:
            lines.append(
                f"{EXCEPTIONS.name}: {key[0]}, {key[1]}: no such comment is refused; remove the exception"
            )
    if len(exceptions) > MAX_EXCEPTIONS:
        lines.append(f"{EXCEPTIONS.name}: {len(exceptions)} exceptions; allowed: {MAX_EXCEPTIONS}")
    return lines + [line for c, line in found.items() if (str(c.path), c.item) not in allowed]


def fault_of(sentence: str, comment: Comment) -> str | None:
    """Describes why a first sentence is refused and what to write instead; `None` if it is accepted."""
    for opening, advice in OPENINGS.items():
        if re.match(rf"{opening}\b", sentence):
            return f'begins with "{opening}": {advice}'
    words = WORD.findall(sentence)
    if len(words) >= MIN_WORDS:
        return None
    nouns = parts(comment.signature) - parts(comment.item.rsplit("::")[-1])
    if any(alike(word, noun) for word in parts(sentence) for noun in nouns):
        return None
    return f"has fewer than {MIN_WORDS} words and none of the signature's beyond its name: {SHORT}"


def first_sentence(text: str) -> str:
    """The first sentence of a comment without its markup."""
    paragraph = " ".join(text.strip().split("\n\n")[0].split())
    found = SENTENCE.match(FLUFF.sub("", paragraph))
    return found[0].strip() if found else ""


def parts(text: str) -> set[str]:
    """Words of a name, a signature or a sentence in lower case, without those that say nothing."""
    return {part.lower() for part in PART.findall(text)} - PLAIN_WORDS


def alike(word: str, noun: str) -> bool:
    """Whether two words are the same, or one abbreviates the other: address and addr."""
    shorter = min(len(word), len(noun))
    return word == noun or (shorter >= 3 and word[:shorter] == noun[:shorter])


def comments_of(path: Path, text: str) -> Iterator[Comment]:
    """All doc comments of a file."""
    return rust_comments(path, text) if path.suffix == ".rs" else python_comments(path, text)


def rust_comments(path: Path, text: str) -> Iterator[Comment]:
    """Doc comments of a Rust file: `///` with the item that follows, `//!` with the module."""
    line, place = 1, 0
    for found in DOC.finditer(text):
        line += text.count("\n", place, found.start())
        place = found.start()
        words = "\n".join(row.strip()[3:].strip() for row in found[0].splitlines())
        if found[0].lstrip().startswith("//!"):
            name = path.stem if path.stem not in ("mod", "lib", "main") else path.parts[-2]
            yield Comment(path, line, name if found.start() < 500 else "module", words, "")
            continue
        signature = signature_after(text, found.end())
        named = ITEM.match(signature)
        indent = len(found[0]) - len(found[0].lstrip())
        item = outer(text, found.start(), indent) + (named[1] if named else signature.split("(")[0])
        yield Comment(path, line, item, words, signature)


def signature_after(text: str, start: int) -> str:
    """The declaration that begins at a place, without attributes, comments and body."""
    while skipped := re.compile(r"\s*(?:#\[(?:[^][]|\[[^][]*\])*\]|//[^\n]*\n)\s*").match(text, start):
        start = skipped.end()
    depth = 0
    for end in range(start, len(text)):
        match text[end]:
            case "(" | "[" | "<":
                depth += 1
            case ")" | "]":
                depth -= 1
            case ">" if text[end - 1] not in "-=":
                depth -= 1
            case "{" | ";":
                break
            case "," | "=" if depth == 0 and text[end : end + 2] != "=>":
                break
        if depth < 0:
            break
    return text[start:end].strip()


def outer(text: str, end: int, indent: int) -> str:
    """`Type::` of an indented item, from the nearest line above that is indented less; else nothing."""
    while indent and (start := text.rfind("\n", 0, end - 1) + 1) < end:
        row, end = text[start : end - 1], start
        if row.strip() and len(row) - len(row.lstrip()) < indent:
            found = CONTAINER.match(row)
            return f"{found[2]}::" if found else ""
        if start == 0:
            break
    return ""


def python_comments(path: Path, text: str) -> Iterator[Comment]:
    """Docstrings of a Python module, its classes and functions, and strings after assignments."""
    rows = text.splitlines()

    def visit(
        node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, item: str
    ) -> Iterator[Comment]:
        before: ast.stmt | None = None
        for number, child in enumerate(node.body):
            if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
                words = child.value.value
                if isinstance(words, str) and number == 0:
                    first = node.body[0].lineno - 1
                    signature = (
                        "" if isinstance(node, ast.Module) else "\n".join(rows[node.lineno - 1 : first])
                    )
                    yield Comment(path, child.lineno, item, ast_text(words), signature)
                elif isinstance(words, str) and isinstance(before, (ast.Assign, ast.AnnAssign)):
                    target = before.target if isinstance(before, ast.AnnAssign) else before.targets[0]
                    signature = "\n".join(rows[before.lineno - 1 : before.end_lineno])
                    yield Comment(path, child.lineno, ast.unparse(target), ast_text(words), signature)
            elif isinstance(child, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                inside = f"{node.name}::" if isinstance(node, ast.ClassDef) else ""
                yield from visit(child, inside + child.name)
            before = child

    yield from visit(ast.parse(text), path.stem)


def ast_text(words: str) -> str:
    """A docstring with the indentation of its lines removed."""
    return "\n".join(row.strip() for row in words.strip().splitlines())


if __name__ == "__main__":
    sys.exit(main())
