#!/usr/bin/env python3
"""Write the tables of JSON documents and configurations from the doc comments of their Rust structs.

A table stands between `<!-- made by tools/struct_reference.py: STRUCT -->` and `<!-- end -->`. With `--check`
the script changes nothing and exits with 1 if it would.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import tree

CRATES = tree.ROOT / "crates"
# The sources of the structs of each document.
DOCUMENTS = {
    "docs/scenarios.md": ["multihop-sim/src/results.rs"],
    "docs/route.md": [
        *("multihop-route/src/" + name for name in ("config.rs", "status.rs", "links.rs", "delay.rs")),
        *("multihop-route/src/router/" + name for name in ("mod.rs", "on_demand.rs")),
    ],
    "docs/emulation.md": ["multihop-emulate/src/lateness.rs"],
}
BLOCK = re.compile(
    r"(<!-- made by tools/struct_reference\.py: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL | re.MULTILINE
)
STRUCT = re.compile(
    r"((?:^///[^\n]*\n)+)(?:^#\[[^\n]*\n)*^pub (struct|enum) (\w+) \{\n(.*?)^\}", re.DOTALL | re.MULTILINE
)
FIELD = re.compile(
    r"((?:^ {4}///[^\n]*\n)+)"
    r"((?:^ {4}#\[[^\n]*\n(?:^ {8}[^\n]*\n|^ {4}\)\]\n)*)*)"
    r"^ {4}(?:pub )?(\w+)(?:: |\()(.*?)\)?,$",
    re.MULTILINE,
)
LINK = re.compile(r"\[`(\w+)::(\w+)`\]")
NAME = re.compile(r'name = "(\w+)"')
HELP = re.compile(r'help = "([^"]*)"')


@dataclass(frozen=True)
class Field:
    """A field of a struct, or a variant of an enumeration: text, attributes and type."""

    name: str
    about: str
    attributes: str
    kind: str


@dataclass(frozen=True)
class Struct:
    """A struct, or an enumeration of structs."""

    about: str
    is_choice: bool
    fields: list[Field]


def main(arguments: list[str]) -> int:
    """Rewrite or check the documents."""
    if arguments not in ([], ["--check"]):
        print(f"found {' '.join(arguments)}, allowed: --check", file=sys.stderr)
        return 2
    stale = 0
    for name in DOCUMENTS:
        path = tree.ROOT / name
        text = path.read_text(encoding="utf-8")
        fresh = document(name, text)
        if fresh != text and arguments:
            print(f"{name} is older than its structs; run tools/struct_reference.py")
            stale = 1
        elif fresh != text:
            path.write_text(fresh, encoding="utf-8")
    return stale


def document(name: str, text: str) -> str:
    """The text of a document with new tables."""
    source = "\n".join((CRATES / path).read_text(encoding="utf-8") for path in DOCUMENTS[name])
    structs = dict(structs_of(source))
    return BLOCK.sub(lambda block: f"{block[1]}\n{tables(block[2], structs)}\n{block[3]}", text)


def structs_of(source: str) -> Iterator[tuple[str, Struct]]:
    """The structs of a source text by name."""
    for about, word, name, body in STRUCT.findall(source):
        fields = [Field(field, first(text), kept, kind) for text, kept, field, kind in FIELD.findall(body)]
        yield name, Struct(first(about), word == "enum", fields)


def tables(name: str, structs: dict[str, Struct]) -> str:
    """The table of a configuration, or one for each table of a JSON document, the outermost first."""
    keys = [field for field in structs[name].fields if "#[key" in field.attributes]
    if keys:
        return "\n".join(["| key | meaning |", "|---|---|", *map(key_row, keys), ""])
    titles = {name: ""}
    sections = list(sections_of(name, structs, titles))
    return "\n".join(LINK.sub(lambda link: f"`{titles[link[1]]}.{link[2]}`", text) for text in sections)


def key_row(field: Field) -> str:
    """Row of a key of a configuration."""
    name = NAME.search(field.attributes)
    about = HELP.search(field.attributes)
    return f"| `{name[1] if name else field.name}` | {about[1] if about else field.about} |"


def sections_of(name: str, structs: dict[str, Struct], titles: dict[str, str]) -> Iterator[str]:
    """The sections of a struct and of those inside it that have none yet; `titles` gets their titles."""
    struct = structs[name]
    if not struct.is_choice:
        heading = [f"### `{titles[name]}`", "", struct.about, ""] if titles[name] else []
        yield "\n".join([*heading, "| key | meaning |", "|---|---|", *rows(struct, structs), ""])
    for field in inlined(struct, structs):
        for inner in (
            word for word in re.findall(r"\w+", field.kind) if word in structs and word not in titles
        ):
            many = "[]" if field.kind.startswith("Vec") else ".*" if "Map" in field.kind else ""
            path = f"{titles[name]}.{field.name}{many}".removeprefix(".")
            titles[inner] = f"{titles[name]} {field.name.lower()}" if struct.is_choice else path
            yield from sections_of(inner, structs, titles)


def rows(struct: Struct, structs: dict[str, Struct]) -> Iterator[str]:
    """The rows of a struct."""
    for field in inlined(struct, structs):
        yield f"| `{field.name}` | {field.about} |"


def inlined(struct: Struct, structs: dict[str, Struct]) -> Iterator[Field]:
    """The fields of a struct, and of the structs that are flattened into it."""
    for field in struct.fields:
        if "serde(flatten)" in field.attributes:
            yield from structs[field.kind].fields
        else:
            yield field


def first(comment: str) -> str:
    """The first paragraph of a doc comment as a cell of a table."""
    lines = [line.strip().removeprefix("///").strip() for line in comment.splitlines()]
    end = lines.index("") if "" in lines else len(lines)
    return " ".join(lines[:end]).replace("|", "\\|").replace("`None`", "`null`")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
