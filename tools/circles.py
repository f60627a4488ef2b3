"""Find circles of imports between the modules of a crate.

Two neighbours (files or folders of one folder) are in a circle if each imports from the other, directly or
through further neighbours. A module and its parent may import from each other: that is how Rust nests
modules. Tests are left out.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

Module = tuple[str, ...]
"""A module by its path in its crate: `("hub", "paths")`; the crate itself is `()`."""


def circles(src: Path) -> list[tuple[str, tuple[str, ...]]]:
    """The circles of a crate: the folder, and its modules that import from each other."""
    crate = Crate(src)
    found = []
    for folder, imports in sorted(crate.imports_between_neighbours().items()):
        found += [("/".join(folder) or ".", circle) for circle in strongly_connected(imports)]
    return found


class Crate:
    """The modules of a crate, what each imports, and under which names modules export it again."""

    def __init__(self, src: Path) -> None:
        texts = {module_of(src, file): code_of(file.read_text()) for file in sources(src)}
        self.modules = {module[:length] for module in texts for length in range(len(module) + 1)}
        self.imports = {module: list(paths_of(text)) for module, text in texts.items()}
        self.exports = {
            (module, name): path for module, text in texts.items() for name, path in exported_by(text)
        }

    def imports_between_neighbours(self) -> dict[Module, dict[str, set[str]]]:
        """Modules that each module of a folder imports, for each folder."""
        found: dict[Module, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        for module, paths in self.imports.items():
            for path in paths:
                target = self.find(module, path)
                common = common_start(module, target or ())
                if target and len(common) < min(len(module), len(target)):
                    found[common][module[len(common)]].add(target[len(common)])
        return found

    def find(self, module: Module, path: list[str], depth: int = 0) -> Module | None:
        """The module in which a path ends that stands in `module`; `None` if it leaves the crate."""
        base, rest = self.start_of(module, path)
        if base is None:
            return None
        while rest and (*base, rest[0]) in self.modules:
            base, rest = (*base, rest[0]), rest[1:]
        again = self.exports.get((base, rest[0])) if rest else None
        if again and depth < MAX_EXPORTS:
            return self.find(base, again, depth + 1) or base
        return base

    def start_of(self, module: Module, path: list[str]) -> tuple[Module | None, list[str]]:
        """The module from which a path goes on, and the rest of the path."""
        if path[0] == "crate":
            return (), path[1:]
        if path[0] == "self":
            return module, path[1:]
        ups = next((n for n, word in enumerate(path) if word != "super"), len(path))
        if ups:
            return module[: len(module) - ups], path[ups:]
        return (module, path) if (*module, path[0]) in self.modules else (None, path)


MAX_EXPORTS = 8
"""How often an item is exported again before the search for its module ends."""


def sources(src: Path) -> Iterator[Path]:
    """The files of a crate without tests and further programs."""
    for file in sorted(src.rglob("*.rs")):
        parts = file.relative_to(src).with_suffix("").parts
        if parts[0] != "bin" and "tests" not in parts:
            yield file


def module_of(src: Path, file: Path) -> Module:
    """The module that a file contains."""
    parts = file.relative_to(src).with_suffix("").parts
    return parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts


def code_of(text: str) -> str:
    """The text of a file without comments, and without the tests at its end."""
    return re.sub(r"//[^\n]*", "", text).split("#[cfg(test)]\nmod tests", 1)[0]


USE = re.compile(r"^\s*(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);", re.MULTILINE)


def paths_of(text: str) -> Iterator[list[str]]:
    """The paths that a file imports or spells out."""
    for _, tree in USE.findall(text):
        yield from (path for _, path in leaves(tree))
    for path in re.findall(r"\b(?:crate|super)(?:::\w+)+", USE.sub("", text)):
        yield path.split("::")


def exported_by(text: str) -> Iterator[tuple[str, list[str]]]:
    """Names that a file exports from elsewhere: the name here, and its path."""
    for is_public, tree in USE.findall(text):
        if is_public:
            yield from leaves(tree)


def leaves(tree: str) -> Iterator[tuple[str, list[str]]]:
    """The names and paths of an import, `a::{b, c as d}` for example."""
    tree = " ".join(tree.split())
    if group := re.match(r"(.*?)\{(.*)\}$", tree):
        for part in split_at_commas(group[2]):
            yield from leaves(group[1] + part)
        return
    path, _, name = tree.partition(" as ")
    words = [word.strip() for word in path.split("::")]
    yield name or words[-1], words


def split_at_commas(text: str) -> Iterator[str]:
    """The parts of a list whose parts may contain lists in braces."""
    depth, part = 0, ""
    for letter in text:
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            yield part.strip()
            part = ""
        else:
            part += letter
    if part.strip():
        yield part.strip()


def common_start(one: Module, other: Module) -> Module:
    """The longest start that two paths share."""
    length = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    return one[: min(len(one), len(other)) if length is None else length]


def strongly_connected(imports: Mapping[str, set[str]]) -> list[tuple[str, ...]]:
    """The groups of two or more modules that reach each other."""
    reached = {module: reachable(imports, module) for module in imports}
    groups = {
        tuple(sorted(other for other in reached if module in reached[other] and other in reached[module]))
        for module in imports
        if module in reached[module]
    }
    return sorted(group for group in groups if len(group) > 1)


def reachable(imports: Mapping[str, set[str]], module: str) -> set[str]:
    """The modules to which imports lead from this one."""
    found: set[str] = set()
    waiting = set(imports.get(module, ()))
    while waiting:
        found |= waiting
        waiting = {target for one in waiting for target in imports.get(one, ())} - found
    return found
