"""The check of figures, and the figures of the documents."""

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
