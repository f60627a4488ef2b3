#!/usr/bin/env python3
"""Check the figures of the documents: no text is cut off at a border, and no text covers another.

    .venv/bin/python tools/check_figures.py            every figure below docs/
    .venv/bin/python tools/check_figures.py FILE...    these figures

Widths of text are those of DejaVu Sans, the first font that the figures name.
"""

from __future__ import annotations

import argparse
import itertools
import math
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from matplotlib.font_manager import FontProperties, findfont
from matplotlib.ft2font import FT2Font, LoadFlags

ROOT = Path(__file__).resolve().parent.parent
SVG = "{http://www.w3.org/2000/svg}"
CLASS = re.compile(r"\.(\w+)\{([^}]*)\}")
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
    files = parser.parse_args(arguments).files or sorted((ROOT / "docs").rglob("*.svg"))
    found = {path: problems(path.read_text(encoding="utf-8")) for path in files}
    for path, lines in found.items():
        for line in lines:
            print(f"{path}: {line}")
    print(f"{len(files)} figures, {sum(map(bool, found.values()))} with problems")
    return 1 if any(found.values()) else 0


def problems(svg: str) -> list[str]:
    """Texts of a figure that are cut off or cover each other."""
    root = ElementTree.fromstring(svg)
    left, top, width, height = (float(word) for word in root.attrib["viewBox"].split())
    boxes = list(_boxes(root, _classes(root), (0.0, 0.0)))
    cut = [
        f'"{box.text}" is cut off at the border'
        for box in boxes
        if min(box.left - left, box.top - top, left + width - box.right, top + height - box.bottom)
        < -BORDER_SLACK
    ]
    pairs = itertools.combinations([box for box in boxes if not box.turned], 2)
    return cut + [f'"{one.text}" covers "{two.text}"' for one, two in pairs if _overlap(one, two) > SLACK]


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
