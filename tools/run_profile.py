"""A profile of the simulator's own runs, with which the compiler makes the simulator faster.

The compiler learns which branches are usual and which functions are called most. It then keeps what runs
together side by side and the rest out of the way. Results are the same.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

# Each runs once with every radio. Both lists cover what people simulate, not what a benchmark measures.
SCENARIOS = (
    "chain-4",
    "cross",
    "hidden",
    "saturation",
    "grid",
    "town",
    "aodv-mobile-50",
    "olsr-mobile-50",
    "dsr-mobile-30",
    "tpa-moving",
    "roaming",
    "mesh-chain",
)
RADIOS: tuple[dict[str, str], ...] = (
    {},
    {"model": "sinr", "phy": "802.11a", "budget": "ns-2", "rate": "24M"},
    {"model": "sinr", "phy": "802.11n-20", "budget": "ns-2", "rate": "MCS3"},
)


def collect(project: Path, target: Path) -> Path:
    """The profile of the present sources. If there is none yet, a program that counts is built and run."""
    tool = merger(project)
    folder = target / "profiled"
    return profile_of(build_counting(project, folder), folder, tool)


def profile_of(counting: Path, folder: Path, tool: Path) -> Path:
    """The profile that a program collects; one that is there is taken."""
    digest = hashlib.sha256(counting.read_bytes() + repr((SCENARIOS, RADIOS)).encode()).hexdigest()
    # Cargo compiles again if the name of the file changes, not if its content does.
    profile = folder / f"{digest[:16]}.profdata"
    if not profile.is_file():
        counts = folder / "counts"
        shutil.rmtree(counts, ignore_errors=True)
        run_scenarios(counting, counts)
        partial = profile.with_suffix(".partial")
        subprocess.run([tool, "merge", "-o", partial, counts], check=True)
        for old in folder.glob("*.profdata"):
            old.unlink()
        partial.rename(profile)
    return profile


def use(profile: Path) -> None:
    """Compile with a profile from now on."""
    os.environ.update(with_flag(f"-Cprofile-use={profile}"))


def build_counting(project: Path, folder: Path) -> Path:
    """Build the command so that it counts how often each branch is taken."""
    # Programs that run during the build count, too; nobody reads that.
    unread = {"LLVM_PROFILE_FILE": str(folder / "unread" / "%m.profraw")}
    environment = {**os.environ, **unread, **with_flag("-Cprofile-generate")}
    command = ["cargo", "build", "--release", "--locked", "-p", "multihop-cli", "--target-dir", str(folder)]
    subprocess.run(command, cwd=project, check=True, env=environment)
    return folder / "release" / "multihop"


def run_scenarios(counting: Path, counts: Path) -> None:
    """Run all scenarios with all radios; the counts go into a folder."""
    print(f"running {len(SCENARIOS) * len(RADIOS)} simulations for the profile", flush=True)
    # Runs of the same program add up in one file.
    environment = {**os.environ, "LLVM_PROFILE_FILE": str(counts / "%m.profraw")}
    for scenario in SCENARIOS:
        for radio in RADIOS:
            settings = [word for key, value in radio.items() for word in ("--set", f"radio.{key}={value}")]
            command = [str(counting), "run", scenario, "--quiet", "--json", *settings]
            subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)


def merger(project: Path) -> Path:
    """The toolchain's own llvm-profdata, because that of another LLVM may not read the counts."""
    rustc = ["rustc", "--print", "target-libdir"]
    libraries = subprocess.run(rustc, cwd=project, check=True, stdout=subprocess.PIPE, text=True).stdout
    tool = Path(libraries.strip()).parent / "bin" / "llvm-profdata"
    if not tool.is_file():
        subprocess.run(["rustup", "component", "add", "llvm-tools"], cwd=project, check=True)
    return tool


def with_flag(flag: str) -> dict[str, str]:
    """The environment that adds a flag to those that the user has set for the compiler."""
    # The other variable does not concern the WebAssembly of the pages. Cargo ignores it beside this one.
    variable = "RUSTFLAGS"
    if variable not in os.environ:
        version = subprocess.run(["rustc", "-vV"], check=True, stdout=subprocess.PIPE, text=True).stdout
        (host,) = (line.split()[1] for line in version.splitlines() if line.startswith("host:"))
        variable = f"CARGO_TARGET_{host.upper().replace('-', '_')}_RUSTFLAGS"
    return {variable: f"{os.environ.get(variable, '')} {flag}".strip()}
