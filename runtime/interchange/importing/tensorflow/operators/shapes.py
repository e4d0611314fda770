"""The same elements in other shapes, joined or repeated."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.importing.meanings import shapes

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged
    from gradwire.runtime.interchange.importing.tensorflow.call import Call, Operator


def _reshape(call: Call) -> Staged:
    x = call.x()
    return call.stage.reshape(x, shapes.whole(call.wholes(1), x.size))


def _transpose(call: Call) -> Staged:
    x = call.x()
    return call.block("Transpose", x, perm=call.axes(1, x.ndim))


def _expand(call: Call) -> Staged:
    return call.block("ExpandDims", call.x(), axis=call.axis(1, call.x().ndim + 1))


def _squeeze(call: Call) -> Staged:
    x = call.x()
    axes = call.attributes.wholes("squeeze_dims")
    if any(x.shape[axis] != 1 for axis in axes):
        raise call.unsupported(f"axes {sorted(axes)} of {x.shape} are not all of length 1")
    return shapes.squeeze(x, axes or None)


def _concat(call: Call) -> Staged:
    parts = call.xs(-1)
    return call.block("Concat", *parts, axis=call.axis(-1, parts[0].ndim))


def _stack(call: Call) -> Staged:
    return call.block("Stack", *call.xs(), axis=call.attributes.whole("axis"))


def _split(call: Call) -> tuple[Staged, ...]:
    x, count = call.x(1), call.attributes.whole("num_split")
    axis = call.axis(0, x.ndim)
    if count < 1 or x.shape[axis] % count:
        raise call.unsupported(f"{x.shape} has no {count} equal parts along axis {axis}")
    return tuple(shapes.split(x, [x.shape[axis] // count] * count, axis))


def _split_sizes(call: Call) -> tuple[Staged, ...]:
    x, sizes = call.x(), list(call.wholes(1))
    axis = call.axis(2, x.ndim)
    rest = x.shape[axis] - sum(size for size in sizes if size >= 0)
    return tuple(shapes.split(x, [rest if size == -1 else size for size in sizes], axis))


def _tile(call: Call) -> Staged:
    """Repeats the whole along each axis."""
    x, counts = call.x(), call.shape(1)
    if len(counts) != x.ndim:
        raise call.unsupported(f"{counts} copies of {x.shape}")
    return shapes.tile(x, counts)


def _broadcast(call: Call) -> Staged:
    return call.stage.broadcast(call.x(), call.shape(1))


def _pad(call: Call) -> Staged:
    x, widths = call.x(), call.numbers(1)
    value = call.numbers(2).item() if len(call) > 2 else 0.0
    pairs = tuple((int(before), int(after)) for before, after in widths)
    return call.block("Pad", x, widths=pairs, value=value)


def _mirror(call: Call) -> Staged:
    """Reflects at the edges: SYMMETRIC repeats them, REFLECT doesn't."""
    x, mode = call.x(), call.attributes.text("mode", "REFLECT")
    widths = [(int(before), int(after)) for before, after in call.numbers(1)]
    return shapes.pad(x, widths, mode="reflect" if mode == "REFLECT" else "symmetric")


def _blocks(meaning: Callable[[Staged, int], Staged]) -> Operator:
    def blocks(call: Call) -> Staged:
        layout = call.attributes.text("data_format", "NHWC")
        if layout not in ("NHWC", "NCHW"):
            raise call.unsupported(f"its layout is {layout[:20]}")
        x, last = call.x(), layout == "NHWC"
        y = meaning(shapes.move(x, -1, 1) if last else x, call.attributes.whole("block_size"))
        return shapes.move(y, 1, -1) if last else y

    return blocks


def _diagonal(call: Call) -> Staged:
    """A matrix with the last axis on its diagonal."""
    x = call.x()
    if len(call) > 1 and (call.whole(1), call.numbers(4).item()) != (0, 0):
        raise call.unsupported("only the main diagonal, with zeros around it, can be made")
    eye = call.stage.constant(np.eye(x.shape[-1], dtype=x.dtype))
    return call.block("Mul", call.stage.block("ExpandDims", x, axis=-1), eye)


def _band(call: Call) -> Staged:
    """Zeros outside a band around the diagonal."""
    x = call.x()
    below, above = call.whole(1), call.whole(2)
    return shapes.band(x, *(None if n < 0 else n for n in (below, above)))


OPERATORS: dict[str, Operator] = {
    "Reshape": _reshape, "Transpose": _transpose, "ExpandDims": _expand, "Squeeze": _squeeze,
    "ConcatV2": _concat, "Pack": _stack, "Split": _split, "SplitV": _split_sizes,
    "Unpack": lambda call: tuple(shapes.unstack(call.x(), call.attributes.whole("axis"))),
    "Tile": _tile, "BroadcastTo": _broadcast, "Pad": _pad, "PadV2": _pad, "MirrorPad": _mirror,
    "ReverseV2": lambda call: shapes.flip(call.x(), call.axes(1, call.x().ndim)),
    "Roll": lambda call: shapes.roll(call.x(), call.wholes(1), call.axes(2, call.x().ndim)),
    "DepthToSpace": _blocks(shapes.depth_to_space), "SpaceToDepth": _blocks(shapes.space_to_depth),
    "MatrixDiag": _diagonal, "MatrixDiagV3": _diagonal, "MatrixBandPart": _band,
}  # fmt: skip
