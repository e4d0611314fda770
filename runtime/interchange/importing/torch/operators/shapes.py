"""The same numbers in other shapes, orders and dtypes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.meanings import shapes
from gradwire.runtime.interchange.importing.meanings.elementwise import stopped
from gradwire.runtime.interchange.importing.torch.operators.table import (
    axes,
    enter,
    operator,
    pairs,
)

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.importing.staged import Staged

VIEWS = frozenset(
    """
    alias as_strided chunk diagonal expand expand_as flatten mT matrix_H movedim narrow numpy_T
    permute reshape select slice split split_with_sizes squeeze swapaxes swapdims t tensor_split
    transpose unbind unflatten unfold unsqueeze unsafe_chunk unsafe_split view view_as
    """.split()
)
"""Operators whose results share the memory of their first argument."""


def same(x: Staged, *_: object, **__: object) -> Staged:
    """The same numbers."""
    return x


def cat(tensors: Sequence[Staged], dim: int = 0) -> Staged:
    """One behind the other along an axis, where empty vectors don't count."""
    return shapes.concat([x for x in tensors if x.shape != (0,)] or tensors, dim)


def repeat_interleave(x: Staged, repeats: int, dim: int | None = None, **_: object) -> Staged:
    """Each element several times in a row."""
    return shapes.repeat(x, repeats, dim)


@operator("to", "_to_copy", "to.device", "to.dtype_layout", "to.prim_Device", "to.prim_dtype")
def _to(x: Staged, *args: Any, dtype: str | None = None, **_: object) -> Staged:
    """In another dtype, where one is given; all devices are one."""
    wanted = dtype if dtype is not None else next((a for a in args if isinstance(a, str)), None)
    return x if wanted is None else x.stage.cast(x, wanted)


@operator("view.dtype")
def _view_dtype(x: Staged, dtype: str) -> Staged:
    """The same bits as another dtype: no block for that; as its own, it stops the gradient."""
    if dtype == x.dtype:
        return stopped(x, "view(dtype)") if x.is_float else x
    raise UnsupportedError("view", f"the bits of {x.dtype} are read as {dtype}")


@operator("split", "unsafe_split", "split_with_sizes", "unsafe_split_with_sizes")
def _split(x: Staged, size: int | Sequence[int], dim: int = 0) -> list[Staged]:
    """Parts of a length, or of given lengths, along an axis."""
    length = x.shape[dim]
    if isinstance(size, int):
        size = [min(size, length - at) for at in range(0, length, size)]
    return shapes.split(x, size, dim)


@operator("tensor_split.sections")
def _equal(x: Staged, sections: int, dim: int = 0) -> list[Staged]:
    """A number of parts, the first ones longer by one where they can't be equal."""
    return shapes.split(x, [len(p) for p in np.array_split(range(x.shape[dim]), sections)], dim)


@operator("tensor_split.tensor_indices_or_sections")
def _split_at(x: Staged, where: Staged, dim: int = 0) -> list[Staged]:
    """A number of parts, or parts that end at indices, known at import."""
    given = x.stage.numbers(where, "tensor_split")
    if not given.ndim:
        return _equal(x, int(given), dim)
    ends = given.tolist()
    return [
        x.stage.cut(x, dim, a, b) for a, b in zip([0, *ends], [*ends, x.shape[dim]], strict=True)
    ]


@operator("narrow")
def _narrow(x: Staged, dim: int, start: int, length: int) -> Staged:
    start %= x.shape[dim] + (start >= 0)
    return x.stage.cut(x, dim, start, start + length)


@operator("rot90")
def _rot90(x: Staged, k: int = 1, dims: Sequence[int] = (0, 1)) -> Staged:
    """Turned by quarters from the first of two axes to the second."""
    first, second = axes(dims, x.ndim)
    if k % 4 == 2:
        return shapes.flip(x, (first, second))
    if k % 4 == 1:
        return shapes.swap(shapes.flip(x, (second,)), first, second)
    return shapes.flip(shapes.swap(x, first, second), (second,)) if k % 4 else x


@operator("roll")
def _roll(x: Staged, shifts: int | Sequence[int], dims: int | Sequence[int] = ()) -> Staged:
    if not isinstance(dims, int) and not dims:
        return x.stage.reshape(shapes.roll(shapes.flatten(x), pairs(shifts, 1), (0,)), x.shape)
    along = axes(dims, x.ndim)
    return shapes.roll(x, pairs(shifts, len(along)), along)


