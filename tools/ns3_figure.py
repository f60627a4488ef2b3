"""The figure of `tools/beside_ns3.py --table distances --figure`: goodput and rates over distance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from multihop import figure_files, report, theme
from ns3_radios import GOODPUT, RATE, STANDARDS
from ns3_tables import Page, Values

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "models" / "budgets-distances.svg"
SHOWN = ("802.11g", "802.11n-20", "802.11ac-20", "802.11ax-20")
LOOKS = {"ns-3": theme.other(0), "multihop": theme.other(1)}
HOLLOW: dict[str, Any] = {"markersize": 8, "fillstyle": "none"}
SOLID: dict[str, Any] = {"markersize": 4}
"""Where both programs agree, both marks are visible."""
METRES = (20, 50, 100, 200)
"""Distances that have a label on the axis."""


@dataclass
class Link:
    """Goodput of one program over a link of growing length."""

    metres: list[float] = field(default_factory=list)
    mbps: list[float] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)  # places among the rates of the standard

    @property
    def reach(self) -> int:
        """Number of distances up to the last one that packets crossed."""
        return max((number for number, mbps in enumerate(self.mbps, 1) if mbps > 0), default=0)


def write(page: Page, found: Sequence[Sequence[Values]]) -> Path:
    """Draw what was measured."""
    PICTURE.write_text(draw(dict(links(page, found))), encoding="utf-8")
    return PICTURE


def links(page: Page, found: Sequence[Sequence[Values]]) -> Iterator[tuple[tuple[str, str], Link]]:
    """The link of each standard and program."""
    every: dict[tuple[str, str], Link] = {}
    for number, (row, values) in enumerate(zip(page.rows, found, strict=True)):
        phy, metres, _ = row.title.split(", ")
        link = every.setdefault((phy, list(LOOKS)[number % 2]), Link())
        link.metres.append(float(metres.removesuffix(" m")))
        link.mbps.append(sum(one[GOODPUT] for one in values) / len(values))
        link.rates.append(values[0][RATE])
    yield from every.items()


def draw(every: dict[tuple[str, str], Link]) -> str:
    """Two panels for each standard, as SVG."""
    with report.drawing():
        figure = report.Picture(figsize=(11.0, 5.6), layout="constrained")
        panels = figure.subplots(2, len(SHOWN), sharex="col")
    for place, phy in enumerate(SHOWN):
        goodput, rate = panels[:, place]
        names = next(list(one.modes) for one in STANDARDS if one.phy == phy)
        for program, look in zip(LOOKS, theme.distinct(LOOKS.values()), strict=True):
            link = every[phy, program]
            style: dict[str, Any] = {
                "color": look.colour,
                "marker": look.marker,
                "linestyle": look.line,
                "label": program,
            }
            style |= HOLLOW if program == "ns-3" else SOLID
            # Where a link has ended, one value of zero shows so.
            end = link.reach + 1
            goodput.plot(link.metres[:end], link.mbps[:end], **style)
            rate.plot(link.metres[: link.reach], link.rates[: link.reach], **style)
        goodput.set(title=phy)
        goodput.set_ylim(bottom=0)
        rate.set(xlabel="distance, m", xscale="log")
        rate.set_xticks(METRES, [str(metres) for metres in METRES])
        rate.minorticks_off()
        ticks = range(0, len(names), 1 if len(names) < 13 else 2)
        rate.set_yticks(list(ticks), [names[tick] for tick in ticks])
    panels[0, 0].set_ylabel("goodput, Mb/s")
    panels[1, 0].set_ylabel("most used rate")
    panels[0, 0].legend()
    return figure_files.figure_file(figure)
