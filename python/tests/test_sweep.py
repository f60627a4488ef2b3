import json
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from scenarios import CHAIN_TOML, chain

import multihop
from multihop import _core
from multihop._cli import COMMAND
from multihop.journal import Journal, Shard
from multihop.plotting import METRICS_OF_A_REPORT
from multihop.progress import Progress
from multihop.runs import Where, complete
from multihop.scenario import Run, request
from multihop.wording import in_words

AXES: dict[str, Any] = {"flow.*.transport": ["newreno", "tcp-2"], "topology.hops": [1, 2]}
FILES = (
    "results.jsonl",
    "results.parquet",
    "flows.parquet",
    "nodes.parquet",
    "links.parquet",
    "queues.parquet",
)


def results(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in FILES]


def sweep_with_the_command(*arguments: str) -> None:
    subprocess.run([COMMAND, "sweep", *arguments], check=True, stdout=subprocess.DEVNULL)


def test_a_tidy_table_of_runs_and_of_flows() -> None:
    swept = multihop.sweep(chain(), axes=AXES, seeds=3)
    assert swept.axes == ("flow.*.transport", "topology.hops")
    assert swept.runs.height == swept.flows.height == 12
    assert swept.runs["seed"].to_list() == [1, 2, 3] * 4
    assert swept.runs["key"].n_unique() == 12
    settings: dict[str, Any] = {"flow.*.transport": "tcp-2", "topology.hops": 2}
    alone = multihop.run(chain(), seed=2, **settings)
    row = swept.runs.filter(pl.col("flow.*.transport") == "tcp-2", pl.col("topology.hops") == 2, seed=2)
    assert row["totals.goodput_kbps"].to_list() == [alone.goodput_kbps]
    means = swept.mean()
    assert means.columns == ["flow.*.transport", "topology.hops", "mean", "low", "high", "runs"]
    values = row_values(swept, "tcp-2", 2)
    assert means.filter(pl.col("flow.*.transport") == "tcp-2")["mean"][1] == multihop.interval(values).mean


def test_delay_and_delivery_of_a_sweep(tmp_path: Path) -> None:
    swept = multihop.sweep(chain(), axes={"topology.hops": [1, 2]}, seeds=2, out=tmp_path)
    assert swept.mean("delay").equals(swept.mean("totals.delay_ms.mean"))
    short, long = swept.mean("delay")["mean"]
    assert 0 < short < long
    assert all(0.5 < ratio <= 1 for ratio in swept.mean("delivery_ratio")["mean"])
    assert swept.nodes["topology.hops"].to_list() == [1] * 4 + [2] * 6
    assert set(swept.links.columns) > {"seed", "key", "from", "to", "delay_ms.p99", "airtime_share"}
    assert pl.read_parquet(tmp_path / "queues.parquet").equals(swept.queues)


def row_values(swept: multihop.Sweep, transport: str, hops: int) -> list[float]:
    chosen = swept.runs.filter(pl.col("flow.*.transport") == transport, pl.col("topology.hops") == hops)
    return chosen["totals.goodput_kbps"].to_list()


def test_the_same_files_for_any_number_of_jobs_and_from_the_rust_command(tmp_path: Path) -> None:
    file = tmp_path / "chain.toml"
    table = f'\n[sweep]\nseeds = 2\n"flow.*.transport" = {json.dumps(AXES["flow.*.transport"])}\n'
    file.write_text(CHAIN_TOML + table)
    for jobs in (1, 2):
        multihop.sweep(file, jobs=jobs, out=tmp_path / f"jobs-{jobs}")
    assert results(tmp_path / "jobs-1") == results(tmp_path / "jobs-2")
    subprocess.run(
        [COMMAND, "sweep", str(file), "--out", str(tmp_path / "rust")], check=True, stdout=subprocess.DEVNULL
    )
    assert (tmp_path / "rust" / "results.jsonl").read_bytes() == results(tmp_path / "jobs-1")[0]


