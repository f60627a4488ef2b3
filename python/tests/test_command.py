"""The command and the demonstration, as a user starts them."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commands import COMMAND, close_output, interrupt_and_repeat, multihop_command
from scenarios import CHAIN_TOML

import multihop
from multihop import _cli, demo
from multihop.stats import Interval


@pytest.mark.parametrize("module", ["multihop", "multihop._cli"])
def test_neither_the_package_nor_its_command_imports_libraries_before_they_are_needed(module: str) -> None:
    code = f"import sys, {module}; print([name for name in {LIBRARIES} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_scenario_is_run_without_polars_and_matplotlib_if_its_result_stays_text() -> None:
    code = f"""
import sys
from multihop.scenario import Run, request
assert '"goodput_kbps"' in Run.of(request("chain-4", {{"duration": 30.0}})).perform()
print([name for name in {LIBRARIES} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['multihop._core']\n"


def test_without_the_experiments_the_command_says_how_to_get_them() -> None:
    code = """
import sys
class Hidden:
    def find_spec(name, path=None, target=None):
        if name == "multihop_papers":
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Hidden)
from multihop import _cli
sys.exit(_cli.main())
"""
    words = [sys.executable, "-c", code, "papers", "list"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"multihop papers: {_cli.NO_PAPERS}\n"
    assert "pip install 'multihop[papers]'" in done.stderr


def test_every_public_name_is_found_and_no_other() -> None:
    assert set(multihop.__all__) <= set(dir(multihop))
    for name in multihop.__all__:
        assert getattr(multihop, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'runs_all'"):
        _ = multihop.runs_all  # type: ignore[attr-defined]


def test_a_network_command_is_a_process_without_python() -> None:
    if os.geteuid() != 0 or shutil.which("unshare") is None or shutil.which("ip") is None:
        pytest.skip("a network namespace needs root, unshare (util-linux) and ip (iproute2)")
    words = ["unshare", "--net", "sh", "-c", ROUTE, str(COMMAND)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        try:
            assert said == "olsr over radio\n"
            folder = Path("/proc") / str(process.pid)
            assert (folder / "exe").resolve() == Path(_cli.COMMAND).resolve()
            mapped = (folder / "maps").read_text()
            assert not [name for name in ("python", *LIBRARIES) if f"{name}." in mapped]
            (resident,) = (
                line for line in (folder / "status").read_text().splitlines() if line.startswith("VmRSS")
            )
            if multihop.build_profile() == "release":
                assert int(resident.split()[1]) < 12_000, resident
        finally:
            process.terminate()
            process.communicate(timeout=60)


def test_a_station_of_an_emulation_can_be_entered(tmp_path: Path) -> None:
    file = tmp_path / "two.toml"
    file.write_text('duration = 600.0\n[topology]\nkind = "chain"\nhops = 1\n[mac]\narp = "queueing"\n')
    words: list[str | Path] = [COMMAND, "emulate", file, "--", "sh", "-c", "echo ready; exec sleep 600"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        try:
            if said != "ready\n":
                process.terminate()
                pytest.skip(f"this machine allows no emulation: {process.communicate()[1].strip()}")
            done = multihop_command("enter", "1", "--pid", str(process.pid), "--", "ip", "-brief", "address")
            assert done.returncode == 0, done.stderr
            assert "radio0" in done.stdout
            assert "10.0.0.2/" in done.stdout
        finally:
            process.terminate()
            process.communicate(timeout=60)


def test_run_prints_one_json_document(tmp_path: Path) -> None:
    file = tmp_path / "chain.toml"
    file.write_text(CHAIN_TOML)
    done = multihop_command("run", file, "--json", "--set", "topology.hops=3")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["flows"][0]["to"] == 3


def test_a_sweep_that_ctrl_c_ended_goes_on_where_it_was(tmp_path: Path) -> None:
    file = tmp_path / "chain.toml"
    slow = CHAIN_TOML.replace("duration = 6.0", "duration = 600.0")
    file.write_text(slow + '\n[sweep]\nseeds = 20\n"topology.hops" = [2, 3]\n')
    out = tmp_path / "out"
    interrupt_and_repeat(["sweep", str(file), "--jobs", "2"], out, out / "runs.jsonl", runs=40)


def test_a_bad_file_exits_with_2(tmp_path: Path) -> None:
    file = tmp_path / "chain.toml"
    file.write_text(CHAIN_TOML.replace("newreno", "newrino"))
    done = multihop_command("check", file)
    assert done.returncode == 2
    assert "newrino" in done.stderr
    assert done.stdout == ""


def test_no_arguments_explain_the_command() -> None:
    done = multihop_command()
    assert done.returncode == 2
    assert "Usage" in done.stderr


def test_the_demonstration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "demo.html"
    assert demo.main(["--out", str(page), "--seeds", "2", "--seconds", "30"]) == 0
    printed = capsys.readouterr().out
    for label in demo.LABELS.values():
        rows = re.findall(rf"^{re.escape(label)} +\d", printed, re.MULTILINE)
        assert len(rows) == 2, printed
    html = page.read_text()
    assert html.count('role="img"') == len(demo.NETWORKS) * len(demo.METRICS)
    assert printed.count("deliver") >= len(demo.NETWORKS)
    assert "Try next:" in printed
    assert "--seeds 2 --seconds 30" in html
    assert "src=" not in html


def of_transports(goodput: dict[str, float], delay: dict[str, float]) -> demo.Found:
    """Intervals of every transport; those that are not named have 100 kb/s and 100 ms."""
    values = {"goodput": goodput, "delay": delay}
    return {
        (name, metric): Interval(values.get(metric, {}).get(name, 100.0), 1.0, 2, 0.95)
        for name in demo.LABELS
        for metric in demo.METRICS
    }


def test_the_conclusion_names_transports_whose_intervals_overlap() -> None:
    found = of_transports({"mesh": 130.0, "tpa-2": 129.0}, {"tpa-2": 20.0})
    assert demo.conclusion(found) == (
        "TPA and mesh deliver most, 30% more than TCP NewReno. "
        "TPA has the least delay, 20% of TCP NewReno's, and delivers 129% as much."
    )
    found = of_transports({"newreno": 200.0}, {"mesh": 50.0})
    assert demo.conclusion(found) == (
        "TCP NewReno delivers most. mesh has the least delay, 50% of TCP NewReno's, and delivers 50% as much."
    )


def test_the_demonstration_wants_an_interval(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        demo.main(["--seeds", "1"])
    assert "at least 2" in capsys.readouterr().err


def test_a_reader_that_closes_the_pipe_ends_the_command_quietly() -> None:
    close_output(["schema"])


def test_an_example_is_run_by_its_name() -> None:
    assert multihop_command("example", "chain-4").stdout.startswith("# The usual benchmark")
    assert multihop.run("chain-4", duration=30).scenario == "chain-4"
    with pytest.raises(FileNotFoundError):
        multihop.run("chain-5")


LIBRARIES = ["matplotlib", "numpy", "polars", "rich", "tqdm", "multihop._core"]
"""Libraries that the package needs, and network commands do not."""
ROUTE = """
ip link add radio type veth peer name other && ip address add 10.9.0.1/24 dev radio || exit 1
ip link set radio up && ip link set other up && exec "$0" route radio
"""
"""Runs the routing daemon in a new network namespace."""
