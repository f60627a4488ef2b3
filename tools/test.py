#!/usr/bin/env python3
"""Run everything that CI runs.

    python3 tools/test.py             all steps of CI, in order
    python3 tools/test.py fmt mypy    only these
    python3 tools/test.py --list      their names

A step that runs tests adds their counts to the total, any other step counts as one. A test that
cannot run here prints one line that begins with `skipped:` and counts as skipped. What failed is
repeated at the end with the last lines of its output. The last line is always
`N passed, N failed, N skipped`.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
FEATURE = "multihop-cli/view"
"""Programs with user-defined protocols have it. With it the wheel shares its crates with the Rust tests."""
# Everything is usually built from nothing here: what makes later builds shorter, and the line numbers of
# backtraces, would only cost time. The wheel is of the same parts as the Rust tests, and the pages' simulator
# is compiled as they are. The optimised wheel stays in .venv. Some programs of tests are not optimised.
os.environ.update(
    CARGO_INCREMENTAL="0",
    CARGO_PROFILE_DEV_CODEGEN_UNITS="1",
    CARGO_PROFILE_DEV_DEBUG="0",
    MATURIN_PEP517_ARGS=f"--profile dev --features {FEATURE}",
    MULTIHOP_PROFILE="debug",
    MULTIHOP_VENV=str(TARGET / "test-venv"),
    RUSTC_WORKSPACE_WRAPPER=str(ROOT / "tools/rustc_tests.py"),
)

import build  # noqa: E402, it reads the variables above
import rust_tests  # noqa: E402, it reads them, too

PYTHON = str(build.bin_dir() / "python")
TEST_THREADS = 2 * (os.cpu_count() or 2)
"""More than processors: tests of emulations and connections wait for the clock most of the time."""


def main(arguments: list[str]) -> int:
    """Run the named steps, or all, and add up their counts."""
    if arguments == ["--list"]:
        print("\n".join(STEPS))
        return 0
    unknown = [name for name in arguments if name not in STEPS]
    if unknown:
        print(f"unknown step {unknown[0]}; allowed: {', '.join(STEPS)}", file=sys.stderr)
        return 2
    total = Counts()
    names = arguments or [name for name in STEPS if name not in BY_NAME]
    with ThreadPoolExecutor(1) as pool:
        beside = {
            name: pool.submit(beside_others, name) for name in BESIDE if name in names and len(names) > 1
        }
        for name in names:
            counts = beside[name].result() if name in beside else timed(name, STEPS[name])
            total.add(counts)
    summarise(total)
    return 1 if total.failed else 0


@dataclass
class Failure:
    """A test or a command that failed."""

    name: str
    output: Sequence[str]


@dataclass
class Counts:
    """How many checks of a step passed, and which ones did not."""

    passed: int = 0
    failed: list[Failure] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def add(self, other: Counts) -> None:
        """Add another step's counts."""
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped


class Kept(threading.local):
    """Text that a step running in parallel has printed so far; None where lines are shown as they come."""

    lines: list[str] | None = None


KEPT = Kept()


def show(line: str) -> None:
    """Print a line, or keep it until the step has ended."""
    if KEPT.lines is None:
        print(line, flush=True)
    else:
        KEPT.lines.append(line)


def beside_others(name: str) -> Counts:
    """Run a step while others run, and show its output as a whole at its end."""
    KEPT.lines = []
    counts = timed(name, STEPS[name])
    print("\n".join(KEPT.lines), flush=True)
    return counts


def timed(name: str, step: Callable[[], Counts]) -> Counts:
    """Run one step and print how long it took."""
    show(f"== {name}")
    start = time.monotonic()
    try:
        counts = step()
    except (build.MissingError, OSError) as error:
        show(f"{name}: {error}")
        counts = Counts(failed=[Failure(name, str(error).splitlines())])
    verdict = "FAILED" if counts.failed else "ok"
    show(f"== {name}: {verdict}, {time.monotonic() - start:.1f} s\n")
    return counts


def summarise(total: Counts) -> None:
    """Print what was skipped, what failed, and the closing line."""
    for reason in total.skipped:
        print(f"skipped: {reason}")
    for failure in total.failed:
        print(f"failed: {failure.name}")
        print("".join(f"    {line}\n" for line in failure.output[-30:]), end="")
    print(f"{total.passed} passed, {len(total.failed)} failed, {len(total.skipped)} skipped", flush=True)


