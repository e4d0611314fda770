"""Random diagrams with numbers that arithmetic finds hard."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.blocks.library.sources import Constant, Variable
from tests.runtime.flow.specimens import changed, specimen

if TYPE_CHECKING:
    from random import Random

    from gradwire.blocks import Block
    from gradwire.runtime.diagram import Diagram

SPECIAL = (0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 1e-310, 1e-40, 1e38, -1e300)


def drawn(rng: Random, *, gradients: bool = False) -> Diagram:
    """A random diagram of ordinary numbers, of float64."""
    return specimen(rng.randrange(2**40), gradients)


def hard(rng: Random, *, gradients: bool = False) -> Diagram:
    """A random diagram some of whose sources have special values, or are of float32."""
    share = rng.choice((0.0, 0.05, 0.3))
    narrow = rng.choice((0.0, 0.0, 0.5, 1.0))

    def change(block: Block) -> Block:
        if not isinstance(block, Variable | Constant) or block.dtype != "float64":
            return block
        numbers = _numbers(rng, block.value.array, share)
        dtype = "float32" if rng.random() < narrow else "float64"
        with np.errstate(over="ignore"):
            return block.with_parameters(value=numbers.astype(dtype).tolist(), dtype=dtype)

    return changed(drawn(rng, gradients=gradients), change)


def _numbers(rng: Random, array: Any, share: float) -> Any:
    flat = [rng.choice(SPECIAL) if rng.random() < share else x for x in array.ravel().tolist()]
    return np.array(flat, "float64").reshape(array.shape)
