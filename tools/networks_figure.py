"""The figure of `tools/compare_networks.py --figure`: how far transports are behind the first one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

from multihop import figure_files, report, theme
from multihop.stats import interval

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "which-transport.svg"
GROUPS: Mapping[str, Sequence[str]] = {
    "all networks": ("b", "g", "n", "ac", "ax"),
    "802.11b and g": ("b", "g"),
    "802.11n": ("n",),
    "802.11ac and ax": ("ac", "ax"),
}
"""Radios of each panel."""


def write(radios: Sequence[str], utilities: Mapping[str, Sequence[float]]) -> Path:
    """Draw the scores of transports in networks of these radios; the first transport is the reference."""
    PICTURE.write_text(draw(radios, utilities), encoding="utf-8")
    return PICTURE


def draw(radios: Sequence[str], utilities: Mapping[str, Sequence[float]]) -> str:
    """A panel for each group of radios, as SVG. The best transport is on top."""
    reference = next(iter(utilities))
    names = sorted(utilities, key=lambda name: fmean(utilities[name]))
    looks = dict(zip(names, theme.distinct(theme.style(name) for name in names), strict=True))
    with report.drawing():
        figure = report.Picture(figsize=(11.0, 0.28 * len(names) + 1.2), layout="constrained")
        panels = figure.subplots(1, len(GROUPS), sharex=True, sharey=True)
    for panel, (title, group) in zip(panels, GROUPS.items(), strict=True):
        places = [place for place, radio in enumerate(radios) if radio in group]
        for row, name in enumerate(names):
            gaps = [utilities[name][place] - utilities[reference][place] for place in places]
            found = interval(gaps)
            panel.errorbar(
                found.mean,
                row,
                xerr=found.half,
                marker=looks[name].marker,
                color=looks[name].colour,
                capsize=2,
            )
        panel.axvline(0.0, linewidth=0.8, color="gray", linestyle=":")
        panel.set(title=f"{title} ({len(places)})")
    panels[0].set_yticks(range(len(names)), names)
    figure.supxlabel(f"score beside {reference}: mean of ln(goodput), and its 95% interval")
    return figure_files.figure_file(figure)
