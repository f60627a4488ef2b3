"""Tests of the scripts that ns-2 is given, and of reading its traces. `ns2_dsr.tr` is a part of a
trace of a chain of 4 hops.
"""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from multihop.journal import Journal
from multihop.progress import Progress
from multihop.runs import Where
from multihop.stats import Interval
from multihop_papers import claims
from multihop_papers.declare import GOODPUT, RTX, Effort
from multihop_papers.ns2 import pairs, program
from multihop_papers.ns2.script import Flow, Network, corner, positions, static_routes
from multihop_papers.ns2.trace import End, measures, message
from multihop_papers.study import Study
from multihop_papers.validation import ns2, ns2_compare, ns2_table
from multihop_papers.verdicts import HELD, NOT_DECIDED, NOT_HELD

SAMPLE = Path(__file__).with_name("ns2_dsr.tr")
MOVEMENT = """\
$node_(0) set X_ 10.5
$node_(0) set Y_ 20
$node_(0) set Z_ 0.0
$node_(1) set X_ 210
$node_(1) set Y_ 20
$node_(1) set Z_ 0.0
$ns_ at 3 "$node_(1) setdest 400.5 30 5"
"""


def read(warmup: float) -> dict[str, Any]:
    with SAMPLE.open() as lines:
        return measures(lines, [End(0, 4, 1460)], warmup, 3.3)


def test_a_trace_is_counted_under_the_keys_of_our_results() -> None:
    found = read(warmup=1.5)
    # Counted by hand: segments 9 to 55 arrive, 45, 46, 47, 55 and 56 leave twice.
    assert found["flows"] == [
        {
            "goodput_kbps": pytest.approx(8 * 1460 * 47 / 1.8 / 1000),
            "segments_sent": 53,
            "segments_retransmitted": 5,
            "segments_delivered": 47,
        }
    ]
    assert found["totals"]["retransmission_index"] == pytest.approx(5 / 47)
    assert found["totals"]["jain"] == 1.0
    assert found["mac"] == {"drops": 11}
    assert found["routing"] == {"packets": {"rreq": 24, "rrep": 17, "rerr": 4}}


def test_the_syn_is_not_data_and_the_warm_up_does_not_count() -> None:
    assert read(warmup=0.0)["flows"][0]["segments_delivered"] == 55
    assert read(warmup=3.3 - 1e-9)["totals"]["goodput_kbps"] == 0.0


def test_segments_out_of_order_wait_and_datagrams_do_not() -> None:
    def lines(kind: str) -> list[str]:
        line = "{} 2.0 _{}_ AGT  --- 1 {} 1488 [0 0 0 0] ------- [0:0 4:0 32 0] [{}] 0 0"
        return [line.format("r", 4, kind, number) for number in (0, 1, 3, 3)]

    for kind, delivered in (("tcp", 1), ("cbr", 3)):
        found = measures(lines(kind), [End(0, 4, 1000)], 0.0, 8.0)
        assert found["totals"]["goodput_kbps"] == delivered


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ("[0x2 1 11 [0 12] [3 24]] (REQUEST)", "rreq"),
        ("[0x4 5 [0 12] 3.000000] (REPLY)", "rrep"),
        ("[0x8 1 [10 0] 0.000000] (ERROR)", "rerr"),
        ("1 [1 2] [0 2 0 0->0] [0 0 0 0->0]", "rreq"),
        ("1 [1 2] [0 2 0 0->0] [1 1 0 3->2]", "rreq"),
        ("5 [0 3] [1 3 5 0->4] [0 0 0 0->0]", "rrep"),
        ("2 [0 0] [0 0 0 0->0] [1 1 4 3->2]", "rerr"),
    ],
)
def test_routing_messages_are_told_apart(options: str, kind: str) -> None:
    assert message(f"s 1.0 _3_ RTR  --- 0 X 48 [0 0 0 0] ------- [3:255 -1:255 30 0] {options}") == kind


def test_positions_and_area_come_from_the_movement() -> None:
    assert positions(MOVEMENT) == [(10.5, 20.0), (210.0, 20.0)]
    assert corner(MOVEMENT) == (400.5, 30.0)


