"""Compiled code, and the operations that it is made of."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple, Protocol


class Operation(NamedTuple):
    """One primitive; ``operands`` are numbers that count the region's operands, then operations."""

    name: str
    dtype: str
    operands: tuple[int, ...]
    attributes: tuple[tuple[str, Hashable], ...] = ()


class Kernel(Protocol):
    """Machine code; a frame and an argument are what those who compiled it say."""

    place: int
    """The address of the code, which lives as long as this."""

    def __call__(self, frame: int, argument: int, start: int, stop: int) -> None:
        """Compute what is from start to stop; the frame is an address."""
