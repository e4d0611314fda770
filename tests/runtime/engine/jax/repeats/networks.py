"""Diagrams that repeat themselves: recurrent layers, pages used again, layers one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import gradwire as gw

UNITS, BATCH, FEATURES = 3, 2, 4
LAYERS: dict[str, Callable[..., gw.Expression]] = {"rnn": gw.rnn, "gru": gw.gru, "lstm": gw.lstm}


def drawn(*shape: int, seed: int = 0) -> NDArray[Any]:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def mean_square(*outputs: gw.Expression) -> gw.Diagram:
    """A diagram whose loss depends on all outputs."""
    parts = [gw.mean(gw.square(output)) for output in outputs]
    return gw.build(gw.loss(sum(parts[1:], parts[0]), name="loss"))


def recurrent(kind: str, steps: int, last: bool = False, **parameters: Any) -> gw.Diagram:
    """A recurrent layer; the loss is of all its outputs, with ``last`` of the final state alone."""
    x = gw.variable("x", drawn(steps, BATCH, FEATURES))
    h = gw.variable("h", drawn(BATCH, UNITS, seed=1))
    y = LAYERS[kind](x, steps=steps, units=UNITS, batch=BATCH, h=h, name="layer", **parameters)
    return mean_square(y["h_n"]) if last else mean_square(y, y["h_n"])


def perceptron(layers: int, width: int = 4, shared: bool = False) -> gw.Diagram:
    """Layers of ``relu(W x + b)`` on one page, with weights of their own or the same in all."""
    x = gw.variable("x", drawn(BATCH, width))
    for i in range(layers):
        n = 0 if shared else i
        if not (shared and i):
            w, b = (
                gw.variable(f"w{n}", drawn(width, width, seed=n)),
                gw.variable(f"b{n}", drawn(width)),
            )
        x = gw.relu(gw.block("Linear", x, w, b, name=f"fc{i}"))
    return mean_square(x)


def encoder(layers: int, independent: bool, width: int = 4) -> gw.Diagram:
    """Uses of a page: attention, a perceptron, normalisation, residual connections."""

    @gw.page("layer")
    def layer(x: gw.Expression) -> gw.Expression:
        before = gw.block("LayerNorm", x)
        q, k, v = (gw.block("Linear", before, units=width, name=name) for name in "qkv")
        x = x + gw.block("Attention", q, k, v, causal=True)
        hidden = gw.block("Gelu", gw.block("Linear", gw.block("LayerNorm", x), units=2 * width))
        return x + gw.block("Linear", hidden, units=width)

    x = gw.variable("x", drawn(BATCH, 3, width))
    for i in range(layers):
        x = layer(x, independent=independent, name=f"layer{i}")
    return mean_square(x)
