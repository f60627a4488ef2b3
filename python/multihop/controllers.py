"""Congestion controls in Python: their names in scenarios, and the files that contain them."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import sys
from collections.abc import Mapping
from pathlib import Path

from multihop._core import CongestionControl

Controller = tuple[str, str, type[CongestionControl]]
"""Name, version and class. The version is part of the keys of runs in journals."""

Controllers = Mapping[str, type[CongestionControl]]
"""The classes that scenarios may name as transports, by these names."""


def registered(controllers: Controllers | None) -> tuple[Controller, ...]:
    """The controllers in the form of the simulator."""
    return tuple((name, version(control), control) for name, control in (controllers or {}).items())


def version(control: type[CongestionControl]) -> str:
    """The attribute `version` of a controller, or a hash of the source files of the class and its bases.

    A class without source, as in an interactive session, has the hash of its name.
    """
    if (given := getattr(control, "version", None)) is not None:
        return str(given)
    text = f"{control.__module__}.{control.__qualname__}"
    for base in inspect.getmro(control):
        if base in (CongestionControl, object):
            continue
        try:
            text += Path(inspect.getsourcefile(base) or "").read_text("utf-8")
        except (OSError, TypeError):
            text += base.__qualname__
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def of_file(path: Path) -> tuple[str, type[CongestionControl]]:
    """The name and the class of the controller in a Python file: the last class that the file defines.

    The name is that of the file, without its suffix and with hyphens. Raises `ValueError` if the file has no
    class.
    """
    # `version` finds the source by `sys.modules`: the module stays there, under a name of this place.
    place = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:8]
    name = f"multihop_controller_{path.stem}_{place}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"found {path}, allowed: a file with the suffix .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
        found = [
            value
            for value in vars(module).values()
            if isinstance(value, type) and issubclass(value, CongestionControl) and value.__module__ == name
        ]
        if not found:
            raise ValueError(f"{path} defines no class of multihop.CongestionControl")
    except BaseException:
        del sys.modules[name]
        raise
    return path.stem.replace("_", "-"), found[-1]
