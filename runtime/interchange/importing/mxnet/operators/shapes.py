"""The same elements in other shapes: reshaping, transposing, joining and repeating."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.importing.meanings import shapes
from gradwire.runtime.interchange.importing.staged import put

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.mxnet.call import MXNetCall, Operator
    from gradwire.runtime.interchange.importing.mxnet.shapes import Shape
    from gradwire.runtime.interchange.importing.staged import Staged


def _reshape(call: MXNetCall) -> Staged:
    x, wanted = call.x(), call.attributes.wholes("shape", ())
    if not wanted and "target_shape" in call.attributes.texts:
        wanted = call.attributes.wholes("target_shape")
    reverse = call.attributes.flag("reverse")
    shape = x.shape[::-1] if reverse else x.shape
    try:
        found = reshaped(shape, wanted[::-1] if reverse else wanted)
    except (ValueError, IndexError) as error:
        raise call.unsupported(f"{wanted} doesn't fit {x.shape}") from error
    return put("Reshape", x, shape=found[::-1] if reverse else found)


def reshaped(shape: Shape, wanted: Sequence[int]) -> Shape:
    """The lengths that MXNet's codes mean: 0 keeps a length, -1 takes what is left.

    -2 keeps all further ones, -3 joins two, -4 splits one into the two that follow. Raises
    ValueError or IndexError where they don't fit the shape.
    """
    found: list[int] = []
    codes, place = list(wanted), 0
    while codes:
        code = codes.pop(0)
        if code > 0 or code == -1:
            found.append(code)
            place += 1
        elif code == 0:
            found.append(shape[place])
            place += 1
        elif code == -2:
            found += shape[place:]
            place = len(shape)
        elif code == -3:
            found.append(shape[place] * shape[place + 1])
            place += 2
        elif code == -4:
            found += _split(shape[place], codes.pop(0), codes.pop(0))
            place += 1
        else:
            raise ValueError(f"{code} is no length")
    if found.count(-1) > 1:
        raise ValueError("two lengths are open")
    known = math.prod(length for length in found if length != -1)
    return tuple(math.prod(shape) // max(known, 1) if n == -1 else n for n in found)


def _split(length: int, first: int, second: int) -> tuple[int, int]:
    if first == -1:
        first = length // second
    if second == -1:
        second = length // first
    return first, second


def _transpose(call: MXNetCall) -> Staged:
    x, axes = call.x(), call.attributes.axes("axes")
    order = axes or tuple(range(x.ndim))[::-1]
    return put("Transpose", x, perm=tuple(axis % max(x.ndim, 1) for axis in order))


def _split_channels(call: MXNetCall) -> tuple[Staged, ...]:
    """Equal parts along an axis, which ``squeeze_axis`` drops."""
    x, axis = call.x(), call.attributes.whole("axis", 1)
    count = call.attributes.whole("num_outputs")
    if not (-x.ndim <= axis < x.ndim and 0 < count and x.shape[axis] % count == 0):
        raise call.unsupported(f"{x.shape} has no {count} equal parts along axis {axis}")
    parts = shapes.split(x, [x.shape[axis] // count] * count, axis)
    if call.attributes.flag("squeeze_axis"):
        parts = [call.stage.select(part, axis, 0) for part in parts]
    return tuple(parts)


def _broadcast_to(call: MXNetCall) -> Staged:
    x, wanted = call.x(), call.attributes.wholes("shape", ())
    if len(wanted) != x.ndim:
        raise call.unsupported(f"{wanted} doesn't fit {x.shape}")
    return shapes.broadcast(x, wanted, keep=0)


def _broadcast_axes(call: MXNetCall) -> Staged:
    x = call.x()
    shape = list(x.shape)
    axes, lengths = call.attributes.wholes("axis", ()), call.attributes.wholes("size", ())
    for axis, length in zip(axes, lengths, strict=True):
        shape[axis] = length
    return call.stage.broadcast(x, shape)


def _broadcast_like(call: MXNetCall) -> Staged:
    if "lhs_axes" in call.attributes.texts:
        raise call.unsupported("only some axes are broadcast")
    return call.stage.broadcast(call.x(0), call.x(1).shape)


def _repeat(call: MXNetCall) -> Staged:
    axes = call.attributes.axes()
    return shapes.repeat(call.x(), call.attributes.whole("repeats"), axes[0] if axes else None)


def _blocks(meaning: Callable[[Staged, int], Staged]) -> Operator:
    return lambda call: meaning(call.x(), call.attributes.whole("block_size"))


def _upsampling(call: MXNetCall) -> Staged:
    """Every pixel repeated to a square; other ways of enlarging have weights."""
    if call.attributes.text("sample_type") != "nearest" or len(call) != 1:
        raise call.unsupported("only one image, and its nearest pixels, are repeated")
    x, scale = call.x(), call.attributes.whole("scale")
    return shapes.tile(x, (scale,) * (x.ndim - 2), inner=True)


def _pad(call: MXNetCall) -> Staged:
    mode = call.attributes.text("mode", "constant")
    if mode not in ("constant", "edge", "reflect"):
        raise call.unsupported(f"its mode is {mode[:40]}")
    flat = call.attributes.wholes("pad_width")
    widths = list(zip(flat[::2], flat[1::2], strict=False))
    return shapes.pad(call.x(), widths, call.attributes.number("constant_value"), mode)


OPERATORS: dict[str, Operator] = {
    **dict.fromkeys(("Reshape", "reshape"), _reshape),
    **dict.fromkeys(("Flatten", "flatten"), lambda call: put("Flatten", call.x())),
    "transpose": _transpose,
    **dict.fromkeys(
        ("SwapAxis", "swapaxes"),
        lambda call: shapes.swap(
            call.x(), *(call.attributes.whole(key, 0) for key in ("dim1", "dim2"))
        ),
    ),
    "expand_dims": lambda call: put("ExpandDims", call.x(), axis=call.attributes.whole("axis")),
    "squeeze": lambda call: shapes.squeeze(call.x(), call.attributes.axes()),
    **dict.fromkeys(
        ("Concat", "concat"),
        lambda call: put("Concat", *call.all(), axis=call.attributes.whole("dim", 1)),
    ),
    "stack": lambda call: shapes.stack(call.all(), call.attributes.whole("axis", 0)),
    "SliceChannel": _split_channels, "split": _split_channels,
    "broadcast_to": _broadcast_to, "broadcast_axis": _broadcast_axes,
    "broadcast_axes": _broadcast_axes, "broadcast_like": _broadcast_like,
    "reshape_like": lambda call: call.stage.reshape(call.x(0), call.x(1).shape),
    "tile": lambda call: shapes.tile(call.x(), call.attributes.wholes("reps")),
    "depth_to_space": _blocks(shapes.depth_to_space),
    "space_to_depth": _blocks(shapes.space_to_depth),
    "repeat": _repeat, "UpSampling": _upsampling, "Pad": _pad, "pad": _pad,
    **dict.fromkeys(
        ("reverse", "flip"), lambda call: shapes.flip(call.x(), call.attributes.wholes("axis"))
    ),
    "shape_array": lambda call: call.stage.constant(np.asarray(call.x().shape, np.int64)),
    "size_array": lambda call: call.stage.constant(np.asarray([call.x().size], np.int64)),
}  # fmt: skip
