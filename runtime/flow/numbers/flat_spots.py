"""Why a block makes a gradient zero or not finite, in words that follow the name of the block.

Where real systems disagree, the sentence mentions it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from runtime.flow.words.formatting import number

if TYPE_CHECKING:
    from blocks.block import Block

Array = NDArray[Any]

_FLAT = {
    "Round": "is piecewise constant (None in TensorFlow)",
    "Floor": "is piecewise constant (None in TensorFlow)",
    "Ceil": "is piecewise constant (None in TensorFlow)",
    "Sign": "is piecewise constant",
    "Mul": "multiplies by 0",
    "MatMul": "multiplies by 0",
    "Linear": "multiplies by 0",
    "Where": "takes the other branch",
    "Maximum": "takes its other input",
    "Minimum": "takes its other input",
    "Max": "takes another element",
    "Min": "takes another element",
    "Gather": "takes other elements",
    "Pick": "takes other elements",
    "Slice": "takes other elements",
    "GradientScale": "scales the gradient by 0",
    "GradientReversal": "scales the gradient by 0",
    "Loss": "scales the gradient by 0",
    "MeanSquaredError": "is at its minimum: prediction and target agree",
    "MeanAbsoluteError": "is at its minimum: prediction and target agree",
    "Huber": "is at its minimum: prediction and target agree",
}


def flat_reason(block: Block, value: Array | None) -> str:
    """Why the derivative at an input of this value is 0, for example ``is off (−3.00)``."""
    name = block.type_name()
    if name in _FLAT:
        return _FLAT[name]
    if value is None or not value.size or value.dtype.kind != "f":
        return "has a derivative of 0 here"
    if name == "Abs" and not np.any(value):
        return "is at 0, where its slope counts as 0 (1 in JAX)"
    if name == "Norm" and not np.any(value):
        return "is at 0, where its slope counts as 0, as in PyTorch (NaN elsewhere)"
    if name == "Relu":
        return f"is off ({_extreme(value, np.max, 'at most')})"
    if name in ("Sigmoid", "Tanh", "Softmax"):
        return f"is saturated ({_extreme(value, lambda a: a.flat[np.argmin(np.abs(a))], 'from')})"
    if name == "Clip":
        return f"is beyond its limits ({_extreme(value, np.max, 'at most')})"
    if value.size == 1:
        return f"has a derivative of 0 at {number(float(value.reshape(())))}"
    return "has a derivative of 0 here"


def nonfinite_reason(before: Array | None, after: Array) -> str:
    """Why a finite adjoint became ``after``: ``0·inf`` or an infinite slope."""
    if np.isnan(after).any():
        return "0·inf" if before is not None and not np.all(before) else "inf − inf or 0·inf"
    return "its slope is infinite here"


def _extreme(value: Array, pick: Any, words: str) -> str:
    text = number(float(pick(value)))
    return text if value.size == 1 else f"{words} {text}"
