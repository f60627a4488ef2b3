#!/usr/bin/env python3
"""Build the command and the Python package.

python3 tools/build.py            target/release/multihop, and .venv with the packages
python3 tools/build.py venv       only .venv with what the packages and their tests need
python3 tools/build.py package    .venv with the packages multihop and multihop-papers
python3 tools/build.py profile command package
                                  the command and the package, faster by a profile of the simulator's own runs
python3 tools/build.py demo       a first comparison of transports, by a quick build of the simulator alone
python3 tools/build.py web        only the pages of multihop view and multihop route, into web/dist
python3 tools/build.py docs       the documentation site, into out/site, with the package in .venv
python3 tools/build.py lock       renew tools/locks: the newest wheels that pyproject.toml allows, with hashes
"""

from __future__ import annotations

import fcntl
import hashlib
import lzma
import os
import shutil
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import run_profile

ROOT = Path(__file__).resolve().parent.parent
VENV = Path(os.environ.get("MULTIHOP_VENV", ROOT / ".venv"))
PAPERS = ROOT / "papers"
"""Sources of the package `multihop-papers`: the experiments and their command."""
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
PROFILE = os.environ.get("MULTIHOP_PROFILE", "page")
"""The folder of Cargo's profile for the simulator of the pages; `debug` is that of the profile `dev`."""
WEB = ROOT / "web"
LOCK, LOCK_DOCS, LOCK_RUN, LOCK_RELEASE, LOCK_BUGS = LOCKS = tuple(
    ROOT / f"tools/locks/{name}.txt" for name in ("dev", "docs", "run", "release", "bugs")
)
"""Wheels with their hashes, for every platform: for package and tests, the site, the package, releases, and
the tests in examples/bugs."""
WASM = "wasm32-unknown-unknown"
OLDEST_NODE = 20


