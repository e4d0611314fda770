"""The operators of TensorFlow by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.runtime.interchange.importing.tensorflow.operators import (
    constants,
    control,
    elementwise,
    images,
    lists,
    losses,
    products,
    reductions,
    resources,
    shapes,
    slices,
)

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.tensorflow.call import Operator

OPERATORS: dict[str, Operator] = {
    **constants.OPERATORS,
    **resources.OPERATORS,
    **elementwise.OPERATORS,
    **reductions.OPERATORS,
    **products.OPERATORS,
    **shapes.OPERATORS,
    **slices.OPERATORS,
    **images.OPERATORS,
    **losses.OPERATORS,
    **lists.OPERATORS,
    **control.OPERATORS,
}
