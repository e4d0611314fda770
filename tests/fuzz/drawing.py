"""Random diagrams with numbers that arithmetic finds hard."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

import gradwire.runtime.build as b
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


_AFTER = (
    lambda x, name: b.tanh(x, name=name),
    lambda x, name: b.relu(x, name=name),
    lambda x, name: b.softmax(x, name=name),
    lambda x, name: b.log_softmax(x, name=name),
    lambda x, name: b.layer_norm(x, name=name),
    lambda x, name: b.batch_norm(x, name=name),
    lambda x, name: b.rms_norm(x, name=name),
    lambda x, name: b.stop_gradient(x, name=name),
    lambda x, name: b.mul(x, b.random_uniform(x), name=name),
)


def network(rng: Random) -> Diagram:
    """A small network of layers, some of which start equal, are frozen or have a single number."""
    draw = np.random.default_rng(rng.randrange(2**40))
    rows, width = rng.choice((1, 3, 4)), rng.choice((1, 3))
    x = b.constant("x", draw.normal(size=(rows, width)), dtype="float64")
    for layer in range(rng.randint(1, 4)):
        units = rng.choice((1, 2, 4))
        weight = draw.normal(size=(units, width))
        match rng.choice(("random", "random", "constant", "zeros", "pairs")):
            case "constant":
                weight = np.full_like(weight, 0.3)
            case "zeros":
                weight = np.zeros_like(weight)
            case "pairs":
                weight[::2] = weight[:1]
        is_trained = rng.random() < 0.8
        own = b.variable(f"w{layer}", weight, dtype="float64", trainable=is_trained)
        x, width = b.linear(x, own, name=f"linear{layer}"), units
        after = rng.choice((None, None, *_AFTER))
        x = x if after is None else after(x, f"after{layer}")
    target = b.constant("target", draw.normal(size=(rows, width)), dtype="float64")
    return b.build(b.loss(b.mean_squared_error(x, target)))
