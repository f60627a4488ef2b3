"""Converts the forms of a scenario that a caller may pass into that of the simulator."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple

import multihop._core as _core
from multihop.controllers import Controller, Controllers, registered


class Request(NamedTuple):
    """A scenario in the form of the simulator."""

    text: str
    format: str
    name: str
    overrides: list[tuple[str, str]]
    controllers: tuple[Controller, ...] = ()
    """Congestion controls in Python that the scenario may name."""


Source = str | PathLike[str] | Mapping[str, Any] | Request | None
"""A TOML or JSON file, the name of an example, a scenario as a mapping or `Request`, or only settings."""


@dataclass(frozen=True)
class Run:
    """A scenario with its seed, and the key that identifies its run in a journal."""

    key: str
    request: Request

    @classmethod
    def of(cls, request: Request) -> Run:
        """Check a scenario; raises `ScenarioError` if it is invalid."""
        return cls(_core.key(request), request)

    def perform(self, *, lists: bool = False) -> str:
        """Simulate the run in this process; returns its line for a journal.

        With `lists`, the result has its nodes, links and queues. Raises `RunError` if the run fails.
        """
        return _core.perform(self.key, self.request, lists)


def request(source: Source, settings: Mapping[str, Any], controllers: Controllers | None = None) -> Request:
    """Read the source; settings become overrides, as `--set` on the command line."""
    asked = _request(source, settings)
    return asked._replace(controllers=registered(controllers)) if controllers else asked


def _request(source: Source, settings: Mapping[str, Any]) -> Request:
    if source is None:
        return Request("{}", "json", "scenario", overrides(settings))
    if isinstance(source, Request):
        return source._replace(overrides=[*source.overrides, *overrides(settings)])
    if isinstance(source, Mapping):
        return Request(json.dumps(source), "json", "scenario", overrides(settings))
    path = Path(fspath(source))
    if not path.exists() and (example := _core.example(str(path))) is not None:
        return Request(example, "toml", str(path), overrides(settings))
    kind = "json" if path.suffix == ".json" else "toml"
    return Request(path.read_text(encoding="utf-8"), kind, str(path), overrides(settings))


def overrides(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """`mac={"llc": True}` and `**{"mac.llc": True}` are both `mac.llc = true`."""
    return list(flatten(settings, ""))


def flatten(settings: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
    """Dotted keys and TOML values of nested mappings."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", toml_value(value)


def toml_value(value: object) -> str:
    """A Python value in TOML syntax."""
    match value:
        case bool() | str():
            return json.dumps(value, ensure_ascii=False)
        case int():
            return str(value)
        case float():
            return repr(float(value))
        case Mapping():
            return "{" + ", ".join(f"{json.dumps(str(k))} = {toml_value(v)}" for k, v in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(toml_value(v) for v in value) + "]"
        case PathLike():
            return json.dumps(fspath(value), ensure_ascii=False)
    if hasattr(value, "item"):  # a numpy scalar
        return toml_value(value.item())
    raise TypeError(
        f"{value!r} is a {type(value).__name__}; allowed: str, bool, int, float, list, mapping, path"
    )
