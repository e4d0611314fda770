"""The base of blocks whose inputs and output share one shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from gradwire.blocks.block import Block, Shape, TreeUse


class Elementwise(Block):
    """Base of blocks that work element by element.

    An input of unknown shape gets the shape that the readers of the output need, or else the one
    that the other inputs broadcast to (MXNet's rule for elementwise operators). Scalars are not
    considered, because they fit any shape.

    Trees are processed leaf by leaf. All trees must have the same structure; an array is combined
    with every leaf of a tree. Leaves that are not arrays pass through unchanged.
    """

    abstract: ClassVar[bool] = True
    trees: ClassVar[TreeUse] = "by leaf"

    def infer(self, inputs: Mapping[str, Shape | None], output: Shape | None) -> dict[str, Shape]:
        """The needed shape, or that of the other inputs, for every input of unknown shape."""
        shape = output if output is not None else sibling_shape(inputs)
        return {} if shape is None else same_shape(inputs, shape)


def sibling_shape(inputs: Mapping[str, Shape | None]) -> Shape | None:
    """What the known shapes broadcast to; None if they don't, or if all are scalars."""
    try:
        return np.broadcast_shapes(*(shape for shape in inputs.values() if shape)) or None
    except ValueError:
        return None


def same_shape(inputs: Mapping[str, Shape | None], shape: Shape) -> dict[str, Shape]:
    """``shape`` for every input whose shape is unknown."""
    return {name: shape for name, known in inputs.items() if known is None}
