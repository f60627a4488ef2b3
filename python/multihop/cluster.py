"""Runs on a Dask cluster, whose workers need nothing but this package.

dask scheduler                        # on one machine
dask worker tcp://HOST:8786           # on the others
"""

from __future__ import annotations

import json
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from multihop import _core
from multihop.runs import Run, perform
from multihop.scenario import Request, toml_value

RETRIES = 3
"""A run that met a dying worker is tried again so often."""
FILES = ("topology.file", "mobility.file", "expected.table")
"""Keys of a scenario that name files."""


class ClusterError(RuntimeError):
    """A cluster that cannot do the work."""


@dataclass(frozen=True)
class Parcel:
    """A run and the files that it reads, by the names that it has for them there."""

    run: Run
    files: Mapping[str, bytes]


def lines(address: str, runs: Sequence[Run]) -> Iterator[str]:
    """What the runs found, as it comes."""
    try:
        from distributed import Client, as_completed
    except ImportError as error:
        raise ClusterError("dask is not installed: pip install 'multihop[cluster]'") from error
    try:
        client = Client(address, timeout="10s")
    except OSError as error:
        raise ClusterError(f"no Dask scheduler answers at {address}: {error}") from error
    with client:
        builds = client.run(_core.build)
        others = {worker: build for worker, build in builds.items() if build != _core.build()}
        if others:
            raise ClusterError(f"every worker must have the build {_core.build()}, found: {others}")
        keys = [f"multihop-{run.key}" for run in runs]
        parcels = [pack(run) for run in runs]
        futures = client.map(unpack, parcels, key=keys, retries=RETRIES)
        for _, line in as_completed(futures, with_results=True):
            yield line


def pack(run: Run) -> Parcel:
    """Take along the files that a scenario names; there they lie beside it."""
    request = run.request
    files: dict[str, bytes] = {}
    renamed: list[tuple[str, str]] = []
    for key in FILES:
        name = setting(request, key)
        if isinstance(name, str):
            path = Path(request.name).parent / name
            files[f"{key}{path.suffix}"] = path.read_bytes()
            renamed.append((key, toml_value(f"{key}{path.suffix}")))
    if not files:
        return Parcel(run, {})
    return Parcel(replace(run, request=request._replace(overrides=request.overrides + renamed)), files)


def unpack(parcel: Parcel) -> str:
    """Run a scenario among its files; a line for the journal."""
    request = parcel.run.request
    with tempfile.TemporaryDirectory(prefix="multihop-") as scratch:
        for name, content in parcel.files.items():
            (Path(scratch) / name).write_bytes(content)
        moved = request._replace(name=str(Path(scratch) / Path(request.name).name))
        return perform(replace(parcel.run, request=moved))


def setting(request: Request, key: str) -> Any:
    """The value of a key of the scenario; overrides come later and win."""
    for name, value in reversed(request.overrides):
        if name == key:
            return tomllib.loads(f"value = {value}")["value"]
    document: Any = json.loads(request.text) if request.format == "json" else tomllib.loads(request.text)
    for part in key.split("."):
        document = document.get(part) if isinstance(document, Mapping) else None
    return document
