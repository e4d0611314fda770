"""Boxes in images: which of them stay, and what is pooled from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.importing.onnx.operators.node import OperatorNode, rule

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.importing.staged import Staged

MAX_BOXES = 50_000
"""Scores of boxes, all classes together, that are compared when the diagram is made."""


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
