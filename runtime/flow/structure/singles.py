"""Blocks that weigh or normalise numbers against each other where there is just one of them.

They give the same whatever that number is, so that no gradient passes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from gradwire.runtime.flow.words import phrases, value_sentences

if TYPE_CHECKING:
    from gradwire.blocks.block import Block, Shape
    from gradwire.blocks.library.activations import LogSoftmax, Softmax
    from gradwire.blocks.library.layers.normalisation import BatchNorm, GroupNorm, LayerNorm

UNAFFECTED = ("bias", "value")
"""Inputs whose gradient does not depend on how many numbers are compared."""


class Single(NamedTuple):
    """Why a block gives the same for any number, in words that follow its name, and what helps."""

    reason: str
    cure: str


def single(block: Block, shapes: Mapping[str, Shape]) -> Single | None:
    """What a block whose inputs have these shapes has only one of; None where it has more."""
    known = _ALONG.get(block.type_name())
    shape = shapes.get(known.port) if known else None
    if not known or not shape:
        return None
    axes = known.axes(block, shape)
    if axes is None or any(shape[axis] != 1 for axis in axes):
        return None
    is_other_axis = known.cure == value_sentences.SINGLE and math.prod(shape) > 1
    return Single(known.reason, value_sentences.OTHER_AXIS if is_other_axis else known.cure)


class _Along(NamedTuple):
    """The axes of an input along which a block compares numbers; None where it does not."""

    port: str
    axes: Callable[[Any, Shape], list[int] | None]
    reason: str
    cure: str


def _axis(block: Softmax | LogSoftmax, _: Shape) -> list[int]:
    return [block.axis]


def own_axes(block: LayerNorm, _: Shape) -> list[int]:
    """The axes that a block has been given."""
    return [block.axes] if isinstance(block.axes, int) else list(block.axes)


def group_axes(block: GroupNorm, shape: Shape) -> list[int]:
    """The axes that a GroupNorm averages over; a group of one channel has the channel's mean."""
    return [*([] if block.groups == shape[1] else [1]), *range(2, len(shape))]


def batch_axes(block: BatchNorm, shape: Shape) -> list[int] | None:
    """The axes that a BatchNorm averages over; None where it uses running statistics."""
    others = [axis for axis in range(len(shape)) if axis != block.axis % len(shape)]
    return others if block.mode == "batch" else None


_ALONG = {
    "Attention": _Along("key", lambda *_: [-2], phrases.SINGLE_KEY, value_sentences.MORE_KEYS),
    "BatchNorm": _Along("x", batch_axes, phrases.SINGLE_NORM, value_sentences.LARGER_BATCH),
    "CosineSimilarity": _Along(
        "a", lambda *_: [-1], phrases.SINGLE_ANGLE, value_sentences.ANGLE_AXIS
    ),
    "CrossEntropy": _Along("logits", _axis, phrases.SINGLE_CLASS, value_sentences.MORE_CLASSES),
    "GroupNorm": _Along("x", group_axes, phrases.SINGLE_NORM, value_sentences.FEWER_GROUPS),
    "LayerNorm": _Along("x", own_axes, phrases.SINGLE_NORM, value_sentences.MORE_AXES),
    "LogSoftmax": _Along("x", _axis, phrases.SINGLE_LOGARITHM, value_sentences.MORE_CLASSES),
    "RMSNorm": _Along("x", own_axes, phrases.SINGLE_SIGN, value_sentences.MORE_AXES),
    "Softmax": _Along("x", _axis, phrases.SINGLE_SOFTMAX, value_sentences.SINGLE),
}
"""By the type of block."""
