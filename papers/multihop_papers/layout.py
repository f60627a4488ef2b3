"""The order of a page of results: the answer, cards of claims, one figure, the setting, the command.

Everything else of a section, such as tables of all values, is folded. `rewrite` brings the pages of a folder
into this order, and writes their answers and the findings of their figures anew, from the index and the
numbers beside the pages. It needs no runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from multihop.files import write_text
from multihop_papers import headlines, index, recorded
from multihop_papers.catalogue import EXPERIMENTS
from multihop_papers.freshness import OLDER
from multihop_papers.index import Record
from multihop_papers.recorded import Recorded
from multihop_papers.verdicts import HELD, NOT_DECIDED, NOT_HELD, NOT_RUN

SECTION = re.compile(r'(?=<a id="[\w-]+"></a>)')
ANCHOR = re.compile(r'<a id="([\w-]+)"></a>')
CLAIMS = re.compile(r"\* (HELD|NOT )")
CLAIM = re.compile(r"\* ([A-Z]+(?: [A-Z]+)?)(?: \([^)]*\))?: (.*?)(?: \(|$)")
PLOT = re.compile(
    r"(?P<head><!-- figure \S+-(?P<number>\d+)\.svg -->\n\[[^\]]*\]\([^)]*\)): (?P<caption>.*)", re.DOTALL
)
FINDING = re.compile(r"\*\*.*?\*\* ", re.DOTALL)
OPENED = '<details markdown="1">\n<summary>All tables and figures</summary>'
CLOSED = "</details>"
SETTING = "**Setting.** "
NOT_STATED = "What the paper does not state:"
TITLES = {
    "across-papers": "Every transport and routing protocol on the networks of all papers",
    "adtcp": "ADTCP: does it tell congestion from losses?",
    "apdr": "APDR: do routes by delay help?",
    "apdr-settings": "APDR: which settings has the report left open?",
    "elfn": "ELFN: do notices of broken links help TCP?",
    "gauntlet": "Every transport in networks that are difficult",
    "radios-of-today": "The papers' transports with radios of today",
    "tcp-ap": "TCP-AP: does pacing by the path help?",
    "tpa": "TPA: does a window of two or three segments help?",
    "unstated": "Settings that the papers do not state",
    "bianchi": "Is the saturation throughput of a cell right?",
    "chain": "Do chains of 802.11 stations deliver what theory allows?",
    "edca": "Do urgent categories get their share of the channel?",
    "hwmp": "Does HWMP find the path of least airtime?",
    "mobile": "Do routing protocols find routes among moving nodes?",
    "ns2": "Do the simulator and ns-2 agree?",
    "ofdm": "Are the rates of 802.11a, g and n right?",
    "olsrv2": "Does OLSRv2 find routes as OLSR does?",
    "one-hop": "Is one frame exchange right to the microsecond?",
    "pacing": "What does the pacing of TCP-AP change?",
    "pacing-options": "Which options of pacing matter?",
    "placements": "Are random placements as random as they should be?",
    "propagation": "Do signals fade with distance as the models state?",
    "rates": "Does rate control choose good rates?",
    "stationarity": "Do moving nodes begin as they go on?",
    "wires": "Do wires and their queues behave as models predict?",
    "babel": "Does Babel choose good routes?",
    "emulation": "Do real programs over the emulation agree with the simulator?",
    "linux": "Do Linux's Wi-Fi stack and the simulator agree?",
}
"""Titles of pages by their names; other pages keep their titles."""


@dataclass
class Parts:
    """Parts of a section, in the order in which a page has them."""

    anchor: str
    heading: str
    older: list[str] = field(default_factory=list)
    claims: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    figure: list[str] = field(default_factory=list)
    """The first figure, which is not folded."""
    setting: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    folded: list[str] = field(default_factory=list)
    """Further figures, tables and texts."""


def rewrite(folder: Path, names: Iterable[str] = ()) -> list[Path]:
    """Bring pages of a folder into order, by default all that its index has; returns their paths."""
    records = {one.id: one for one in index.read(folder)}
    chosen = set(names) or {one.page for one in records.values()}
    known = {one.id: one for one in EXPERIMENTS}
    studies = {
        name: study
        for name, one in records.items()
        if name in known and one.page in chosen and (study := recorded.read(folder, known[name], one))
    }
    paths = [path for name in sorted(chosen) if (path := folder / f"{name}.md").is_file()]
    for path in paths:
        write_text(path, page(path.stem, path.read_text("utf-8"), records, studies))
    return paths


def page(name: str, text: str, records: dict[str, Record], studies: dict[str, Recorded]) -> str:
    """The text of a page with its sections in order, below an answer and a list of the sections."""
    head, *found = SECTION.split(text)
    title = f"# {TITLES[name]}" if name in TITLES else head.split("\n\n", 1)[0].strip()
    sections = [parts(one) for one in found]
    of_page = [records[one.anchor] for one in sections if one.anchor in records]
    contents = [
        f"* [{one.heading.removeprefix('## ')}](#{one.anchor}): {count(records[one.anchor])}"
        for one in sections
        if one.anchor in records
    ]
    top = [title, summary(of_page), *(["\n".join(contents)] if len(contents) > 1 else [])]
    whole = [section(one, records.get(one.anchor), studies.get(one.anchor)) for one in sections]
    return "\n\n".join([*filter(None, top), *whole]) + "\n"


def parts(text: str) -> Parts:
    """The parts of a section, in either order: as an experiment is reported, or as `section` writes it."""
    anchor, heading, *blocks = _blocks(text)
    found = ANCHOR.match(anchor)
    result = Parts(found[1] if found else "", _title(heading))
    in_order = OPENED in blocks or any(block.startswith(SETTING) for block in blocks)
    rest = [block for block in blocks if not _is_found(result, block)]
    (_in_order if in_order else _as_reported)(result, rest)
    return result


def _is_found(result: Parts, block: str) -> bool:
    """Take a block that both orders have; false for other blocks. The list of claims stays in place, too."""
    for begins, part in ((OLDER, result.older), ("```\nmultihop papers ", result.command)):
        if block.startswith(begins):
            part.append(block)
            return True
    return False


def _in_order(result: Parts, blocks: Sequence[str]) -> None:
    """Sort the blocks of a section that `section` has written."""
    place = result.reasons
    for block in blocks:
        if CLAIMS.match(block):
            result.claims.append(block)
        elif block == OPENED:
            place = result.folded
        elif block.startswith(SETTING):
            place = result.setting
            place.append(block.removeprefix(SETTING))
        elif block.startswith("<!-- figure ") and place is not result.folded:
            result.figure.append(block)
        elif block != CLOSED and not (place is result.reasons and _is_answer(block)):
            place.append(block)


def _as_reported(result: Parts, blocks: Sequence[str]) -> None:
    """Sort the blocks of a section as an experiment is reported: setting, results, claims, reasons."""
    place = result.setting
    for block in blocks:
        if CLAIMS.match(block):
            result.claims.append(block)
            place = result.reasons
        elif block.startswith("<!-- figure ") and not result.figure:
            result.figure.append(block)
            place = result.folded
        else:
            if block.startswith(("| ", "![", "<!-- figure ")) or block == NOT_STATED:
                if place is result.setting and block.startswith("| ") and result.setting[1:]:
                    # The caption of the table.
                    result.folded.append(result.setting.pop())
                place = result.folded
            place.append(block)


def _blocks(text: str) -> Iterator[str]:
    """Blocks between empty lines; lines of code stay together."""
    open_block = ""
    for block in text.strip().split("\n\n"):
        open_block = f"{open_block}\n\n{block}" if open_block else block
        if open_block.count("```") % 2 == 0:
            yield open_block
            open_block = ""


def _title(heading: str) -> str:
    """A heading without the ID in front of it, which the command has."""
    words = re.sub(r"^## [\w-]+: ", "", heading).removeprefix("## ")
    return f"## {words[:1].upper()}{words[1:]}"


def _is_answer(block: str) -> bool:
    return block.startswith("**") and block.endswith("**")


def section(one: Parts, record: Record | None, study: Recorded | None) -> str:
    """The text of a section in the order of a page."""
    figures = [*one.figure, *one.folded]
    figures = [_with_finding(block, study) for block in figures]
    shown, folded = figures[: len(one.figure)], figures[len(one.figure) :]
    rows = (record.verdicts if record else []) or _rows(one.claims)
    answered = answer(rows, study) or _searched(record) or headlines.of_tables(folded) or NO_CLAIMS
    setting = [f"{SETTING}{one.setting[0]}", *one.setting[1:]] if one.setting else []
    hidden = [OPENED, *folded, CLOSED] if folded else []
    blocks = [
        f'<a id="{one.anchor}"></a>',
        one.heading,
        *([f"**{answered}**"] if answered else []),
        *one.older,
        *one.claims,
        *one.reasons,
        *shown,
        *setting,
        *one.command,
        *hidden,
    ]
    return "\n\n".join(blocks)


def answer(verdicts: Sequence[Mapping[str, str]], study: Recorded | None) -> str:
    """One sentence with the answer of an experiment: from its claims, or from its first figure."""
    rows = [row for row in verdicts if row["verdict"] != NOT_RUN]
    if not rows:
        return _escaped(headlines.of_study(study)) if study else ""
    by = {kind: [row["claim"] for row in rows if row["verdict"] == kind] for kind in ORDER}
    word = next(kind for kind in (NOT_HELD, NOT_DECIDED, HELD) if by[kind])
    claim = _escaped(by[word][0])
    if len(rows) == 1:
        return f"{word.capitalize()}: {claim}."
    if len(by[HELD]) == len(rows):
        return f"{'Both' if len(rows) == 2 else f'All {len(rows)}'} claims hold. The first: {claim}."
    start = _held(len(by[HELD]), len(rows))
    others = [f"{len(by[kind])} {kind}" for kind in ORDER[1:] if by[kind]]
    if others == [f"1 {word}"]:
        return f"{start}. {word.capitalize()}: {claim}."
    return f"{start} ({', '.join(others)}). The first {word}: {claim}."


def _rows(claims: Sequence[str]) -> list[dict[str, str]]:
    """Verdicts and claims of a page whose index has none."""
    found = [CLAIM.match(line) for block in claims for line in block.splitlines()]
    return [{"verdict": one[1].lower(), "claim": one[2]} for one in found if one is not None]


def _searched(record: Record | None) -> str:
    """How many claims of another experiment hold under other values of settings."""
    held = [row for row in (record.searched if record else []) if row["verdict"] == HELD]
    if not held:
        return ""
    number = len({row["claim"] for row in held})
    start = "One claim holds" if number == 1 else f"{number} claims hold"
    return f"{start} under another value of a setting, such as {_escaped(held[0]['setting'])}."


NO_CLAIMS = "The tables have the numbers; the experiment has no claims."
ORDER = (HELD, NOT_HELD, NOT_DECIDED)


def _with_finding(block: str, study: Recorded | None) -> str:
    """A figure with its finding in front of the caption."""
    found = PLOT.fullmatch(block)
    if found is None:
        return block
    plots = study.experiment.plots if study else ()
    number = int(found["number"]) - 1
    finding = headlines.of_plot(study, plots[number]) if study and number < len(plots) else ""
    caption = FINDING.sub("", found["caption"], count=1)
    return f"{found['head']}: {f'**{_escaped(finding)}** ' if finding else ''}{caption}"


def summary(records: Sequence[Record]) -> str:
    """One sentence with the answer of a page."""
    rows = [row for one in records for row in one.verdicts if row["verdict"] != NOT_RUN]
    if not rows:
        number = sum(map(_elsewhere, records))
        return f"**{number} claims hold under another value of a setting.**" if number else ""
    held = sum(row["verdict"] == HELD for row in rows)
    if held == len(rows):
        start = {1: "The claim holds", 2: "Both claims hold"}.get(held, f"All {held} claims hold")
        return f"**{start}.**"
    others = [
        f"{count} {'is' if count == 1 else 'are'} {kind}"
        for kind in (NOT_HELD, NOT_DECIDED)
        if (count := sum(row["verdict"] == kind for row in rows))
    ]
    return f"**{_held(held, len(rows))}; {' and '.join(others)}.**"


def _held(number: int, claims: int) -> str:
    """How many of several claims hold."""
    if number == 0:
        return "Neither claim holds" if claims == 2 else f"None of the {claims} claims holds"
    return f"{number} of {claims} claims {'holds' if number == 1 else 'hold'}"


def count(record: Record) -> str:
    """How many claims of an experiment have which verdict."""
    if number := _elsewhere(record):
        return f"{number} held under another value of a setting"
    return index.counted(record.verdicts) if record.verdicts else "numbers without claims"


def _elsewhere(record: Record) -> int:
    """Number of claims of another experiment that hold under some value of a setting."""
    return len({row["claim"] for row in record.searched if row["verdict"] == HELD})


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")
