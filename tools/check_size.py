#!/usr/bin/env python3
"""Check that no source file has more than LIMIT code lines (without tests, comments and blank lines).

A file that must be longer has a comment with the reason: `// size: reason`, or `# size: reason`. With the
argument `lines` it prints the number of lines of each part of the project instead, all lines counted.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

import tree

LIMIT = 700
COMMENTS = {".rs": "//", ".py": "#", ".sh": "#", ".ts": "//", ".c": "//", ".h": "//"}
TESTS = r"^#\[cfg\(test\)\]\nmod tests \{"
"""Beginning of the test module at the end of a Rust file."""
RUST, RUST_TESTS, OTHERS = "Rust", "Rust, tests, examples and fuzz targets", "TypeScript, C and scripts"
PARTS = (
    RUST,
    RUST_TESTS,
    "python",
    "python, tests",
    "papers",
    "papers, tests",
    "tools",
    "tools, tests",
    OTHERS,
)
"""Parts of the project whose lines are counted."""


def main() -> int:
    """Print every file that is too long, or the number of lines of each part."""
    if sys.argv[1:] == ["lines"]:
        print("\n".join(f"{lines:>7} {part}" for part, lines in lines_by_part().items()))
        return 0
    sources = [path for path in tree.files() if path.suffix in COMMENTS and not is_test(path)]
    problems = []
    for path in sources:
        text = (tree.ROOT / path).read_text(encoding="utf-8")
        lines = code_lines(text, COMMENTS[path.suffix])
        if lines > LIMIT and not re.search(r"^\s*(//|#) size: \S", text, re.MULTILINE):
            problems.append(
                f"{path}: {lines} code lines; allowed: {LIMIT}, or a `size:` comment with a reason"
            )
    print("\n".join(problems) or f"{len(sources)} source files, none above {LIMIT} code lines")
    return 1 if problems else 0


def lines_by_part() -> dict[str, int]:
    """Number of lines of each part of the project, in the order of PARTS; the rest last."""
    lines: Counter[str] = Counter()
    for path in tree.files():
        if path.suffix in COMMENTS:
            text = (tree.ROOT / path).read_text(encoding="utf-8")
            tests = re.split(TESTS, text, maxsplit=1, flags=re.MULTILINE)[1:] if path.suffix == ".rs" else []
            in_tests = sum(part.count("\n") for part in tests)
            lines[part_of(path)] += text.count("\n") - in_tests
            lines[RUST_TESTS] += in_tests
    return {part: lines[part] for part in PARTS}


def part_of(path: Path) -> str:
    """The part of the project to which a file belongs."""
    match path.parts:
        case ("crates", _, "src", *_) if path.suffix == ".rs" and not is_test(path):
            return RUST
        case ("crates" | "examples" | "fuzz", *_) if path.suffix == ".rs":
            return RUST_TESTS
        case ("python" | "papers" | "tools" as folder, *_) if path.suffix == ".py":
            return f"{folder}, tests" if is_test(path) else folder
    return OTHERS


def is_test(path: Path) -> bool:
    """Whether a file contains only tests."""
    return "tests" in path.parts or path.stem == "tests"


def code_lines(text: str, comment: str) -> int:
    """Number of lines with code, up to the test module at the end of a Rust file."""
    code = re.split(TESTS, text, maxsplit=1, flags=re.MULTILINE)[0]
    lines = (line.strip() for line in code.splitlines())
    return sum(1 for line in lines if line and not line.startswith(comment))


if __name__ == "__main__":
    sys.exit(main())
