"""Finding a line from a few of its letters."""

from __future__ import annotations

_START = 8
"""For a letter that begins a word."""
_NEXT = 5
"""For a letter right after the one before."""


def score(sought: str, text: str) -> int | None:
    """How well ``sought`` fits: its letters must stand in ``text`` in order; None if they don't.

    Letters that begin words and letters side by side count most; spaces don't count. Of equal
    fits the shorter text is better. Takes len(sought) × len(text) steps.
    """
    letters = "".join(sought.split()).casefold()
    folded = text.casefold()
    # best[i]: of the letters so far, the best score with the last of them at i
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
