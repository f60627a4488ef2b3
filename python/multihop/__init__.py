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

from multihop._core import RunError, ScenarioError, build_profile, version
from multihop.results import Result, read_series, read_trace
from multihop.running import check, run, run_all, schema
from multihop.stats import Interval, batch_means, interval
from multihop.sweeping import Sweep, sweep

__version__ = version()

__all__ = [
    "Interval",
    "Result",
    "RunError",
    "ScenarioError",
    "Sweep",
    "__version__",
    "batch_means",
    "build_profile",
    "check",
    "interval",
    "read_series",
    "read_trace",
    "run",
    "run_all",
    "schema",
    "sweep",
]
