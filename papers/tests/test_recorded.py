"""Files with means: pages agree with them, and figures are drawn from them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from multihop.journal import Journal
from multihop.progress import Progress
from multihop.runs import Where
from multihop.stats import Interval
from multihop_papers import figures, headlines, index, layout, pages, recorded
from multihop_papers.catalogue import find
from multihop_papers.declare import Axis, Metric, Plot
from multihop_papers.recorded import Recorded
from multihop_papers.study import Study

DOCS = Path(__file__).resolve().parents[2] / "docs"
FOLDERS = ("papers", "validation", "emulated")
PLACE = re.compile(r"<!-- figure (\S+) -->\n\[[^\]]*\]\(([^)]*)\)")
MEAN = re.compile(r"(-?[\d.]+(?:e[+-]\d+)?)(?: ± ([\d.]+))?")


def section(folder: Path, study: Recorded) -> str:
    text = (folder / f"{study.experiment.page}.md").read_text("utf-8")
    parts = {anchor: str(part) for part, anchor in pages.SECTIONS.findall(text)}
    return parts[study.experiment.id]


def tables(text: str) -> list[pl.DataFrame]:
    """The tables of a section."""
    found = []
    for block in text.split("\n\n"):
        lines = block.strip().splitlines()
        if len(lines) > 2 and lines[1].startswith("| ---"):
            head, _, *rows = [
                [pages.plain(cell.strip()) for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines
            ]
            found.append(pl.DataFrame(rows, schema=head, orient="row"))
    return found


def differing(ours: pl.DataFrame, page: pl.DataFrame) -> Iterator[str]:
    """Cells of a page that are not the rounded numbers of a file."""
    for name in ours.columns:
        if not name.startswith("difference ("):
            for here, there in zip(ours[name], page[name], strict=True):
                if not agrees(here, there):
                    yield f"{name}: the file has {here}, the page {there}"


def agrees(here: str, there: str) -> bool:
    if here == there:
        return True
    one, other = MEAN.fullmatch(here), MEAN.fullmatch(there)
    if one is None or other is None or (one[2] is None) != (other[2] is None):
        return False
    pairs = [(one[place], other[place]) for place in (1, 2) if other[place]]
    return all(abs(float(a) - float(b)) <= 0.5001 * max(last_digit(a), last_digit(b)) for a, b in pairs)


def last_digit(number: str) -> float:
    return 10.0 ** -len(number.partition(".")[2])


@pytest.mark.parametrize("name", FOLDERS)
def test_tables_of_pages_have_the_numbers_of_the_files(name: str) -> None:
    for study in recorded.studies(DOCS / name):
        there = tables(section(DOCS / name, study))
        for ours, _ in pages.tables(study):
            same = [one for one in there if one.columns == ours.columns and one.height == ours.height]
            problems = [list(differing(ours, one)) for one in same]
            assert [] in problems, (study.experiment.id, ours.columns, min(problems, key=len, default=None))


@pytest.mark.parametrize("name", FOLDERS)
def test_each_figure_of_a_page_can_be_drawn_for_the_site(name: str) -> None:
    wanted = {
        (figure, numbers)
        for page in (DOCS / name).glob("*.md")
        for figure, numbers in PLACE.findall(page.read_text("utf-8"))
    }
    studies = list(recorded.studies(DOCS / name))
    drawn = {
        (f"{study.experiment.id}-{number}.svg", recorded.link(study.experiment, plot.kind))
        for study in studies
        for number, plot in enumerate(study.experiment.plots, 1)
        if plot.kind in study.kinds
    }
    assert drawn == wanted
    files = {path.name.partition(".")[0] for path in (DOCS / name / recorded.FOLDER).iterdir()}
    assert files == {study.experiment.id for study in studies}
    records = {one.id: one for one in index.read(DOCS / name)}
    for study in studies:
        record = records[study.experiment.id]
        assert record.command.startswith(f"multihop papers run {record.id} --")


@pytest.mark.parametrize("name", FOLDERS)
def test_answers_claims_and_findings_of_pages_are_those_of_index_and_files(name: str) -> None:
    folder = DOCS / name
    records = {one.id: one for one in index.read(folder)}
    studies = {study.experiment.id: study for study in recorded.studies(folder)}
    for page in dict.fromkeys(one.page for one in records.values()):
        text = (folder / f"{page}.md").read_text("utf-8")
        assert layout.page(page, text, records, studies) == text, f"run multihop papers pages {folder}"
        for one in map(layout.parts, layout.SECTION.split(text)[1:]):
            claims = [CLAIM.findall(block) for block in one.claims]
            verdicts = [(row["verdict"], row["claim"]) for row in records[one.anchor].verdicts]
            if not verdicts:
                continue
            assert [verdict.lower() for found in claims for verdict, _ in found] == [v for v, _ in verdicts]
            shown = [pages.plain(text) for found in claims for _, text in found]
            assert all(text.startswith(claim) for text, (_, claim) in zip(shown, verdicts, strict=True))


CLAIM = re.compile(r"^\* ([A-Z]+(?: [A-Z]+)?)(?: \([^)]*\))?: (.*)$", re.MULTILINE)


@pytest.mark.parametrize("name", FOLDERS)
def test_a_page_begins_with_answers_and_folds_its_tables(name: str) -> None:
    for page in dict.fromkeys(one.page for one in index.read(DOCS / name)):
        for section in layout.SECTION.split((DOCS / name / f"{page}.md").read_text("utf-8"))[1:]:
            blocks = section.strip().split("\n\n")
            assert blocks[2].startswith("**"), blocks[1]
            assert blocks[2].endswith(".**"), blocks[1]
            shown, _, folded = section.partition(layout.OPENED)
            assert "\n| " not in shown, blocks[1]
            assert shown.count("<!-- figure ") <= 1, blocks[1]
            assert folded.strip().endswith(layout.CLOSED) or not folded, blocks[1]
            assert "\nmultihop papers run " in shown, blocks[1]


def test_a_changed_number_or_verdict_changes_the_page() -> None:
    folder, name = DOCS / "papers", "ap-chain"
    record = next(one for one in index.read(folder) if one.id == name)
    study = recorded.read(folder, find(name), record)
    assert study is not None
    text = (folder / f"{record.page}.md").read_text("utf-8")
    part = layout.parts(next(one for one in layout.SECTION.split(text) if one.startswith(f'<a id="{name}">')))
    before = layout.section(part, record, study)
    assert before in text
    rows = [{**row, "verdict": "not held"} for row in record.verdicts]
    assert layout.section(part, replace(record, verdicts=rows), study) != before
    study.means = {key: replace(found, mean=found.mean + 1000) for key, found in study.means.items()}
    assert layout.section(part, record, study) != before


def test_a_finding_has_the_largest_and_the_smallest_mean() -> None:
    table = "| hops | kind | rate, kb/s |\n| --- | --- | --- |\n| 4 | a | 9.0 ± 1.0 |\n| 8 | b | 3.0 ± 0.5 |"
    found = headlines.of_tables(["Rates.", table])
    assert (
        found
        == "The rate is highest with hops 4, a (9.0 ± 1.0 kb/s) and lowest with hops 8, b (3.00 ± 0.50 kb/s)."
    )
    near = headlines.of_tables(["Rates.", table.replace("3.0 ± 0.5", "7.5 ± 0.6")])
    means = "from 7.50 ± 0.60 kb/s (hops 8, b) to 9.0 ± 1.0 kb/s (hops 4, a)"
    assert near == f"The rate ranges {means}, with intervals that overlap."
    third = headlines.of_tables(["Rates.", f"{table}\n| 9 | a | 8.0 ± 0.5 |"])
    assert third == "The rate ranges from 3.00 ± 0.50 kb/s (hops 8, b) to 9.0 ± 1.0 kb/s (hops 4, a).", (
        "the interval of hops 9 overlaps with the highest"
    )
    assert headlines.of_tables(["No table."]) == ""


def today(name: str) -> Recorded:
    """A study of radios of today, as its file has it."""
    record = next(one for one in index.read(DOCS / "papers") if one.id == name)
    study = recorded.read(DOCS / "papers", find(name), record)
    assert study is not None
    return study


def rows_of(page: str) -> list[list[str]]:
    """Cells of the rows of all tables of a document; an empty first cell repeats the one above."""
    found: list[list[str]] = []
    for line in (DOCS / page).read_text("utf-8").splitlines():
        if line.startswith("| "):
            cells = [cell.strip() for cell in line.split("|")[1:-1]]
            found.append([cells[0] or found[-1][0], *cells[1:]])
    return found


def test_lessons_have_the_gains_of_the_file() -> None:
    study = today("today-chain")
    names = {"TCP-3": "tcp-3", "TPA": "tpa*-3", "TCP-AP": "tcp-ap", "mesh": "mesh", "BBR": "bbr"}
    columns = (["b 2M"], ["a 54M, no RTS", "n 65M, no RTS"], ["n 65M, A-MPDU"])
    compared = 0
    for head, hops, *shown in (row for row in rows_of("lessons.md") if row[1] in ("4", "8")):
        name = next(transport for word, transport in names.items() if word in head)
        for radios, text in zip(columns, shown, strict=True):
            means = [
                [study.mean("goodput", (radio, int(hops), one)) for one in (name, "newreno")]
                for radio in radios
            ]
            gains = sorted(100 * (ours.mean / theirs.mean - 1) for ours, theirs in means if ours and theirs)
            low, high = f"{gains[0]:+.0f}", f"{gains[-1]:+.0f}"
            assert text == (f"{low}%" if low == high else f"{low} to {high}%"), (head, hops)
            compared += 1
    assert compared == 30


def test_rts_or_not_has_the_means_of_the_file() -> None:
    study = today("today-chain")
    rows = [row for row in rows_of("rts-or-not.md") if row[0] == "802.11a, 54 Mb/s" and row[1].isdigit()]
    assert [row[1] for row in rows] == ["1", "2", "4", "8"]
    cells = [(radio, name) for name in ("newreno", "mesh") for radio in ("a 54M", "a 54M, no RTS")]
    for _, hops, *shown in rows:
        assert shown == [str(study.mean("goodput", (radio, int(hops), name))) for radio, name in cells]


def lines_of(means: dict[tuple[int, str], tuple[float, float]]) -> str:
    """The finding of a figure with a line for each transport over the number of hops."""
    values: list[set[str]] = [{str(hops) for hops, _ in means}, {name for _, name in means}]
    axes = [Axis("hops", {hops: {} for hops, _ in means}), Axis("transport", {name: {} for _, name in means})]
    throughput = Metric("rate", "throughput, kb/s", "totals.goodput_kbps")
    experiment = replace(find("ap-chain"), axes=axes, metrics=[throughput])
    study = Recorded(experiment, experiment.full, Journal(), values=values)
    study.means = {("rate", cell): Interval(*mean, 5, 0.95) for cell, mean in means.items()}
    return headlines.of_plot(study, Plot("line", "rate", x="hops", by="transport"))


def test_a_finding_about_lines_names_the_value_at_which_they_differ_most() -> None:
    early = {(2, "a"): (90.0, 2.0), (2, "b"): (60.0, 2.0), (4, "a"): (50.0, 9.0), (4, "b"): (48.0, 9.0)}
    with_two = "With 2 hops, the throughput is highest with a (90.0 ± 2.0 kb/s) and lowest with b"
    assert lines_of(early) == f"{with_two} (60.0 ± 2.0 kb/s)."
    late = early | {(4, "b"): (9.0, 2.0)}
    assert lines_of(late).startswith("With 4 hops, the throughput is highest with a (50.0 ± 9.0 kb/s)")


def test_a_finding_about_lines_that_nowhere_differ_says_so() -> None:
    same = {(2, "a"): (90.0, 20.0), (2, "b"): (60.0, 20.0), (4, "a"): (50.0, 9.0), (4, "b"): (48.0, 9.0)}
    overlap = "The intervals of the throughput overlap at every number of hops, whatever the transport."
    assert lines_of(same) == overlap
    assert lines_of(same | {(2, "b"): (60.0, 2.0)}).startswith(
        "With 2 hops, the throughput is highest with a"
    )


def test_a_page_that_differs_from_its_file_is_found() -> None:
    ours = pl.DataFrame({"chain": ["1 hop"], "goodput": [str(Interval(1253.64, 1.12, 40, 0.9))]})
    assert list(differing(ours, ours.with_columns(goodput=pl.lit("1254 ± 1")))) == []
    (problem,) = differing(ours, ours.with_columns(goodput=pl.lit("1253.8 ± 1.1")))
    assert problem == "goodput: the file has 1253.6 ± 1.1, the page 1253.8 ± 1.1"


def test_figures_of_runs_and_series_are_drawn_from_files(tmp_path: Path) -> None:
    plots = (
        Plot("time", "rtt_ms", by="transport", panel="background"),
        Plot("scatter", "p95", x="rtt", panel="layout"),
    )
    experiment = replace(find("ap-cov"), plots=plots, more=None)
    effort = replace(experiment.quick, seeds=2, settings={"duration": 45.0})
    study = Study(experiment, effort, Journal())
    study.run(Where(jobs=1), Progress("", quiet=True))
    recorded.write(tmp_path, study)
    read = recorded.read(tmp_path, experiment, index.record(study, "0.2.0"))
    assert read is not None
    assert read.kinds == set(recorded.ENDS)
    for plot in plots:
        here, there = (drawn_extents(one, plot) for one in (study, read))
        assert there == [pytest.approx(numbers, rel=1e-3) for numbers in here]


def drawn_extents(study: Study, plot: Plot) -> list[tuple[float, ...]]:
    """The limits of the lines of each panel, and their number."""
    figure = figures.draw(study, plot)
    assert figure is not None
    return [(len(axes.lines), *axes.dataLim.extents) for axes in figure.axes]


def test_a_thinned_series_keeps_its_extremes() -> None:
    points = [(float(time), time * 7919 % 5003) for time in range(5000)]
    thinned = recorded.thinned(points)
    assert len(thinned) <= recorded.POINTS
    assert list(thinned) == sorted(thinned)
    assert {min(value for _, value in thinned), max(value for _, value in thinned)} == {0, 5002}
    assert recorded.thinned(points[:10]) == points[:10]
