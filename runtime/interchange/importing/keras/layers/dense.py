"""Layers of units, look-ups, dropout and scaling."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.importing.keras.layers.activations import activated
from gradwire.runtime.interchange.importing.meanings.indexing import whole
from gradwire.runtime.interchange.importing.staged import put

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.keras.call import LayerCall, Operator
    from gradwire.runtime.interchange.importing.staged import Staged


_AUGMENTING = (
    "RandomBrightness", "RandomContrast", "RandomCrop", "RandomFlip", "RandomHeight",
    "RandomRotation", "RandomTranslation", "RandomWidth", "RandomZoom",
)  # fmt: skip
"""Layers that change images in training alone."""


def _dense(call: LayerCall) -> Staged:
    """An affine map of the last axis, then an activation."""
    weight = call.variable(0, "kernel", np.transpose)
    bias = call.variable(1, "bias") if call.config.flag("use_bias", True) else None
    return activated(call, put("Linear", call.x(), weight, bias))


def _einsum(call: LayerCall) -> Staged:
    kernel = call.variable(0, "kernel")
    y = put("Einsum", call.x(), kernel, subscripts=call.config.text("equation", ""))
    has_bias = call.config.json("bias_axes") is not None
    return activated(call, y + call.variable(1, "bias") if has_bias else y)


def _embedding(call: LayerCall) -> Staged:
    if call.config.flag("mask_zero", False):
        call.stage.remark(
            "lost", f"The layer {call.layer.name!r} masks zeros, the diagram doesn't."
        )
    return put("Embedding", whole(call.x()), call.variable(0, "embeddings"))


def _dropout(call: LayerCall) -> Staged:
    """Drops in training, passes everything in use; elements that share noise drop together."""
    x, rate = call.x(), call.config.number("rate", 0.5)
    shape = call.config.list("noise_shape")
    if shape and len(shape) != x.ndim:
        raise call.unsupported(f"its noise has the shape {str(shape)[:80]}")
    shared = tuple(n for n, given in enumerate(shape) if given == 1 != x.shape[n])
    return _dropped(call, rate, shared)


def _dropped(call: LayerCall, rate: float, shared: tuple[int, ...] = ()) -> Staged:
    """The input without what is dropped; along the shared axes all of it, or nothing."""
    x = call.x()
    mode = "train" if call.training else "eval"
    if shared and call.training:
        ones = [1 if axis in shared else n for axis, n in enumerate(x.shape)]
        kept = call.stage.constant(np.ones(ones, x.dtype))
        return x * put("Dropout", kept, rate=rate, mode=mode)
    known = call.layouts.known(x)
    dropped = put("Dropout", x if known is None else known, rate=rate, mode=mode)
    return dropped if known is None else call.layouts.last(dropped)


def _over_features(shared: slice, call: LayerCall) -> Staged:
    """Drops whole channels, or whole samples: along these axes all of it, or nothing."""
    key = "drop_path_rate" if "drop_path_rate" in call.config.settings else "rate"
    axes = range(call.x().ndim)[shared]
    return _dropped(call, call.config.number(key, 0.5), tuple(axes))


def _passing(call: LayerCall) -> Staged:
    """What does nothing in use; in training it would add noise, or to the loss."""
    if call.training:
        call.stage.remark("lost", f"The {call.layer.kind} {call.layer.name!r} only passes values.")
    return call.x()


def _rescaling(call: LayerCall) -> Staged:
    """One scale and offset, or one of each for every channel."""
    x = call.stage.cast(call.x(), "float32") if not call.x().is_float else call.x()
    scaled = x * call.constant("scale", 1.0, x.dtype)
    offset = call.constant("offset", 0.0, x.dtype)
    return scaled + offset if offset.array is not None and offset.array.any() else scaled


LAYERS: dict[str, Operator] = {
    "Dense": _dense, "EinsumDense": _einsum, "Embedding": _embedding, "Dropout": _dropout,
    "Rescaling": _rescaling, "ActivityRegularization": _passing, "GaussianNoise": _passing,
    "GaussianDropout": _passing, "AlphaDropout": _passing, "Identity": _passing,
    **{f"SpatialDropout{rank}D": partial(_over_features, slice(1, -1)) for rank in (1, 2, 3)},
    "StochasticDepth": partial(_over_features, slice(1, None)),
    "LayerScale": lambda call: call.x() * call.variable(0, "gamma"),  # as in ConvNeXt
    **dict.fromkeys(_AUGMENTING, _passing),
}  # fmt: skip
