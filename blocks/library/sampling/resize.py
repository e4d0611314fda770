"""Resizing along axes."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, TypeAlias

import numpy as np
from pydantic import Field

from gradwire.blocks.block import Block
from gradwire.blocks.errors import LimitError, ShapeError
from gradwire.blocks.library.sampling.weights import (
    Coordinates,
    ResizedAxis,
    Rounding,
    areas,
    cubic,
    interpolation,
    nearest,
    triangle,
)

if TYPE_CHECKING:
    from gradwire.blocks.symbolic import Namespace, Value
    from gradwire.blocks.values import Array

Size = Annotated[int, Field(ge=1)]
Scale = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Mode: TypeAlias = Literal["nearest", "linear", "cubic", "area"]
MOST_WEIGHTS = 2**25
"""Numbers in the matrix of an axis, which is made while a diagram is traced."""


class Resize(Block):
    """Other lengths along axes, ``out[i] = Σ_j W[i, j] x[j]``: (N, C, H, W) gives (N, C, H', W').

    The axes are resized one after another. Nearest copies elements, of any dtype; the other modes
    are products with constant matrices and give floats. Raises ShapeError where there is not one
    size or scale for each axis.

    Sources: Keys 1981; ONNX, operator Resize.
    """

    family: ClassVar[str] = "sampling"
    symbol: ClassVar[str] = "⤢"
    formula: ClassVar[str] = r"y_{i j} = \sum_{k, l} W_{i k} \, V_{j l} \, x_{k l}"

    mode: Mode = "nearest"
    """nearest: the nearest element; linear, cubic: interpolation between 2 or 4 of them; area: the
    mean of the elements that a part of the axis touches (adaptive average pooling)."""
    sizes: tuple[Size, ...] | None = None
    """The new lengths, one for each axis; null for what scales give."""
    scales: Scale | tuple[Scale, ...] = 2.0
    """Factors, one for all axes or for each: a length n becomes floor(n * factor). Not used where
    sizes are given."""
    axes: tuple[int, ...] | None = None
    """The axes, negative from the end; null for all after batch and channels."""
    coordinates: Coordinates = "half_pixel"
    """Where an element i lies in the axis before. half_pixel: (i + 0.5) / scale - 0.5, or 0 in
    pytorch_half_pixel where the new length is 1; half_pixel_symmetric: the same about the centre;
    align_corners: the ends on the ends; asymmetric: i / scale."""
    rounding: Rounding = "round_prefer_floor"
    """Which element is nearest; the two that round differ halfway between two elements."""
    coefficient: Annotated[float, Field(allow_inf_nan=False)] = -0.75
    """The coefficient a of cubic convolution; -0.5 and -0.75 are common."""
    antialias: bool = False
    """Whether linear and cubic weights are spread over more elements where an axis gets shorter."""
    exclude_outside: bool = False
    """Whether elements beyond an end have no weight; else they count as the element at the end."""

    def label(self) -> str:
        return f"{self.symbol} {self.mode}"

    def forward(self, xp: Namespace, x: Value) -> Value:
        x = xp.asarray(x) if self.mode == "nearest" else xp.as_float(x)
        for place, axis in self._resized(x.shape):
            _require_size(axis, matrix=self.mode != "nearest")
            if self.mode == "nearest":
                x = xp.take(x, nearest(axis, axis.places(self.coordinates), self.rounding), place)
            else:
                matrix = self._matrix(axis)
                if not np.array_equal(matrix, np.eye(axis.length)):
                    x = _along(xp, x, place, matrix)
        return x

    def _resized(self, shape: tuple[int, ...]) -> list[tuple[int, ResizedAxis]]:
        """Each axis that is resized, with its place."""
        places = range(2, len(shape)) if self.axes is None else self.axes
        if not all(-len(shape) <= place < len(shape) for place in places):
            raise ShapeError(f"x has no axes {list(places)}.", got=str(shape))
        found = [place % len(shape) for place in places]
        if len(set(found)) != len(found):
            raise ShapeError(f"Axes {list(places)} name one axis twice.")
        return list(zip(found, self._lengths([shape[place] for place in found]), strict=True))

    def _lengths(self, lengths: list[int]) -> list[ResizedAxis]:
        scales: tuple[float, ...] | float = self.scales
        scales = scales if isinstance(scales, tuple) else (scales,) * len(lengths)
        given = scales if self.sizes is None else self.sizes
        if len(given) != len(lengths):
            raise ShapeError(
                f"There {'is' if len(given) == 1 else 'are'} {len(given)} "
                f"{'scales' if self.sizes is None else 'sizes'} for {len(lengths)} axes.",
                expected="one for each axis",
            )
        if self.sizes is not None:
            axes = [ResizedAxis(n, size) for n, size in zip(lengths, self.sizes, strict=True)]
        else:
            axes = [
                ResizedAxis(n, math.floor(min(n * s, MOST_WEIGHTS + 1)), s)
                for n, s in zip(lengths, scales, strict=True)
            ]
        if any(axis.size < 1 or axis.length < 1 for axis in axes):
            raise ShapeError(
                "An axis without elements can't be resized, nor to no elements.",
                got=", ".join(f"{axis.length} to {axis.size}" for axis in axes),
            )
        return axes

    def _matrix(self, axis: ResizedAxis) -> Array:
        if self.mode == "area":
            return areas(axis)
        places = axis.places(self.coordinates)
        how = {"antialias": self.antialias, "exclude_outside": self.exclude_outside}
        if self.mode == "linear":
            return interpolation(axis, places, triangle, 1, **how)
        return interpolation(axis, places, partial(cubic, a=self.coefficient), 2, **how)


def _require_size(axis: ResizedAxis, matrix: bool) -> None:
    """Raise LimitError where the weights of an axis are more than a constant may be."""
    size = axis.size * (axis.length if matrix else 1)
    if size > MOST_WEIGHTS:
        raise LimitError(
            f"An axis of {axis.length:,} elements has too many elements when it is resized.",
            expected=f"at most {MOST_WEIGHTS:,}{' weights' if matrix else ''}",
            got=f"{size:,}",
            next_step="Make the sizes or scales smaller.",
        )


def _along(xp: Namespace, x: Value, place: int, matrix: Array) -> Value:
    """The product of a matrix and x along an axis."""
    rank, weights = x.ndim, xp.asarray(matrix.T, x.dtype)
    if place == rank - 1:
        return xp.matmul(x, weights)
    order = [*(i for i in range(rank) if i != place), place]
    back = [order.index(i) for i in range(rank)]
    moved = xp.matmul(xp.permute_dims(x, tuple(order)), weights)
    return xp.permute_dims(moved, tuple(back))
