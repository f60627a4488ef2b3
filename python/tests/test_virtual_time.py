"""Virtual time: programs whose results are the same in each run, on any machine."""

import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from test_lab import needs

from multihop.lab import Lab, LabError, Net, ProgramError, UnavailableError

SERVER = """
import asyncio

async def serve(reader, writer):
    while data := await reader.read(65536):
        await asyncio.sleep(0.002)
        writer.write(data)
        await writer.drain()
    writer.close()

async def main():
    async with await asyncio.start_server(serve, "0.0.0.0", 7000) as server:
        await server.serve_forever()

asyncio.run(main())
"""
CLIENT = """
import asyncio, time

async def client(size):
    reader, writer = await asyncio.open_connection("node2", 7000)
    begin = time.monotonic()
    for _ in range(5):
        writer.write(bytes(size))
        await asyncio.wait_for(reader.readexactly(size), 5)
        await asyncio.sleep(0.01)
    writer.close()
    await writer.wait_closed()
    return size, time.monotonic() - begin

async def main():
    print(await asyncio.gather(*(client(700 * n) for n in range(1, 5))))

asyncio.run(main())
"""
UNLOCKING = """
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, begun = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;
static void unlock(void *mutex) { pthread_mutex_unlock(mutex); }
static void *locks(void *unused) {
    pthread_setspecific(key, &mutex);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&begun);
    usleep(1000);
    return unused;
}
static void *nothing(void *unused) { return unused; }
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, nothing, NULL);
    pthread_join(thread, NULL);
    pthread_key_create(&key, unlock);
    pthread_mutex_lock(&begun);
    pthread_create(&thread, NULL, locks, NULL);
    pthread_mutex_lock(&begun);
    pthread_mutex_lock(&mutex);
    pthread_join(thread, NULL);
    puts("unlocked");
    return 0;
}
"""
Story = Callable[[Net, Path], str]


@pytest.fixture(scope="module")
def possible() -> None:
    """Skip tests on machines that allow no emulations, or on which this package has no virtual time."""
    try:
        Lab(virtual_time=True).chain(hops=1).close()
    except UnavailableError as error:
        pytest.skip(str(error))
    except LabError as error:
        if "built without virtual time" not in str(error):
            raise
        pytest.skip(str(error))


@contextmanager
def busy_machine() -> Iterator[None]:
    """Keep all processors busy with twice as many processes."""
    spinning = [multiprocessing.Process(target=spin, daemon=True) for _ in range(2 * (os.cpu_count() or 1))]
    for process in spinning:
        process.start()
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.join()


def spin() -> None:
    while True:
        pass


def iperf3(net: Net, _: Path) -> str:
    server = net[2].start("iperf3 -s -1", listens=5201)
    said = net[0].run("iperf3 -c {2} -t 5", timeout=60)
    assert server.wait(timeout=60) == 0
    assert "receiver" in said
    return said + server.output()


def iperf3_datagrams(net: Net, _: Path) -> str:
    net[2].start("iperf3 -s -1", listens=5201)
    return net[0].run("iperf3 -c {2} -u -b 300K -t 3", timeout=60)


def curl(net: Net, folder: Path) -> str:
    (folder / "file").write_bytes(bytes(200_000))
    net[2].start([sys.executable, "-m", "http.server", "8000"], directory=folder, listens=8000)
    shown = "%{http_code} %{size_download} %{time_connect} %{time_total}\\n"
    return net[0].run(f"curl -s -o /dev/null -w '{shown}' http://node2:8000/file", timeout=60)


def asyncio_programs(net: Net, folder: Path) -> str:
    for name, text in (("server.py", SERVER), ("client.py", CLIENT)):
        (folder / name).write_text(text)
    net[2].start([sys.executable, "server.py"], directory=folder, listens=7000)
    return net[0].run([sys.executable, "client.py"], directory=folder, timeout=60)


