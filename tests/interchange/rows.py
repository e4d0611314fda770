"""What the table of a system has: one row for each model or cut that is tried."""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """A model, whether all its numbers are those of the system, and what was measured."""

    name: str
    passed: bool
    detail: str
