"""What was found in a training, each thing told once."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradwire.runtime.watch.reasons import Found


class Findings:
    """All of it, in the order in which it came up; told on standard error unless ``quiet``."""

    def __init__(self, *, quiet: bool, on_finding: Callable[[Found], None] | None) -> None:
        self.all: list[Found] = []
        self._quiet, self._on_finding = quiet, on_finding
        self._told: set[object] = set()

    def tell(self, found: Found) -> None:
        """Say it, unless it has been said."""
        key = found.trouble, found.parameters, found.written
        if key in self._told:
            return
        self._told.add(key)
        self.all.append(found)
        if not self._quiet:
            print(f"gradwire: {found}", file=sys.stderr, flush=True)
        if self._on_finding is not None:
            self._on_finding(found)