def told(story: Story, folder: Path) -> tuple[str, float]:
    folder.mkdir()
    with Lab(virtual_time=True).chain(hops=2, phy="802.11g") as net:
        return story(net, folder), net.time()


@pytest.mark.usefixtures("possible")
@pytest.mark.parametrize(
    ("story", "programs"),
    [
        (iperf3, ["iperf3"]),
        (iperf3_datagrams, ["iperf3"]),
        (curl, ["curl"]),
        (asyncio_programs, []),
    ],
)
def test_a_busy_machine_gives_the_same_result(story: Story, programs: list[str], tmp_path: Path) -> None:
    needs(*programs)
    idle = told(story, tmp_path / "idle")
    with busy_machine():
        assert told(story, tmp_path / "busy") == idle


@pytest.mark.usefixtures("possible")
def test_programs_see_virtual_time_only() -> None:
    with Lab(virtual_time=True).chain(hops=1) as net:
        assert net[0].run("date +%s; sleep 1000; date +%s", timeout=2000) == "1735689600\n1735690600\n"
        assert net.time() == 1000.0
        loop = (
            "import time; a = time.time()\nwhile time.time() < a + 0.5: pass\nprint(time.time() >= a + 0.5)"
        )
        assert net[0].run([sys.executable, "-c", loop]) == "True\n"
        with pytest.raises(ProgramError, match="has not ended after 5 s"):
            net[0].run("sleep 10", timeout=5)


@pytest.mark.usefixtures("possible")
def test_children_pipes_signals_and_threads() -> None:
    threads = (
        "import threading, time, queue, subprocess, signal\n"
        "q = queue.Queue()\n"
        "t = threading.Thread(target=lambda: (time.sleep(1), q.put(time.monotonic())))\n"
        "a = time.monotonic(); t.start(); b = q.get(); t.join()\n"
        "subprocess.run(['sleep', '2'], check=True)\n"
        "signal.alarm(3)\n"
        "signal.signal(signal.SIGALRM, lambda *_: print('alarm', round(time.monotonic() - a, 3)))\n"
        "time.sleep(5)\n"
        "print(round(b - a, 3), round(time.monotonic() - a, 3))\n"
    )
    with Lab(virtual_time=True).chain(hops=1) as net:
        assert net[0].run([sys.executable, "-c", threads]) == "alarm 6.0\n1.0 8.0\n"
        assert (
            net[0].run("(sleep 1; echo late) | cat; (sleep 3; echo no) & kill $!; wait; echo end")
            == "late\nend\n"
        )
        stubborn = net[0].start("trap 'echo ended; exit 3' TERM; while :; do sleep 1; done")
        assert net[1].start("sleep 5").wait() == 0
        stubborn.terminate()
        assert stubborn.wait(timeout=10) == 3
        assert stubborn.output() == "ended\n"


@pytest.mark.usefixtures("possible")
def test_connections_are_refused_reset_and_time_out() -> None:
    program = (
        "import socket, time\n"
        "def tried(port, host='node1'):\n"
        "    begin = time.monotonic()\n"
        "    try:\n"
        "        socket.create_connection((host, port), timeout=4).recv(1)\n"
        "    except OSError as error:\n"
        "        print(type(error).__name__, time.monotonic() - begin < 1)\n"
        "tried(9)\n"
        "tried(9, '127.0.0.1')\n"
        "tried(9, '10.0.0.77')\n"
    )
    with Lab(virtual_time=True).chain(hops=1) as net:
        found = net[0].run([sys.executable, "-c", program]).splitlines()
    assert found == ["ConnectionRefusedError True", "ConnectionRefusedError True", "TimeoutError False"]


