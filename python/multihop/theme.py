"""The look of figures and pages: colours, and the marker and line of every transport.

Every colour has a light and a dark variant with a contrast of at least 3 to its background. Colour-blind
people can tell all eight apart, and no two transports have the same marker, line and colour. Tests check it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

SURFACES = ("#ffffff", "#151b23")
"""The background of figures: light and dark."""
DARK = {
    "#000000": "#e6eaf0",
    "#cd8300": "#f2a03b",
    "#3197d1": "#91d1f4",
    "#147a5c": "#34b58a",
    "#3e3b00": "#f5eb4d",
    "#1d4fac": "#4d8ae8",
    "#be3f00": "#f67855",
    "#a0529f": "#cc7dba",
}
"""The dark variant of each colour. Figures of matplotlib have the light one."""
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILION, PURPLE = DARK
NAMES = dict(
    zip(DARK, ("black", "orange", "sky", "green", "yellow", "blue", "vermilion", "purple"), strict=True)
)
"""What style sheets of pages call them."""
STYLE_SHEET = Path(__file__).parent / "templates" / "multihop.mplstyle"
"""For matplotlib: `plt.style.use(multihop.theme.STYLE_SHEET)`."""


@dataclass(frozen=True)
class Style:
    """The style of a transport in figures."""

    colour: str
    marker: str
    line: str = "-"


# The family chooses the colour, the member marker and line.
STYLES = {
    "udp": Style(BLACK, "s"),
    "paced": Style(BLACK, "D", "--"),
    "reno": Style(SKY, "v"),
    "newreno": Style(BLUE, "o"),
    "newreno+da": Style(BLUE, "^", "--"),
    "newreno+dyn": Style(BLUE, "x", ":"),
    "cubic": Style(SKY, "^", "--"),
    "vegas": Style(SKY, "P", "-."),
    "westwood": Style(SKY, "x", ":"),
    "tcp-uc": Style(SKY, "o", "--"),
    "tcp-2": Style(SKY, "s", "-."),
    "tcp-3": Style(SKY, "D", ":"),
    "tcp-cwl": Style(BLUE, "P", "-."),
    "tcp-ap": Style(GREEN, "o"),
    "tcp-ap+da": Style(GREEN, "^", "--"),
    "tcp-ap+dyn": Style(GREEN, "x", ":"),
    "tcp-ap-sync": Style(GREEN, "s", "-."),
    "elfn": Style(ORANGE, "o"),
    "elfn-w": Style(ORANGE, "s", "--"),
    "elfn-rto-w": Style(ORANGE, "^", ":"),
    "adtcp": Style(PURPLE, "o"),
    "tpa-2": Style(VERMILION, "s", "--"),
    "tpa-3": Style(VERMILION, "D", "-."),
    "tpa*-2": Style(VERMILION, "^", ":"),
    "tpa*-3": Style(VERMILION, "o"),
    "tpa-ap-2": Style(YELLOW, "s", "--"),
    "tpa-ap-3": Style(YELLOW, "D", "-."),
    "tpa*-ap-3": Style(YELLOW, "o"),
}

# Styles for other curves, by index.
OTHERS = [
    Style(BLUE, "o"),
    Style(VERMILION, "s", "--"),
    Style(GREEN, "D", "-."),
    Style(PURPLE, "^", ":"),
    Style(BLACK, "v"),
    Style(ORANGE, "P", "--"),
    Style(SKY, "X", "-."),
]


def known(transport: str) -> bool:
    """Whether a transport has its own style."""
    return transport.replace("tpa-star", "tpa*").split("+")[0] in STYLES


def style(transport: str) -> Style:
    """The style of a transport, the same in every figure."""
    name = transport.replace("tpa-star", "tpa*")
    return STYLES.get(name) or STYLES.get(name.split("+")[0]) or Style(PURPLE, "x", ":")
