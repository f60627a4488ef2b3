#!/usr/bin/env python3
"""Search the constants of `mesh` over the training half of the gauntlet, by CMA-ES.

python3 tools/tune_mesh.py --out DIR                     20 generations of 8 points each
python3 tools/tune_mesh.py --out DIR --generations 40    continues: what DIR has is not run again
python3 tools/tune_mesh.py --out DIR --on tcp://HOST:8786    on a Dask cluster

The score of a point is the mean, over networks and flows, of ln(1 + goodput in kb/s) - 0.1 ln(95% quantile of
delay in ms). DIR/evaluations.jsonl has every point with its score. At the end the best point and the defaults
are compared on both halves, with paired intervals over networks and seeds: constants that win on the training
half alone are worth nothing. What they gain and lose in each network follows, also beside NewReno.
Needs `pip install 'multihop[break]'`.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from multihop.journal import Journal
from multihop.progress import Progress
from multihop.runs import Where
from multihop.stats import interval
from multihop_papers.declare import Axis, Document, Effort, Settings
from multihop_papers.gauntlet.catalogue import TEST_HALF, TRAINING_HALF
from multihop_papers.gauntlet.networks import FILES, NEWRENO, OWN, SHARED, START, rivals
from multihop_papers.study import Experiment, Study

Point = Mapping[str, float]
"""Values of keys of `mesh`."""

RANGES: Mapping[str, tuple[float, float]] = {
    "backlog": (0.1, 2.0),
    "delay": (0.001, 0.02),
    "correction": (0.1, 0.9),
    "gain": (0.01, 0.2),
    "ack_every": (2, 16),
    "ack_hold": (0.05, 1.0),
}
FIRST: Point = {
    "backlog": 0.4,
    "delay": 0.005,
    "correction": 0.5,
    "gain": 0.05,
    "ack_every": 8,
    "ack_hold": 0.4,
}
"""Where the search begins."""
WHOLE = ("ack_every",)
DELAY_COUNTS = 0.1
"""Price of a factor of e in delay, in factors of e of goodput."""
POPULATION = 8
FIRST_STEP = 0.25
"""The standard deviation of the first generation, as a share of the logarithmic range."""
SEED = 1


def main() -> int:
    """Search, then compare the best point with the defaults."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="folder of runs and of the log"
    )
    parser.add_argument("--generations", type=int, default=20, metavar="N", help="default 20")
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="seeds of a network; default 3")
    parser.add_argument(
        "--seconds", type=float, default=60.0, metavar="S", help="measured time of a run; default 60"
    )
    parser.add_argument(
        "--jobs", type=int, metavar="N", help="parallel runs; default: one for each processor"
    )
    parser.add_argument("--on", metavar="ADDRESS", help="Dask scheduler to run on")
    options = parser.parse_args()
    judge = Judge(options)
    best = search(judge, options.generations)
    print(f"best: {json.dumps(best)}")
    for half in (TRAINING_HALF, TEST_HALF):
        found, default = judge.values(half, [best, {}])
        gained = interval([a - b for a, b in zip(found, default, strict=True)], half.level)
        print(f"{half.id}: best {fmean(found):.4f}, defaults {fmean(default):.4f}, difference {gained}")
    judge.compare(best)
    return 0


