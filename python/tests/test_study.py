"""The commands of docs/how-to/study.md, with shorter runs."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "study.md"
BLOCK = re.compile(
    r'^```(?P<kind>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^```$', re.DOTALL | re.MULTILINE
)
SHORTER = {"duration = 60.0": "duration = 12.0", "warmup = 10.0": "warmup = 4.0", "seeds = 10": "seeds = 2"}
COMBINATIONS = 4


def test_the_commands_of_the_study_give_its_table_csv_figure_capture_and_pages(tmp_path: Path) -> None:
    commands: list[str] = []
    for block in BLOCK.finditer(PAGE.read_text("utf-8")):
        text = block["text"]
        if block["title"] == "study.toml":
            assert text == (ROOT / "examples" / "study.toml").read_text(
                "utf-8"
            )  # of which the page shows the table
            for long, short in SHORTER.items():
                assert text.count(long) == 1
                text = text.replace(long, short)
        if block["title"]:
            (tmp_path / block["title"]).write_text(text)
        elif block["kind"] == "sh":
            commands += text.splitlines()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    printed = [
        subprocess.run(
            ["sh", "-c", command],
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for command in commands
    ]
    [table] = [out for out in printed if out.startswith("| flow.0.transport")]
    head = [name.strip() for name in table.splitlines()[0].strip("|").split("|")]
    assert {"goodput kb/s", "delivered", "delay ms"} <= {*head}
    assert len(table.splitlines()) == 2 + COMBINATIONS + 2
    rows = (tmp_path / "runs.csv").read_text().splitlines()
    assert len(rows) == 1 + 2 * COMBINATIONS
    assert {"flow.0.transport", "totals.delay_ms.mean", "totals.delivery_ratio"} <= {*rows[0].split(",")}
    assert "<svg" in (tmp_path / "delay.svg").read_text()
    assert "delivered segments / sent segments" in (tmp_path / "study.html").read_text("utf-8")
    assert re.fullmatch(r"--set flow\.0\.transport=\S+ --seed [12]\n", (tmp_path / "worst.txt").read_text())
    assert interfaces((tmp_path / "worst" / "packets.pcapng").read_bytes()) == 1
    page = (tmp_path / "worst" / "view.html").read_text("utf-8")
    assert '"name":"study.toml"' in page


def interfaces(capture: bytes) -> int:
    """How many interfaces a pcapng file describes."""
    count, place = 0, 0
    while place < len(capture):
        kind, length = (int.from_bytes(capture[at : at + 4], "little") for at in (place, place + 4))
        count += kind == 1
        place += length
    return count