def check(*command: str, env: dict[str, str] | None = None) -> Counts:
    """Run a command that passes or fails as a whole."""
    code, lines = stream(command, env)
    skipped = [reason for line in lines if (reason := skip_reason(line))]
    if code != 0:
        return Counts(failed=[Failure(" ".join(command), lines)], skipped=skipped)
    return Counts(skipped=skipped) if skipped else Counts(passed=1)


def cargo_test() -> Counts:
    """Run the Rust tests and show their output, so that skips are counted."""
    install_tools()
    # Tests of the command need its pages.
    build.web_if_possible()
    counts = Counts()
    for output in rust_tests.run(["--workspace", *FEATURES, "--locked"], TEST_THREADS, show):
        for line in (f"$ {output.command}", *output.lines):
            show(line)
        counts.add(count_cargo(output.lines, output.code))
    return counts


def count_cargo(lines: Sequence[str], code: int) -> Counts:
    """Counts from the output of `cargo test -- --show-output`."""
    counts = Counts()
    skips: dict[tuple[int, str], str] = {}
    binary, test = 0, ""
    outputs: dict[str, list[str]] = {}
    for line in lines:
        if found := re.match(r"test (.+) \.\.\. ignored(?:, (.*))?$", line):
            counts.skipped.append(f"{found[1]}: {found[2] or 'ignored'}")
        elif found := re.match(r"test (.+) \.\.\. FAILED$", line):
            counts.failed.append(Failure(found[1], outputs.setdefault(found[1], [])))
        elif found := re.match(r"---- (.+) stdout ----$", line):
            test = found[1]
        elif reason := skip_reason(line):
            skips.setdefault((binary, test), f"{test}: {reason}")
        elif found := re.match(r"test result: \w+\. (\d+) passed;", line):
            counts.passed += int(found[1])
            binary, test, outputs = binary + 1, "", {}
        elif line in ("successes:", "failures:"):
            test = ""
        elif test in outputs:
            outputs[test].append(line)
    counts.passed -= len(skips)
    counts.skipped += skips.values()
    if code != 0 and not counts.failed:
        # Compilation failed, or a test process crashed.
        counts.failed.append(Failure("cargo test", lines))
    return counts


def old_kernel() -> Counts:
    """Run the tests of the congestion controls on Debian's kernel, the oldest supported one."""
    program = rust_tests.find("multihop-ebpf", "it", ["--workspace", *FEATURES, "--locked"])
    words = [str(program), "--show-output", "--test-threads=1", "root_"]
    # A test carries packets between namespaces through a device of the module. A clock that counts
    # instructions keeps their delays on a busy machine, too.
    machine = ["--modules", "tun", "--seconds", "240", "--icount", "shift=0,sleep=off"]
    code, lines = stream([sys.executable, "tools/vm.py", *machine, "--", *words])
    missing = [reason for line in lines if (reason := skip_reason(line)) and "virtual machine: " in reason]
    return Counts(skipped=missing) if missing else count_cargo(lines, code)


def air() -> Counts:
    """Check the medium of the kernel's Wi-Fi stack, in a virtual machine whose clock counts instructions."""
    rust_tests.find("multihop-air", "multihop_air", ["--workspace", *FEATURES, "--locked"])
    path = os.environ.get("PATH", "") + ":/usr/sbin"
    if shutil.which("iw", path=path) is None and not build.apt_install("iw"):
        return Counts(skipped=["air: iw is missing and could not be installed: apt-get install iw"])
    machine = ["--seconds", "200", "--icount", "shift=0,sleep=off", "--modules", "mac80211_hwsim radios=0"]
    inside = ["python3", "tools/air_check.py", str(TARGET / "debug" / "multihop")]
    return check(sys.executable, "tools/vm.py", *machine, "--", *inside)


def bare() -> Counts:
    """Check that the hub and what is below it compile for a machine without an operating system."""
    target = "thumbv7em-none-eabi"
    try:
        installed = subprocess.run(
            ["rustup", "target", "add", target], check=False, capture_output=True, text=True
        )
    except FileNotFoundError:
        return Counts(skipped=[f"bare: rustup is missing, which installs the target {target}"])
    if installed.returncode != 0:
        return Counts(skipped=[f"bare: the target {target} could not be installed"])
    return check("cargo", "check", "--quiet", "--locked", "--package", "multihop-hub", "--target", target)