def test_static_routes_have_the_fewest_hops() -> None:
    line = [(200.0 * number, 0.0) for number in range(4)]
    assert static_routes(line) == [
        (1, 0, 0), (2, 0, 1), (3, 0, 2), (0, 1, 1), (2, 1, 1), (3, 1, 2),
        (0, 2, 1), (1, 2, 2), (3, 2, 2), (0, 3, 1), (1, 3, 2), (2, 3, 3),
    ]  # fmt: skip
    assert static_routes([(0.0, 0.0), (251.0, 0.0)]) == []


def test_frames_are_as_long_as_ours() -> None:
    """ns-2.35 adds 34 bytes to a packet where we add 28, and knows no UDP header."""
    greedy = Flow(0, 3, 1.0, rate_kbps=2000.0)
    assert greedy.words("static").endswith(f"{{packetSize_ 1482}} {2000 * 1482 / 1460:.6f} 1482")
    assert greedy.words("AODV").endswith(" 1462")  # and 20 by the agent
    network = Network(10.0, "static", MOVEMENT, (Flow(0, 1, 1.0, "Reno", window=8),))
    assert "Agent/TCP tcpip_base_hdr_size_ 34" in network.defaults()
    assert "Agent/TCPSink packetSize_ 34" in network.defaults()


def test_every_setting_that_the_program_reads_is_written() -> None:
    network = Network(10.0, "AODV", MOVEMENT, (Flow(0, 1, 1.0, delayed_acks=True),))
    script = network.script(7, Path("movement.tcl"), Path("trace.tr"), frames=False)
    written = dict(re.findall(r"^set net\((\w+)\) \{(.*)\}$", script, re.MULTILINE))
    assert set(re.findall(r"\$net\((\w+)\)", program.SCENARIO.read_text())) == set(written)
    assert written["seed"] == "7"
    assert written["nodes"] == "2"
    assert written["routes"] == ""
    assert written["flows"] == (
        "{0 1 1.0 Agent/TCP/Newreno Agent/TCPSink/DelAck {packetSize_ 1460 window_ 20} 0.000000 0}"
    )


SHORT = replace(
    ns2.CHAIN,
    scenario={**ns2.CHAIN.scenario, "duration": 4.0, "warmup": 1.0},
    quick=Effort(4, {}, {"hops": [1, 2], "sender": ["NewReno"]}),
    more=ns2_compare.Comparison(2),
)


def compared(
    folder: Path, monkeypatch: pytest.MonkeyPatch, factor: float | None
) -> tuple[Study, list[Network]]:
    """A short study beside an ns-2 that delivers so many times as much; without a factor it is absent."""
    study = Study(SHORT, SHORT.quick, Journal(folder), folder=folder)
    study.run(Where(jobs=2), Progress(""))
    asked: list[Network] = []

    def run(network: Network, seed: int, warmup: float) -> dict[str, Any]:
        asked.append(network)
        ours = study.result(("NewReno", "static", len(positions(network.movement)) - 1), seed).data
        assert warmup == 1.0
        assert factor is not None
        goodput = factor * ours["totals"]["goodput_kbps"]
        return {**ours, "totals": {**ours["totals"], "goodput_kbps": goodput}}

    monkeypatch.setattr(program, "installed", lambda: factor is not None)
    monkeypatch.setattr(program, "version", lambda: "2.35")
    monkeypatch.setattr(program, "run", run)
    assert SHORT.more is not None
    SHORT.more(study)
    return study, asked


def test_without_ns2_the_study_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study, _ = compared(tmp_path, monkeypatch, None)
    assert study.found == []
    assert "4 runs of ns-2 are missing" in str(study.parts[0])


@pytest.mark.parametrize(("factor", "verdict"), [(1.0, HELD), (1.01, HELD), (1.1, NOT_HELD)])
def test_goodput_within_3_percent_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, factor: float, verdict: str
) -> None:
    study, asked = compared(tmp_path, monkeypatch, factor)
    assert [one.verdict for one in claims.verdicts(study)] == [verdict, verdict]
    assert asked[0].routing == "static"
    assert asked[0].flows == (Flow(0, 1, 1.0, "Newreno", window=20),)


