"""The same numbers in another shape, order or dtype."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar, Self

from pydantic import Field, model_validator

from gradwire.blocks.block import Block, Shape
from gradwire.blocks.elementwise import Elementwise, same_shape
from gradwire.blocks.errors import ShapeError
from gradwire.blocks.requirements import require_axis, require_integer
from gradwire.blocks.values import DType

if TYPE_CHECKING:
    from gradwire.blocks.symbolic import Namespace, Value

Length = Annotated[int, Field(ge=0)]
LengthOrRest = Annotated[int, Field(ge=-1)]


class Reshape(Block):
    """The same numbers in another shape, in row-major order; the size stays.

    Raises ShapeError where the size would change.
    """

    symbol: ClassVar[str] = "m×n"
    formula: ClassVar[str] = r"y = \operatorname{reshape}(x)"

    shape: tuple[LengthOrRest, ...] = (-1,)
    """Lengths of the new axes; one of them may be -1, which is what is left over."""

    @model_validator(mode="after")
    def _one_rest(self) -> Self:
        if self.shape.count(-1) > 1:
            raise ValueError("only one length can be -1")
        return self

    def label(self) -> str:
        return _lengths(self.shape)

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.reshape(x, self.shape)


class Flatten(Block):
    """Joins the axes from ``start`` on into one: (batch, …) gives (batch, n) from 1.

    A value of rank ``start`` gets a last axis of length 1. Raises ShapeError below that rank.
    """

    symbol: ClassVar[str] = "▭"
    formula: ClassVar[str] = r"y_{b,\, i} = x_{b,\, i_1 \dots i_n}"

    start: Annotated[int, Field(ge=0)] = 1
    """First axis to join; the ones before it stay."""

    def forward(self, xp: Namespace, x: Value) -> Value:
        if x.ndim < self.start:
            raise ShapeError(
                "Too few axes to flatten.", expected=f"rank {self.start} or more", got=str(x.shape)
            )
        rest = math.prod(x.shape[self.start :])
        return xp.reshape(x, (*x.shape[: self.start], rest))


class Transpose(Block):
    """Axes in another order, ``out[j, i] = x[i, j]``. Raises ShapeError where perm doesn't fit."""

    symbol: ClassVar[str] = "xᵀ"
    formula: ClassVar[str] = r"y = x^{\top}"

    perm: tuple[Length, ...] | None = None
    """The axis of x that each axis of the output is; null reverses the order."""

    @model_validator(mode="after")
    def _is_permutation(self) -> Self:
        if self.perm is not None and sorted(self.perm) != list(range(len(self.perm))):
            raise ValueError(f"perm {self.perm} is not a permutation of the axes")
        return self

    def label(self) -> str:
        return self.symbol if self.perm is None else f"ᵀ {_lengths(self.perm, ',')}"

    def infer(self, inputs: Mapping[str, Shape | None], output: Shape | None) -> dict[str, Shape]:
        if output is None or (self.perm is not None and len(self.perm) != len(output)):
            return {}
        perm = self.perm or tuple(reversed(range(len(output))))
        return same_shape(inputs, tuple(output[perm.index(axis)] for axis in range(len(perm))))

    def forward(self, xp: Namespace, x: Value) -> Value:
        perm = tuple(reversed(range(x.ndim))) if self.perm is None else self.perm
        return xp.permute_dims(x, perm)


class ExpandDims(Block):
    """A new axis of length 1: (2, 3) gives (2, 1, 3) at 1. Raises ShapeError out of range."""

    symbol: ClassVar[str] = "+dim"
    formula: ClassVar[str] = r"y_{i 1 j} = x_{i j}"

    axis: int = 0
    """Place of the new axis in the output, negative from the end."""

    def infer(self, inputs: Mapping[str, Shape | None], output: Shape | None) -> dict[str, Shape]:
        if not output or not -len(output) <= self.axis < len(output):
            return {}
        axis = self.axis % len(output)
        return same_shape(inputs, output[:axis] + output[axis + 1 :])

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.expand_dims(x, self.axis)


class Squeeze(Block):
    """Drops an axis of length 1: (2, 1, 3) gives (2, 3) at 1.

    Raises ShapeError where the axis has another length.
    """

    symbol: ClassVar[str] = "−dim"
    formula: ClassVar[str] = r"y_{i j} = x_{i 1 j}"

    axis: int = 0
    """Axis to drop, negative from the end."""

    def infer(self, inputs: Mapping[str, Shape | None], output: Shape | None) -> dict[str, Shape]:
        if output is None or not -len(output) - 1 <= self.axis <= len(output):
            return {}
        axis = self.axis % (len(output) + 1)
        return same_shape(inputs, (*output[:axis], 1, *output[axis:]))

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.squeeze(x, self.axis)


