"""Primitives that change shapes, join arrays and make them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.jax.operands import LazyBroadcast, block_dtype
from gradwire.runtime.interchange.importing.meanings import shapes

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.runtime.interchange.importing.jax.jaxprs import Params
    from gradwire.runtime.interchange.importing.jax.operations.handlers import Lazy, Whole
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Staged


def broadcast_in_dim(
    stage: Stage, params: Params, x: LazyBroadcast, *_: LazyBroadcast
) -> LazyBroadcast:
    """Axes of length 1 where the input has none; what follows repeats them."""
    shape = tuple(int(n) for n in params["shape"])
    padded = (1,) * (len(x.shape) - x.narrow.ndim) + x.narrow.shape
    between = [1] * len(shape)
    for axis, place in enumerate(params["broadcast_dimensions"]):
        between[place] = padded[axis]
    return _narrow(stage, x.narrow, tuple(between), shape)


def _reshaped(stage: Stage, x: LazyBroadcast, lengths: Iterable[int]) -> LazyBroadcast:
    shape = tuple(lengths)
    if x.narrow.size != math.prod(shape):
        return LazyBroadcast(stage.reshape(x.wide(stage), shape), shape)
    return _narrow(stage, x.narrow, shape, shape)


def _narrow(stage: Stage, x: Staged, between: Shape, shape: Shape) -> LazyBroadcast:
    """``x`` in the shape ``between``, which broadcasts to ``shape``.

    Leading axes of length 1 are left out, since broadcasting adds them.
    """
    if _bare(between) == x.shape:
        return LazyBroadcast(x, shape)
    return LazyBroadcast(stage.reshape(x, between), shape)


def _bare(shape: Shape) -> Shape:
    first = next((i for i, n in enumerate(shape) if n != 1), len(shape))
    return shape[first:]


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
    for axis, (_, _, between) in enumerate(params["padding_config"]):
        x = shapes.spread(x, axis, int(between), number)
    return shapes.pad(
        x, [(int(low), int(high)) for low, high, _ in params["padding_config"]], number
    )


LAZY: dict[str, Lazy] = {
    "broadcast_in_dim": broadcast_in_dim,
    "reshape": lambda stage, params, x, *_: _reshaped(stage, x, map(int, params["new_sizes"])),
    "squeeze": lambda stage, params, x: _reshaped(
        stage, x, [n for axis, n in enumerate(x.shape) if axis not in params["dimensions"]]
    ),
    "expand_dims": lambda stage, params, x: _reshaped(
        stage, x, np.expand_dims(np.empty(x.shape, bool), params["dimensions"]).shape
    ),
    **dict.fromkeys(
        ("copy", "copy_p", "name", "pvary", "sharding_constraint"), lambda stage, params, x: x
    ),
}
SHAPES: dict[str, Whole] = {
    "concatenate": lambda _, params, *xs: shapes.concat(xs, params["dimension"]),
    "iota": iota,
    "pad": pad,
    "rev": lambda _, params, x: shapes.flip(x, params["dimensions"]),
    "slice": cut,
    "split": lambda _, params, x: shapes.split(x, params["sizes"], params["axis"]),
    "stack": lambda _, params, *xs: shapes.stack(xs, params["axis"]),
    "tile": lambda _, params, x: shapes.tile(x, params["reps"]),
    "transpose": lambda stage, params, x: stage.transpose(x, params["permutation"]),
    "unstack": lambda _, params, x: shapes.unstack(x, params["axis"]),
}
