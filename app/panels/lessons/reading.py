"""Texts of lessons as HTML: paragraphs, ``**bold**`` and `` `code` ``, and nothing else."""

from __future__ import annotations

import re
from html import escape

from gradwire.runtime.lessons import MARKED


def to_html(text: str) -> str:
    """A text of a lesson as HTML; blank lines part its paragraphs."""
    paragraphs = [part for part in re.split(r"\n\s*\n", text.strip()) if part]
    return "".join(f"<p>{line(part)}</p>" for part in paragraphs)


def line(text: str) -> str:
    """A text in one paragraph as HTML."""
    parts, at = [], 0
    for match in MARKED.finditer(text):
        parts.append(escape(text[at : match.start()]))
        bold, code = match[1], match[2]
        parts.append(f"<b>{line(bold)}</b>" if bold else f"<code>{escape(code)}</code>")
        at = match.end()
    return "".join([*parts, escape(text[at:])]).replace("\n", " ")
