"""`multihop bench cc`: the rule of the networks, the runs, and the page."""

import csv
import json
import math
import re
import shlex
from pathlib import Path
from random import Random
from typing import Any

import pytest

import multihop
from multihop.bench import command, networks
from multihop.bench.contenders import RIVALS, Contender
from multihop.bench.judging import Judged
from multihop.bench.traces import OPPORTUNITY, SECONDS, trace

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "my_newreno.py"


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two networks of each kind, with shorter runs."""
    monkeypatch.setattr(networks, "KINDS", dict.fromkeys(networks.KINDS, 2))
    monkeypatch.setattr(
        networks,
        "_measured",
        lambda _, *, first=0.0: {"first": first, "warmup": first + 2.0, "duration": first + 6.0},
    )


def bench(*words: str | Path) -> int:
    return command.main(["cc", *map(str, words)])


def test_the_rule_draws_100_networks_that_are_always_the_same() -> None:
    every = networks.networks(list(networks.KINDS))
    again = networks.networks(list(networks.KINDS))
    assert len(every) == 100
    assert every == again
    assert len({one.title for one in every}) > 95


def test_every_network_is_a_valid_scenario_for_every_controller(tmp_path: Path) -> None:
    for one in networks.networks(list(networks.KINDS)):
        for name, text in one.files.items():
            (tmp_path / name).write_text(text)
        for name in ("mine", *RIVALS):
            contender = Contender.of(str(EXAMPLE), None) if name == "mine" else Contender(name)
            scenario = one.run(contender.transport, "cubic", 1)
            multihop.check(contender.request(scenario, tmp_path))


def test_seeds_move_the_starts_and_nothing_else() -> None:
    network = networks.network("wire", 1)
    first, second = (network.run("newreno", "cubic", seed) for seed in (1, 2))
    starts = [[flow.pop("start") for flow in run["flow"]] for run in (first, second)]
    assert starts[0] != starts[1]
    assert {**first, "seed": 0} == {**second, "seed": 0}


def test_the_process_of_traces_has_its_mean_rate_and_order() -> None:
    rates = []
    for seed in range(20):
        lines = [int(line) for line in trace(Random(seed), 8e6, 0.4, 1.0).splitlines()]
        assert lines == sorted(lines)
        assert lines[-1] == 1000 * SECONDS
        rates.append(len(lines) * OPPORTUNITY / SECONDS)
    mean = sum(rates) / len(rates)
    # An outage of 0.4 s interrupts 20.4 s. The mean of 20 traces varies by 4%.
    assert mean == pytest.approx(8e6 * 20 / 20.4, rel=0.1)
    assert max(rates) > 1.1 * min(rates)


@pytest.mark.usefixtures("short")
def test_a_bench_writes_a_page_with_its_numbers_and_repeats_no_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (EXAMPLE, "--networks", "chain", "cellular", "rival", "--seeds", "2", "--out", tmp_path, "-q")
    assert bench(*words, "--json") == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((tmp_path / "summary.json").read_text())
    assert list(printed["controllers"]) == ["my-newreno", *RIVALS]
    with (tmp_path / "runs.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 6 * 5 * 2
    journal = (tmp_path / "runs.jsonl").read_bytes()
    page = (tmp_path / "page.html").read_text()
    for title in ("best", "worst", "unfair"):
        assert f"Where it is {title}" in page
    assert not re.search(r"(src|href)=\"(?!#)", page)
    assert printed["answer"] in page.replace("&#39;", "'")
    assert bench(*words) == 0
    assert (tmp_path / "runs.jsonl").read_bytes() == journal
    assert (tmp_path / "page.html").read_text() == page


def test_a_trace_of_another_rule_is_written_anew(tmp_path: Path) -> None:
    network = networks.network("cellular", 1)
    stale = command.folder_of(network, tmp_path) / "down.trace"
    stale.write_text("5\n")
    command.folder_of(network, tmp_path)
    assert stale.read_text() == network.files["down.trace"]


def test_the_command_on_the_page_is_one_for_a_shell() -> None:
    words = ["cc", "my own.py", "--networks", "wire", "rival", "--seeds", "5"]
    assert shlex.split(command.command(command.parse(words))) == ["multihop", "bench", *words]


def judged(goodputs: dict[str, list[float]]) -> Judged:
    """A bench of made-up goodputs: by controller, the mean of each network."""
    chosen = [networks.network("chain", number + 1) for number in range(len(next(iter(goodputs.values()))))]
    found = Judged(chosen, list(goodputs), [1, 2])
    for name, values in goodputs.items():
        for network, value in zip(chosen, values, strict=True):
            for seed, factor in ((1, 0.9), (2, 1.1)):
                data: dict[str, Any] = {
                    "flows": [{"goodput_kbps": value * factor}],
                    "totals": {"delay_ms": {"p95": 5.0}, "jain_instant": 1.0},
                }
                found.add(network, name, seed, multihop.Result.of(data, ""))
    return found


def test_shares_are_relative_to_the_best_of_each_network() -> None:
    found = judged({"mine": [100.0, 50.0], "cubic": [50.0, 100.0], "mesh": [80.0, 80.0]})
    networks_of = found.alone()
    assert found.over(networks_of, "mine").mean == pytest.approx(75.0)
    assert found.over(networks_of, "mesh").mean == pytest.approx(80.0)
    assert [found.wins(name) for name in found.names] == [1, 1, 0]
    assert found.share(networks_of[0], "mine").mean == pytest.approx(125.0)
    assert found.share(networks_of[1], "mine").mean == pytest.approx(50.0)
    assert math.isfinite(found.share(networks_of[0], "mine").half)


def test_an_exception_of_the_controller_ends_the_bench_with_its_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "broken.py"
    file.write_text(
        "import multihop\n\n\nclass Broken(multihop.CongestionControl):\n"
        "    def on_ack(self, now, ack):\n        raise KeyError('lost')\n"
    )
    assert bench(file, "--networks", "chain", "--seeds", "1", "--out", tmp_path / "out", "-q") == 1
    said = capsys.readouterr().err
    assert "in on_ack" in said
    assert "s of simulated time" in said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nothing"], "nothing"),
        (["missing.py"], "missing.py"),
        (["cubic+elfn+ack1", "--networks", "chain", "--seeds", "0"], "--seeds is 0"),
    ],
)
def test_wrong_words_are_named(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = bench(*words, "--out", tmp_path)
    except SystemExit as ended:
        code = int(ended.code or 0)
    assert code == 2
    assert message in capsys.readouterr().err


@pytest.mark.usefixtures("short")
def test_a_controller_in_rust_runs_in_its_program(tmp_path: Path) -> None:
    program = ROOT / "target" / "debug" / "examples" / "my_protocols"
    if not program.is_file():
        pytest.skip(f"{program} is missing: cargo build -p multihop-cli --example my_protocols")
    words = ("few", "--program", program, "--networks", "chain", "--seeds", "1", "--out", tmp_path, "-q")
    assert bench(*words) == 0
    found = json.loads((tmp_path / "summary.json").read_text())
    assert found["controllers"]["few"]["goodput_share_percent"]["mean"] > 10
    journal = (tmp_path / "runs.jsonl").read_bytes()
    assert bench(*words) == 0
    assert (tmp_path / "runs.jsonl").read_bytes() == journal
