"""Experiments with real programs."""

import json
import math
from pathlib import Path
from threading import Event, Timer
from typing import Any

import pytest

import multihop
from multihop.progress import Progress
from multihop.runs import Run, Where
from multihop.scenario import Request
from multihop.stats import Interval
from multihop_papers.declare import Axis, Effort, Metric
from multihop_papers.emulated import (
    chain,
    kernel,
    linux,
    outage,
    part,
    probe,
    programs,
    recovery,
    routing,
    world,
)
from multihop_papers.emulated.world import Emulations
from multihop_papers.study import Experiment, Study

ECHOES = Metric("echoes", "echoes", lambda document: float(str(document["outputs"][0]).count("time=")))
SHORT = Experiment(
    id="short",
    paper="Emulation",
    place="",
    title="",
    found="",
    emulated=True,
    scenario={
        "duration": 2.5,
        "mac": {"arp": "queueing"},
        "topology": {"kind": "chain", "hops": 1},
        "program": [{"node": 0, "command": "true"}],
    },
    axes=[
        Axis("bytes", {n: {"program.0.command": f"ping -c 5 -i 0.2 -s {n} $ADDRESS_1"} for n in (100, 1000)})
    ],
    metrics=(ECHOES,),
    quick=Effort(1),
    full=Effort(1),
)


def document(said: Any, lost: float = 0.0) -> dict[str, Any]:
    return {"outputs": ["", said], "emulation": {"lost_share": lost, "valid": True}}


def test_runs_are_kept_and_not_performed_again(tmp_path: Path) -> None:
    study = Study(SHORT, SHORT.quick, Emulations(tmp_path))
    try:
        study.run(Where(jobs=2), Progress("", quiet=True))
    except multihop.RunError as error:
        if "multihop: cannot" not in str(error):
            raise
        pytest.skip(f"this machine allows no emulation: {error}")
    assert [study.samples("echoes", (size,)) for size in (100, 1000)] == [{(1, 0): 5.0}] * 2
    assert study.result((100,)).data["machine"]["Linux"]
    again = Study(SHORT, SHORT.quick, Emulations(tmp_path))
    again.run(None, Progress("", quiet=True))
    assert (again.missing, again.performed) == (0, 0)
    assert again.spent() > 0


def test_a_run_that_nobody_wants_any_more_is_ended() -> None:
    scenario = dict(SHORT.scenario) | {"duration": 3000.0}
    run = Run("key", Request(json.dumps(scenario), "json", "x", []))
    stop = Event()
    Timer(1.0, stop.set).start()
    with pytest.raises(multihop.RunError):
        world._once(run, stop)


def test_programs_belong_to_the_key_of_a_run() -> None:
    study = Study(SHORT, SHORT.quick, Emulations(Path()))
    assert study.key((100,), 1) != study.key((1000,), 1)


def test_a_run_that_was_late_is_repeated_and_at_last_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    valid = iter([False, True, *[False] * world.TRIES])

    def once(*_: Any) -> tuple[dict[str, Any], float]:
        return {"emulation": {"valid": next(valid), "lost_share": 0.0}}, 0.0

    monkeypatch.setattr(world, "_once", once)
    run = Run("key", Request("{}", "json", "x", []))
    repeated, marked = (json.loads(world._emulated(run, Event()))["result"] for _ in range(2))
    assert (repeated["tries"], repeated["emulation"]["valid"]) == (2, True)
    assert (marked["tries"], marked["emulation"]["valid"]) == (world.TRIES, False)


def test_a_run_that_was_late_at_last_is_performed_again_the_next_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cells = 2
    lost = iter([*[0.5] * cells * world.TRIES, *[0.0] * cells])
    monkeypatch.setattr(world, "_once", lambda *_: (document("", next(lost)), 0.0))
    study = Study(SHORT, SHORT.quick, Emulations(tmp_path))
    for is_good in (False, True):
        study.run(Where(jobs=1), Progress("", quiet=True))
        assert Emulations(tmp_path).is_good(study.key((100,), 1)) == is_good


def test_a_run_that_lost_time_counts_as_late() -> None:
    assert [world.is_late(document("", lost)) for lost in (0.01, 0.03)] == [False, True]


def test_a_run_whose_server_did_not_listen_yet_counts_as_late() -> None:
    assert world.is_late(document({"error": "unable to connect to server: Connection refused"}))


@pytest.mark.parametrize(
    "said",
    [
        {"end": {"sum_received": {"bits_per_second": 400e3}}},
        {"end": {}, "server_output_json": {"end": {"sum": {"bits_per_second": 400e3}}}},
        {"forward": {"goodput_kbps": 400.0}},
        {"mbps": 0.4},
        {"kbps": 400},
    ],
)
def test_goodput_is_that_of_virtual_time(said: dict[str, Any]) -> None:
    assert programs.goodput(document(said), 0) == pytest.approx(400.0)
    assert programs.goodput(document(said, lost=0.2), 0) == pytest.approx(500.0)


