"""The report: the same parts as one HTML file and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import polars as pl
from matplotlib.figure import Figure

import multihop
from multihop.figure_files import figure_file
from multihop.files import make_folder, write_text
from multihop.progress import duration
from multihop.report import NO_LINKS, Report
from multihop.stats import format_mean
from multihop_papers import claims, comparison, figures, index, layout, recorded, searches
from multihop_papers import summary as overview
from multihop_papers.declare import VALIDATION, Metric
from multihop_papers.explanations import MEANING as EXPLANATIONS
from multihop_papers.freshness import OLDER
from multihop_papers.index import Record
from multihop_papers.reasons import MEANING
from multihop_papers.sequential import LAST_LOOK
from multihop_papers.silence import SILENT, silences, warning
from multihop_papers.study import Experiment, Study, Values
from multihop_papers.verdicts import NOT_DECIDED, NOT_HELD, Verdict


class Page(Protocol):
    """Interface of a page on which a report is written."""

    def heading(self, text: str, anchor: str = "") -> None:
        """Begin a section of the page."""

    def text(self, text: str) -> None:
        """Add a paragraph to the page."""

    def bullets(self, lines: Iterable[str]) -> None:
        """Add a list to the page."""

    def verdicts(self, found: Iterable[tuple[str, str]]) -> None:
        """Add a list of verdicts, each with its text."""

    def command(self, command: str) -> None:
        """Add a command that the reader can repeat."""

    def table(self, table: pl.DataFrame, caption: str, links: Mapping[str, str] = NO_LINKS) -> None:
        """Add a table; what stands in its first column may lead to a section."""

    def titled(self, figure: Figure, finding: str, caption: str) -> None:
        """Add a figure to the page, with its finding as title."""

    def plot(self, figure: Figure, caption: str, numbers: str) -> None:
        """Add a figure that is drawn from the means in a file."""


class Html(Report):
    """A page of HTML, which contains its figures."""

    def titled(self, figure: Figure, finding: str, caption: str) -> None:
        """Add a figure; its finding is the begin of its caption."""
        self.figure(figure, f"{finding} {caption}")

    def plot(self, figure: Figure, caption: str, numbers: str) -> None:  # noqa: ARG002, of Page
        """Add a figure; the page has its numbers, too."""
        self.figure(figure, caption)


class Markdown:
    """A page of Markdown. Figures are files beside it, or are drawn for the site from files with means."""

    def __init__(self, title: str, name: str) -> None:
        self.name = name
        self.parts = [f"# {title}"]
        self.section = name
        self.figures: dict[str, Figure] = {}
        self.drawn_later: set[str] = set()
        """Figures that `recorded.draw` makes for the site."""

    def heading(self, text: str, anchor: str = "") -> None:
        """Begin a section of the page."""
        self.section = anchor or self.section
        self.parts.append(f'<a id="{anchor}"></a>\n\n## {text}' if anchor else f"## {text}")

    def text(self, text: str) -> None:
        """Add a paragraph to the page."""
        self.parts.append(_escaped(text))

    def bullets(self, lines: Iterable[str]) -> None:
        """Add a list to the page."""
        self.parts.append("\n".join(f"* {_escaped(line)}" for line in lines))

    def verdicts(self, found: Iterable[tuple[str, str]]) -> None:
        """Add a list of verdicts, each with its text."""
        self.bullets(f"{_in_capitals(verdict)}: {text}" for verdict, text in found)

    def command(self, command: str) -> None:
        """Add a command that the reader can repeat."""
        self.parts.append(f"```\n{command}\n```")

    def table(self, table: pl.DataFrame, caption: str, links: Mapping[str, str] = NO_LINKS) -> None:
        """Add a table to the page."""
        cells = [[_escaped(str(value)) for value in row] for row in table.iter_rows()]
        for row in cells:
            row[0] = f"[{row[0]}]({links[row[0]]})" if row[0] in links else row[0]
        rows = [table.columns, ["---"] * table.width, *cells]
        self.parts.append(f"{_escaped(caption)}\n\n" + "\n".join(f"| {' | '.join(row)} |" for row in rows))

    def titled(self, figure: Figure, finding: str, caption: str) -> None:
        """Add a figure to the page, with its finding as title."""
        name = self._add(figure)
        finding, caption = _escaped(finding), _escaped(caption)
        self.parts.append(f"![{finding} {caption}]({name})\n\n**{finding}** {caption}")

    def plot(self, figure: Figure, caption: str, numbers: str) -> None:
        """Add a link to the numbers of a figure, which the site replaces by the figure."""
        name = self._add(figure)
        self.drawn_later.add(name)
        self.parts.append(recorded.place(name, numbers, _escaped(caption)))

    def _add(self, figure: Figure) -> str:
        """Keep a figure of this section, and return the name of its file."""
        name = f"{self.section}-{len(self.pictures(self.section)) + 1}.svg"
        self.figures[name] = figure
        return name

    def pictures(self, section: str) -> list[str]:
        """The files of a section's figures."""
        return [name for name in self.figures if name.rpartition("-")[0] == section]

    def write(self, folder: Path, order: Sequence[str] = ()) -> Path:
        """Write the page and its figures; sections of `order` that it does not have stay as they were."""
        make_folder(folder)
        for name, figure in self.figures.items():
            # Pages that are written by hand show some of the figures that are drawn later, so they are files.
            if name not in self.drawn_later or (folder / name).is_file():
                write_text(folder / name, figure_file(figure))
        path = folder / f"{self.name}.md"
        text = "\n\n".join(self.parts) + "\n"
        if order:
            text = _joined(text, path.read_text("utf-8") if path.is_file() else "", order)
        write_text(path, text)
        return path


