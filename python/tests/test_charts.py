"""Charts of pages: what they read from figures, their colours, their axes."""

import itertools
import math
import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from multihop import charts, report, run_charts, theme
from multihop.stats import Interval

SIGHT = {
    "full": np.eye(3),
    # Machado, Oliveira and Fernandes 2009, severity 1.0.
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)
PALETTES = [(list(theme.DARK), theme.SURFACES[0]), (list(theme.DARK.values()), theme.SURFACES[1])]


def linear(colour: str) -> np.ndarray:
    part = np.array(to_rgb(colour))
    found: np.ndarray = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    return found


def lab(light: np.ndarray) -> np.ndarray:
    share = XYZ @ np.clip(light, 0, 1) / XYZ.sum(axis=1)
    f = np.where(share > 0.008856, np.cbrt(share), 7.787 * share + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(one: str, other: str) -> float:
    dark, light = sorted(float(XYZ[1] @ linear(colour)) for colour in (one, other))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize(("colours", "surface"), PALETTES, ids=["light", "dark"])
def test_colours_can_be_seen_and_told_apart_by_everyone(colours: list[str], surface: str) -> None:
    assert len(colours) == 8
    assert min(contrast(colour, surface) for colour in colours) >= 3
    for matrix in SIGHT.values():
        seen = [lab(matrix @ linear(colour)) for colour in colours]
        nearest = min(float(np.linalg.norm(a - b)) for a, b in itertools.combinations(seen, 2))
        assert nearest > 17  # ten times what is just noticeable, in CIELAB of 1976


def test_names_of_colours_are_those_of_the_palette() -> None:
    names = ("BLACK", "ORANGE", "SKY", "GREEN", "YELLOW", "BLUE", "VERMILION", "PURPLE")
    assert [theme.NAMES[getattr(theme, name)] for name in names] == [name.lower() for name in names]


def test_the_style_sheet_has_the_colours_of_the_pages() -> None:
    text = theme.STYLE_SHEET.read_text("utf-8")
    assert re.findall(r'"(\w{6})"', text) == [look.colour.removeprefix("#") for look in theme.OTHERS]


def shape(look: theme.Style) -> tuple[str, str]:
    """Marker and line by which a print without colour shows a curve."""
    return (charts.MARKERS[look.marker], look.line)


def test_transports_differ_without_colour() -> None:
    shapes = [shape(look) for look in (*theme.STYLES.values(), theme.UNKNOWN)]
    assert len(set(shapes)) == len(shapes)


def test_curves_without_a_style_of_their_own_differ_without_colour() -> None:
    assert len({shape(theme.other(number)) for number in range(28)}) == 28


def test_curves_of_one_figure_differ_without_colour() -> None:
    looks = [
        *(theme.style("tpa-99") for _ in range(3)),
        *map(theme.style, ("newreno", "tcp-ap")),
        *theme.OTHERS[:3],
    ]
    found = theme.distinct(looks)
    assert len({look.marker for look in found}) == len(looks)
    assert len({look.line for look in found[:4]}) == len({look.line for look in found[4:]}) == 4
    assert [look.colour for look in found] == [look.colour for look in looks]
    assert found[0] == looks[0]


def test_recorded_series_have_markers_at_different_places() -> None:
    figure, axes = report.new_figure("time, s", "queue, packets")
    for number in range(3):
        look = theme.other(number)
        axes.plot(range(120), range(120), marker=look.marker, markevery=run_charts.marks(number, 120))
    (panel,) = charts.read(figure).panels
    places = [[point.x for point in panel.marked(curve)] for curve in panel.curves]
    assert [len(marked) for marked in places] == [12, 12, 12]
    assert len({place for marked in places for place in marked}) == 36


def bars() -> Figure:
    figure, axes = report.new_figure("", "goodput, kb/s")
    for place, (name, height) in enumerate({"newreno": 3.0, "tpa-2": 5.0}.items()):
        axes.bar(place, height, yerr=1.0, color=theme.style(name).colour, width=0.6)
    axes.set_xticks(range(2), ["TCP NewReno", "TPA-2"])
    return figure


def lines() -> Figure:
    figure, axes = report.new_figure("hops", "goodput, kb/s")
    report.curve(axes, [0, 2], [Interval(0.5, 1.0, 5, 0.95), Interval(5.0, float("inf"), 1, 0.95)], "tpa-2")
    report.curve(axes, [0, 2], [Interval(2.0, 0.1, 5, 0.95), Interval(4.0, 0.2, 5, 0.95)], "newreno")
    report.reference(axes, [0, 2], [1.0, 1.0], "theory", "--")
    return figure


def test_a_chart_has_the_values_of_its_figure() -> None:
    (panel,) = charts.read(lines()).panels
    assert panel.columns == ["tpa-2", "newreno", "theory"]
    assert [(row.x, row.cells) for row in panel.rows] == [
        ("0", ["0.5 ± 1.0", "2.00 ± 0.10", "1"]),
        ("2", ["5", "4.00 ± 0.20", "1"]),
    ]
    looks = [(curve.colour, curve.marker, curve.dash) for curve in panel.curves]
    assert looks == [("vermilion", "s", "dashed"), ("blue", "o", "solid"), ("muted", "", "dashed")]


def test_bars_have_the_names_of_their_categories() -> None:
    (panel,) = charts.read(bars()).panels
    assert [(row.x, row.cells) for row in panel.rows] == [
        ("TCP NewReno", ["3.0 ± 1.0"]),
        ("TPA-2", ["5.0 ± 1.0"]),
    ]


@pytest.mark.parametrize("figure", [bars(), lines()], ids=["bars", "lines"])
def test_axes_of_positive_values_do_not_begin_below_zero(figure: Figure) -> None:
    (panel,) = charts.read(figure).panels
    assert panel.y.low == 0
    assert panel.categories or panel.x.low == 0
    assert all(place >= 0 for place, _ in [*panel.y_ticks, *panel.x_ticks])


def test_values_below_zero_are_shown() -> None:
    figure, axes = report.new_figure("x", "y")
    axes.plot([-1.0, 1.0], [-2.0, 2.0])
    (panel,) = charts.read(figure).panels
    assert panel.y.low < -2
    assert panel.x.low < -1


def test_logarithms_bands_rules_and_steps() -> None:
    figure, axes = report.new_figure("x", "y")
    axes.step([1.0, 10.0, 100.0], [1.0, 2.0, 3.0], where="post")
    axes.fill_between([1.0, 100.0], [1.0, 1.0], [2.0, 2.0], color=theme.BLUE)
    axes.axvline(10.0, color=theme.BLACK)
    axes.set_xscale("log")
    axes.set_xlim(1.0, 100.0)
    (panel,) = charts.read(figure).panels
    assert panel.rules == [("black", 10.0)]
    assert panel.percent(10.0) == "50.00%"
    assert [colour for colour, _ in panel.bands] == ["blue"]
    (curve,) = panel.curves
    assert panel.path(curve).count(" ") == 4


def test_missing_values_are_left_out() -> None:
    figure, axes = report.new_figure("hops", "loss, %")
    report.curve(axes, [1, 2], [Interval(math.nan, math.nan, 1, 0.95), Interval(3.0, 0.5, 5, 0.95)], "udp")
    (panel,) = charts.read(figure).panels
    assert [(row.x, row.cells) for row in panel.rows] == [("2", ["3.00 ± 0.50"])]


def test_a_long_series_has_a_short_table() -> None:
    figure, axes = report.new_figure("time, s", "window")
    axes.plot(range(5000), range(5000))
    (panel,) = charts.read(figure).panels
    assert len(panel.rows) <= charts.MOST_ROWS
    assert panel.path(panel.curves[0]).count(" ") == 4999


def test_a_page_forbids_everything_but_itself_and_has_no_id_twice(tmp_path: Path) -> None:
    page = report.Report("Two figures")
    page.figure(lines(), "Lines.")
    page.figure(bars(), "Bars.")
    text = page.write(tmp_path / "page.html").read_text("utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    assert policy is not None
    assert "default-src &#39;none&#39;" in policy[1]
    assert "unsafe" not in policy[1]
    assert " style=" not in text
    ids = re.findall(r' id="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    assert text.count("<figcaption>") == 2
