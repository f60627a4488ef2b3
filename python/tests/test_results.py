import html
import sys
import tempfile
import webbrowser
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from scenarios import chain

import multihop


def test_views_of_the_document(recorded: multihop.Result) -> None:
    assert recorded.scenario == "chain"
    assert recorded.seed == 1
    assert recorded.goodput_kbps == recorded.totals["goodput_kbps"] == recorded.data["totals"]["goodput_kbps"]
    assert recorded.mac["frames"]["data"] > 100
    assert recorded.routing["packets"] == {}
    assert sum(recorded.drops.values()) >= 0
    assert recorded.events_per_second > 0
    assert repr(recorded).startswith("<Result 'chain' seed 1: ")


def test_energy_is_empty_without_powers(recorded: multihop.Result) -> None:
    assert multihop.run(chain()).energy == {}
    assert len(recorded.energy["node_joules"]) == 3


def test_flows_are_a_table(recorded: multihop.Result) -> None:
    (flow,) = recorded.flows.to_dicts()
    assert (flow["from"], flow["to"], flow["transport"]) == (0, 2, "newreno")
    assert flow["mean_hops"] == 2.0
    assert 0 < flow["rtt_ms.p50"] <= flow["rtt_ms.p95"]


def test_a_metric_without_a_measurement_is_null() -> None:
    flows = [{"app": "ftp", "transport": "newreno"}, {"from": 1, "to": 2, "app": "cbr", "rate_kbps": 50.0}]
    table = multihop.run(chain(flow=flows)).flows
    assert table["rtt_ms.mean"].is_null().to_list() == [False, True]


def test_tables_within_a_flow_have_dotted_columns() -> None:
    table = multihop.run(chain(flow=[{"app": "ftp", "transport": "adtcp"}])).flows
    assert "identification.joint.losses" in table.columns
    assert not any(dtype.is_nested() for dtype in table.dtypes)


def test_series_are_a_tidy_table(recorded: multihop.Result) -> None:
    goodput = recorded.series.filter(pl.col("series") == "goodput_kbps")
    assert goodput["time"].is_sorted()
    assert goodput["time"].diff().drop_nulls().round(6).unique().to_list() == [0.5]
    assert goodput["value"].sum() > 0


def test_no_series_without_record() -> None:
    assert multihop.run(chain()).series.is_empty()


def test_a_report_needs_no_other_file(recorded: multihop.Result, tmp_path: Path) -> None:
    page = recorded.report(tmp_path / "deep" / "run.html").read_text()
    assert "<title>chain, seed 1</title>" in page
    assert "newreno" in page
    assert "Scenario, settings and command" in page
    assert "multihop run scenario.json" in page
    assert "src=" not in page
    assert 'href="' not in page.replace('href="#', "")


def test_a_page_of_a_run_holds_its_scenario_and_opens_or_is_returned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = multihop.run(chain(), seed=5)
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    try:
        page = result.view(tmp_path / "pages" / "run.html")
    except multihop.RunError as error:
        pytest.skip(str(error))
    assert (tmp_path / "pages" / "run.html").read_text("utf-8") == page.text
    assert '["seed","5"]' in page.text
    assert not opened, "a page that is written is not opened"
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    result.view()
    (address,) = opened
    assert Path(address.removeprefix("file://")).read_text("utf-8") == page.text
    frame = page._repr_html_()
    assert frame.startswith('<iframe title="chain, seed 5" srcdoc="&lt;!doctype html')
    assert html.unescape(frame.split('srcdoc="')[1].split('"')[0]) == page.text


def test_in_a_notebook_a_page_is_shown_and_not_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    class ZMQInteractiveShell:
        pass

    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=ZMQInteractiveShell))
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    try:
        page = multihop.run(chain()).view()
    except multihop.RunError as error:
        pytest.skip(str(error))
    assert "<iframe" in page._repr_html_()
    assert not opened


def test_a_page_of_what_it_cannot_simulate_is_refused() -> None:
    paced = multihop.run(chain(flow=[{"app": "paced", "transport": "udp"}]))
    with pytest.raises(multihop.ScenarioError, match="paced"):
        paced.view()
    with pytest.raises(ValueError, match="does not contain its scenario"):
        multihop.Result.of(paced.data, "").view()


def test_nodes_links_and_queues_are_tables(recorded: multihop.Result) -> None:
    assert recorded.nodes["id"].to_list() == [0, 1, 2]
    shares = recorded.nodes.select(pl.selectors.starts_with("airtime."))
    assert shares.sum_horizontal().round(9).to_list() == [1.0] * 3
    assert set(zip(recorded.links["from"], recorded.links["to"], strict=True)) >= {(0, 1), (1, 2)}
    assert recorded.links["delay_ms.p99"].null_count() == 0
    assert recorded.queues["node"].to_list() == [0, 1, 2]


def test_metrics_over_all_flows(recorded: multihop.Result) -> None:
    delay = recorded.delay_ms
    assert delay is not None
    assert delay["p50"] <= delay["p95"] <= delay["p99"]
    assert recorded.mean("delay") == recorded.mean("totals.delay_ms.mean") == delay["mean"]
    assert recorded.mean("delay.p95") == recorded.mean("delay_ms.p95") == delay["p95"]
    assert recorded.mean("jitter") == recorded.jitter_ms == recorded.flows["jitter_ms"][0]
    assert recorded.mean("delivery_ratio") == recorded.delivery_ratio == recorded.flows["delivery_ratio"][0]
    assert recorded.mean() == recorded.goodput_kbps
    with pytest.raises(ValueError, match=r"'dealy': no metric has this name, allowed: .*delay"):
        recorded.mean("dealy")


def test_a_broadcast_in_a_trace_has_no_number(tmp_path: Path) -> None:
    multihop.run(chain(), routing={"protocol": "olsr"}, trace=tmp_path / "t.txt")
    assert "4294967295" not in (tmp_path / "t.txt").read_text()
    trace = multihop.read_trace(tmp_path / "t.txt")
    assert trace["to"].dtype == pl.Int64
    assert trace.filter(pl.col("pkt") == "hello")["to"].unique().to_list() == [None]
