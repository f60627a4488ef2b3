"""The documentation site: where its links lead, and what its check finds."""

import re
from pathlib import Path

import pytest

import build
import build_site
import gallery
import github_links
import site_hooks
import tree
from multihop_papers import recorded


@pytest.mark.parametrize(
    ("text", "place", "expected"),
    [
        ("[x](../README.md#simulate)", "view.md", "[x](index.md)"),
        ("[x](../../ARCHITECTURE.md)", "models/tcp.md", "[x](../project/ARCHITECTURE.md)"),
        ("[x](docs/wire.md#a)", "project/CHANGELOG.md", "[x](../wire.md#a)"),
        ("[x](validation/)", "papers.md", "[x](validation/README.md)"),
        ("[x](../python/tests/tpa_peer.py)", "wire.md", "x"),
        ("[x](#here) [y](https://example.org/)", "wire.md", "[x](#here) [y](https://example.org/)"),
        ("![x](view.png)", "view.md", "![x](view.png)"),
        ("[`x-y`](../crates/x-y/README.md)", "rust.md", '<a href="rust/x_y/index.html">`x-y`</a>'),
    ],
)
def test_links_lead_to_pages_of_the_site(text: str, place: str, expected: str) -> None:
    found = site_hooks.LINK.sub(lambda link: site_hooks.linked(link["text"], link["target"], place), text)
    assert found == expected


def test_links_of_documents_lead_somewhere_on_github() -> None:
    files = {path.as_posix() for path in tree.files()}
    documents = [path for path in map(Path, sorted(files)) if github_links.is_document(path)]
    assert len(documents) > 100
    assert list(github_links.broken(tree.ROOT, files, documents)) == []


def test_links_that_github_does_not_resolve_are_found(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    text = """# One `flow_id`, and *two*?

## Setting

## Setting

<a id="placed"></a>

[a](#one-flow_id-and-two) [b](#setting-1) [c](#placed) [d](../README.md) [e](../docs) <a href="a.md">f</a>

```
[code](nowhere.md)
```

[g](#setting-2) [h](#Setting) [i](rust/index.html) [j](../README.md#no) [k](/docs/a.md) `[l](nowhere.md)`
"""
    (tmp_path / "docs" / "a.md").write_text(text, encoding="utf-8")
    (tmp_path / "README.md").write_text("# All\n\n[m](docs/b.md) [n](docs/a.md#placed)\n", encoding="utf-8")
    files = {"README.md", "docs/a.md"}
    found = list(github_links.broken(tmp_path, files, [Path("README.md"), Path("docs/a.md")]))
    assert found == [
        "README.md:3: docs/b.md is no file of the repository",
        "docs/a.md:15: #setting-2 is no heading of docs/a.md",
        "docs/a.md:15: #Setting is no heading of docs/a.md",
        "docs/a.md:15: rust/index.html is no file of the repository",
        "docs/a.md:15: ../README.md#no is no heading of README.md",
    ]


@pytest.mark.parametrize(
    ("heading", "expected"),
    [
        ("`multihop run <SCENARIO>`", "multihop-run-scenario"),
        ("Keys of `[[flow]]` and `Vec<u8>`", "keys-of-flow-and-vecu8"),
        ('A <a id="x"></a>*place* of `a_b`', "a-place-of-a_b"),
        ("<kbd>r</kbd> and [`<x>`](x.md)", "r-and-x"),
    ],
)
def test_a_heading_has_the_name_that_github_gives_it(heading: str, expected: str) -> None:
    assert github_links.slug(heading) == expected


def test_the_first_page_shows_the_numbers_of_the_readme() -> None:
    page = (build.ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    shown = site_hooks.NUMBERS.sub(lambda _: site_hooks.numbers(), page)
    readme = (build.ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\*\*.+?\*\* .+?) \|", readme, re.MULTILINE)
    assert len(rows) == 3
    assert all(f"\n| {row} |" in shown for row in rows)
    assert "([which transport?](which-transport.md)) |\n\n## Where to go" in shown


def test_a_figure_of_results_is_shown_where_it_was_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site_hooks, "PARTS", tmp_path)
    text = recorded.place("a-1.svg", "data/a.csv", "Goodput of the two.")
    plot = site_hooks.PLOT.fullmatch(text)
    assert plot is not None
    assert site_hooks.shown_figure(plot, "papers/a.md") == text
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "a-1.svg").touch()
    shown = site_hooks.shown_figure(plot, "papers/a.md")
    assert shown == "![Goodput of the two.](a-1.svg)\n\nGoodput of the two. [Numbers](data/a.csv)"
    plot = site_hooks.PLOT.fullmatch(recorded.place("a-1.svg", "data/a.csv", "**A is best.** Goodput."))
    assert plot is not None
    shown = site_hooks.shown_figure(plot, "papers/a.md")
    assert shown == "**A is best.**\n\n![A is best. Goodput.](a-1.svg)\n\nGoodput. [Numbers](data/a.csv)"


