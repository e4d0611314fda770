"""Convolution and pooling over one to three axes, channels first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from gradwire.runtime.interchange.importing.meanings.shapes import pad
from gradwire.runtime.interchange.importing.staged import put

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.importing.staged import Staged

Numbers: TypeAlias = "int | Sequence[int]"
Padding: TypeAlias = "str | int | Sequence[int] | Sequence[tuple[int, int]]"
"""Zeros at both ends of each axis: "valid", "same", one number, one for each axis, or pairs."""


def each(numbers: Numbers, rank: int) -> tuple[int, ...]:
    """One number for each axis."""
    given = (numbers,) if isinstance(numbers, int) else tuple(int(n) for n in numbers)
    return given * rank if len(given) == 1 else given


def bare(numbers: Numbers, rank: int) -> int | tuple[int, ...]:
    """As a block takes it: a number over one axis, else one for each."""
    return each(numbers, rank)[0] if rank == 1 else each(numbers, rank)


def pairs(padding: Padding, rank: int) -> list[tuple[int, int]]:
    """Padding that is no name, before and after each axis."""
    assert not isinstance(padding, str)
    given = [padding] if isinstance(padding, int) else padding
    found = [(ends[0], ends[1]) if isinstance(ends, tuple) else (ends, ends) for ends in given]
    return found * rank if len(found) == 1 else found


def shared(total: Sequence[int], lower: bool = False) -> list[tuple[int, int]]:
    """Padding before and after; an odd element of it goes after, or before."""
    halves = [(n // 2, n - n // 2) for n in total]
    return [ends[::-1] for ends in halves] if lower else halves


def _padding(padding: Padding, rank: int) -> str | int | tuple[int | tuple[int, int], ...]:
    """As blocks take it."""
    if isinstance(padding, str):
        return padding
    found = pairs(padding, rank)
    if all(before == after for before, after in found):
        return bare([before for before, _ in found], rank)
    return found[0] if rank == 1 else tuple(found)


def conv(
    x: Staged,
    weight: Staged,
    bias: Staged | None = None,
    stride: Numbers = 1,
    padding: Padding = 0,
    dilation: Numbers = 1,
    groups: int = 1,
) -> Staged:
    """Cross-correlation with a weight (out, in / groups, ...); negative padding cuts off."""
    rank = weight.ndim - 2
    if not isinstance(padding, str):
        ends = pairs(padding, rank)
        x = pad(x, [(0, 0), (0, 0), *((min(one, 0), min(other, 0)) for one, other in ends)])
        padding = [(max(before, 0), max(after, 0)) for before, after in ends]
    return put(
        f"Conv{rank}D", x, weight, bias, kernel=bare(weight.shape[2:], rank),
        stride=bare(stride, rank), padding=_padding(padding, rank),
        dilation=bare(dilation, rank), groups=int(groups),
    )  # fmt: skip


def conv_transpose(
    x: Staged,
    weight: Staged,
    bias: Staged | None = None,
    stride: Numbers = 1,
    padding: Padding = 0,
    output_padding: Numbers = 0,
    groups: int = 1,
    dilation: Numbers = 1,
    lengths: Sequence[int] | None = None,
    lower: bool = False,
) -> Staged:
    """The transpose of a convolution, with a weight (in, out / groups, ...).

    ``lengths`` are those of the result, from which both paddings follow, see ``shared``.
    """
    rank = weight.ndim - 2
    if lengths is not None:
        size, steps, apart = weight.shape[2:], each(stride, rank), each(dilation, rank)
        more = each(output_padding, rank)
        given = zip(x.shape[2:], steps, size, apart, more, lengths, strict=True)
        over = [s * (n - 1) + e + (k - 1) * d + 1 - out for n, s, k, d, e, out in given]
        output_padding = [e + max(-n, 0) for e, n in zip(more, over, strict=True)]
        padding = shared([max(n, 0) for n in over], lower)
    return put(
        f"ConvTranspose{rank}D", x, weight, bias, kernel=bare(weight.shape[2:], rank),
        stride=bare(stride, rank), padding=_padding(padding, rank),
        output_padding=bare(output_padding, rank), dilation=bare(dilation, rank),
        groups=int(groups),
    )  # fmt: skip


def depthwise(weight: Staged) -> Staged:
    """A kernel (..., channels, times) as the weight of as many groups as there are channels."""
    rank = weight.ndim - 2
    turned = weight.stage.transpose(weight, (rank, rank + 1, *range(rank)))
    return turned.stage.reshape(turned, (turned.shape[0] * turned.shape[1], 1, *turned.shape[2:]))


def pool(
    kind: str,
    x: Staged,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Padding = 0,
    dilation: Numbers = 1,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Staged:
    """The "Max" or "Avg" of windows, or their "Sum"; whether zeros around x count."""
    rank = x.ndim - 2
    stride = kernel_size if stride is None or stride in ((), []) else stride
    more: dict[str, object] = {"ceil": True} if ceil_mode else {}
    if any(n != 1 for n in each(dilation, rank)):
        more["dilation"] = bare(dilation, rank)
    if kind != "Max" and not count_include_pad and padding != "valid":
        if isinstance(padding, str) or any(map(any, pairs(padding, rank))):
            more["count_padding"] = False
    y = put(
        f"{'Avg' if kind == 'Sum' else kind}Pool{rank}D", x, window=bare(kernel_size, rank),
        stride=bare(stride, rank), padding=_padding(padding, rank), **more,
    )  # fmt: skip
    return y * float(math.prod(each(kernel_size, rank))) if kind == "Sum" else y


def norm_pool(
    order: float,
    x: Staged,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Padding = 0,
    dilation: Numbers = 1,
    ceil_mode: bool = False,
) -> Staged:
    """The p-norm of each window; see ``pool``."""
    powers = put("Abs", x) ** order
    return pool("Sum", powers, kernel_size, stride, padding, dilation, ceil_mode) ** (1 / order)


def pool_everywhere(kind: str, x: Staged, keepdims: bool = True) -> Staged:
    """The "Max", "Mean" or "Sum" over all places."""
    return put(kind, x, axis=tuple(range(2, x.ndim)), keepdims=keepdims)


def adaptive_pool(kind: str, x: Staged, sizes: Sequence[int]) -> Staged:
    """The "Max" or "Mean" of windows that cover an axis evenly, whatever its length."""
    lengths = x.shape[2:]
    if all(size == 1 for size in sizes):
        return pool_everywhere(kind, x)
    if all(n % size == 0 for n, size in zip(lengths, sizes, strict=True)):
        window = [n // size for n, size in zip(lengths, sizes, strict=True)]
        return pool("Avg" if kind == "Mean" else kind, x, window)
    for axis, (n, size) in enumerate(zip(lengths, sizes, strict=True), 2):
        ends = [(i * n // size, -(-(i + 1) * n // size)) for i in range(size)]
        cuts = [x.stage.cut(x, axis, start, stop) for start, stop in ends]
        parts = [put(kind, part, axis=(axis,), keepdims=True) for part in cuts]
        x = parts[0] if size == 1 else put("Concat", *parts, axis=axis)
    return x


def places_in(lengths: Sequence[int], size: Numbers, stride: Numbers, dilation: Numbers) -> Array:
    """Where the elements of all windows are in an image in one row: (*size, *windows)."""
    rank, total = len(lengths), np.zeros((), np.int64)
    given = (each(numbers, rank) for numbers in (size, stride, dilation))
    for axis, (n, k, s, d) in enumerate(zip(lengths, *given, strict=True)):
        along = np.arange(k)[:, None] * d + np.arange(0, n - d * (k - 1), s)
        shape = [1] * 2 * rank
        shape[axis], shape[rank + axis] = along.shape
        total = total * n + along.reshape(shape)
    return total


def im2col(
    x: Staged,
    kernel_size: Numbers,
    dilation: Numbers = 1,
    padding: Padding = 0,
    stride: Numbers = 1,
) -> Staged:
    """The windows of an image as columns: (n, c, ...) gives (n, c * kernel, windows)."""
    batch, channels, *lengths = x.shape
    x = pad(x, [(0, 0), (0, 0), *pairs(padding, len(lengths))])
    places = places_in(x.shape[2:], kernel_size, stride, dilation)
    flat = x.stage.reshape(x, (batch, channels, math.prod(x.shape[2:])))
    count = math.prod(places.shape[: len(lengths)])
    taken = x.stage.take(flat, places.ravel(), 2)
    return x.stage.reshape(taken, (batch, channels * count, places.size // count))


def col2im(
    x: Staged,
    output_size: Sequence[int],
    kernel_size: Numbers,
    dilation: Numbers = 1,
    padding: Padding = 0,
    stride: Numbers = 1,
) -> Staged:
    """The image of which these are the windows as columns; where they overlap, their sum."""
    stage, rank = x.stage, len(output_size)
    ends = pairs(padding, rank)
    lengths = [n + sum(pair) for n, pair in zip(output_size, ends, strict=True)]
    places = places_in(lengths, kernel_size, stride, dilation)
    outer = (x.shape[0], x.shape[1] // math.prod(places.shape[:rank]))
    empty = stage.constant(np.zeros((*outer, math.prod(lengths)), x.dtype))
    flat, index = stage.reshape(x, (*outer, places.size)), stage.constant(places.ravel())
    image = put("ScatterRows", empty, index, flat, mode="add", axis=2)
    image = stage.reshape(image, (*outer, *lengths))
    for axis, ((before, _), length) in enumerate(zip(ends, output_size, strict=True), 2):
        image = stage.cut(image, axis, before, before + length)
    return image
