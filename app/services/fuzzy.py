"""Fuzzy matching: finds a line by a few of its letters."""

from __future__ import annotations

_START = 8
"""Bonus for a letter at the start of a word."""
_NEXT = 5
"""Bonus for a letter directly after the previous match."""


def score(sought: str, text: str) -> int | None:
    """How well ``sought`` matches: its letters must occur in ``text`` in order; None otherwise.

    Letters at the start of words and adjacent letters score more; spaces are ignored. Of equal
    matches the shorter text wins. Takes len(sought) × len(text) steps.
    """
    letters = "".join(sought.split()).casefold()
    folded = text.casefold()
    # best[i]: the best score of the letters so far with the last one matched at i
    best: list[int | None] = [0] * len(folded)
    for count, letter in enumerate(letters):
        reached: int | None = None
        row: list[int | None] = [None] * len(folded)
        for i, other in enumerate(folded):
            before = best[i - 1] if i and count else None
            if before is not None and (reached is None or before > reached):
                reached = before
            if other != letter:
                continue
            bonus = _START if i == 0 or not folded[i - 1].isalnum() else 0
            options = [reached] if count else [0]
            if count and before is not None:
                options.append(before + _NEXT)
            known = [option for option in options if option is not None]
            row[i] = max(known) + bonus if known else None
        best = row
    found = [value for value in best if value is not None]
    return 100 * max(found) - len(text) if found else None
