"""The tutorials with real programs: their commands are run as a reader types them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TUTORIALS = Path(__file__).parents[2] / "docs" / "tutorials"
BLOCK = re.compile(
    r'^```(?P<kind>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^```$', re.DOTALL | re.MULTILINE
)
OWN_NAMESPACES = ["unshare", "--mount", "--net"]
END = "trap 'kill $(jobs -pr) 2>/dev/null || true' EXIT\n"
"""Ends the daemons of a tutorial that fails: they hold its output open."""


def typed(name: str, folder: Path, before: str = "") -> str:
    """Write the files of a tutorial, type its commands, and return what they print."""
    commands = END + before
    for block in BLOCK.finditer((TUTORIALS / name).read_text("utf-8")):
        if block["title"]:
            (folder / block["title"]).write_text(block["text"])
        elif block["kind"] == "sh":
            commands += block["text"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [*OWN_NAMESPACES, "bash", "-e", "-c", commands],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def needs(*words: str) -> None:
    """Skip the test if a command does not work here."""
    try:
        subprocess.run(words, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as problem:
        pytest.skip(f"{' '.join(words)}: {problem}")


def test_a_program_is_tested_on_a_mesh(tmp_path: Path) -> None:
    needs(*OWN_NAMESPACES, "sh", "-c", "test -w /dev/net/tun")
    printed = typed("test-program.md", tmp_path)
    lines = [line for line in printed.splitlines() if re.search(r" after \d+\.\d s$", line)]
    assert len(lines) == 5 + 12, printed
    assert sum(line.startswith("50000 bytes") for line in lines) >= 5 + 8, printed
    assert "leaves.html: open it in a browser" in printed
    assert (tmp_path / "again" / "packets.pcapng").stat().st_size > 500_000


def test_four_hosts_find_routes_and_repair_them(tmp_path: Path) -> None:
    needs(*OWN_NAMESPACES, "ip", "link", "add", "type", "veth")
    needs("ping", "-V")
    printed = typed("mesh.md", tmp_path, "mount -t tmpfs none /run\n")
    answers = [match.start() for match in re.finditer("ttl=62", printed)]
    assert len(answers) == 3 + 1, printed
    steps = [
        answers[2],
        *(printed.index(text) for text in ("olsr for", "\nreceived\n", "no way to host4")),
        answers[3],
    ]
    assert steps == sorted(steps), printed