def test_the_listener_says_what_arrived_of_a_client_that_was_ended() -> None:
    found = document("multihop: interrupted\n")
    found["outputs"][0] = "listening on 0.0.0.0:5201\n10.0.0.1:40791: 327680 bytes in 41.99 s, 0.062 Mb/s\n"
    assert programs.goodput(found, 0) == pytest.approx(62.43, abs=0.01)


@pytest.mark.parametrize(
    "said",
    [
        "connect failed",
        {"start": {}, "error": "unable to connect"},
        {"end": {"sum_sent": {"retransmits": 3}, "sum_received": {"bytes": 0, "bits_per_second": 0.0}}},
        {"end": {}, "server_output_json": {}},
    ],
)
def test_a_flow_whose_client_failed_delivered_nothing(said: Any) -> None:
    assert programs.flows_of(document(said)) == [0.0]
    assert programs.again(document(said)) is None
    assert programs.jain(document(said)) is None


def test_a_client_that_failed_is_quoted() -> None:
    assert part.failures(document({"error": "unable to connect"})) == ["unable to connect"]
    assert part.failures(document("--plain: no protection\nmultihop: interrupted\n")) == [
        "multihop: interrupted"
    ]
    assert part.failures(document({"mbps": 0.4})) == []


def test_retransmissions_are_counted_for_each_hundred_segments() -> None:
    kernel = {"end": {"sum_sent": {"retransmits": 3}, "sum_received": {"bytes": 144_800}}}
    ours = {"forward": {"sender": {"retransmitted": 2}, "receiver": {"delivered": 50}}}
    assert [programs.again(document(said)) for said in (kernel, ours)] == [3.0, 4.0]


def test_the_arithmetic_of_a_round_trip_by_hand() -> None:
    # DIFS 50, RTS 352, CTS 304, two SIFS 20, data 192 + 4 (128 + 28); SIFS, ACK 304; backoff 300; 2 links.
    way = 50 + 352 + 304 + 20 + 192 + 4 * 156
    assert chain.arithmetic(100) == pytest.approx((2 * (way + 300) + 10 + 304 + 50) / 1e3)


@pytest.mark.parametrize(
    ("command", "text"),
    [("$QUIC client", "multihop-quic is not built"), ("iperf3 -s", "iperf3 is not installed"), ("true", "")],
)
def test_a_missing_program_is_named(command: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world, "quic", lambda: None)
    monkeypatch.setenv("PATH", "")
    request = Request(json.dumps({"program": [{"command": command}]}), "json", "x", [])
    assert world.missing_tools(request).partition(":")[0] == text


def routed(*outputs: Any) -> dict[str, Any]:
    return {"outputs": list(outputs), "emulation": {"lost_share": 0.0, "valid": True}}


def test_gaps_are_those_between_answers() -> None:
    # Answers from 9.0 s to 42.9 s and from 47.0 s to 106.9 s; questions begin at 1 s.
    said = routed("", "80-419 460-1059")
    assert routing.converged(said) == pytest.approx(1.0)
    assert routing.repaired(said) == pytest.approx(4.0)
    asked = round(routing.ASKED / 0.1) - 240
    assert routing.delivered(said) == pytest.approx(100 * (1060 - 240 - 40) / asked)
    assert routing.converged(routed("", "")) is None
    assert routing.repaired(routed("", "")) is None


def test_routing_bytes_are_the_difference_of_two_counts_of_every_station() -> None:
    assert routing.control(routed("100 40 850 40 ", "0 0 0 1500", "", "")) == pytest.approx(75.0)
    assert routing.control(routed("100 40 ", "0 0 0 1500", "", "")) is None


def test_a_relay_that_is_announced_again_is_no_change() -> None:
    lines = [
        "18:00:00.0 10.0.0.2",
        "18:00:01.0 10.0.0.2",
        "18:00:20.0 10.0.0.6",
        "18:00:25.0 10.0.0.2",
        "18:01:00.0 10.0.0.6",
    ]
    said = routed("\n".join(lines), {})
    assert (routing.changes(said), routing.returns(said)) == (3, 1)
    assert (routing.changes(routed("", {})), routing.returns(routed("", {}))) == (0, 0)


def test_the_probe_says_which_questions_were_answered() -> None:
    assert probe.ranges([]) == []
    assert probe.ranges([1, 2, 3, 7, 9, 10]) == [(1, 3), (7, 7), (9, 10)]


def test_every_station_of_a_ring_reaches_two_others() -> None:
    for nodes in (4, 8):
        places = routing.ring(nodes)
        near = [sum(0 < math.dist(a, b) < 250 for b in places) for a in places]
        assert near == [2] * nodes


def test_a_control_that_is_not_loaded_is_named() -> None:
    client = kernel.control("mh_nothing").client
    assert (
        world.missing_tools(Request(client, "toml", "x", []))
        == "mh_nothing is not loaded: multihop tcp load, as root"
    )


