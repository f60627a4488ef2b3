"""Parts that the experiments with real programs share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from multihop_papers.declare import EMULATED, Document, Effort
from multihop_papers.emulated.programs import START, goodput, length
from multihop_papers.emulated.world import LATE_LIMIT, LOST_LIMIT, TRIES, is_late
from multihop_papers.study import Experiment, Study

FULL, QUICK = 30, 6
"""Seconds that a flow is measured."""


def experiment(
    name: str,
    title: str,
    found: str,
    *,
    flows: int,
    runs: int,
    seconds: int = FULL,
    start: float = START,
    more: Callable[[Study], None] | None = None,
    **rest: Any,
) -> Experiment:
    """An experiment with these pairs of programs, and with `--full` so many runs of each case of so many seconds."""

    def whole(study: Study) -> None:
        if more is not None:
            more(study)
        how(study)
        if flows:
            name_failures(study)

    return Experiment(
        id=f"emulated-{name}",
        paper=EMULATED,
        place="real programs over the simulated network",
        title=title,
        found=found,
        emulated=True,
        quick=Effort(1, length(QUICK, flows, start)),
        full=Effort(runs, length(seconds, flows, start)),
        more=whole,
        **rest,
    )


def how(study: Study) -> None:
    """Say what ran, and how well the emulation kept up with the wall clock."""
    runs = [result.data for cell in study.accepted() for result in study.results(cell)]
    if not runs:
        return
    machines = dict.fromkeys(", ".join(f"{name} {version}" for name, version in run["machine"].items()) for run in runs)
    late = [run["emulation"]["wakeups_late_ms"]["p99"] for run in runs if run["emulation"]["wakeups_late_ms"]]
    again, bad = sum(run["tries"] > 1 for run in runs), sum(is_late(run) for run in runs)
    study.text(
        f"Machine: {'; '.join(machines)}. Of {len(runs)} runs {again} were repeated. A run is repeated if 1% of its events or packets were later than "
        f"{1e3 * LATE_LIMIT:g} ms, {LOST_LIMIT:.0%} of the time was lost, or a server did not listen in time. After {TRIES} tries {bad} were "
        "still so and are counted all the same. In the worst run 99% of the events "
        f"were less than {max(late, default=0.0):.1f} ms late, and {max(run['emulation']['lost_share'] for run in runs):.2%} of the time was lost. "
        "Goodput is that of virtual time."
    )


def name_failures(study: Study) -> None:
    """Say which flows count as zero."""
    failed = [
        f"Seed {run['seed']} of {', '.join(map(str, cell))}: {said}."
        for cell in study.accepted()
        for run in (result.data for result in study.results(cell))
        for said in failures(run)
    ]
    if failed:
        study.text(f"Flows count as zero if their clients did not end in time or failed. {' '.join(failed)}")


def failures(document: Document) -> list[str]:
    """The last words of clients of which no goodput is known."""
    clients = document["outputs"][1::2]
    unknown = [said for number, said in enumerate(clients) if goodput(document, number) is None]
    return [said["error"] if isinstance(said, Mapping) else (said.splitlines() or ["nothing"])[-1] for said in unknown]
