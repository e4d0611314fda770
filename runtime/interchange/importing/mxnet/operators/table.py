"""The operators of MXNet by name, and what they keep of shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.runtime.interchange.importing.mxnet.operators import (
    arithmetic,
    elementwise,
    losses,
    networks,
    normalisation,
    reductions,
    selection,
    shapes,
)

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.mxnet.call import Operator

OPERATORS: dict[str, Operator] = {
    **elementwise.OPERATORS,
    **arithmetic.OPERATORS,
    **reductions.OPERATORS,
    **shapes.OPERATORS,
    **selection.OPERATORS,
    **networks.OPERATORS,
    **normalisation.OPERATORS,
    **losses.OPERATORS,
}
KEEPING = (*elementwise.OPERATORS, *arithmetic.KEEPING, *losses.KEEPING)
"""Operators whose inputs and output all have one shape."""
ANY_SHAPE = (*arithmetic.BROADCASTING, *reductions.ANY_SHAPE)
"""Operators that work on scalars too."""
