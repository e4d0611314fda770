"""Few words for many things, as what shows itself at a prompt has them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

MOST = 6
"""Things that are named, at most."""
_LENGTH = 60
"""Characters of a name that are shown, at most."""


def counted(number: int, one: str, many: str = "") -> str:
    """``1 page``, ``1,200 blocks``."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def few(names: Collection[object], one: str, many: str = "") -> str:
    """``no loss``, ``loss a``, ``losses a, b and 7 more``."""
    if not names:
        return f"no {one}"
    shown = [str(name)[:_LENGTH] for name, _ in zip(names, range(MOST), strict=False)]
    more = f" and {len(names) - MOST:,} more" if len(names) > MOST else ""
    return f"{one if len(names) == 1 else many or f'{one}s'} {', '.join(shown)}{more}"


def lines(first: str, others: Sequence[str]) -> str:
    """A line, and a few further ones."""
    more = [f"  and {len(others) - MOST:,} more"] if len(others) > MOST else []
    return "\n".join([first, *(f"  {line}" for line in others[:MOST]), *more])
