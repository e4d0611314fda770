"""The same numbers in other shapes: what every importer needs, as the fewest blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradwire.runtime.interchange.importing.staged import Staged


class Shaping:
    """Puts up blocks that change shapes and dtypes, where something would change at all."""

    def block(self, kind: str, *inputs: Staged | None, name: str = "", **parameters: Any) -> Staged:
        """The only output of a new block; None leaves an input open."""
        raise NotImplementedError  # the stage has it

    def constant(self, array: Any) -> Staged:
        """Fixed numbers, in the dtype of the array."""
        raise NotImplementedError  # the stage has it

    def cast(self, x: Staged, dtype: str) -> Staged:
        """``x`` in another dtype; itself where it has it."""
        return x if x.dtype == dtype else self.block("Cast", x, dtype=dtype)

    def reshape(self, x: Staged, shape: Sequence[int]) -> Staged:
        """``x`` in another shape; itself where it has it."""
        shape = tuple(int(length) for length in shape)
        source = x.source
        if source is not None and source.block.type_name() == "Reshape":
            before = source.inputs["x"]
            x = before if before.shape == shape else x
        return x if x.shape == shape else self.block("Reshape", x, shape=shape)

    def transpose(self, x: Staged, order: Sequence[int]) -> Staged:
        """The axes of ``x`` in another order; itself where they are in it."""
        perm = tuple(int(axis) % x.ndim for axis in order)
        return x if perm == tuple(range(x.ndim)) else self.block("Transpose", x, perm=perm)

    def broadcast(self, x: Staged, shape: Sequence[int]) -> Staged:
        """``x`` repeated to a shape; itself where it has it."""
        shape = tuple(int(length) for length in shape)
        return x if x.shape == shape else self.block("Broadcast", x, shape=shape)

    def take(self, x: Staged, indices: Any, axis: int) -> Staged:
        """Elements of ``x`` at integer indices, given as a value or as numbers, along an axis."""
        picked = indices
        if not isinstance(indices, Staged):
            picked = self.constant(np.asarray(indices, np.int64))
        return self.block("Gather", x, picked, axis=axis % x.ndim)

    def cut(
        self, x: Staged, axis: int, start: int | None, stop: int | None, step: int = 1
    ) -> Staged:
        """``x[start:stop:step]`` along an axis, with Python's meaning of the bounds."""
        axis %= x.ndim
        places = range(*slice(start, stop, step).indices(x.shape[axis]))
        if places == range(x.shape[axis]):
            return x
        if step != 1:
            return self.take(x, list(places), axis)
        begin, size = [0] * x.ndim, [-1] * x.ndim
        begin[axis], size[axis] = (places.start if len(places) else 0), len(places)
        return self.block("Slice", x, begin=tuple(begin), size=tuple(size))

    def select(self, x: Staged, axis: int, index: int) -> Staged:
        """``x[index]`` along an axis, which is left out."""
        axis %= x.ndim
        index %= x.shape[axis]
        part = self.cut(x, axis, index, index + 1)
        return self.reshape(part, part.shape[:axis] + part.shape[axis + 1 :])
