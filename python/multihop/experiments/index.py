"""What the index of a report says of each experiment, in a file, so that one page can be rewritten."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from multihop.experiments import claims
from multihop.experiments.catalogue import EXPERIMENTS
from multihop.experiments.comparison import allows, gains, numbers
from multihop.experiments.declare import Claim
from multihop.experiments.explanations import explain
from multihop.experiments.reasons import Reason
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
    if found.reason is not None:
        row |= _switched(found.reason)
    if claim is not None and (allowed := allows(study, claim)):
        row["allowed"] = allowed
    return row


def _switched(reason: Reason) -> dict[str, str]:
    """The claim that holds under another setting, if the reason names one."""
    one = reason.switch
    if one is None:
        return {}
    return {"switch": one.setting, "switch_experiment": one.experiment, "switch_claim": one.claim}


def declared_reasons() -> dict[tuple[str, str], Reason]:
    """The reasons of all declarations, by experiment and claim."""
    claimed = {
        (one.id, claim.text): claim.reason for one in EXPERIMENTS for claim in one.claims if claim.reason
    }
    return claimed | {(one.id, text): reason for one in EXPERIMENTS for text, reason in one.reasons.items()}


def explain_all(records: Sequence[Record]) -> None:
    """Write into the verdicts of all experiments what explains claims that are not held.

    Pages are written less often than declarations, whose reasons come first.
    """
    rows = [row for one in records for row in one.verdicts]
    reasons = declared_reasons()
    for row in rows:
        reason = reasons.get((row["experiment"], row["claim"]))
        if row["verdict"] == NOT_HELD and reason is not None and reason.kind is not None:
            row |= {"reason": str(reason.kind), **_switched(reason)}
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
