#!/usr/bin/env python3
"""Write the tables of keys in docs/scenarios.md from the schema that reads scenario files.

Run it with `.venv/bin/python tools/scenario_reference.py`. With `--check` it changes nothing and exits
with 1 if it would.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "scenarios.md"
BEGIN = "<!-- made by tools/scenario_reference.py -->"
END = "<!-- end -->"
# Fewer equal keys than this are repeated.
FEW = 4
# A table with so many keys, all of them those of an earlier table, is only named.
MANY = 12

Node = dict[str, Any]


def main(arguments: list[str]) -> int:
    """Rewrite or check the document."""
    import multihop

    text = DOCUMENT.read_text(encoding="utf-8")
    fresh = insert(text, reference(multihop.schema()))
    if arguments == ["--check"]:
        if fresh != text:
            print(f"{DOCUMENT.name} is older than the schema; run tools/scenario_reference.py")
        return 0 if fresh == text else 1
    if arguments:
        print(f"found {' '.join(arguments)}, allowed: --check", file=sys.stderr)
        return 2
    DOCUMENT.write_text(fresh, encoding="utf-8")
    return 0


def insert(text: str, tables: str) -> str:
    """The document with new tables between the marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{tables}\n{END}{after}"


def reference(schema: Node) -> str:
    """A section for each table of the file."""
    return "\n".join(section.markdown() for section in once(Walk(schema).sections("", schema)))


def once(sections: Iterable[Section]) -> Iterator[Section]:
    """The sections; keys with the same description in an earlier section are only named."""
    first: dict[str, str] = {}
    for section in sections:
        shared: dict[str, list[str]] = {}
        for row in section.rows:
            title = first.setdefault(row, section.title)
            if title != section.title:
                shared.setdefault(title, []).append(row)
        yield section.without({title: rows for title, rows in shared.items() if len(rows) >= FEW})


@dataclass
class Section:
    """One table of the file, or its keys for one value of its kind."""

    title: str
    about: str
    rows: list[str] = field(default_factory=list)

    def without(self, shared: dict[str, list[str]]) -> Section:
        """The section with a reference in place of rows that other sections have."""
        about = [self.about]
        for title, rows in shared.items():
            keys = ", ".join(row.split(" | ")[0].removeprefix("| ") for row in rows)
            about.append(f"As in {title}: {'all keys' if rows == self.rows else keys}.")
        dropped = {row for rows in shared.values() for row in rows}
        return Section(self.title, " ".join(about).strip(), [row for row in self.rows if row not in dropped])

    def markdown(self) -> str:
        """Section of the table: heading, sentence and keys."""
        lines = [f"### {self.title}", ""]
        if self.about:
            lines += [self.about, ""]
        if self.rows:
            lines += ["| key | allowed | default | meaning |", "|---|---|---|---|", *self.rows, ""]
        return "\n".join(lines)


