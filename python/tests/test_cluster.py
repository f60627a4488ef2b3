"""A Dask cluster on this machine, started as anyone starts one."""

import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from scenarios import CHAIN_TOML

import multihop

BIN = Path(sys.executable).parent
SWEPT = (
    CHAIN_TOML.replace("duration = 6.0", "duration = 300.0")
    + '\n[sweep]\nseeds = 12\n"topology.hops" = [2, 3]\n"flow.*.transport" = ["newreno", "tcp-2"]\n'
)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"

    def start(*arguments: str) -> subprocess.Popen[bytes]:
        quiet = subprocess.DEVNULL
        return subprocess.Popen([BIN / "dask", *arguments], stdout=quiet, stderr=quiet, cwd=tmp_path)

    scheduler = start("scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
    workers = [start("worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard") for _ in range(2)]
    yield address, workers
    for process in (*workers, scheduler):
        process.kill()
        process.wait()


def wait_until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_results_do_not_depend_on_workers_and_survive_a_killed_one(
    tmp_path: Path, cluster: tuple[str, list[subprocess.Popen[bytes]]]
) -> None:
    address, workers = cluster
    file = tmp_path / "chain.toml"
    file.write_text(SWEPT)
    journal = tmp_path / "on" / "runs.jsonl"
    command: list[str | Path] = [BIN / "multihop", "sweep", file, "--on", address, "--out", tmp_path / "on"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as sweep:
        wait_until(lambda: journal.is_file() and journal.read_bytes().count(b"\n") >= 3)
        workers[0].kill()
        killed_at = journal.read_bytes().count(b"\n")
        assert sweep.wait(timeout=120) == 0
    assert killed_at < 48
    multihop.sweep(file, out=tmp_path / "here", jobs=2)
    for name in ("results.jsonl", "results.parquet", "flows.parquet"):
        assert (tmp_path / "on" / name).read_bytes() == (tmp_path / "here" / name).read_bytes()


def test_files_of_a_scenario_are_sent_to_the_workers(
    tmp_path: Path, cluster: tuple[str, list[subprocess.Popen[bytes]]]
) -> None:
    address, _ = cluster
    (tmp_path / "places.csv").write_text("x,y\n0,0\n200,0\n400,0\n")
    file = tmp_path / "chain.toml"
    positions = CHAIN_TOML.replace('kind = "chain"\nhops = 2', 'kind = "file"\nfile = "places.csv"')
    file.write_text(positions.replace("[[flow]]", "[[flow]]\nfrom = 0\nto = 2") + "\n[sweep]\nseeds = 2\n")
    there, here = multihop.sweep(file, on=address), multihop.sweep(file)
    assert there.runs.equals(here.runs)


def test_a_missing_scheduler_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "chain.toml"
    file.write_text(SWEPT)
    command: list[str | Path] = [BIN / "multihop", "sweep", file, "--on", "tcp://127.0.0.1:1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "no Dask scheduler answers at tcp://127.0.0.1:1" in done.stderr
