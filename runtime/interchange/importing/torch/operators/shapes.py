"""The same numbers in other shapes, orders and dtypes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.meanings import shapes
from gradwire.runtime.interchange.importing.torch.operators.table import (
    axes,
    enter,
    operator,
    pairs,
)

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Staged

VIEWS = frozenset(
    {
        "alias",
        "as_strided",
        "chunk",
        "diagonal",
        "expand",
        "expand_as",
        "flatten",
        "mT",
        "matrix_H",
        "movedim",
        "narrow",
        "numpy_T",
        "permute",
        "reshape",
        "select",
        "slice",
        "split",
        "split_with_sizes",
        "squeeze",
        "swapaxes",
        "swapdims",
        "t",
        "tensor_split",
        "transpose",
        "unbind",
        "unflatten",
        "unfold",
        "unsqueeze",
        "unsafe_chunk",
        "unsafe_split",
        "view",
        "view_as",
    }
)
"""Operators whose results share the memory of their first argument."""


@operator(
    "alias", "clone", "contiguous", "lift", "lift_fresh", "lift_fresh_copy", "resolve_conj",
    "resolve_neg", "positive", "pin_memory", "conj", "_conj", "feature_alpha_dropout",
)  # fmt: skip
def same(stage: Stage, x: Staged, *_: Any, **__: Any) -> Staged:
    """The same numbers."""
    return x


@operator("to", "_to_copy", "to.device", "to.dtype_layout", "to.prim_Device", "to.prim_dtype")
def to(stage: Stage, x: Staged, *args: Any, dtype: Any = None, **_: Any) -> Staged:
    """In another dtype, where one is given; all devices are one."""
    wanted = dtype if dtype is not None else next((a for a in args if isinstance(a, str)), None)
    return x if wanted is None else stage.cast(x, wanted)


@operator("to.other", "type_as")
def to_other(stage: Stage, x: Staged, other: Staged, *_: Any, **__: Any) -> Staged:
    """In the dtype of another tensor."""
    return stage.cast(x, other.dtype)


@operator("view.dtype")
def view_dtype(stage: Stage, x: Staged, dtype: str) -> Staged:
    """The same bits as another dtype: no block for that."""
    if dtype == x.dtype:
        return x
    raise UnsupportedError("view", f"the bits of {x.dtype} are read as {dtype}")


@operator("view", "reshape", "_unsafe_view", "view_copy")
def reshape(stage: Stage, x: Staged, shape: Sequence[int]) -> Staged:
    """In another shape; one length may be -1."""
    return stage.reshape(x, shapes.whole(shape, x.size))


@operator("flatten")
def flatten(stage: Stage, x: Staged, start_dim: int = 0, end_dim: int = -1) -> Staged:
    """Some axes as one."""
    if not x.ndim:
        return stage.reshape(x, (1,))
    start, end = start_dim % x.ndim, end_dim % x.ndim
    merged = math.prod(x.shape[start : end + 1])
    return stage.reshape(x, (*x.shape[:start], merged, *x.shape[end + 1 :]))


@operator("movedim", "moveaxis")
def movedim(
    stage: Stage, x: Staged, source: int | Sequence[int], destination: int | Sequence[int]
) -> Staged:
    """Some axes at other places."""
    moved = dict(zip(axes(destination, x.ndim), axes(source, x.ndim), strict=True))
    rest = iter(axis for axis in range(x.ndim) if axis not in moved.values())
    return stage.transpose(x, [moved[i] if i in moved else next(rest) for i in range(x.ndim)])


@operator("expand")
def expand(stage: Stage, x: Staged, size: Sequence[int], implicit: bool = False) -> Staged:
    """Repeated along axes of length 1; -1 keeps a length."""
    missing = len(size) - x.ndim
    shape = [x.shape[i - missing] if n == -1 else n for i, n in enumerate(size)]
    return stage.broadcast(x, shape)


@operator("broadcast_tensors")
def broadcast_tensors(stage: Stage, tensors: Sequence[Staged]) -> list[Staged]:
    """All repeated to one shape."""
    shape = np.broadcast_shapes(*(x.shape for x in tensors))
    return [stage.broadcast(x, shape) for x in tensors]


@operator("meshgrid")
def meshgrid(stage: Stage, tensors: Sequence[Staged], indexing: str = "ij") -> list[Staged]:
    """Each along an axis of its own."""
    shape = [x.size for x in tensors]
    grids = []
    for i, x in enumerate(tensors):
        along = stage.reshape(x, [x.size if i == j else 1 for j in range(len(shape))])
        grids.append(stage.broadcast(along, shape))
    return [shapes.swap(x, 0, 1) for x in grids] if indexing == "xy" else grids


@operator("repeat_interleave.self_int")
def repeat_interleave(
    stage: Stage, x: Staged, repeats: int, dim: int | None = None, **_: Any
) -> Staged:
    """Each element several times in a row."""
    if dim is None:
        x, dim = _flat(x), 0
    return stage.take(x, np.repeat(np.arange(x.shape[dim]), repeats), dim)


@operator("repeat_interleave.Tensor")
def repeated_places(stage: Stage, repeats: Staged, **_: Any) -> Staged:
    """Each place as often as is said there, known at import."""
    times = stage.numbers(repeats, "repeat_interleave")
    return stage.constant(np.repeat(np.arange(times.size), times))


@operator("cat", "concat", "concatenate")
def cat(stage: Stage, tensors: Sequence[Staged], dim: int = 0) -> Staged:
    """One behind the other along an axis."""
    parts = [x for x in tensors if x.shape != (0,)] or list(tensors)
    return parts[0] if len(parts) == 1 else stage.block("Concat", *parts, axis=dim)


@operator("split", "unsafe_split", "split_with_sizes", "unsafe_split_with_sizes")
def split(stage: Stage, x: Staged, size: int | Sequence[int], dim: int = 0) -> list[Staged]:
    """Parts of a length, or of given lengths, along an axis."""
    length = x.shape[dim]
    if isinstance(size, int):
        size = [min(size, length - at) for at in range(0, length, size)]
    return shapes.split(x, size, dim)


@operator("chunk", "unsafe_chunk")
def chunk(stage: Stage, x: Staged, chunks: int, dim: int = 0) -> list[Staged]:
    """A number of parts, as equal as they can be."""
    return split(stage, x, -(-x.shape[dim] // chunks), dim)


@operator("tensor_split.sections")
def tensor_split(stage: Stage, x: Staged, sections: int, dim: int = 0) -> list[Staged]:
    """A number of parts, the first ones longer by one where they can't be equal."""
    return split(stage, x, [len(p) for p in np.array_split(range(x.shape[dim]), sections)], dim)


