"""Tests of the analyses that experiments make of finished runs, on runs as short as each analysis
can take.
"""

import os
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from multihop.journal import Journal
from multihop.runs import Where
from multihop_papers import pages
from multihop_papers.catalogue import EXPERIMENTS, find
from multihop_papers.declare import Axis, Effort
from multihop_papers.study import Experiment, Study
from multihop_papers.suite import Suite
from multihop_papers.validation import apdr_long

ELSEWHERE = {
    "validation-propagation": "is an example of multihop-radio, which cargo builds",
    "validation-stationarity": "is an example of multihop-radio, which cargo builds",
    "validation-apdr-long": "watches a process",
    "emulated-routing-ring-8": "is emulated-routing-ring-4 with more stations, in real time",
    "emulated-routing-moving-8": "is emulated-routing-moving-4 with more stations, in real time",
}
# Some read fixed times of a run, or need packets on every path.
SECONDS = {
    "ap-cov": 40.0,
    "ap-chain": 30.0,
    "ap-chain-oracle": 30.0,
    "ap-random": 26.0,
    "ap-rules": 26.0,
    "tpa-ack-inhibition": 60.0,
    "adtcp-metrics": 110.0,
    "apdr-lengths": 54.0,
    "apdr-static": 54.0,
    "apdr-static-settings": 54.0,
    "apdr-static-choices": 70.0,
    "apdr-static-gain": 70.0,
    "apdr-walking-settings": 70.0,
    "elfn-zero": 60.0,
    "search-adtcp-accuracy": 260.0,
    "search-apdr-static": 54.0,
    "search-apdr-static-gain": 54.0,
    "tpa-hold": 24.0,
    "gauntlet": 32.0,
    "gauntlet-test": 32.0,
    "gauntlet-unseen": 32.0,
    "validation-adtcp-accuracy": 250.0,
    "validation-adtcp-crowded": 250.0,
    "validation-adtcp-throughput": 250.0,
    "validation-apdr-diamond": 70.0,
    "validation-adtcp-settings": 30.0,
    "validation-apdr-networks": 80.0,
    "validation-chain": 32.0,
    "validation-pacing-acks": 24.0,
    "validation-pacing-response": 90.0,
    "validation-placements": 120.0,
    "validation-wires-bbr": 64.0,
}
WARMUP = 2.0
"""Longest warm-up of a simulated experiment that is not in SECONDS, s."""
FEW = {"transport": ["paced", "newreno", "tpa*-3"]}
KEPT: dict[str, dict[str, list[Any]]] = {
    "gauntlet": FEW,
    "gauntlet-test": FEW,
    "gauntlet-unseen": FEW,
    "validation-wires-options": {"transport": ["cubic, rfc, no SACK", "cubic, rfc, SACK"], "queue": [84]},
}
ANALYSED = [one for one in EXPERIMENTS if one.more is not None and one.id not in ELSEWHERE]


def shortened(experiment: Experiment) -> Experiment:
    """One seed, a few seconds."""
    scenario: Any = experiment.scenario
    starts = [float(flow.get("start", 0.0)) for flow in scenario.get("flow", [])]
    settings = dict(experiment.quick.settings)
    # Emulations wait for the clock: their warm-up costs no processor time.
    if experiment.id not in SECONDS and not experiment.emulated and "warmup" in scenario:
        settings["warmup"] = min(scenario["warmup"], WARMUP)
    begun = max(chain([settings.get("warmup", scenario.get("warmup", 0.0))], starts))
    settings["duration"] = SECONDS.get(experiment.id, begun + 4.0)
    settings |= {key: 0.5 for key in settings if key.startswith("program.") and key.endswith(".start")}
    axes = [shortest(axis) for axis in experiment.axes] if experiment.emulated else experiment.axes
    keep = KEPT.get(experiment.id, experiment.quick.keep)
    return replace(experiment, axes=axes, quick=Effort(1, settings, keep))


def shortest(axis: Axis) -> Axis:
    """The first two values: emulations run in real time."""
    return replace(axis, values=dict(islice(axis.values.items(), 2)))


@pytest.mark.parametrize("experiment", ANALYSED, ids=lambda one: one.id)
def test_every_analysis_runs_and_its_page_can_be_written(experiment: Experiment, tmp_path: Path) -> None:
    study = Suite(tmp_path, full=False, where=Where(), quiet=True).study(shortened(experiment))
    assert study.failed == ""
    assert study.parts or study.found
    pages.markdown([study], "command", tmp_path / "pages")
    pages.html([study], "command", tmp_path / "page.html")
    page = (tmp_path / "pages" / f"{experiment.page}.md").read_text("utf-8")
    title = f"{experiment.title[:1].upper()}{experiment.title[1:]}"
    assert f'<a id="{experiment.id}"></a>\n\n## {title}\n' in page
    findings = [part[2] for part in study.parts if isinstance(part, tuple) and len(part) == 3]
    assert all(f"\n\n**{finding}** " in pages.plain(page) for finding in findings)


def test_memory_of_a_process_is_watched_while_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apdr_long, "EVERY", 0.002)
    experiment = find("validation-apdr-long")
    seen = apdr_long.watch({**experiment.scenario, "seed": 1, "duration": 60.0})
    assert seen.found["events"] > 0
    assert 0 < seen.samples[0].live < seen.samples[0].resident
    used = [sample.cpu for sample in seen.samples]
    assert used == sorted(used)
    assert 0 < seen.cpu <= (os.cpu_count() or 1) * seen.wall


def test_memory_is_compared_at_the_end_of_each_part(monkeypatch: pytest.MonkeyPatch) -> None:
    def watch(asked: dict[str, Any]) -> apdr_long.Run:
        samples = [apdr_long.Sample(0.01 * n, 20_000_000 + 1000 * n, 10_000_000) for n in range(1, 801)]
        return apdr_long.Run({"events": 1e6, "flows": 10, "ended": asked["duration"] / 1000}, 9.0, samples)

    monkeypatch.setattr(apdr_long, "watch", watch)
    experiment = find("validation-apdr-long")
    study = Study(experiment, experiment.full, Journal())
    apdr_long.memory(study)
    (verdict,) = study.found
    assert verdict.text == "Memory after 8 h is within 2% of that after 1 h"
    assert verdict.verdict == "not held"
    assert verdict.why == "20.79 MB, 20.10 MB, +3.4%"
    taken, held = (part[0] for part in study.parts[:2] if isinstance(part, tuple))
    assert isinstance(taken, pl.DataFrame)
    assert isinstance(held, pl.DataFrame)
    assert taken["run"].to_list() == ["8 h", "1 h"]
    assert taken["ended"].to_list() == ["29", "4"]
    assert held.columns == ["MB after", *(f"{n} h" for n in range(1, 9))]
    assert held["8 h"].to_list() == ["20.79", "10.00"]
