"""Starts the command as a user does, for tests of the library and of the experiments."""

import signal
import subprocess
import sys
import time
from pathlib import Path

COMMAND = Path(sys.executable).with_name("multihop")


def multihop_command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=False)


def interrupt_and_repeat(command: list[str], out: Path, journal: Path, *, runs: int) -> None:
    """Interrupt a command after two runs and repeat it; every run must be in the journal once."""
    words: list[str | Path] = [COMMAND, *command, "--out", out]
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
    assert 2 <= kept.count(b"\n") < runs
    done = multihop_command(*words[1:])
    assert done.returncode == 0, done.stderr
    whole = journal.read_bytes()
    assert whole.startswith(kept)
    assert whole.count(b"\n") == runs + (not kept.endswith(b"\n"))


def close_output(words: list[str]) -> None:
    """Close the pipe with a command's output while it writes; the command must end without a message."""
    with subprocess.Popen(
        [COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait() == 128 + signal.SIGPIPE
