"""The same elements in other shapes, joined or repeated."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gradwire.runtime.interchange.importing.meanings import shapes
from gradwire.runtime.interchange.importing.staged import put

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged
    from gradwire.runtime.interchange.importing.tensorflow.call import Operator, TensorFlowCall


def _squeeze(call: TensorFlowCall) -> Staged:
    x, axes = call.x(), call.attributes.wholes("squeeze_dims")
    if any(x.shape[axis] != 1 for axis in axes):
        raise call.unsupported(f"axes {sorted(axes)} of {x.shape} are not all of length 1")
    return shapes.squeeze(x, axes or None)


def _concat(call: TensorFlowCall) -> Staged:
    parts = call.xs(-1)
    return put("Concat", *parts, axis=call.axis(-1, parts[0].ndim))


def _split(call: TensorFlowCall) -> tuple[Staged, ...]:
    x, count = call.x(1), call.attributes.whole("num_split")
    axis = call.axis(0, x.ndim)
    if count < 1 or x.shape[axis] % count:
        raise call.unsupported(f"{x.shape} has no {count} equal parts along axis {axis}")
    return tuple(shapes.split(x, [x.shape[axis] // count] * count, axis))


def _split_sizes(call: TensorFlowCall) -> tuple[Staged, ...]:
    x, sizes = call.x(), list(call.wholes(1))
    axis = call.axis(2, x.ndim)
    rest = x.shape[axis] - sum(size for size in sizes if size >= 0)
    return tuple(shapes.split(x, [rest if size == -1 else size for size in sizes], axis))


def _tile(call: TensorFlowCall) -> Staged:
    """Repeats the whole along each axis."""
    x, counts = call.x(), call.shape(1)
    if len(counts) != x.ndim:
        raise call.unsupported(f"{counts} copies of {x.shape}")
    return shapes.tile(x, counts)


def _widths(call: TensorFlowCall) -> list[tuple[int, int]]:
    return [(int(before), int(after)) for before, after in call.numbers(1)]


def _pad(call: TensorFlowCall) -> Staged:
    value = call.numbers(2).item() if len(call) > 2 else 0.0
    return put("Pad", call.x(), widths=tuple(_widths(call)), value=value)


def _mirror(call: TensorFlowCall) -> Staged:
    """Reflects at the edges: SYMMETRIC repeats them, REFLECT doesn't."""
    mode = call.attributes.text("mode", "REFLECT")
    mode = "reflect" if mode == "REFLECT" else "symmetric"
    return shapes.pad(call.x(), _widths(call), mode=mode)


def _blocks(meaning: Callable[[Staged, int], Staged]) -> Operator:
    def blocks(call: TensorFlowCall) -> Staged:
        layout = call.attributes.text("data_format", "NHWC")
        if layout not in ("NHWC", "NCHW"):
            raise call.unsupported(f"its layout is {layout[:20]}")
        x, last = call.x(), layout == "NHWC"
        y = meaning(shapes.move(x, -1, 1) if last else x, call.attributes.whole("block_size"))
        return shapes.move(y, 1, -1) if last else y

    return blocks


def _diagonal(call: TensorFlowCall) -> Staged:
    """Matrices with the last axis on their diagonals."""
    x = call.x()
    if len(call) > 1:
        offset, *sides = (call.whole(number) for number in (1, 2, 3))
        if offset or call.numbers(4).item() or not {-1, x.shape[-1]}.issuperset(sides):
            raise call.unsupported("only the main diagonal, with zeros around it, can be made")
    return shapes.on_diagonal(x)


OPERATORS: dict[str, Operator] = {
    "Reshape": lambda call: shapes.reshape(call.x(), call.wholes(1)),
    "Transpose": lambda call: put("Transpose", call.x(), perm=call.axes(1, call.x().ndim)),
    "ExpandDims": lambda call: put("ExpandDims", call.x(), axis=call.axis(1, call.x().ndim + 1)),
    "Squeeze": _squeeze, "ConcatV2": _concat, "Split": _split, "SplitV": _split_sizes,
    "Pack": lambda call: shapes.stack(call.xs(), call.attributes.whole("axis")),
    "Unpack": lambda call: tuple(shapes.unstack(call.x(), call.attributes.whole("axis"))),
    "Tile": _tile, "BroadcastTo": lambda call: call.stage.broadcast(call.x(), call.shape(1)),
    "Pad": _pad, "PadV2": _pad, "MirrorPad": _mirror,
    "ReverseV2": lambda call: shapes.flip(call.x(), call.axes(1, call.x().ndim)),
    "Roll": lambda call: shapes.roll(call.x(), call.wholes(1), call.axes(2, call.x().ndim)),
    "DepthToSpace": _blocks(shapes.depth_to_space), "SpaceToDepth": _blocks(shapes.space_to_depth),
    "MatrixDiag": _diagonal, "MatrixDiagV3": _diagonal,
    "MatrixBandPart": lambda call: shapes.band(
        call.x(), *(None if n < 0 else n for n in (call.whole(1), call.whole(2)))
    ),
}  # fmt: skip
