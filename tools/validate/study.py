"""A validation study: a page of Markdown with tables, figures and verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from matplotlib.figure import Figure

import multihop
from multihop import Result
from multihop.journal import Journal
from multihop.report import drawing
from multihop.runs import Run, Where, complete
from multihop.scenario import request
from multihop.stats import Interval, interval

K = TypeVar("K")
WORDS = {True: "held", False: "not held", None: "not decided"}
KEPT = Path(__file__).resolve().parents[2] / "out" / "validate"


@dataclass
class Study:
    """Filled in the order in which it is read."""

    title: str
    question: str
    setting: str
    full: bool = False
    """Whether this is the long version, which `MULTIHOP_FULL=1` asks for."""
    parts: list[str] = field(default_factory=list)
    verdicts: list[tuple[str, bool | None]] = field(default_factory=list)
    figures: dict[str, Figure] = field(default_factory=dict)

    @property
    def held(self) -> bool:
        """Whether every verdict is for the simulator."""
        return all(held for _, held in self.verdicts)

    def summary(self) -> str:
        """The verdicts in one line."""
        return f"{sum(held is True for _, held in self.verdicts)} of {len(self.verdicts)} verdicts held"

    def text(self, text: str) -> None:
        """Add a paragraph."""
        self.parts.append(text)

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Add a table; the first column is text, the others are numbers."""
        lines = [columns, ["---", *["--:"] * (len(columns) - 1)], *rows]
        self.parts.append("\n".join(f"| {' | '.join(line)} |" for line in lines))

    def figure(self, name: str, figure: Figure, caption: str) -> None:
        """Add a figure, kept as SVG and PNG."""
        self.figures[name] = figure
        self.parts.append(f"![{caption}]({name}.svg)\n\n{caption} (also as [PNG]({name}.png))")

    def verdict(self, claim: str, held: bool | None) -> None:
        """Judge one claim; `None`: it is not decided."""
        self.verdicts.append((claim, held))

    def gain(self, claim: str, difference: Interval) -> None:
        """Judge that a difference is positive; it is not decided while its interval contains zero."""
        self.verdict(f"{claim} (by {difference})", is_positive(difference))

    def worst(self, claim: str, errors: Mapping[str, float], limit: float) -> None:
        """Judge that every relative error stays within a limit; say which one is largest."""
        name = max(errors, key=lambda key: abs(errors[key]))
        found = f"largest difference {errors[name]:+.2%}, {name}"
        self.verdict(f"{claim} within {limit:.1%} ({found})", abs(errors[name]) <= limit)

    def write(self, name: str, directory: Path) -> Path:
        """Write the page and its figures."""
        directory.mkdir(parents=True, exist_ok=True)
        with drawing():
            for figure_name, figure in self.figures.items():
                figure.savefig(directory / f"{figure_name}.svg", metadata={"Date": None})
                figure.savefig(directory / f"{figure_name}.png", dpi=110, metadata={"Software": None})
        verdicts = "\n".join(f"* **{WORDS[held]}**: {claim}." for claim, held in self.verdicts)
        head = [f"# {self.title}", self.question, "## Verdicts", verdicts, "## Setting", self.setting]
        command = f"{'MULTIHOP_FULL=1 ' if self.full else ''}.venv/bin/python tools/validate {name}"
        again = f"Make this page again: `make build && {command}`."
        page = directory / f"{name}.md"
        page.write_text("\n\n".join([*head, again, "## Results", *self.parts]) + "\n", encoding="utf-8")
        return page


def is_positive(difference: Interval) -> bool | None:
    """Whether it is, as far as the interval can tell."""
    return None if difference.contains(0.0) else difference.mean > 0.0


def word(difference: Interval) -> str:
    """The verdict on the claim that a difference is positive."""
    return WORDS[is_positive(difference)]


def greedy(kbps: float, payload: int) -> dict[str, Any]:
    """A flow that offers more than can be carried, so that its queue never runs dry."""
    return {"app": "cbr", "rate_kbps": kbps, "size": payload}


def kept(name: str, scenarios: Iterable[Mapping[str, Any]]) -> list[Result]:
    """Run scenarios in their order; what is finished is kept in out/validate, by scenario, seed and build.

    A study that was stopped goes on where it was.
    """
    runs = [Run.of(request(None, scenario)) for scenario in scenarios]
    journal = Journal(KEPT / name)
    complete(runs, journal, Where())
    return [journal.result(run.key) for run in runs]


def repeat(scenarios: Mapping[K, Mapping[str, Any]], seeds: Sequence[int]) -> dict[K, list[Result]]:
    """Each scenario over the same seeds."""
    runs = [{**scenario, "seed": seed} for scenario in scenarios.values() for seed in seeds]
    found = multihop.run_all(runs)
    chunks = (found[i : i + len(seeds)] for i in range(0, len(found), len(seeds)))
    return dict(zip(scenarios, chunks, strict=True))


def measure(scenarios: Mapping[K, Mapping[str, Any]], seeds: Sequence[int]) -> dict[K, Interval]:
    """Goodput of each scenario in kb/s, over the same seeds."""
    found = repeat(scenarios, seeds)
    return {key: interval(result.goodput_kbps for result in results) for key, results in found.items()}


def percent(value: float, reference: float) -> str:
    """How far a value is from its reference."""
    return f"{value / reference - 1:+.2%}"
