"""Plugin of pytest: the fixture `mesh_lab`, and recordings of failed tests."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from multihop.lab import Lab

_FAILED = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the emulations."""
    group = parser.getgroup("multihop", "emulated radio networks (multihop.lab)")
    group.addoption(
        "--multihop-record",
        metavar="DIR",
        type=Path,
        help="keep a recording of the networks of each failed test in this folder, for multihop view",
    )
    group.addoption(
        "--multihop-late",
        metavar="MS",
        type=float,
        default=1e3 * Lab.late_limit,
        help="fail as not valid if more than 1%% of the events or packets are later, or of the time "
        "is lost (default: %(default)g)",
    )
    group.addoption(
        "--multihop-virtual-time",
        action="store_true",
        help="advance time only while all programs wait: the same results in each run, on any machine",
    )


@pytest.hookimpl(hookwrapper=True)  # pytest 7 has no other kind of wrapper
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """Note whether a test has failed."""
    outcome = yield
    item.stash[_FAILED] = item.stash.get(_FAILED, False) or outcome.get_result().failed


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show how to view the recordings of failed tests."""
    reports = [report for list_ in terminalreporter.stats.values() for report in list_]
    found = [
        path
        for report in reports
        if getattr(report, "when", None) == "teardown"
        for name, path in report.user_properties
        if name == PROPERTY
    ]
    if found:
        terminalreporter.section("recordings of failed tests")
        for path in sorted(found):
            terminalreporter.write_line(f"multihop view {path}")


@pytest.fixture
def mesh_lab(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Lab]:
    """Makes emulated networks: `mesh_lab.chain(hops=4)`, `mesh_lab.grid(3, 3)`, `mesh_lab.scenario(FILE)`."""
    lab = Lab(
        late_limit=1e-3 * request.config.getoption("--multihop-late"),
        virtual_time=request.config.getoption("--multihop-virtual-time"),
        folder=tmp_path,
    )
    folder: Path | None = request.config.getoption("--multihop-record")
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        lab.record = folder / re.sub(r"[^\w.-]+", "-", request.node.nodeid).strip("-")
        commit = _commit(request.config.rootpath)
        lab.name = request.node.nodeid + (f", commit {commit}" if commit else "")
    yield lab
    try:
        for net in lab.nets:
            net.close()
    except Exception:
        request.node.stash[_FAILED] = True
        raise
    finally:
        _keep(request.node, lab.recordings)


def _commit(folder: Path) -> str | None:
    """Commit of the tested project, with `-dirty` if files differ from it; None without git."""
    words = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--exclude=*", "--abbrev=12"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None


def _keep(item: pytest.Item, recordings: list[Path]) -> None:
    """Note the recordings of a failed test for the summary; delete those of others."""
    if item.stash.get(_FAILED, False):
        item.user_properties += [(PROPERTY, str(path)) for path in recordings if path.exists()]
    else:
        for path in recordings:
            path.unlink(missing_ok=True)


PROPERTY = "multihop-recording"
"""Name under which the report of a test has the path of a recording; also in JUnit files."""
