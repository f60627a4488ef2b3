"""The check of figures, and the figures of the documents."""

from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

import build
import build_site
import check_figures
from multihop import figure_files, report
from multihop_papers import recorded


def drawn(figure: Figure) -> list[str]:
    return check_figures.problems(figure_files.figure_file(figure))


def test_a_label_that_the_border_cuts_off_is_found() -> None:
    figure = Figure(figsize=(3, 2))
    axes = figure.subplots()
    axes.set_ylabel("a label that is longer than the figure is high")
    assert drawn(figure) == ['"a label that is longer than the figure is high" is cut off at the border']


def test_labels_that_cover_each_other_are_found() -> None:
    with report.drawing():
        figure = Figure(figsize=(3, 2), layout="constrained")
        axes = figure.subplots()
        axes.set(xticks=[0, 1, 100], yticks=[])
        assert drawn(figure) == ['"0" covers "1"']


def test_a_figure_with_a_legend_wider_than_itself_is_found() -> None:
    with report.drawing():
        figure = Figure(figsize=(3, 2), layout="constrained")
        axes = figure.subplots()
        for number in range(4):
            axes.plot([0, 1], [number, 1], label=f"transport number {number}")
        figure.legend(loc="outside lower center", ncols=4)
        assert any("cut off" in line for line in drawn(figure))


def curves(*looks: dict[str, Any], loc: Any = "outside lower center") -> Figure:
    with report.drawing():
        figure = Figure(figsize=(4, 3), layout="constrained")
        axes = figure.subplots()
        for number, look in enumerate(looks):
            axes.plot([0, 1], [number, number + 1], label=f"curve {number}", **look)
        (figure if loc.startswith("outside") else axes).legend(loc=loc)
    return figure


def test_curves_of_one_look_are_found_in_old_files_and_told_apart_in_new_ones() -> None:
    figure = curves({"color": "C0"}, {"color": "C1"}, {"color": "C2", "marker": "o"})
    old = report.svg(figure)
    assert check_figures.problems(old) == [
        '"curve 0" and "curve 1" differ in colour alone',
        "has no colours for dark pages",
    ]
    assert drawn(figure) == []
    assert drawn(curves({"color": "C0"}, {"color": "C1", "linestyle": "--"})) == []
    shared = drawn(curves({"color": "C0"}, {"color": "C0"}))
    assert shared == ['"curve 0" and "curve 1" differ in colour alone'], (
        "one colour, one look: nothing to change"
    )


def test_a_legend_over_a_curve_is_found() -> None:
    assert drawn(curves({"color": "C0"}, loc="upper left")) == []
    assert drawn(curves({"color": "C0"}, loc="lower left")) == ['the legend\'s "curve 0" lies on data']


def test_a_box_that_stays_white_on_dark_pages_is_found() -> None:
    text = figure_files.figure_file(curves({"color": "C0"}))
    light = text.partition("@media")[0]
    name = next(name for name, style in check_figures.CLASS.findall(light) if style == "fill:#ffffff")
    start, media, dark = text.partition("@media")
    begin, mark, rest = dark.partition(f".{name}{{")
    white = start + media + begin + rest.partition("}")[2]
    assert mark
    assert check_figures.problems(white) == [f"the class {name} stays white on dark pages"]


@pytest.mark.parametrize("path", sorted((build.ROOT / "docs").rglob("*.svg")), ids=lambda path: path.stem)
def test_no_text_of_a_figure_is_cut_off_or_covered(path: object) -> None:
    assert check_figures.problems(path.read_text("utf-8")) == []  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", build_site.RESULTS)
def test_no_text_of_a_figure_that_is_drawn_for_the_site_is_cut_off_or_covered(name: str) -> None:
    studies = recorded.studies(build.ROOT / "docs" / name)
    figures = {file: figure for study in studies for file, figure in recorded.drawn(study)}
    found = {file: lines for file, figure in figures.items() if (lines := drawn(figure))}
    assert figures
    assert found == {}


@pytest.mark.parametrize(
    "title",
    [
        "Goodput of one flow over a chain, with 95% intervals.",
        "tcp-ap: flow 0 ends at 60 s, flow 1 begins at 30 s; with 95% intervals.",
        "Goodput of each rule beside that of the fixed rate that carries most at this SNR.",
        "Stretch by the length of the shortest path; lengths of fewer than 25 pairs are left out.",
        "Delay of segments, and where the route changes, seed 1 (Figures 3, 4).",
        "Route changes over the weight of the latest delay.",
        "Costs and needs of a byte by radio, and waits at the relay",
        "Share of transfers with more than three hops, and the highest rate",
        "Time to deliver a file",
        "Falls and rises of the window, longer than 2 s",
        "Score of 26 transports beside mesh: a panel for all networks and for each group of radios",
        "",
    ],
)
def test_names_of_axes_and_parameters_are_no_title(title: str) -> None:
    assert not check_figures.states_a_finding(title)


@pytest.mark.parametrize(
    "title",
    [
        "With 12 hops, the aggregate goodput is highest with tcp-ap+da (208.8 ± 1.8 kb/s).",
        "Two panels of data segments. Under TCP-AP each segment leaves alone, which costs nothing.",
        "The mean window ranges from 30.4 segments (APDR 0.8) to 44.0 segments (APDR-PR).",
        "TCP-AP is fairer than TCP with each radio",
        "The route changes range from 5.8 (Babel) to 1166 (APDR 0.8).",
        "Memory changes by +1.3% between 1 h and 8 h.",
        "A second radio doubles the goodput",
        "The intervals of the time lost overlap at every number of stations, whatever the machine.",
    ],
)
def test_a_finding_is_a_title(title: str) -> None:
    assert check_figures.states_a_finding(title)


def test_titles_are_behind_figures_of_results_and_in_the_text_of_others(tmp_path: Path) -> None:
    text = (
        "<!-- figure a-1.svg -->\n[Numbers](a.csv): **A is best.** All.\n\n"
        "![Alt.](b.svg)\n\n**B is.** More.\n\n![No.](c.svg)\n"
    )
    for folder, expected in (("papers", ["A is best.", "B is.", ""]), ("models", ["", "Alt.", "No."])):
        page = tmp_path / folder / "page.md"
        page.parent.mkdir()
        page.write_text(text, encoding="utf-8")
        found = list(check_figures.titles(page))
        assert [figure for figure, _ in found] == ["a-1.svg", "b.svg", "c.svg"]
        assert [title or "" for _, title in found] == expected


def test_each_figure_of_the_documents_has_a_title() -> None:
    pages = sorted((check_figures.ROOT / "docs").rglob("*.md"))
    found = [title for page in pages for _, title in check_figures.titles(page)]
    assert len(found) > 150
    assert all(map(check_figures.states_a_finding, found))
