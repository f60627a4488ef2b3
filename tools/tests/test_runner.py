"""The final counts of `make test`."""

from pathlib import Path

import pytest

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

successes:
    timers::fires_once
    trace::read_by_tshark

failures:

---- broken stdout ----
thread 'broken' panicked at src/lib.rs:7:5:
assertion failed: ready

failures:
    broken

test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s

running 1 test
test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
"""

PYTEST = """\
<testsuites><testsuite>
<testcase name="fine"/>
<testcase classname="test_sums" name="wrong"><failure message="1 != 2">assert 1 == 2
E  1 != 2</failure></testcase>
<testcase classname="test_sums" name="broken"><error message="no fixture"/></testcase>
<testcase name="absent"><skipped message="needs root"/></testcase>
</testsuite></testsuites>
"""


def test_cargo_counts_a_test_that_skipped_itself_once() -> None:
    counts = runner.count_cargo(CARGO.splitlines(), 101)
    assert counts.passed == 2
    assert counts.skipped == ["slow: takes an hour", "trace::read_by_tshark: tshark is missing"]


def test_a_failed_rust_test_has_its_name_and_output() -> None:
    (failure,) = runner.count_cargo(CARGO.splitlines(), 101).failed
    assert failure.name == "broken"
    assert "\n".join(failure.output).strip().endswith("assertion failed: ready")


def test_cargo_that_does_not_compile_fails_once() -> None:
    (failure,) = runner.count_cargo(["error: could not compile"], 101).failed
    assert failure.output == ["error: could not compile"]
    assert runner.count_cargo([], 0).failed == []


def test_pytest_counts(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(PYTEST)
    counts = runner.count_pytest(report, 1, [])
    assert (counts.passed, counts.skipped) == (1, ["absent: needs root"])
    wrong, broken = counts.failed
    assert wrong == runner.Failure("test_sums.wrong", ["assert 1 == 2", "E  1 != 2"])
    assert broken == runner.Failure("test_sums.broken", ["no fixture"])
    (failure,) = runner.count_pytest(tmp_path / "never-written.xml", 4, ["no tests"]).failed
    assert failure.output == ["no tests"]


def test_a_check_passes_fails_or_skips() -> None:
    assert runner.check("true") == runner.Counts(passed=1)
    assert runner.check("false") == runner.Counts(failed=[runner.Failure("false", [])])
    assert runner.check("echo", "skipped: no fuzzer") == runner.Counts(skipped=["no fuzzer"])


def test_the_summary_repeats_what_failed_before_the_counts(capsys: pytest.CaptureFixture[str]) -> None:
    failure = runner.Failure("broken", [f"line {number}" for number in range(100)])
    runner.summarise(runner.Counts(passed=3, failed=[failure], skipped=["slow: takes an hour"]))
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["skipped: slow: takes an hour", "failed: broken", "    line 70"]
    assert lines[-2:] == ["    line 99", "3 passed, 1 failed, 1 skipped"]
