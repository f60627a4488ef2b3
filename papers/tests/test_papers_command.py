"""The command `multihop papers`, as a user starts it."""

import ast
import json
import re
from pathlib import Path

from commands import close_output, interrupt_and_repeat, multihop_command

import multihop_papers


def test_experiments_that_ctrl_c_ended_go_on_where_they_were(tmp_path: Path) -> None:
    command = ["papers", "run", "elfn-chain", "--quick", "--looks", "1", "--jobs", "2"]
    interrupt_and_repeat(command, tmp_path, tmp_path / "quick" / "elfn-chain" / "runs.jsonl", runs=60)


def test_a_reader_that_closes_the_pipe_ends_the_list_quietly() -> None:
    close_output(["papers", "list"])


def test_quiet_and_verbose_may_stand_before_the_command(tmp_path: Path) -> None:
    command: list[str | Path] = ["papers", "run", "elfn-chain", "--looks", "1", "--json", "--out", tmp_path]
    loud = multihop_command("-v", *command)
    assert loud.returncode == 0, loud.stderr
    assert "elfn-chain: 1 of 60 runs" in loud.stderr
    silent = multihop_command(*command, "--quiet")
    assert (silent.stderr, json.loads(silent.stdout)["experiments"][0]["id"]) == ("", "elfn-chain")


def test_experiments_use_public_names_of_the_library_only() -> None:
    sources = sorted(Path(multihop_papers.__file__).parent.rglob("*.py"))
    private = [f"{path.name}: {name}" for path in sources for name in private_names(path.read_text("utf-8"))]
    assert (len(sources) > 100, private) == (True, [])


def test_private_names_of_the_library_are_found() -> None:
    text = "from multihop._core import run\nimport multihop._cli\nimport multihop\nmultihop.report._draw()\n"
    assert private_names(text) == ["multihop._core.run", "multihop._cli", "multihop.report._draw"]
    assert private_names("from multihop import run\nimport _thread\nself._draw()\nmultihop.__file__\n") == []


def private_names(text: str) -> list[str]:
    """Names with a leading underscore in the package `multihop` that a module imports or uses."""
    tree, names = ast.parse(text), []
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module)):
                names += [f"{module}.{alias.name}" for alias in node.names]
            case ast.Import():
                names += [alias.name for alias in node.names]
            case ast.Attribute():
                names.append(ast.unparse(node))
    return [name for name in names if re.match(r"multihop\..*(?<=\.)_(?!_)", name)]
