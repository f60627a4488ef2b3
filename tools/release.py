#!/usr/bin/env python3
"""Build what users install, into out/dist.

python3 tools/release.py web               the pages that the others contain
python3 tools/release.py binaries wheels musl-wheels debs --for x86_64
                                           for Linux on x86_64, aarch64, or all
python3 tools/release.py sdist papers      the source archive, and the wheel of the experiments
python3 tools/release.py sbom              lists of all parts, as CycloneDX
python3 tools/release.py other-systems     only link: what runs on macOS and Windows
python3 tools/release.py try --for x86_64  run the command and the wheel of out/dist

Zig compiles and links for the other processor, for musl and for old versions of glibc; it comes from PyPI.
Files of the other processor run under qemu-user-static.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import build
from sbom import crates as sbom_of_crates

ROOT = build.ROOT
DIST = ROOT / "out/dist"
TOOLS = Path(os.environ.get("MULTIHOP_RELEASE_TOOLS", build.TARGET / "release-tools"))
"""Virtual environment with the tools of a release."""


@dataclass(frozen=True)
class System:
    """A kind of processor with Linux, by its names."""

    name: str
    deb: str

    @property
    def musl(self) -> str:
        """Target of static programs, and of wheels for distributions with musl."""
        return f"{self.name}-unknown-linux-musl"

    @property
    def gnu(self) -> str:
        """Target of wheels for distributions with glibc."""
        return f"{self.name}-unknown-linux-gnu"

    @property
    def runner(self) -> list[str]:
        """Words before a command of this system that make it run here."""
        return [] if platform.machine() == self.name else [f"qemu-{self.name}-static"]


SYSTEMS = {one.name: one for one in (System("x86_64", "amd64"), System("aarch64", "arm64"))}
MANYLINUX, MUSLLINUX = "manylinux2014", "musllinux_1_2"
"""Oldest C libraries of wheels: glibc 2.17, musl 1.2."""
SHELLS = {
    "bash": "usr/share/bash-completion/completions/multihop",
    "zsh": "usr/share/zsh/vendor-completions/_multihop",
    "fish": "usr/share/fish/vendor_completions.d/multihop.fish",
}
WHEEL: tuple[str | Path, ...] = ("wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", DIST)
"""Arguments of pip that build a wheel from a folder into out/dist."""
LICENCES = ("LICENSE-APACHE", "LICENSE-MIT")
COMMANDS = {"multihop": (), "multihop-network": ("--no-default-features", "--features", "network")}
"""Kinds of the static command, with their features."""
SIMULATOR = ("-p", "multihop-sim", "-p", "multihop-routing-extra")
LINKED = {
    "aarch64-apple-darwin": (),
    "x86_64-pc-windows-gnu": ("--no-default-features", "--features", "simulate"),
}
"""Targets of other systems, and the features of the command there."""


def main(arguments: Sequence[str]) -> int:
    """Run the named steps."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("steps", nargs="+", choices=STEPS, metavar="STEP", help=", ".join(STEPS))
    parser.add_argument("--for", dest="system", default=platform.machine(), choices=[*SYSTEMS, "all"])
    found = parser.parse_args(arguments)
    systems = list(SYSTEMS.values()) if found.system == "all" else [SYSTEMS[found.system]]
    DIST.mkdir(parents=True, exist_ok=True)
    os.environ.update(reproducible())
    # tools/test.py sets it for tests.
    os.environ.pop("RUSTC_WORKSPACE_WRAPPER", None)
    try:
        for step in found.steps:
            STEPS[step](systems)
    except build.MissingError as missing:
        print(f"release: {missing}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(f"release: {' '.join(map(str, error.cmd))}: exit code {error.returncode}", file=sys.stderr)
        return 1
    return 0


def reproducible() -> dict[str, str]:
    """Environment in which the same sources give the same bytes, wherever they are."""
    epoch = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True)
    home = os.environ.get("CARGO_HOME", str(Path.home() / ".cargo"))
    flags = [f"--remap-path-prefix={ROOT}=/multihop", f"--remap-path-prefix={home}=/cargo"]
    return {
        "SOURCE_DATE_EPOCH": os.environ.get("SOURCE_DATE_EPOCH", epoch.stdout.strip() or "0"),
        "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(flags),
        # C code of crates, without the debug information that Zig adds by default: it is 0.06 MB of a wheel.
        "CFLAGS": f"-g0 -ffile-prefix-map={ROOT}=/multihop -ffile-prefix-map={home}=/cargo",
        "CARGO_INCREMENTAL": "0",
    }


