#!/usr/bin/env python3
"""Build the documentation site in out/site: python3 tools/build.py docs.

    .venv/bin/python tools/build_site.py            everything
    .venv/bin/python tools/build_site.py --quick    without the gallery, figures of results, the playground
                                                    and the Rust reference

Parts beside those of docs/ are made first, in out/site-parts: the gallery, the executed notebooks, the
figures of experiments, and the project's own documents. tools/site_hooks.py adds them to the site. A link
that leads nowhere is an error.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import build
from gallery import gallery
from multihop_papers import recorded

SITE = build.ROOT / "out" / "site"
PARTS = build.ROOT / "out" / "site-parts"
NOTEBOOKS = ("first_steps", "starving_flow")
SHIM = '<script src="https://unpkg.com/iframe-worker/shim"></script>'
RESULTS = ("papers", "validation", "emulated")
"""Folders of docs/ with pages of experiments."""
PROJECT = ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")


def main(arguments: list[str]) -> int:
    """Build the site and check its links."""
    if arguments not in ([], ["--quick"]):
        print(f"found {' '.join(arguments)}, allowed: --quick", file=sys.stderr)
        return 2
    try:
        make(quick=bool(arguments))
    except build.MissingError as missing:
        print(f"site: {missing}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        return error.returncode
    problems = list(broken(with_rust=not arguments))
    print("\n".join(problems) or f"{SITE / 'index.html'}: open it in a browser")
    return 1 if problems else 0


def make(*, quick: bool) -> None:
    """Make the parts, and the site of them."""
    shutil.rmtree(PARTS, ignore_errors=True)
    (PARTS / "project").mkdir(parents=True)
    for name in PROJECT:
        shutil.copy(build.ROOT / name, PARTS / "project")
    for name in NOTEBOOKS:
        execute(name)
    gallery(PARTS, quick=quick)
    if not quick:
        result_figures()
        playground()
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--clean"]
    subprocess.run(command, cwd=build.ROOT, check=True)
    (SITE / "404.html").unlink()  # is for servers at the root of a domain
    bundle_shim()
    if not quick:
        rust()


def result_figures() -> None:
    """Figures of experiments, from the means beside their pages; those that are files of docs/ stay."""
    for name in RESULTS:
        out = PARTS / name
        recorded.draw(build.ROOT / "docs" / name, out)
        for path in out.iterdir():
            if (build.ROOT / "docs" / name / path.name).is_file():
                path.unlink()


def execute(name: str) -> None:
    """Execute a notebook and write it as a page."""
    command = [sys.executable, "-m", "nbconvert", "--log-level=ERROR", "--execute", "--to", "markdown"]
    notebook = build.ROOT / "examples" / f"{name}.ipynb"
    command += ["--output-dir", str(PARTS / "notebooks"), str(notebook)]
    done = subprocess.run(command, cwd=build.ROOT, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise build.MissingError(f"{notebook.name}: {done.stderr}")


def playground() -> None:
    """The page on which the reader moves stations; a command without it says so."""
    page = PARTS / "playground.html"
    command = [str(build.bin_dir() / "multihop"), "view", "--playground", "--out", str(page)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(f"site: without the playground: {done.stderr.strip()}")


def bundle_shim() -> None:
    """Bundle the script that the search needs without a server; its plugin would load it from the network."""
    shim = build.WEB / "node_modules" / "iframe-worker" / "shim" / "index.js"
    try:
        build.need_node()
        build.install_node_packages()
        shutil.copy(shim, SITE / "assets" / "iframe-worker.js")
    except (build.MissingError, subprocess.CalledProcessError, OSError) as problem:
        print(f"site: the search will need a web server: {problem}")
    for page in SITE.rglob("*.html"):
        text = page.read_text("utf-8")
        up = "../" * (len(page.relative_to(SITE).parts) - 1)
        local = f'<script src="{up}assets/iframe-worker.js"></script>'
        text = text.replace(SHIM, local if shim.is_file() else "")
        page.write_text(text.replace('role="dialog"', 'role="dialog" aria-label="Search"'), "utf-8")


def rust() -> None:
    """The reference of the crates."""
    command = ["cargo", "doc", "--workspace", "--locked", "--no-deps", "--quiet"]
    subprocess.run(command, cwd=build.ROOT, check=True)
    shutil.copytree(build.TARGET / "doc", SITE / "rust", dirs_exist_ok=True)


def broken(*, with_rust: bool) -> Iterator[str]:
    """Links of the site that lead nowhere, and what it would ask the network for."""
    own = {"rust", "assets", "gallery", "playground.html"}
    pages = [page for page in SITE.rglob("*.html") if page.relative_to(SITE).parts[0] not in own]
    for page in pages:
        links = Links()
        links.feed(page.read_text("utf-8"))
        for link, is_loaded in links.found:
            target = urlsplit(link)
            place = page.relative_to(SITE)
            if target.scheme or target.netloc:
                if is_loaded and target.scheme != "data":
                    yield f"{place}: loads {link}"
            elif target.path and (with_rust or not re.search(r"(^|/)rust/", target.path)):
                file = (page.parent / unquote(target.path)).resolve()
                if not file.exists():
                    yield f"{place}: {link} does not exist"


class Links(HTMLParser):
    """The links of a page, and whether a browser follows them by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, bool]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element refers to."""
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.found.append((value, name == "src" or tag == "link"))


if __name__ == "__main__":
    os.environ["NO_MKDOCS_2_WARNING"] = "true"
    sys.exit(main(sys.argv[1:]))
