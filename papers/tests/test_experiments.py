"""The suite: every declaration, its statistics and its report; few and short runs."""

import html
import json
import math
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import multihop
from multihop.journal import Journal
from multihop.progress import Progress
from multihop.results import SERIES, Result
from multihop.runs import Where
from multihop.stats import Interval
from multihop_papers import (
    claims,
    command,
    comparison,
    figures,
    freshness,
    index,
    pages,
    recorded,
    sequential,
    summary,
    verdicts,
)
from multihop_papers.catalogue import EXPERIMENTS, find
from multihop_papers.declare import (
    FAIRNESS,
    GOODPUT,
    RTX,
    VALIDATION,
    Axis,
    Claim,
    Document,
    Effort,
    Metric,
    Plot,
    axis,
    column,
    rows,
    transports,
)
from multihop_papers.explanations import Explained
from multihop_papers.reasons import Switch, left_open, not_knowable, our_model
from multihop_papers.searches import Target, of_tcp, over, search
from multihop_papers.sequential import Limits
from multihop_papers.silence import silences
from multihop_papers.study import Experiment, Study, batches, merged, pick
from multihop_papers.suite import Suite, finished

SHORT = Experiment(
    id="short",
    paper="None",
    place="Table 1",
    title="two windows",
    found="Nothing.",
    scenario={
        "duration": 8.0,
        "warmup": 1.0,
        "topology": {"kind": "chain", "hops": 1},
        "flow": [{"transport": "newreno"}],
        "record": {"every": 0.5, "what": ["goodput"]},
    },
    axes=[axis("hops", "topology.hops", [1, 2, 3], "hops"), transports(["newreno", "tcp-2"])],
    metrics=(GOODPUT, RTX),
    quick=Effort(3, {}, {"hops": [1, 2]}),
    full=Effort(3),
    published={"goodput": {(1, "newreno"): (1200.0, 10.0), (2, "tcp-2"): 600.0}},
    claims=[
        Claim("one hop carries more than two", "goodput", {"hops": 1}, {"hops": 2}, at_least=1.2),
        Claim(
            "two hops carry more than one",
            "goodput",
            {"hops": 2, "transport": "tcp-2"},
            {"hops": 1},
            at_least=1.0,
        ),
    ],
    plots=(
        Plot("line", "goodput", x="hops", by="transport"),
        Plot("bar", "goodput", x="hops", by="transport"),
        Plot("time", "goodput_kbps", by="transport", panel="hops"),
        Plot("scatter", "goodput", x="rtx", by="transport"),
    ),
)


@pytest.fixture(scope="module")
def study() -> Study:
    made = Study(SHORT, SHORT.quick, Journal())
    made.run(Where(jobs=2), Progress(""))
    assert made.missing == 0
    return made


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda one: one.id)
def test_every_scenario_of_every_declaration_is_accepted(experiment: Experiment) -> None:
    for effort in (experiment.quick, experiment.full):
        made = Study(experiment, effort, Journal())
        for cell in made.cells():
            assert made.problem(cell) == ""


def test_declarations_name_axes_metrics_and_values_that_exist() -> None:
    assert len({experiment.id for experiment in EXPERIMENTS}) == len(EXPERIMENTS)
    for one in EXPERIMENTS:
        axes = {axis.name: axis for axis in one.axes}
        metrics = {metric.name for metric in one.metrics}
        assert set(one.published) <= metrics, one.id
        for effort in (one.quick, one.full):
            assert set(effort.keep) <= axes.keys(), one.id
            assert all(set(kept) <= axes[name].values.keys() for name, kept in effort.keep.items()), one.id
        for printed in one.published.values():
            for cell in printed:
                assert all(v in a.values for v, a in zip(cell, one.axes, strict=True)), (one.id, cell)
        for claim in one.claims:
            assert {claim.metric, claim.than or claim.metric} <= metrics, (one.id, claim.text)
            bounds = (claim.at_least, claim.at_most, claim.near)
            assert any(bound is not None for bound in bounds), (one.id, claim.text)
            for side in (claim.of, claim.against or {}, claim.each):
                for name, values in side.items():
                    wanted = values if isinstance(values, list) else [values]
                    assert all(value in axes[name].values for value in wanted), (one.id, claim.text, name)
        for plot in one.plots:
            names = {plot.by, plot.panel, plot.x if plot.kind in ("line", "bar") else ""} - {""}
            assert names <= axes.keys(), (one.id, plot)
            assert plot.kind == "time" or plot.metric in metrics, (one.id, plot)


def test_a_printed_table_is_read() -> None:
    assert rows(["a", "b"], [1, 2], "3±0.5 -\n4 5") == {("a", 1): (3.0, 0.5), ("b", 1): 4.0, ("b", 2): 5.0}
    assert column(["a", "b"], "3±1 -") == {("a",): (3.0, 1.0)}