def test_short_fairness_is_the_mean_over_intervals() -> None:
    def flow(*rates: float) -> dict[str, Any]:
        intervals = [{"sum": {"bits_per_second": rate}} for rate in rates]
        return {"server_output_json": {"intervals": intervals}}

    found = kernel.short_fairness({"outputs": ["", flow(1.0, 1.0, 0.0), "", flow(1.0, 0.0, 0.0, 5.0)]})
    assert found == 100 * (1.0 + 0.5) / 2
    assert kernel.short_fairness({"outputs": ["", "nothing", "", flow(1.0)]}) is None


def test_an_outage_is_the_silence_in_which_the_route_was_gone() -> None:
    routes = "back 10:00:00.0\ngone 10:00:46.5\nback 10:01:07.0\ngone 10:01:30.0\n"
    silences = "10:00:01.0 10:00:25.0\n10:00:45.1 10:01:08.5\n10:01:10.0 10:01:12.0\n"
    document = {"outputs": ["", routes, silences]}
    assert outage.resumed(document) == pytest.approx(1.5)
    assert outage.silent(document) == pytest.approx(23.4)
    assert outage.resumed({"outputs": ["", routes, "10:00:01.0 10:00:25.0\n"]}) is None


def test_silence_counts_from_an_event_on_and_within_its_window() -> None:
    silences = "99.000-112.500\n130.500-133.000\n150.000-180.000\n"
    starts = [f"start={100 + n}.0\n" for n in range(5)]
    document = {"outputs": [*starts, "kill=131.0\nup=152.0\n", silences]}
    assert recovery.converged(document) == pytest.approx(8.5), "from the last start to the first answer"
    assert recovery.silent("kill")(document) == pytest.approx(2.0 + 4.0)
    assert recovery.silent("up")(document) == pytest.approx(recovery.WINDOW)
    assert recovery.silent("back")(document) is None
    assert recovery.converged({"outputs": [*starts[1:], silences]}) is None, "a daemon has not started"


def test_a_killed_daemon_is_started_again_by_the_same_words() -> None:
    script = recovery.relay("prepare {node}; run {node}", 2)
    assert script.count("prepare 2; exec run 2") == 2
    assert script.index("kill -9") < script.rindex("exec run 2") < script.index("radio0 down")


def test_simulated_round_trips_are_smoothed_and_read_in_each_second() -> None:
    # 100 at first, then 100 + (180 - 100) / 8 = 110 before the second reading, which the third repeats.
    samples = [(1.1, 100.0), (2.5, 180.0)]
    assert linux.smoothed(samples, 1.0, 3) == pytest.approx((100 + 110 + 110) / 3)


def test_a_simulated_run_is_measured_as_iperf3_measures_it() -> None:
    (result,) = multihop.run_all([linux.simulated(2, linux.SIMULATED["reno"], 3, 1)])
    first, flow = result.data["flows"]
    assert first["segments_delivered"] == 0  # it is over before the other begins
    trips = result.series.filter(result.series["id"] == 1)["value"]
    # Between the first round trip, of an empty network, and the longest.
    assert min(trips) < linux.simulated_trip(result, 3) < max(trips)
    assert flow["goodput_kbps"] == pytest.approx(650, rel=0.1)


def test_each_option_of_the_preset_that_is_left_out_changes_a_run() -> None:
    runs = [linux.simulated(8, linux.SIMULATED["reno"] | off, 20, 1) for off in linux.WITHOUT.values()]
    flows = [result.data["flows"] for result in multihop.run_all(runs)]
    assert [option for option, one in zip(linux.WITHOUT, flows, strict=True) if one == flows[0]] == [
        "nothing"
    ]


@pytest.mark.parametrize(
    ("kernel", "verdict"),
    [
        ((103.0, 104.0, 105.0), "held"),
        ((119.0, 120.0, 121.0), "not held"),
        ((90.0, 104.0, 118.0), "not decided"),
        ((104.0,), "not decided"),
    ],
)
def test_an_interval_decides_whether_both_agree(kernel: tuple[float, ...], verdict: str) -> None:
    found = linux.relative(kernel, (99.0, 100.0, 101.0))
    assert found.mean == pytest.approx(sum(kernel) / len(kernel) / 100 - 1)
    assert linux.near(found) == verdict


def test_the_worst_number_of_hops_decides_for_a_control(tmp_path: Path) -> None:
    study = Study(SHORT, SHORT.quick, Emulations(tmp_path))
    differences = ((-0.03, 0.02), (0.06, 0.05), (0.3, 0.1))
    held, open_, far = (Interval(mean, half, 3, 0.95) for mean, half in differences)
    for cells in ({1: held}, {1: held, 2: open_}, {1: held, 2: open_, 4: far}):
        linux.judge(study, "reno", "goodput", cells)
    assert [(found.verdict, found.why) for found in study.found] == [
        ("held", "1 hops: -3.0 ± 2.0%, held"),
        ("not decided", "2 hops: +6.0 ± 5.0%, not decided"),
        ("not held", "2 hops: +6.0 ± 5.0%, not decided, 4 hops: +30.0 ± 10.0%, not held"),
    ]
