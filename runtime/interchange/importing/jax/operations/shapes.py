"""Primitives that change shapes, join arrays and make them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.jax.operands import Wire, block_dtype
from gradwire.runtime.interchange.importing.meanings.shapes import flip, split, unstack

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.runtime.interchange.importing.jax.jaxprs import Params
    from gradwire.runtime.interchange.importing.jax.operations.handlers import Lazy, Whole
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Staged


def broadcast_in_dim(stage: Stage, params: Params, x: Wire, *_: Wire) -> Wire:
    """Axes of length 1 where the input has none; what follows repeats them."""
    shape = tuple(int(n) for n in params["shape"])
    padded = (1,) * (len(x.shape) - x.narrow.ndim) + x.narrow.shape
    between = [1] * len(shape)
    for axis, place in enumerate(params["broadcast_dimensions"]):
        between[place] = padded[axis]
    return _narrow(stage, x.narrow, tuple(between), shape)


def reshape(stage: Stage, params: Params, x: Wire, *_: Wire) -> Wire:
    """The elements in another shape."""
    return _reshaped(stage, x, tuple(int(n) for n in params["new_sizes"]))


def squeeze(stage: Stage, params: Params, x: Wire) -> Wire:
    """Without some axes of length 1."""
    dropped = {axis % len(x.shape) for axis in params["dimensions"]}
    return _reshaped(stage, x, tuple(n for i, n in enumerate(x.shape) if i not in dropped))


def expand_dims(stage: Stage, params: Params, x: Wire) -> Wire:
    """With further axes of length 1."""
    shape = np.expand_dims(np.empty(x.shape, bool), params["dimensions"]).shape
    return _reshaped(stage, x, shape)


def _reshaped(stage: Stage, x: Wire, shape: Shape) -> Wire:
    if x.narrow.size != math.prod(shape):
        return Wire(stage.reshape(x.wide(stage), shape), shape)
    return _narrow(stage, x.narrow, shape, shape)


def _narrow(stage: Stage, x: Staged, between: Shape, shape: Shape) -> Wire:
    """``x`` in the shape ``between``, which broadcasts to ``shape``.

    Leading axes of length 1 are left out, since broadcasting adds them.
    """
    if _bare(between) == x.shape:
        return Wire(x, shape)
    return Wire(stage.reshape(x, between), shape)


def _bare(shape: Shape) -> Shape:
    first = next((i for i, n in enumerate(shape) if n != 1), len(shape))
    return shape[first:]


def same(stage: Stage, params: Params, x: Wire) -> Wire:
    """The value itself."""
    return x


def transpose(stage: Stage, params: Params, x: Staged) -> Staged:
    """The axes in another order."""
    return stage.transpose(x, params["permutation"])


def concatenate(stage: Stage, params: Params, *parts: Staged) -> Staged:
    """Arrays joined along an axis."""
    return stage.block("Concat", *parts, axis=params["dimension"]) if len(parts) > 1 else parts[0]


def stack(stage: Stage, params: Params, *parts: Staged) -> Staged:
    """Arrays along a new axis."""
    return stage.block("Stack", *parts, axis=params["axis"])


def tile(stage: Stage, params: Params, x: Staged) -> Staged:
    """An array repeated along its axes."""
    for axis, times in enumerate(params["reps"]):
        if times > 1:
            x = stage.block("Concat", *([x] * times), axis=axis)
    return x


def iota(stage: Stage, params: Params, *_: Staged) -> Staged:
    """Indices along one axis."""
    shape, axis = params["shape"], params["dimension"]
    along = [1] * len(shape)
    along[axis] = -1
    indices = np.arange(shape[axis]).reshape(along)
    dtype = block_dtype(str(np.dtype(params["dtype"])))
    return stage.constant(np.broadcast_to(indices, shape).astype(dtype))


def cut(stage: Stage, params: Params, x: Staged) -> Staged:
    """A box of the elements, with steps."""
    steps = params["strides"] or (1,) * x.ndim
    bounds = zip(params["start_indices"], params["limit_indices"], steps, strict=True)
    for axis, (start, end, step) in enumerate(bounds):
        x = stage.cut(x, axis, start, end, step)
    return x


def pad(stage: Stage, params: Params, x: Staged, value: Staged) -> Staged:
    """Elements between and around those of x; negative widths cut elements off."""
    if value.array is None:
        raise UnsupportedError("pad", "the value is computed")
    number = float(value.array)
    config = [tuple(int(n) for n in widths) for widths in params["padding_config"]]
    for axis, (low, high, between) in enumerate(config):
        x = spread(stage, x, axis, between, number)
        x = stage.cut(x, axis, max(-low, 0), x.shape[axis] - max(-high, 0))
    return _padded(stage, x, [(max(low, 0), max(high, 0)) for low, high, _ in config], number)


def spread(stage: Stage, x: Staged, axis: int, between: int, number: float) -> Staged:
    """``between`` elements after each but the last."""
    length = x.shape[axis]
    if not between or length < 2:
        return x
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    apart = stage.reshape(x, (*before, length, 1, *after))
    widths = [(0, 0)] * apart.ndim
    widths[axis + 1] = (0, between)
    wide = _padded(stage, apart, widths, number)
    joined = stage.reshape(wide, (*before, length * (between + 1), *after))
    return stage.cut(joined, axis, 0, joined.shape[axis] - between)


def _padded(stage: Stage, x: Staged, widths: Sequence[tuple[int, int]], number: float) -> Staged:
    if not any(any(pair) for pair in widths):
        return x
    if x.is_float:
        return stage.block("Pad", x, widths=tuple(widths), value=number)
    whole = stage.block("Pad", stage.cast(x, "float64"), widths=tuple(widths), value=number)
    return stage.cast(whole, x.dtype)


LAZY: dict[str, Lazy] = {
    "broadcast_in_dim": broadcast_in_dim,
    "copy": same,
    "copy_p": same,
    "expand_dims": expand_dims,
    "name": same,
    "pvary": same,
    "reshape": reshape,
    "sharding_constraint": same,
    "squeeze": squeeze,
}
SHAPES: dict[str, Whole] = {
    "concatenate": concatenate,
    "iota": iota,
    "pad": pad,
    "rev": lambda _, params, x: flip(x, params["dimensions"]),
    "slice": cut,
    "split": lambda _, params, x: split(x, params["sizes"], params["axis"]),
    "stack": stack,
    "tile": tile,
    "transpose": transpose,
    "unstack": lambda _, params, x: unstack(x, params["axis"]),
}
