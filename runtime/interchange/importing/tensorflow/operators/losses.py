"""Losses of rows of scores; the gradient that TensorFlow computes beside them is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.tensorflow.call import Call, Operator
    from gradwire.runtime.interchange.importing.tensorflow.items import Item


def _cross_entropy(call: Call) -> tuple[Item, ...]:
    """For labels that are classes, or probabilities of them."""
    scores, labels = call.x(0), call.x(1)
    return call.block("CrossEntropy", scores, labels, reduction="none"), None


OPERATORS: dict[str, Operator] = {
    "SparseSoftmaxCrossEntropyWithLogits": _cross_entropy,
    "SoftmaxCrossEntropyWithLogits": _cross_entropy,
}