def main(arguments: list[str]) -> int:
    """Run the named steps, or all of them."""
    steps = {
        "venv": venv,
        "profile": profile,
        "command": command,
        "package": package,
        "demo": demo,
        "web": web,
        "docs": docs,
        "lock": lock,
    }
    unknown = [name for name in arguments if name not in steps]
    if unknown:
        print(f"unknown step {unknown[0]}; allowed: {', '.join(steps)}", file=sys.stderr)
        return 2
    try:
        for name in arguments or ["command", "package"]:
            steps[name]()
    except MissingError as missing:
        print(f"build: {missing}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        return error.returncode
    return 0


def venv() -> None:
    """Make .venv with everything that building and testing the package needs."""
    stamp = VENV / "installed"
    digest = hashlib.sha256(sys.version.encode() + LOCK.read_bytes()).hexdigest()
    if stamp.is_file() and stamp.read_text() == digest:
        return
    make_venv()
    print(f"installing the Python tools into {shown(VENV)}", flush=True)
    install_locked(LOCK)
    stamp.write_text(digest)


def install_locked(lock: Path, *options: str) -> None:
    """Install the wheels of a lock file; pip refuses any whose hash is not in it."""
    pip("install", "--quiet", *options, "--only-binary", ":all:", "--require-hashes", "--requirement", lock)


def programs_under_test() -> None:
    """Install the programs of examples/bugs into .venv; without them their tests are skipped."""
    stamp, wanted = VENV / "installed-bugs", LOCK_BUGS.read_text()
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    try:
        install_locked(LOCK_BUGS)
    except subprocess.CalledProcessError:
        print("the programs of examples/bugs could not be installed", flush=True)
    else:
        stamp.write_text(wanted)


def lock() -> None:
    """Renew the lock files: one resolution for every platform and Python that the package supports."""
    if not bin_dir().is_dir():
        make_venv()
    tool = VENV / "lock"
    pip("install", "--quiet", "--only-binary", ":all:", "--upgrade", "--target", tool, "uv")
    python = pyproject()["project"]["requires-python"].removeprefix(">=")
    options = ["--universal", "--python-version", python, "--generate-hashes", "--no-annotate", "--no-header"]
    options += ["--only-binary", ":all:", "--upgrade", "--quiet"]
    for file, wanted in zip(LOCKS, to_lock(), strict=True):
        # Both are installed into one environment.
        constraints = ["--constraint", LOCK] if file != LOCK else []
        words = [tool / "bin/uv", "pip", "compile", *options, *constraints, "--output-file", file, "-"]
        subprocess.run(words, input="\n".join(wanted), text=True, check=True)


def profile() -> None:
    """Collect a profile of the simulator's runs, with which the following steps compile."""
    need_cargo()
    if " " in str(TARGET):
        # Cargo splits the compiler's flags there.
        raise MissingError(f"a profile needs a path without blanks, not {TARGET}; set CARGO_TARGET_DIR")
    web_if_possible()
    try:
        run_profile.use(run_profile.collect(ROOT, TARGET))
    except FileNotFoundError as problem:
        raise MissingError(f"without {problem.filename} there is no profile") from None


def command() -> None:
    """Build the command and the extension module."""
    need_cargo()
    web_if_possible()
    # Selected together with the extension module, both share what they are compiled from.
    packages = ["-p", "multihop-cli", "-p", "multihop-py"]
    run("cargo", "build", "--release", "--locked", *packages, "--bin", "multihop")


def package() -> None:
    """Build the wheels of the library and of the experiments and install them in .venv."""
    need_cargo()
    web_if_possible()
    venv()
    wheels = VENV / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    pip("wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", wheels, ROOT, PAPERS)
    pip("install", "--quiet", "--no-deps", "--force-reinstall", *sorted(wheels.glob("*.whl")))


def demo() -> None:
    """Compare transports with a quick build of the simulator alone.

    It is not installed: it is in the folder `target/demo`, and a package in .venv stays what it is.
    """
    need_cargo()
    print("1. Compiling the simulator, and installing NumPy, Polars and Matplotlib", flush=True)
    with ThreadPoolExecutor(1) as pool:
        libraries = pool.submit(install_libraries)
        run("cargo", "build", "--locked", "--profile", "demo", "--no-default-features", *DEMO)
        libraries.result()
    package = demo_package(TARGET / "demo")
    print("2. Comparing transports", flush=True)
    environment = {**os.environ, "PYTHONPATH": str(package)}
    words: list[str | Path] = [
        bin_dir() / "python",
        "-m",
        "multihop.demo",
        "--command",
        shown(TARGET / "demo/multihop"),
    ]
    subprocess.run(words, cwd=ROOT, check=True, env=environment)


DEMO = ("-p", "multihop-py", "-p", "multihop-cli")
"""The crates behind `make demo`."""


def install_libraries() -> None:
    """Make .venv with the libraries that the package imports, unless a larger .venv is there."""
    stamp = VENV / "installed-libraries"
    if stamp.is_file() and stamp.read_text() == LOCK_RUN.read_text():
        return
    if not (VENV / "installed").is_file():
        make_venv()
    # What is compiled when it is imported need not be compiled before.
    install_locked(LOCK_RUN, "--no-compile")
    stamp.write_text(LOCK_RUN.read_text())


def demo_package(folder: Path) -> Path:
    """Put the package together from sources and compiled module; returns the folder to import from."""
    package = folder / "python"
    shutil.rmtree(package, ignore_errors=True)
    compiled = shutil.ignore_patterns("bin", "_core.*so", "__pycache__")
    shutil.copytree(ROOT / "python/multihop", package / "multihop", ignore=compiled)
    suffix = ".dylib" if sys.platform == "darwin" else ".so"
    shutil.copy2(folder / f"libmultihop_core_py{suffix}", package / "multihop/_core.abi3.so")
    return package


def web() -> None:
    """Build the pages of web/, one of them with the simulator as WebAssembly."""
    need_cargo()
    need_node()
    TARGET.mkdir(parents=True, exist_ok=True)
    with (TARGET / "web.lock").open("w") as lock:
        # Steps of `make test` may want the pages at the same time.
        fcntl.flock(lock, fcntl.LOCK_EX)
        install_node_packages()
        if run_quietly("rustup", "target", "add", WASM):
            raise MissingError(f"rustup target add {WASM} failed")
        profile = "dev" if PROFILE == "debug" else PROFILE
        run("cargo", "build", "--profile", profile, "--locked", "--target", WASM, "-p", "multihop-wasm")
        module = compressed(TARGET / WASM / PROFILE / "multihop_wasm.wasm")
        subprocess.run(["node", WEB / "build.mjs", module], cwd=ROOT, check=True)


def compressed(module: Path) -> Path:
    """Compress the page's module as `web/src/lzma.ts` reads it; returns the path of the result."""
    content, path = module.read_bytes(), module.with_suffix(".lzma")
    filters = [{"id": lzma.FILTER_LZMA1, "preset": 9 | lzma.PRESET_EXTREME, "lc": 3, "lp": 0, "pb": 0}]
    stream = lzma.compress(content, format=lzma.FORMAT_RAW, filters=filters)
    path.write_bytes(struct.pack("<I", len(content)) + stream)
    return path


def docs() -> None:
    """Build the documentation site."""
    if not (bin_dir() / "multihop").is_file():
        package()
    install_docs()
    run(bin_dir() / "python", "tools/build_site.py")


def install_docs() -> None:
    """Install what the documentation site needs into .venv."""
    venv()
    stamp, wanted = VENV / "installed-docs", LOCK_DOCS.read_text()
    if not stamp.is_file() or stamp.read_text() != wanted:
        print(f"installing the tools of the documentation site into {shown(VENV)}", flush=True)
        install_locked(LOCK_DOCS)
        stamp.write_text(wanted)


def web_if_possible() -> None:
    """Build the page, or say why the command will be without it."""
    try:
        web()
    except (MissingError, subprocess.CalledProcessError) as problem:
        print(f"build: without multihop view: {problem}", file=sys.stderr)


def install_node_packages() -> None:
    """Install what web/package-lock.json lists, once."""
    lock, installed = WEB / "package-lock.json", WEB / "node_modules" / ".package-lock.json"
    if not installed.is_file() or installed.stat().st_mtime < lock.stat().st_mtime:
        subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--silent"], cwd=WEB, check=True)


def need_node() -> None:
    """Raise an error if Node or npm is missing or too old."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        raise MissingError(f"Node {OLDEST_NODE} or newer, with npm, was not found")
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    if int(version.lstrip("v").split(".")[0]) < OLDEST_NODE:
        raise MissingError(f"found Node {version.strip()}, allowed: {OLDEST_NODE} or newer")


def run_quietly(*command: str) -> int:
    """Run a command without its output; 127 if it does not exist."""
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True).returncode
    except OSError:
        return 127


class MissingError(Exception):
    """A missing program that the user must install."""


def to_lock() -> tuple[list[str], ...]:
    """The requirements behind each of LOCKS."""
    return requirements(), optional("docs"), dependencies(), optional("release"), optional("bugs")


def requirements() -> list[str]:
    """The requirements of both packages: to build, to run and to test."""
    to_build = [one for folder in (ROOT, PAPERS) for one in pyproject(folder)["build-system"]["requires"]]
    return [*to_build, *dependencies(), *optional("dev")]


def dependencies() -> list[str]:
    """The requirements in pyproject.toml that the package imports."""
    return list(pyproject()["project"]["dependencies"])


def optional(extra: str) -> list[str]:
    """The requirements of one extra in pyproject.toml."""
    return list(pyproject()["project"]["optional-dependencies"][extra])


def pyproject(folder: Path = ROOT) -> dict[str, Any]:
    """Contents of the pyproject.toml of a package as a dictionary."""
    import tomllib  # Python 3.11; older versions were refused in main

    return tomllib.loads((folder / "pyproject.toml").read_text())


def make_venv() -> None:
    """Make an empty .venv, with Debian's missing package if we may install it."""
    made = subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], capture_output=True)
    if made.returncode == 0:
        return
    if not apt_install("python3-venv"):
        raise MissingError("python3 cannot make a virtual environment; install python3-venv")
    run(sys.executable, "-m", "venv", "--clear", VENV)


