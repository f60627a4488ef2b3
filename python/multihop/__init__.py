"""Simulation of reliable transport over multi-hop wireless networks.

>>> import multihop
>>> result = multihop.run(
...     duration=60,
...     warmup=10,
...     topology={"kind": "chain", "hops": 4},
...     routing={"protocol": "static"},
...     flow=[{"app": "ftp", "transport": "newreno"}],
... )
>>> result.totals["goodput_kbps"] > 0
True
"""

from __future__ import annotations

import sys
from importlib import import_module

TYPE_CHECKING = False  # as in `typing`, which need not be imported
if TYPE_CHECKING:
    from multihop import lab, messages, report, theme
    from multihop._core import (
        Ack,
        CongestionControl,
        RateSample,
        RunError,
        ScenarioError,
        Window,
        build,
        build_profile,
    )
    from multihop.results import Result, read_series, read_trace
    from multihop.running import check, run, run_all, schema
    from multihop.stats import Interval, batch_means, interval
    from multihop.sweeping import Sweep, sweep

    __version__: str

__all__ = [
    "Ack",
    "CongestionControl",
    "Interval",
    "RateSample",
    "Result",
    "RunError",
    "ScenarioError",
    "Sweep",
    "Window",
    "__version__",
    "batch_means",
    "build",
    "build_profile",
    "check",
    "interval",
    "lab",
    "messages",
    "read_series",
    "read_trace",
    "report",
    "run",
    "run_all",
    "schema",
    "sweep",
    "theme",
]

_MODULES = {
    "Ack": "_core",
    "CongestionControl": "_core",
    "Interval": "stats",
    "RateSample": "_core",
    "Result": "results",
    "RunError": "_core",
    "ScenarioError": "_core",
    "Sweep": "sweeping",
    "Window": "_core",
    "batch_means": "stats",
    "build": "_core",
    "build_profile": "_core",
    "check": "running",
    "interval": "stats",
    "read_series": "results",
    "read_trace": "results",
    "run": "running",
    "run_all": "running",
    "schema": "running",
    "sweep": "sweeping",
}
"""The module of each public name, which is imported at its first use: the command starts without NumPy."""

_SUBMODULES = ("lab", "messages", "report", "theme")
"""Public modules, which are also imported at their first use."""


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


if not TYPE_CHECKING:  # type checkers report names that do not exist

    def __getattr__(name: str) -> object:
        if name == "__version__":
            value = import_module("multihop._core").version()
        elif name in _MODULES:
            value = getattr(import_module(f"multihop.{_MODULES[name]}"), name)
        elif name in _SUBMODULES:
            value = import_module(f"multihop.{name}")
        else:
            # Python suggests a name of the object that resembles an unknown one.
            raise AttributeError(
                f"module {__name__!r} has no attribute {name!r}", name=name, obj=sys.modules[__name__]
            )
        globals()[name] = value
        return value
