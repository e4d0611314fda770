"""What blocks have in common whose inputs and output share one shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from blocks.block import Block, Shape, TreeUse


class Elementwise(Block):
    """Base of blocks that work element by element: an open input is as large as the rest.

    An input of unknown shape takes the shape that the readers of the output ask for, else the
    one its siblings broadcast to (MXNet's rule for elementwise operators). A scalar sibling
    tells nothing, because it goes with any shape.

    Of a tree every leaf is worked on by itself. Trees that meet have one structure; an array that
    meets a tree goes with every leaf. Leaves that are no arrays pass.
    """

    abstract: ClassVar[bool] = True
    trees: ClassVar[TreeUse] = "by leaf"

    def infer(self, inputs: Mapping[str, Shape | None], output: Shape | None) -> dict[str, Shape]:
        """The demanded shape, or that of the siblings, for every open input."""
        shape = output if output is not None else sibling_shape(inputs)
        return {} if shape is None else same_shape(inputs, shape)


def sibling_shape(inputs: Mapping[str, Shape | None]) -> Shape | None:
    """What the known shapes broadcast to; None without one of rank 1 or more, or if they clash."""
    try:
        return np.broadcast_shapes(*(shape for shape in inputs.values() if shape)) or None
    except ValueError:
        return None


def same_shape(inputs: Mapping[str, Shape | None], shape: Shape) -> dict[str, Shape]:
    """``shape`` for every input that is not known yet."""
    return {name: shape for name, known in inputs.items() if known is None}