class Broadcast(Block):
    """Repeats x up to a shape, as arithmetic does; the gradient sums over the repeats.

    Raises ShapeError where x doesn't broadcast to it.
    """

    symbol: ClassVar[str] = "⇉"
    formula: ClassVar[str] = r"y_{ij} = x_j"

    shape: tuple[Length, ...] = ()
    """Lengths of the axes of the output."""

    def label(self) -> str:
        return _lengths(self.shape)

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.broadcast_to(x, self.shape)


class Flip(Elementwise):
    """Elements in reverse order along axes. Raises ShapeError where x has no such axis."""

    symbol: ClassVar[str] = "↔"
    formula: ClassVar[str] = r"y_i = x_{n - 1 - i}"

    axis: int | tuple[int, ...] | None = None
    """Axis or axes to reverse, negative from the end; null for all of them."""

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.flip(x, axis=self.axis)


class Sort(Elementwise):
    """Elements in order along an axis; equal ones keep theirs. The gradient follows them.

    Raises ShapeError where x has no such axis.
    """

    symbol: ClassVar[str] = "sort"
    formula: ClassVar[str] = r"y_1 \le y_2 \le \dots"

    axis: int = -1
    """Axis along which to sort, negative from the end."""
    descending: bool = False
    """Largest first."""

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.sort(x, axis=self.axis, descending=self.descending)


class ArgSort(Elementwise):
    """Indices that sort along an axis, int64; equal elements keep their order.

    Piecewise constant: no gradient. Raises ShapeError where x has no such axis.
    """

    symbol: ClassVar[str] = "sort#"
    formula: ClassVar[str] = r"x_{y_1} \le x_{y_2} \le \dots"

    axis: int = -1
    """Axis along which to sort, negative from the end."""
    descending: bool = False
    """Largest first."""

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.argsort(x, axis=self.axis, descending=self.descending)


class TopK(Block):
    """The k largest along an axis, largest first, and their indices, int64; or the k smallest.

    Of equal elements the first is taken first. The gradient follows the values; the indices have
    none. Raises ShapeError where x has no such axis, or one shorter than k.
    """

    symbol: ClassVar[str] = "topₖ"
    formula: ClassVar[str] = r"y_1 \ge \dots \ge y_k \ge x_i"
    outputs: ClassVar[tuple[str, ...]] = ("values", "indices")

    k: Annotated[int, Field(ge=1)] = 1
    """How many."""
    axis: int = -1
    """Axis along which they are taken, negative from the end."""
    largest: bool = True
    """The largest; else the smallest, smallest first."""

    def label(self) -> str:
        return f"{'top' if self.largest else 'least'} {self.k}"

    def forward(self, xp: Namespace, x: Value) -> tuple[Value, Value]:
        axis = require_axis(x, self.axis)
        if x.shape[axis] < self.k:
            raise ShapeError(
                f"Axis {self.axis} has fewer elements than are taken.",
                expected=f"{self.k} or more",
                got=str(x.shape[axis]),
            )
        order = xp.argsort(x, axis=axis, descending=self.largest)
        lengths = (*x.shape[:axis], self.k, *x.shape[axis + 1 :])
        indices = xp.slice_(order, (0,) * x.ndim, lengths)
        return xp.take_along_axis(x, indices, axis), indices


class OneHot(Block):
    """1 at the index, 0 elsewhere, on a new last axis: (…) gives (…, depth).

    An index outside [0, depth) gives zeros. No gradient. Raises DTypeError unless indices are
    integers.
    """

    symbol: ClassVar[str] = "1ₖ"
    formula: ClassVar[str] = r"y_{i k} = [x_i = k]"

    depth: Annotated[int, Field(ge=1)] = 2
    """Length of the new axis: the number of classes."""
    dtype: DType = "float32"
    """Dtype of the output."""

    def infer(self, inputs: Mapping[str, Shape | None], output: Shape | None) -> dict[str, Shape]:
        return same_shape(inputs, output[:-1]) if output else {}

    def forward(self, xp: Namespace, indices: Value) -> Value:
        require_integer(indices, "indices")
        return xp.one_hot(indices, self.depth, self.dtype)


class Cast(Elementwise):
    """The same numbers in another dtype, as far as it holds them.

    Gradient passes from float to float, in the dtype of x; to integers or booleans it doesn't.
    """

    symbol: ClassVar[str] = "cast"
    formula: ClassVar[str] = r"y = x"

    dtype: DType = "float32"
    """Dtype of the output. Integers cut towards 0, booleans are ``x != 0``."""

    def label(self) -> str:
        return self.dtype

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.astype(x, self.dtype)


def _lengths(lengths: tuple[int, ...], separator: str = "×") -> str:
    return separator.join("?" if n < 0 else str(n) for n in lengths) or "( )"