def test_means_are_those_of_plain_runs(study: Study) -> None:
    found = study.mean("goodput", (2, "tcp-2"))
    settings: dict[str, Any] = {"topology.hops": 2, "flow.*.transport": "tcp-2", "name": "short"}
    plain = [multihop.run(dict(SHORT.scenario), seed=seed, **settings).goodput_kbps for seed in (1, 2, 3)]
    assert found == multihop.interval(plain, 0.95)
    assert list(study.cells()) == [(1, "newreno"), (1, "tcp-2"), (2, "newreno"), (2, "tcp-2")]


def test_a_claim_is_decided_by_the_paired_difference(study: Study) -> None:
    held, not_held = (claims.judge(study, claim) for claim in SHORT.claims)
    assert (held.verdict, not_held.verdict) == (verdicts.HELD, verdicts.NOT_HELD)
    same = Claim("", "goodput", {"hops": 1}, {"hops": 1}, at_least=0.999, at_most=1.001)
    assert claims.judge(study, same).verdict == verdicts.HELD
    each = Claim("", "goodput", {"transport": "tcp-2"}, at_least=1000.0, each={"hops": [1, 2]})
    assert claims.judge(study, each).verdict == verdicts.NOT_HELD
    beside_one = Claim("", "goodput", {}, {"hops": 1}, at_least=0.9, each={"hops": [1, 2]})
    assert claims.judge(study, beside_one).verdict == verdicts.NOT_HELD
    absent = Claim("", "goodput", {"hops": 3}, at_least=1.0)
    assert claims.judge(study, absent).verdict == verdicts.NOT_RUN


def test_a_claim_of_agreement_is_decided_by_the_largest_difference(study: Study) -> None:
    near = Claim("it agrees", "goodput", {"hops": 1}, near=0.5)
    found = claims.judge(study, near)
    assert (found.text, found.verdict) == ("it agrees within 50.0%", verdicts.HELD)
    assert found.why.endswith(", 1 newreno")
    assert claims.judge(study, replace(near, near=0.0001)).verdict == verdicts.NOT_HELD
    unprinted = Claim("", "goodput", {"hops": 1, "transport": "tcp-2"}, near=0.5)
    assert claims.judge(study, unprinted).verdict == verdicts.NOT_RUN


def test_a_claim_about_means_needs_no_interval(study: Study) -> None:
    mean = study.mean("goodput", (1, "newreno"))
    assert mean is not None
    bound = Claim("", "goodput", {"hops": 1, "transport": "newreno"}, at_least=mean.mean + mean.half / 2)
    assert claims.judge(study, bound).verdict == verdicts.NOT_DECIDED
    assert claims.judge(study, replace(bound, by_mean=True)).verdict == verdicts.NOT_HELD


def test_only_configurations_that_may_be_the_best_get_more_seeds(study: Study) -> None:
    one, two = (study.mean("goodput", (hops, "newreno")) for hops in (1, 2))
    assert one is not None
    assert two is not None
    assert one.low > two.high
    either = {"hops": [1, 2], "transport": "newreno"}
    most = Claim("", "goodput", either, at_least=one.mean + one.half / 2)
    assert claims.open_cells(study, most) == {(1, "newreno")}
    least = Claim("", "goodput", either, at_least=two.mean + two.half / 2, lowest=True)
    assert claims.open_cells(study, least) == {(2, "newreno")}
    decided = replace(most, at_least=one.mean / 2)
    assert claims.open_cells(study, decided) == set()


def test_an_analysis_adds_verdicts(tmp_path: Path) -> None:
    def judge(study: Study) -> None:
        study.verdict("all is well", None, "too few runs")
        study.found.append(verdicts.worst("it agrees", {"a": 0.01, "b": -0.02}, 0.03))

    own = replace(SHORT, quick=Effort(1), axes=[Axis("hops", {1: {}})], published={}, plots=(), more=judge)
    made = Suite(tmp_path, full=False, where=Where(jobs=1)).study(replace(own, claims=()))
    assert [one.verdict for one in claims.verdicts(made)] == [verdicts.NOT_DECIDED, verdicts.HELD]
    assert made.found[1].why == "largest difference -2.00%, b"
    text = pages.html([made], "command", tmp_path / "report.html").read_text()
    assert '<span class="badge not-decided">not decided</span> all is well (too few runs)' in text


def test_an_axis_may_be_spread_over_columns(study: Study) -> None:
    wide = replace(study, experiment=replace(SHORT, spread="transport"))
    (goodput, label), _ = pages.tables(wide)
    assert label == f"{GOODPUT.label}. "
    assert goodput.columns == ["hops", "newreno", "tcp-2"]
    assert goodput.height == 2


