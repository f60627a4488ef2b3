"""The table of the quantities that built-in transports declare, from the rows of their tables in Rust."""

from __future__ import annotations

import re
from collections.abc import Iterator

import tree

SOURCES = tree.ROOT / "crates" / "multihop-transport" / "src"
# The tables of rows, by the transports that have them.
TABLES = {
    "TCP": "tcp/observed.rs",
    "TPA": "tpa/observed.rs",
    "`mesh`": "mesh/observed.rs",
    "ADTCP": "tcp/adtcp/observed.rs",
}
EVERYBODY = ["TCP", "TPA", "`mesh`"]
ROW = re.compile(r'\bRow::(\w+)\((?:\s*\[?"(\w+)"(?:, "(\w*)"\])?,\s*"([^"]+)")?')
CONSTANT = re.compile(r'pub const (\w+): &str = "(\w+)";')

# Name, unit and sentence of a quantity.
Quantity = tuple[str, str, str]


def table() -> str:
    """A row for each quantity: its name, its unit, the transports that have it, and what it is."""
    common = (SOURCES / "observe.rs").read_text(encoding="utf-8")
    having: dict[Quantity, list[str]] = {}
    for transport, path in TABLES.items():
        text = (SOURCES / path).read_text(encoding="utf-8")
        for quantity in quantities(text, common):
            having.setdefault(quantity, []).append(transport)
    rows = [
        f"| `{name}` | {unit} | {'all' if of == EVERYBODY else ', '.join(of)} | {about} |"
        for (name, unit, about), of in having.items()
    ]
    return "\n".join(["| `what` | unit | transports | meaning |", "|---|---|---|---|", *rows, ""])


def quantities(text: str, common: str) -> Iterator[Quantity]:
    """The quantities of a table of rows; `common` has the rows that several transports declare."""
    for method, name, unit, about in ROW.findall(text):
        yield (name, unit, about) if name else quantity_of(method, common)


def quantity_of(method: str, common: str) -> Quantity:
    """The quantity of a row that several transports declare."""
    body = common[common.index(f"pub const fn {method}(") :]
    body = body[: body.index("\n    }\n")]
    names = dict(CONSTANT.findall(common))
    about = re.search(r'"([A-Z][^"]*\.)"', body)
    name = re.search(r'(?:Self::\w+\(\s*\[?|name: )(?:([A-Z]+)|"(\w+)")', body)
    unit = re.search(r'(?:\w+"?, |\(unit, kind\) = \()"(\w*)"', body)
    if not about or not name:
        raise ValueError(f"Row::{method}: found no name and sentence")
    return names.get(name[1]) or name[2], unit[1] if unit else "", about[1]
