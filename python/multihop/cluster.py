"""Runs on a Dask cluster, whose workers need only this package.

dask scheduler                        # on one machine
dask worker tcp://HOST:8786           # on the others
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import multihop._core as _core
from multihop.scenario import Run, toml_value

RETRIES = 3
"""How often a run is repeated if its worker is lost."""


class ClusterError(RuntimeError):
    """The cluster cannot perform the runs."""


@dataclass(frozen=True)
class Parcel:
    """A run and the files that it reads, by their names on the worker."""

    run: Run
    files: Mapping[str, bytes]
    lists: bool = False
    """Whether the result has nodes, links and queues."""


def lines(address: str, runs: Sequence[Run], lists: bool = False) -> Iterator[str]:
    """Lines of a journal, in order of completion."""
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
        parcels = [replace(pack(run), lists=lists) for run in runs]
        futures = client.map(unpack, parcels, key=keys, retries=RETRIES)
        for _, line in as_completed(futures, with_results=True):
            yield line


def pack(run: Run) -> Parcel:
    """Add the files that a scenario refers to; on the worker they are in the run's folder."""
    files: dict[str, bytes] = {}
    renamed: list[tuple[str, str]] = []
    for key, name in _core.files(run.request):
        path = Path(name)
        files[f"{key}{path.suffix}"] = path.read_bytes()
        renamed.append((key, toml_value(f"{key}{path.suffix}")))
    request = run.request._replace(overrides=run.request.overrides + renamed)
    return Parcel(replace(run, request=request), files)


def unpack(parcel: Parcel) -> str:
    """Perform a run among its files; returns a line for the journal."""
    request = parcel.run.request
    with tempfile.TemporaryDirectory(prefix="multihop-") as scratch:
        for name, content in parcel.files.items():
            (Path(scratch) / name).write_bytes(content)
        moved = request._replace(name=str(Path(scratch) / Path(request.name).name))
        return replace(parcel.run, request=moved).perform(lists=parcel.lists)
