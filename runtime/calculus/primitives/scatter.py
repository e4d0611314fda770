"""Updates of single elements along an axis, in the row-major order of their indices.

Where an index repeats, the updates follow one another: the last one is set, all are multiplied,
and the largest or smallest of all stays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.errors import ShapeError
from gradwire.runtime.calculus.primitives.base import BaseOps, axis_of
from gradwire.runtime.calculus.primitives.gather import POSITIONS, places_along
from gradwire.runtime.calculus.value import Kernel, Primitive, Rule, Value

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus.namespace import Namespace
    from gradwire.runtime.calculus.value import Operand


def _infer(x: Value, indices: Value, updates: Value, *, axis: int) -> tuple[Shape, str]:
    fits = len(indices.shape) == len(x.shape) and all(
        i == axis or n <= m for i, (n, m) in enumerate(zip(indices.shape, x.shape, strict=True))
    )
    if not fits or updates.shape != indices.shape:
        raise ShapeError(
            f"Indices of shape {list(indices.shape)} and updates of shape {list(updates.shape)} "
            f"don't fit {list(x.shape)} along axis {axis}."
        )
    return x.shape, x.dtype


def _kernel(write: Kernel) -> Callable[..., None]:
    """A kernel that writes updates one after the other: of flat arrays, numpy keeps the order."""

    def kernel(x: Array, indices: Array, updates: Array, *, out: Array, axis: int) -> None:
        flat = np.array(x, order="C").reshape(-1)
        if indices.size:
            found = list(places_along(x, indices, axis))
            found[axis] = found[axis].astype(np.intp) % x.shape[axis]
            places = np.ravel_multi_index(np.broadcast_arrays(*found), x.shape)
            write(flat, places.reshape(-1), updates.reshape(-1))
        out[...] = flat.reshape(x.shape)

    return kernel


def _set(flat: Array, places: Array, updates: Array) -> None:
    flat[places] = updates


def _covered(
    xp: Namespace, g: Value, out: Value, x: Value, i: Value, u: Value, *, axis: int
) -> Value:
    """``g``, and 0 where x was overwritten."""
    return xp.set_along_axis(g, i, xp.zeros_like(u), axis)


def _last(xp: Namespace, g: Value, out: Value, x: Value, i: Value, u: Value, *, axis: int) -> Value:
    """``g`` where an update was written, and 0 for one that a later one overwrote."""
    order = xp.reshape(xp.arange(i.size), i.shape)
    last = xp.set_along_axis(xp.zeros(x.shape, "int64"), i, order, axis)
    stays = xp.equal(xp.take_along_axis(last, i, axis), order)
    return xp.where(stays, xp.take_along_axis(g, i, axis), xp.zeros_like(u))


def _product_of_updates(
    xp: Namespace, g: Value, out: Value, x: Value, i: Value, u: Value, *, axis: int
) -> Value:
    return g * xp.multiply_along_axis(xp.ones_like(x), i, u, axis)


def _product_of_others(
    xp: Namespace, g: Value, out: Value, x: Value, i: Value, u: Value, *, axis: int
) -> Value:
    """``g`` times the other factors of a place, none of which is divided by.

    Sorted by place, they are those before and those after it, so that zeros have exact derivatives
    of all orders.
    """
    places = xp.remainder(xp.astype(i, "int64"), x.shape[axis])
    order = xp.argsort(places, axis)
    places, sorted_ = (xp.take_along_axis(each, order, axis) for each in (places, u))
    before = _products_before(xp, places, sorted_, axis)
    backwards = _products_before(xp, xp.flip(places, axis), xp.flip(sorted_, axis), axis)
    others = before * xp.flip(backwards, axis)
    unsorted = xp.take_along_axis(others, xp.argsort(order, axis), axis)
    return xp.take_along_axis(g, i, axis) * xp.take_along_axis(x, i, axis) * unsorted


def _products_before(xp: Namespace, places: Value, factors: Value, axis: int) -> Value:
    """The product of the factors before each one that have its place, in log₂ n rounds."""

    def earlier(x: Value, distance: int, fill: int) -> Value:
        widths = tuple((distance if a == axis else 0, 0) for a in range(x.ndim))
        return xp.slice_(xp.pad(x, widths, fill), (0,) * x.ndim, x.shape)

    def same_place(distance: int) -> Value:
        return xp.where(
            xp.equal(places, earlier(places, distance, -1)), earlier(factors, distance, 1), 1.0
        )

    distance = 1
    while distance < factors.shape[axis]:
        factors = factors * same_place(distance)
        distance *= 2
    return same_place(1)


def _shares(xp: Namespace, out: Value, x: Value, i: Value, u: Value, axis: int) -> list[Value]:
    """Of x and of the updates, the share of each in the gradient: ties share it evenly."""
    first = xp.astype(xp.equal(x, out), out.dtype)
    rest = xp.astype(xp.equal(u, xp.take_along_axis(out, i, axis)), out.dtype)
    count = xp.add_along_axis(first, i, rest, axis)
    return [first / count, rest / xp.take_along_axis(count, i, axis)]


def _share_of_x(
    xp: Namespace, g: Value, out: Value, x: Value, i: Value, u: Value, *, axis: int
) -> Value:
    return g * _shares(xp, out, x, i, u, axis)[0]


def _share_of_updates(
    xp: Namespace, g: Value, out: Value, x: Value, i: Value, u: Value, *, axis: int
) -> Value:
    return xp.take_along_axis(g, i, axis) * _shares(xp, out, x, i, u, axis)[1]


def _along(name: str, write: Kernel, of_x: Rule, of_u: Rule) -> Primitive:
    return Primitive(name, _infer, _kernel(write), (of_x, None, of_u), no_derivative=POSITIONS)


SET_ALONG = _along("set_along_axis", _set, _covered, _last)
MULTIPLY_ALONG = _along(
    "multiply_along_axis", np.multiply.at, _product_of_updates, _product_of_others
)
MAXIMUM_ALONG = _along("maximum_along_axis", np.maximum.at, _share_of_x, _share_of_updates)
MINIMUM_ALONG = _along("minimum_along_axis", np.minimum.at, _share_of_x, _share_of_updates)


class ScatterOps(BaseOps):
    """Gradient passes to x and to the updates, never to the indices.

    Indices have the rank of x, the shape of the updates, and are no longer than x on other axes.
    """

    __slots__ = ()

    def _scattered(
        self, primitive: Primitive, x: Operand, indices: Operand, updates: Operand, axis: int
    ) -> Value:
        x, updates = self._common([x, updates], numbers=primitive is not SET_ALONG)
        indices = self.xp.indices(indices)
        axis = axis_of(axis, x.ndim)
        return self.trace.apply(primitive, x, indices, updates, axis=axis)

    def set_along_axis(self, x: Operand, indices: Operand, updates: Operand, axis: int) -> Value:
        """``x`` with updates in its place where ``take_along_axis`` would read; the last stays."""
        return self._scattered(SET_ALONG, x, indices, updates, axis)

    def multiply_along_axis(
        self, x: Operand, indices: Operand, updates: Operand, axis: int
    ) -> Value:
        """``x`` times all updates of a place; zeros among them have exact first derivatives."""
        return self._scattered(MULTIPLY_ALONG, x, indices, updates, axis)

    def maximum_along_axis(
        self, x: Operand, indices: Operand, updates: Operand, axis: int
    ) -> Value:
        """The largest of ``x`` and the updates of a place; ties share the gradient evenly."""
        return self._scattered(MAXIMUM_ALONG, x, indices, updates, axis)

    def minimum_along_axis(
        self, x: Operand, indices: Operand, updates: Operand, axis: int
    ) -> Value:
        """The smallest of ``x`` and the updates of a place; ties share the gradient evenly."""
        return self._scattered(MINIMUM_ALONG, x, indices, updates, axis)
