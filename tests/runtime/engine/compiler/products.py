"""Sums of products in small parts."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

MODULE = importlib.import_module("gradwire.runtime.engine.compiler.products")
SMALL = {"PART": 1 << 11, "BLOCK": 1 << 12, "BESIDE": 2, "ALL": 3, "BOARD": 1 << 13, "CACHE": 1}


@contextmanager
def in_small_parts(**sizes: int) -> Iterator[None]:
    """All sums of some terms go in parts, in blocks of few tiles, of which few are laid at once."""
    with pytest.MonkeyPatch.context() as patch:
        for name, size in {**SMALL, **sizes}.items():
            patch.setattr(MODULE, name, size)
        MODULE.tiled.cache_clear()
        yield
    MODULE.tiled.cache_clear()
