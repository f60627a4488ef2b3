"""`multihop break`: networks, measures, shrinking, and a search that is continued."""

import json
import math
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

import multihop
from multihop.breaking import measures, space
from multihop.breaking.command import main
from multihop.breaking.network import PAPERS_RADIO, Flow, Move, Network, longest, toml
from multihop.breaking.search import Judge, Scores
from multihop.breaking.shrink import shrink, smaller, without_node
from multihop.runs import Where

BROKEN = Path(__file__).parents[2] / "examples" / "broken"
CHAIN = Network(
    radio=PAPERS_RADIO,
    places=((0.0, 0.0), (200.0, 0.0), (400.0, 0.0)),
    flows=(Flow(0, 2, 0.0),),
    seconds=4.0,
)


@pytest.mark.parametrize("of", [space.transports, space.routing])
def test_every_point_is_a_network_within_bounds_that_runs(of: Callable[[space.Bounds], space.Space]) -> None:
    bounds = space.Bounds(4, 3.0, 2)
    found = of(bounds)
    rng = Random(7)
    for number in range(40):
        point = [rng.random() for _ in range(found.size)]
        network = found.network([0.0] * found.size if number == 0 else point)
        assert 2 <= len(network.places) <= 4
        assert 1 <= len(network.flows) <= 2
        assert all(flow.source != flow.target for flow in network.flows)
        scenario = (
            network.with_transport("cubic", 1) if of is space.transports else network.with_routing("olsr", 1)
        )
        multihop.check(scenario)
        assert tomllib.loads(toml(scenario)) == json.loads(json.dumps(scenario))
    with pytest.raises(StopIteration):
        found.network(point[:-1])


def test_a_path_exists_until_a_relay_has_left() -> None:
    network = replace(CHAIN, moves=(Move(1, 1.0, (200.0, 300.0), 100.0),))
    flow = network.flows[0]
    assert network.place(1, 2.0) == (200.0, 100.0)
    assert [network.has_path(flow, time) for time in (0.0, 1.0, 2.0, 3.0)] == [True, True, True, False]
    assert longest([True, False, True, True]) == 2
    assert longest([]) == 0


def test_a_hole_counts_only_while_a_path_exists() -> None:
    away = replace(CHAIN, moves=(Move(1, 1.0, (200.0, 300.0), 300.0),), seconds=6.0)
    gone = {"aodv": multihop.run(away.with_routing("aodv", 1))}
    assert measures.hole(away, "aodv", gone) <= 0.5
    late = replace(CHAIN, places=((0.0, 0.0), (200.0, 300.0), (400.0, 0.0)), seconds=6.0)
    late = replace(late, moves=(Move(1, 1.0, (200.0, 0.0), 300.0),))
    assert measures.hole(late, "olsr", {"olsr": multihop.run(late.with_routing("olsr", 1))}) == 0.0
    beside = replace(away, places=(*away.places, (200.0, 120.0)))
    unrouted = beside.with_routing("static", 1)
    unrouted["routing"]["next_hops"] = [[0, 2, 1], [1, 2, 2]]
    assert measures.hole(beside, "static", {"static": multihop.run(unrouted)}) >= 4.0


def test_measures_of_transports_need_a_comparable_rival() -> None:
    results = {name: multihop.run(CHAIN.with_transport(name, 1)) for name in ("newreno", "mesh")}
    best = results["mesh"].goodput_kbps
    assert measures.share(CHAIN, "newreno", results) == pytest.approx(
        1 - results["newreno"].goodput_kbps / best
    )
    assert measures.fairness(CHAIN, "newreno", results) == measures.WORST_START
    assert 0.0 < measures.delay(CHAIN, "newreno", results) < 1.0
    far = replace(CHAIN, places=((0.0, 0.0), (900.0, 0.0), (1800.0, 0.0)))
    nothing = {name: multihop.run(far.with_transport(name, 1)) for name in ("newreno", "mesh")}
    assert measures.share(far, "newreno", nothing) == measures.WORST_START


def test_rivals_are_scored_by_the_same_runs(tmp_path: Path) -> None:
    def judge(protocol: str, rival: str) -> Judge:
        return Judge(
            protocol=protocol,
            rivals=[rival],
            measure=measures.TRANSPORTS["share"],
            scenario=Network.with_transport,
            scores=Scores(tmp_path / "scores.jsonl"),
            where=Where(1),
        )

    [first] = judge("newreno", "mesh").badness([CHAIN], [1])
    scores = (tmp_path / "scores.jsonl").read_text()
    [second] = judge("mesh", "newreno").badness([CHAIN], [1])
    assert (tmp_path / "scores.jsonl").read_text() == scores
    assert (1 - first) * (1 - second) == pytest.approx(1.0)


