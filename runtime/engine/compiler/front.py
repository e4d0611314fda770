"""From primitives to terms: of each, where its inputs are read for an element of its value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gradwire.blocks.classes.identity import by_identity
from gradwire.runtime.engine.compiler.terms import COPY, RUNNING, Fold, LoopAxis, Read, Steps, Store
from gradwire.runtime.engine.plan.native import machine

if TYPE_CHECKING:
    from gradwire.blocks.values import Array


FOLDS = {"sum": "sum", "max": "max", "min": "min", "cumulative_sum": RUNNING}
"""What primitives fold."""


def store_of(
    name: str, attributes: Mapping[str, Any], source: Array, strides: Sequence[int]
) -> Store:
    """What a primitive of one input computes: array 0 is read; array 1, which has these strides, is
    written.
    """
    copy, axes = copy_of(source, strides, source.dtype.name), _axes(source)
    runs = FOLDS[name] == RUNNING
    places = (attributes["axis"],) if runs else attributes["axes"]
    folded = tuple(axes[i] for i in places if axes[i].extent > 1)
    if not folded:
        return copy
    kept = tuple(step for step in copy.steps if runs or step[0] not in folded)
    return copy._replace(steps=kept, term=Fold(FOLDS[name], copy.term.of, folded))


def copy_of(source: Array, strides: Sequence[int], dtype: str) -> Store:
    """A copy of array 0 to array 1, which has these strides and this dtype."""
    axes = _axes(source)
    read = Read(0, _steps(axes, source.strides), source.dtype.name)
    return Store(1, _steps(axes, strides), dtype, Fold(COPY, read, ()))


def product_of(left: Array, right: Array, shape: Sequence[int], strides: Sequence[int]) -> Store:
    """Products of matrices: arrays 0 and 2 are read."""
    *batch, r, v = (LoopAxis(f"d{i}", n) for i, n in enumerate(shape))
    k = LoopAxis("k", left.shape[-1])

    def read(array: int, x: Array, *axes: LoopAxis) -> Read:
        all_ = [*batch[len(batch) + 2 - x.ndim :], *axes]
        steps = [step if n > 1 else 0 for n, step in zip(x.shape, x.strides, strict=True)]
        return Read(array, _steps(all_, steps), x.dtype.name)

    folded = (k,) if k.extent > 1 else ()
    fold = Fold("sum", read(0, left, r, k), folded, by=read(2, right, k, v))
    return Store(1, _steps([*batch, r, v], strides), left.dtype.name, fold)


@by_identity
class Images(NamedTuple):
    """Images (batch, …) as windows read them: bytes between groups of channels, and tables of bytes
    (see ``Store.row``): pairs of where vectors of places are in an image and in the other images,
    of which the ``whole`` ones come first; where taps are; and the longest ``row``.
    """

    images: Array
    group: int
    vectors: Array
    whole: int
    taps: Array
    row: int


def correlation_of(windows: Images, weights: Array, out: Array) -> Store:
    """Sums over windows: weights are (groups, filters, taps), the result is (batch, filters, …)."""
    groups, filters, _ = weights.shape
    n, g, r = LoopAxis("n", len(out)), LoopAxis("g", groups), LoopAxis("r", filters)
    size, dtype = out.itemsize, out.dtype.name
    v = LoopAxis("v", windows.vectors.size // 2 * machine.vector(dtype, windows.row))
    k = LoopAxis("k", windows.taps.size)
    channel = out.strides[1]
    images = _steps([n, g, v, k], [windows.images.strides[0], windows.group, size, size])
    fold = Fold("sum", Read(0, _steps([g, r, k], weights.strides), dtype), (k,))
    fold = fold._replace(by=Read(2, images, dtype))
    steps = _steps([n, g, r, v], [out.strides[0], r.extent * channel, channel, size])
    return Store(1, steps, dtype, fold, row=windows.row)


def taps_of(windows: Images, gradients: Array, out: Array, groups: int) -> Store:
    """Sums over all places, for each tap: gradients are (batch, filters, …), and the result
    (filters, taps …).
    """
    n, g, r = (
        LoopAxis(*x) for x in zip("ngr", (len(gradients), groups, len(out) // groups), strict=True)
    )
    size, dtype = out.itemsize, out.dtype.name
    k = LoopAxis("k", windows.vectors.size // 2 * machine.vector(dtype, windows.row))
    v, channel, row = LoopAxis("v", windows.taps.size), gradients.strides[1], out.strides[0]
    lines = _steps([n, g, r, k], [gradients.strides[0], r.extent * channel, channel, size])
    images = _steps([n, g, v, k], [windows.images.strides[0], windows.group, size, size])
    fold = Fold("sum", Read(0, lines, dtype), (n, k), by=Read(2, images, dtype))
    return Store(1, _steps([g, r, v], [r.extent * row, row, size]), dtype, fold, row=windows.row)


def gathered_of(group: int, factors: Array, out: Array) -> Store:
    """Sums of what is gathered times factors (groups, filters, terms); the result is (rows, groups,
    filters), and ``group`` are the bytes between groups of what is gathered.
    """
    size, dtype = out.itemsize, out.dtype.name
    g, v, k = (LoopAxis(*x) for x in zip("gvk", factors.shape, strict=True))
    r = LoopAxis("r", len(out))
    fold = Fold("sum", Read(0, _steps([g, v, k], factors.strides), dtype), (k,))
    fold = fold._replace(by=Read(2, _steps([g, r, k], [group, 1, size]), dtype))
    return Store(1, _steps([r, g, v], out.strides), dtype, fold, is_gathered=True)


def _axes(source: Array) -> list[LoopAxis]:
    return [LoopAxis(f"d{i}", n) for i, n in enumerate(source.shape)]


def _steps(axes: Sequence[LoopAxis], strides: Sequence[int]) -> Steps:
    pairs = zip(axes, strides, strict=True)
    return tuple((axis, step) for axis, step in pairs if axis.extent > 1 and step)