def tools() -> Path:
    """The folder of the release's tools, installed if they are not."""
    stamp, wanted = TOOLS / "installed", build.LOCK_RELEASE.read_text()
    if not stamp.is_file() or stamp.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", "--clear", TOOLS], check=True)
        words = ["install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
        words += ["--require-hashes", "--requirement", str(build.LOCK_RELEASE)]
        subprocess.run([TOOLS / "bin/python", "-m", "pip", *words], check=True)
        stamp.write_text(wanted)
    return TOOLS / "bin"


def run(*words: str | Path, **more: str) -> None:
    """Run a command that finds the release's tools."""
    path = f"{tools()}{os.pathsep}{os.environ['PATH']}"
    print("$", *words, flush=True)
    subprocess.run(words, cwd=ROOT, check=True, env={**os.environ, "PATH": path, **more})


def link(target: str, *words: str, profile: str = "release") -> Path:
    """Build with Zig as the linker; returns the folder of the results."""
    build.need_cargo()
    if build.run_quietly("rustup", "target", "add", target):
        raise build.MissingError(f"rustup target add {target} failed")
    run("cargo", "zigbuild", "--profile", profile, "--locked", "--target", target, *words)
    return build.TARGET / target / ("debug" if profile == "dev" else profile)


def static(system: System, *features: str) -> Path:
    """The static command of a system."""
    return link(system.musl, "-p", "multihop-cli", "--bin", "multihop", *features) / "multihop"


def version() -> str:
    """Version of the workspace."""
    import tomllib  # Python 3.11

    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
    return str(workspace["package"]["version"])


def binaries(systems: Sequence[System]) -> None:
    """Archives of the static command with manual pages and completions: whole, and with the network alone."""
    for system in systems:
        for kind, features in COMMANDS.items():
            with tempfile.TemporaryDirectory() as scratch:
                name = f"{kind}-{version()}-linux-{system.name}"
                folder = Path(scratch) / name
                command = static(system, *features)
                shutil.copytree(installed(command, system, Path(scratch) / "root") / "usr", folder)
                shutil.copy2(ROOT / "packaging/multihop-route.service", folder)
                for licence in LICENCES:
                    shutil.copy2(ROOT / licence, folder)
                archive(folder, DIST / f"{name}.tar.gz")


def debs(systems: Sequence[System]) -> None:
    """Packages for Debian and its relatives: command, manual pages, completions, unit of systemd."""
    for system in systems:
        with tempfile.TemporaryDirectory() as scratch:
            folder = installed(static(system), system, Path(scratch) / "root")
            unit = (ROOT / "packaging/multihop-route.service").read_text()
            # Lines before [Unit] are for who copies the file.
            unit = "[Unit]" + unit.partition("[Unit]")[2].replace("/usr/local/bin/", "/usr/bin/")
            write(folder / "lib/systemd/system/multihop-route.service", unit)
            texts = [(ROOT / licence).read_text() for licence in LICENCES]
            head = "multihop, by the multihop developers: Apache-2.0 or MIT, at your choice.\n\n"
            write(folder / "usr/share/doc/multihop/copyright", head + "\n\n".join(texts))
            size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) // 1024
            write(folder / "DEBIAN/control", CONTROL.format(version(), system.deb, size))
            for script, text in SCRIPTS.items():
                write(folder / "DEBIAN" / script, text, 0o755)
            package = DIST / f"multihop_{version()}_{system.deb}.deb"
            run("dpkg-deb", "--root-owner-group", "-Zxz", "--build", folder, package)