@operator("tensor_split.tensor_indices_or_sections")
def tensor_split_at(stage: Stage, x: Staged, where: Staged, dim: int = 0) -> list[Staged]:
    """A number of parts, or parts that end at indices, known at import."""
    given = stage.numbers(where, "tensor_split")
    if not given.ndim:
        return tensor_split(stage, x, int(given), dim)
    ends = given.tolist()
    return [stage.cut(x, dim, a, b) for a, b in zip([0, *ends], [*ends, x.shape[dim]], strict=True)]


@operator("slice", "slice_copy")
def slice_(
    stage: Stage,
    x: Staged,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Staged:
    """``x[start:end:step]`` along an axis."""
    return stage.cut(x, dim, start, end, step)


@operator("narrow")
def narrow(stage: Stage, x: Staged, dim: int, start: int, length: int) -> Staged:
    """A part along an axis."""
    start %= x.shape[dim] + (start >= 0)
    return stage.cut(x, dim, start, start + length)


@operator("rot90")
def rot90(stage: Stage, x: Staged, k: int = 1, dims: Sequence[int] = (0, 1)) -> Staged:
    """Turned by quarters from the first of two axes to the second."""
    first, second = axes(dims, x.ndim)
    if k % 4 == 2:
        return shapes.flip(x, (first, second))
    if k % 4 == 1:
        return shapes.swap(shapes.flip(x, (second,)), first, second)
    return shapes.flip(shapes.swap(x, first, second), (second,)) if k % 4 else x


@operator("block_diag")
def block_diag(stage: Stage, tensors: Sequence[Staged]) -> Staged:
    """Matrices along the diagonal of one that is 0 elsewhere."""
    matrices = [stage.reshape(x, (1, x.size)) if x.ndim < 2 else x for x in tensors]
    width, at, rows = sum(x.shape[1] for x in matrices), 0, []
    for x in matrices:
        sides = ((0, 0), (at, width - at - x.shape[1]))
        rows.append(stage.block("Pad", x, widths=sides, value=0.0))
        at += x.shape[1]
    return cat(stage, rows, 0)


@operator("roll")
def roll(
    stage: Stage, x: Staged, shifts: int | Sequence[int], dims: int | Sequence[int] = ()
) -> Staged:
    """Moved along axes; what falls off comes back at the other end."""
    if not isinstance(dims, int) and not dims:
        return stage.reshape(shapes.roll(_flat(x), pairs(shifts, 1), (0,)), x.shape)
    along = axes(dims, x.ndim)
    return shapes.roll(x, pairs(shifts, len(along)), along)


@operator("diagonal")
def diagonal(stage: Stage, x: Staged, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Staged:
    """The diagonal of two axes, as the last one."""
    first, second = dim1 % x.ndim, dim2 % x.ndim
    rest = [axis for axis in range(x.ndim) if axis not in (first, second)]
    lined = stage.transpose(x, (*rest, first, second))
    rows, columns = lined.shape[-2:]
    i = np.arange(max(0, -offset), max(0, min(rows, columns - offset)))
    flat = stage.reshape(lined, (*lined.shape[:-2], rows * columns))
    return stage.take(flat, i * columns + i + offset, -1)


@operator("as_strided")
def as_strided(
    stage: Stage,
    x: Staged,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
    memory: tuple[Sequence[int], int] | None = None,
) -> Staged:
    """Elements by their places in memory, in which ``x`` has these strides and this offset."""
    if memory is None:
        raise UnsupportedError("as_strided", "how its tensor lies in memory is not known")
    strides, offset = memory
    start = offset if storage_offset is None else storage_offset
    own, wanted = _in_memory(x.shape, strides, offset), _in_memory(size, stride, start)
    order = np.argsort(own.ravel())
    lined = own.ravel()[order]
    at = np.minimum(np.searchsorted(lined, wanted), max(0, lined.size - 1))
    if (np.diff(lined) == 0).any() or not np.array_equal(lined[at] if lined.size else own, wanted):
        raise UnsupportedError("as_strided", "its places in memory are not those of one tensor")
    return stage.take(_flat(x), order[at], 0)


def _in_memory(
    shape: Sequence[int], strides: Sequence[int], offset: int
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The place of each element in memory."""
    steps = np.array(strides, np.int64).reshape(-1, *(1,) * len(shape))
    places: np.ndarray[Any, np.dtype[np.int64]] = offset + (np.indices(shape) * steps).sum(0)
    return places


@operator("unfold")
def unfold(stage: Stage, x: Staged, dimension: int, size: int, step: int) -> Staged:
    """Windows along an axis, as a new last one."""
    if not x.ndim:
        return stage.reshape(x, (1,))
    axis = dimension % x.ndim
    starts = np.arange(0, x.shape[axis] - size + 1, step)
    windows = stage.take(x, starts[:, None] + np.arange(size), axis)
    order = [i for i in range(x.ndim + 1) if i != axis + 1]
    return stage.transpose(windows, (*order, axis + 1))


def _flat(x: Staged) -> Staged:
    return x.stage.reshape(x, (x.size,))


def _hstack(stage: Stage, tensors: Sequence[Staged]) -> Staged:
    return cat(stage, tensors, 0 if tensors[0].ndim == 1 else 1)


def _squeeze(_: Stage, x: Staged, dim: int | Sequence[int] | None = None) -> Staged:
    """Axes that are longer stay."""
    if dim is None or not x.ndim:
        return shapes.squeeze(x)
    return shapes.squeeze(x, [axis for axis in axes(dim, x.ndim) if x.shape[axis] == 1])


def _unflatten(stage: Stage, x: Staged, dim: int, sizes: Sequence[int], *_: Any) -> Staged:
    dim %= x.ndim
    lengths = shapes.whole(sizes, x.shape[dim])
    return stage.reshape(x, (*x.shape[:dim], *lengths, *x.shape[dim + 1 :]))


enter({
    **dict.fromkeys(
        ("view_as", "reshape_as"), lambda stage, x, other: stage.reshape(x, other.shape)
    ),
    "ravel": lambda _, x: _flat(x),
    "unflatten": _unflatten,
    **dict.fromkeys(("permute", "permute_copy"), lambda stage, x, dims: stage.transpose(x, dims)),
    **dict.fromkeys(
        ("transpose", "swapaxes", "swapdims"), lambda _, x, dim0, dim1: shapes.swap(x, dim0, dim1)
    ),
    **dict.fromkeys(
        ("t", "numpy_T"), lambda stage, x: stage.transpose(x, tuple(reversed(range(x.ndim))))
    ),
    **dict.fromkeys(("mT", "matrix_H", "adjoint"), lambda _, x: shapes.swap(x, -2, -1)),
    "unsqueeze": lambda _, x, dim: shapes.unsqueeze(x, (dim,)),
    "squeeze": _squeeze,
    "expand_as": lambda stage, x, other: stage.broadcast(x, other.shape),
    "broadcast_to": expand,
    **dict.fromkeys(("repeat", "tile"), lambda _, x, repeats: shapes.tile(x, repeats)),
    "stack": lambda stage, tensors, dim=0: stage.block("Stack", *tensors, axis=dim),
    **dict.fromkeys(("hstack", "column_stack"), _hstack),
    "vstack": lambda stage, tensors: cat(
        stage, [shapes.unsqueeze(x, (0,)) if x.ndim == 1 else x for x in tensors], 0
    ),
    "unbind": lambda _, x, dim=0: shapes.unstack(x, dim),
    **dict.fromkeys(
        ("select", "select_copy"), lambda stage, x, dim, index: stage.select(x, dim, index)
    ),
    "flip": lambda _, x, dims: shapes.flip(x, axes(dims, x.ndim)),
    "fliplr": lambda _, x: shapes.flip(x, (1,)),
})  # fmt: skip