def fuzz() -> Counts:
    """Fuzz each target for a moment. Most of the time is the build, so that optimising would not pay."""
    less = {"CARGO_PROFILE_RELEASE_OPT_LEVEL": "0", "CARGO_PROFILE_RELEASE_DEBUG": "0"}
    return check("tools/fuzz.sh", "1", env=less)


def pytest() -> Counts:
    """Run the Python tests against the installed wheel."""
    install_tools()
    build.programs_under_test()
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / "report.xml"
        count = f"--numprocesses={TEST_THREADS}"
        code, lines = stream([PYTHON, "-m", "pytest", "--quiet", count, f"--junitxml={report}"])
        return count_pytest(report, code, lines)


def count_pytest(report: Path, code: int, lines: Sequence[str]) -> Counts:
    """Counts from pytest's XML report."""
    counts = Counts()
    cases = ElementTree.parse(report).iter("testcase") if report.is_file() else []
    for case in cases:
        skip = case.find("skipped")
        failure = case.find("failure")
        if failure is None:
            failure = case.find("error")
        if failure is not None:
            text = failure.text or failure.get("message") or ""
            counts.failed.append(Failure(f"{case.get('classname')}.{case.get('name')}", text.splitlines()))
        elif skip is not None:
            counts.skipped.append(f"{case.get('name')}: {skip.get('message')}")
        else:
            counts.passed += 1
    if code != 0 and not counts.failed:
        counts.failed.append(Failure("pytest", lines))
    return counts


def wheel() -> Counts:
    """Build the wheel and install it for the next steps."""
    return check(sys.executable, "tools/build.py", "package")


def in_venv(*command: str) -> Counts:
    """Run a tool of the virtual environment."""
    build.venv()
    return check(PYTHON, "-m", *command)


def doc() -> Counts:
    """Build the documentation of all items, including private ones, without warnings."""
    flags = {"RUSTDOCFLAGS": "-D warnings"}
    options = ["--workspace", "--locked", "--no-deps", "--document-private-items", "--keep-going", "--quiet"]
    return check("cargo", "doc", *options, env=flags)


def web() -> Counts:
    """Check the pages of web/; try them and pages of results in a headless browser if there is one."""
    try:
        build.need_node()
        build.install_node_packages()
    except (build.MissingError, subprocess.CalledProcessError) as problem:
        return Counts(skipped=[f"web: {problem}"])
    if not (build.WEB / "dist" / "routes.html").is_file():
        return Counts(skipped=["web: web/dist/routes.html has not been built: python3 tools/build.py web"])
    command = build.bin_dir() / "multihop"
    if not command.is_file():
        raise build.MissingError(f"{command} is missing: python3 tools/build.py package")
    env = {"MULTIHOP": str(command), "PYTHON": PYTHON}
    counts = check("node", "web/node_modules/typescript/bin/tsc", "--noEmit", "--project", "web")
    files = ["engine", "log", "looks", "lzma"]
    chromium = shutil.which("chromium")
    if chromium is None and build.apt_install("chromium"):
        chromium = shutil.which("chromium")
    if chromium is None:
        counts.skipped.append("web: chromium is missing and could not be installed: apt-get install chromium")
    else:
        env["CHROMIUM"] = chromium
        # Those that take longest come first.
        files = ["results", "playground", "page", "compare", "live", "radios", "routes", *files]
    tests = [f"web/test/{name}.test.mjs" for name in files]
    counts.add(check("node", "--test", "--test-concurrency=2", *tests, env=env))
    return counts


def site() -> Counts:
    """Execute the notebooks and build the documentation site; no link may be broken."""
    build.install_docs()
    return check(PYTHON, "tools/build_site.py", "--quick")


@functools.cache
def install_tools() -> None:
    """Install programs without which tests are skipped: readers of captures, programs that use networks."""
    same = ("tshark", "nginx", "curl", "babeld", "iperf3", "traceroute", "prometheus")
    packages = {name: name for name in same}
    packages |= {"nft": "nftables", "sshd": "openssh-server", "ping": "iputils-ping"}
    packages |= {"busybox": "busybox-static"}
    for name, package in packages.items():
        path = os.environ.get("PATH", "") + ":/usr/sbin"
        if shutil.which(name, path=path) is None and not build.apt_install(package):
            print(f"{name} is missing and could not be installed: apt-get install {package}", flush=True)


