"""Index of a report: a record of each experiment in a file, so that one page can be rewritten."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from multihop.files import make_folder, write_text
from multihop.journal import Journal
from multihop.progress import duration
from multihop_papers import claims
from multihop_papers.catalogue import EXPERIMENTS
from multihop_papers.comparison import allows, gains, numbers
from multihop_papers.declare import EMULATED, VALIDATION
from multihop_papers.explanations import explain
from multihop_papers.freshness import digest
from multihop_papers.reasons import Reason
from multihop_papers.sequential import Limits
from multihop_papers.silence import silences
from multihop_papers.study import Experiment, Study
from multihop_papers.verdicts import HELD, NOT_DECIDED, NOT_HELD, NOT_RUN

NAME = "index.json"
MEANS = re.compile(r": ([\d.]+) ± [\d.]+, [^;]*?: ([\d.]+) ± [\d.]+ \([+-]")
"""The two means of a comparison in the text of a verdict."""
VERDICTS = (HELD, NOT_HELD, NOT_DECIDED, NOT_RUN)


@dataclass(frozen=True)
class Record:
    """Record of one experiment in the index of a report."""

    id: str
    page: str
    paper: str
    place: str
    version: str
    """Version of the program that made the experiment's runs."""
    runs: int
    cost: float
    entry: dict[str, str]
    """Row of the experiment in the table of experiments."""
    verdicts: list[dict[str, str]]
    errors: list[tuple[str, float]]
    """Relative differences from the numbers of the paper, by what they are."""
    pictures: list[str] = field(default_factory=list)
    """The files of its figures."""
    searched: list[dict[str, str]] = field(default_factory=list)
    """Verdicts on claims of another experiment under each value of settings that the paper does not state."""
    first: str = ""
    """A digest of the first run of each cell; without one the page is older than digests, or has no runs."""
    command: str = ""
    """Command of the experiment's runs."""
    older: str = ""
    """Note of the page on runs of an older simulator; empty if there are none."""


def record(study: Study, version: str, pictures: Sequence[str] = ()) -> Record:
    """Record of a study for the index."""
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
        digest(study),
        command(study),
    )


def command(study: Study) -> str:
    """The command of a study's runs, with the number of looks if it is not the declared one."""
    experiment, full = study.experiment, study.effort is study.experiment.full
    words = f"multihop papers run {experiment.id} {'--full' if full else '--quick'}"
    sequential = experiment.claims and experiment.paper not in (VALIDATION, EMULATED)
    planned = Limits.planned(study.effort, full).looks
    return words + (f" --looks {study.looks}" if sequential and study.looks != planned else "")


def verdicts(study: Study) -> list[dict[str, str]]:
    """A row for each claim."""
    return [
        {
            "experiment": study.experiment.id,
            "claim": one.text,
            "verdict": one.verdict,
            "reason": one.kind,
            "ours": one.why,
        }
        for one in claims.verdicts(study)
    ]


def _switched(reason: Reason) -> dict[str, str]:
    """The claim that holds under another setting, if the reason names one."""
    one = reason.switch
    if one is None:
        return {}
    return {"switch": one.setting, "switch_experiment": one.experiment, "switch_claim": one.claim}


def explain_all(records: Sequence[Record]) -> None:
    """Write into the verdicts of all experiments what explains claims that are not held.

    Pages are written less often than declarations, whose reasons come first.
    """
    rows = [row for one in records for row in one.verdicts]
    experiments = {one.id: one for one in EXPERIMENTS}
    for row in rows:
        if row["verdict"] == NOT_HELD and row["experiment"] in experiments:
            row |= declared(experiments[row["experiment"]], row)
    explain(rows, [row for one in records for row in one.searched])


def declared(experiment: Experiment, row: Mapping[str, str]) -> dict[str, str]:
    """Reason that the declaration of an experiment gives for a claim that is not held, as part of its row."""
    claim = next((one for one in experiment.claims if one.text == row["claim"]), None)
    reason = experiment.reasons.get(row["claim"]) if claim is None else claim.reason
    found: dict[str, str] = {}
    if reason is not None and reason.kind is not None:
        found |= {"reason": str(reason.kind), **_switched(reason)}
    if claim is not None:
        ours = [float(left) / float(right) - 1 for left, right in MEANS.findall(row["ours"])]
        if allowed := allows(Study(experiment, experiment.full, Journal()), claim, ours):
            found["allowed"] = allowed
    return found


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
    before = read(folder)
    new = {one.id for one in written}
    found = [*(one for one in before if one.id in order and one.id not in new), *written]
    places = {name: place for place, name in enumerate(order)}
    found.sort(key=lambda one: places.get(one.id, len(places)))
    explain_all(found)
    make_folder(folder)
    write(folder, found)
    return found


def write(folder: Path, records: Sequence[Record]) -> None:
    """Write the records of the pages in a folder."""
    write_text(folder / NAME, json.dumps([asdict(one) for one in records], indent=1) + "\n")


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