def html(studies: Sequence[Study], command: str, path: Path) -> Path:
    """One file with everything."""
    page = Html(TITLE)
    records = [index.record(study, multihop.build()) for study in studies]
    index.explain_all(records)
    summary(page, records, command, {one.id: f"#{one.id}" for one in records})
    for study in studies:
        section(page, study)
    return page.write(path)


def markdown(studies: Sequence[Study], command: str, folder: Path, order: Sequence[str] = ()) -> Path:
    """The pages that the experiments name, and the index, which keeps what it says of other pages."""
    records: list[Record] = []
    for name in dict.fromkeys(study.experiment.page for study in studies):
        of_page = [study for study in studies if study.experiment.page == name]
        page = Markdown(
            TITLES.get(name)
            or f"{of_page[0].experiment.paper}: {of_page[0].experiment.sheet or 'experiments'}",
            name,
        )
        for study in of_page:
            section(page, study)
            recorded.write(folder, study)
            records.append(index.record(study, multihop.build(), page.pictures(study.experiment.id)))
        page.write(folder, order)
    every = index.merged(folder, records, order)
    layout.rewrite(folder, {one.page for one in records})
    return front(folder, every, command if len(every) == len(records) else repeat(every))


def repeat(records: Sequence[Record]) -> str:
    """The command that runs all these experiments: by the name of their group if they share one."""
    groups = {one.paper.lower() for one in records}
    return " ".join(["multihop papers run", *(groups if len(groups) == 1 else []), FULL])


def front(folder: Path, records: Sequence[Record], command: str) -> Path:
    """The index of the pages in a folder."""
    page = Markdown(TITLE, "README")
    links = {one.id: f"{one.page}.md#{one.id}" for one in records}
    summary(page, records, command, links)
    others = other_pages(folder, {f"{one.page}.md" for one in records})
    if others:
        page.heading("Other pages")
        page.bullets(others)
    return page.write(folder)


def _joined(new: str, old: str, order: Sequence[str]) -> str:
    """The sections of the new text, and those of the old one that it does not have."""
    start, *_ = SECTION.split(new, maxsplit=1)
    here, there = ({anchor: text for text, anchor in SECTIONS.findall(page)} for page in (new, old))
    names = [
        *(name for name in order if name in {**there, **here}),
        *(name for name in here if name not in order),
    ]
    return start + "\n\n".join({**there, **here}[name].strip("\n") for name in names) + "\n"


