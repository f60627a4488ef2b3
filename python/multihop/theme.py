"""The look of figures and pages: colours, and the marker and line of every transport.

Every colour has a light and a dark variant with a contrast of at least 3 to its background. Colour-blind
people can tell all eight apart. No two transports have the same marker and line, so that a print without
colour tells them apart. Tests check it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

# Colours are pairs, light and dark; styles are a colour, a marker and a line. The viewer reads it, too.
_PALETTE = json.loads((Path(__file__).parent / "palette.json").read_text("utf-8"))
PAGE: dict[str, tuple[str, str]] = {name: (light, dark) for name, (light, dark) in _PALETTE["page"].items()}
"""The colours of pages around their figures, light and dark, as style sheets call them."""
SURFACES = PAGE["surface"]
"""The background of figures: light and dark."""
DARK: dict[str, str] = dict(_PALETTE["colours"].values())
"""The dark variant of each colour. Figures of matplotlib have the light one."""
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILION, PURPLE = DARK
NAMES: dict[str, str] = dict(zip(DARK, _PALETTE["colours"], strict=True))
"""Names of colours in the style sheets of pages."""
STYLE_SHEET = Path(__file__).parent / "templates" / "multihop.mplstyle"
"""Path of the style sheet for matplotlib: `plt.style.use(multihop.theme.STYLE_SHEET)`."""


@dataclass(frozen=True)
class Style:
    """The style of a transport in figures."""

    colour: str
    marker: str
    line: str = "-"


def _style(colour: str, marker: str, line: str) -> Style:
    light, _ = _PALETTE["colours"][colour]
    return Style(light, marker, line)


# The family chooses the colour, the member marker and line.
STYLES = {name: _style(*parts) for name, parts in _PALETTE["transports"].items()}
# Styles for other curves; `other` gives those of any number of curves.
OTHERS = [_style(*parts) for parts in _PALETTE["others"]]
UNKNOWN = _style(*_PALETTE["unknown"])


LINES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "D", "^", "v", "P", "x", "<", ">", "*", "h")


def other(number: int) -> Style:
    """The style of a curve that has none of its own, by its number: 28 of them differ in marker or line."""
    turn, place = divmod(number, len(OTHERS))
    look = OTHERS[place]
    return replace(look, line=LINES[(LINES.index(look.line) + turn) % len(LINES)])


def distinct(looks: Iterable[Style]) -> list[Style]:
    """The styles of the curves of one figure, changed so that they differ without colour.

    Curves keep their colours. As long as there are enough, no two have the same marker, and each line is used
    before one is used again. The first curve keeps all of its style.
    """
    found: list[Style] = []
    for look in looks:
        markers = sorted((look.marker, *MARKERS), key=[one.marker for one in found].count)
        lines = sorted((look.line, *LINES), key=[one.line for one in found].count)
        found.append(replace(look, marker=markers[0], line=lines[0]))
    return found


def known(transport: str) -> bool:
    """Whether a transport has its own style."""
    return transport.replace("tpa-star", "tpa*").split("+")[0] in STYLES


def style(transport: str) -> Style:
    """The style of a transport; where curves of one figure share it, `distinct` changes markers and lines."""
    name = transport.replace("tpa-star", "tpa*")
    return STYLES.get(name) or STYLES.get(name.split("+")[0]) or UNKNOWN
