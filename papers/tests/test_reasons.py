"""Every claim that does not hold says why, with what shows it; texts that carry numbers are computed."""

import json
import re
from pathlib import Path

from multihop_papers import index
from multihop_papers.catalogue import EXPERIMENTS
from multihop_papers.declare import VALIDATION
from multihop_papers.explanations import Explained
from multihop_papers.index import NAME
from multihop_papers.papers import findings
from multihop_papers.reasons import Kind, Reason
from multihop_papers.verdicts import NOT_HELD

PAPERS = [one for one in EXPERIMENTS if one.paper != VALIDATION]
INDEX = Path(__file__).parents[2] / "docs/papers" / NAME
UNITS = r"%|kb/s|Mb/s|ms\b|s\b|m/s|m\b|kB|segments|packets|times|timeouts|losses|samples"
MOST_NOT_KNOWN = 5
MOST_UNEXPLAINED = 5
MEASURED = re.compile(rf"[\d.,]*\d(?: (?:to|and) [\d.]+)? ?(?:{UNITS})")


def _reasons() -> list[Reason]:
    return [claim.reason for one in PAPERS for claim in one.claims if claim.reason is not None]


def test_reasons_name_what_shows_them() -> None:
    known = {one.id for one in EXPERIMENTS}
    for reason in _reasons():
        by_text = (None, Kind.NOT_KNOWN, Kind.NOT_KNOWABLE)
        assert bool(reason.shown) == (reason.kind not in by_text), reason.text
        for shown in reason.shown:
            assert shown.startswith("multihop ") or shown.split(":")[0] in known, shown


def test_findings_with_numbers_are_computed() -> None:
    static = {name: text for name, text in vars(findings).items() if name.isupper() and isinstance(text, str)}
    assert {name: MEASURED.findall(text) for name, text in static.items() if MEASURED.search(text)} == {}


def test_every_claim_that_is_not_held_has_a_kind() -> None:
    """Pages are written less often than declarations, whose reasons come first."""
    declared = {(one.id, claim.text): claim.reason for one in PAPERS for claim in one.claims}
    rows = [row for one in json.loads(INDEX.read_text("utf-8")) for row in one["verdicts"]]
    kinds = {}
    for row in rows:
        if row["verdict"] == NOT_HELD:
            claim = (row["experiment"], row["claim"])
            reason = declared.get(claim)
            kinds[claim] = row.get("reason", "") if reason is None else reason.kind
    assert [claim for claim, kind in kinds.items() if not kind] == []
    assert list(kinds.values()).count(Kind.NOT_KNOWN) <= MOST_NOT_KNOWN


def test_claims_that_are_not_held_are_explained() -> None:
    records = index.read(INDEX.parent)
    before = [dict(row) for one in records for row in one.verdicts]
    index.explain_all(records)
    after = [row for one in records for row in one.verdicts]
    assert [row.get("explanation") for row in before] == [row["explanation"] for row in after], (
        "the pages are old"
    )
    unexplained = [(row["experiment"], row["claim"]) for row in after if row["explanation"] == Explained.NOT]
    assert len(unexplained) <= MOST_UNEXPLAINED, unexplained
