#!/usr/bin/env python3
"""Check the figures of the documents.

    .venv/bin/python tools/check_figures.py            every figure below docs/
    .venv/bin/python tools/check_figures.py FILE...    these figures

No text is cut off at a border or covers another text, and no legend lies on data. Entries of a legend
differ in line or marker, not in colour alone. A figure has colours for dark pages, and no box stays white.
Widths of text are those of DejaVu Sans, the first font that the figures name.

Each page below docs/ gives its figures a title that states a finding: its main clause has a verb. A word that
may also be a noun, such as "changes", counts only in front of an object or a measure. On pages of results the
title is in bold behind the figure, on other pages it is the figure's alternative text.
"""

from __future__ import annotations

import argparse
import itertools
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from matplotlib.font_manager import FontProperties, findfont
from matplotlib.ft2font import FT2Font, LoadFlags

ROOT = Path(__file__).resolve().parent.parent
SVG = "{http://www.w3.org/2000/svg}"
CLASS = re.compile(r"\.(\w+)\{([^}]*)\}")
RULE = re.compile(r"\.(\w+)\{")
POINT = re.compile(r"(-?[\d.]+)[ ,]+(-?[\d.]+)")
COLOUR = re.compile(r"#([0-9a-f]{6})\b", re.IGNORECASE)
DASHES = re.compile(r"stroke-dasharray: ?([^;]*)")
HREF = "{http://www.w3.org/1999/xlink}href"
RESULTS = ("papers", "validation", "emulated")
"""Folders with pages of results."""
PLACE = re.compile(
    r"<!-- figure (?P<plot>\S+) -->\n\[[^\]]*\]\([^)]*\): |"
    r"!\[(?P<alt>[^\]]*)\]\((?P<file>[^)]*\.svg)\)(?:\n\n)?"
)
"""The place of a figure in a page, up to its title."""
BOLD = re.compile(r"\*\*(.+?)\*\*")
RELATIVE = re.compile(r"\b(?:that|which|who|whose|where|at which)\b[^,.;:]*")
"""A relative clause: its verb states nothing about the figure."""
VERB = (
    r"(?:is|are|has|have|ranges|varies|differs|grows|loses|arrives|agrees|depends|delivers|takes|keeps|stays|"
    r"follows|reaches|adds|meets|"
    r"(?<!to )(?:vary|differ|grow|lose|arrive|agree|depend|deliver|take|keep|follow|reach|add|meet))"
)
"""Finite verbs that are no nouns."""
NOUN_OR_VERB = (
    r"(?<!the )(?<!of )(?:range|changes?|costs?|needs?|leaves?|delays?|waits?|pauses?|jumps?|falls?|rises?|"
    r"increases?|decreases?|doubles?|halves|misses|miss)"
)
"""Words that are verbs only in front of an object or a measure."""
OBJECT = (
    r"(?:(?:from |to |by |for )?[+-]?\d|from |an? |the |no |nothing|none|every |each |it\b|its |their |"
    r"them\b|all |one |more |less |fewer |only |alone\b)"
)
STATED = re.compile(rf"\b{VERB}\b|\b{NOUN_OR_VERB} {OBJECT}|(?<!the )(?<!of )overlap (?:at|with) every ")
"""The verb of a main clause. A comparison without a verb states nothing."""
GRID = ("#b0b0b0", "stroke-opacity")
"""Parts of styles that only lines of the grid have."""
REACH = 45
"""Points left of the text of a legend's entry in which its line and marker are."""
STEPS = 20
"""Points of a segment of a curve that are compared with texts."""
BRIGHT = 0xC8
"""Smallest part of red, green and blue in a colour that is white to the eye."""
SIZE = re.compile(r"font(?:-size)?: ?(?:[a-z]+ )*([\d.]+)px")
SHIFT = re.compile(r"translate\(([-\d.]+)[ ,]+([-\d.]+)\)")
TURN = re.compile(r"rotate\(([-\d.]+)")
ASCENT, DESCENT = 0.75, 0.1
"""Height of letters above and below their line, as shares of the size of the font."""
SLACK = 1.5
"""Points by which texts may overlap: hinting differs between browsers."""
BORDER_SLACK = 0.5
"""Points by which a text may reach over the border."""


