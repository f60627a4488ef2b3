import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from scenarios import CHAIN_TOML, chain

import multihop
from multihop.settings import Flow


def same_run(one: multihop.Result, other: multihop.Result) -> bool:
    """Whether two results differ in nothing but the clock on the wall."""
    clock = ("wall_seconds", "events_per_second")
    documents: list[dict[str, Any]] = [
        {k: v for k, v in r.data.items() if k not in clock} for r in (one, other)
    ]
    return documents[0] == documents[1]


def test_a_file_a_mapping_and_keywords_are_the_same_run(tmp_path: Path) -> None:
    toml, as_json = tmp_path / "chain.toml", tmp_path / "chain.json"
    toml.write_text(CHAIN_TOML)
    as_json.write_text(json.dumps(chain()))
    from_mapping = multihop.run(chain())
    assert from_mapping.goodput_kbps > 100
    assert same_run(multihop.run(toml), from_mapping)
    assert same_run(multihop.run(str(as_json)), from_mapping)
    assert same_run(multihop.run(**chain()), from_mapping)


def test_keywords_replace_what_the_source_says() -> None:
    longer = chain(topology={"kind": "chain", "hops": 3})
    assert same_run(multihop.run(chain(), topology={"hops": 3}), multihop.run(longer))
    dotted: dict[str, Any] = {"topology.hops": 3}
    assert same_run(multihop.run(chain(), **dotted), multihop.run(longer))
    udp: list[Flow] = [{"app": "cbr", "rate_kbps": 100.0}]
    assert same_run(multihop.run(chain(), flow=udp), multihop.run(chain(flow=udp)))


def test_the_seed_decides() -> None:
    assert same_run(multihop.run(chain(), seed=7), multihop.run(chain(seed=7)))
    assert not same_run(multihop.run(chain(), seed=7), multihop.run(chain(), seed=8))


def test_many_runs_keep_their_order_on_any_number_of_processors() -> None:
    runs = [chain(seed=seed) for seed in range(1, 7)]
    alone = multihop.run_all(runs, jobs=1)
    assert [result.seed for result in alone] == [1, 2, 3, 4, 5, 6]
    assert all(same_run(a, b) for a, b in zip(alone, multihop.run_all(runs, jobs=3), strict=True))


def test_a_source_among_many_runs(tmp_path: Path) -> None:
    file = tmp_path / "chain.toml"
    file.write_text(CHAIN_TOML)
    (result,) = multihop.run_all([{"source": file, "seed": 5}])
    assert result.seed == 5


def test_a_bad_scenario_names_the_key_and_what_is_allowed() -> None:
    with pytest.raises(multihop.ScenarioError, match=r"(?s)transport.*newrino.*newreno"):
        multihop.run(chain(flow=[{"app": "ftp", "transport": "newrino"}]))
    with pytest.raises(multihop.ScenarioError, match=r"topology\.hops"):
        multihop.check(chain(), topology={"hops": 0})


def test_every_problem_is_reported_at_once() -> None:
    with pytest.raises(multihop.ScenarioError) as caught:
        multihop.check(chain(), duration=-1, topology={"hops": 0})
    assert "duration" in str(caught.value)
    assert "topology.hops" in str(caught.value)


def test_a_broken_file_names_itself_and_the_line(tmp_path: Path) -> None:
    file = tmp_path / "broken.toml"
    file.write_text("duration = 6.0\nname = chain\n")
    with pytest.raises(multihop.ScenarioError, match=r"broken\.toml.*2"):
        multihop.check(file)


def test_a_good_scenario_passes_the_check() -> None:
    multihop.check(chain())


def test_a_value_that_no_scenario_can_hold() -> None:
    seed: Any = {1}
    with pytest.raises(TypeError, match="allowed: str, bool, int"):
        multihop.check(chain(), seed=seed)


def test_files_that_a_run_writes(tmp_path: Path) -> None:
    series = tmp_path / "series.csv"
    trace, pcap = tmp_path / "trace.txt", tmp_path / "packets.pcapng"
    record = {"every": 1.0, "what": ["goodput"]}
    multihop.run(chain(record=record), trace=trace, pcap=pcap, series=series)
    assert len(series.read_text().splitlines()) > 5
    assert len(trace.read_text().splitlines()) > 100
    assert pcap.read_bytes()[:4] == b"\x0a\x0d\x0d\x0a"


