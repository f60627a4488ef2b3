"""`multihop papers list | show | run | check | report | summary | pages`."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import multihop
from multihop import tables
from multihop.cluster import ClusterError
from multihop.journal import Shard
from multihop.runs import Where
from multihop_papers import index, layout, pages
from multihop_papers import summary as overview
from multihop_papers.catalogue import EXPERIMENTS, find
from multihop_papers.declare import EMULATED, GAUNTLET, VALIDATION
from multihop_papers.freshness import DIFFERS, compared, digest, note
from multihop_papers.index import Record
from multihop_papers.sequential import BUDGET, BUDGET_FULL, LOOKS
from multihop_papers.study import Experiment, Study, file_name
from multihop_papers.suite import Suite, finished, folder_of, journal

NAMES = (
    "IDs, in which * stands for any part, names of papers, 'validation' or 'emulation'; by default all papers"
)


def main(arguments: Sequence[str]) -> int:
    """Run the command; returns its exit code."""
    options = _parser().parse_args(arguments)
    try:
        status = COMMANDS[options.command](options)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        print(f"multihop papers: interrupted{_kept(options)}", file=sys.stderr)
        return 128 + signal.SIGINT
    except KeyError as error:
        print(f"multihop papers: {error.args[0]}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader has seen enough, as `head` does. What is still buffered has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        print(f"multihop papers: {place}{error.strerror or error}", file=sys.stderr)
        return 1
    except ClusterError as error:
        print(f"multihop papers: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    """The options of each command."""
    parser = argparse.ArgumentParser(
        prog="multihop papers", description="Repeat the experiments of papers, and the validation"
    )
    commands = parser.add_subparsers(dest="command", required=True)
    listed = commands.add_parser("list", help="list the experiments")
    shown = commands.add_parser(
        "show", help="show an experiment of a paper with its findings, and its scenario here"
    )
    shown.add_argument("id")
    about_run = "run experiments and compare the results with the papers"
    run = commands.add_parser("run", help=about_run, description=about_run.capitalize())
    run.add_argument("id", nargs="*", help=NAMES)
    effort = run.add_mutually_exclusive_group()
    effort.add_argument("--quick", action="store_true", help="few seeds and short runs (the default)")
    effort.add_argument("--full", action="store_true", help="run lengths and repetitions as in the papers")
    report = commands.add_parser("report", help="report finished runs, full ones if available")
    report.add_argument("id", nargs="*", help=NAMES)
    summary = commands.add_parser("summary", help="compare finished runs with the papers' numbers")
    summary.add_argument("id", nargs="*", help=NAMES)
    summary.add_argument(
        "--pages", type=Path, metavar="DIR", help="read results from the pages in this folder, not from runs"
    )
    about_check = "compare one run of each cell with the run behind the pages"
    check = commands.add_parser("check", help=about_check, description=about_check.capitalize())
    check.add_argument("id", nargs="*", help=NAMES)
    check.add_argument(
        "--pages", type=Path, default=Path("docs/papers"), metavar="DIR", help="the folder of the pages"
    )
    check.add_argument(
        "--mark",
        action="store_true",
        help="mark on the pages the experiments whose runs are older than the simulator",
    )
    about_pages = "write pages of results anew from the numbers beside them, without runs"
    rewritten = commands.add_parser("pages", help=about_pages, description=about_pages.capitalize())
    rewritten.add_argument("folder", nargs="+", type=Path, metavar="DIR", help="a folder of pages")
    run.add_argument(
        "--looks",
        type=_positive,
        metavar="N",
        help="judge the claims at most N times, each time with twice the seeds, until each is decided by its "
        "interval, or by its mean where the interval is narrower than what matters (default: what the "
        f"experiment declares, or {LOOKS})",
    )
    run.add_argument(
        "--budget",
        type=float,
        metavar="SECONDS",
        help="add no seeds if an experiment would need more CPU time than this "
        f"(default: what the experiment declares, or {BUDGET:g}, with --full {BUDGET_FULL:g})",
    )
    for one in (run, check):
        one.add_argument("--jobs", type=_positive, metavar="N", help="number of parallel runs")
    run.add_argument("--on", metavar="ADDRESS", help="run on a cluster: the address of a Dask scheduler")
    run.add_argument("--shard", type=Shard.parse, metavar="I/N", help="run only part I of N")
    for one in (run, check, report, summary):
        one.add_argument(
            "--out", type=Path, default=Path("out/papers"), metavar="DIR", help="folder for runs and report"
        )
    for one in (run, report):
        one.add_argument(
            "--markdown", type=Path, metavar="DIR", help="also write the report as Markdown into this folder"
        )
    for one in (listed, shown, run, check, report, summary):
        one.add_argument("--json", action="store_true", help="print one JSON document on standard output")
    for one in (listed, shown, run, check, report, summary):
        loudness = one.add_mutually_exclusive_group()
        loudness.add_argument("-q", "--quiet", action="store_true", help="print only results and errors")
        loudness.add_argument("-v", "--verbose", action="count", default=0, help="print a line for each run")
    return parser


def _list(options: argparse.Namespace) -> int:
    if options.json:
        print(json.dumps([_described(one) for one in EXPERIMENTS]))
        return 0
    paper = ""
    for experiment in EXPERIMENTS:
        if experiment.paper != paper:
            paper = experiment.paper
            print(f"\n{paper}" if experiment is not EXPERIMENTS[0] else paper)
        print(f"  {experiment.id:22} {experiment.title} ({experiment.place})")
    return 0


def _show(options: argparse.Namespace) -> int:
    experiment = find(options.id)
    if options.json:
        print(json.dumps(_described(experiment)))
        return 0
    print(
        f"{experiment.id}: {experiment.title}\n{experiment.paper}, {experiment.place}\n\n{experiment.found}\n"
    )
    for axis in experiment.axes:
        print(f"  {axis.name}: {', '.join(str(value) for value in axis.values)}")
    print(f"  measured: {', '.join(metric.label for metric in experiment.metrics)}")
    for name, effort in (("quick", experiment.quick), ("full", experiment.full)):
        settings = ", ".join(f"{key} = {value}" for key, value in effort.settings.items())
        print(f"  {name}: {effort.seeds} seed(s){'; ' + settings if settings else ''}")
    for title, lines in (
        ("Claims", [claim.text for claim in experiment.claims]),
        (
            "Not stated in the paper",
            [f"{one.what}: {one.chosen}, because {one.why}" for one in experiment.unstated],
        ),
    ):
        if lines:
            print(f"\n{title}\n" + "\n".join(f"  * {line}" for line in lines))
    return 0


def _run(options: argparse.Namespace) -> int:
    where = Where(options.jobs, options.on, options.shard)
    suite = Suite(
        options.out, options.full, where, options.quiet, options.verbose > 0, options.looks, options.budget
    )
    studies = []
    chosen = experiments(options.id)
    kept = [] if options.full or options.markdown is None else pages.replaced(chosen, options.markdown)
    if kept:
        why = "written from full runs; run with --full, or name another folder"
        print(f"multihop papers: {', '.join(kept)}: {why}", file=sys.stderr)
        return 2
    for number, experiment in enumerate(chosen, 1):
        if not options.quiet:
            print(f"[{number} of {len(chosen)}] {experiment.id}", file=sys.stderr, flush=True)
        studies.append(suite.study(experiment))
        if not (options.json or studies[-1].missing):
            _print(studies[-1])
    missing = sum(study.missing for study in studies)
    if missing:
        print(f"{missing} runs are missing; the report is written with the last", file=sys.stderr)
        return 0
    command = " ".join(["multihop papers run", *options.id, "--full" if options.full else "--quick"])
    return _publish(options, studies, command, _others(options.out, chosen))


def _others(folder: Path, chosen: Sequence[Experiment]) -> list[Study]:
    """Finished studies in the folder of experiments that were not chosen."""
    known = {one.id for one in chosen}
    found = (finished(folder, one) for one in EXPERIMENTS if one.id not in known)
    return [study for study in found if study is not None]


def _kept(options: argparse.Namespace) -> str:
    """Text about the runs that an interrupt leaves, and how to go on."""
    if options.command != "run":
        return ""
    folders = ((one, folder_of(options.out, one, options.full)) for one in experiments(options.id))
    runs = sum(len(journal(one, folder)) for one, folder in folders if folder.is_dir())
    return f": {runs} runs are kept in {options.out}; the same command goes on with the rest"


def _report(options: argparse.Namespace) -> int:
    chosen = experiments(options.id)
    studies = [study for one in chosen if (study := finished(options.out, one)) is not None]
    if not studies:
        print(
            f"multihop papers: nothing to report in {options.out}; multihop papers run is first",
            file=sys.stderr,
        )
        return 1
    absent = {one.id for one in chosen} - {study.experiment.id for study in studies}
    if absent:
        print(f"not run, or not to the end: {', '.join(sorted(absent))}", file=sys.stderr)
    return _publish(options, studies, " ".join(["multihop papers report", *options.id]))


def _summary(options: argparse.Namespace) -> int:
    records = _records(options)
    if not records:
        print(
            f"multihop papers: nothing to compare in {options.pages or options.out}; "
            "multihop papers run is first",
            file=sys.stderr,
        )
        return 1
    if options.json:
        tables = {"papers": overview.by_paper(records), "experiments": overview.by_experiment(records)}
        print(json.dumps({name: table.to_dicts() for name, table in tables.items()}))
    else:
        print(overview.screen(records))
    return 0


def _check(options: argparse.Namespace) -> int:
    records = {one.id: one for one in index.read(options.pages) if one.runs}
    chosen = [one for one in experiments(options.id) if one.id in records and not one.emulated]
    if not chosen:
        print(f"multihop papers: {options.pages} has no runs of these experiments", file=sys.stderr)
        return 1
    suite = Suite(options.out, True, Where(options.jobs), options.quiet, options.verbose > 0)
    found = {}
    for one in chosen:
        before = records[one.id].first
        found[one.id] = compared(before, digest(suite.first_runs(one)) if before else "")
        if not options.json:
            print(f"{found[one.id]:10} {one.id}", flush=True)
    if options.json:
        print(json.dumps(found))
    if options.mark:
        pages.mark(options.pages, {name: note(said, records[name].version) for name, said in found.items()})
    return 1 if DIFFERS in found.values() else 0


def _pages(options: argparse.Namespace) -> int:
    for folder in options.folder:
        written = layout.rewrite(folder)
        if not written:
            print(f"multihop papers: {folder} has no pages of results", file=sys.stderr)
            return 1
        print(f"{folder}: {len(written)} pages")
    return 0


def _records(options: argparse.Namespace) -> list[Record]:
    """Records of the chosen experiments, from the index of pages or from finished runs."""
    chosen = experiments(options.id)
    if options.pages is not None:
        return [one for one in index.read(options.pages) if one.id in {known.id for known in chosen}]
    studies = [study for one in chosen if (study := finished(options.out, one)) is not None]
    records = [index.record(study, multihop.build()) for study in studies]
    index.explain_all(records)
    return records


def _publish(
    options: argparse.Namespace, studies: Sequence[Study], command: str, others: Sequence[Study] = ()
) -> int:
    """Write the report in every form that is asked for; the HTML page also has `others`."""
    runs, cost = sum(study.runs for study in studies), sum(study.cost for study in studies)
    order = [one.id for one in EXPERIMENTS]
    place = {one: number for number, one in enumerate(order)}
    whole = sorted([*studies, *others], key=lambda study: place.get(study.experiment.id, len(order)))
    page = pages.html(whole, "multihop papers report" if others else command, options.out / "report.html")
    if not options.quiet:
        plural = "" if len(studies) == 1 else "s"
        print(f"{len(studies)} experiment{plural}, {runs} runs, {cost:.0f} s of CPU time", file=sys.stderr)
        earlier = f", with {len(others)} experiments of earlier commands" if others else ""
        print(f"report: {page}{earlier}", file=sys.stderr)
    if options.markdown is not None:
        written = pages.markdown(studies, command, options.markdown, order)
        print(f"report: {written}", file=sys.stderr)
    if options.json:
        print(
            json.dumps({"version": multihop.build(), "experiments": [_outcome(study) for study in studies]})
        )
    return 1 if any(study.failed for study in studies) else 0


def experiments(names: Sequence[str]) -> list[Experiment]:
    """Experiments chosen by ID, paper or page; those of all papers without names."""
    named = [one for name in names for one in _named(name)]
    return named or [one for one in EXPERIMENTS if one.paper not in (VALIDATION, EMULATED, GAUNTLET)]


def _named(name: str) -> list[Experiment]:
    """A name may be that of an experiment, perhaps with `*`, of a paper or of a page, in this order."""
    kinds: tuple[Callable[[Experiment], str], ...] = (
        lambda one: one.id,
        lambda one: name if fnmatchcase(one.id, name) else "",
        lambda one: file_name(one.paper),
        lambda one: one.sheet,
        lambda one: f"{file_name(one.paper)}-{one.sheet}",
    )
    for kind in kinds:
        if found := [one for one in EXPERIMENTS if kind(one) == name]:
            return found
    return [find(name)]


def _print(study: Study) -> None:
    if study.failed:
        print(f"failed: {study.failed}")
    print(f"\n{study.experiment.id}: {study.experiment.title}, {study.seconds:.1f} s")
    for table, caption in pages.tables(study):
        if caption:
            print(f"  {caption}")
        tables.show(table, indent=2, elsewhere="; the report has them")
    for row in index.verdicts(study):
        tables.sentence(f"{row['verdict']}: {row['claim']} ({row['ours']})", indent=2)
    print(flush=True)


def _described(experiment: Experiment) -> dict[str, Any]:
    return {
        "id": experiment.id,
        "paper": experiment.paper,
        "place": experiment.place,
        "title": experiment.title,
        "found": experiment.found,
        "axes": {axis.name: list(axis.values) for axis in experiment.axes},
        "metrics": {metric.name: metric.label for metric in experiment.metrics},
        "claims": [claim.text for claim in experiment.claims],
        "unstated": [{"what": one.what, "chosen": one.chosen, "why": one.why} for one in experiment.unstated],
    }


def _outcome(study: Study) -> dict[str, Any]:
    rows = []
    for cell in study.cells():
        means = {m.name: study.mean(m.name, cell) for m in study.experiment.metrics}
        rows.append(
            {
                **{axis.name: value for axis, value in zip(study.axes, cell, strict=True)},
                **{
                    k: None if v is None else {"mean": v.mean, "half": _finite(v.half), "n": v.n}
                    for k, v in means.items()
                },
            }
        )
    return {
        "id": study.experiment.id,
        "level": study.experiment.level,
        "seeds": study.seeds,
        "stopped": study.stopped,
        "seconds": study.seconds,
        "failed": study.failed or None,
        "refused": pages.reasons(study),
        "cells": rows,
        "claims": index.verdicts(study),
    }


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "list": _list,
    "show": _show,
    "run": _run,
    "check": _check,
    "report": _report,
    "summary": _summary,
    "pages": _pages,
}


def _finite(value: float) -> float | None:
    return value if value < float("inf") else None


def _positive(text: str) -> int:
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError("allowed: a whole number from 1")