def test_only_what_the_first_look_leaves_open_is_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ns2_compare, "LIMIT", 0.0)
    study, asked = compared(tmp_path, monkeypatch, 1.0)
    assert len(asked) == 8
    assert {len(positions(one.movement)) for one in asked[:4]} == {2, 3}
    assert [one.verdict for one in claims.verdicts(study)] == [NOT_DECIDED, NOT_DECIDED]
    monkeypatch.setattr(ns2_compare, "LIMIT", 1.0)
    _, asked = compared(tmp_path / "again", monkeypatch, 1.0)
    assert len(asked) == 4


def test_runs_of_ns2_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compared(tmp_path, monkeypatch, 1.0)
    kept = [json.loads(line) for line in (tmp_path / pairs.FILE).read_text().splitlines()]
    assert len({one["key"] for one in kept}) == len(kept) >= 4
    _, asked = compared(tmp_path, monkeypatch, 1.0)
    assert asked == []


def test_a_wide_interval_decides_nothing() -> None:
    assert ns2_compare.word_of([Interval(0.0, 0.1, 5, 0.95)]) == NOT_DECIDED
    assert ns2_compare.word_of([Interval(0.0, 0.02, 5, 0.95), Interval(0.0, 0.1, 5, 0.95)]) == NOT_DECIDED
    assert ns2_compare.word_of([Interval(0.06, 0.02, 5, 0.95), Interval(0.0, 0.1, 5, 0.95)]) == NOT_HELD


def test_metrics_read_both_kinds_of_results() -> None:
    metrics = {metric.name for metric in ns2_compare.METRICS}
    assert metrics == {GOODPUT.name, RTX.name, "retry limits", "route errors"}


def test_a_sense_range_is_a_received_power() -> None:
    """The first number is ns-2's own default, 1.559e-11 W for 550 m."""
    network = Network(10.0, "static", MOVEMENT, (), sense_range=601.0)
    (line,) = (one for one in network.defaults() if "CSThresh" in one)
    assert float(line.split()[-1]) * (601.02 / 550.02) ** 4 == pytest.approx(1.559e-11, rel=1e-3)
    assert not any("CSThresh" in one for one in Network(10.0, "static", MOVEMENT, ()).defaults())


def test_the_sense_range_of_a_cell_reaches_ns2() -> None:
    study = Study(ns2.WINDOWS, ns2.WINDOWS.full, Journal())
    for layout, sense in (("grid", 550.0), ("grid, 601 m", 601.0)):
        found = ns2_compare.kind(study, (layout, "AODV", "TCP-2"))
        assert (found.routing, found.sender.window, found.sense_range) == ("AODV", 2, sense)


def test_the_summary_has_a_row_for_each_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part = replace(SHORT, full=SHORT.quick)
    compared(tmp_path / part.id, monkeypatch, 1.0)
    printed = ns2_table.Printed("a paper", 2000.0, part, ("NewReno", "static", 1), "chain")
    monkeypatch.setattr(ns2_table, "PARTS", (part, ns2.LONG))
    monkeypatch.setattr(ns2_table, "PRINTED", (printed,))
    summary = Study(ns2_table.SUMMARY, ns2_table.SUMMARY.full, Journal(), folder=tmp_path / "summary")
    ns2_table.summarise(summary)
    texts = [part for part in summary.parts if isinstance(part, str)]
    tables = [part[0] for part in summary.parts if not isinstance(part, str)]
    rows, beside = (table for table in tables if isinstance(table, pl.DataFrame))
    assert "validation-ns2-long" in texts[0]
    assert rows["layout"].to_list() == ["chain, 1 hop", "chain, 2 hops"]
    assert texts[1].startswith("2 comparisons: 2 agree within 3%")
    assert beside["printed, kb/s"].to_list() == ["2000"]
    assert "(-" in beside["ns-2"][0]
    assert "(-" in beside["ours"][0]


def test_every_printed_number_has_its_network_in_a_part() -> None:
    for printed in ns2_table.PRINTED:
        assert printed.part in ns2.PARTS
        assert printed.cell in Study(printed.part, printed.part.full, Journal()).accepted()
