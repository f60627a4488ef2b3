"""What the index of a report says of each experiment, in a file, so that one page can be rewritten."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from multihop.experiments import claims, comparison
from multihop.experiments.comparison import gains, numbers
from multihop.experiments.silence import silences
from multihop.experiments.study import Study
from multihop.experiments.verdicts import HELD, NOT_DECIDED, NOT_HELD, NOT_RUN
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
    )


def verdicts(study: Study) -> list[dict[str, str]]:
    """A row for each claim."""
    rows = claims.verdicts(study)
    name = study.experiment.id
    return [{"experiment": name, "claim": one.text, "verdict": one.verdict, "ours": one.why} for one in rows]


def counted(rows: Sequence[dict[str, str]]) -> str:
    """How many claims have which verdict."""
    counts = {name: sum(row["verdict"] == name for row in rows) for name in VERDICTS}
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "none"


def merged(folder: Path, written: Sequence[Record], order: Sequence[str]) -> list[Record]:
    """The records of the experiments that are written now, and of those that stay."""
    path = folder / NAME
    before = [Record(**one) for one in json.loads(path.read_text("utf-8"))] if path.is_file() else []
    new = {one.id for one in written}
    found = [*(one for one in before if one.id in order and one.id not in new), *written]
    places = {name: place for place, name in enumerate(order)}
    found.sort(key=lambda one: places.get(one.id, len(places)))
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([asdict(one) for one in found], indent=1) + "\n", "utf-8")
    return found


def _entry(study: Study) -> dict[str, Any]:
    experiment = study.experiment
    return {
        "experiment": experiment.id,
        "what": experiment.title,
        "paper": experiment.paper if experiment.sheet else f"{experiment.paper}, {experiment.place}",
        "how much": "full" if study.effort is experiment.full else "quick",
        "runs": str(study.runs),
        "seeds": str(study.seeds),
        "CPU time": duration(study.cost),
        "wall-clock time": duration(study.wall),
        "claims": counted(verdicts(study)),
        "zero goodput": str(sum(one.some for one in silences(study)) or ""),
    }


def by_paper(records: Sequence[Record]) -> pl.DataFrame:
    """A row for each paper: numbers that agree, and verdicts."""
    rows = []
    for paper in dict.fromkeys(one.paper for one in records):
        of = [one for one in records if one.paper == paper]
        found = [row["verdict"] for one in of for row in one.verdicts]
        counts = {name: str(found.count(name)) for name in (HELD, NOT_HELD, NOT_DECIDED)}
        rows.append(
            {"paper": paper, **comparison.counted([error for one in of for _, error in one.errors]), **counts}
        )
    return pl.DataFrame(rows)


def by_experiment(records: Sequence[Record]) -> pl.DataFrame:
    """A row for each experiment with numbers of its paper."""
    rows = []
    for one in records:
        if one.errors:
            what, error = max(one.errors, key=lambda pair: abs(pair[1]))
            row = {"experiment": one.id, "where": one.place.split(", section")[0]}
            worst = {"largest difference": f"{error:+.0%}, {what}"}
            rows.append({**row, **comparison.counted([error for _, error in one.errors]), **worst})
    return pl.DataFrame(rows)
