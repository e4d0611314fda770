"""Why a block makes a gradient zero or not finite, in words that follow the name of the block.

Where real systems disagree, the sentence mentions it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import field
from enum import Enum, auto
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import GradwireError
from gradwire.blocks.importing.kinds import is_clip
from gradwire.blocks.library.losses import BinaryCrossEntropy
from gradwire.runtime.flow.numbers.isolated import IsolatedBlock
from gradwire.runtime.flow.structure.singles import UNAFFECTED, Single, single
from gradwire.runtime.flow.words import phrases, tables
from gradwire.runtime.flow.words.formatting import number

if TYPE_CHECKING:
    from gradwire.blocks.block import Block
    from gradwire.blocks.values import Array


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
        return tables.decide(tables.REASONS, self.block.type_name(), self.fact)

    @property
    def cure(self) -> str:
        """What would help; empty if no cure is known, or where only another run can tell."""
        return tables.decide(tables.FLAT_CURES, self.block.type_name(), self.fact)

    def fact(self, name: str) -> object:
        """What the tables ask of it."""
        return FACTS[name](self)

    @property
    def is_product(self) -> bool:
        """Whether the block multiplies, as a layer by its weight does."""
        return bool(self.stuck) or self.block.type_name() in phrases.FACTORS

    @property
    def dtype(self) -> str:
        """The dtype of what comes back."""
        return self.inputs[self.port].dtype.name

    @property
    def value(self) -> Array | None:
        """The numbers of the input, if it is on a wire."""
        return self.inputs.get(self.port)

    @cached_property
    def alone(self) -> Single | None:
        """What the block has only one of, where that makes the gradient of this input 0."""
        shapes = {name: array.shape for name, array in self.inputs.items()}
        return None if self.port in UNAFFECTED else single(self.block, shapes)

    @cached_property
    def reached(self) -> Array:
        """The elements of the input at which something arrives, where they have that shape."""
        value = self.inputs[self.port]
        masks = [array != 0 for array in self.arriving.values() if array.shape == value.shape]
        found = value[masks[0]] if len(masks) == 1 else value
        return found if found.size else value

    @property
    def is_whole_softmax(self) -> bool:
        """Whether the gradient is the same for all elements along the axis of a Softmax."""
        if self.block.type_name() != "Softmax":
            return False
        axis = getattr(self.block, "axis", -1)
        return all(not np.any(np.ptp(array, axis=axis)) for array in self.arriving.values())

    @property
    def is_improbable(self) -> bool:
        """Whether the block clips all that it is given as probabilities."""
        takes = isinstance(self.block, BinaryCrossEntropy) and self.block.clips
        if not takes or self.port != "prediction" or self.value is None:
            return False
        step = np.finfo(self.value.dtype).eps
        return bool(np.all((self.value <= step) | (self.value >= 1 - step)))

    def read(self, port: str) -> Array:
        """What the block reads at a port, on a wire or as a literal."""
        if port in self.inputs:
            return self.inputs[port]
        return np.asarray(self.block.literals[port].tensor.array)


FACTS: Mapping[str, Callable[[ZeroSpot], object]] = {
    "underflows": lambda spot: spot.kind is Zero.UNDERFLOWS,
    "cancels": lambda spot: spot.kind is Zero.CANCELS,
    "dtype": lambda spot: spot.dtype,
    "whole_softmax": lambda spot: spot.is_whole_softmax,
    "summed": lambda spot: spot.is_summed,
    "product": lambda spot: spot.is_product,
    "improbable": lambda spot: spot.is_improbable,
    "open_limits": lambda spot: is_clip(spot.block) and spot.block.open,
    "single": lambda spot: spot.alone and spot.alone.reason,
    "single_cure": lambda spot: spot.alone and spot.alone.cure,
    "floats": lambda spot: (
        spot.value is not None and spot.value.size and spot.value.dtype.kind == "f"
    ),
    "weight_zero": lambda spot: spot.port == "x" and not np.any(spot.inputs.get("weight", 1)),
    "dividend_zero": lambda spot: spot.port == "b" and not np.any(spot.read("a")),
    "all_zero": lambda spot: not any(map(np.any, spot.inputs.values())),
    "any_zero": lambda spot: not all(map(np.any, spot.inputs.values())),
    "value_zero": lambda spot: not np.any(spot.value),
    "reached_zero": lambda spot: not np.any(spot.reached),
    "one_value": lambda spot: spot.inputs[spot.port].size == 1,
    "one_reached": lambda spot: spot.reached.size == 1,
    "spread": lambda spot: number(
        float(np.max(np.ptp(spot.inputs[spot.port], axis=getattr(spot.block, "axis", -1))))
    ),
    "highest": lambda spot: number(float(np.max(spot.reached))),
    "nearest": lambda spot: number(float(spot.reached.flat[np.argmin(np.abs(spot.reached))])),
    "range": lambda spot: _range(spot.reached),
}
"""What the tables of reasons and cures ask of a spot, by name."""


def _range(array: Array) -> str:
    low, high = (number(float(pick(array))) for pick in (np.min, np.max))
    return low if low == high else phrases.FROM_TO.format(low, high)


def nonfinite_reason(before: Array | None, after: Array) -> str:
    """Why a finite adjoint became ``after``: ``0·∞`` or an infinite slope."""
    if np.isnan(after).any():
        return "0·∞" if before is not None and not np.all(before) else "∞ − ∞ or 0·∞"
    return phrases.STEEP_HERE
