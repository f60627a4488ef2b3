#!/usr/bin/env python3
"""Check that the deviation tags in the code agree with docs/deviations.md.

In code: `// DEVIATION aodv-4: no gratuitous RREP.` In the document: a heading, list item or table
row that begins with `aodv-4`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import tree

DOCUMENT = Path("docs/deviations.md")
IN_CODE = re.compile(r"(?://|#).*?\bDEVIATION ([a-z][a-z0-9-]*-\d+):")
IN_DOCUMENT = re.compile(r"^\s*(?:#+|[|*-])\s*[`*\[]*([a-z][a-z0-9-]*-\d+)\b", re.MULTILINE)


def main() -> int:
    """Print every tag that is missing on one side."""
    in_code: dict[str, Path] = {}
    for path in tree.files():
        if path.suffix in {".rs", ".py", ".c", ".h"} and path.parts[0] != "tools":
            for tag in IN_CODE.findall((tree.ROOT / path).read_text(encoding="utf-8")):
                in_code.setdefault(tag, path)
    document = tree.ROOT / DOCUMENT
    text = document.read_text(encoding="utf-8") if document.is_file() else ""
    explained = set(IN_DOCUMENT.findall(text))
    problems = [
        f"{path}: {tag} is not explained in {DOCUMENT}"
        for tag, path in in_code.items()
        if tag not in explained
    ]
    problems += [f"{DOCUMENT}: {tag} is not marked in the code" for tag in sorted(explained - in_code.keys())]
    print("\n".join(problems) or f"{len(in_code)} deviations, each marked and explained")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
