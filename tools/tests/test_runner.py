"""The final counts of `make test`."""

from pathlib import Path

import test as runner

CARGO = """\
running 4 tests
test timers::fires_once ... ok
test trace::read_by_tshark ... ok
test slow ... ignored, takes an hour
test broken ... FAILED

successes:

---- trace::read_by_tshark stdout ----
skipped: tshark is missing
skipped: so is text2pcap

test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s

running 1 test
test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
"""

PYTEST = """\
<testsuites><testsuite>
<testcase name="fine"/>
<testcase name="wrong"><failure message="1 != 2"/></testcase>
<testcase name="broken"><error message="no fixture"/></testcase>
<testcase name="absent"><skipped message="needs root"/></testcase>
</testsuite></testsuites>
"""


def test_cargo_counts_a_test_that_skipped_itself_once() -> None:
    counts = runner.count_cargo(CARGO.splitlines(), 101)
    assert (counts.passed, counts.failed) == (2, 1)
    assert counts.skipped == ["slow: takes an hour", "trace::read_by_tshark: tshark is missing"]


def test_cargo_that_does_not_compile_fails_once() -> None:
    assert runner.count_cargo(["error: could not compile"], 101).failed == 1
    assert runner.count_cargo([], 0).failed == 0


def test_pytest_counts(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(PYTEST)
    counts = runner.count_pytest(report, 1)
    assert (counts.passed, counts.failed, counts.skipped) == (1, 2, ["absent: needs root"])
    assert runner.count_pytest(tmp_path / "never-written.xml", 4).failed == 1


def test_a_check_passes_fails_or_skips() -> None:
    assert runner.check("true") == runner.Counts(passed=1)
    assert runner.check("false") == runner.Counts(failed=1)
    assert runner.check("echo", "skipped: no fuzzer") == runner.Counts(skipped=["no fuzzer"])
