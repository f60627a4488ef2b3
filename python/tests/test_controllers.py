"""Congestion controls in Python."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import multihop
from multihop.controllers import of_file, version

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "python-controller.md"
BLOCK = re.compile(
    r'^```(?P<kind>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^```$', re.DOTALL | re.MULTILINE
)
NewReno = of_file(ROOT / "examples" / "my_newreno.py")[1]


class Failing(multihop.CongestionControl):
    """Divides by zero after 3 s."""

    def on_ack(self, now: float, ack: multihop.Ack) -> None:
        if now > 3.0:
            _ = 1 / 0
        super().on_ack(now, ack)


def run(
    control: type[multihop.CongestionControl], hops: int = 2, seed: int = 1, **more: Any
) -> multihop.Result:
    settings: dict[str, Any] = {
        "seed": seed,
        "duration": 20.0,
        "warmup": 5.0,
        "topology": {"kind": "chain", "hops": hops},
        "flow": [{"transport": "mine"}],
        **more,
    }
    return multihop.run(controllers={"mine": control}, **settings)


@pytest.mark.parametrize("hops", [1, 3, 6])
def test_newreno_in_40_lines_has_the_goodput_of_newreno(hops: int) -> None:
    axes = {"flow.*.transport": ["newreno", "mine"]}
    swept = multihop.sweep(
        axes=axes,
        seeds=5,
        duration=100.0,
        warmup=10.0,
        topology={"kind": "chain", "hops": hops},
        flow=[{"transport": "newreno"}],
        controllers={"mine": NewReno},
    )
    built_in, own = swept.mean("goodput")["mean"]
    assert own == pytest.approx(built_in, rel=0.02)


def test_the_example_has_40_lines() -> None:
    assert len((ROOT / "examples" / "my_newreno.py").read_text("utf-8").splitlines()) <= 40


def test_methods_that_are_not_overridden_are_newreno() -> None:
    class Same(multihop.CongestionControl):
        def on_ack(self, now: float, ack: multihop.Ack) -> None:
            super().on_ack(now, ack)

        def on_dup_ack(self, now: float) -> None:
            super().on_dup_ack(now)

        def on_loss(self, now: float, flight: float) -> None:
            super().on_loss(now, flight)

        def on_timeout(self, now: float, flight: float, again: bool) -> None:
            super().on_timeout(now, flight, again)

    class Nothing(multihop.CongestionControl):
        pass

    def outcome(result: multihop.Result) -> Any:
        return {name: value for name, value in result.data["flows"][0].items() if name != "transport"}

    built_in = multihop.run(
        seed=1,
        duration=20.0,
        warmup=5.0,
        topology={"kind": "chain", "hops": 4},
        flow=[{"transport": "newreno"}],
    )
    assert outcome(run(Same, 4)) == outcome(run(Nothing, 4)) == outcome(built_in)


def test_two_runs_are_equal() -> None:
    first, second = (run(NewReno).data for _ in range(2))
    for result in (first, second):
        del result["wall_seconds"], result["events_per_second"]
    assert first == second


def test_a_pacing_interval_limits_the_rate() -> None:
    class Slow(multihop.CongestionControl):
        def __init__(self, window: multihop.Window) -> None:
            self.pacing_interval = 0.1
            assert window is self.window

    result = run(Slow, hops=1, flow=[{"transport": {"kind": "mine", "mss": 1000}}])
    assert result.totals["goodput_kbps"] == pytest.approx(10 * 1000 * 8 / 1000, rel=0.02)


def test_rate_samples_come_to_a_class_that_takes_them() -> None:
    class Rates(multihop.CongestionControl):
        seen: list[multihop.RateSample] = []  # noqa: RUF012

        def on_rate_sample(self, now: float, sample: multihop.RateSample) -> None:
            self.seen.append(sample)

    run(Rates)
    last = Rates.seen[-1]
    assert last.delivered > 100
    assert last.rate is not None
    assert last.rate > 10


def test_an_exception_ends_the_run_with_the_simulated_time() -> None:
    with pytest.raises(
        multihop.RunError, match=r'"mine" failed in on_ack at 3\.0\d+ s .*division by zero'
    ) as error:
        run(Failing)
    assert isinstance(error.value.__cause__, ZeroDivisionError)
    frames = error.value.__cause__.__traceback__
    assert frames is not None
    assert frames.tb_frame.f_code.co_name == "on_ack"
    run(NewReno)


def test_an_exception_ends_a_sweep_and_parallel_runs() -> None:
    axes = {"flow.*.transport": ["failing", "newreno"]}
    controllers = {"failing": Failing}
    with pytest.raises(multihop.RunError, match="simulated time"):
        multihop.sweep("chain-4", axes=axes, seeds=2, controllers=controllers)
    one = {"source": "chain-4", "flow": [{"transport": "failing"}], "controllers": controllers}
    with pytest.raises(multihop.RunError, match="simulated time"):
        multihop.run_all([one, one])


@pytest.mark.parametrize(
    ("name", "message"),
    [("cubic", "second protocol"), ("a+da", "plus sign"), ("", "plus sign")],
)
def test_a_name_must_be_free(name: str, message: str) -> None:
    with pytest.raises(multihop.ScenarioError, match=message):
        multihop.check("chain-4", controllers={name: NewReno})


def test_only_classes_of_congestion_controls_are_controllers() -> None:
    with pytest.raises(TypeError, match=r"builtins\.int|int"):
        multihop.check("chain-4", controllers={"mine": int})  # type: ignore[dict-item]


@pytest.mark.parametrize("interval", [-1.0, float("nan"), float("inf")])
def test_a_pacing_interval_is_positive(interval: float) -> None:
    class Wrong(multihop.CongestionControl):
        def on_ack(self, now: float, ack: multihop.Ack) -> None:
            self.pacing_interval = interval

    with pytest.raises(multihop.RunError, match="pacing_interval"):
        run(Wrong)


def test_windows_are_segments_between_their_bounds() -> None:
    window = multihop.Window(mss=500, initial=4)
    assert (window.cwnd, window.initial, window.mss) == (4.0, 4.0, 500)
    window.cwnd = 0.1
    window.ssthresh = 1.0
    assert (window.cwnd, window.ssthresh) == (1.0, 2.0)
    window.cwnd = 7.3
    window.cwnd = window.cwnd
    assert window.cwnd == 7.3
    with pytest.raises(ValueError, match="-1 segments"):
        window.cwnd = -1
    control = NewReno(window)
    control.on_loss(1.0, 7.0)
    assert window.total == pytest.approx(7.3 / 2 + 3, abs=0.01)


def test_another_version_is_another_run(tmp_path: Path) -> None:
    def runs(control: type[multihop.CongestionControl]) -> int:
        multihop.sweep(
            "chain-4",
            axes={"flow.*.transport": ["mine"]},
            seeds=1,
            duration=5.0,
            warmup=1.0,
            out=tmp_path,
            controllers={"mine": control},
        )
        return (tmp_path / "runs.jsonl").read_bytes().count(b"\n")

    first = type("First", (NewReno,), {"version": "1"})
    second = type("First", (NewReno,), {"version": "2"})
    assert [runs(first), runs(first), runs(second)] == [1, 1, 2]


def test_the_version_is_a_hash_of_the_source(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    versions = []
    for factor in (1, 2, 1):
        file.write_text(f"import multihop\nclass Mine(multihop.CongestionControl):\n    gain = {factor}\n")
        name, control = of_file(file)
        assert (name, control.__name__) == ("mine", "Mine")
        versions.append(version(control))
    assert versions[0] == versions[2] != versions[1]


def test_files_of_one_name_are_different_modules(tmp_path: Path) -> None:
    before = set(sys.modules)
    text = "import multihop\n\nclass Mine(multihop.CongestionControl):\n    pass\n"
    found = []
    for folder, more in (("a", ""), ("b", "# changed\n")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.py").write_text(text + more)
        found.append(of_file(tmp_path / folder / "mine.py")[1])
    assert version(found[0]) != version(found[1])
    (tmp_path / "none.py").write_text("number = 1\n")
    with pytest.raises(ValueError, match="defines no class"):
        of_file(tmp_path / "none.py")
    assert len(set(sys.modules) - before) == 2


def test_the_page_shows_programs_that_run(tmp_path: Path) -> None:
    commands = ""
    for block in BLOCK.finditer(PAGE.read_text("utf-8")):
        if block["title"]:
            (tmp_path / block["title"]).write_text(block["text"])
        elif block["kind"] == "sh":
            commands += block["text"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-c", commands],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^gentle +\d+\.\d kb/s$", done.stdout, re.MULTILINE), done.stdout
