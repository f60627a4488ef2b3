import os
import pty
import struct
import subprocess
import sys
import termios
from fcntl import ioctl

from multihop import tables

SCRIPT = """
import polars as pl
from multihop.tables import show
show(pl.DataFrame({"hops": ["1", "2"], "goodput": ["1267.8 ± 4.8", "[b]"], "paper": ["12", ""]}), indent=2)
"""
WHOLE = """\
  hops  goodput       paper
  1     1267.8 ± 4.8  12
  2     [b]
"""


def printed(columns: int) -> str:
    """Output of the script on a terminal of this width."""
    main, end = pty.openpty()
    ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {**os.environ, "TERM": "xterm"}
    environment.pop("COLUMNS", None)
    subprocess.run([sys.executable, "-c", SCRIPT], stdout=end, stdin=end, env=environment, check=True)
    os.close(end)
    text = os.read(main, 10_000).decode()
    os.close(main)
    return text.replace("\r\n", "\n")


def test_a_file_gets_every_column_however_wide() -> None:
    environment = {**os.environ, "COLUMNS": "20"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=environment, check=True
    )
    assert done.stdout == WHOLE


def test_a_narrow_terminal_gets_fewer_and_is_told() -> None:
    assert printed(27) == WHOLE
    narrow = printed(26)
    assert narrow.startswith("  hops  goodput\n  1     1267.8 ± 4.8\n")
    assert narrow.endswith("\n  columns that do not fit: paper\n")
    assert printed(10).startswith("  hops\n")


def test_a_sentence_is_broken_between_words() -> None:
    text = "not held: 3 hops: TPA delivers more than TCP (+6.5%)"
    assert tables.broken(text, 80, 2) == f"  {text}"
    assert tables.broken(text, 30, 2).splitlines() == [
        "  not held: 3 hops: TPA",
        "    delivers more than TCP",
        "    (+6.5%)",
    ]