def mark(folder: Path, notes: Mapping[str, str]) -> list[Path]:
    """Say in sections and on the front page that runs are older than the simulator; returns the pages."""
    records = [replace(one, older=notes.get(one.id, one.older)) for one in index.read(folder)]
    paths = sorted({folder / f"{one.page}.md" for one in records if one.id in notes})
    for path in paths:
        parts = SECTION.split(path.read_text("utf-8"))
        write_text(path, "".join(_marked(part, notes) for part in parts))
    index.write(folder, records)
    front(folder, records, repeat(records))
    return paths


def _marked(section: str, notes: Mapping[str, str]) -> str:
    """A section with the note about it behind its answer, in place of an earlier note."""
    found = SECTIONS.match(section)
    if found is None or found[2] not in notes:
        return section
    lines = [line for line in section.split("\n\n") if not line.startswith(OLDER)]
    note = [notes[found[2]]] if notes[found[2]] else []
    place = 3 if lines[2:] and lines[2].startswith("**") else 2
    return "\n\n".join([*lines[:place], *note, *lines[place:]])


def other_pages(folder: Path, written: set[str]) -> list[str]:
    """Links to the pages in a folder that this report has not written."""
    found = sorted(path for path in folder.glob("*.md") if path.name not in {*written, "README.md"})
    titles = (path.read_text("utf-8").splitlines()[0].removeprefix("# ") for path in found)
    return [f"[{title}]({path.name})" for title, path in zip(titles, found, strict=True)]


def replaced(experiments: Iterable[Experiment], folder: Path) -> list[str]:
    """The pages in a folder whose full runs short ones of these experiments would replace."""
    names = {one.page: folder / f"{one.page}.md" for one in experiments if one.quick is not one.full}
    return [str(path) for path in names.values() if path.is_file() and FULL in path.read_text("utf-8")]


def summary(page: Page, records: Sequence[Record], command: str, links: Mapping[str, str]) -> None:
    """How the report was made, and what our numbers say to every claim."""
    runs, cost = sum(one.runs for one in records), sum(one.cost for one in records)
    versions = ", ".join(dict.fromkeys(one.version for one in records if one.version))
    page.text(
        f"{len(records)} experiments, {runs} runs, {duration(cost)} of CPU time, by {versions}. " + SUMMARY
    )
    page.command(command)
    if older := [one.id for one in records if one.older]:
        page.text(f"{OLDER}: {len(older)} of {len(records)} experiments, as their sections say.")
    page.heading("Summary", "summary")
    page.text(AGREEMENT)
    page.table(overview.by_paper(records), "Numbers that agree, and verdicts on claims")
    compared = overview.by_experiment(records)
    if compared.height:
        page.table(compared, "Where the numbers are from", links)
    page.heading("Experiments", "experiments")
    page.table(pl.DataFrame([one.entry for one in records]), "What was run", links)
    rows = [row for one in records for row in one.verdicts]
    page.heading("Verdicts", "verdicts")
    page.text(f"{index.counted(rows)}.{overview.explanations(rows)}")
    page.bullets(f"{kind}: {meaning}" for kind, meaning in (*EXPLANATIONS.items(), *MEANING.items()))
    if rows:
        page.table(overview.every_claim(rows), "Every claim", links)


