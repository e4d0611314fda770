"""Reading images at given places."""

from __future__ import annotations

from functools import reduce
from itertools import product
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, TypeAlias

from gradwire.blocks.block import Block
from gradwire.blocks.classes.identity import by_identity
from gradwire.blocks.errors import ShapeError

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.blocks.symbolic import Namespace, Operand, Value

Mode: TypeAlias = Literal["linear", "nearest", "cubic"]
Beyond: TypeAlias = Literal["zeros", "border", "reflection"]
A = -0.75
"""The coefficient of cubic convolution."""


@by_identity
class _Tap(NamedTuple):
    """One element that counts along an axis, for each place of the grid."""

    place: Value
    weight: Value


class GridSample(Block):
    """An image read between its elements: x (N, C, H, W), grid (N, H', W', 2), out (N, C, H', W').

    The grid has (across, down) for each element of the output, from -1 to 1 over the image; a
    volume (N, C, D, H, W) takes (N, D', H', W', 3), with the depth last. The gradient of the grid
    is 0 where the nearest element is read. Raises ShapeError where the shapes don't fit.

    Sources: Jaderberg et al. 2015; Keys 1981 (cubic).
    """

    family: ClassVar[str] = "sampling"
    symbol: ClassVar[str] = "x(u)"
    formula: ClassVar[str] = r"y_{c p} = \sum_{k, l} w(u_p - l) \, w(v_p - k) \, x_{c k l}"

    mode: Mode = "linear"
    """linear: between 2 elements along each axis; nearest: the nearest; cubic: between 4."""
    padding: Beyond = "zeros"
    """What lies beyond the image. zeros: 0; border: the element at the border; reflection: the
    image mirrored at its border."""
    align_corners: bool = False
    """Whether -1 and 1 are the centres of the outermost elements; else their outer borders."""

    def forward(self, xp: Namespace, x: Value, grid: Value) -> Value:
        rank = x.ndim - 2
        fits = rank in (2, 3) and grid.ndim == rank + 2 and grid.shape[-1] == rank
        if not fits or grid.shape[0] != x.shape[0] or 0 in x.shape[2:]:
            raise ShapeError(
                "The grid doesn't fit x.",
                expected="x (N, C, H, W) and grid (N, H', W', 2), or x (N, C, D, H, W) and grid "
                "(N, D', H', W', 3)",
                got=f"{x.shape} and {grid.shape}",
            )
        x, grid = xp.as_float(x), xp.as_float(grid)
        taps = [
            self._taps(xp, grid[..., rank - 1 - axis], x.shape[2 + axis]) for axis in range(rank)
        ]
        rows = xp.reshape(xp.permute_dims(x, (0, *range(2, x.ndim), 1)), (-1, x.shape[1]))
        images = xp.reshape(xp.arange(x.shape[0]), (-1, *(1,) * rank))
        parts = [_read(xp, rows, images, chosen, x.shape[2:]) for chosen in product(*taps)]
        out = reduce(lambda a, b: a + b, parts)
        return xp.permute_dims(out, (0, rank + 1, *range(1, rank + 1)))

    def _taps(self, xp: Namespace, given: Value, length: int) -> list[_Tap]:
        """The elements along one axis that count, and their weights."""
        at = (given + 1) * ((length - 1) / 2)
        if not self.align_corners:
            at = (given + 1) * (length / 2) - 0.5
        if self.mode != "cubic":
            at = self._brought_inside(xp, at, length)
        if self.mode == "nearest":
            place = xp.round(at)
            # A box of height 1: flat, so that the grid has gradient 0 as it has in PyTorch.
            return [self._tap(xp, place, 1 - xp.round(at - place), length)]
        first = xp.floor(at)
        part = at - first
        if self.mode == "linear":
            weights = {0: 1 - part, 1: part}
        else:
            weights = _cubic(part)
        return [self._tap(xp, first + step, weight, length) for step, weight in weights.items()]

    def _tap(self, xp: Namespace, place: Value, weight: Value, length: int) -> _Tap:
        if self.mode == "cubic":
            place = self._brought_inside(xp, place, length)
        inside = (place >= 0) & (place <= length - 1)
        index = xp.astype(xp.round(xp.clip(place, 0, length - 1)), "int64")
        return _Tap(index, xp.where(inside, weight, 0))

    def _brought_inside(self, xp: Namespace, at: Value, length: int) -> Value:
        """Where the element lies that a place beyond the image has instead."""
        if self.padding == "zeros":
            return at
        if self.padding == "reflection":
            start = 0.0 if self.align_corners else -0.5
            span = length - 1 if self.align_corners else length
            if span == 0:
                return xp.zeros_like(at)
            turned = xp.remainder(xp.abs(at - start), 2 * span)
            at = span - xp.abs(turned - span) + start
        return xp.clip(at, 0, length - 1)


def _read(
    xp: Namespace, rows: Value, images: Value, chosen: tuple[_Tap, ...], lengths: Shape
) -> Value:
    """One element for each place of the grid, channels last, times its weight."""
    index = images
    weight: Operand = 1
    for tap, length in zip(chosen, lengths, strict=True):
        index = index * length + tap.place
        weight = tap.weight * weight
    return xp.take(rows, index, 0) * xp.expand_dims(weight, -1)


def _cubic(t: Value) -> dict[int, Value]:
    """Weights of the elements around a place that lies ``t`` behind the one at 0."""

    def near(d: Value) -> Value:
        return ((A + 2) * d - (A + 3)) * d * d + 1

    def far(d: Value) -> Value:
        return ((A * d - 5 * A) * d + 8 * A) * d - 4 * A

    return {-1: far(t + 1), 0: near(t), 1: near(1 - t), 2: far(2 - t)}
