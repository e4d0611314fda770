"""Text of a diagram in places where Qt reads markup: it shows as the characters it has.

Qt takes text that looks like HTML for HTML, and reads the files that its pictures name. It takes
``&`` in the text of an action for the mark of a key, and ``[*]`` in a title for a place.
"""

from __future__ import annotations

from html import escape


def tooltip(text: str) -> str:
    """HTML that shows ``text`` as it is, in lines that wrap; empty for an empty text."""
    return f'<div style="white-space: pre-wrap">{escape(text)}</div>' if text else ""


def unmarked(text: str) -> str:
    """``text`` for an action, a button or a label of a field: no key is marked in it."""
    return text.replace("&", "&&")


def window_title(text: str) -> str:
    """``text`` for a window's title: no place for the mark of changes is in it."""
    return text.replace("[*]", "[*][*]")
