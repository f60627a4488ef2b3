import itertools
from pathlib import Path

import polars as pl

from multihop import report, theme
from multihop.stats import Interval


def drawn(transport: str) -> str:
    figure, axes = report.new_figure("hops", "goodput, kb/s")
    report.curve(
        axes, [1, 2], [Interval(10.0, 1.0, 5, 0.95), Interval(5.0, float("inf"), 1, 0.95)], transport
    )
    return report.svg(figure)


def test_text_is_escaped_and_figures_are_inline(tmp_path: Path) -> None:
    page = report.Report("a < b")
    page.heading("x & y")
    page.table(pl.DataFrame({"<name>": ["<b>"], "value": [1.5], "none": [None]}), "caption")
    figure, _ = report.new_figure("hops", "goodput, kb/s")
    page.figure(figure, "a figure")
    text = page.write(tmp_path / "page.html").read_text()
    assert "<title>a &lt; b</title>" in text
    assert "<h2>x &amp; y</h2>" in text
    assert '<th scope="row">&lt;b&gt;</th>' in text
    assert '<td class="n">1.5</td>' in text
    assert '<p class="unit">goodput, kb/s</p>' in text
    assert text.count('role="img"') == 1


def test_the_same_numbers_give_the_same_figure() -> None:
    assert drawn("newreno") == drawn("newreno")
    assert drawn("newreno") != drawn("adtcp")


def test_a_transport_keeps_its_colour_and_no_two_look_alike() -> None:
    assert theme.style("tpa-star-3") == theme.style("tpa*-3")
    assert theme.style("elfn+da") == theme.style("elfn")
    looks = list(theme.STYLES.values())
    assert all(a != b for a, b in itertools.combinations(looks, 2))
