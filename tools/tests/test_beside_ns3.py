"""The comparison with ns-3: its networks and its table."""

from argparse import Namespace
from pathlib import Path

import pytest

import beside_ns3
import multihop
from beside_ns3 import Row

STANDING = "".join(f"$node_({node}) set X_ {node}.0\n$node_({node}) set Y_ 0.0\n" for node in range(50))


def test_every_network_is_a_valid_scenario(tmp_path: Path) -> None:
    (tmp_path / "movement-1.tcl").write_text(STANDING)
    for case in beside_ns3.CASES:
        multihop.check(beside_ns3.scenario(case, 1, 1, 2.0 * case.warmup, tmp_path))


def test_there_are_chains_stations_and_moving_nodes_at_three_rates() -> None:
    assert len(beside_ns3.CASES) == 3 * (4 + 1 + 1)
    assert [case.name for case in beside_ns3.chosen(["chain-8", "moving-6"])] == [
        "chain-8-6",
        "chain-8-24",
        "chain-8-54",
        "moving-6",
    ]
    assert not beside_ns3.chosen(["chain-9"])


def test_times_are_those_of_all_runs_and_differences_those_of_pairs() -> None:
    first = Row("first", [100.0, 300.0], [110.0, 310.0], [30.0, 50.0], [1.0, 1.0])
    second = Row("second", [100.0, 100.0], [100.0, 100.0], [20.0, 20.0], [0.5, 0.5])
    lines = beside_ns3.compared([first, second, second]).splitlines()
    assert lines[2] == "| first | 200 | 210 | 5.0 ± 0.0 | 40 | 1.00 | 40 |"
    assert lines[-1] == "Median of all 3: 40 times; least: 40 (first)."
    assert (
        beside_ns3.compared([first], instructions=True)
        .splitlines()[0]
        .endswith("| ns-3, million instructions | multihop, million instructions | times fewer |")
    )


def test_a_failed_program_is_named_with_what_it_said() -> None:
    options = Namespace(instructions=False)
    script = "echo no such scenario >&2; exit 3"
    with pytest.raises(SystemExit, match=r"^sh: exit status 3\nno such scenario\n$"):
        beside_ns3.run(["sh", "-c", script], options)
