"""`multihop sweep --on ADDRESS`: the rest of `multihop sweep` is in Rust."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import polars as pl

import multihop._core as _core
from multihop import tables
from multihop.cluster import ClusterError
from multihop.journal import Shard
from multihop.progress import Progress
from multihop.runs import Where
from multihop.scenario import request
from multihop.sweeping import Sweep, perform


def main(arguments: Sequence[str]) -> int:
    """Run a sweep on a cluster; the output is that of a local sweep."""
    options = parse(arguments)
    progress = Progress(str(options.file), quiet=options.quiet, verbose=options.verbose > 0)
    try:
        asked = request(options.file, {})
        asked.overrides.extend(tuple(word.partition("=")[::2]) for word in options.set)
        shard = Shard.parse(options.shard) if options.shard else None
        found = perform(asked, Where(None, options.on, shard), options.out, progress)
    except KeyboardInterrupt:
        kept = (
            f"finished runs are kept in {options.out}" if options.out else "with --out finished runs are kept"
        )
        print(f"multihop: interrupted: {kept}; the same command goes on with the rest", file=sys.stderr)
        return 128 + signal.SIGINT
    except (_core.ScenarioError, OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    except (ClusterError, _core.RunError) as error:
        print(f"multihop: {error}", file=sys.stderr)
        return 1
    if options.json:
        print("\n".join(found.lines))
    else:
        tables.show(table(found))
    return 0


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the command line; the options are those of the Rust command."""
    parser = argparse.ArgumentParser(prog="multihop sweep", description="Run a scenario's sweep on a cluster")
    parser.add_argument("file", type=Path, help="scenario file")
    parser.add_argument("--on", required=True, metavar="ADDRESS", help="address of a Dask scheduler")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="set a key of the scenario for every run",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="write results into this folder; runs in its journal are not repeated",
    )
    parser.add_argument("--shard", metavar="I/N", help="run part I of N")
    parser.add_argument("--jobs", type=int, metavar="N", help="ignored: the workers of the cluster decide")
    parser.add_argument("--json", action="store_true", help="print each result as one line of JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print only results and errors")
    parser.add_argument("-v", "--verbose", action="count", default=0, help="print a line for each run")
    return parser.parse_args(arguments)


def table(found: Sweep) -> pl.DataFrame:
    """Means with their intervals, a row for each combination."""
    rows = []
    for row in found.mean("totals.goodput_kbps").iter_rows(named=True):
        goodput = f"{row['mean']:.1f} ± {row['high'] - row['mean']:.1f}"
        axes = {axis: str(row[axis]) for axis in found.axes}
        rows.append({**axes, "goodput kb/s": goodput, "runs": str(row["runs"])})
    return pl.DataFrame(rows)
