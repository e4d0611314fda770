"""Names of the terms of repeating inputs: ``terms.2`` is the third of ``*terms``."""

from __future__ import annotations

import re

_INDEX = re.compile("0|[1-9][0-9]{0,8}")


def term_name(port: str, index: int) -> str:
    """The name of the term of a repeating port at an index: ``terms.2``."""
    return f"{port}.{index}"


def split_term(name: str) -> tuple[str, str]:
    """The repeating port and the index as text, which is empty for the name of a plain port."""
    port, _, index = name.partition(".")
    return port, index


def term_index(name: str, port: str) -> int | None:
    """The 2 of ``terms.2``; None if the name is not a term of the repeating port."""
    base, index = split_term(name)
    return int(index) if base == port and _INDEX.fullmatch(index) else None