class Walk:
    """Walks through a schema, from the file to its innermost tables."""

    def __init__(self, schema: Node) -> None:
        self.definitions: Node = schema.get("$defs", {})
        self.titles: dict[tuple[str, ...], str] = {}
        """Sections of large tables by their keys."""

    def sections(self, path: str, node: Node, about: str = "", *, many: bool = False) -> Iterator[Section]:
        """The section of a table, of its kinds, and of the tables below it."""
        parts = self.parts(node)
        keys = {name: key for part in parts for name, key in part.get("properties", {}).items()}
        required = {name for part in parts for name in part.get("required", [])}
        kinds = [kind for part in parts for kind in kinds_of(part)]
        title = f"[[{path}]]" if many else f"[{path}]"
        section = Section(f"`{title}`" if path else "The file", self.about(node) or about)
        first = self.titles.setdefault(tuple(sorted(keys)), section.title)
        if first != section.title and len(keys) >= MANY:
            section.about += f" As in {first}: all keys."
            yield section
            return
        if kinds:
            name = kind_key(kinds[0])
            section.rows.append(kind_row(name, keys.pop(name, {}), kinds))
        section.rows += [self.row(path, name, key, name in required) for name, key in ordered(keys)]
        yield section
        yield from self.below(path, keys)
        for kind in kinds:
            yield from self.kind(path, kind)

    def kind(self, path: str, kind: Node) -> Iterator[Section]:
        """The section of a table's keys for one value of its kind, unless there are none."""
        name = kind_key(kind)
        word = kind["properties"][name]["const"]
        parts = self.parts(kind)
        keys = {key: value for part in parts for key, value in part.get("properties", {}).items()}
        del keys[name]
        if keys:
            required = {key for part in parts for key in part.get("required", [])}
            rows = [self.row(path, key, value, key in required) for key, value in ordered(keys)]
            yield Section(f"`{path}` with {name} `{word}`", kind.get("description", ""), rows)
            yield from self.below(path, keys)

    def below(self, path: str, keys: Node) -> Iterator[Section]:
        """The sections of tables inside a table."""
        for name, key in ordered(keys):
            single = [table for table, many in self.tables(key) if not many]
            for table, many in self.tables(key):
                if many and table in single:
                    continue
                inner = f"{path}.{name}" if path else name
                yield from self.sections(inner, table, key.get("description", ""), many=many)

    def row(self, path: str, name: str, key: Node, required: bool) -> str:
        """Row of the table for one key."""
        default = "required" if required else show(key["default"]) if "default" in key else ""
        if list(self.tables(key)) and key.get("default") in ({}, None) and not required:
            default = ""
        about = key.get("description") or self.about(key)
        return f"| `{name}` | {self.allowed(key, path, name)} | {default} | {cell(about)} |"

    def tables(self, key: Node) -> Iterator[tuple[Node, bool]]:
        """The tables that a value can be, and whether it is an array of them."""
        for option in self.options(key):
            whole = self.resolve(option)
            if whole.get("type") == "array" and isinstance(whole.get("items"), dict):
                yield from ((table, True) for table, _ in self.tables(whole["items"]))
            elif any(part.get("properties") or kinds_of(part) for part in self.parts(option)):
                yield option, False

    def options(self, key: Node) -> list[Node]:
        """The alternatives of a value, including nested ones, without `null`."""
        whole = self.resolve(key)
        if "anyOf" not in whole or kinds_of(whole):
            return [] if whole.get("type") == "null" else [key]
        return [option for part in whole["anyOf"] for option in self.options(part)]

    def allowed(self, key: Node, path: str, name: str) -> str:
        """The allowed values of a key."""
        inner = f"{path}.{name}" if path else name
        return " or ".join(dict.fromkeys(self.one(option, inner) for option in self.options(key)))

    def one(self, option: Node, path: str) -> str:
        """The allowed values of one alternative."""
        node = self.resolve(option)
        kind = node.get("type")
        if "enum" in node:
            words = [word for word in node["enum"] if word is not None]
            plain = [word for word in words if "+" not in word]
            suffixes = dict.fromkeys(suffix for word in words for suffix in word.split("+")[1:])
            listed = ", ".join(f"`+{suffix}`" for suffix in suffixes)
            more = f"; where it makes sense with {listed}" if suffixes else ""
            return ", ".join(show(word) for word in plain) + more
        if "const" in node:
            return show(node["const"])
        if any(self.tables(option)):
            return f"tables `[[{path}]]`" if kind == "array" else f"table `[{path}]`"
        if kind == "array":
            return self.array(node, path)
        if kind == "integer" or kind == "number" or isinstance(kind, list):
            return bounds(node)
        names = {"boolean": "`true`, `false`", "string": "text", "object": "table"}
        return names.get(str(kind), str(kind))

    def array(self, node: Node, path: str) -> str:
        """An array, by its elements."""
        items = node.get("items", {})
        element = " or ".join(self.one(option, path) for option in self.options(items)) or "any"
        count = node.get("minItems") if node.get("minItems") == node.get("maxItems") else None
        return f"array of {count} x {element}" if count else f"array of {element}"

    def parts(self, node: Node) -> list[Node]:
        """A table and the groups of keys in it."""
        whole = self.resolve(node)
        return [whole, *(part for group in whole.get("allOf", []) for part in self.parts(group))]

    def resolve(self, node: Node) -> Node:
        """The target of a reference."""
        while "$ref" in node:
            node = self.definitions[node["$ref"].rsplit("/", 1)[1]]
        return node

    def about(self, node: Node) -> str:
        """The sentence that describes a table."""
        return str(node.get("description") or self.resolve(node).get("description", ""))


def kind_row(name: str, key: Node, kinds: list[Node]) -> str:
    """The key that selects the other keys."""
    words = [(kind["properties"][name]["const"], kind.get("description", "")) for kind in kinds]
    is_required = all(name in kind.get("required", []) for kind in kinds)
    default = show(key["default"]) if "default" in key else "required" if is_required else ""
    meaning = "<br>".join(f"{show(word)}: {cell(about)}" for word, about in words)
    return f"| `{name}` | {', '.join(show(word) for word, _ in words)} | {default} | {meaning} |"


def kinds_of(table: Node) -> list[Node]:
    """The forms of a table, one for each value of a key. Several may fit where that key is missing."""
    return table.get("oneOf") or (table.get("anyOf", []) if table.get("type") == "object" else [])


def kind_key(kind: Node) -> str:
    """The key whose value selects a kind."""
    return next(str(name) for name, key in kind["properties"].items() if "const" in key)


def ordered(keys: Node) -> list[tuple[str, Node]]:
    """The keys by name."""
    return sorted(keys.items())


def bounds(node: Node) -> str:
    """Allowed numbers or texts of a key."""
    kinds = node["type"] if isinstance(node["type"], list) else [node["type"]]
    if "string" in kinds:
        return "text"
    if "boolean" in kinds:
        return "`true`, `false`"
    whole = "whole number, " if "integer" in kinds else ""
    if "minimum" not in node or "maximum" not in node:
        return whole.removesuffix(", ") or "number"
    return f"{whole}{short(node['minimum'])} to {short(node['maximum'])}"


def short(value: float) -> str:
    """A number in readable form."""
    if abs(value) >= 2**63:
        return "2^64 - 1"
    text = f"{value:g}" if isinstance(value, float) or abs(value) >= 1e7 else f"{value}"
    return re.sub(r"e([+-])0*", lambda sign: "e" + sign[1].removeprefix("+"), text)


def show(value: object) -> str:
    """A value in TOML syntax."""
    if value == {}:
        return ""
    if isinstance(value, dict):
        return "`{ " + ", ".join(f"{key} = {toml(item)}" for key, item in value.items()) + " }`"
    return f"`{toml(value)}`"


def toml(value: object) -> str:
    """A scalar in TOML syntax."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{value}"'
    return short(value) if isinstance(value, (int, float)) else str(value)


def cell(text: str) -> str:
    """Text escaped for a table cell."""
    return re.sub(r"\s+", " ", text).replace("|", "\\|").strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
