import subprocess
import sys
from pathlib import Path

import multihop
import settings_types

WRONG = """import multihop
multihop.run(duration=5, topology={"kind": "chain", "hop": 2}, flow=[{"transport": "newrenoo"}])
multihop.run(duration=5, topology={"kind": "chain", "hops": 2}, flow=[{"transport": "newreno", "to": 2}])
multihop.run("chain-4", sed=3)
"""


def test_the_types_are_in_step_with_the_schema() -> None:
    assert settings_types.MODULE.read_text("utf-8") == settings_types.written(multihop.schema())


def test_every_key_of_the_root_has_a_type() -> None:
    from multihop.settings import Settings

    assert set(Settings.__annotations__) == set(multihop.schema()["properties"])


def test_mypy_finds_wrong_keys_and_values(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(WRONG)
    words = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache"), str(tmp_path / "wrong.py")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    found = [line.split(": error: ")[1] for line in done.stdout.splitlines() if ": error: " in line]
    assert len(found) == 3, done.stdout
    assert '"hop"' in found[0]
    assert '"transport"' in found[1]
    assert '"sed"' in found[2]