def test_the_validation_is_a_group() -> None:
    group = [one for one in EXPERIMENTS if one.paper == VALIDATION]
    assert {one.page for one in group} >= {"one-hop", "chain", "mobile", "apdr-long"}
    assert command.experiments(["validation"]) == group
    assert [one.id for one in command.experiments(["one-hop"])] == [
        "validation-one-hop-udp",
        "validation-one-hop-tcp",
    ]
    assert {one.paper for one in command.experiments(["apdr"])} == {"APDR"}
    assert {one.page for one in command.experiments(["validation-apdr"])} == {"apdr"}
    assert all(one.paper == VALIDATION for one in command.experiments(["validation-apdr"]))
    assert all(one.paper != VALIDATION for one in command.experiments([]))


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([1.0, 1.1, 0.9], verdicts.HELD),
        ([-1.0, -1.1, -0.9], verdicts.NOT_HELD),
        ([1.0, -1.0, 0.1], verdicts.NOT_DECIDED),
    ],
)
def test_an_interval_that_straddles_the_bound_decides_nothing(values: list[float], verdict: str) -> None:
    assert verdicts.decide(multihop.interval(values)) == verdict
    assert verdicts.decide(multihop.interval([5.0])) == verdicts.NOT_DECIDED


def test_batch_means_drop_the_first_batch() -> None:
    rows_of = [
        (float(t), "flow", f, "goodput_kbps", v) for t in range(1, 11) for f, v in ((0, 10.0 * t), (1, 10.0))
    ]
    series = pl.DataFrame(rows_of, schema=SERIES, orient="row")
    documents = batches(Result({}, series), 5)
    assert len(documents) == 4
    assert documents[-1]["flows"][1] == {"goodput_kbps": 10.0}
    assert pick(documents[0], GOODPUT) == pytest.approx(10 + 35.0, rel=0.35)
    assert pick(documents[0], FAIRNESS) == pytest.approx(100 * 45**2 / (2 * (35**2 + 10**2)), rel=0.2)
    assert pick(merged(documents), GOODPUT) == pytest.approx(
        sum(pick(one, GOODPUT) or 0 for one in documents) / 4
    )
    assert pick({"flows": [{"x": 1.0}, {"x": None}, {"x": 3.0}]}, Metric("x", "", "flows.*.x", 10.0)) == 20.0
    assert pick({}, GOODPUT) is None
    share = Metric("share", "", "flows.*.x", 100.0, per="flows.*.y")
    assert pick({"flows": [{"x": 1, "y": 2}, {"x": 2, "y": 10}]}, share) == 25.0
    assert pick({"flows": [{"x": 1, "y": 0}]}, share) is None


def test_seeds_are_added_until_the_interval_is_narrow() -> None:
    narrow = replace(
        SHORT, axes=[Axis("hops", {1: {}})], full=Effort(2, most=6), published={}, plots=(), claims=()
    )
    made = Study(narrow, narrow.full, Journal())
    sequential.run(made, Where(jobs=1), Progress(""), Limits())
    assert made.seeds == 2
    wide = replace(
        narrow,
        metrics=(Metric("rtx", "", "flows.0.timeouts"),),
        scenario={**SHORT.scenario, "radio": {"loss": 0.2}},
    )
    made = Study(wide, wide.full, Journal())
    sequential.run(made, Where(jobs=1), Progress(""), Limits())
    assert made.seeds == 6


PLAIN = Claim("", "goodput", {"transport": "tcp-2"}, {"transport": "newreno"}, at_least=0.2)


def test_seeds_are_doubled_until_every_claim_is_decided(tmp_path: Path) -> None:
    decided = replace(SHORT, quick=Effort(2, {}, {"hops": [1]}), claims=[PLAIN], published={}, plots=())
    suite = Suite(tmp_path, full=False, where=Where(jobs=1), quiet=True, looks=3)
    made = suite.study(decided)
    assert (made.seeds, made.looks, made.stopped) == (2, 3, "all claims are decided")
    noise = Metric("goodput", "", lambda one: math.sin(1e6 * one["totals"]["goodput_kbps"]))
    claim = Claim("as often above zero as below", "goodput", {"transport": "tcp-2"}, at_least=0.0)
    lossy = {**SHORT.scenario, "radio": {"loss": 0.1}}
    undecided = replace(decided, id="open", metrics=(noise,), claims=[claim], scenario=lossy)
    made = suite.study(undecided)
    assert (made.seeds, made.most_seeds) == (2, 8)
    assert made.stopped == "1 claim is open after the last look"
    open_cells = {cell for cell in made.accepted() if "tcp-2" in cell}
    assert set(made.extra) == open_cells, "only the cells of the open claim get more seeds"
    assert {len(made.samples("goodput", cell)) for cell in open_cells} == {8}
    assert made.deciding == pytest.approx(1 - 0.05 / 3)
    assert suite.study(undecided).performed == 0, "resumed from the journal"
    read = finished(tmp_path, undecided)
    assert read is not None
    assert (read.seeds, read.looks, read.stopped) == (made.seeds, made.looks, made.stopped)
    assert read.extra == made.extra
    poor = replace(suite, folder=tmp_path / "poor", seconds=0.0).study(undecided)
    assert poor.seeds == 2
    assert "0 s of CPU time" in poor.stopped
    page = pages.html([made], "command", tmp_path / "report.html").read_text()
    assert "2 seeds, up to 8 in the cells of open claims: 1 claim is open after the last look." in page
    assert "Claims are decided by 98.33% intervals" in page
    assert re.search(
        r"On their bounds, as far as .* tell:</p>\s*<ul>\s*<li>as often above zero as below</li>", page
    )
    assert "multihop papers run open --quick --looks 3" in page
    assert re.search(r"as often above zero as below \([^<)]*, 8 seeds\)", page)