def skip_reason(line: str) -> str | None:
    """The reasons after `skipped:` at the start of lines."""
    return line.removeprefix("skipped:").strip() if line.startswith("skipped:") else None


def stream(command: Sequence[str], env: dict[str, str] | None = None) -> tuple[int, list[str]]:
    """Run a command, show its output as it comes, and return it."""
    show("$ " + " ".join(command))
    lines = []
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            show(lines[-1])
    return process.returncode, lines


def script(name: str) -> Callable[[], Counts]:
    """A step that runs a check of tools/."""
    return lambda: check(sys.executable, f"tools/{name}.py")


def release_check(name: str) -> Callable[[], Counts]:
    """A step that is a check of tools/release_check.py."""
    return lambda: check(sys.executable, "tools/release_check.py", name)


def biome() -> Counts:
    """Lint the pages and their tests."""
    try:
        build.need_node()
        build.install_node_packages()
    except (build.MissingError, subprocess.CalledProcessError) as problem:
        return Counts(skipped=[f"biome: {problem}"])
    return check("npm", "--prefix", "web", "run", "--silent", "lint")


FEATURES = ("--features", FEATURE)
CHECKED = f"--workspace --all-targets {' '.join(FEATURES)} --locked"
# Crates that are not published: some of them depend on each other, which no package can.
UNPUBLISHED = ("bench", "capi", "launcher", "py", "quic", "wasm")
PACKAGE = "cargo package --workspace --locked --allow-dirty --quiet " + " ".join(
    f"--exclude multihop-{name}" for name in UNPUBLISHED
)
CLIPPY = f"cargo clippy {CHECKED} --keep-going --quiet -- -D warnings"

# Lints of the build of `make demo`, which only simulates, and of the command with the network alone. They
# take minutes: only `make lint` runs them.
# Steps of `make release-check` compile everything several times.
RELEASE = ("package", "sbom", "reproducible", "interfaces")
BY_NAME = {"clippy-demo", "clippy-network", *RELEASE}
CLIPPY_DEMO = f"cargo clippy {' '.join(build.DEMO)} --no-default-features --locked --quiet -- -D warnings"
CLIPPY_NETWORK = CLIPPY_DEMO.replace("-p multihop-py", "--features network")

STEPS: dict[str, Callable[[], Counts]] = {
    "fmt": lambda: check("cargo", "fmt", "--all", "--check"),
    "layers": script("check_layers"),
    "size": script("check_size"),
    "deviations": script("check_deviations"),
    "paths": script("check_paths"),
    "threats": script("check_threats"),
    "comments": script("check_comments"),
    "clippy": lambda: check(*CLIPPY.split()),
    "clippy-demo": lambda: check(*CLIPPY_DEMO.split()),
    "clippy-network": lambda: check(*CLIPPY_NETWORK.split()),
    "cargo": cargo_test,
    "old-kernel": old_kernel,
    "air": air,
    "bare": bare,
    "fuzz": fuzz,
    "ruff": lambda: in_venv("ruff", "check", "."),
    "ruff-format": lambda: in_venv("ruff", "format", "--check", "."),
    "wheel": wheel,
    "pytest": pytest,
    "qlog": lambda: check(PYTHON, "tools/check_qlog.py"),
    "web": web,
    "doc": doc,
    "mypy": lambda: in_venv("mypy"),
    "stubtest": lambda: in_venv("mypy.stubtest", "multihop._core"),
    # The command and the package of users have the default features alone.
    "default-features": lambda: check("cargo", "check", "--package", "multihop-py", "--locked", "--quiet"),
    "site": site,
    "supply": script("check_supply"),
    "advisories": lambda: check(sys.executable, "tools/check_supply.py", "advisories"),
    "biome": biome,
    "manifests": lambda: check(*PACKAGE.split(), "--no-verify"),
    "workflows": release_check("workflows"),
    "metadata": release_check("metadata"),
    "package": lambda: check(*PACKAGE.split()),
    "sbom": lambda: check(sys.executable, "tools/release.py", "sbom"),
    "reproducible": release_check("reproducible"),
    "interfaces": release_check("interfaces"),
}

BESIDE = (
    "fuzz",
    "wheel",
    "metadata",
    "web",
    "doc",
    "mypy",
    "stubtest",
    "default-features",
    "old-kernel",
    "air",
)
"""Steps that run, one after the other, beside the rest; those after `wheel` need the wheel."""

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