class Box(NamedTuple):
    """A text, and the rectangle that its letters fill."""

    text: str
    left: float
    top: float
    right: float
    bottom: float
    turned: bool
    """Whether it is at an angle, so that its letters do not fill the rectangle."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the problems of each figure; 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    chosen = parser.parse_args(arguments).files
    files = chosen or sorted((ROOT / "docs").rglob("*.svg"))
    found = {path: problems(path.read_text(encoding="utf-8")) for path in files}
    for path in [] if chosen else sorted((ROOT / "docs").rglob("*.md")):
        found[path] = [
            f'the title of {figure} states no finding: "{title}"'
            for figure, title in titles(path)
            if not states_a_finding(title)
        ]
    for path, lines in found.items():
        for line in lines:
            print(f"{path}: {line}")
    print(f"{len(files)} figures, {sum(map(bool, found.values()))} with problems")
    return 1 if any(found.values()) else 0


def titles(page: Path) -> Iterator[tuple[str, str]]:
    """The figures of a page, and their titles; empty where a page of results has none."""
    text = page.read_text(encoding="utf-8")
    of_results = page.parent.name in RESULTS
    for found in PLACE.finditer(text):
        bold = BOLD.match(text, found.end())
        yield found["plot"] or found["file"], (bold[1] if bold else "") if of_results else found["alt"] or ""


def states_a_finding(title: str) -> bool:
    """Whether a sentence of a title has a verb in its main clause."""
    sentences = re.split(r"(?<=\.) ", " ".join(title.split()))
    clauses = (RELATIVE.sub("", sentence.split(";")[0]) for sentence in sentences)
    return any(STATED.search(clause) for clause in clauses)


class Mark(NamedTuple):
    """An element of a figure, with its place."""

    kind: str
    style: str
    shape: str
    """Data of a path, or of the path that it uses."""
    points: list[tuple[float, float]]
    clip: str
    """Name of the rectangle of the axes at which it is cut, as curves are; empty for other elements."""


class Entry(NamedTuple):
    """An entry of a legend: what tells it apart without colour, and where it is."""

    text: str
    look: tuple[str, ...]
    box: Box


def problems(svg: str) -> list[str]:
    """The defects of a figure: see the head of this file."""
    root = ElementTree.fromstring(svg)
    left, top, width, height = (float(word) for word in root.attrib["viewBox"].split())
    classes = _classes(root)
    boxes = list(_boxes(root, classes, (0.0, 0.0)))
    cut = [
        f'"{box.text}" is cut off at the border'
        for box in boxes
        if min(box.left - left, box.top - top, left + width - box.right, top + height - box.bottom)
        < -BORDER_SLACK
    ]
    upright = [box for box in boxes if not box.turned]
    pairs = itertools.combinations(upright, 2)
    covering = [f'"{one.text}" covers "{two.text}"' for one, two in pairs if _overlap(one, two) > SLACK]
    marks = list(_marks(root, classes, (0.0, 0.0), clip="", shapes=_shapes(root)))
    data = [point for mark in marks if _is_data(mark) for point in _along(mark, _axes(root)[mark.clip])]
    entries = list(_entries(marks, upright))
    on_data = [f'the legend\'s "{entry.text}" lies on data' for entry in entries if _lies_on(entry.box, data)]
    alike = [
        f'"{one.text}" and "{two.text}" differ in colour alone'
        for one, two in itertools.combinations(entries, 2)
        if one.look == two.look and one.text != two.text
    ]
    return cut + covering + on_data + alike + _in_the_dark(root)


def _shapes(root: ElementTree.Element) -> dict[str, tuple[str, str]]:
    """Data and style of the paths that have a name."""
    return {
        f"#{path.attrib['id']}": (path.get("d", ""), path.get("style", path.get("class", "")))
        for path in root.iter(f"{SVG}path")
        if "id" in path.attrib
    }


def _marks(
    parent: ElementTree.Element,
    classes: dict[str, str],
    origin: tuple[float, float],
    *,
    clip: str,
    shapes: dict[str, tuple[str, str]],
) -> Iterator[Mark]:
    """The elements of a figure that are drawn, in their order."""
    for child in parent:
        if child.tag == f"{SVG}defs":
            continue
        x, y = _shifted(origin, child)
        clipped = child.get("clip-path", clip).removeprefix("url(#").removesuffix(")")
        style = child.get("style", "") + classes.get(child.get("class", ""), "")
        if child.tag == f"{SVG}path":
            data = child.get("d", "")
            points = [(x + float(one), y + float(two)) for one, two in POINT.findall(data)]
            yield Mark("path", style, data, points, clipped)
        elif child.tag == f"{SVG}use":
            shape, look = shapes.get(child.get(HREF, child.get("href", "")), ("", ""))
            look = classes.get(look, look)
            place = (x + float(child.get("x", 0)), y + float(child.get("y", 0)))
            yield Mark("use", style, f"{shape} {_filled(style + look)}", [place], clipped)
        elif child.tag == f"{SVG}text":
            place = (x + float(child.get("x", 0)), y + float(child.get("y", 0)))
            yield Mark("text", style, "".join(child.itertext()).strip(), [place], clipped)
        else:
            yield from _marks(child, classes, (x, y), clip=clipped, shapes=shapes)


def _filled(style: str) -> str:
    """Whether a marker is filled with its colour."""
    return "hollow" if re.search(r"fill: ?(?:none|#ffffff)|fill-opacity: ?0(?:;|$)", style) else "filled"


def _entries(marks: Sequence[Mark], boxes: Sequence[Box]) -> Iterator[Entry]:
    """The entries of legends: texts behind a short level line or a marker."""
    before: list[Mark] = []
    for mark in marks:
        if mark.kind != "text":
            before.append(mark)
            continue
        (x, y), near = mark.points[0], []
        for one in before:
            inside = all(x - REACH < left < x and abs(top - y) < 10 for left, top in one.points)
            if not one.clip and one.points and inside and one.style:
                near.append(one)
        before = []
        lines = [one for one in near if one.kind == "path" and _is_level(one)]
        markers = [one for one in near if one.kind == "use" and abs(one.points[0][1] - y + 3) < 2]
        box = next((one for one in boxes if one.text == mark.shape and abs(one.left - x) < 1), None)
        if box is not None and (lines or markers):
            dashes = [(DASHES.search(one.style) or [""])[0] for one in lines]
            look = ("line", *dashes, *(one.shape for one in markers))
            left = min(place for one in near for place, _ in one.points)
            yield Entry(box.text, look, box._replace(left=left))


def _is_level(mark: Mark) -> bool:
    ys = [y for _, y in mark.points]
    return (
        len(ys) >= 2 and max(ys) - min(ys) < 0.01 and "fill: none" in mark.style.replace("fill:n", "fill: n")
    )


def _axes(root: ElementTree.Element) -> dict[str, Box]:
    """The rectangles at which elements are cut, by name."""
    found = {}
    for path in root.iter(f"{SVG}clipPath"):
        for rect in path.iter(f"{SVG}rect"):
            x, y, width, height = (float(rect.get(name, 0)) for name in ("x", "y", "width", "height"))
            found[path.get("id", "")] = Box("", x, y, x + width, y + height, turned=False)
    return found


def _lies_on(box: Box, data: Iterable[tuple[float, float]]) -> bool:
    """Whether a point of the data is in a box."""
    inner = box._replace(left=box.left + 1, right=box.right - 1, top=box.top + 1, bottom=box.bottom - 1)
    return any(_contains(inner, point) for point in data)


def _is_data(mark: Mark) -> bool:
    return bool(mark.clip) and mark.kind != "text" and not any(word in mark.style for word in GRID)


def _along(mark: Mark, axes: Box) -> Iterator[tuple[float, float]]:
    """Points of a mark, and points between them, as far as they are inside of the axes."""
    points = list(mark.points)
    if re.search(r"fill: ?none", mark.style):
        for (x, y), (right, bottom) in itertools.pairwise(mark.points):
            points += [
                (x + (right - x) * step / STEPS, y + (bottom - y) * step / STEPS) for step in range(1, STEPS)
            ]
    return (point for point in points if _contains(axes, point))


def _contains(box: Box, point: tuple[float, float]) -> bool:
    return box.left < point[0] < box.right and box.top < point[1] < box.bottom


def _in_the_dark(root: ElementTree.Element) -> list[str]:
    """The defects on dark pages: no colours for them, or a box that stays white."""
    sheet = "".join(style.text or "" for style in root.iter(f"{SVG}style"))
    light, media, dark = sheet.partition("@media")
    if not media or "prefers-color-scheme" not in dark:
        return ["has no colours for dark pages"]
    changed = set(RULE.findall(dark))
    white = [
        name
        for name, style in CLASS.findall(light)
        if name not in changed and (fill := re.search(r"fill: ?(#\w{6})", style)) and _is_bright(fill[1])
    ]
    used = {element.get("class") for element in root.iter() if element.tag != f"{SVG}text"}
    return [f"the class {name} stays white on dark pages" for name in white if name in used]


def _is_bright(colour: str) -> bool:
    found = COLOUR.fullmatch(colour)
    return found is not None and min(bytes.fromhex(found[1])) >= BRIGHT


def _overlap(one: Box, two: Box) -> float:
    """Width or height of the rectangle that two boxes share, the smaller one; negative if they share none."""
    return min(
        min(one.right, two.right) - max(one.left, two.left),
        min(one.bottom, two.bottom) - max(one.top, two.top),
    )


def _classes(root: ElementTree.Element) -> dict[str, str]:
    """Declarations of each class on light pages."""
    sheet = "".join(style.text or "" for style in root.iter(f"{SVG}style"))
    return dict(CLASS.findall(sheet.split("@media")[0]))


def _boxes(
    parent: ElementTree.Element, classes: dict[str, str], origin: tuple[float, float]
) -> Iterator[Box]:
    for child in parent:
        x, y = _shifted(origin, child)
        if child.tag == f"{SVG}text":
            x, y = x + float(child.get("x", 0)), y + float(child.get("y", 0))
            style = child.get("style", "") + classes.get(child.get("class", ""), "")
            text = "".join(child.itertext()).strip()
            if text:
                turn = TURN.search(child.get("transform", ""))
                yield _box(text, style, (x, y), float(turn[1]) if turn else 0.0)
        else:
            yield from _boxes(child, classes, (x, y))


def _shifted(origin: tuple[float, float], element: ElementTree.Element) -> tuple[float, float]:
    shift = SHIFT.search(element.get("transform", ""))
    return (origin[0] + float(shift[1]), origin[1] + float(shift[2])) if shift else origin


def _box(text: str, style: str, place: tuple[float, float], degrees: float) -> Box:
    found = SIZE.search(style)
    size = float(found[1]) if found else 10.0
    width = _width(text, bold="bold" in style or " 700 " in style) * size
    start = next((-share * width for name, share in ANCHORS.items() if name in style), 0.0)
    corners = [(x, y) for x in (start, start + width) for y in (-ASCENT * size, DESCENT * size)]
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    xs = [place[0] + x * cosine - y * sine for x, y in corners]
    ys = [place[1] + x * sine + y * cosine for x, y in corners]
    return Box(text, min(xs), min(ys), max(xs), max(ys), degrees % 90 != 0)


ANCHORS = {
    "text-anchor:middle": 0.5,
    "text-anchor:end": 1.0,
    "text-anchor: middle": 0.5,
    "text-anchor: end": 1.0,
}


@cache
def _width(text: str, *, bold: bool) -> float:
    """Width of a text in a font of size 1."""
    font = FT2Font(findfont(FontProperties(family="DejaVu Sans", weight="bold" if bold else "normal")))
    font.set_size(100, 72)
    font.set_text(text, 0, flags=LoadFlags.NO_HINTING)
    return float(font.get_width_height()[0]) / 64 / 100


if __name__ == "__main__":
    raise SystemExit(main())
