#!/usr/bin/env python3
"""Checks of what a release publishes; `make release-check` runs them all.

python3 tools/release_check.py workflows       actionlint on .github/workflows
python3 tools/release_check.py metadata        twine on the source archive, and on the wheels that were built
python3 tools/release_check.py reproducible    two builds in two folders have the same bytes
python3 tools/release_check.py interfaces      the new version fits the changes since the last one

A check that cannot run here prints a line that begins with `skipped:`.
"""

from __future__ import annotations

import filecmp
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import build
import release

ACTIONLINT = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"
STEPS_TWICE = ("wheels", "sdist")
"""Steps of tools/release.py that run in two folders: one release build in each."""


def main(arguments: list[str]) -> int:
    """Run the check that the argument names; 1 if it found something."""
    if len(arguments) != 1 or arguments[0] not in CHECKS:
        print(f"allowed: one of {', '.join(CHECKS)}", file=sys.stderr)
        return 2
    try:
        return CHECKS[arguments[0]]()
    except subprocess.CalledProcessError as error:
        print(f"FAILED: {' '.join(map(str, error.cmd))}: exit code {error.returncode}")
        return 1


def workflows() -> int:
    """Lint .github/workflows and that of a page with actionlint, from Go where it is not installed."""
    if shutil.which("actionlint"):
        command = ["actionlint"]
    elif shutil.which("go"):
        command = ["go", "run", ACTIONLINT]
    else:
        print("skipped: neither actionlint nor Go is installed")
        return 0
    page = build.ROOT / "docs" / "how-to" / "lab-in-ci.md"
    with tempfile.TemporaryDirectory() as folder:
        of_page = Path(folder) / "mesh.yml"
        of_page.write_text(page.read_text().split("```yaml\n")[1].split("```")[0])
        files = [*sorted(build.ROOT.glob(".github/workflows/*.yml")), of_page]
        return subprocess.run([*command, "-color", *files], cwd=build.ROOT).returncode


def metadata() -> int:
    """Check that PyPI accepts the metadata of both packages, and can show their descriptions."""
    with tempfile.TemporaryDirectory() as folder:
        release.run("maturin", "sdist", "--out", folder)
        wheels = [*(build.VENV / "wheels").glob("*.whl"), *release.DIST.glob("*.whl")]
        release.run("twine", "check", "--strict", *Path(folder).iterdir(), *wheels)
    return 0


def reproducible() -> int:
    """Build the commit in two folders; print every file that differs."""
    build.TARGET.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=build.TARGET) as scratch:
        one, other = (Path(scratch) / name for name in ("a", "another-folder"))
        for folder in (one, other):
            build_in(folder)
        names = sorted(path.name for path in (one / "out/dist").iterdir())
        _, differing, missing = filecmp.cmpfiles(one / "out/dist", other / "out/dist", names, shallow=False)
        for name in names:
            print(f"{name}: {'DIFFERS' if name in [*differing, *missing] else 'the same bytes'}")
        if differing:
            kept = release.DIST.parent / "differing"
            shutil.rmtree(kept, ignore_errors=True)
            for folder in (one, other):
                shutil.copytree(folder / "out/dist", kept / folder.name)
            print(f"both builds are kept in {build.shown(kept)}")
    return 1 if differing or missing or not names else 0


def build_in(folder: Path) -> None:
    """Build the current commit in a folder of its own, with the pages of this one."""
    folder.mkdir()
    tree = subprocess.run(["git", "archive", "HEAD"], cwd=build.ROOT, check=True, capture_output=True).stdout
    subprocess.run(["tar", "--extract"], cwd=folder, check=True, input=tree)
    for page in (build.WEB / "dist").glob("*.html"):
        shutil.copy2(page, folder / "web/dist")
    environment = {
        **os.environ,
        "SOURCE_DATE_EPOCH": release.reproducible()["SOURCE_DATE_EPOCH"],
        "CARGO_TARGET_DIR": str(folder / "target"),
        "MULTIHOP_RELEASE_TOOLS": str(release.TOOLS),
    }
    words = [sys.executable, "tools/release.py", *STEPS_TWICE]
    subprocess.run(words, cwd=folder, check=True, env=environment)


def interfaces() -> int:
    """Check with cargo-semver-checks that the interfaces of the crates changed as the version says."""
    if build.run_quietly("cargo", "semver-checks", "--version"):
        print("skipped: cargo-semver-checks is missing: cargo install --locked cargo-semver-checks")
        return 0
    earlier = earlier_version()
    crates = [folder.name for folder in sorted(build.ROOT.glob("crates/*")) if is_compared(folder, earlier)]
    print(f"compared with {earlier}: {', '.join(crates)}", flush=True)
    words = [word for name in crates for word in ("--package", name)]
    options = ["--default-features", "--baseline-rev", earlier]
    build.TARGET.mkdir(parents=True, exist_ok=True)
    # In one folder, crates share what they are compiled from. A new one has no documents of earlier checks.
    with tempfile.TemporaryDirectory(dir=build.TARGET) as folder:
        environment = {**os.environ, "CARGO_TARGET_DIR": folder}
        command = ["cargo", "semver-checks", *words, *options]
        return subprocess.run(command, cwd=build.ROOT, env=environment).returncode


def earlier_version() -> str:
    """The tag of the last version; without tags the commit before HEAD that last changed the version."""
    tag = git("describe", "--tags", "--abbrev=0", "--match", "v*", "HEAD~1")
    return tag or git("log", "-1", "--format=%h", "-G^version = ", "HEAD~1", "--", "Cargo.toml")


def is_compared(folder: Path, earlier: str) -> bool:
    """Whether a crate is published and was there in an earlier commit."""
    manifest = folder / "Cargo.toml"
    published = manifest.is_file() and "publish = false" not in manifest.read_text()
    return published and bool(git("ls-tree", "--name-only", earlier, f"crates/{folder.name}/Cargo.toml"))


def git(*words: str) -> str:
    """Output of git in the repository; empty if it fails."""
    return subprocess.run(["git", *words], cwd=build.ROOT, capture_output=True, text=True).stdout.strip()


CHECKS = {
    "workflows": workflows,
    "metadata": metadata,
    "reproducible": reproducible,
    "interfaces": interfaces,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
