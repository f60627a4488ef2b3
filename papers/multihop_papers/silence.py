"""Find the runs in which a flow delivered nothing: every page flags them."""

from __future__ import annotations

from dataclasses import dataclass

from multihop_papers.study import Study, Values

SHOWN = 8
"""Cells that a warning names."""
SILENT = "In some runs a flow has zero goodput:"
"""The sentence above the lines of a warning."""


@dataclass(frozen=True)
class Silence:
    """The runs of a cell in which flows had zero goodput."""

    cell: Values
    runs: int
    some: int
    """Runs in which at least one flow delivered nothing."""
    all: int
    """Runs in which no flow delivered anything."""

    def __str__(self) -> str:
        whole = f", {self.all} of them without any goodput" if self.all else ""
        return f"{' '.join(map(str, self.cell)) or 'the only cell'}: {self.some} of {self.runs} runs{whole}"


def silences(study: Study) -> list[Silence]:
    """The cells that have such runs, the worst first."""
    found = []
    for cell in study.accepted():
        runs = [
            [flow["goodput_kbps"] for flow in study.result(cell, seed).data["flows"]]
            for seed in study.each_seed()
            if study.done(cell, seed)
        ]
        some = sum(any(value == 0 for value in flows) for flows in runs)
        if some:
            found.append(Silence(cell, len(runs), some, sum(not any(flows) for flows in runs)))
    return sorted(found, key=lambda one: (-one.all, -one.some))


def warning(found: list[Silence]) -> list[str]:
    """Lines that name the worst cells, and the number of the others."""
    more = [f"{len(found) - SHOWN} more cells"] if len(found) > SHOWN else []
    return [*map(str, found[:SHOWN]), *more]
