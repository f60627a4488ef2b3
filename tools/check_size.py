#!/usr/bin/env python3
"""Check that no source file has more than LIMIT code lines (without tests, comments and blank lines).

A file that must be longer has a comment with the reason: `// size: reason`, or `# size: reason`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import tree

LIMIT = 700
COMMENTS = {".rs": "//", ".py": "#", ".sh": "#", ".ts": "//", ".c": "//", ".h": "//"}


def main() -> int:
    """Print every file that is too long."""
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


def is_test(path: Path) -> bool:
    """Whether a file contains only tests."""
    return "tests" in path.parts or path.stem == "tests"


def code_lines(text: str, comment: str) -> int:
    """Number of lines with code, up to the test module at the end of a Rust file."""
    code = re.split(r"^#\[cfg\(test\)\]\nmod tests \{", text, maxsplit=1, flags=re.MULTILINE)[0]
    lines = (line.strip() for line in code.splitlines())
    return sum(1 for line in lines if line and not line.startswith(comment))


if __name__ == "__main__":
    sys.exit(main())
