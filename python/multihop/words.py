"""Suggestions for misspelt words."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def meant(word: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown word: `, did you mean 'hops'?`, or nothing."""
    names = {name.lower(): name for name in known}
    lower = word.lower()
    near = get_close_matches(lower, names, n=1, cutoff=0.7)
    longer = sorted((name for name in names if len(lower) > 2 and lower in name), key=len)
    return f", did you mean {names[found[0]]!r}?" if (found := near or longer) else ""