@pytest.mark.usefixtures("possible")
def test_a_socket_with_unread_datagrams_closes_and_a_refused_one_cannot_connect_again() -> None:
    program = (
        "import socket, time\n"
        "a = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); a.bind(('127.0.0.1', 7))\n"
        "a.sendto(b'x', ('127.0.0.1', 7)); time.sleep(1); a.close()\n"
        "b = socket.socket()\n"
        "for _ in range(2):\n"
        "    try: b.connect(('node1', 9))\n"
        "    except OSError as error: print(type(error).__name__)\n"
    )
    with Lab(virtual_time=True).chain(hops=1) as net:
        found = net[0].run([sys.executable, "-c", program]).splitlines()
    assert found == ["ConnectionRefusedError", "ConnectionAbortedError"]


@pytest.mark.usefixtures("possible")
def test_a_daemon_takes_its_alarm_in_virtual_time(tmp_path: Path) -> None:
    program = (
        "import ctypes, signal, time; begin = time.monotonic(); ctypes.CDLL(None).daemon(1, 0)\n"
        "def ring(*_): open('passed', 'w').write(f'{time.monotonic() - begin:.3f}')\n"
        "signal.signal(signal.SIGALRM, ring); signal.alarm(50); time.sleep(100)\n"
    )
    with Lab(virtual_time=True).chain(hops=1) as net:
        net[0].run([sys.executable, "-c", program], directory=tmp_path)
        net[1].run("sleep 101", timeout=200)
    assert (tmp_path / "passed").read_text() == "50.000"


@pytest.mark.usefixtures("possible")
def test_a_thread_that_ends_unlocks_a_mutex(tmp_path: Path) -> None:
    needs("cc")
    (tmp_path / "program.c").write_text(UNLOCKING)
    subprocess.run(["cc", "-pthread", "-o", "program", "program.c"], cwd=tmp_path, check=True)
    with Lab(virtual_time=True).chain(hops=1) as net:
        assert net[0].run(["./program"], directory=tmp_path) == "unlocked\n"


@pytest.mark.usefixtures("possible")
@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("ping -c 1 {1}", r"found (socket\(\) other than TCP and UDP|no library of virtual time)"),
        ("/sbin/ldconfig -p", "found no library of virtual time"),
        (
            'python3 -c \'import os; os.posix_spawn("/sbin/ldconfig", ["ldconfig"], os.environ); os.wait()\'',
            "found no library of virtual time.*ldconfig",
        ),
        ("python3 -c 'import pty; pty.fork()'", r"found forkpty\(\)"),
    ],
)
def test_programs_that_cannot_run_end_the_emulation(command: str, message: str) -> None:
    needs(command.split()[0])

    def wrong() -> None:
        with Lab(virtual_time=True).chain(hops=1) as net:
            net[0].run(command)

    with pytest.raises(LabError, match=message):
        wrong()


@pytest.mark.usefixtures("possible")
@pytest.mark.parametrize("command", ["sleep MARKER & sleep MARKER", "yes MARKER | cat > /dev/null"])
def test_nothing_is_left_of_a_python_process_that_is_killed(command: str, tmp_path: Path) -> None:
    marker = f"98{os.getpid()}"
    command = command.replace("MARKER", marker)
    code = f"""
from multihop import lab
net = lab.chain(hops=1, virtual_time=True)
for node in net.nodes:
    node.start({command!r})
input()
"""
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path), "TMPDIR": str(tmp_path)}
    words = [sys.executable, "-c", code]
    with subprocess.Popen(words, env=environment, stdin=subprocess.PIPE) as process:
        while not any(f": {command.split()[0]}\0" in found for found in processes(marker)):
            assert process.poll() is None
            time.sleep(0.02)
        process.kill()
    end = time.monotonic() + 60
    while left := [*processes(marker), *(path for path in tmp_path.rglob("*") if path.is_file())]:
        assert time.monotonic() < end, left
        time.sleep(0.02)


def processes(marker: str) -> list[str]:
    """Processes whose command line has a text."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            line = (folder / "cmdline").read_bytes().decode(errors="replace")
            if marker in line and int(folder.name) != os.getpid():
                found.append(f"{folder.name}: {line}")
    return found
