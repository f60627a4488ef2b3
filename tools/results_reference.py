"""Tables of the keys of results, from the doc comments of the structs that are written as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import tree

SOURCE = tree.ROOT / "crates" / "multihop-sim" / "src" / "results.rs"
ROOT = "RunResult"
STRUCT = re.compile(
    r"((?:^///[^\n]*\n)+)(?:^#\[[^\n]*\n)*^pub (struct|enum) (\w+) \{\n(.*?)^\}", re.DOTALL | re.MULTILINE
)
FIELD = re.compile(
    r"((?:^ {4}///[^\n]*\n)+)(?:^ {4}#\[[^\n]*\n)*^ {4}(?:pub )?(\w+)(?:: |\()(.*?)\)?,$", re.MULTILINE
)
LINK = re.compile(r"\[`(\w+)::(\w+)`\]")


@dataclass(frozen=True)
class Struct:
    """A struct, or an enumeration of structs: what it is, and its fields with texts and types."""

    about: str
    is_choice: bool
    fields: list[tuple[str, str, str]]


def reference(source: str) -> str:
    """A table for each table of the JSON document, the outermost first."""
    structs = dict(structs_of(source))
    titles = {ROOT: "The document"}
    sections = list(sections_of(ROOT, structs, titles))
    return "\n".join(LINK.sub(lambda link: f"`{titles[link[1]]}.{link[2]}`", text) for text in sections)


def structs_of(source: str) -> Iterator[tuple[str, Struct]]:
    """The structs of a source text by name."""
    for about, word, name, body in STRUCT.findall(source):
        fields = [(field, sentence(text), kind) for text, field, kind in FIELD.findall(body)]
        yield name, Struct(sentence(about), word == "enum", fields)


def sections_of(name: str, structs: dict[str, Struct], titles: dict[str, str]) -> Iterator[str]:
    """The sections of a struct and of those inside it that have none yet; `titles` gets their titles."""
    struct = structs[name]
    heading = titles[name] if name == ROOT else f"`{titles[name]}`"
    rows = [f"| `{field}` | {text} |" for field, text, _ in struct.fields]
    if not struct.is_choice:
        yield "\n".join([f"### {heading}", "", struct.about, "", "| key | meaning |", "|---|---|", *rows, ""])
    for field, _, kind in struct.fields:
        for inner in (word for word in re.findall(r"\w+", kind) if word in structs and word not in titles):
            key = field + ("[]" if kind.startswith("Vec") else "")
            path = key if name == ROOT else f"{titles[name]}.{key}"
            titles[inner] = f"{titles[name]} {field.lower()}" if struct.is_choice else path
            yield from sections_of(inner, structs, titles)


def sentence(comment: str) -> str:
    """The text of a doc comment as a cell of a table."""
    lines = (line.strip().removeprefix("///").strip() for line in comment.splitlines())
    return " ".join(lines).replace("|", "\\|")
