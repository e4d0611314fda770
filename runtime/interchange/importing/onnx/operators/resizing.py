"""Resampling: along each axis, every element is a weighted sum of some of x."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, cast, get_args

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.library.sampling.weights import (
    Coordinates,
    ResizedAxis,
    Rounding,
    cubic,
    interpolation,
    nearest,
    triangle,
)
from gradwire.runtime.interchange.importing.meanings.shapes import move
from gradwire.runtime.interchange.importing.onnx.operators.node import OperatorNode, rule
from gradwire.runtime.interchange.importing.onnx.operators.shapes import require_small
from gradwire.runtime.interchange.importing.staged import put

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.importing.staged import Staged

MAX_WEIGHTS = 2**26
"""Weights of the elements along an axis."""


@dataclass(frozen=True, slots=True)
class Resampling:
    """One axis of a Resize: ``length`` elements become ``new`` ones.

    ``scale`` is the factor that the model gives, which may differ from ``new / length``; ``part``
    are the ends of the part that is resampled, as fractions of the axis.
    """

    axis: int
    length: int
    new: int
    scale: float
    part: tuple[float, float] | None

    @property
    def sampled(self) -> ResizedAxis:
        """As a Resize block sees it."""
        return ResizedAxis(self.length, self.new, self.scale)


@rule("Resize", "Upsample")
def _resize(node: OperatorNode) -> Staged:
    x = node.x()
    axes = _axes(node)
    require_small(node, [axis.new for axis in axes])
    if _is_plain(node, axes):
        return _resize_block(node, x, [axis for axis in axes if axis.new != axis.length])
    for axis in axes:
        if axis.new != axis.length or axis.scale != 1 or axis.part is not None:
            x = _resampled(node, x, axis)
    return x


def _is_plain(node: OperatorNode, axes: Sequence[Resampling]) -> bool:
    """Whether a Resize block does it: the scales are those of the lengths, and nothing is cut."""
    exact = all(int(axis.length * axis.scale) == axis.new for axis in axes)
    sized = all(axis.scale == axis.new / axis.length for axis in axes if axis.length)
    kept = all(axis.scale == 1 for axis in axes if axis.new == axis.length)
    if _transformation(node) == "align_corners":  # the corners of lengths that are no whole numbers
        exact = exact and all(axis.length * axis.scale == axis.new for axis in axes)
    return kept and (exact or sized) and _transformation(node) != "tf_crop_and_resize"


def _resize_block(node: OperatorNode, x: Staged, axes: Sequence[Resampling]) -> Staged:
    if not axes:
        return x
    sized = all(axis.scale == axis.new / axis.length for axis in axes)
    mode = node.text("mode", "nearest")
    lengths = tuple(axis.new for axis in axes)
    given = {"sizes": lengths} if sized else {"scales": tuple(axis.scale for axis in axes)}
    y = put(
        "Resize", x, mode={"bilinear": "linear"}.get(mode, mode),
        axes=tuple(axis.axis for axis in axes), coordinates=_transformation(node),
        rounding=_rounding(node), coefficient=node.number("cubic_coeff_a", -0.75),
        antialias=bool(node.integer("antialias")) and mode != "nearest",
        exclude_outside=bool(node.integer("exclude_outside")) and mode != "nearest", **given,
    )  # fmt: skip
    return x.stage.cast(y, x.dtype)


def _rounding(node: OperatorNode) -> str:
    old = node.operator == "Upsample" or node.opset < 11
    return node.text("nearest_mode", "floor" if old else "round_prefer_floor")


def _axes(node: OperatorNode) -> list[Resampling]:
    x, old = node.x(), node.operator == "Upsample" or node.opset < 11
    axes = [axis % x.ndim for axis in node.integers("axes") or range(x.ndim)]
    scales = _numbers(node, 1 if old else 2)
    sizes = None if old else _numbers(node, 3)
    part = None if old else _numbers(node, 1)
    lengths = [x.shape[axis] for axis in axes]
    if scales is None and "scales" in node.attributes:
        scales = list(node.numbers("scales") or ())
    new: list[int] = []
    if sizes is not None:
        scales, new = _from_sizes(node, [int(n) for n in sizes], lengths)
    if scales is None or len(scales) != len(axes) or min(scales, default=1) <= 0:
        raise node.unsupported(f"scales {scales} for {len(axes)} axes")
    new = new or [int(np.floor(n * float(s))) for n, s in zip(lengths, scales, strict=True)]
    parts = [None if part is None else (part[i], part[i + len(axes)]) for i in range(len(axes))]
    given = zip(axes, lengths, new, scales, parts, strict=True)
    return [Resampling(axis, n, int(m), float(s), part) for axis, n, m, s, part in given]


def _numbers(node: OperatorNode, index: int) -> list[float] | None:
    """Numbers that an input gives; None where it is left out or empty."""
    if not node.has(index) or not node.x(index).size:
        return None
    return [float(number) for number in node.known(index).reshape(-1)]


def _from_sizes(
    node: OperatorNode, sizes: list[int], lengths: Sequence[int]
) -> tuple[list[float], list[int]]:
    """Scales for sizes, and the sizes with the policy for the aspect ratio."""
    if len(sizes) != len(lengths):
        raise node.unsupported(f"{len(sizes)} sizes for {len(lengths)} axes")
    scales = [size / length for size, length in zip(sizes, lengths, strict=True)]
    policy = node.text("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        return scales, sizes
    scale = min(scales) if policy == "not_larger" else max(scales)
    return [scale] * len(sizes), [int(length * scale + 0.5) for length in lengths]


def _resampled(node: OperatorNode, x: Staged, axis: Resampling) -> Staged:
    mode = node.text("mode", "nearest")
    places = _places(node, axis)
    cropped = _transformation(node) == "tf_crop_and_resize"
    outside = (places < 0) | (places > axis.length - 1) if cropped else np.zeros(axis.new, bool)
    if mode == "nearest":
        if _rounding(node) not in get_args(Rounding):
            raise node.unsupported(f"nearest_mode {_rounding(node)!r}")
        found = nearest(axis.sampled, places, cast("Rounding", _rounding(node)))
        y = node.stage.take(x, found, axis.axis)
    else:
        y = _weighted(x, _weights(node, mode, places, axis), axis.axis)
    if not outside.any():
        return y
    shape = [1] * x.ndim
    shape[axis.axis] = axis.new
    mask = node.stage.constant(outside.reshape(shape))
    return put("Where", mask, y.like(node.number("extrapolation_value")), y)


def _weighted(x: Staged, weights: Array, axis: int) -> Staged:
    """Weighted sums along an axis; ``weights`` (new, old)."""
    y = x if x.is_float else x.stage.cast(x, "float32")
    matrix = x.stage.constant(weights.T.astype(y.dtype))
    return x.stage.cast(move(move(y, axis, -1) @ matrix, -1, axis), x.dtype)


def _transformation(node: OperatorNode) -> str:
    old = node.operator == "Upsample" or node.opset < 11
    default = "asymmetric" if old else "half_pixel"
    return node.text("coordinate_transformation_mode", default)


def _places(node: OperatorNode, axis: Resampling) -> Array:
    """Where the new elements are among the old ones, in elements from the first."""
    how, exact, last = _transformation(node), axis.scale * axis.length, axis.length - 1
    if how in ("align_corners", "tf_crop_and_resize"):
        start, end = (axis.part if how == "tf_crop_and_resize" else None) or (0.0, 1.0)
        if exact == 1:
            return np.full(axis.new, (start + end) / 2 * last * (how != "align_corners"))
        return start * last + np.arange(axis.new) * (end - start) * last / (exact - 1)
    if how not in get_args(Coordinates):
        raise node.unsupported(f"coordinates {how!r}")
    return axis.sampled.places(cast("Coordinates", how))


def _weights(node: OperatorNode, mode: str, places: Array, axis: Resampling) -> Array:
    """What each new element takes of each old one, (new, old)."""
    if mode not in ("linear", "bilinear", "cubic"):
        raise node.unsupported(f"mode {mode!r}")
    if axis.new * axis.length > MAX_WEIGHTS:
        raise node.unsupported(f"{axis.length} to {axis.new} elements")
    kernel = partial(cubic, a=node.number("cubic_coeff_a", -0.75)) if mode == "cubic" else triangle
    how = bool(node.integer("antialias")), bool(node.integer("exclude_outside"))
    return interpolation(axis.sampled, places, kernel, 2 if mode == "cubic" else 1, *how)
