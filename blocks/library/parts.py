"""Parts taken out of arrays or written into them, and arrays joined or padded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from gradwire.blocks.block import Block, Shape
from gradwire.blocks.elementwise import same_shape, sibling_shape
from gradwire.blocks.errors import ShapeError
from gradwire.blocks.requirements import require_axis, require_integer

if TYPE_CHECKING:
    from gradwire.blocks.symbolic import Namespace, Value

Length = Annotated[int, Field(ge=0)]
Step = Annotated[int, Field(ge=1)]


class Concat(Block):
    """Parts one after another along an axis: (2, 3) and (2, 4) give (2, 7) at 1.

    The parts have equal lengths on the other axes. Raises ShapeError where they don't, or
    without a part.
    """

    symbol: ClassVar[str] = "[a b]"
    formula: ClassVar[str] = r"y = [x_0, x_1, \dots]"

    axis: int = 0
    """Axis along which they are joined, negative from the end."""

    def infer(self, inputs: Mapping[str, Shape | None], output: Shape | None) -> dict[str, Shape]:
        known = [shape for shape in inputs.values() if shape is not None]
        alike = output is not None and all(len(shape) == len(output) for shape in known)
        if output is None or not alike or len(known) != len(inputs) - 1:
            return {}
        if not -len(output) <= self.axis < len(output):
            return {}
        axis = self.axis % len(output)
        rest = output[axis] - sum(shape[axis] for shape in known)
        return same_shape(inputs, (*output[:axis], rest, *output[axis + 1 :])) if rest >= 0 else {}

    def forward(self, xp: Namespace, *parts: Value) -> Value:
        _require_parts(parts)
        return xp.concat(parts, axis=self.axis)


class Stack(Block):
    """Parts of one shape along a new axis: (3,) and (3,) give (2, 3) at 0.

    Raises ShapeError where the shapes differ, or without a part.
    """

    symbol: ClassVar[str] = "☰"
    formula: ClassVar[str] = r"y_{k i} = x^{(k)}_i"

    axis: int = 0
    """Place of the new axis in the output, negative from the end."""

    def infer(self, inputs: Mapping[str, Shape | None], output: Shape | None) -> dict[str, Shape]:
        shape = sibling_shape(inputs)
        if shape is None and output and -len(output) <= self.axis < len(output):
            axis = self.axis % len(output)
            shape = output[:axis] + output[axis + 1 :]
        return {} if shape is None else same_shape(inputs, shape)

    def forward(self, xp: Namespace, *parts: Value) -> Value:
        _require_parts(parts)
        return xp.stack(parts, axis=self.axis)


class Slice(Block):
    """A part of x, ``out = x[begin : begin + size]`` on each axis from the first on.

    Axes beyond the lists are taken whole. The gradient outside the part is 0. Raises ShapeError
    where the part does not lie in x.
    """

    symbol: ClassVar[str] = "[:]"
    formula: ClassVar[str] = r"y_i = x_{b + i}, \quad 0 \le i < s"

    begin: tuple[int, ...] = ()
    """Index of the first element by axis, negative from the end."""
    size: tuple[int, ...] = ()
    """Number of elements by axis; -1 for all from ``begin`` on, -2 for all but the last one, -3 for
    all but the last two, and so on.
    """
    step: tuple[Step, ...] = ()
    """Of so many elements in turn the first is taken, by axis; all of them by default."""
    last: Length = 0
    """How many entries at the end of the lists are for the last axes of x."""

    @model_validator(mode="after")
    def _equally_long(self) -> Self:
        if len(self.begin) != len(self.size):
            raise ValueError(f"begin has {len(self.begin)} entries, but size {len(self.size)}")
        if self.step and len(self.begin) != len(self.step):
            raise ValueError(f"begin has {len(self.begin)} entries, but step {len(self.step)}")
        if self.last > len(self.begin):
            raise ValueError(f"begin has {len(self.begin)} entries, but last is {self.last}")
        return self

    def label(self) -> str:
        spans = [_span(*entry) for entry in self._entries]
        if self.last:
            spans.insert(len(spans) - self.last, "…")
        return f"[{', '.join(spans) or ':'}]"

    @property
    def _entries(self) -> list[tuple[int, int, int]]:
        steps = self.step or (1,) * len(self.begin)
        return list(zip(self.begin, self.size, steps, strict=True))

    def forward(self, xp: Namespace, x: Value) -> Value:
        if len(self.begin) > x.ndim:
            raise ShapeError(
                "Slice of more axes than x has.",
                expected=f"rank {len(self.begin)} or more",
                got=str(x.shape),
            )
        first = len(self.begin) - self.last
        rest = [(0, -1, 1)] * (x.ndim - len(self.begin))
        entries = [*self._entries[:first], *rest, *self._entries[first:]]
        return x[tuple(self._taken(x.shape, axis, *entry) for axis, entry in enumerate(entries))]

    def _taken(self, shape: Shape, axis: int, begin: int, size: int, step: int) -> slice:
        length = shape[axis]
        start = begin if begin >= 0 else length + begin
        stop = start + size if size >= 0 else length + 1 + size
        if not 0 <= start <= stop <= length:
            raise ShapeError(
                f"Elements {start} to {stop} of axis {axis} are outside shape {list(shape)}."
            )
        return slice(start, stop, step)


def _span(begin: int, size: int, step: int) -> str:
    """``1:-1`` as numpy writes it."""
    end = begin + size if size >= 0 else size + 1
    is_open = size == -1 or (size >= 0 and begin < 0 == end)
    every = f":{step}" if step != 1 else ""
    return f"{begin}:{'' if is_open else end}{every}"


class Pad(Block):
    """Adds elements around x: ``widths[i]`` before and after on axis i.

    Axes beyond the list get none. They are of one value, or repeat elements of x, whose gradients
    add up. Raises ShapeError where x has fewer axes, or nothing to repeat.
    """

    symbol: ClassVar[str] = "[+]"
    formula: ClassVar[str] = r"y = [v, x, v]"

    widths: tuple[tuple[Length, Length], ...] = ()
    """Number of elements before and after, by axis."""
    value: float = 0.0
    """What is added where the mode is constant."""
    mode: Literal["constant", "edge", "reflect", "symmetric", "wrap"] = "constant"
    """The value; the last element; x mirrored at its last element, or behind it; or x again from
    its other end."""

    def infer(self, inputs: Mapping[str, Shape | None], output: Shape | None) -> dict[str, Shape]:
        if output is None or len(output) < len(self.widths):
            return {}
        widths = self._all_widths(len(output))
        shape = tuple(n - sum(width) for n, width in zip(output, widths, strict=True))
        return same_shape(inputs, shape) if min(shape, default=0) >= 0 else {}

    def forward(self, xp: Namespace, x: Value) -> Value:
        if len(self.widths) > x.ndim:
            raise ShapeError(
                "Widths for more axes than x has.",
                expected=f"rank {len(self.widths)} or more",
                got=str(x.shape),
            )
        if self.mode == "constant":
            return xp.pad(x, self._all_widths(x.ndim), self.value)
        for axis, width in enumerate(self.widths):
            x = self._repeated(xp, x, axis, width) if any(width) else x
        return x

    def _repeated(self, xp: Namespace, x: Value, axis: int, width: tuple[int, int]) -> Value:
        if not x.shape[axis]:
            raise ShapeError(
                f"Axis {axis} has no element to repeat.",
                next_step="Pad with a value: mode constant.",
            )
        places = np.pad(np.arange(x.shape[axis]), width, self.mode)
        return xp.take(x, places, axis=axis)

    def _all_widths(self, rank: int) -> tuple[tuple[int, int], ...]:
        return (*self.widths, *[(0, 0)] * (rank - len(self.widths)))


class Gather(Block):
    """Rows of x by index, ``out[i, …] = x[indices[i], …]``; also an embedding.

    x (n, …) and integer indices (k, …) in [-n, n) give (k, …, …): the indices' axes stand where
    ``axis`` stood, and negative ones count from the end. The gradients of repeated rows add up;
    no gradient goes to indices. Raises DTypeError unless indices are integers; an index out of
    range fails when the diagram runs.
    """

    symbol: ClassVar[str] = "x[i]"
    formula: ClassVar[str] = r"y_k = x_{i_k}"

    axis: int = 0
    """Axis of x that is indexed, negative from the end."""

    def forward(self, xp: Namespace, x: Value, indices: Value) -> Value:
        require_integer(indices, "indices")
        return xp.take(x, indices, axis=self.axis)


class PickAlong(Block):
    """One element from each row, ``out[i] = x[i, indices[i]]``, as Q(s, a) from all Q(s, ·).

    x (…, n) and integer indices (…) in [-n, n) give (…): the shape of x without ``axis``. No
    gradient goes to indices. Raises ShapeError where indices don't fit, DTypeError unless they
    are integers; an index out of range fails when the diagram runs.
    """

    symbol: ClassVar[str] = "xᵢₖ"
    formula: ClassVar[str] = r"y_i = x_{i,\, k_i}"

    axis: int = -1
    """Axis of x from which one element is taken, negative from the end."""

    def forward(self, xp: Namespace, x: Value, indices: Value) -> Value:
        require_integer(indices, "indices")
        axis = require_axis(x, self.axis)
        rows = (*x.shape[:axis], *x.shape[axis + 1 :])
        if indices.shape != rows:
            raise ShapeError(
                "Indices don't fit x.",
                expected=f"indices of shape {rows}, one for each row",
                got=f"{indices.shape} for x of {x.shape}",
            )
        return xp.squeeze(xp.take_along_axis(x, xp.expand_dims(indices, axis), axis), axis)


class TakeAlong(Block):
    """One element for each index along an axis, ``out[i, j] = x[i, indices[i, j]]``.

    Integer indices in [-n, n) have the rank of x, and out their shape; on the other axes they may
    be shorter than x, of which the rest is left out. The gradients of repeated indices add up; no
    gradient goes to indices. Raises ShapeError where indices don't fit, DTypeError unless they are
    integers; an index out of range fails when the diagram runs.
    """

    symbol: ClassVar[str] = "x[i]ₐ"
    formula: ClassVar[str] = r"y_{ij} = x_{i,\, k_{ij}}"

    axis: int = -1
    """Axis of x that is indexed, negative from the end."""

    def forward(self, xp: Namespace, x: Value, indices: Value) -> Value:
        require_integer(indices, "indices")
        axis = require_axis(x, self.axis)
        _require_indices_along(x, indices, axis)
        return xp.take_along_axis(x, indices, axis)


class _Scatter(Block):
    """Writes updates into x at indices along an axis."""

    abstract: ClassVar[bool] = True

    mode: Literal["set", "add", "mul", "max", "min"] = "set"
    """What becomes of an element: the update, their sum, their product, the larger, the smaller."""
    axis: int = 0
    """Axis of x that is indexed, negative from the end."""

    def label(self) -> str:
        return f"{self.symbol} {self.mode}"

    def infer(self, inputs: Mapping[str, Shape | None], output: Shape | None) -> dict[str, Shape]:
        return {"x": output} if output is not None and inputs.get("x", ()) is None else {}

    def _write(self, xp: Namespace, x: Value, indices: Value, updates: Value, axis: int) -> Value:
        write = {
            "set": xp.set_along_axis,
            "add": xp.add_along_axis,
            "mul": xp.multiply_along_axis,
            "max": xp.maximum_along_axis,
            "min": xp.minimum_along_axis,
        }
        return write[self.mode](x, indices, xp.broadcast_to(updates, indices.shape), axis)


class ScatterRows(_Scatter):
    """Rows of x written by index: at ``indices[k]`` stands, or is combined with, ``updates[k]``.

    x (n, …), integer indices (k, …) in [-n, n) and updates (k, …, …), broadcast, give the shape of
    x; the indices' axes stand where ``axis`` stood. Repeated indices are written in their order:
    the last update is set, sums, products and extremes are of all. The gradient of what is
    overwritten is 0; ties of extremes share it evenly; no gradient goes to indices. Raises
    ShapeError where updates don't fit, DTypeError unless indices are integers; an index out of
    range fails when the diagram runs.
    """

    symbol: ClassVar[str] = "[i]←"
    formula: ClassVar[str] = r"y_{k_i} = u_i"

    def forward(self, xp: Namespace, x: Value, indices: Value, updates: Value) -> Value:
        require_integer(indices, "indices")
        axis = require_axis(x, self.axis)
        before, after = x.shape[:axis], x.shape[axis + 1 :]
        updates = xp.broadcast_to(updates, (*before, *indices.shape, *after))
        if self.mode == "add":
            return xp.scatter_add(x, indices, updates, axis)
        rows = (*before, indices.size, *after)
        along = xp.reshape(indices, (indices.size, *(1 for _ in after)))
        return self._write(xp, x, xp.broadcast_to(along, rows), xp.reshape(updates, rows), axis)


class ScatterAlong(_Scatter):
    """Elements of x written by index, ``out[i, indices[i, j]] = updates[i, j]`` along axis 1.

    Integer indices in [-n, n) have the rank of x, and updates broadcast to their shape; on the
    other axes they may be shorter than x, of which the rest stays. Repeated indices are written in
    their order: the last update is set, sums, products and extremes are of all. The gradient of
    what is overwritten is 0; ties of extremes share it evenly; no gradient goes to indices. Raises
    ShapeError where indices don't fit, DTypeError unless they are integers; an index out of range
    fails when the diagram runs.
    """

    symbol: ClassVar[str] = "[i]←ₐ"
    formula: ClassVar[str] = r"y_{i,\, k_{ij}} = u_{ij}"

    def forward(self, xp: Namespace, x: Value, indices: Value, updates: Value) -> Value:
        require_integer(indices, "indices")
        axis = require_axis(x, self.axis)
        _require_indices_along(x, indices, axis)
        return self._write(xp, x, indices, updates, axis)


def _require_indices_along(x: Value, indices: Value, axis: int) -> None:
    fits = indices.ndim == x.ndim and all(
        i == axis or n <= m for i, (n, m) in enumerate(zip(indices.shape, x.shape, strict=True))
    )
    if not fits:
        raise ShapeError(
            "Indices don't fit x.",
            expected=f"rank {x.ndim}, and no axis but {axis} longer than that of x",
            got=f"{indices.shape} for x of {x.shape}",
        )


def _require_parts(parts: tuple[object, ...]) -> None:
    if not parts:
        raise ShapeError("Nothing to join.", expected="one part or more", next_step="Wire parts.0.")
