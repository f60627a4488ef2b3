"""The gauntlet: its halves stay as they were frozen, and its standings are those of plain runs."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl
import pytest

import multihop
from multihop.journal import Journal
from multihop.runs import Where
from multihop_papers.declare import Effort
from multihop_papers.gauntlet.catalogue import EXPERIMENTS, HALVES, TRAINING_HALF, UNSEEN
from multihop_papers.gauntlet.drawn import DRAWN_BY, KINDS, drawn
from multihop_papers.gauntlet.networks import FILES, OWN, SHARED, TEST, TRAINING
from multihop_papers.study import Experiment, Study
from multihop_papers.suite import Suite

FROZEN = "5b39075b45c5a7327be78a8c7fc6e8f2a96813b5a771e6980e6d4f12f8ad6ba7"
KEPT = ["chain 1", "chain 3", "cross", FILES, SHARED]
DURATION = 32.0


def declared(experiment: Experiment) -> dict[str, Any]:
    """Declaration that decides the runs of one half, without its transports."""
    values = {axis.name: axis.values for axis in experiment.axes if axis.name != "transport"}
    efforts = [
        {"seeds": one.seeds, "first": one.first, **one.settings}
        for one in (experiment.quick, experiment.full)
    ]
    metrics = [metric.name for metric in experiment.metrics]
    return {"scenario": experiment.scenario, "axes": values, "efforts": efforts, "metrics": metrics}


def test_both_halves_are_as_they_were_frozen() -> None:
    text = json.dumps([declared(one) for one in HALVES], sort_keys=True)
    assert hashlib.sha256(text.encode()).hexdigest() == FROZEN


def test_the_halves_share_neither_networks_nor_seeds() -> None:
    assert [name for name, network in TEST.items() if network in TRAINING.values()] == []
    for one, other in ((half.quick, half.full) for half in EXPERIMENTS):
        assert one.first == other.first
    training, test = (set(range(half.full.first, half.full.first + half.full.seeds)) for half in HALVES)
    assert not training & test


def test_drawn_networks_are_those_of_their_seed_and_all_can_be_run() -> None:
    networks = next(axis.values for axis in UNSEEN.axes if axis.name == "network")
    assert networks == drawn(DRAWN_BY)
    assert len(networks) == 2 * len(KINDS) + 2
    study = Study(UNSEEN, UNSEEN.quick, Journal())
    assert [study.problem(cell) for cell in study.cells() if cell[1] == "mesh"] == [""] * (len(networks) + 2)
    seeds = (range(one.full.first, one.full.first + one.full.seeds) for one in EXPERIMENTS)
    assert len(set().union(*seeds)) == 60


TRANSPORTS = next(axis.values for axis in TRAINING_HALF.axes if axis.name == "transport")


def goodput(network: str, transport: str, seed: int) -> float:
    """Of a plain run of the training half."""
    scenario = {**TRAINING_HALF.scenario, **TRAINING[network], "name": TRAINING_HALF.id}
    settings: Any = {**TRANSPORTS[transport], "duration": DURATION}
    return multihop.run(scenario, seed=seed, **settings).goodput_kbps


def row(study: Study, place: int, transport: str) -> dict[str, str]:
    """Of one of the tables of the analysis."""
    tables = [part[0] for part in study.parts if isinstance(part[0], pl.DataFrame)]
    return tables[place].row(by_predicate=pl.col("transport") == transport, named=True)


def test_standings_are_those_of_plain_runs(tmp_path: Path) -> None:
    names = ["paced", "newreno", "tcp-2"]
    quick = Effort(2, {"duration": DURATION}, {"network": KEPT, "transport": names})
    short = replace(TRAINING_HALF, quick=quick)
    study = Suite(tmp_path, full=False, where=Where(jobs=1), quiet=True).study(short)
    assert (study.failed, study.refused) == ("", {})
    of_bound = [100 * goodput("chain 3", "tcp-2", s) / goodput("chain 3", "paced", s) for s in (1, 2)]
    assert row(study, 1, "tcp-2")["chain 3"] == str(multihop.interval(of_bound))
    greedy = [name for name in KEPT if name != FILES]
    means = {one: {n: fmean(goodput(n, one, s) for s in (1, 2)) for n in greedy} for one in names[1:]}
    best = {n: max(one[n] for one in means.values()) for n in greedy}
    for name, found in means.items():
        overall = row(study, 0, name)
        shares = [100 * found[n] / best[n] for n in greedy]
        assert float(overall["goodput, % of the best"].split()[0]) == pytest.approx(fmean(shares), abs=0.06)
        assert overall["the least of all networks"] == f"{min(shares):.0f}"
        assert overall["the best in"] == str(sum(share > 99.999 for share in shares))


def test_a_file_that_is_not_finished_counts_until_the_end(tmp_path: Path) -> None:
    kept = {"network": [FILES, SHARED, "chain 1"], "transport": ["paced", "newreno"]}
    short = replace(TRAINING_HALF, quick=Effort(1, {"duration": 60.0}, kept))
    study = Suite(tmp_path, full=False, where=Where(jobs=1), quiet=True).study(short)
    found = row(study, 3, "newreno")
    starts = [flow["start"] for flow in TRAINING[FILES]["flow"] if flow["bytes"] == 1_000_000]
    assert float(found["1000 kB, s"]) <= fmean(60.0 - start for start in starts)
    assert float(found["10 kB, s"]) < float(found["300 kB, s"])
    flows = study.result((FILES, "newreno", OWN)).data["flows"]
    unfinished = fmean(
        flow["segments_delivered"] * 1460 < file["bytes"]
        for flow, file in zip(flows, TRAINING[FILES]["flow"], strict=True)
    )
    assert found["not finished, % of files"] == f"{100 * unfinished:.0f}"
