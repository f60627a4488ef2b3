"""SVG files of figures for documents: small, and legible on a light and on a dark page.

Matplotlib repeats the style of every element and writes coordinates with six decimals. A figure file has
each style once, as a class, and coordinates with one or two decimals. The style sheet in the file also has
colours for pages whose `prefers-color-scheme` is dark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

from matplotlib.figure import Figure

from multihop.report import svg
from multihop.theme import DARK, PAGE, SURFACES

SVG = "{http://www.w3.org/2000/svg}"
LINK = "{http://www.w3.org/1999/xlink}href"
LINKED = re.compile(r"url\(#([\w-]+)\)")
COLOUR = re.compile(r"#[0-9a-f]{6}\b")
LONG_NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
PLACES = ("x", "y", "width", "height")
DASHES_OF = re.compile(r";? ?stroke-dasharray: ([^;]*)(?:; stroke-dashoffset: 0)?")
DASHES = ("", "5.55,2.4", "9.6,2.4,1.5,2.4", "1.5,2.475", "9.6,2.4,1.5,2.4,1.5,2.4", "12,3,4,3", "3,3")
"""Patterns of lines, as an SVG file has them."""
CURVE = 40
"""Coordinates in a path from which one decimal is enough: the shapes of markers have fewer, and are small."""
FONTS = re.compile(r"font-family: [^;]*")
FONT = "font-family: 'DejaVu Sans', Verdana, sans-serif"


def figure_file(figure: Figure) -> str:
    """The text of the SVG file of a figure."""
    return compact(svg(figure))


def compact(text: str) -> str:
    """An SVG text of Matplotlib in fewer bytes, and with colours for dark pages."""
    root = ElementTree.fromstring(text)
    _tell_apart(root)
    classes: dict[str, str] = {}
    body = "\n".join(_elements(root, _short_ids(root), classes))
    size = " ".join(f"{name}={quoteattr(root.attrib[name])}" for name in ("width", "height", "viewBox"))
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>'
    return f"{head}\n<style>{_sheet(classes)}</style>\n{body}\n</svg>\n"


def _tell_apart(root: ElementTree.Element) -> None:
    """Give curves that the entries of a legend tell apart by colour alone different dashes."""
    shapes = {f"#{one.get('id')}": one.get("d", "") for one in root.iter(f"{SVG}path")}
    looks: set[tuple[str, ...]] = set()
    changed: dict[str, str] = {}
    for legend in (one for one in root.iter(f"{SVG}g") if one.get("id", "").startswith("legend")):
        for style, markers in _entries(legend):
            found = DASHES_OF.search(style)
            shape = tuple(shapes.get(one, "") for one in markers)
            dashes = found[1] if found else ""
            free = [one for one in (dashes, *DASHES) if (one, *shape) not in looks]
            looks.add((free[0] if free else dashes, *shape))
            if free and free[0] != dashes:
                changed[style] = f"{DASHES_OF.sub('', style)}; stroke-dasharray: {free[0]}"
    for element in root.iter(f"{SVG}path"):
        element.set("style", changed.get(element.get("style", ""), element.get("style", "")))


def _entries(legend: ElementTree.Element) -> Iterator[tuple[str, list[str]]]:
    """Style of the line and names of the markers of each entry of a legend that has a line."""
    style, level, markers = "", "", dict[str, str]()
    for element in legend.iter():
        words = element.get("d", "").split()
        if element.tag == f"{SVG}text":
            if style:
                yield style, [name for name, y in markers.items() if y == level]
            style, level, markers = "", "", {}
        elif element.tag == f"{SVG}use":
            markers[element.get(LINK, "")] = element.get("y", "")
        elif len(words) >= 6 and len(set(words[2::3])) == 1 and "fill: none" in element.get("style", ""):
            style, level = element.get("style", ""), words[2]


def _short_ids(root: ElementTree.Element) -> dict[str, str]:
    """A short id for each id that an attribute of an element refers to."""
    linked: dict[str, None] = {}
    for element in root.iter():
        for key, value in element.attrib.items():
            linked |= dict.fromkeys([value.removeprefix("#")] if key == LINK else LINKED.findall(value))
    return {name: f"i{number}" for number, name in enumerate(linked)}


def _elements(parent: ElementTree.Element, ids: dict[str, str], classes: dict[str, str]) -> Iterator[str]:
    """The children of an element; groups that only name their content are replaced by the content."""
    for child in parent:
        name = child.tag.removeprefix(SVG)
        if name in ("metadata", "style"):
            continue
        attributes = dict(_attributes(child, ids, classes))
        inner = list(_elements(child, ids, classes))
        if name in ("g", "defs") and not (attributes and inner):
            yield from [f"<defs>{''.join(inner)}</defs>"] if name == "defs" and inner else inner
            continue
        words = "".join(f" {key}={quoteattr(value)}" for key, value in attributes.items())
        content = escape((child.text or "").strip("\n")) if name in ("text", "tspan") else ""
        inside = content + "".join(inner)
        yield f"<{name}{words}>{inside}</{name}>" if inside else f"<{name}{words}/>"


def _attributes(
    element: ElementTree.Element, ids: dict[str, str], classes: dict[str, str]
) -> Iterator[tuple[str, str]]:
    for key, long in element.attrib.items():
        value = LINKED.sub(lambda one: f"url(#{ids[one[1]]})", long)
        if key == "id":
            if value in ids:
                yield key, ids[value]
        elif key in ("style", "fill"):
            style = value if key == "style" else f"fill:{value}"
            style = FONTS.sub(FONT, style).replace(": ", ":").replace("; ", ";").strip()
            yield "class", classes.setdefault(style, f"s{len(classes)}")
        elif key == LINK:
            yield "href", f"#{ids[value.removeprefix('#')]}"
        elif key == "d":
            yield key, _path(value)
        elif key == "transform":
            if shift := LONG_NUMBER.sub(_two_decimals, _without_null_turn(value)):
                yield key, shift
        elif key in PLACES:
            yield key, LONG_NUMBER.sub(_two_decimals, value)
        else:
            yield key, value


def _path(data: str) -> str:
    numbers = len(LONG_NUMBER.findall(data))
    short = LONG_NUMBER.sub(_one_decimal if numbers > CURVE else _two_decimals, " ".join(data.split()))
    return re.sub(r" ?([A-Za-z]) ?", r"\1", short)


def _without_null_turn(transform: str) -> str:
    return re.sub(r"rotate\(-?0(?: [^)]*)?\)", "", transform).strip()


def _one_decimal(number: re.Match[str]) -> str:
    return f"{round(float(number[0]), 1):g}"


def _two_decimals(number: re.Match[str]) -> str:
    value = round(float(number[0]), 2)
    return f"{value:.2f}".rstrip("0").rstrip(".") if value else "0"


def _sheet(classes: dict[str, str]) -> str:
    """Style sheet of a file: classes, and their colours on dark pages."""
    rules = "".join(f".{name}{{{style}}}" for style, name in classes.items())
    dark = "".join(f".{name}{{{change}}}" for style, name in classes.items() if (change := _dark(style)))
    text = f"svg{{fill:{DARK_COLOURS['#000000']}}}"
    return (
        "*{stroke-linejoin:round;stroke-linecap:butt}"
        f"{rules}@media (prefers-color-scheme:dark){{{text}{dark}}}"
    )


def _dark(style: str) -> str:
    """The declarations of a style whose colour is another one on dark pages."""
    found = [part for part in style.split(";") if set(COLOUR.findall(part)) & DARK_COLOURS.keys()]
    return ";".join(COLOUR.sub(lambda one: DARK_COLOURS.get(one[0], one[0]), part) for part in found)


def _mixed(colour: str, other: str) -> str:
    """The colour half way between two, as `multihop.report.bar` fills its bars."""
    pairs = zip(_parts(colour), _parts(other), strict=True)
    return "#" + "".join(f"{round((one + two) / 2):02x}" for one, two in pairs)


def _parts(colour: str) -> Iterable[int]:
    return bytes.fromhex(colour.removeprefix("#"))


def _dark_colours() -> dict[str, str]:
    """Colour on dark pages for each colour of figures that needs another one there."""
    light, dark = SURFACES
    filled = {_mixed(colour, light): _mixed(DARK[colour], dark) for colour in DARK}
    frames = {"#cccccc": PAGE["line"][1], "#e6e6e6": PAGE["line"][1], "#b0b0b0": PAGE["quiet"][1]}
    return {**filled, **frames, **dict(PAGE.values()), **DARK, light: dark}


DARK_COLOURS = _dark_colours()
