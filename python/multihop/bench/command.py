"""`multihop bench cc CONTROLLER`: the command line of the bench."""

from __future__ import annotations

import argparse
import json
import shlex
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import polars as pl

import multihop._core as _core
from multihop.bench.contenders import RIVALS, Contender, by_program
from multihop.bench.judging import Judged
from multihop.bench.networks import KINDS, WORDS, Network, networks
from multihop.bench.page import page, summary
from multihop.files import complete_file, make_folder, write_text
from multihop.journal import Journal
from multihop.progress import Progress
from multihop.running import processors
from multihop.runs import Run, Where, complete

SEEDS = 3
MAX_SEEDS = 1000


def main(arguments: Sequence[str]) -> int:
    """Run the controller and its rivals in all networks, and write the page."""
    options = parse(arguments)
    try:
        return run(options)
    except KeyboardInterrupt:
        print(
            f"multihop: interrupted: finished runs are kept in {options.out}; "
            "the same command goes on with the rest",
            file=sys.stderr,
        )
        return 128 + signal.SIGINT
    except (OSError, SyntaxError, ValueError, _core.ScenarioError) as error:
        print(f"multihop bench: {error}", file=sys.stderr)
        return 2
    except _core.RunError as error:
        if error.__cause__ is not None:
            sys.excepthook(type(error.__cause__), error.__cause__, error.__cause__.__traceback__)
        print(f"multihop bench: {error}", file=sys.stderr)
        return 1


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the command line."""
    kinds = "\n".join(f"  {kind:10} {KINDS[kind]:3}  {words}" for kind, words in WORDS.items())
    parser = argparse.ArgumentParser(
        prog="multihop bench",
        description="Compare a congestion control with CUBIC, BBRv3, NewReno and mesh in 100 networks",
        epilog=f"networks:\n{kinds}\n\nThe same command continues an interrupted bench.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("subject", choices=["cc"], help="cc: congestion controls")
    parser.add_argument(
        "controller",
        help="a Python file with a class of multihop.CongestionControl, or the name of a transport",
    )
    parser.add_argument(
        "--program",
        type=Path,
        metavar="FILE",
        help="a program with congestion controls in Rust that runs CONTROLLER, such as "
        "target/release/examples/my_protocols",
    )
    parser.add_argument(
        "--networks",
        nargs="+",
        choices=list(KINDS),
        default=list(KINDS),
        metavar="KIND",
        help=f"kinds of networks: {', '.join(KINDS)} (all)",
    )
    parser.add_argument(
        "--seeds", type=int, default=SEEDS, metavar="N", help=f"runs of each network ({SEEDS})"
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="folder of runs and results (bench-CONTROLLER)"
    )
    parser.add_argument("--jobs", type=int, metavar="N", help="parallel runs (one for each processor)")
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print only results and errors")
    options = parser.parse_args(arguments)
    if not 1 <= options.seeds <= MAX_SEEDS:
        parser.error(f"--seeds is {options.seeds}, allowed: 1 to {MAX_SEEDS}")
    options.networks = [kind for kind in KINDS if kind in options.networks]
    options.out = options.out or Path(f"bench-{Path(options.controller).stem}")
    return options


def run(options: argparse.Namespace) -> int:
    """Perform the missing runs and write the results; the exit code is 0."""
    make_folder(options.out)
    subject = Contender.of(options.controller, options.program)
    contenders = [subject, *(Contender(name) for name in RIVALS if name != subject.name)]
    judged = bench(options, contenders)
    rows = pl.DataFrame(judged.rows(), infer_schema_length=None)
    with complete_file(options.out / "runs.csv") as path:
        rows.write_csv(path)
    found = summary(judged)
    write_text(options.out / "summary.json", json.dumps(found, indent=1) + "\n")
    target = options.out / "page.html"
    page(judged, command(options)).write(target)
    print(json.dumps(found) if options.json else f"{found['answer']}\n{target}: open it in a browser")
    return 0


def command(options: argparse.Namespace) -> str:
    """The command that repeats the bench."""
    words = ["multihop", "bench", "cc", options.controller]
    if options.program is not None:
        words += ["--program", str(options.program)]
    if options.networks != list(KINDS):
        words += ["--networks", *options.networks]
    if options.seeds != SEEDS:
        words += ["--seeds", str(options.seeds)]
    return shlex.join(words)


def bench(options: argparse.Namespace, contenders: Sequence[Contender]) -> Judged:
    """All runs of the bench; those in the journal of the folder are not repeated."""
    chosen = networks(options.networks)
    seeds = range(1, options.seeds + 1)
    planned = [
        (network, contender, seed, _run(network, contender, seed, options.out))
        for seed in seeds
        for network in chosen
        for contender in contenders
    ]
    journal = Journal(options.out)
    progress = Progress("bench", quiet=options.quiet)
    own = [one for _, contender, _, one in planned if contender.program is None]
    complete(own, journal, Where(options.jobs), progress)
    if options.program is not None:
        missing = [
            (one.key, one.request)
            for _, contender, _, one in planned
            if contender.program and one.key not in journal
        ]
        try:
            for line in by_program(options.program, missing, processors(options.jobs)):
                journal.append(line)
        finally:
            journal.sync()
    judged = Judged(chosen, [contender.name for contender in contenders], seeds)
    for network, contender, seed, one in planned:
        judged.add(network, contender.name, seed, journal.result(one.key))
    return judged


def _run(network: Network, contender: Contender, seed: int, out: Path) -> Run:
    cubic = Contender("cubic").transport
    scenario = network.run(contender.transport, cubic, seed)
    request = contender.request(scenario, folder_of(network, out))
    return Run(contender.key(request), request)


def folder_of(network: Network, out: Path) -> Path:
    """The folder of a network's files, which are written if they are missing or those of another rule."""
    if not network.files:
        return out
    folder = out / "traces" / network.name.replace(" ", "-")
    for name, text in network.files.items():
        path = folder / name
        if not path.is_file() or path.read_text("utf-8") != text:
            make_folder(folder)
            write_text(path, text)
    return folder
