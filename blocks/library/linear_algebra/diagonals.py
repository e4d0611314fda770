"""Triangles and diagonals of matrices, the last two axes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from gradwire.blocks.block import Block, Shape
from gradwire.blocks.elementwise import same_shape
from gradwire.blocks.errors import LimitError, ShapeError

if TYPE_CHECKING:
    from gradwire.blocks.symbolic import Namespace, Value

Offset = Annotated[int, Field(ge=-(2**31), le=2**31)]
LONGEST = 2**13
"""Rows or columns of a matrix that is filled from its diagonal or cut to a triangle."""


class _Diagonal(Block):
    """Base of blocks that count diagonals."""

    abstract: ClassVar[bool] = True
    family: ClassVar[str] = "linear_algebra"

    offset: Offset = 0
    """Which diagonal: 0 for the main one, above it 1, 2, …, below it -1, -2, …"""


class Triangle(_Diagonal):
    """One triangle of matrices, ``out[i, j] = x[i, j]`` up to a diagonal, else 0: (…, n, m).

    The diagonal is part of it. Raises ShapeError unless x has two axes, and LimitError for more
    than 8,192 rows or columns.
    """

    symbol: ClassVar[str] = "◣"
    formula: ClassVar[str] = r"y_{ij} = [j \le i + k] \, x_{ij}"

    part: Literal["lower", "upper"] = "lower"
    """lower: the elements on the diagonal and below; upper: on it and above."""

    def label(self) -> str:
        return "◣" if self.part == "lower" else "◥"

    def infer(self, inputs: Mapping[str, Shape | None], output: Shape | None) -> dict[str, Shape]:
        return {} if output is None else same_shape(inputs, output)

    def forward(self, xp: Namespace, x: Value) -> Value:
        rows, columns = _lengths(x)
        _require_length(rows, columns)
        lower = np.tri(rows, columns, self._limited(rows, columns), bool)
        if self.part == "upper":
            lower = ~np.tri(rows, columns, self._limited(rows, columns) - 1, bool)
        return xp.where(lower, x, xp.zeros_like(x))

    def _limited(self, rows: int, columns: int) -> int:
        return max(-rows, min(self.offset, columns))


class Diagonal(_Diagonal):
    """Diagonal of matrices, ``out[i] = x[i, i + offset]``: (…, n, m) gives (…, k).

    Raises ShapeError unless x has two axes.
    """

    symbol: ClassVar[str] = "xᵢᵢ"
    formula: ClassVar[str] = r"y_i = x_{i,\, i + k}"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return _diagonal(xp, x, self.offset)


class Trace(_Diagonal):
    """Sum of a diagonal, ``out = x[0, offset] + x[1, 1 + offset] + …``: (…, n, m) gives (…).

    Raises ShapeError unless x has two axes.
    """

    symbol: ClassVar[str] = "tr"
    formula: ClassVar[str] = r"y = \sum_i x_{i,\, i + k}"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.sum(_diagonal(xp, x, self.offset), axis=-1)


class DiagonalMatrix(_Diagonal):
    """Matrices that are 0 off a diagonal, ``out[i, i + offset] = x[i]``: (…, n) gives (…, m, m).

    m is n and the size of the offset. Raises ShapeError for a scalar, and LimitError for more than
    8,192 rows.
    """

    symbol: ClassVar[str] = "diag"
    formula: ClassVar[str] = r"y_{ij} = [j = i + k] \, x_i"

    def infer(self, inputs: Mapping[str, Shape | None], output: Shape | None) -> dict[str, Shape]:
        if output is None or len(output) < 2:
            return {}
        return same_shape(inputs, (*output[:-2], max(output[-1] - abs(self.offset), 0)))

    def forward(self, xp: Namespace, x: Value) -> Value:
        if x.ndim < 1:
            raise ShapeError("A scalar has no diagonal.", expected="(…, n)", got=str(x.shape))
        size = x.shape[-1] + abs(self.offset)
        _require_length(size)
        widths = [(0, 0)] * (x.ndim - 1) + [(0, abs(self.offset))]
        longer = xp.pad(x, widths)
        rows = xp.expand_dims(longer, -1 if self.offset >= 0 else -2)
        filled = xp.broadcast_to(rows, (*x.shape[:-1], size, size))
        return xp.where(np.eye(size, k=self.offset, dtype=bool), filled, xp.zeros_like(filled))


def _lengths(x: Value) -> tuple[int, int]:
    if x.ndim < 2:
        raise ShapeError("x is no matrix.", expected="(…, rows, columns)", got=str(x.shape))
    rows, columns = x.shape[-2:]
    return rows, columns


def _diagonal(xp: Namespace, x: Value, offset: int) -> Value:
    """Every m + 1st element of the rows one after another, m the number of columns."""
    rows, columns = _lengths(x)
    first = offset if offset >= 0 else -offset * columns
    count = max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)
    flat = xp.reshape(x, (*x.shape[:-2], rows * columns))
    stop = first + (count - 1) * (columns + 1) + 1 if count else first
    return flat[(..., slice(first, stop, columns + 1))]


def _require_length(*lengths: int) -> None:
    if max(lengths) > LONGEST:
        raise LimitError(
            "A matrix has too many rows or columns.",
            expected=f"at most {LONGEST:,}",
            got=f"{max(lengths):,}",
        )
