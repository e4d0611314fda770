"""The layers of Keras by class."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.runtime.interchange.importing.keras.layers import (
    activations,
    attention,
    convolution,
    dense,
    merging,
    normalisation,
    operations,
    pooling,
    recurrent,
    shapes,
)

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.keras.call import Operator

LAYERS: dict[str, Operator] = {
    **dense.LAYERS,
    **activations.LAYERS,
    **convolution.LAYERS,
    **pooling.LAYERS,
    **normalisation.LAYERS,
    **shapes.LAYERS,
    **merging.LAYERS,
    **recurrent.LAYERS,
    **attention.LAYERS,
}
OPERATIONS: dict[str, Operator] = operations.OPERATIONS
"""Functions of ``keras.ops`` between layers; some are called like layers."""
