"""The command and the demonstration, as a user starts them."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from scenarios import CHAIN_TOML

import multihop
from multihop import demo

COMMAND = Path(sys.executable).with_name("multihop")


def multihop_command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=False)


def test_run_prints_one_json_document(tmp_path: Path) -> None:
    file = tmp_path / "chain.toml"
    file.write_text(CHAIN_TOML)
    done = multihop_command("run", file, "--json", "--set", "topology.hops=3")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["flows"][0]["to"] == 3


@pytest.mark.parametrize(
    "command",
    [["sweep", "--jobs", "2"], ["papers", "run", "elfn-chain", "--quick", "--looks", "1", "--jobs", "2"]],
)
def test_what_ctrl_c_ended_goes_on_where_it_was(tmp_path: Path, command: list[str]) -> None:
    file = tmp_path / "chain.toml"
    slow = CHAIN_TOML.replace("duration = 6.0", "duration = 600.0")
    file.write_text(slow + '\n[sweep]\nseeds = 20\n"topology.hops" = [2, 3]\n')
    out = tmp_path / "out"
    journal = out / "runs.jsonl" if command[0] == "sweep" else out / "quick" / "elfn-chain" / "runs.jsonl"
    where = [str(file)] if command[0] == "sweep" else []
    words: list[str | Path] = [COMMAND, *command, *where, "--out", out]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        end = time.monotonic() + 60
        while not (journal.is_file() and journal.read_bytes().count(b"\n") >= 2):
            assert time.monotonic() < end
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        said = process.stderr.read()
        assert process.wait(timeout=20) == 128 + signal.SIGINT
    assert f"kept in {out}; the same command goes on with the rest" in said
    kept = journal.read_bytes()
    runs = 40 if command[0] == "sweep" else 60
    assert 2 <= kept.count(b"\n") < runs
    done = multihop_command(*words[1:])
    assert done.returncode == 0, done.stderr
    whole = journal.read_bytes()
    assert whole.startswith(kept)
    assert whole.count(b"\n") == runs + (not kept.endswith(b"\n"))


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
        assert printed.count(f"\n{label} ") == 2, printed
    html = page.read_text()
    # Goodput and retransmissions over both layouts, fairness over 2 s where there are two flows.
    assert html.count('role="img"') == 5
    assert "--seeds 2 --seconds 30" in html
    assert "src=" not in html


def test_the_demonstration_wants_an_interval(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        demo.main(["--seeds", "1"])
    assert "at least 2" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["papers", "list"], ["schema"]])
def test_a_reader_that_closes_the_pipe_ends_the_command_quietly(words: list[str]) -> None:
    with subprocess.Popen(
        [COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait() == 128 + signal.SIGPIPE


def test_quiet_and_verbose_may_stand_before_the_command(tmp_path: Path) -> None:
    command: list[str | Path] = ["papers", "run", "elfn-chain", "--looks", "1", "--json", "--out", tmp_path]
    loud = multihop_command("-v", *command)
    assert loud.returncode == 0, loud.stderr
    assert "elfn-chain: 1 of 60 runs" in loud.stderr
    silent = multihop_command(*command, "--quiet")
    assert (silent.stderr, json.loads(silent.stdout)["experiments"][0]["id"]) == ("", "elfn-chain")


def test_an_example_is_run_by_its_name() -> None:
    assert multihop_command("example", "chain-4").stdout.startswith("# The usual benchmark")
    assert multihop.run("chain-4", duration=30).scenario == "chain-4"
    with pytest.raises(FileNotFoundError):
        multihop.run("chain-5")