def test_a_capture_has_the_frames_that_its_filter_selects(tmp_path: Path) -> None:
    sizes = []
    for filters in (
        {},
        {"pcap_until": 1.0},
        {"pcap_nodes": [0], "pcap_until": 1.0},
        {"pcap_nodes": ["node0"], "pcap_until": 1.0, "pcap_length": 64},
        {"pcap_nodes": "node0", "pcap_from": 0.5, "pcap_until": 1.0, "pcap_length": 64},
    ):
        pcap = tmp_path / "packets.pcapng"
        multihop.run_all([{"source": chain(), "pcap": pcap, **filters}])
        sizes.append(pcap.stat().st_size)
    assert sizes == sorted(sizes, reverse=True)
    assert len({*sizes}) == len(sizes)


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        ({"pcap_nodes": [7]}, "pcap_nodes: "),
        ({"pcap_from": -1.0}, "pcap_from: found -1, allowed: a number from 0"),
        ({"pcap_from": 2.0, "pcap_until": 1.0}, "pcap_until: found 1, allowed: a number above pcap_from, 2"),
        ({"pcap_length": 10}, "pcap_length: found 10, allowed: a whole number from 64"),
    ],
)
def test_a_filter_that_selects_nothing_is_refused(
    tmp_path: Path, filters: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        multihop.run(chain(), pcap=tmp_path / "packets.pcapng", **filters)
    with pytest.raises(ValueError, match="filters of a capture need a file: pcap"):
        multihop.run(chain(), **filters)


def test_notes_name_what_is_probably_not_meant() -> None:
    apart: Any = {"kind": "list", "positions": [[0, 0], [5000, 0]]}
    lost = multihop.run(duration=1.0, topology=apart, flow=[{"from": 0, "to": 1, "transport": "newreno"}])
    assert [note.partition(":")[0] for note in lost.notes] == ["flow 0 has no route"]
    assert multihop.run(chain()).notes == []


def test_a_sweep_has_each_note_once() -> None:
    apart: Any = {"kind": "list", "positions": [[0, 0], [5000, 0]]}
    flow: Any = [{"from": 0, "to": 1, "transport": "newreno"}]
    swept = multihop.sweep(duration=1.0, topology=apart, flow=flow, axes={"mac.queue": [5, 6]}, seeds=2)
    assert [note.partition(":")[0] for note in swept.notes] == ["flow 0 has no route"]


def test_a_file_that_cannot_be_written_is_a_run_error(tmp_path: Path) -> None:
    with pytest.raises(multihop.RunError, match="missing"):
        multihop.run(chain(), trace=tmp_path / "missing" / "trace.txt")


def test_modules_that_the_tutorial_names_need_no_import_of_their_own() -> None:
    names = "multihop.theme.STYLE_SHEET, multihop.report.Report, multihop.report.curve"
    subprocess.run([sys.executable, "-c", f"import multihop; {names}"], check=True)
    assert {"report", "theme"} <= set(dir(multihop))
    wrong = subprocess.run(
        [sys.executable, "-c", "import multihop; multihop.them"], capture_output=True, text=True
    )
    assert "Did you mean: 'theme'?" in wrong.stderr


def test_the_schema_describes_scenarios() -> None:
    assert {"topology", "flow", "mac", "radio"} <= multihop.schema()["properties"].keys()


def test_the_wheel_is_a_release_build_unless_another_was_asked_for() -> None:
    assert multihop.build_profile() == os.environ.get("MULTIHOP_PROFILE", "release")


LONG = """
import sys
import multihop
from scenarios import chain
print("ready", flush=True)
long = chain(duration=1e7)
{call}
"""


@pytest.mark.parametrize(
    "call",
    ["multihop.run(long)", "multihop.run_all([long] * 4, jobs=2)", "multihop.sweep(long, seeds=4, jobs=2)"],
)
def test_an_interrupt_ends_a_run_that_would_take_hours(call: str) -> None:
    folder = Path(__file__).parent
    program = [sys.executable, "-c", LONG.format(call=call)]
    process = subprocess.Popen(program, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=30)
    assert "KeyboardInterrupt" in told
    assert process.returncode not in (0, None)


def test_zero_jobs_are_refused_in_words() -> None:
    with pytest.raises(ValueError, match="jobs is 0, allowed: 1 or more"):
        multihop.run_all([chain()], jobs=0)
    with pytest.raises(ValueError, match="jobs is 0, allowed: 1 or more"):
        multihop.sweep(chain(), seeds=2, jobs=0)


def test_traces_and_series_are_tables(tmp_path: Path) -> None:
    result = multihop.run(
        chain(record={"every": 1.0, "what": ["cwnd"]}), trace=tmp_path / "t.txt", series=tmp_path / "s.csv"
    )
    trace = multihop.read_trace(tmp_path / "t.txt")
    assert {"time", "node", "evt", "pkt", "seq"} <= set(trace.columns)
    assert trace["time"].is_sorted()
    assert multihop.read_series(tmp_path / "s.csv").equals(result.series)


def test_a_series_without_rows_is_named() -> None:
    with pytest.warns(UserWarning, match=r"the series rate_kbps have no rows"):
        multihop.run(chain(record={"every": 1.0, "what": ["goodput", "rate"]}))