def test_an_interrupted_sweep_runs_only_what_is_missing(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    multihop.sweep(chain(), axes=AXES, seeds=2, out=whole, jobs=1)
    lines = (whole / "runs.jsonl").read_text().splitlines(keepends=True)
    torn = tmp_path / "torn"
    torn.mkdir()
    left = "".join(lines[:5]) + lines[5][:30]
    (torn / "runs.jsonl").write_text(left)
    multihop.sweep(chain(), axes=AXES, seeds=2, out=torn)
    resumed = (torn / "runs.jsonl").read_text()
    assert resumed.startswith(left + "\n")
    assert len(resumed.splitlines()) == 5 + 1 + 3
    assert results(torn) == results(whole)


def test_parts_of_a_sweep_make_the_whole(tmp_path: Path) -> None:
    first = multihop.sweep(chain(), axes=AXES, seeds=2, out=tmp_path / "parts", shard="1/2")
    assert first.runs.height == 4
    assert not (tmp_path / "parts" / "results.jsonl").exists()
    multihop.sweep(chain(), axes=AXES, seeds=2, out=tmp_path / "parts", shard="2/2")
    multihop.sweep(chain(), axes=AXES, seeds=2, out=tmp_path / "whole")
    assert results(tmp_path / "parts") == results(tmp_path / "whole")
    with pytest.raises(ValueError, match="allowed: I/N"):
        Shard.parse("3/2")


def test_a_journal_keeps_the_digits_and_the_series(tmp_path: Path) -> None:
    run = Run.of(request(chain(record={"every": 1.0, "what": ["goodput"]}), {}))
    journal = Journal(tmp_path)
    journal.append(_core.perform(run.key, run.request, True))
    assert journal.cost(run.key) > 0
    kept = Journal(tmp_path).result(run.key)
    again = multihop.run(chain(record={"every": 1.0, "what": ["goodput"]}))
    assert kept.data["flows"] == again.data["flows"]
    assert kept.series.equals(again.series)


def test_the_command_and_the_package_resume_each_other(tmp_path: Path) -> None:
    file = tmp_path / "chain.toml"
    record = '\n[record]\nevery = 1.0\nwhat = ["goodput"]\n'
    file.write_text(CHAIN_TOML + record + "\n[sweep]\nseeds = 2\n")
    out = tmp_path / "out"
    subprocess.run(
        [COMMAND, "sweep", str(file), "--out", str(out), "--shard", "1/2"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    swept = multihop.sweep(file, out=out)
    assert swept.runs.height == 2
    assert (out / "runs.jsonl").read_text().count("\n") == 1
    assert "goodput_kbps" in Journal(out).result(swept.runs["key"][0]).series["series"]
    before = (out / "results.jsonl").read_bytes()
    sweep_with_the_command(str(file), "--out", str(out))
    assert (out / "results.jsonl").read_bytes() == before


def test_a_run_that_fails_ends_the_list() -> None:
    apart: dict[str, Any] = {"kind": "random", "nodes": 2, "area": [90000.0, 90000.0]}
    requests = [request(chain(topology=apart), {"seed": seed}) for seed in (1, 2)]
    with pytest.raises(multihop.ScenarioError, match="no connected network"):
        list(_core.Batch([(str(place), one) for place, one in enumerate(requests)], 2, False))


def test_a_sweep_needs_axes_that_exist() -> None:
    with pytest.raises(multihop.ScenarioError, match="sweep"):
        multihop.sweep(chain())
    with pytest.raises(multihop.ScenarioError, match=r"topology\.hop"):
        multihop.sweep(chain(), axes={"topology.hop": [1, 2]})


def swept_file(folder: Path) -> Path:
    path = folder / "swept.toml"
    path.write_text(CHAIN_TOML + '\n[sweep]\nseeds = 3\n"topology.hops" = [1, 2]\n')
    return path


def test_seeds_leave_the_axes_of_the_file_and_axes_its_seeds(tmp_path: Path) -> None:
    path = swept_file(tmp_path)
    fewer = multihop.sweep(path, seeds=2)
    assert (fewer.axes, fewer.runs["topology.hops"].to_list()) == (("topology.hops",), [1, 1, 2, 2])
    other = multihop.sweep(path, axes={"flow.*.transport": ["newreno", "tcp-2"]})
    assert (other.axes, other.runs["seed"].to_list()) == (("flow.*.transport",), [1, 2, 3] * 2)
    both: dict[str, Any] = {"sweep.seeds": 1}
    assert multihop.sweep(path, axes={"topology.hops": range(1, 4)}, **both).runs.height == 3


@pytest.mark.parametrize("seeds", [0, -1, 1.5, True])
def test_a_number_of_seeds_that_is_not_allowed_is_refused(seeds: Any) -> None:
    with pytest.raises(multihop.ScenarioError, match=r"seeds: found .*, allowed: a whole number from 1 to"):
        multihop.sweep(chain(), axes=AXES, seeds=seeds)


def test_an_axis_of_names_and_tables_is_a_column_of_text() -> None:
    clamped = {"kind": "newreno", "window_max": 2}
    swept = multihop.sweep(
        chain(), axes={"flow.*.transport": ["newreno", clamped], "radio.loss": [0, 0.1]}, seeds=1
    )
    table = '{"kind":"newreno","window_max":2}'
    assert swept.runs["flow.*.transport"].to_list() == ["newreno", "newreno", table, table]
    assert swept.runs["radio.loss"].to_list() == [0.0, 0.1] * 2
    assert swept.flows["flow.*.transport"].to_list() == swept.runs["flow.*.transport"].to_list()
    assert swept.mean()["flow.*.transport"].to_list() == swept.runs["flow.*.transport"].to_list()
    legend = swept.plot("loss", by="transport").axes[0].get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["newreno", table]


def test_keys_of_an_axis_vary_together(tmp_path: Path) -> None:
    points = [("2M", 250.0), ("11M", 240.0)]
    swept = multihop.sweep(
        chain(), axes={("radio.rate", "radio.range"): points, "topology.hops": [1, 2]}, seeds=2
    )
    assert swept.axes == ("topology.hops", "radio.rate", "radio.range")
    assert swept.runs.select("radio.rate", "radio.range").unique(maintain_order=True).rows() == points
    assert swept.mean().height == 4
    legend = swept.plot("hops", by="rate").axes[0].get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["2M", "11M"]
    assert swept.report(tmp_path / "page.html").read_text("utf-8").count("<figcaption>") == len(
        METRICS_OF_A_REPORT
    )
    with pytest.raises(ValueError, match=r"has the point \('2M',\), allowed: 2 values"):
        multihop.sweep(chain(), axes={("radio.rate", "radio.range"): ["2M"]})


def test_a_sweep_is_drawn_over_one_axis_and_by_another() -> None:
    swept = multihop.sweep(chain(), axes=AXES, seeds=2)
    assert repr(swept) == "<Sweep of 8 runs over flow.*.transport, topology.hops>"
    assert "<table" in swept._repr_html_()
    figure = swept.plot("hops", by="transport")
    # A notebook asks for it; without an answer it shows only a text.
    assert getattr(figure, "_repr_svg_")().startswith("<svg")  # noqa: B009, figures in general have none
    (axes,) = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("hops", "goodput, kb/s")
    legend = axes.get_legend()
    assert legend is not None
    assert legend.get_title().get_text() == "transport"
    assert [text.get_text() for text in legend.get_texts()] == ["newreno", "tcp-2"]
    names = multihop.sweep(chain(), axes={"flow.*.transport": ["newreno", "tcp-2"]}, seeds=2).plot(
        "transport"
    )
    assert [tick.get_text() for tick in names.axes[0].get_xticklabels()] == ["newreno", "tcp-2"]
    assert len(names.axes[0].patches) == 2
    with pytest.raises(ValueError, match=r"no axis 'speed', allowed: transport, hops"):
        swept.plot("speed")
    with pytest.raises(ValueError, match=r"no axis 'hop', allowed: transport, hops, did you mean 'hops'\?"):
        swept.plot("hop")
    with pytest.raises(ValueError, match=r"also varies flow\.\*\.transport"):
        swept.plot("hops")
    with pytest.raises(
        ValueError, match=r"'speed': no metric has this name, allowed: .*totals\.goodput_kbps"
    ):
        swept.plot("hops", "speed", by="transport")
    assert swept.plot("hops", "delay.p95", by="transport").axes[0].get_ylabel() == "95% of one-way delays, ms"


def test_a_report_of_two_axes_with_the_same_last_part(tmp_path: Path) -> None:
    flows = [{"app": "ftp", "transport": "newreno"}, {"from": 2, "to": 0, "transport": "newreno"}]
    axes = {f"flow.{flow}.transport": ["newreno", "tcp-2"] for flow in (0, 1)}
    page = multihop.sweep(chain(flow=flows), axes=axes, seeds=1).report(tmp_path / "page.html")
    assert "flow.1.transport" in page.read_text("utf-8")


def test_a_sweep_shows_its_progress_where_it_is_wanted(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr("multihop.progress.FIRST_LINE", 0.0)
    multihop.sweep(chain(), seeds=2, jobs=1)
    assert capsys.readouterr().err == ""
    long: dict[str, Any] = {"duration": 1000.0}
    multihop.sweep(chain(), seeds=2, jobs=1, progress=True, **long)
    assert "sweep: 0 of 2 runs\n" in capsys.readouterr().err


def test_stored_runs_count_as_finished_and_have_no_part_in_the_remaining_time(capsys: Any) -> None:
    clock = iter([0.0, 10.0, 10.0])
    shown = Progress("x", verbose=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("multihop.progress.time.monotonic", lambda: next(clock, 10.0))
        shown.begin(10, 8)
        shown.step()
        shown.end()
    assert capsys.readouterr().err == "x: 9 of 10 runs, 10 s left\n"


def test_progress_counts_stored_runs_and_no_failed_ones(tmp_path: Path) -> None:
    path = swept_file(tmp_path)
    multihop.sweep(path, out=tmp_path / "out", shard="1/3")
    planned = json.loads(_core.plan(request(path, {})))
    sets = [[(key, value) for key, value in one["overrides"]] for one in planned]
    good = [
        Run(one["key"], request(path, {})._replace(overrides=own))
        for one, own in zip(planned, sets, strict=True)
    ]
    shown = Progress("")
    complete(good, Journal(tmp_path / "out"), Where(jobs=1), shown)
    assert (shown.total, shown.stored, shown.done) == (6, 2, 6)
    apart: dict[str, Any] = {"kind": "random", "nodes": 2, "area": [90000.0, 90000.0]}
    shown = Progress("")
    with pytest.raises(multihop.ScenarioError):
        complete([Run("x", request(chain(topology=apart), {}))], Journal(), Where(jobs=1), shown)
    assert (shown.total, shown.done, shown.ended.is_set()) == (1, 0, True)


@pytest.mark.parametrize("axes", [{"flow.*.transport": ["newreno", "tpa-2"]}, {"topology.hops": [1, 2]}, {}])
def test_a_page_of_a_sweep(axes: dict[str, list[Any]], tmp_path: Path) -> None:
    swept = multihop.sweep(chain(), axes=axes, seeds=2)
    page = swept.report(tmp_path / "sweep.html").read_text("utf-8")
    means = [
        str(multihop.interval(group["totals.goodput_kbps"]))
        for _, group in swept.runs.group_by("scenario", *axes)
    ]
    assert all(mean in page for mean in means)
    assert page.count("<figcaption>") == (len(METRICS_OF_A_REPORT) if axes else 0)
    assert all(f'<th scope="col">{in_words(key)}</th>' in page for key in axes)
    assert "multihop sweep scenario.json --set" in page
    assert "&#34;hops&#34;: " in page, "the scenario"


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("flow.*.transport", "transport"),
        ("flow.0.rate_kbps", "rate of the source, kb/s"),
        ("radio.sensitivity_dbm", "sensitivity, dBm"),
        ("mobility.speed", "speed, m/s"),
        ("totals.goodput_kbps", "goodput, kb/s"),
        ("drops.retry-limit", "drops retry limit"),
        ("delay_ms.p95", "95% of one-way delays, ms"),
        ("routing.olsr.hello_interval", "olsr hello interval"),
    ],
)
def test_keys_are_shown_in_words(key: str, words: str) -> None:
    assert in_words(key) == words