def apt_install(name: str) -> bool:
    """Install a Debian package if this user may; true on success."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return False
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for arguments in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", name]):
        done = subprocess.run(["apt-get", *arguments], env=quiet, stdout=subprocess.DEVNULL)
    return done.returncode == 0


def need_cargo() -> None:
    """Raise an error that says where to get Rust if cargo is missing."""
    if shutil.which("cargo") is None:
        raise MissingError("cargo was not found; install Rust from https://rustup.rs")


def shown(path: Path) -> str:
    """A path as it is shown: from the project's folder if it is in it."""
    return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)


def bin_dir() -> Path:
    """The folder of the virtual environment's commands."""
    return VENV / "bin"


def pip(*arguments: str | Path) -> None:
    """Run pip inside .venv."""
    quiet = ["--disable-pip-version-check", "--no-input"]
    run(bin_dir() / "python", "-m", "pip", *quiet, *arguments)


def run(*command: str | Path) -> None:
    """Run a command in the project, which finds the tools of .venv; raises an exception if it fails."""
    path = f"{bin_dir()}{os.pathsep}{os.environ.get('PATH', '')}"
    subprocess.run(command, cwd=ROOT, check=True, env={**os.environ, "PATH": path})


if __name__ == "__main__":
    if sys.version_info < (3, 11):  # noqa: UP036, the user may have an older one
        sys.exit(f"build: Python 3.11 or newer is needed, this is {sys.version.split()[0]}")
    sys.exit(main(sys.argv[1:]))