def test_a_claim_gets_seeds_where_it_is_open_and_as_many_as_its_experiment_declares(tmp_path: Path) -> None:
    def value(document: Document) -> float:
        large = 5.0 if document["flows"][0]["mean_hops"] < 1.5 else 0.0
        return large + math.sin(1e6 * document["totals"]["goodput_kbps"])

    claim = Claim("above zero", "x", {"transport": "tcp-2"}, at_least=0.0, each={"hops": [1, 2]})
    lossy = {**SHORT.scenario, "radio": {"loss": 0.05}}
    effort = Effort(3, {}, {"hops": [1, 2]}, looks=2)
    one = replace(
        SHORT, metrics=(Metric("x", "", value),), claims=[claim], scenario=lossy, quick=effort, plots=()
    )
    one = replace(one, published={})
    made = Suite(tmp_path, False, Where(jobs=1), quiet=True, looks=None, seconds=None).study(one)
    assert (made.seeds, made.looks, made.stopped) == (3, 2, "1 claim is open after the last look")
    assert made.extra == {(2, "tcp-2"): 6}, "one hop is decided"
    (found,) = claims.verdicts(made)
    assert found.why.startswith("2 tcp-2: ")
    assert found.why.endswith(", 6 seeds")
    page = pages.html([made], "command", tmp_path / "report.html").read_text()
    assert "multihop papers run short --quick<" in page, "the command declares the looks"


@pytest.mark.parametrize("coin", [True, False], ids=["coin flips", "normal"])
@pytest.mark.parametrize("first", [3, 5, 10])
def test_repeated_looks_keep_the_rate_of_false_decisions(coin: bool, first: int) -> None:
    draw, looks, trials = random.Random(7), 4, 2000
    level, false = 1 - 0.05 / looks, 0
    schedule = sequential.schedule(first, looks)
    for _ in range(trials):
        samples = [draw.choice((-1.0, 1.0)) if coin else draw.gauss(0, 1) for _ in range(schedule[-1])]
        intervals = (multihop.interval(samples[:seeds], level) for seeds in schedule)
        false += any(verdicts.decide_at_a_look(one) != verdicts.NOT_DECIDED for one in intervals)
    assert false / trials < 0.05 + 2 * math.sqrt(0.05 * 0.95 / trials)


def test_a_change_of_the_simulator_shows_in_the_digest_of_first_runs(tmp_path: Path) -> None:
    few = replace(SHORT, full=Effort(2, {}, {"hops": [1]}), claims=(), plots=(), published={})
    suite = Suite(tmp_path / "runs", True, Where(jobs=1), quiet=True)
    kept = index.record(suite.study(few), "")
    first = freshness.digest(suite.first_runs(few))
    assert len(first) == freshness.DIGITS
    assert freshness.compared(kept.first, first) == freshness.SAME
    other = replace(few, scenario={**few.scenario, "mac": {"short_retry": 5}, "radio": {"loss": 0.02}})
    assert freshness.compared(kept.first, freshness.digest(suite.first_runs(other))) == freshness.DIFFERS
    assert freshness.compared("", first) == freshness.UNKNOWN


def test_check_names_experiments_that_have_to_run_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    few = replace(SHORT, full=Effort(1, {}, {"hops": [1]}), claims=(), plots=(), published={})
    monkeypatch.setattr(command, "experiments", lambda _: [few])
    words = ["check", "--quiet", "--jobs", "1", "--out", str(tmp_path / "out"), "--pages", str(tmp_path)]
    assert command.main(words) == 1
    assert f"{tmp_path} has no runs" in capsys.readouterr().err
    made = index.record(Suite(tmp_path / "out", True, Where(jobs=1), quiet=True).study(few), "")
    for first, status, shown in ((made.first, 0, "same"), ("0" * 16, 1, "differs"), ("", 0, "no digest")):
        index.merged(tmp_path, [replace(made, first=first)], [few.id])
        assert command.main(words) == status
        assert capsys.readouterr().out == f"{shown:10} short\n"


def test_pages_say_which_runs_are_older_than_the_simulator(tmp_path: Path, study: Study) -> None:
    pages.markdown([study], "command", tmp_path, ["short"])
    before = (tmp_path / "none.md").read_text()
    for found, version in ((freshness.UNKNOWN, ""), (freshness.DIFFERS, "1.0"), (freshness.DIFFERS, "1.0")):
        note = freshness.note(found, version)
        assert pages.mark(tmp_path, {"short": note}) == [tmp_path / "none.md"]
        text = (tmp_path / "none.md").read_text()
        assert re.search(rf"## Two windows\n\n\*\*.*\*\*\n\n{re.escape(note)}\n\n\* (NOT )?HELD: ", text)
        assert text.count(freshness.OLDER) == 1
        line = f"{freshness.OLDER}: 1 of 1 experiments, as their sections say."
        assert line in (tmp_path / "README.md").read_text()
    pages.mark(tmp_path, {"short": freshness.note(freshness.SAME, "1.0")})
    assert (tmp_path / "none.md").read_text() == before
    assert freshness.OLDER not in (tmp_path / "README.md").read_text()


