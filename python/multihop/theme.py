"""The look of figures and pages: colours, and the marker and line of every transport.

Every colour has a light and a dark variant with a contrast of at least 3 to its background. Colour-blind
people can tell all eight apart, and no two transports have the same marker, line and colour. Tests check it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
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
"""What style sheets of pages call them."""
STYLE_SHEET = Path(__file__).parent / "templates" / "multihop.mplstyle"
"""For matplotlib: `plt.style.use(multihop.theme.STYLE_SHEET)`."""


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
# Styles for other curves, by index.
OTHERS = [_style(*parts) for parts in _PALETTE["others"]]
UNKNOWN = _style(*_PALETTE["unknown"])


def known(transport: str) -> bool:
    """Whether a transport has its own style."""
    return transport.replace("tpa-star", "tpa*").split("+")[0] in STYLES


def style(transport: str) -> Style:
    """The style of a transport, the same in every figure."""
    name = transport.replace("tpa-star", "tpa*")
    return STYLES.get(name) or STYLES.get(name.split("+")[0]) or UNKNOWN