def section(page: Page, study: Study) -> None:
    """Write the section of one experiment."""
    experiment = study.experiment
    page.heading(f"{experiment.id}: {experiment.title}", experiment.id)
    page.text(f"{experiment.paper}, {experiment.place}. {experiment.found}")
    if study.runs:
        took = f"{duration(study.cost)} of CPU time, {duration(study.wall)} of wall-clock time"
        page.text(f"{study.runs} runs, {took}.{_stopped(study)}")
    if study.failed:
        page.text(f"Failed: {study.failed}")
    if study.refused:
        page.text(
            f"Not run: {len(study.refused)} cells, which this simulator does not accept: {reasons(study)}"
        )
    if silent := silences(study):
        page.text(SILENT)
        page.bullets(warning(silent))
    _results(page, study)
    _beside(page, study)
    found = claims.verdicts(study)
    if found:
        page.verdicts((_verdict(one), f"{one.text} ({one.why})") for one in found)
    undecided = [one.text for one in found if one.verdict == NOT_DECIDED]
    if undecided and study.stopped.endswith(LAST_LOOK):
        page.text("On their bounds, as far as the seeds of all looks tell:")
        page.bullets(undecided)
    not_held = [one for one in found if one.verdict == NOT_HELD]
    for reason in dict.fromkeys(one.reason for one in not_held if one.reason):
        lines = [reason.verdict(one.text) for one in not_held if one.reason == reason]
        if len(lines) == 1:
            page.text(f"{lines[0]}. {reason}")
        else:
            page.bullets(lines)
            page.text(str(reason))
    if experiment.unstated:
        page.text("What the paper does not state:")
        page.bullets(f"{one.what}: {one.chosen}. Reason: {one.why}" for one in experiment.unstated)
    page.command(index.command(study))


def _verdict(found: Verdict) -> str:
    """The verdict, and the kind of its reason."""
    return found.verdict + (f" ({found.kind})" if found.kind else "")


def _stopped(study: Study) -> str:
    """How many seeds were run, and why no more."""
    if study.looks == 1:
        return ""
    level = f"{study.deciding:.2%} intervals, for up to {study.looks} looks"
    more = f", up to {study.most_seeds} in the cells of open claims" if study.extra else ""
    return f" {study.seeds} seeds{more}: {study.stopped}. Claims are decided by {level}."


def _beside(page: Page, study: Study) -> None:
    """Summary of the paper's numbers and gains compared with the simulator's."""
    if numbers := comparison.numbers(study):
        page.text(f"Beside {study.experiment.reference}: {comparison.agreement(numbers)}.")
    if gains := comparison.gains(study):
        page.table(comparison.gain_table(gains), "Gains that the paper gives, and ours")


def reasons(study: Study) -> str:
    """Why cells were refused, each reason once and without what would be allowed."""
    found = {text.split(", allowed")[0].split(": ", 1)[-1] for text in study.refused.values()}
    return "; ".join(sorted(found))


def _results(page: Page, study: Study) -> None:
    name = study.experiment.title
    end = "" if name.endswith("?") else "."
    title = f"{name[:1].upper()}{name[1:]}{end} {method(study)}"
    for plot in study.experiment.plots:
        drawn = figures.draw(study, plot)
        if drawn is not None:
            page.plot(drawn, plot.caption or title, recorded.link(study.experiment, plot.kind))
    # A search shows its own tables: one with every cell is too long to read.
    for frame, caption in tables(study) if study.experiment.deepen is None else ():
        page.table(frame, f"{caption}{title}")
    for part in study.parts:
        match part:
            case str():
                page.text(part)
            case (Figure() as figure, caption, finding):
                page.titled(figure, finding, caption)
            case (pl.DataFrame() as frame, caption):
                page.table(frame, caption)


def method(study: Study) -> str:
    """How the numbers of a table came about."""
    if not study.seeds:
        return "No runs of its own."
    level = f"{study.experiment.level:.0%} Student-t intervals"
    if study.experiment.batches and study.most_seeds == 1:
        count = study.experiment.batches - 1
        return f"{level} of {count} batches of one run; the first batch is dropped."
    seeds = study.each_seed()
    if study.most_seeds == 1:
        return f"One run, seed {seeds[0]}."
    more = f"; up to {study.most_seeds} runs in the cells of open claims" if study.extra else ""
    return f"Mean and {level} of {study.seeds} runs, seeds {seeds[0]} to {seeds[-1]}{more}."