def test_a_flow_with_zero_goodput_is_flagged(tmp_path: Path) -> None:
    flow = {"transport": "newreno", "from": 0, "to": 1}
    scenario = {**SHORT.scenario, "flow": [flow, {**flow, "start": 7.999}]}
    axes = [Axis("hops", {1: {}})]
    mute = replace(SHORT, scenario=scenario, axes=axes, quick=Effort(2), claims=(), plots=(), published={})
    made = Suite(tmp_path, full=False, where=Where(jobs=1), quiet=True).study(mute)
    (found,) = silences(made)
    assert (found.runs, found.some, found.all) == (2, 2, 0)
    page = pages.html([made], "command", tmp_path / "report.html").read_text()
    assert re.search(r"In some runs a flow has zero goodput:.*<li>1: 2 of 2 runs</li>", page, re.DOTALL)


def test_numbers_are_compared_with_the_papers(study: Study) -> None:
    gain = replace(SHORT.claims[0], size=0.5)
    made = replace(study, experiment=replace(SHORT, claims=[gain]))
    first, second = comparison.numbers(made)
    assert (first.what, first.printed) == ("goodput of 1 newreno", 1200.0)
    assert first.error == pytest.approx(first.ours / 1200.0 - 1)
    assert second.printed == 600.0
    (ratio,) = comparison.gains(made)
    assert (ratio.printed, ratio.error) == (0.5, ratio.ours - 0.5)
    assert ratio.ours > 0.2
    (row,) = summary.by_paper([index.record(made, "")]).to_dicts()
    assert (row["paper"], row["numbers"], row["held"]) == ("None", "3", "1")
    other = replace(made, experiment=replace(SHORT, other_readings=("newreno",)))
    assert [one.what for one in comparison.numbers(other)] == ["goodput of 2 tcp-2"]


def test_figures_show_ours_with_intervals_and_theirs(study: Study) -> None:
    line, bar, over_time, scatter = (figures.draw(study, plot) for plot in SHORT.plots)
    for figure in (line, bar, over_time, scatter):
        assert figure is not None
        assert all(one.get_xlabel() and one.get_ylabel() for one in figure.axes if one.get_visible())
    assert line is not None
    assert "the paper" in line.axes[0].get_legend_handles_labels()[1]


def test_a_table_has_ours_theirs_and_the_difference(study: Study) -> None:
    table = pages.table(study)
    assert table["the paper (goodput)"].to_list() == ["1200 ± 10", "", "", "600"]
    assert table["difference (goodput)"][1] == ""
    assert table["difference (goodput)"][0].endswith("%")


def test_what_is_not_accepted_is_said_and_the_rest_is_run(tmp_path: Path) -> None:
    odd = replace(SHORT, axes=[transports(["newreno", "tcp-99"])], published={}, claims=(), plots=())
    made = Suite(tmp_path, full=False, where=Where(jobs=1)).study(replace(odd, quick=Effort(2)))
    assert list(made.refused) == [("tcp-99",)]
    assert made.mean("goodput", ("newreno",)) is not None
    text = pages.html([made], "command", tmp_path / "report.html").read_text()
    assert "Not run: 1 cells" in text
    assert 'found "tcp-99"' in html.unescape(text)


