#!/usr/bin/env python3
"""Write tables of JSON documents, configurations and Rust interfaces from the doc comments of their types.

A table stands between `<!-- made by tools/rust_reference.py: TYPE -->` and `<!-- end -->`. TYPE is a struct
of a JSON document, a configuration, a trait, an enumeration of inputs, outputs or events, or `Quantity` for
all quantities that built-in transports declare. A first comment of a file in `crates`, behind its line
`//! # Bytes`, stands between `<!-- made by tools/rust_reference.py: bytes of FILE -->` and `<!-- end -->`;
those behind `# Format` and `# Rights` likewise. The comment names a page as *words* (`docs/wire.md#keys`),
because a link would lead nowhere on docs.rs; in the document the words are a link. With `--check` the script
changes nothing and exits with 1 if it would.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import quantity_reference
import tree

CRATES = tree.ROOT / "crates"
# The sources of the types of each document.
DOCUMENTS = {
    "docs/scenarios.md": ["multihop-sim/src/results.rs"],
    "docs/route.md": [
        *("multihop-route/src/" + name for name in ("config.rs", "status.rs", "links.rs", "delay.rs")),
        *("multihop-route/src/router/" + name for name in ("mod.rs", "on_demand.rs")),
    ],
    "docs/models/net.md": ["multihop-hub/src/config.rs"],
    "docs/air.md": ["multihop-air/src/result.rs", "multihop-sim/src/live/lateness.rs"],
    "docs/emulation.md": ["multihop-emulate/src/lateness.rs", "multihop-sim/src/live/lateness.rs"],
    "docs/net-programs.md": ["multihop-cli/src/net/perf_document.rs"],
    "docs/control.md": ["multihop-sim/src/live/counters.rs"],
    "docs/security.md": [],
    "docs/wire.md": [],
    "docs/extending.md": [
        *(
            "multihop-transport/src/" + name
            for name in ("connection/mod.rs", "congestion/control.rs", "event.rs")
        ),
        *("multihop-routing/src/" + name for name in ("agent.rs", "message.rs")),
    ],
}
BLOCK = re.compile(
    r"(<!-- made by tools/rust_reference\.py: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL | re.MULTILINE
)
COMMENT = re.compile(
    r"(<!-- made by tools/rust_reference\.py: (bytes|format|rights) of (\S+) -->\n).*?(<!-- end -->)",
    re.DOTALL,
)
STRUCT = re.compile(
    r"((?:^///[^\n]*\n)+)(?:^#\[[^\n]*\n)*^pub(?:\(crate\))? (struct|enum) (\w+) \{\n(.*?)^\}",
    re.DOTALL | re.MULTILINE,
)
FIELD = re.compile(
    r"((?:^ {4}///[^\n]*\n)+)"
    r"((?:^ {4}#\[[^\n]*\n(?:^ {8}[^\n]*\n|^ {4}\)\]\n)*)*)"
    r"^ {4}(?:pub(?:\(crate\))? )?(\w+)(?:: |\()(.*?)\)?,$",
    re.MULTILINE,
)
TRAIT = re.compile(r"^pub trait (\w+)[^\n]*\{\n(.*?)^\}", re.DOTALL | re.MULTILINE)
METHOD = re.compile(r"((?:^ {4}///[^\n]*\n)+)(?:^ {4}#\[[^\n]*\n)*^ {4}fn (\w+)", re.MULTILINE)
CHOICE = re.compile(r"^pub enum (\w+) \{\n(.*?)^\}", re.DOTALL | re.MULTILINE)
VARIANT = re.compile(
    r"((?:^ {4}///[^\n]*\n)+)^ {4}(\w+)(\([^\n]*\)|)(?:,$| \{\n(.*?)^ {4}\},$)", re.DOTALL | re.MULTILINE
)
INNER = re.compile(r"^ {8}(\w+):", re.MULTILINE)
LINK = re.compile(r"\[`(\w+)::(\w+)`\](?:\([\w:]+\))?")
TO_TYPE = re.compile(r"\[([^\]]+)\]\(([\w:]+)\)")
TO_PAGE = re.compile(r"\*([^*]+)\* \(`docs/([^`]+)`\)")
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
            print(f"{name} is older than its structs; run tools/rust_reference.py")
            stale = 1
        elif fresh != text:
            path.write_text(fresh, encoding="utf-8")
    return stale


def document(name: str, text: str) -> str:
    """The text of a document with new tables."""
    source = "\n".join((CRATES / path).read_text(encoding="utf-8") for path in DOCUMENTS[name])
    structs = dict(structs_of(source))
    whole = dict(interfaces_of(source)) | {"Quantity": quantity_reference.table()}
    text = BLOCK.sub(
        lambda block: f"{block[1]}\n{whole.get(block[2]) or tables(block[2], structs)}\n{block[3]}", text
    )
    return COMMENT.sub(
        lambda block: f"{block[1]}\n{comment(block[3], block[2], depth(text, block))}\n\n{block[4]}", text
    )


def depth(text: str, block: re.Match[str]) -> int:
    """Level of the heading above a block. A line of code that begins with `#` is no heading."""
    before = re.sub(r"^```.*?^```", "", text[: block.start()], flags=re.MULTILINE | re.DOTALL)
    return len(re.findall(r"^(#+) ", before, re.MULTILINE)[-1])


def comment(path: str, kind: str, level: int) -> str:
    """Bytes, format or rights that the first comment of a file specifies, below a heading of this level."""
    lines = itertools.takewhile(
        lambda line: line.startswith("//!"), (CRATES / path).read_text(encoding="utf-8").splitlines()
    )
    whole = "\n".join(line.removeprefix("//!").removeprefix(" ") for line in lines)
    text = whole.split(f"# {kind.capitalize()}\n", 1)[1].strip()
    text = TO_PAGE.sub(r"[\1](\2)", text.replace("```text\n", "```\n"))
    source = f"Code: `crates/{path}`\n\n" if kind == "bytes" else ""
    return source + re.sub(r"^##", "#" * (level + 1), text, flags=re.MULTILINE)


def interfaces_of(source: str) -> Iterator[tuple[str, str]]:
    """The tables of the traits, and of the enumerations that are no documents, of a source text."""
    for name, body in TRAIT.findall(source):
        yield name, table("method", [(method, first(text)) for text, method in METHOD.findall(body)])
    for name, body in CHOICE.findall(source):
        rows = []
        for text, variant, values, fields in VARIANT.findall(body):
            inner = ", ".join(INNER.findall(fields))
            rows.append((variant + (f" {{ {inner} }}" if inner else values), first(text)))
        yield name, table("value", rows)


def table(title: str, rows: list[tuple[str, str]]) -> str:
    """A table of names and texts."""
    lines = [f"| `{name}` | {without_links(text)} |" for name, text in rows]
    return "\n".join([f"| {title} | meaning |", "|---|---|", *lines, ""])


def without_links(text: str) -> str:
    """A text whose links to types are names of the types."""
    text = LINK.sub(lambda link: f"`{link[1]}::{link[2]}`", text)
    return TO_TYPE.sub(lambda link: link[1] if link[1][0] == "`" else f"{link[1]} (`{link[2]}`)", text)


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
    text = "\n".join(sections).replace("`None`", "`null`")
    return LINK.sub(lambda link: f"`{titles[link[1]]}.{link[2]}`", text)


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
    return " ".join(lines[:end]).replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
