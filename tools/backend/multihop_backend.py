"""Builds the package: maturin's wheel, and beside the command its manual pages and completions for shells.

The command itself writes these files, so that they agree with it. It must therefore run where it is built.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from maturin import (
    build_editable,
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
    # For other machines, too; maturin by itself makes a wheel for this machine only.
    arguments = ["--compatibility", "pypi", *get_maturin_pep517_args(config_settings)]
    settings = {**(config_settings or {}), "maturin.build-args": arguments}
    name: str = build_bare_wheel(wheel_directory, settings, metadata_directory)
    wheel = Path(wheel_directory) / name
    with tempfile.TemporaryDirectory() as scratch:
        with zipfile.ZipFile(wheel) as archive:
            module = archive.extract(MODULE, scratch)
        extra = share(Path(module), Path(scratch))
    data = "-".join(name.split("-")[:2]) + ".data/data/share"
    extend(wheel, {f"{data}/{path}": content for path, content in extra.items()})
    return name


def share(module: Path, scratch: Path) -> dict[str, bytes]:
    """What the command of an extension module writes for the folder `share` of an installation."""
    pages = scratch / "pages"
    command(module, "manual", str(pages))
    manual = {f"man/man1/{page.name}": page.read_bytes() for page in sorted(pages.iterdir())}
    return manual | {path: command(module, "completions", shell) for shell, path in COMPLETIONS.items()}


def command(module: Path, *arguments: str) -> bytes:
    """What the command prints."""
    done = subprocess.run([sys.executable, "-c", RUN, module, *arguments], stdout=subprocess.PIPE, check=True)
    return done.stdout


def extend(wheel: Path, files: Mapping[str, bytes]) -> None:
    """Add files to a wheel and to the list of its files."""
    longer = wheel.with_suffix(".part")
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(longer, "w", zipfile.ZIP_DEFLATED) as new:
        (listed,) = (name for name in old.namelist() if name.endswith(".dist-info/RECORD"))
        for entry in old.infolist():
            if entry.filename != listed:
                new.writestr(entry, old.read(entry), zipfile.ZIP_DEFLATED)
        rows = list(csv.reader(io.StringIO(old.read(listed).decode())))
        for name, content in files.items():
            new.writestr(zipfile.ZipInfo(name, EPOCH), content, zipfile.ZIP_DEFLATED)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            rows.append([name, f"sha256={digest}", str(len(content))])
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        new.writestr(zipfile.ZipInfo(listed, EPOCH), text.getvalue(), zipfile.ZIP_DEFLATED)
    longer.replace(wheel)


MODULE = "multihop/_core.abi3.so"
# Loads the module without the package around it, whose dependencies need not be there.
RUN = """
import sys
from importlib.util import module_from_spec, spec_from_file_location
spec = spec_from_file_location("multihop._core", sys.argv[1])
module = module_from_spec(spec)
spec.loader.exec_module(module)
sys.exit(module.main(["multihop", *sys.argv[2:]]))
"""
COMPLETIONS = {
    "bash": "bash-completion/completions/multihop",
    "zsh": "zsh/site-functions/_multihop",
    "fish": "fish/vendor_completions.d/multihop.fish",
}
EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest time of an archive, so that the same files make the same wheel."""