def tables(study: Study) -> list[tuple[pl.DataFrame, str]]:
    """The tables of means with what is put before their captions."""
    experiment = study.experiment
    if not (study.accepted() and experiment.metrics and study.seeds):
        return []
    if not experiment.spread:
        return [(table(study), "")]
    return [(spread(study, metric), f"{metric.label}. ") for metric in experiment.metrics]


def spread(study: Study, metric: Metric) -> pl.DataFrame:
    """One metric, with a column for each value of the axis that is spread."""
    names = [axis.name for axis in study.axes]
    place = names.index(study.experiment.spread)
    rows: dict[Values, dict[str, str]] = {}
    for cell in study.cells():
        others = cell[:place] + cell[place + 1 :]
        heads = zip(names[:place] + names[place + 1 :], others, strict=True)
        row = rows.setdefault(others, {name: str(value) for name, value in heads})
        value = cell[place]
        label = value if isinstance(value, str) else f"{names[place]} {value}"
        row |= _columns(study, metric.name, label, cell)
    # Empty where a combination is left out.
    return pl.DataFrame(list(rows.values())).fill_null("")


def table(study: Study) -> pl.DataFrame:
    """A row for each cell: ours, theirs and the difference."""
    rows = []
    for cell in study.cells():
        row = {axis.name: str(value) for axis, value in zip(study.axes, cell, strict=True)}
        for metric in study.experiment.metrics:
            row |= _columns(study, metric.name, metric.label, cell)
        rows.append(row)
    return pl.DataFrame(rows)


def _columns(study: Study, name: str, label: str, cell: Values) -> dict[str, str]:
    found = study.mean(name, cell)
    ours = "not run" if cell in study.refused else str(found) if found else "-"
    if name not in study.experiment.published or study.experiment.spread:
        return {label: ours}
    printed = study.published(name, cell)
    mean = printed[0] if isinstance(printed, tuple) else printed
    theirs = (
        "" if printed is None else format_mean(*printed) if isinstance(printed, tuple) else f"{printed:g}"
    )
    digits = 2 if study.experiment.paper == VALIDATION else 1
    difference = f"{found.mean / mean - 1:+.{digits}%}" if found and mean else ""
    return {label: ours, f"{study.experiment.reference} ({name})": theirs, f"difference ({name})": difference}


def _in_capitals(verdict: str) -> str:
    """A verdict in capitals; the kind of its reason stays as it is."""
    word, bracket, kind = verdict.partition(" (")
    return word.upper() + bracket + kind


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")


def plain(text: str) -> str:
    """A text of a page of Markdown as it was before it was escaped."""
    return text.replace("\\|", "|").replace("\\*", "*").replace("&lt;", "<")


TITLE = "Experiments, run again"
TITLES = {searches.PAGE: "Settings that the papers do not state"}
"""Titles of pages that have experiments of several papers."""
SECTION = re.compile(r'(?=<a id="[\w-]+"></a>)')
SECTIONS = re.compile(r'(<a id="([\w-]+)"></a>.*?)(?=<a id="|\Z)', re.DOTALL)
AGREEMENT = (
    "Every number that a paper prints for a cell that is run here is compared by its relative "
    "difference. A gain whose "
    "size a paper's text gives is compared by the difference of both gains in percentage points."
    " Numbers "
    "of zero are not compared. Those that are shown under several readings of the paper are counted once."
)
FULL = "--full"
SUMMARY = (
    "Seeds count from 1 and are the same in every cell of an experiment, so that cells are compared on "
    "the same placements, movements and channels. A claim is held, not held, or not decided: the "
    "interval of the paired difference lies above its bound, below it, or on both sides. If an interval "
    "contains the bound, its mean decides, provided that its half-width "
    "is at most 1% of the value that is compared with (of percentages: at least 0.1 percentage "
    "points). A false decision "
    "would not matter then."
    " If a paper "
    "gives the size of a gain, a claim holds if at least half of it is reached. Experiments that were "
    "not run are marked in their sections. CPU time is the cost of the runs; wall-clock time also "
    "depends on the other load of the machine. Each section has the command for its runs."
)