def test_a_search_can_end_with_the_first_bad_network(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["olsr", "--out", str(tmp_path), "--jobs", "1", "--json", "--first", "--minutes", "30"]
    assert main(command) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["is_found"]
    assert found["cpu_minutes"] < 30


def test_shrinking_keeps_only_what_makes_the_protocol_bad(tmp_path: Path) -> None:
    judge = Judge(
        protocol="newreno",
        rivals=(),
        measure=measures.Measure(
            "segments sent without a queue", 1.0, lambda network, *_: network.queue, False
        ),
        scenario=Network.with_transport,
        scores=Scores(tmp_path / "scores.jsonl"),
        where=Where(1),
    )
    large = replace(
        CHAIN,
        places=(*CHAIN.places, (190.3, 170.2)),
        flows=(Flow(0, 2, 0.0), Flow(2, 1, 1.23)),
        moves=(Move(3, 0.5, (100.0, 100.0), 3.3),),
        queue=100,
        frame_loss=0.07,
        is_rts_changed=True,
    )
    small = shrink([CHAIN, large], judge)
    assert (small.queue, len(small.flows), len(small.places), small.moves) == (100, 1, 2, ())
    assert (small.frame_loss, small.is_rts_changed, small.seconds) == (0.0, False, 2.0)
    assert all(candidate != small for candidate in smaller(small))
    late = replace(CHAIN, flows=(Flow(0, 2, 2.6),))
    assert all(flow.start < candidate.seconds for candidate in smaller(late) for flow in candidate.flows)


def test_nodes_are_renumbered() -> None:
    network = replace(CHAIN, flows=(Flow(2, 0, 0.0),), moves=(Move(2, 0.0, (1.0, 1.0), 1.0),))
    less = without_node(network, 1)
    assert (less.flows[0].source, less.moves[0].node, len(less.places)) == (1, 1, 2)


@pytest.mark.parametrize(
    ("file", "protocols", "share"),
    [
        ("edge", ["cubic", "bbr3"], 0.5),
        ("one-fast-hop", ["tpa", "tcp-ap"], 0.4),
        ("short-queue", ["mesh"], 0.7),
    ],
)
def test_transports_do_badly_in_the_networks_of_the_page(
    file: str, protocols: list[str], share: float
) -> None:
    runs = multihop.sweep(BROKEN / f"{file}.toml", seeds=2, duration=2.0).mean("goodput")
    goodput = dict(runs.select("flow.*.transport", "mean").iter_rows())
    assert all(goodput[protocol] < share * max(goodput.values()) for protocol in protocols), goodput


@pytest.mark.parametrize(
    ("file", "seconds"), [("aodv-repair", 5.5), ("olsr-leaves", 4.0), ("babel-leaves", 9.0)]
)
def test_routing_protocols_are_silent_in_the_networks_of_the_page(file: str, seconds: float) -> None:
    scenario = tomllib.loads((BROKEN / f"{file}.toml").read_text())
    del scenario["sweep"]
    [flow], [node] = scenario["flow"], scenario["mobility"]["node"]
    [_, (start, *place), (end, *to)] = node["waypoints"]
    network = Network(
        radio=PAPERS_RADIO,
        places=tuple(map(tuple, scenario["topology"]["positions"])),
        flows=(Flow(flow["from"], flow["to"], 0.0),),
        seconds=10.0,
        moves=(Move(node["node"], start - 10.0, tuple(to), math.dist(place, to) / (end - start)),),
    )
    assert measures.hole(network, "it", {"it": multihop.run(scenario)}) >= seconds


def test_a_repeated_search_continues(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["olsr", "--out", str(tmp_path), "--nodes", "4", "--seconds", "8", "--jobs", "1", "--json"]
    assert main([*command, "--minutes", "0.005"]) == 0
    first = json.loads(capsys.readouterr().out)
    scores = (tmp_path / "scores.jsonl").read_text()
    assert main([*command, "--minutes", "0.005"]) == 0
    assert json.loads(capsys.readouterr().out) == first
    assert (tmp_path / "scores.jsonl").read_text() == scores
    (tmp_path / "scores.jsonl").write_text(scores[:-9])  # as after a loss of power
    assert main([*command, "--minutes", "0.01"]) == 0
    assert json.loads(capsys.readouterr().out)["networks"] > first["networks"]
    multihop.check(tmp_path / "olsr-hole.toml")
    assert multihop.sweep(tmp_path / "olsr-hole.toml", seeds=2).runs.height == 2


def test_wrong_arguments_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = ["--out", str(tmp_path), "--minutes", "0.001"]
    assert main(["cubik", *out]) == 2
    assert 'did you mean "cubic"?' in capsys.readouterr().err
    assert main(["cubic", *out, "--against", "cubic"]) == 2
    assert "names no rival" in capsys.readouterr().err
    for words, message in [
        (["aodv", "--measure", "share"], "allowed: hole, loop"),
        (["mesh", "--nodes", "1"], "allowed: 2 to 12"),
        (["mesh", "--flows", "4"], "allowed: 1 to 3"),
        (["mesh", "--seconds", "1e9"], "allowed: 2 to 120"),
        (["mesh", "--minutes", "nan"], "allowed: above 0"),
    ]:
        with pytest.raises(SystemExit):
            main(words)
        assert message in capsys.readouterr().err


def test_scores_survive_a_line_that_is_not_whole(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    Scores(path).add({"a": (1.0, 0.5)})
    path.write_text(path.read_text() + '["b", 2.0')
    for _ in range(2):
        scores = Scores(path)
        assert scores.known == {"a": (1.0, 0.5)}
    scores.add({"c": (3.0, 0.1)})
    assert set(Scores(path).known) == {"a", "c"}
    path.write_text("nonsense\n")
    with pytest.raises(ValueError, match="line 1: not a score: nonsense"):
        Scores(path)
