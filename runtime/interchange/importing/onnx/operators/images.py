"""Images of other sizes, whose elements are weighted sums of some of x, and boxes in images."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast, get_args

import numpy as np

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
from gradwire.runtime.interchange.importing.onnx.operators.node import (
    OperatorNode,
    halves,
    require_small,
    rule,
)
from gradwire.runtime.interchange.importing.staged import put

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.importing.staged import Staged

MAX_WEIGHTS = 2**26
"""Weights of the elements along an axis."""
MAX_BOXES = 50_000
"""Scores of boxes, all classes together, that are compared when the diagram is made."""


class Resampling(NamedTuple):
    """An axis of a Resize. ``part`` are the ends of what is resampled, as fractions of it."""

    axis: int
    sampled: ResizedAxis
    part: tuple[float, float] | None

    @property
    def keeps(self) -> bool:
        """Whether it has as many elements as before."""
        return self.sampled.size == self.sampled.length

    @property
    def is_sized(self) -> bool:
        """Whether the factor follows from the lengths."""
        length, new, scale = self.sampled
        return not length or scale == new / length


def _is_old(node: OperatorNode) -> bool:
    return node.operator == "Upsample" or node.opset < 11


def _transformation(node: OperatorNode) -> str:
    default = "asymmetric" if _is_old(node) else "half_pixel"
    return node.text("coordinate_transformation_mode", default)


def _rounding(node: OperatorNode) -> str:
    return node.text("nearest_mode", "floor" if _is_old(node) else "round_prefer_floor")


@rule("Resize", "Upsample")
def _resize(node: OperatorNode) -> Staged:
    x, axes = node.x(), _axes(node)
    require_small(node, [axis.sampled.size for axis in axes])
    if _is_plain(node, axes):
        return _resize_block(node, x, [axis for axis in axes if not axis.keeps])
    for axis in axes:
        if not axis.keeps or axis.sampled.scale != 1 or axis.part is not None:
            x = _resampled(node, x, axis)
    return x


def _is_plain(node: OperatorNode, axes: Sequence[Resampling]) -> bool:
    """Whether a Resize block does it: the scales are those of the lengths, and nothing is cut."""
    lengths = [(n * s, new) for n, new, s in (axis.sampled for axis in axes) if s is not None]
    exact = all(int(n) == new for n, new in lengths)
    if _transformation(node) == "align_corners":  # the corners of lengths that are no whole numbers
        exact = exact and all(n == new for n, new in lengths)
    kept = all(axis.sampled.scale == 1 for axis in axes if axis.keeps)
    sized = all(axis.is_sized for axis in axes)
    return kept and (exact or sized) and _transformation(node) != "tf_crop_and_resize"


def _resize_block(node: OperatorNode, x: Staged, axes: Sequence[Resampling]) -> Staged:
    if not axes:
        return x
    mode = node.text("mode", "nearest")
    sized = all(axis.is_sized for axis in axes)
    given = (
        {"sizes": tuple(axis.sampled.size for axis in axes)}
        if sized
        else {"scales": tuple(axis.sampled.scale for axis in axes)}
    )
    y = put(
        "Resize", x, mode={"bilinear": "linear"}.get(mode, mode),
        axes=tuple(axis.axis for axis in axes), coordinates=_transformation(node),
        rounding=_rounding(node), coefficient=node.number("cubic_coeff_a", -0.75),
        antialias=bool(node.integer("antialias")) and mode != "nearest",
        exclude_outside=bool(node.integer("exclude_outside")) and mode != "nearest", **given,
    )  # fmt: skip
    return x.stage.cast(y, x.dtype)


def _axes(node: OperatorNode) -> list[Resampling]:
    x, old = node.x(), _is_old(node)
    axes = [axis % x.ndim for axis in node.integers("axes") or range(x.ndim)]
    scales = _numbers(node, 1 if old else 2)
    sizes, part = (None, None) if old else (_numbers(node, 3), _numbers(node, 1))
    lengths = [x.shape[axis] for axis in axes]
    if scales is None and "scales" in node.attributes:
        scales = list(node.numbers("scales") or ())
    new: list[int] = []
    if sizes is not None:
        scales, new = _from_sizes(node, [int(n) for n in sizes], lengths)
    if scales is None or len(scales) != len(axes) or min(scales, default=1) <= 0:
        raise node.unsupported(f"scales {scales} for {len(axes)} axes")
    new = new or [int(np.floor(n * s)) for n, s in zip(lengths, scales, strict=True)]
    sampled = map(ResizedAxis, lengths, new, scales)
    parts = [None] * len(axes) if part is None else halves(part)
    return [Resampling(*given) for given in zip(axes, sampled, parts, strict=True)]


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


def _resampled(node: OperatorNode, x: Staged, resampling: Resampling) -> Staged:
    axis, sampled, _ = resampling
    mode, places = node.text("mode", "nearest"), _places(node, resampling)
    if mode == "nearest":
        if _rounding(node) not in get_args(Rounding):
            raise node.unsupported(f"nearest_mode {_rounding(node)!r}")
        found = nearest(sampled, places, cast("Rounding", _rounding(node)))
        y = node.stage.take(x, found, axis)
    else:
        wide = x if x.is_float else x.stage.cast(x, "float32")
        matrix = x.stage.constant(_weights(node, mode, places, sampled).T.astype(wide.dtype))
        y = x.stage.cast(move(move(wide, axis, -1) @ matrix, -1, axis), x.dtype)
    outside = (places < 0) | (places > sampled.length - 1)
    if _transformation(node) != "tf_crop_and_resize" or not outside.any():
        return y
    mask = node.stage.constant(outside.reshape([-1 if i == axis else 1 for i in range(x.ndim)]))
    return put("Where", mask, y.like(node.number("extrapolation_value")), y)


def _places(node: OperatorNode, axis: Resampling) -> Array:
    """Where the new elements are among the old ones, in elements from the first."""
    how, (length, new, _) = _transformation(node), axis.sampled
    exact, last = axis.sampled.scale * length, length - 1
    if how in ("align_corners", "tf_crop_and_resize"):
        start, end = (axis.part if how == "tf_crop_and_resize" else None) or (0.0, 1.0)
        if exact == 1:
            return np.full(new, (start + end) / 2 * last * (how != "align_corners"))
        return start * last + np.arange(new) * (end - start) * last / (exact - 1)
    if how not in get_args(Coordinates):
        raise node.unsupported(f"coordinates {how!r}")
    return axis.sampled.places(cast("Coordinates", how))


def _weights(node: OperatorNode, mode: str, places: Array, axis: ResizedAxis) -> Array:
    """What each new element takes of each old one, (new, old)."""
    if mode not in ("linear", "bilinear", "cubic"):
        raise node.unsupported(f"mode {mode!r}")
    if axis.size * axis.length > MAX_WEIGHTS:
        raise node.unsupported(f"{axis.length} to {axis.size} elements")
    kernel = partial(cubic, a=node.number("cubic_coeff_a", -0.75)) if mode == "cubic" else triangle
    how = bool(node.integer("antialias")), bool(node.integer("exclude_outside"))
    return interpolation(axis, places, kernel, 2 if mode == "cubic" else 1, *how)


@rule("GridSample")
def _grid_sample(node: OperatorNode) -> Staged:
    mode = node.text("mode", "linear")
    return node.stage.block(
        "GridSample",
        node.x(0),
        node.x(1),
        mode={"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode),
        padding=node.text("padding_mode", "zeros"),
        align_corners=bool(node.integer("align_corners")),
    )


@rule("NonMaxSuppression")
def _non_max_suppression(node: OperatorNode) -> Staged:
    """Of known boxes: the best of each class, without those that one before it overlaps."""
    boxes, scores = node.known(0), node.known(1)
    if scores.size > MAX_BOXES:
        raise node.unsupported(f"{scores.size} scores of boxes")
    most = node.known_integer(2, 0)
    overlap = float(node.known(3).item()) if node.has(3) else 0.0
    least = float(node.known(4).item()) if node.has(4) else -np.inf
    corners = _corners(boxes, centred=bool(node.integer("center_point_box")))
    chosen = [
        (batch, label, box)
        for batch in range(scores.shape[0])
        for label in range(scores.shape[1])
        for box in _best(corners[batch], scores[batch, label], most, overlap, least)
    ]
    return node.stage.constant(np.array(chosen, np.int64).reshape(-1, 3))


def _corners(boxes: Array, centred: bool) -> Array:
    """Boxes as (y1, x1, y2, x2), the smaller ones first."""
    if centred:
        centre, half = boxes[..., :2], boxes[..., 2:] / 2
        return np.concatenate([centre - half, centre + half], -1)
    ends = np.stack([boxes[..., :2], boxes[..., 2:]])
    return np.concatenate([ends.min(0), ends.max(0)], -1)


def _best(corners: Array, scores: Array, most: int, overlap: float, least: float) -> list[int]:
    order = [int(i) for i in np.argsort(-scores, kind="stable") if scores[i] > least]
    kept: list[int] = []
    for box in order:
        if len(kept) >= most:
            break
        if not kept or _overlaps(corners[box], corners[kept]).max() <= overlap:
            kept.append(box)
    return kept


def _overlaps(box: Array, others: Array) -> Array:
    """Area that a box shares with each other one, as a part of what both cover."""
    low = np.maximum(box[:2], others[:, :2])
    high = np.minimum(box[2:], others[:, 2:])
    shared = np.clip(high - low, 0, None).prod(-1)
    areas = (others[:, 2:] - others[:, :2]).prod(-1)
    total = (box[2:] - box[:2]).prod() + areas - shared
    found: Array = np.divide(shared, total, out=np.zeros_like(shared), where=total > 0)
    return found
