"""What the index of a report says of each experiment, in a file, so that one page can be rewritten."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from multihop.experiments import claims
from multihop.experiments.comparison import allows, gains, numbers
from multihop.experiments.declare import Claim
from multihop.experiments.explanations import explain
from multihop.experiments.silence import silences
from multihop.experiments.study import Study
from multihop.experiments.verdicts import HELD, NOT_DECIDED, NOT_HELD, NOT_RUN, Verdict
from multihop.files import make_folder, write_text
from multihop.progress import duration

NAME = "index.json"
VERDICTS = (HELD, NOT_HELD, NOT_DECIDED, NOT_RUN)


@dataclass(frozen=True)
class Record:
    """One experiment."""

    id: str
    page: str
    paper: str
    place: str
    version: str
    """Of the program that made its runs."""
    runs: int
    cost: float
    entry: dict[str, str]
    """Its row in the table of experiments."""
    verdicts: list[dict[str, str]]
    errors: list[tuple[str, float]]
    """Relative differences from the numbers of the paper, by what they are."""
    pictures: list[str] = field(default_factory=list)
    """The files of its figures."""
    searched: list[dict[str, str]] = field(default_factory=list)
    """Verdicts on claims of another experiment under each value of settings that the paper does not state."""


def record(study: Study, version: str, pictures: Sequence[str] = ()) -> Record:
    """What the index says of a study."""
    experiment = study.experiment
    return Record(
        experiment.id,
        experiment.page,
        experiment.paper,
        experiment.place,
        version,
        study.runs,
        study.cost,
        _entry(study),
        verdicts(study),
        [(one.what, one.error) for one in (*numbers(study), *gains(study))],
        list(pictures),
        list(study.searched),
    )


def verdicts(study: Study) -> list[dict[str, str]]:
    """A row for each claim."""
    declared = study.experiment.claims
    found = claims.verdicts(study)
    return [_row(study, one, declared[n] if n < len(declared) else None) for n, one in enumerate(found)]


def _row(study: Study, found: Verdict, claim: Claim | None) -> dict[str, str]:
    row = {
        "experiment": study.experiment.id,
        "claim": found.text,
        "verdict": found.verdict,
        "reason": found.kind,
        "ours": found.why,
    }
    if found.verdict != NOT_HELD:
        return row
    switch = found.reason.switch if found.reason is not None else None
    if switch is not None:
        row |= {
            "switch": switch.setting,
            "switch_experiment": switch.experiment,
            "switch_claim": switch.claim,
        }
    if claim is not None and (allowed := allows(study, claim)):
        row["allowed"] = allowed
    return row


def explain_all(records: Sequence[Record]) -> None:
    """Write into the verdicts of all experiments what explains claims that are not held."""
    rows = [row for one in records for row in one.verdicts]
    explain(rows, [row for one in records for row in one.searched])


def counted(rows: Sequence[dict[str, str]]) -> str:
    """How many claims have which verdict."""
    return listed({name: sum(row["verdict"] == name for row in rows) for name in VERDICTS}) or "none"


def listed(counts: Mapping[str, int]) -> str:
    """Counts in words, without those that are zero."""
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count)


def read(folder: Path) -> list[Record]:
    """The records of the pages in a folder."""
    path = folder / NAME
    return [Record(**one) for one in json.loads(path.read_text("utf-8"))] if path.is_file() else []


def merged(folder: Path, written: Sequence[Record], order: Sequence[str]) -> list[Record]:
    """The records of the experiments that are written now, and of those that stay."""
    path = folder / NAME
    before = read(folder)
    new = {one.id for one in written}
    found = [*(one for one in before if one.id in order and one.id not in new), *written]
    places = {name: place for place, name in enumerate(order)}
    found.sort(key=lambda one: places.get(one.id, len(places)))
    explain_all(found)
    make_folder(folder)
    write_text(path, json.dumps([asdict(one) for one in found], indent=1) + "\n")
    return found


def _entry(study: Study) -> dict[str, Any]:
    experiment = study.experiment
    return {
        "experiment": experiment.id,
        "what": experiment.title,
        "paper": experiment.paper if experiment.sheet else f"{experiment.paper}, {experiment.place}",
        "how much": "full" if study.effort is experiment.full else "quick",
        "runs": str(study.runs),
        "seeds": f"{study.seeds} to {study.most_seeds}" if study.extra else str(study.seeds),
        "CPU time": duration(study.cost),
        "wall-clock time": duration(study.wall),
        "claims": counted(verdicts(study)),
        "zero goodput": str(sum(one.some for one in silences(study)) or ""),
    }
