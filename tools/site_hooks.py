"""Hooks of mkdocs for the documentation site."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PARTS = ROOT / "out" / "site-parts"
PLOT = re.compile(r"<!-- figure (?P<figure>\S+) -->\n\[[^\]]*\]\((?P<numbers>[^)]*)\): (?P<caption>.*)")
"""Text of pages of results in the place of a figure, as `multihop_papers.recorded` writes it."""
FINDING = re.compile(r"(?:(\*\*.*?\*\*) )?(.*)")
"""Finding of a figure in front of its caption."""
TITLED = re.compile(r"^(!\[[^\]]*\]\([^)]*\))\n\n(\*\*.+?\*\*) ", re.MULTILINE)
"""A figure of results that is a file, with its finding behind it: the site shows the finding above it."""
LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")
CLAIMS = re.compile(r"^(?:\* (?:NOT )?(?:HELD|DECIDED|RUN)[ :][^\n]*(?:\n|\Z))+", re.MULTILINE)
"""The claims of an experiment, as `multihop_papers.pages` writes them."""
CLAIM = re.compile(r"^\* (?P<verdict>[A-Z ]+)(?: \((?P<reason>[^)]*)\))?: (?P<text>.*)$", re.MULTILINE)
CRATE = re.compile(r"crates/(?P<name>[\w-]+)/README\.md")
"""The page of a crate in the repository, in whose place the site shows the reference of the crate."""
NUMBERS = re.compile(r"^\[Three numbers\].*$", re.MULTILINE)
"""Link of the first page to the table of numbers in README.md, in whose place the site shows the table."""
PLAYGROUND = """<div class="playground" markdown="1">

<iframe src="playground.html" title="Playground: drag stations, add flows, choose protocols"></iframe>

Drag stations, add flows, choose transports: the simulator runs in this page.
[The playground alone](playground.html).

</div>"""


def on_config(config: Any) -> Any:
    """Fill in the folders that the navigation names."""
    for entry in config.nav:
        for title, folder in entry.items():
            if isinstance(folder, str) and folder.endswith("/"):
                pages = sorted(path.name for path in (ROOT / "docs" / folder).glob("*.md"))
                pages.remove("README.md")
                entry[title] = [f"{folder}{name}" for name in ["README.md", *pages]]
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that were made for the site."""
    from mkdocs.structure.files import File  # is there when the site is built

    for path in sorted(path for path in PARTS.rglob("*") if path.is_file()):
        name = path.relative_to(PARTS).as_posix()
        files.append(File(name, str(PARTS), config.site_dir, use_directory_urls=False))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Lead links that leave docs/ to where their targets are on the site."""
    place = page.file.src_uri
    if place == "index.md":
        shown = PLAYGROUND if (PARTS / "playground.html").is_file() else ""
        markdown = markdown.replace("<!-- playground -->", shown)
        markdown = NUMBERS.sub(lambda _: numbers(), markdown)
    markdown = PLOT.sub(lambda plot: shown_figure(plot, place), markdown)
    markdown = TITLED.sub(r"\2\n\n\1\n\n", markdown)
    markdown = CLAIMS.sub(lambda claims: cards(claims[0]), markdown)
    return LINK.sub(lambda link: linked(link["text"], link["target"], place), markdown)


def numbers() -> str:
    """Table of numbers of README.md, with links as in docs/index.md."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    return readme[readme.index("| number |") :].split("\n\n", 1)[0].replace("](docs/", "](")


def shown_figure(plot: re.Match[str], place: str) -> str:
    """A figure that was drawn for the site; its text in the page if it was not drawn."""
    folder = posixpath.dirname(place)
    if not any((root / folder / plot["figure"]).is_file() for root in (PARTS, ROOT / "docs")):
        return plot[0]
    found = FINDING.fullmatch(plot["caption"])
    finding, caption = found.groups(default="") if found else ("", plot["caption"])
    words = f"{finding} {caption}".strip().replace("**", "")
    title = f"{finding}\n\n" if finding else ""
    return f"{title}![{words}]({plot['figure']})\n\n{caption} [Numbers]({plot['numbers']})"


def cards(claims: str) -> str:
    """A card for each claim: the verdict, the claim, and the numbers behind it."""
    found = []
    for claim in CLAIM.finditer(claims):
        verdict = claim["verdict"].lower()
        reason = f" ({claim['reason']})" if claim["reason"] else ""
        text, numbers = without_numbers(claim["text"])
        below = f'<small markdown="span">{numbers}</small>' if numbers else ""
        style = verdict.replace(" ", "-")
        inside = f"<b>{verdict}{reason}</b>\n\n{text}\n\n{below}"
        found.append(f'<div class="claim {style}" markdown="1">\n{inside}\n</div>\n')
    return '<div class="claims" markdown="1">\n\n' + "\n".join(found) + "\n</div>\n"


def without_numbers(text: str) -> tuple[str, str]:
    """A claim, and the numbers in brackets at its end."""
    depth = 0
    for place in range(len(text) - 1, -1, -1):
        depth += (text[place] == ")") - (text[place] == "(")
        if depth == 0:
            return (text[:place].rstrip(), text[place + 1 : -1]) if text.endswith(")") else (text, "")
    return text, ""


def linked(text: str, target: str, place: str) -> str:
    """A link as it is on the site; those to source files are only their text."""
    path, hash_sign, anchor = target.partition("#")
    if not path or "://" in path or path.startswith("mailto:"):
        return f"[{text}]({target})"
    # Pages of the project stand in the root of the repository.
    here = "" if place.startswith("project/") else posixpath.join("docs", posixpath.dirname(place))
    whole = posixpath.normpath(posixpath.join(here, path))
    if place.startswith(("notebooks/", "gallery")) or whole.startswith("rust/") or path.startswith("rust/"):
        return f"[{text}]({target})"
    if whole == "README.md":
        whole, anchor, hash_sign = "docs/index.md", "", ""
    if whole.startswith("docs/") or whole == "docs":
        on_site = posixpath.relpath(whole, "docs")
        if (ROOT / whole).is_dir():
            on_site = posixpath.join(on_site, "README.md")
    elif whole in ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        on_site = f"project/{whole}"
    elif crate := CRATE.fullmatch(whole):
        # HTML, since mkdocs does not find pages that are made after its own.
        reference = f"rust/{crate['name'].replace('-', '_')}/index.html"
        return f'<a href="{posixpath.relpath(reference, posixpath.dirname(place) or ".")}">{text}</a>'
    else:
        return text
    relative = posixpath.relpath(on_site, posixpath.dirname(place) or ".")
    return f"[{text}]({relative}{hash_sign}{anchor})"
