"""Recognises MXNet symbols by their content."""

from __future__ import annotations

import re
from pathlib import Path

_MARKS = (rb'"nodes"\s*:\s*\[', rb'"op"\s*:\s*"', rb'"inputs"\s*:\s*\[')


def is_mxnet(head: bytes, path: Path) -> bool:
    """Whether a file that begins with ``head`` may be the symbol of an MXNet network."""
    start = head.lstrip()
    return start.startswith(b"{") and all(re.search(mark, head) for mark in _MARKS)
