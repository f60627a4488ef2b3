"""Builds the package: maturin's wheel with the Rust command, its manual pages and completions for shells.

The command itself writes its pages and completions, so that they agree with it. It must therefore run where
it is built.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from maturin import build_editable as build_bare_editable
from maturin import (
    build_sdist,
    get_maturin_pep517_args,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)
from maturin import build_wheel as build_bare_wheel

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]


def build_wheel(
    wheel_directory: str,
    config_settings: Mapping[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Build a wheel; returns its name."""
    maturin_arguments = get_maturin_pep517_args(config_settings)
    # For other machines, too; maturin by itself makes a wheel for this machine only.
    settings = with_arguments(config_settings, ["--compatibility", "pypi", *maturin_arguments])
    name: str = build_bare_wheel(wheel_directory, settings, metadata_directory)
    command = build_command(maturin_arguments)
    content = command.read_bytes()
    check_compatibility(name, content)
    share = "-".join(name.split("-")[:2]) + ".data/data/share"
    wheel = Path(wheel_directory) / name
    extend(wheel, {f"{share}/{path}": page for path, page in pages(command).items()}, {COMMAND: content})
    return name


def build_editable(
    wheel_directory: str,
    config_settings: Mapping[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Build a wheel that refers to the sources, among which the command is then put; returns its name."""
    name: str = build_bare_editable(wheel_directory, config_settings, metadata_directory)
    command = PYTHON / COMMAND
    command.parent.mkdir(exist_ok=True)
    command.unlink(missing_ok=True)  # it may run
    shutil.copy2(build_command(get_maturin_pep517_args(config_settings)), command)
    return name


def with_arguments(config_settings: Mapping[str, Any] | None, arguments: Sequence[str]) -> dict[str, Any]:
    """Settings of the build with these arguments for maturin."""
    return {**(config_settings or {}), "maturin.build-args": arguments}


def build_command(maturin_arguments: Sequence[str]) -> Path:
    """Build the Rust command with profile, features and target of the extension module; returns its path."""
    # Selected together with the module, both share what they are compiled from.
    words = ["cargo", "build", "--locked", "--package", "multihop-cli", "--package", "multihop-py"]
    words += ["--bin", "multihop"]
    words += ["--profile", option("--profile", maturin_arguments) or "release"]
    for name in ("--target", "--features"):
        if value := option(name, maturin_arguments):
            words += [name, value]
    words += ["--message-format", "json-render-diagnostics"]
    done = subprocess.run(words, stdout=subprocess.PIPE, check=True, cwd=PYTHON.parent)
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    (command,) = (message["executable"] for message in messages if message.get("executable"))
    return Path(command)


def option(name: str, arguments: Sequence[str]) -> str | None:
    """The value of an option, as `--name value` or `--name=value`."""
    for argument, following in zip_longest(arguments, arguments[1:]):
        if argument == name:
            return following
        if argument.startswith(f"{name}="):
            return argument.partition("=")[2]
    return None


def check_compatibility(wheel: str, command: bytes) -> None:
    """Raise an error if the command needs a newer C library than the name of the wheel promises."""
    promised = max((int(minor) for minor in re.findall(r"manylinux_2_(\d+)_", wheel)), default=None)
    needed = max((int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)", command)), default=0)
    if promised is not None and needed > promised:
        raise RuntimeError(f"the command needs glibc 2.{needed}, and {wheel} promises 2.{promised}")


def pages(command: Path) -> dict[str, bytes]:
    """Manual pages and completions of the command, for the folder `share` of an installation."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([command, "manual", folder], stdout=subprocess.DEVNULL, check=True)
        found = {f"man/man1/{page.name}": page.read_bytes() for page in sorted(Path(folder).iterdir())}
    for shell, path in COMPLETIONS.items():
        done = subprocess.run([command, "completions", shell], stdout=subprocess.PIPE, check=True)
        found[path] = done.stdout
    return found


def extend(wheel: Path, files: Mapping[str, bytes], programs: Mapping[str, bytes]) -> None:
    """Add files and executable programs to a wheel and to the list of its files."""
    longer = wheel.with_suffix(".part")
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(longer, "w", zipfile.ZIP_DEFLATED) as new:
        (listed,) = (name for name in old.namelist() if name.endswith(".dist-info/RECORD"))
        for entry in old.infolist():
            if entry.filename != listed:
                new.writestr(entry, old.read(entry), zipfile.ZIP_DEFLATED)
        rows = list(csv.reader(io.StringIO(old.read(listed).decode())))
        for name, content in {**files, **programs}.items():
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.external_attr = (0o100755 if name in programs else 0o100644) << 16
            new.writestr(entry, content, zipfile.ZIP_DEFLATED)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            rows.append([name, f"sha256={digest}", str(len(content))])
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        new.writestr(zipfile.ZipInfo(listed, EPOCH), text.getvalue(), zipfile.ZIP_DEFLATED)
    longer.replace(wheel)


PYTHON = Path(__file__).resolve().parents[2] / "python"
COMMAND = "multihop/bin/multihop"
"""Place of the Rust command in the package."""
COMPLETIONS = {
    "bash": "bash-completion/completions/multihop",
    "zsh": "zsh/site-functions/_multihop",
    "fish": "fish/vendor_completions.d/multihop.fish",
}
EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest time of an archive, so that the same files make the same wheel."""