@operator("as_strided")
def as_strided(
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
    return x.stage.take(shapes.flatten(x), order[at], 0)


def _in_memory(shape: Sequence[int], strides: Sequence[int], offset: int) -> Array:
    """The place of each element in memory."""
    steps = np.array(strides, np.int64).reshape(-1, *(1,) * len(shape))
    places: Array = offset + (np.indices(shape) * steps).sum(0)
    return places


def _squeeze(x: Staged, dim: int | Sequence[int] | None = None) -> Staged:
    """Axes that are longer stay."""
    if dim is None or not x.ndim:
        return shapes.squeeze(x)
    several = (dim,) if isinstance(dim, int) else dim
    return shapes.squeeze(x, [axis for axis in several if x.shape[axis] == 1])


def _repeated_places(repeats: Staged, **_: object) -> Staged:
    """Each place as often as is said there, known at import."""
    times = repeats.stage.numbers(repeats, "repeat_interleave")
    return repeats.stage.constant(np.repeat(np.arange(times.size), times))


def _matrix(x: Staged) -> Staged:
    return x.stage.reshape(x, (1, x.size)) if x.ndim < 2 else x


enter({
    "alias clone contiguous lift lift_fresh lift_fresh_copy resolve_conj resolve_neg": same,
    "positive pin_memory conj _conj": same,
    "to.other type_as": lambda x, other, *_, **__: x.stage.cast(x, other.dtype),
    "view reshape _unsafe_view view_copy": shapes.reshape,
    "view_as reshape_as": lambda x, other: x.stage.reshape(x, other.shape),
    "flatten ravel": shapes.flatten,
    "unflatten": lambda x, dim, sizes, *__: shapes.unflatten(x, dim, sizes),
    "permute permute_copy": lambda x, dims: x.stage.transpose(x, dims),
    "movedim moveaxis": shapes.move,
    "transpose swapaxes swapdims": shapes.swap,
    "t numpy_T": shapes.reverse,
    "mT matrix_H adjoint": lambda x: shapes.swap(x, -2, -1),
    "unsqueeze": lambda x, dim: shapes.unsqueeze(x, (dim,)),
    "squeeze": _squeeze,
    "expand broadcast_to": lambda x, size, implicit=False: shapes.broadcast(x, size),
    "expand_as": lambda x, other: x.stage.broadcast(x, other.shape),
    "broadcast_tensors": shapes.together,
    "meshgrid": lambda tensors, indexing="ij": shapes.meshgrid(tensors, indexing == "xy"),
    "repeat tile": shapes.tile,
    "repeat_interleave.self_int": repeat_interleave,
    "repeat_interleave.Tensor": _repeated_places,
    "cat concat concatenate": cat,
    "stack": shapes.stack,
    "hstack": lambda tensors: cat(tensors, 0 if tensors[0].ndim == 1 else 1),
    "column_stack": lambda tensors: cat(
        [x if x.ndim > 1 else x.stage.reshape(x, (x.size, 1)) for x in tensors], 1
    ),
    "vstack": lambda tensors: cat([_matrix(x) for x in tensors]),
    "block_diag": lambda tensors: shapes.block_diagonal([_matrix(x) for x in tensors]),
    "chunk unsafe_chunk": lambda x, chunks, dim=0: _split(x, -(-x.shape[dim] // chunks), dim),
    "unbind": lambda x, dim=0: shapes.unstack(x, dim),
    "select select_copy": lambda x, dim, index: x.stage.select(x, dim, index),
    "slice slice_copy": lambda x, dim=0, start=None, end=None, step=1: x.stage.cut(
        x, dim, start, end, step
    ),
    "flip": shapes.flip,
    "fliplr": lambda x: shapes.flip(x, (1,)),
    "diagonal": shapes.diagonal,
    "diag": lambda x, diagonal=0: (
        shapes.diagonal(x, diagonal) if x.ndim == 2 else shapes.on_diagonal(x, diagonal)
    ),
    "diag_embed": lambda x, offset=0, dim1=-2, dim2=-1: shapes.move(
        shapes.on_diagonal(x, offset), (-2, -1), (dim1, dim2)
    ),
    "unfold": lambda x, dimension, size, step: (
        shapes.windows(x, dimension, size, step) if x.ndim else shapes.flatten(x)
    ),
})  # fmt: skip