class Judge:
    """Runs points, and keeps what was run."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.journal = Journal(options.out)
        self.log = options.out / "evaluations.jsonl"
        self.log.unlink(missing_ok=True)
        self.where = Where(options.jobs, options.on)
        self.seeds: int = options.seeds
        self.settings: Settings = {"duration": START + options.seconds}

    def scores(self, generation: int, points: Sequence[Point]) -> list[float]:
        """The scores of a generation, which are written to the log."""
        scores = [fmean(values) for values in self.values(TRAINING_HALF, points)]
        with self.log.open("a", encoding="utf-8") as log:
            for point, score in zip(points, scores, strict=True):
                log.write(json.dumps({"generation": generation, "score": score, **point}) + "\n")
        return scores

    def values(self, half: Experiment, points: Sequence[Point]) -> list[list[float]]:
        """Values of each point in each network with each seed."""
        study = self.study(half, dict(enumerate(points)))
        return [
            [
                value(result.data)
                for network in networks(half)
                for result in study.results((network, name, OWN))
            ]
            for name in range(len(points))
        ]

    def study(self, half: Experiment, points: Mapping[Any, Point], beside: str = OWN) -> Study:
        """The runs of these points, with a second flow of this kind in the shared network."""
        tables: dict[Any, Settings] = {
            name: {"flow.0.transport" if beside != OWN else "flow.*.transport": {"kind": "mesh", **point}}
            for name, point in points.items()
        }
        kept = networks(half) if beside == OWN else {SHARED: half.axes[0].values[SHARED]}
        axes = [
            Axis("network", kept),
            Axis("transport", tables),
            Axis("beside", {beside: rivals(0.0)[beside]}),
        ]
        effort = Effort(self.seeds, self.settings, first=half.quick.first)
        study = Study(replace(half, axes=axes, more=None, left_out=lambda _: False), effort, self.journal)
        study.run(self.where, Progress("", quiet=True))
        return study

    def compare(self, best: Point) -> None:
        """Print what the best point gains and loses in each network of the training half."""
        points: dict[Any, Point] = {"defaults": {}, "best": best}
        print("defaults, best: goodput, kb/s; mean logarithm; 95% quantile of delay, ms")
        study = self.study(TRAINING_HALF, points)
        for network in networks(TRAINING_HALF):
            cells = [[result.data for result in study.results((network, name, OWN))] for name in points]
            told = [[fmean(measure(one) for one in cell) for cell in cells] for measure in MEASURES]
            print(f"{network:14}" + ";".join(f"{old:9.2f}, {new:.2f}" for old, new in told))
        shared = self.study(TRAINING_HALF, points, NEWRENO)
        for name in points:
            runs = [result.data["flows"] for result in shared.results((SHARED, name, NEWRENO))]
            ours, theirs = (fmean(flows[n]["goodput_kbps"] for flows in runs) for n in (0, 1))
            print(f"{name} beside NewReno: {ours:.0f} and {theirs:.0f} kb/s")


def networks(half: Experiment) -> Mapping[str, Settings]:
    """Networks of one half whose flows are greedy."""
    return {name: settings for name, settings in half.axes[0].values.items() if name != FILES}


def value(document: Document) -> float:
    """The mean over flows of the logarithm of goodput, less what delay costs."""
    return fmean(math.log1p(flow["goodput_kbps"]) - cost(flow["delay_ms"]) for flow in document["flows"])


def cost(delay: Mapping[str, float | None] | None) -> float:
    """Cost of a flow's delay; nothing if no segment arrived, which goodput shows."""
    quantile = delay["p95"] if delay else None
    return DELAY_COUNTS * math.log(max(quantile, 1.0)) if quantile else 0.0


def delay(document: Document) -> float:
    """The 95% quantile of delay, mean over the flows of which something arrived."""
    found = [
        flow["delay_ms"]["p95"] for flow in document["flows"] if flow["delay_ms"] and flow["delay_ms"]["p95"]
    ]
    return fmean(found) if found else math.nan


MEASURES: Sequence[Callable[[Document], float]] = (
    lambda document: float(document["totals"]["goodput_kbps"]),
    lambda document: fmean(math.log1p(flow["goodput_kbps"]) for flow in document["flows"]),
    delay,
)


def search(judge: Judge, generations: int) -> Point:
    """The best point that was tried."""
    import cma

    options = {"bounds": [0, 1], "popsize": POPULATION, "seed": SEED, "verbose": -9}
    strategy = cma.CMAEvolutionStrategy([place(key, FIRST[key]) for key in RANGES], FIRST_STEP, options)
    best: tuple[float, Point] = (-math.inf, FIRST)
    for generation in range(generations):
        asked = strategy.ask()
        points = [{key: at(key, x) for key, x in zip(RANGES, one, strict=True)} for one in asked]
        scores = judge.scores(generation, points)
        strategy.tell(asked, [-score for score in scores])
        best = max(best, *zip(scores, points, strict=True), key=lambda one: one[0])
        print(f"generation {generation}: best so far {best[0]:.4f} {json.dumps(best[1])}", flush=True)
    return best[1]


def place(key: str, value: float) -> float:
    """Where a value is in its range, from 0 to 1, by logarithms."""
    low, high = RANGES[key]
    return math.log(value / low) / math.log(high / low)


def at(key: str, x: float) -> float:
    """The value at a place."""
    low, high = RANGES[key]
    found = low * (high / low) ** min(max(x, 0.0), 1.0)
    return round(found) if key in WHOLE else float(f"{found:.4g}")


if __name__ == "__main__":
    sys.exit(main())