def test_the_command_runs_resumes_and_reports(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("multihop_papers.command.EXPERIMENTS", (SHORT,))
    monkeypatch.setattr("multihop_papers.command.find", lambda _: SHORT)
    arguments = ["run", "short", "--quick", "--jobs", "1", "--out", str(tmp_path), "--json"]
    assert command.main([*arguments, "--markdown", str(tmp_path / "docs")]) == 0
    (outcome,) = json.loads(capsys.readouterr().out)["experiments"]
    assert [row["verdict"] for row in outcome["claims"]] == [verdicts.HELD, verdicts.NOT_HELD]
    assert outcome["cells"][0]["goodput"]["n"] == 3
    kept = (tmp_path / "quick" / "short" / "runs.jsonl").read_bytes()
    results = pl.read_parquet(tmp_path / "quick" / "short" / "results.parquet")
    assert results.height == 12
    assert results["key"].n_unique() == 12
    assert results.select("seed", "version").null_count().row(0) == (0, 0)
    assert command.main(arguments) == 0
    assert (tmp_path / "quick" / "short" / "runs.jsonl").read_bytes() == kept
    page = (tmp_path / "report.html").read_text()
    assert page.count("<figcaption>") == len(SHORT.plots)
    assert 'href="#short"' in page
    assert "src=" not in page
    text = (tmp_path / "docs" / "none.md").read_text()
    assert ".svg)" not in text
    for number, plot in enumerate(SHORT.plots, 1):
        assert f"<!-- figure short-{number}.svg -->\n[" in text
        assert (tmp_path / "docs" / recorded.link(SHORT, plot.kind)).is_file()
    front = (tmp_path / "docs" / "README.md").read_text()
    assert "| [short](none.md#short) |" in front
    assert list((tmp_path / "docs").glob("*.svg")) == []


def test_a_file_has_the_means_of_the_runs(study: Study, tmp_path: Path) -> None:
    recorded.write(tmp_path, study)
    again = recorded.read(tmp_path, SHORT, index.record(study, "version"))
    assert again is not None
    assert list(again.cells()) == list(study.cells())
    for cell in study.cells():
        for metric in ("goodput", "rtx"):
            ours, theirs = again.mean(metric, cell), study.mean(metric, cell)
            assert ours is not None
            assert theirs is not None
            assert (ours.mean, ours.half) == pytest.approx((theirs.mean, theirs.half))
    names = [f"short-{number}.svg" for number in range(1, len(SHORT.plots) + 1)]
    assert [name for name, _ in recorded.drawn(again)] == names


def test_means_of_an_earlier_run_are_removed_if_the_new_one_has_none(study: Study, tmp_path: Path) -> None:
    refused = replace(study, refused=dict.fromkeys(study.cells(), "not accepted"))
    recorded.write(tmp_path, refused)
    recorded.write(tmp_path, study)
    assert (tmp_path / recorded.link(SHORT)).is_file()
    recorded.write(tmp_path, refused)
    assert not (tmp_path / recorded.link(SHORT)).exists()


def test_short_runs_do_not_replace_a_page_of_full_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("multihop_papers.command.find", lambda _: SHORT)
    out, docs = str(tmp_path / "out"), tmp_path / "docs"
    arguments = ["run", "short", "--jobs", "1", "--out", out, "--markdown", str(docs)]
    assert command.main([*arguments, "--full"]) == 0
    written = (docs / "none.md").read_bytes()
    capsys.readouterr()
    assert command.main(arguments) == 2
    assert f"{docs / 'none.md'}: written from full runs; run with --full" in capsys.readouterr().err
    assert (docs / "none.md").read_bytes() == written
    assert command.main([*arguments[:-1], str(tmp_path / "other")]) == 0


def test_the_index_lists_pages_that_other_commands_wrote(study: Study, tmp_path: Path) -> None:
    (tmp_path / "sockets.md").write_text("# Real sockets\n\nText.\n")
    first = pages.markdown([study], "command", tmp_path).read_text()
    assert "* [Real sockets](sockets.md)" in first
    assert first == pages.markdown([study], "command", tmp_path).read_text()


def test_the_index_keeps_what_it_says_of_pages_that_are_not_written(study: Study, tmp_path: Path) -> None:
    other = replace(study, experiment=replace(SHORT, id="other", paper="Another"))
    pages.markdown([study, other], "command", tmp_path)
    kept = pages.markdown([other], "command", tmp_path, ["other", "short"]).read_text()
    assert "2 experiments" in kept
    assert kept.index("| [other](another.md#other) |") < kept.index("| [short](none.md#short) |")


def test_the_command_of_an_index_runs_all_that_it_lists(study: Study, tmp_path: Path) -> None:
    for paper, shown in [
        ("None", "multihop papers run none --full"),
        ("Another", "multihop papers run --full"),
    ]:
        folder = tmp_path / paper
        other = replace(study, experiment=replace(SHORT, id="other", paper=paper))
        assert "\ncommand\n" in pages.markdown([study, other], "command", folder).read_text()
        assert f"\n{shown}\n" in pages.markdown([other], "command", folder, ["short", "other"]).read_text()


def test_a_page_keeps_the_sections_that_are_not_written(study: Study, tmp_path: Path) -> None:
    other = replace(study, experiment=replace(SHORT, id="other"))
    order = ["other", "short"]
    pages.markdown([study, other], "command", tmp_path, order)
    whole = (tmp_path / "none.md").read_text()
    assert whole.index('<a id="other">') < whole.index('<a id="short">')
    pages.markdown([study], "command", tmp_path, order)
    assert (tmp_path / "none.md").read_text() == whole
    pages.markdown([other], "command", tmp_path, ["other"])
    assert '<a id="short">' not in (tmp_path / "none.md").read_text(), (
        "an experiment that is gone leaves no section"
    )


def test_an_explanation_may_be_made_of_the_study(study: Study) -> None:
    claim = replace(SHORT.claims[1], reason=our_model(lambda one: f"{one.seeds} seeds", "other: with it"))
    found = claims.judge(study, claim)
    assert str(found.reason) == "Shown by other: with it. 3 seeds"
    assert found.reason is not None
    assert found.reason.verdict("A claim") == "A claim: not held (our model)"
    assert found.kind == "our model"
    assert claims.judge(study, replace(claim, metric="goodput", at_least=0.0)).kind == ""


def test_a_narrow_interval_decides_by_its_mean(study: Study) -> None:
    metric = study.metric("goodput")
    assert metric.matters(200.0) == 2.0
    assert RTX.matters(2.0) == 0.1, "percentages have a floor"
    assert RTX.matters(20.0) == pytest.approx(0.2)
    around = Interval(0.05, 0.1, 10, 0.95)
    assert verdicts.narrow(around, 0.1)
    assert not verdicts.narrow(around, 0.09)
    assert not verdicts.narrow(Interval(0.2, 0.1, 10, 0.95), 1.0), "the interval decides"
    large = Metric("goodput", "", lambda run: 1e4 + float(run["totals"]["goodput_kbps"]))
    study = replace(study, experiment=replace(SHORT, metrics=(large,)))
    one = study.mean("goodput", (1, "newreno"))
    assert one is not None
    assert 0 < one.half < large.matters(one.mean)
    at = {"hops": 1, "transport": "newreno"}
    below = Claim("", "goodput", at, at_least=one.mean - one.half / 2)
    found = claims.judge(study, below)
    assert (found.verdict, found.by_mean) == (verdicts.HELD, True)
    assert found.why.endswith(", by the mean of a narrow interval")
    above = claims.judge(study, replace(below, at_least=one.mean + one.half / 2))
    assert (above.verdict, above.by_mean) == (verdicts.NOT_HELD, True)
    assert not claims.judge(study, replace(below, at_least=one.mean - 2 * one.half)).by_mean


def test_the_summary_fits_a_screen(study: Study) -> None:
    reason = left_open("some text", "short: this", "short: that")
    claim = replace(SHORT.claims[1], reason=reason)
    record = index.record(replace(study, experiment=replace(SHORT, claims=[claim])), "")
    index.explain_all([record])
    text = summary.screen([record])
    assert max(map(len, text.splitlines())) <= 80
    assert text.splitlines()[2].split()[-6:] == ["0", "1", "0", "0", "0", "1"]
    assert summary.explanations(record.verdicts) == " Not held: 1 unexplained."


FAST = Claim("one hop carries 2.5 Mb/s", "goodput", {"hops": 1, "transport": "newreno"}, at_least=2500.0)


def test_a_search_names_the_setting_under_which_a_claim_holds(tmp_path: Path) -> None:
    base = replace(SHORT, full=Effort(2), claims=[FAST], published={})
    ranges = [over("the rate", "cards have these", "radio.rate", ["5.5M", "11M"])]
    keep: dict[str, list[Any]] = {"hops": [1], "transport": ["newreno"]}
    asked = search(
        base, ranges, [Target(FAST, (("short", "another reading"),))], keep=keep, seeds=2, confirm=3
    )
    suite = Suite(tmp_path, full=True, where=Where(jobs=1), quiet=True)
    made = suite.study(asked)
    assert made.failed == ""
    assert made.extra == {(1, "newreno", "radio.rate = 11M"): 5}, "other seeds decide than those that choose"
    assert [(row["claim"], row["setting"]) for row in made.searched] == [
        (FAST.text, "radio.rate = 11M"),
        ("another reading", "radio.rate = 11M"),
    ]
    records = [index.record(suite.study(base), ""), index.record(made, "")]
    index.explain_all(records)
    (row,) = records[0].verdicts
    assert (row["explanation"], row["by"]) == (Explained.SWITCH, "radio.rate = 11M")
    slow = replace(
        ranges[0], values={name: change for name, change in ranges[0].values.items() if "11M" not in name}
    )
    plain = replace(
        SHORT,
        axes=SHORT.axes[:1],
        claims=[],
        published={},
        scenario={**SHORT.scenario, "flow": [{"transport": {"kind": "newreno"}}]},
    )
    window = of_tcp("the window", "of any size", "window_max", [1])
    one = Study(search(plain, [window], [], keep={}, seeds=1, confirm=1), plain.full, Journal())
    assert one.key((1, "TCP's window_max = 1"), 1) != one.key((1, "as run"), 1), (
        "without an axis of transports"
    )
    none = suite.study(
        replace(search(base, [slow], [Target(FAST)], keep=keep, seeds=2, confirm=3), id="slow")
    )
    assert (none.searched, none.extra) == ([], {})
    assert "none reaches the bound" in pages.html([none], "", tmp_path / "page.html").read_text()


def test_a_claim_may_hold_in_another_experiment_or_within_the_papers_intervals(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = {"hops": 1, "transport": "newreno"}, {"hops": 2, "transport": "newreno"}
    printed = {(1, "newreno"): (1200.0, 240.0), (2, "newreno"): (450.0, 90.0)}
    switch = Switch("two windows", "short", "one hop carries more")
    held = Claim("one hop carries more", "goodput", one, two, at_least=1.0)
    for more, reason, size, expected in (
        ([held], left_open("some text", "short: this", "short: that", switch), 3.0, Explained.SWITCH),
        ([], left_open("some text", "short: this", "short: that", switch), 3.0, Explained.NOT),
        ([], None, 5 / 3, Explained.TEXT),
        ([], not_knowable("section 2 says so"), 3.0, Explained.TEXT),
    ):
        claim = Claim("by 300%", "goodput", one, two, at_least=3.0, size=size, reason=reason)
        experiment = replace(SHORT, claims=[claim, *more], published={"goodput": printed})
        monkeypatch.setattr(index, "EXPERIMENTS", [experiment])
        record = index.record(replace(study, experiment=experiment), "")
        index.explain_all([record])
        assert record.verdicts[0]["explanation"] == expected


def test_parts_of_the_runs_make_the_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("multihop_papers.command.find", lambda _: SHORT)
    arguments = ["run", "short", "--jobs", "1", "--out", str(tmp_path)]
    assert command.main([*arguments, "--shard", "1/2"]) == 0
    assert "6 runs are missing" in capsys.readouterr().err
    assert not (tmp_path / "report.html").exists()
    assert command.main([*arguments, "--shard", "2/2"]) == 0
    assert (tmp_path / "report.html").exists()
    (tmp_path / "report.html").unlink()
    capsys.readouterr()
    assert command.main(["report", "short", "--out", str(tmp_path), "--json"]) == 0
    (outcome,) = json.loads(capsys.readouterr().out)["experiments"]
    assert outcome["cells"][0]["goodput"]["n"] == 3
    assert (tmp_path / "report.html").exists()
    assert not (tmp_path / "quick" / "short" / "runs.jsonl").exists()


def test_a_report_has_the_full_runs_where_there_are_and_nothing_unfinished(tmp_path: Path) -> None:
    Suite(tmp_path, full=False, where=Where(jobs=1)).study(SHORT)
    quick = finished(tmp_path, SHORT)
    assert quick is not None
    assert quick.effort is SHORT.quick
    whole = tmp_path / "quick" / "short" / "runs.jsonl"
    Suite(tmp_path, full=True, where=Where(jobs=1)).study(SHORT)
    full = finished(tmp_path, SHORT)
    assert full is not None
    assert full.effort is SHORT.full
    assert 0 < full.cost < 60
    assert full.wall >= full.seconds > 0
    assert Suite(tmp_path, full=True, where=Where(jobs=1)).study(SHORT).wall == full.wall, "nothing was run"
    whole.write_bytes(whole.read_bytes()[:-1000])
    (tmp_path / "full" / "short" / "runs.jsonl").unlink()
    assert finished(tmp_path, SHORT) is None


def test_a_seed_may_decide_more_than_chance() -> None:
    drawn = replace(SHORT, drawn=lambda seed: {"topology.spacing": 100.0 + seed})
    made = Study(drawn, drawn.quick, Journal())
    first, second = (made.request((1, "tcp-2"), seed) for seed in (1, 2))
    assert ("topology.spacing", "101.0") in first.overrides
    assert ("topology.spacing", "102.0") in second.overrides


def test_an_experiment_may_begin_at_another_seed() -> None:
    later = replace(SHORT, quick=replace(SHORT.quick, seeds=2, first=21))
    study = Study(later, later.quick, Journal(), seeds=2)
    assert list(study.each_seed()) == [21, 22]
    assert pages.method(study).endswith("2 runs, seeds 21 to 22.")
    study.seeds = 0
    assert pages.method(study) == "No runs of its own."


def test_mistakes_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["report", "--out", str(tmp_path)]) == 1
    assert f"nothing to report in {tmp_path}; multihop papers run is first" in capsys.readouterr().err
    assert not (tmp_path / "report.html").exists()
    (tmp_path / "file").write_text("")
    assert command.main(["run", "tpa-ack-inhibition", "--out", str(tmp_path / "file")]) == 1
    error = capsys.readouterr().err
    assert f"multihop papers: {tmp_path / 'file'}" in error
    assert "Errno" not in error
    for jobs in ("0", "-1", "two"):
        with pytest.raises(SystemExit):
            command.main(["run", "--jobs", jobs])
        assert "argument --jobs: allowed: a whole number from 1" in capsys.readouterr().err


def test_list_and_show(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["list"]) == 0
    listed = capsys.readouterr().out
    assert all(experiment.id in listed for experiment in EXPERIMENTS)
    assert command.main(["show", "tpa-cross"]) == 0
    assert "Table 4" in capsys.readouterr().out
    assert command.main(["show", "tpa-cros"]) == 2
    assert "did you mean 'tpa-cross'? multihop papers list has all" in capsys.readouterr().err
    assert find("tpa-cross").published["goodput"]["tpa*-3",] == (309.5, 1.3)
    assert math.isclose(find("tpa-cross").claims[0].at_least or 0, 1.03)


def test_the_report_keeps_what_other_commands_have_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {"other": replace(SHORT, id="other"), "short": SHORT}
    monkeypatch.setattr("multihop_papers.command.EXPERIMENTS", tuple(known.values()))
    monkeypatch.setattr("multihop_papers.command.find", lambda name: known[name])
    for name in ("short", "other"):
        assert command.main(["run", name, "--jobs", "1", "--out", str(tmp_path), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out.splitlines()[-1])["experiments"]) == 1
    page = (tmp_path / "report.html").read_text()
    assert page.index('<h2 id="other">') < page.index('<h2 id="short">')
    assert page.count("<figcaption>") == 2 * len(SHORT.plots)
    assert "multihop papers report" in page
