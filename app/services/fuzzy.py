"""Fuzzy matching: finds a line by a few of its letters."""

from __future__ import annotations

import re
from enum import IntEnum

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


class Match(IntEnum):
    """How a line matches, from worst to best."""

    LETTERS = 1
    """Its letters occur in order."""
    WORDS = 2
    """Its letters are beginnings of successive words."""
    PREFIX = 3
    """The line's own name begins with it."""
    WHOLE = 4
    """It is the line's own name."""


def match(sought: str, name: str, text: str) -> Match | None:
    """How ``sought`` matches a line with ``text`` that ends in ``name``; None if it does not.

    Case is ignored, and so are spaces other than those within a beginning of the name.
    """
    wanted, own = " ".join(sought.casefold().split()), name.casefold()
    if wanted == own:
        return Match.WHOLE
    if own.startswith(wanted):
        return Match.PREFIX
    words = re.findall(r"[^\W_]+", text.casefold())
    if _begins_words(wanted.replace(" ", ""), words):
        return Match.WORDS
    return None if score(sought, text) is None else Match.LETTERS


def _begins_words(letters: str, words: list[str]) -> bool:
    """Whether ``letters`` consist of beginnings of some of ``words``, in order."""
    reached = {0}  # how many letters the words so far can account for
    for word in words:
        for start in list(reached):
            for end in range(start + 1, min(len(letters), start + len(word)) + 1):
                if word[end - start - 1] != letters[end - 1]:
                    break
                reached.add(end)
    return len(letters) in reached
