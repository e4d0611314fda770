"""Why a block makes a gradient zero or not finite, in words that follow the name of the block.

Where real systems disagree, the sentence mentions it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import field
from enum import Enum, auto
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import GradwireError
from gradwire.blocks.library.losses import BinaryCrossEntropy
from gradwire.runtime.flow.numbers.isolated import IsolatedBlock
from gradwire.runtime.flow.structure.singles import UNAFFECTED, Single, single
from gradwire.runtime.flow.words import phrases, value_sentences
from gradwire.runtime.flow.words.formatting import number

if TYPE_CHECKING:
    from gradwire.blocks.block import Block

Array = NDArray[Any]


class Zero(Enum):
    """Why a block sends 0 back although something arrives."""

    FLAT = auto()
    """Its derivative is 0 wherever something arrives."""
    CANCELS = auto()
    """It adds up gradients of which some are not 0."""
    UNDERFLOWS = auto()
    """What it sends back is too small for the dtype."""


def why_zero(
    block: Block, inputs: Mapping[str, Array], port: str, arriving: Mapping[str, Array]
) -> Zero:
    """Why 0 comes back at an input, found by letting other gradients arrive at the same places:
    one that is scaled up, and one that nothing cancels.
    """
    known = {name: array for name, array in arriving.items() if np.any(array)}
    if block.type_name() in phrases.STEPS or block.head or not known or port not in inputs:
        return Zero.FLAT
    exponent = max(int(np.frexp(np.max(np.abs(array)))[1]) for array in known.values())
    larger = {name: np.ldexp(array, -exponent) for name, array in known.items()}
    draw = np.random.default_rng(0).uniform
    other = {
        name: (draw(0.5, 1.5, array.shape) * (array != 0)).astype(array.dtype)
        for name, array in known.items()
    }
    try:
        isolated = IsolatedBlock(block, inputs)
        scaled, free = (isolated.gradients(sent)[port] for sent in (larger, other))
    except GradwireError:
        return Zero.FLAT
    if scaled is None or free is None or not np.isfinite(free).all():
        return Zero.FLAT
    peak = float(np.max(np.abs(scaled), initial=0.0))
    if 0 < peak and math.ldexp(peak, exponent) <= np.finfo(scaled.dtype).smallest_subnormal:
        return Zero.UNDERFLOWS
    return Zero.CANCELS if np.any(free) else Zero.FLAT


@dataclass(frozen=True, eq=False)
class ZeroSpot:
    """An input of a block at which 0 comes back.

    ``inputs`` are those on wires, ``arriving`` the gradients at outputs, both by port; ``stuck``
    are trained variables of zeros that it is multiplied by, with whether they get a gradient;
    ``is_summed`` if only sums and means read the block.
    """

    block: Block
    inputs: Mapping[str, Array]
    port: str
    arriving: Mapping[str, Array]
    stuck: Mapping[str, bool] = field(default_factory=dict)
    is_summed: bool = False

    @cached_property
    def kind(self) -> Zero:
        """Whether its slope is 0, or why 0 comes back all the same."""
        return why_zero(self.block, self.inputs, self.port, self.arriving)

    @cached_property
    def reason(self) -> str:
        """Words that follow the name of the block, for example ``is off (−3.00)``."""
        match self.kind:
            case Zero.UNDERFLOWS:
                return phrases.UNDERFLOWS.format(self.dtype)
            case Zero.CANCELS if self._is_whole_softmax:
                return phrases.SAME_FOR_ALL
            case Zero.CANCELS:
                return phrases.ADDS_UP_TO_0
            case Zero.FLAT:
                return _flat_reason(self.block, self.inputs, self.port, self.arriving)

    @property
    def cure(self) -> str:
        """What would help; empty if no cure is known, or where only another run can tell."""
        match self.kind:
            case Zero.UNDERFLOWS:
                return ""
            case Zero.CANCELS:
                summed = self._is_whole_softmax and self.is_summed
                return value_sentences.WHOLE if summed else ""
            case Zero.FLAT if self.is_product:
                return ""
            case Zero.FLAT:
                if _is_improbable(self.block, self.port, self.inputs.get(self.port)):
                    return value_sentences.AS_LOGITS
                if alone := _alone(self.block, self.inputs, self.port):
                    return alone.cure
                return value_sentences.flat_cure(self.block.type_name())

    @property
    def is_product(self) -> bool:
        """Whether the block multiplies, as a layer by its weight does."""
        return bool(self.stuck) or self.block.type_name() in phrases.FACTORS

    @property
    def dtype(self) -> str:
        """The dtype of what comes back."""
        return self.inputs[self.port].dtype.name

    @property
    def _is_whole_softmax(self) -> bool:
        """Whether the gradient is the same for all elements along the axis of a Softmax."""
        if self.block.type_name() != "Softmax":
            return False
        axis = getattr(self.block, "axis", -1)
        return all(not np.any(np.ptp(array, axis=axis)) for array in self.arriving.values())


def _flat_reason(
    block: Block, inputs: Mapping[str, Array], port: str, arriving: Mapping[str, Array]
) -> str:
    """Why the derivative at an input is 0 where something arrives."""
    name, value = block.type_name(), inputs.get(port)
    if alone := _alone(block, inputs, port):
        return alone.reason
    if name in phrases.FLAT:
        return phrases.FLAT[name]
    if value is None or not value.size or value.dtype.kind != "f":
        return phrases.FLAT_HERE
    if port == "x" and "weight" in inputs and not np.any(inputs["weight"]):
        return phrases.MULTIPLIES_0
    if name == "Softmax":
        return _saturated_softmax(value, getattr(block, "axis", -1))
    if name == "Div" and port == "b" and not np.any(_read(block, inputs, "a")):
        return phrases.DIVIDES_0
    reached = _reached(value, arriving)
    if name == "Arctan2" and not any(map(np.any, inputs.values())):
        return phrases.ARCTAN2_AT_0
    if name == "Abs" and not np.any(reached):
        return phrases.ABS_AT_0
    if name == "Norm" and not np.any(value):
        return phrases.NORM_AT_0
    if name == "Relu":
        return phrases.OFF.format(_extreme(reached, np.max, phrases.AT_MOST))
    if name in ("Sigmoid", "Tanh"):
        return phrases.SATURATED.format(_extreme(reached, _smallest, phrases.FROM))
    if _is_improbable(block, port, value):
        return phrases.IMPROBABLE.format(_range(reached))
    if name == "CosineSimilarity" and not all(map(np.any, inputs.values())):
        return phrases.COSINE_OF_0
    if name == "Clip":
        return phrases.BEYOND_LIMITS.format(_range(reached))
    if value.size == 1:
        return phrases.FLAT_AT.format(number(float(value.reshape(()))))
    return phrases.FLAT_HERE


def _alone(block: Block, inputs: Mapping[str, Array], port: str) -> Single | None:
    """What the block has only one of, where that makes the gradient of this input 0."""
    shapes = {name: array.shape for name, array in inputs.items()}
    return None if port in UNAFFECTED else single(block, shapes)


def _read(block: Block, inputs: Mapping[str, Array], port: str) -> Array:
    """What a block reads at a port, on a wire or as a literal."""
    return inputs[port] if port in inputs else np.asarray(block.literals[port].tensor.array)


def _saturated_softmax(value: Array, axis: int) -> str:
    return phrases.SATURATED_SOFTMAX.format(number(float(np.max(np.ptp(value, axis=axis)))))


def _reached(value: Array, arriving: Mapping[str, Array]) -> Array:
    """The elements of an input at which something arrives, where they have that shape."""
    masks = [array != 0 for array in arriving.values() if array.shape == value.shape]
    found = value[masks[0]] if len(masks) == 1 else value
    return found if found.size else value


def _is_improbable(block: Block, port: str, value: Array | None) -> bool:
    """Whether the block clips all that it is given as probabilities."""
    takes = isinstance(block, BinaryCrossEntropy) and block.clips
    if not takes or port != "prediction" or value is None:
        return False
    step = np.finfo(value.dtype).eps
    return bool(np.all((value <= step) | (value >= 1 - step)))


def _range(array: Array) -> str:
    low, high = (number(float(pick(array))) for pick in (np.min, np.max))
    return low if low == high else phrases.FROM_TO.format(low, high)


def nonfinite_reason(before: Array | None, after: Array) -> str:
    """Why a finite adjoint became ``after``: ``0·∞`` or an infinite slope."""
    if np.isnan(after).any():
        return "0·∞" if before is not None and not np.all(before) else "∞ − ∞ or 0·∞"
    return phrases.STEEP_HERE


def _smallest(array: Array) -> Any:
    return array.flat[np.argmin(np.abs(array))]


def _extreme(value: Array, pick: Callable[[Array], Any], words: str) -> str:
    text = number(float(pick(value)))
    return text if value.size == 1 else words.format(text)
