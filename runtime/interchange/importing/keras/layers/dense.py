"""Layers of units, look-ups, dropout and scaling."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.importing.keras.layers.activations import activated

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.keras.call import Call, Operator
    from gradwire.runtime.interchange.importing.staged import Staged


def _dense(call: Call) -> Staged:
    """An affine map of the last axis, then an activation."""
    weight = call.variable(0, "kernel", np.transpose)
    bias = call.variable(1, "bias") if call.config.flag("use_bias", True) else None
    return activated(call, call.block("Linear", call.x(), weight, bias))


def _einsum(call: Call) -> Staged:
    kernel = call.variable(0, "kernel")
    y = call.block("Einsum", call.x(), kernel, subscripts=call.config.text("equation", ""))
    has_bias = call.config.json("bias_axes") is not None
    return activated(call, y + call.variable(1, "bias") if has_bias else y)


def _embedding(call: Call) -> Staged:
    if call.config.flag("mask_zero", False):
        call.stage.remark(
            "lost", f"The layer {call.layer.name!r} masks zeros, the diagram doesn't."
        )
    indices = call.x()
    whole = indices if not indices.is_float else call.stage.cast(indices, "int64")
    return call.block("Embedding", whole, call.variable(0, "embeddings"))


def _dropout(call: Call) -> Staged:
    """Drops in training, passes everything in use."""
    x = call.x()
    known = call.layouts.known(x)
    dropped = call.block(
        "Dropout",
        x if known is None else known,
        rate=call.config.number("rate", 0.5),
        mode="train" if call.training else "eval",
    )
    return dropped if known is None else call.layouts.last(dropped)


def _passing(call: Call) -> Staged:
    """What does nothing in use; in training it would add noise, or to the loss."""
    if call.training:
        call.stage.remark("lost", f"The {call.layer.kind} {call.layer.name!r} only passes values.")
    return call.x()


def _rescaling(call: Call) -> Staged:
    x = call.stage.cast(call.x(), "float32") if not call.x().is_float else call.x()
    scaled = call.block("Mul", x, x.like(call.config.number("scale", 1.0)))
    offset = call.config.number("offset", 0.0)
    return scaled + offset if offset else scaled


LAYERS: dict[str, Operator] = {
    "Dense": _dense, "EinsumDense": _einsum, "Embedding": _embedding, "Dropout": _dropout,
    "Rescaling": _rescaling, "ActivityRegularization": _passing, "GaussianNoise": _passing,
    "GaussianDropout": _passing, "AlphaDropout": _passing, "SpatialDropout1D": _passing,
    "SpatialDropout2D": _passing, "SpatialDropout3D": _passing, "Identity": _passing,
}  # fmt: skip
