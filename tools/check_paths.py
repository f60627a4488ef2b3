#!/usr/bin/env python3
"""Check that no file contains a path that exists on one machine only."""

from __future__ import annotations

import re
import sys

import tree

# Split, so that this file does not contain them.
PLACES = re.compile(r"(?<![\w.~$})*/-])/" + r"(?:work|root|tmp|home/\w+|Users/\w+)(?=[/\s'\"`.,;:)\]]|$)")


def main() -> int:
    """Print every line with such a path."""
    problems = []
    checked = 0
    for path in tree.files():
        if tree.is_text(path):
            checked += 1
            text = (tree.ROOT / path).read_text(encoding="utf-8", errors="replace")
            for number, line in enumerate(text.splitlines(), 1):
                if PLACES.search(line):
                    problems.append(f"{path}:{number}: {line.strip()}")
    print("\n".join(problems) or f"{checked} files, none with a path of one machine")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
