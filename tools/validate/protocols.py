"""The routing protocols that studies compare, and how they are drawn."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes

from multihop.report import BLUE, GREEN, ORANGE, SKY, Style
from multihop.stats import Interval


class Protocol(NamedTuple):
    """One protocol, and how it finds broken links."""

    label: str
    routing: dict[str, Any]
    style: Style


# The protocol chooses the colour; dashed lines and hollow marks are for HELLOs.
PROTOCOLS = {
    "aodv": Protocol("AODV (ns2), MAC", {"protocol": "aodv"}, Style(BLUE, "o")),
    "aodv-hello": Protocol(
        "AODV (ns2), HELLO", {"protocol": "aodv", "link_failure": "hello"}, Style(BLUE, "o", "--")
    ),
    "uu": Protocol("AODV (uu), MAC", {"protocol": "aodv", "preset": "uu"}, Style(SKY, "s")),
    "uu-hello": Protocol(
        "AODV (uu), HELLO",
        {"protocol": "aodv", "preset": "uu", "link_failure": "hello"},
        Style(SKY, "s", "--"),
    ),
    "dsr": Protocol("DSR, MAC", {"protocol": "dsr"}, Style(GREEN, "D")),
    "olsr": Protocol("OLSR, HELLO", {"protocol": "olsr"}, Style(ORANGE, "^", "--")),
    "olsr-mac": Protocol("OLSR, MAC", {"protocol": "olsr", "link_failure": "mac"}, Style(ORANGE, "^")),
}


def curve(axes: Axes, x: Sequence[float], y: Iterable[Interval], name: str) -> None:
    """Draw a protocol's means with their intervals."""
    label, _, style = PROTOCOLS[name]
    points = list(y)
    axes.errorbar(
        x,
        [point.mean for point in points],
        yerr=[point.half if math.isfinite(point.half) else 0.0 for point in points],
        color=style.colour,
        marker=style.marker,
        markerfacecolor="white" if style.line == "--" else style.colour,
        linestyle=style.line,
        markersize=5,
        capsize=3,
        label=label,
    )
