"""Losses of rows of scores; the gradient that TensorFlow computes beside them is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.runtime.interchange.importing.meanings import losses

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.tensorflow.call import Operator

OPERATORS: dict[str, Operator] = dict.fromkeys(
    ("SparseSoftmaxCrossEntropyWithLogits", "SoftmaxCrossEntropyWithLogits"),
    lambda call: (losses.cross_entropy(call.x(0), call.x(1), reduction="none"), None),
)
