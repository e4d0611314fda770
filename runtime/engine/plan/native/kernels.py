"""Compiled code, and the operations that it is made of."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

from gradwire.blocks.classes.dataclass import dataclass


class Operation(NamedTuple):
    """One primitive; ``operands`` are numbers that count the region's operands, then operations."""

    name: str
    dtype: str
    operands: tuple[int, ...]
    attributes: tuple[tuple[str, Hashable], ...] = ()


@dataclass(frozen=True)
class Kernel:
    """``call(frame, columns, start, stop)`` computes the rows from start to stop.

    ``frame`` points to a pair of int64 for every operand, result and fold, in the recipe's order:
    the address of row 0 and the bytes from row to row; and then for the tables of operands. Arrays
    must not overlap, elements of a row of results must be contiguous, and a fold has one float64
    per row.
    """

    call: Any
    _code: Any
    """Owns the machine code, so it must live as long as ``call``."""
