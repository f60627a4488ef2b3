#!/usr/bin/env python3
"""Write python/multihop/settings.py, the types of a scenario's tables, from the schema of scenario files.

Editors complete the keys of `multihop.run` and `multihop.sweep` from it, and mypy checks them. Run it with
`.venv/bin/python tools/settings_types.py`. With `--check` it changes nothing and exits with 1 if it would.
"""

from __future__ import annotations

import keyword
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MODULE = Path(__file__).resolve().parent.parent / "python" / "multihop" / "settings.py"
HEAD = '''"""The tables of a scenario as types. Made by tools/settings_types.py from the schema."""

# size: as many keys as scenarios have

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypedDict

'''
FILES = {"TopologyFile", "MobilityFile", "ObstaclesFile", "RadioMeasuredFile", "ExpectedTable"}
"""Texts that are names of files."""
SIMPLE = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}

Node = dict[str, Any]


def main(arguments: list[str]) -> int:
    """Rewrite or check the module."""
    import multihop

    fresh = written(multihop.schema())
    if arguments == ["--check"]:
        is_fresh = MODULE.is_file() and MODULE.read_text(encoding="utf-8") == fresh
        if not is_fresh:
            print(f"{MODULE.name} is older than the schema; run tools/settings_types.py")
        return 0 if is_fresh else 1
    if arguments:
        print(f"found {' '.join(arguments)}, allowed: --check", file=sys.stderr)
        return 2
    MODULE.write_text(fresh, encoding="utf-8")
    return 0


def written(schema: Node) -> str:
    """The text of the module."""
    types = Types(schema["$defs"])
    types.define("Settings", [schema], "The keys of a scenario.")
    return HEAD + "\n\n".join(types.classes) + "\n"


class Types:
    """Classes for the tables of a schema, each after those that it uses."""

    def __init__(self, shared: Node) -> None:
        self.shared = shared
        self.classes: list[str] = []
        self.done: dict[str, str] = {}

    def define(self, name: str, tables: list[Node], about: str) -> str:
        """Define a class with the keys of all these forms of a table; returns its name."""
        keys: dict[str, list[Node]] = {}
        for table in tables:
            for key, schema in self.properties(table):
                keys.setdefault(key, []).append(schema)
        fields = [(key, self.annotation(forms, name, key), forms[0]) for key, forms in keys.items()]
        reserved = {key: kind for key, kind, _ in fields if keyword.iskeyword(key) or not key.isidentifier()}
        base = "TypedDict"
        if reserved:
            base = f"_{name}"
            inner = ", ".join(f'"{key}": "{kind}"' for key, kind in reserved.items())
            self.classes.append(f'{base} = TypedDict("{base}", {{{inner}}}, total=False)')
        lines = [f"class {name}({base}, total=False):", *docstring(about)]
        for key, kind, schema in fields:
            if key not in reserved:
                lines += ["", f"    {key}: {kind}", *docstring(described(schema))]
        self.classes.append("\n".join(lines))
        return name

    def properties(self, schema: Node) -> Iterator[tuple[str, Node]]:
        """The keys of a table, whatever decides which of them it has."""
        schema = self.resolved(schema)
        yield from schema.get("properties", {}).items()
        for joint in ("allOf", "anyOf", "oneOf"):
            for part in schema.get(joint, []):
                yield from self.properties(part)

    def annotation(self, forms: list[Node], owner: str, key: str) -> str:
        """The type of a key's values."""
        name = ("" if owner == "Settings" else owner) + key.title().replace("_", "")
        words: dict[str, None] = {}
        kinds: dict[str, None] = {}
        tables: list[Node] = []
        for leaf in (leaf for form in forms for leaf in self.leaves(form)):
            if leaf.get("title") == "TransportName":
                kinds[self.alias("TransportName", leaf["enum"])] = None
            elif values := leaf.get("enum") or ([leaf["const"]] if "const" in leaf else []):
                words |= dict.fromkeys(repr(value).replace("'", '"') for value in values)
            elif "items" in leaf or "prefixItems" in leaf or leaf.get("type") == "array":
                kinds[f"Sequence[{self.items(leaf, owner, key)}]"] = None
            elif any(True for _ in self.properties(leaf)) and "additionalProperties" not in leaf:
                tables.append(leaf)
            elif leaf.get("type") == "object":
                kinds["Mapping[str, Any]"] = None
            elif leaf.get("type") in SIMPLE:
                kinds["str | PathLike[str]" if name in FILES else SIMPLE[leaf["type"]]] = None
        if words:
            kinds = {f"Literal[{', '.join(words)}]": None, **kinds}
        if tables:
            about = described(forms[0]) or f"The table `{key}`."
            kinds[self.once(name, tables, about)] = None
        return " | ".join(kinds)

    def items(self, array: Node, owner: str, key: str) -> str:
        """The type of the items of an array."""
        inner = [array["items"]] if isinstance(array.get("items"), dict) else array.get("prefixItems", [])
        return self.annotation(inner, owner, key) if inner else "Any"

    def once(self, name: str, tables: list[Node], about: str) -> str:
        """Define a class, or use the one that has the same keys."""
        same = repr(sorted((key, repr(schema)) for table in tables for key, schema in self.properties(table)))
        if same not in self.done:
            self.done[same] = self.define(name, tables, about)
        return self.done[same]

    def alias(self, name: str, words: list[str]) -> str:
        """Define a set of words once."""
        if name not in self.done:
            lines = textwrap.wrap(", ".join(f'"{word}"' for word in words), 104, break_on_hyphens=False)
            self.classes.append(f"{name} = Literal[\n    " + "\n    ".join(lines) + "\n]")
            self.done[name] = name
        return name

    def leaves(self, schema: Node) -> Iterator[Node]:
        """The alternatives of a value; a table is one, with all its forms."""
        schema = self.resolved(schema)
        branches = schema.get("anyOf") or schema.get("oneOf")
        if branches and "properties" not in schema and "allOf" not in schema:
            for branch in branches:
                yield from self.leaves(branch)
        elif schema:
            yield schema

    def resolved(self, schema: Node) -> Node:
        """The schema that a reference names."""
        if "$ref" not in schema:
            return schema
        name = schema["$ref"].rpartition("/")[2]
        return {**self.shared[name], "title": name}


def described(schema: Node) -> str:
    """The description of a key, with its default."""
    about = str(schema.get("description", ""))
    plain = isinstance(schema.get("default"), str | int | float)
    return f"{about} Default: {schema['default']}.".strip() if plain else about


def docstring(text: str) -> list[str]:
    """Lines of a docstring; none for no text."""
    if not text:
        return []
    lines = textwrap.wrap(text.replace("\\", "\\\\").replace('"""', "'''"), 100)
    if len(lines) == 1:
        gap = " " if lines[0].endswith('"') else ""
        return [f'    """{lines[0]}{gap}"""']
    return [f'    """{lines[0]}', *(f"    {line}" for line in lines[1:]), '    """']


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
