#!/usr/bin/env python3
"""Check that the links of the documents lead somewhere when GitHub shows them.

GitHub resolves a relative link from the folder of its page. It names a heading by its words in lower case,
without punctuation, and with hyphens in place of blanks; equal names end with -1, -2 and so on. A link may
also lead to an `<a id="...">`.
"""

from __future__ import annotations

import posixpath
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import tree

FENCE = re.compile(r"^( *)(```+)[^`\n]*\n.*?^\1\2`* *$", re.DOTALL | re.MULTILINE)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
CODE = re.compile(r"(`+)(?:(?!\1).)+\1", re.DOTALL)
LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)|\b(?:href|src)=\"([^\"]+)\"")
DEFINITION = re.compile(r"^ {0,3}\[[^\]]+\]:\s*<?([^\s>]+)", re.MULTILINE)
HEADING = re.compile(r"^ {0,3}#{1,6} +(.*?)(?: +#+)? *$", re.MULTILINE)
PLACE = re.compile(r"<\w+[^>]*\s(?:id|name)=\"([^\"]+)\"")
TEXT_OF_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
EMPHASIS = re.compile(r"(?<![\\\w])(\*{1,3}|_{1,3})(?=\S)(.+?)(?<=\S)(?<!\\)\1(?!\w)")


def main() -> int:
    """Print every link that leads nowhere."""
    files = {path.as_posix() for path in tree.files()}
    pages = [path for path in map(Path, sorted(files)) if is_document(path)]
    problems = list(broken(tree.ROOT, files, pages))
    print("\n".join(problems) or f"{len(pages)} documents, no link that leads nowhere on GitHub")
    return 1 if problems else 0


def is_document(path: Path) -> bool:
    """Whether a file is a page that readers open on GitHub: in the root, in docs, or a README."""
    return path.suffix == ".md" and (
        len(path.parts) == 1 or path.parts[0] in ("docs", "examples") or path.name == "README.md"
    )


def broken(root: Path, files: set[str], pages: list[Path]) -> Iterator[str]:
    """Relative links of pages that lead to no file, folder or heading of the repository."""
    folders = {parent.as_posix() for name in files for parent in Path(name).parents}
    names: dict[str, set[str]] = {}

    def anchors_of(page: str) -> set[str]:
        if page not in names:
            names[page] = anchors((root / page).read_text(encoding="utf-8"))
        return names[page]

    for page in pages:
        text = (root / page).read_text(encoding="utf-8")
        for line, link in links(text):
            target = urlsplit(link)
            if target.scheme or target.netloc:
                continue
            base = "" if target.path.startswith("/") else page.parent.as_posix()
            path = posixpath.normpath(f"{base}/{unquote(target.path)}".lstrip("/"))
            path = path if target.path else page.as_posix()
            if path not in files and path not in folders:
                yield f"{page}:{line}: {link} is no file of the repository"
            elif target.fragment and path.endswith(".md") and target.fragment not in anchors_of(path):
                yield f"{page}:{line}: {link} is no heading of {path}"


def links(text: str) -> Iterator[tuple[int, str]]:
    """Links of a page and their lines; code has none."""
    text = _blank(CODE, _blank(COMMENT, _blank(FENCE, text)))
    for pattern in (LINK, DEFINITION):
        for found in pattern.finditer(text):
            yield text.count("\n", 0, found.start()) + 1, next(filter(None, found.groups()))


def anchors(text: str) -> set[str]:
    """Names to which links within a page can lead."""
    text = _blank(COMMENT, _blank(FENCE, text))
    seen: Counter[str] = Counter()
    found = set(PLACE.findall(text))
    for heading in HEADING.findall(text):
        name = slug(heading)
        found.add(f"{name}-{seen[name]}" if seen[name] else name)
        seen[name] += 1
    return found


def slug(heading: str) -> str:
    """The name that GitHub gives a heading."""
    # Code keeps its underscores, stars and words in angle brackets; tags and emphasis around other words go.
    parts = re.split(r"(`+[^`]*`+)", TEXT_OF_LINK.sub(r"\1", heading))
    plain = "".join(
        one if one.startswith("`") else EMPHASIS.sub(r"\2", re.sub(r"<[^>]*>", "", one)) for one in parts
    )
    return re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")


def _blank(pattern: re.Pattern[str], text: str) -> str:
    """A text in which every match is replaced by its line breaks, so that lines keep their numbers."""
    return pattern.sub(lambda found: "\n" * found[0].count("\n"), text)


if __name__ == "__main__":
    sys.exit(main())