def installed(command: Path, system: System, folder: Path) -> Path:
    """A folder with the command, its manual pages and its completions, as below /."""
    (folder / "usr/bin").mkdir(parents=True)
    shutil.copyfile(command, folder / "usr/bin/multihop")
    (folder / "usr/bin/multihop").chmod(0o755)
    words = [*system.runner, str(command)]
    pages = folder / "usr/share/man/man1"
    run(*words, "manual", pages)
    for page in sorted(pages.iterdir()):
        page.with_name(f"{page.name}.gz").write_bytes(gzip.compress(page.read_bytes(), mtime=0))
        page.unlink()
    for shell, path in SHELLS.items():
        done = subprocess.run([*words, "completions", shell], check=True, capture_output=True, text=True)
        write(folder / path, done.stdout)
    for entry in folder.rglob("*"):
        entry.chmod(0o755 if entry.is_dir() or entry.parent.name == "bin" else 0o644)
    return folder


def write(path: Path, text: str, mode: int = 0o644) -> None:
    """Write a file and the folders around it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def archive(folder: Path, file: Path) -> None:
    """Pack a folder; the same files make the same archive."""
    epoch = int(os.environ["SOURCE_DATE_EPOCH"])

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = "root"
        entry.mtime = epoch
        return entry

    with (
        file.open("wb") as out,
        gzip.GzipFile("", "wb", mtime=0, fileobj=out) as packed,
        tarfile.open(fileobj=packed, mode="w") as files,
    ):
        files.add(folder, folder.name, filter=plain)
    print(f"{build.shown(file)}: {file.stat().st_size:,} bytes", flush=True)


def web(_: Sequence[System]) -> None:
    """The pages of `multihop view` and `multihop route`."""
    build.web()


def wheels(systems: Sequence[System]) -> None:
    """Wheels for old versions of glibc."""
    for system in systems:
        # To run the command of a wheel for the other processor, qemu would need a loader and a C library.
        command = static_words(system) if system.runner else ""
        wheel(system.gnu, f"--zig --compatibility {MANYLINUX}", command)


def musl_wheels(systems: Sequence[System]) -> None:
    """Wheels for distributions with musl, such as Alpine."""
    for system in systems:
        # A shared library is not static. The wheel's command needs the loader of musl, which is missing here.
        flag = "-Ctarget-feature=-crt-static"
        wheel(system.musl, f"--zig --compatibility {MUSLLINUX}", static_words(system), flag)


def static_words(system: System) -> str:
    """Words of a shell that run the static command of a system."""
    return shlex.join([*system.runner, str(static(system))])


def wheel(target: str, words: str, command: str, *flags: str) -> None:
    """Build a wheel with Zig as the linker. If its command cannot run here, `command` writes its pages."""
    if build.run_quietly("rustup", "target", "add", target):
        raise build.MissingError(f"rustup target add {target} failed")
    more = {
        "MATURIN_PEP517_ARGS": f"--target {target} {words}",
        "CARGO_ENCODED_RUSTFLAGS": "\x1f".join((os.environ["CARGO_ENCODED_RUSTFLAGS"], *flags)),
        "MULTIHOP_COMMAND": command,
    }
    run(tools() / "python", "-m", "pip", *WHEEL, ROOT, **more)


def sdist(_: Sequence[System]) -> None:
    """Source archive of the Python package, which pip compiles."""
    run("maturin", "sdist", "--out", DIST)


def papers(_: Sequence[System]) -> None:
    """The wheel of the experiments, which has no compiled part."""
    build.venv()
    run(build.bin_dir() / "python", "-m", "pip", *WHEEL, build.PAPERS)


def sbom(_: Sequence[System]) -> None:
    """Lists of all crates, wheels and npm packages that are in what users install, or build it."""
    python = DIST / "multihop-python.cdx.json"
    run("cyclonedx-py", "requirements", build.LOCK_RUN, "--output-reproducible", "--output-file", python)
    words = ["npm", "sbom", "--sbom-format", "cyclonedx", "--package-lock-only"]
    npm = subprocess.run(words, cwd=build.WEB, check=True, capture_output=True, text=True)
    (DIST / "multihop-npm.cdx.json").write_text(npm.stdout)
    crates = sbom_of_crates(ROOT, "multihop-py")
    (DIST / "multihop-crates.cdx.json").write_text(json.dumps(crates, indent=1))
    for file in sorted(DIST.glob("*.cdx.json")):
        subprocess.run([tools() / "python", "-c", VALIDATE, build.shown(file)], cwd=ROOT, check=True)


def other_systems(_: Sequence[System]) -> None:
    """Link the simulator and the command for macOS and Windows; nothing of it can run here."""
    for target, features in LINKED.items():
        # Optimisation only removes what a program does not use; whether fat LTO links is not checked.
        link(target, *SIMULATOR, profile="dev")
        link(target, "-p", "multihop-cli", *features, profile="dev")
        print(f"{target}: simulator and command link", flush=True)


def attempt(systems: Sequence[System]) -> None:
    """Run the command, and install and run the wheel of this system in an empty environment."""
    for system in systems:
        with tempfile.TemporaryDirectory() as scratch:
            (packed,) = DIST.glob(f"multihop-{version()}-linux-{system.name}.tar.gz")
            with tarfile.open(packed) as files:
                files.extractall(scratch, filter="data")
            (command,) = Path(scratch).glob("*/bin/multihop")
            run(*system.runner, command, "run", "chain-4")
            if system.runner:
                continue
            environment = Path(scratch) / "venv"
            run(sys.executable, "-m", "venv", environment)
            (wheel,) = DIST.glob(f"multihop-*manylinux*_{system.name}.whl")
            run(environment / "bin/pip", "install", "--quiet", wheel)
            run(environment / "bin/multihop", "run", "chain-4")


CONTROL = textwrap.dedent("""\
    Package: multihop
    Version: {}
    Architecture: {}
    Installed-Size: {}
    Maintainer: The multihop developers <maintainers@multihop.invalid>
    Section: net
    Priority: optional
    Description: reliable transport over several wireless hops
     A simulator, an emulator, and programs for real networks: transfer of files,
     tunnels, measurements, a routing daemon for wireless meshes, and congestion
     controls for the kernel's TCP.
     .
     The unit multihop-route.service runs the routing daemon. It is not started
     by the installation: it needs /etc/multihop/route.toml.
    """)
SCRIPTS = {
    "postinst": "#!/bin/sh\nset -e\nif [ -d /run/systemd/system ]; then systemctl daemon-reload; fi\n",
    "prerm": textwrap.dedent("""\
        #!/bin/sh
        set -e
        if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
            systemctl disable --now multihop-route.service
        fi
        """),
}
"""Scripts that dpkg runs after the installation and before the removal."""

VALIDATE = """
import json, sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

text = open(sys.argv[1]).read()
document = json.loads(text)
version = SchemaVersion.from_version(document["specVersion"])
if problem := JsonStrictValidator(version).validate_str(text):
    sys.exit(f"{sys.argv[1]}: {problem}")
print(f"{sys.argv[1]}: {len(document['components'])} parts, valid CycloneDX {document['specVersion']}")
"""

STEPS = {
    "web": web,
    "binaries": binaries,
    "wheels": wheels,
    "musl-wheels": musl_wheels,
    "debs": debs,
    "sdist": sdist,
    "papers": papers,
    "sbom": sbom,
    "other-systems": other_systems,
    "try": attempt,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
