"""Pages that show a run in a browser."""

from __future__ import annotations

import html
import json
import os
import subprocess
import sys
import tempfile
import webbrowser
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import multihop._core as _core
from multihop._cli import COMMAND
from multihop.files import make_folder, write_text
from multihop.scenario import Request

__all__ = ["Page", "in_notebook"]


@dataclass(frozen=True)
class Page:
    """A page that simulates a run again: one file that needs no network."""

    text: str = field(repr=False)
    title: str

    @classmethod
    def of(cls, request: Request, result: Mapping[str, Any], title: str) -> Page:
        """Make the page of a run whose result is known, by `multihop view` of a folder with both."""
        if request.controllers:
            names = ", ".join(name for name, _, _ in request.controllers)
            raise _core.RunError(f"a page cannot run the controllers {names} in Python")
        run = {**request._asdict(), "json": request.format == "json"}
        del run["controllers"]
        with tempfile.TemporaryDirectory(prefix="multihop-") as scratch:
            folder = Path(scratch)
            (folder / "run.json").write_text(json.dumps(run), "utf-8")
            (folder / "result.json").write_text(json.dumps(result), "utf-8")
            try:
                done = subprocess.run([COMMAND, "view", folder], capture_output=True, text=True, check=False)
            except OSError as error:
                raise _core.RunError(f"cannot run {COMMAND}: {error.strerror}") from None
            if done.returncode != 0:
                kind = _core.ScenarioError if done.returncode == WRONG_INPUT else _core.RunError
                raise kind(done.stderr.strip().removeprefix("multihop: "))
            return cls((folder / "view.html").read_text("utf-8"), title)

    def write(self, path: str | PathLike[str]) -> Path:
        """Write the page and return its path."""
        target = Path(path)
        make_folder(target.parent)
        write_text(target, self.text)
        return target

    def open(self) -> Path:
        """Write the page into the folder for temporary files, and open it in the browser."""
        handle, name = tempfile.mkstemp(prefix="multihop-", suffix=".html")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(self.text)
        path = Path(name)
        webbrowser.open(path.as_uri())
        return path

    def _repr_html_(self) -> str:
        frame = f'<iframe title="{html.escape(self.title)}" srcdoc="{html.escape(self.text)}"'
        return f'{frame} style="width: 100%; height: {HEIGHT}px; border: 0"></iframe>'


def in_notebook() -> bool:
    """Whether a notebook shows what a cell returns."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


WRONG_INPUT = 2
"""Exit code of the command for scenarios that it refuses."""
HEIGHT = 900
"""Height of the page in a notebook, px."""
