"""Networks of real programs in tests: `multihop.lab` and its plugin of pytest."""

import importlib.metadata
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from shutil import which
from threading import Thread

import pytest

from multihop import lab
from multihop._cli import COMMAND
from multihop.frames import frames
from multihop.lab import Lab, LabError, NotValidError, ProgramError, UnavailableError

NO_LIMIT = float("inf")


@pytest.fixture(scope="module")
def possible() -> None:
    """Skip tests on machines that allow no emulations."""
    try:
        Lab(late_limit=NO_LIMIT).chain(hops=1).close()
    except UnavailableError as error:
        pytest.skip(str(error))


@pytest.fixture
def nets(request: pytest.FixtureRequest, tmp_path: Path) -> Lab:
    """Networks whose tests hold on busy machines: what they expect does not depend on lateness."""
    request.getfixturevalue("possible")
    return Lab(late_limit=NO_LIMIT, folder=tmp_path)


def needs(*programs: str) -> None:
    missing = [program for program in programs if which(program) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")


def test_reconnects(nets: Lab) -> None:
    needs("iperf3", "ping")
    with nets.chain(hops=4, phy="802.11g") as net:
        server = net[4].start("iperf3 -s -1", listens=5201)
        assert "receiver" in net[0].run("iperf3 -c {4} -t 2", timeout=30)
        assert server.wait(timeout=20) == 0
        net.cut(2, 3)
        assert net[0].start("ping -c 1 -W 1 {4}").wait(timeout=20) != 0
        net.mend(2, 3)
        net.lossy(0.2)
        before = net.air.retries(1)
        net[0].run("ping -c 20 -i 0.05 node4", timeout=30)
        assert net.air.retries(1) > before
        assert net.air.retries(1) == net.air.retries(1, to=0) + net.air.retries(1, to="node2")
        assert net.queue(0).max() >= 1
        assert net.queue(0).now() <= net.queue(0).max()
    assert net.result is not None
    assert net.result["programs"][0]["exit_code"] == 0


def test_nodes_move_freeze_and_go_on(nets: Lab) -> None:
    needs("ping")
    with nets.grid(2, 2, routing={"protocol": "olsr"}) as net:
        assert len(net) == 4
        pings = "for n in 1 2 3 4 5 6 7 8 9 10; do ping -c 1 -W 1 {3} && exit; sleep 0.5; done; exit 1"
        net["node0"].run(pings, timeout=60)
        net.freeze(3)
        assert net[0].start("ping -c 2 -i 0.2 -W 1 {3}").wait(20) != 0
        net.thaw(3)
        net[0].run(pings, timeout=60)
        net.move(3, to=(9000, 0))
        assert net[0].start("ping -c 2 -i 0.2 -W 1 {3}").wait(20) != 0


def test_ipv6_and_captures(nets: Lab, tmp_path: Path) -> None:
    needs("ping")
    with nets.scenario({"duration": 60.0, "topology": {"kind": "chain", "hops": 1}}) as net:
        first = net.capture()
        net[0].run(["ping", "-c", "1", "{1:6}"], timeout=20)
        net[0].run("ping -c 1 ip6-node1", timeout=20)
        assert net[1].address6 == "fd00::2"
        assert net.time() > 0
    assert first == tmp_path / "capture-0.pcapng"
    table = frames(first)
    sent = table.filter(kind="data", node="node0", received=False)
    assert sent["from"].unique().to_list() == ["02:00:00:00:00:00"]
    assert table.filter(kind="ack", node="node1", received=False)["bytes"].unique().to_list() == [14]
    assert all(signal < -20 for signal in table.filter(received=True)["signal_dbm"])
    assert table.filter(received=False)["signal_dbm"].null_count() == table.filter(received=False).height
    assert table["time"].is_sorted()
    # The end of a file that is being written is left out.
    part = tmp_path / "part.pcapng"
    part.write_bytes(first.read_bytes()[:-30])
    assert frames(part).height == table.height - 1
    part.write_bytes(b"text")
    with pytest.raises(ValueError, match="allowed: a capture of multihop"):
        frames(part)


def test_a_program_that_fails_shows_its_last_lines(nets: Lab) -> None:
    with nets.chain(hops=1) as net:
        with pytest.raises(
            ProgramError, match=r"ended with exit code 3; its last lines:\n(.*\n)*line 30\nbad$"
        ):
            net[0].run("seq -f 'line %g' 30; echo bad >&2; exit 3")
        with pytest.raises(ProgramError, match=r"has not ended after 0\.3 s; its last lines:\nstarted"):
            net[1].run("echo started; sleep 60", timeout=0.3)
        with pytest.raises(ProgramError, match="ended before port 9 was open; its last lines:\nno"):
            net[1].start("echo no", listens=9)
        assert net[1].run("echo $NAME {0} {9} ${NAME}", environment={"NAME": "x"}) == "x 10.0.0.1 {9} x\n"
        program = net[1].start("trap 'echo asked; exit 0' TERM; echo ready; while :; do sleep 0.05; done")
        while not program.output():
            time.sleep(0.01)
        program.terminate()
        assert program.wait(20) == 0
        assert program.output() == "ready\nasked\n"
        # As root, a program can kill all others of its process namespace: the next one still starts.
        net[1].start("kill -9 -1").wait(20)
        killed = net[0].start("sleep 60")
        net.kill(killed)
        assert killed.wait(20) == -signal.SIGKILL


def serve(port: int) -> None:
    with socket.create_server(("", port)) as server:
        connection, peer = server.accept()
        connection.sendall(peer[0].encode())
        connection.close()


def ask(address: str, port: int) -> None:
    with socket.create_connection((address, port), 20) as connection:
        print(connection.recv(99).decode())


def test_functions_run_at_nodes(nets: Lab) -> None:
    with nets.chain(hops=2) as net:
        server = net[2].start(partial(serve, 7000), listens=7000)
        assert net[0].run(partial(ask, net[2].address, 7000), timeout=30) == "10.0.0.1\n"
        assert server.wait(20) == 0
        with pytest.raises(ProgramError, match=r"ask.*at node0 ended with exit code 1(.*\n)*.*refused"):
            net[0].run(partial(ask, net[0].address, 7000), timeout=30)
        with pytest.raises(LabError, match="allowed: a function at the top of a module"):
            net[0].start(lambda: None)


def test_wrong_requests_name_what_is_allowed(nets: Lab) -> None:
    with nets.chain(hops=1) as net:
        wrong: list[tuple[Callable[[], object], str]] = [
            (lambda: net.cut(0, 7), "allowed: 0 to 1, or a name: node0, node1"),
            (lambda: net[7], "found node 7, allowed: 0 to 1"),
            (lambda: net.lossy(7), "found a chance of 7, allowed: 0 to 1"),
            (lambda: net.ask("fly"), 'found "fly", allowed: start, wait'),
        ]
        for request, message in wrong:
            with pytest.raises(LabError, match=message):
                request()
    with pytest.raises(LabError, match="ended"):
        net.cut(0, 1)
    with pytest.raises(LabError, match="topology"):
        nets.scenario({"duration": 1.0, "topology": {"kind": "ring"}})


def test_networks_run_side_by_side(nets: Lab) -> None:
    def work(n: int) -> None:
        with nets.chain(hops=1) as net:
            found.append(net[1].run(f"echo {n}; sleep 0.2; echo {{1}}"))

    found: list[str] = []
    threads = [Thread(target=work, args=[n]) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [f"{n}\n10.0.0.2\n" for n in range(4)]


@pytest.mark.usefixtures("possible")
def test_an_emulation_that_is_late_is_not_valid() -> None:
    def wrong() -> None:
        with Lab(late_limit=1e-9).chain(hops=1) as net:
            net[0].run("ping -c 3 -i 0.01 {1}")
            raise AssertionError("a wrong number")

    needs("ping")
    with pytest.raises(NotValidError, match=r"99% of the events were up to [\d.]+ ms late") as caught:
        wrong()
    assert isinstance(caught.value.__cause__, AssertionError)


def test_a_machine_that_forbids_it_is_told_what_to_allow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = tmp_path / "multihop"
    command.write_text(
        "#!/bin/sh\necho 'multihop: cannot become root of a user namespace (allow it)' >&2; exit 1\n"
    )
    command.chmod(0o755)
    monkeypatch.setenv("MULTIHOP", str(command))
    with pytest.raises(
        UnavailableError, match=r"^this machine allows no emulation: cannot become root .*allow it"
    ):
        lab.scenario({})
    monkeypatch.setenv("MULTIHOP", "/no/such/command")
    with pytest.raises(LabError, match=r"/no/such/command: No such file .*; set MULTIHOP to the path"):
        lab.scenario({})


@pytest.mark.usefixtures("possible")
@pytest.mark.parametrize(("check", "times"), [("kills", "8"), ("parallel", "8"), ("replay", "3")])
def test_networks_leave_nothing_run_side_by_side_and_are_replayed(check: str, times: str) -> None:
    needs("iperf3", "ping")
    tool = Path(__file__).parents[2] / "tools" / "lab_checks.py"
    words = [sys.executable, str(tool), check, f"--times={times}", "--late=inf"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


TESTS = """
import pytest

def test_good(mesh_lab):
    with mesh_lab.chain(hops=1) as net:
        assert net[0].run("echo {1}") == "10.0.0.2\\n"

@pytest.mark.parametrize("hops", [1])
def test_bad(mesh_lab, hops):
    with mesh_lab.chain(hops) as net:
        net[0].run("ping -c 1 {1}")
        assert net.capture().parent == mesh_lab.folder
        assert hops == 2

def test_open(mesh_lab):
    mesh_lab.chain(hops=1)
"""


def pytest_run(folder: Path, *arguments: str, tests: str = TESTS) -> list[str]:
    (folder / "test_mesh.py").write_text(tests)
    words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments, "test_mesh.py"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    if not importlib.metadata.entry_points(group="pytest11", name="multihop"):
        words[5:5] = ["-p", "multihop.pytest_plugin"]
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).splitlines()


@pytest.mark.usefixtures("possible")
def test_the_first_lines_of_the_documentation(tmp_path: Path) -> None:
    needs("iperf3", "ping")
    page = Path(__file__).parents[2] / "docs" / "how-to" / "test-on-mesh.md"
    example = page.read_text().split("```python\n")[1].split("```")[0]
    assert example.startswith("def test_reconnects(mesh_lab):")
    lines = pytest_run(tmp_path, "--multihop-late=inf", tests=example)
    assert any("1 passed" in line for line in lines), "\n".join(lines)


@pytest.mark.usefixtures("possible")
def test_the_lines_for_ci_run_the_first_lines_of_the_documentation(tmp_path: Path) -> None:
    needs("iperf3", "ping")
    pages = Path(__file__).parents[2] / "docs" / "how-to"
    example = (pages / "test-on-mesh.md").read_text().split("```python\n")[1].split("```")[0]
    github, gitlab = (pages / "lab-in-ci.md").read_text().split("```yaml\n")[1:]
    for file in (github, gitlab):
        (words,) = re.findall(r"- (?:run: )?pytest (.*)", file.split("```")[0])
        lines = pytest_run(tmp_path, *words.split(), "--multihop-late=inf", tests=example)
        assert any("1 passed" in line for line in lines), "\n".join(lines)


@pytest.mark.usefixtures("possible")
def test_the_first_lines_about_recordings(tmp_path: Path) -> None:
    needs("ping")
    pages = Path(__file__).parents[2] / "docs" / "how-to"
    scenario = (pages / "run-programs.md").read_text().split('title="five.toml"\n')[1].split("```")[0]
    (tmp_path / "five.toml").write_text(scenario.replace("iperf3 -s", "sleep 60"))
    program = tmp_path / "my-program"
    program.write_text("#!/bin/sh\nexec ping -c 3 -i 0.2 node5\n")
    program.chmod(0o755)
    lines = (pages / "record-replay.md").read_text().split("```sh\n")[1].split("```")[0]
    lines = lines.replace("multihop ", f"{shlex.quote(os.environ.get('MULTIHOP', COMMAND))} ")
    subprocess.run(["sh", "-e", "-c", lines], cwd=tmp_path, check=True, capture_output=True)
    table = frames(tmp_path / "again" / "packets.pcapng")
    # Each of five hops carries three requests and three replies.
    assert table.filter(kind="data", received=False, bytes=120).height >= 30


@pytest.mark.usefixtures("possible")
def test_a_failed_test_leaves_a_recording(tmp_path: Path) -> None:
    lines = pytest_run(tmp_path, "--multihop-record=out", "--multihop-late=inf")
    assert "multihop view out/test_mesh.py-test_bad-1-0.rec" in lines, "\n".join(lines)
    assert any("1 failed, 2 passed" in line for line in lines), "\n".join(lines)
    (recording,) = (tmp_path / "out").iterdir()
    # The page of the recording shows the name.
    name = b'["name","test_mesh.py::test_bad[1]'
    assert recording.read_bytes().startswith(b"multihop recording ")
    assert name in recording.read_bytes()


@pytest.mark.usefixtures("possible")
def test_tests_of_a_late_emulation_fail_as_not_valid(tmp_path: Path) -> None:
    lines = pytest_run(tmp_path, "--multihop-late=1e-6", "-k", "bad")
    text = "\n".join(lines)
    assert "not valid: the emulation was too late for real time: 99% of the events were up to" in text
    assert "allowed: 1e-06 ms" in text