def test_the_site_shows_a_finding_above_its_figure() -> None:
    text = "a\n\n![A is best. Goodput.](a-1.svg)\n\n**A is best.** Goodput.\n"
    shown = site_hooks.TITLED.sub(r"\2\n\n\1\n\n", text)
    assert shown == "a\n\n**A is best.**\n\n![A is best. Goodput.](a-1.svg)\n\nGoodput.\n"


def test_claims_are_cards_with_their_verdicts_and_numbers() -> None:
    held, not_held = (
        "* HELD: A delivers more (+5%), twice (A: 2 (+9%))",
        "* NOT HELD (not known): B is fair (B: 1)",
    )
    text = f"a\n\n{held}\n{not_held}\n\nb\n"
    shown = site_hooks.CLAIMS.sub(lambda claims: site_hooks.cards(claims[0]), text)
    assert shown.startswith('a\n\n<div class="claims" markdown="1">')
    assert '<div class="claim held" markdown="1">\n<b>held</b>\n\nA delivers more (+5%), twice\n' in shown
    assert ">A: 2 (+9%)</small>" in shown
    assert '<div class="claim not-held" markdown="1">\n<b>not held (not known)</b>\n\nB is fair\n' in shown
    assert shown.endswith("</div>\n\nb\n")


def test_the_check_finds_dead_links_and_what_is_loaded_from_the_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build_site, "SITE", tmp_path)
    (tmp_path / "there.html").write_text("<a href='https://example.org/'>elsewhere</a>")
    page = "<a href='there.html#x'>good</a><a href='gone.html'>bad</a><script src='https://example.org/a.js'>"
    (tmp_path / "index.html").write_text(page + "</script><a href='rust/index.html'>later</a>")
    assert list(build_site.broken(with_rust=False)) == [
        "index.html: gone.html does not exist",
        "index.html: loads https://example.org/a.js",
    ]
    assert len(list(build_site.broken(with_rust=True))) == 3


def test_the_gallery_shows_scenarios_that_exist(tmp_path: Path) -> None:
    gallery.gallery(tmp_path, quick=True)
    text = (tmp_path / "gallery.md").read_text("utf-8")
    for scene in gallery.SCENES:
        assert (build.ROOT / "scenarios" / f"{scene.scenario}.toml").is_file()
        assert f"multihop view scenarios/{scene.scenario}.toml" in text


def test_every_page_is_in_the_navigation() -> None:
    navigation = (build.ROOT / "mkdocs.yml").read_text("utf-8")
    docs = build.ROOT / "docs"
    listed_by_folder = ("validation", "papers", "emulated")
    pages = (path.relative_to(docs) for path in docs.rglob("*.md"))
    missing = [
        page for page in pages if page.parts[0] not in listed_by_folder and f": {page}" not in navigation
    ]
    assert missing == []
