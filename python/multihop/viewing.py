"""Pages that show a run in a browser."""

from __future__ import annotations

import html
import os
import sys
import tempfile
import webbrowser
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

from multihop.files import make_folder, write_text

__all__ = ["Page", "in_notebook"]


@dataclass(frozen=True)
class Page:
    """A page that simulates a run again: one file that needs no network."""

    text: str = field(repr=False)
    title: str

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


HEIGHT = 900
"""Of the page in a notebook, px."""
