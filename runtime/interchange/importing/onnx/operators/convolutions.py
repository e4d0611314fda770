"""Convolutions, those of other data than images included."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from gradwire.runtime.interchange.importing.meanings import windows
from gradwire.runtime.interchange.importing.onnx.operators.node import OperatorNode, rule

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged

MAX_PLACES = 2**26
"""Elements in all windows along an axis."""


class OnnxWindows(NamedTuple):
    """How windows lie over the axes after the batch and the channels, as meanings take it."""

    stride: tuple[int, ...]
    padding: list[tuple[int, int]]
    dilation: tuple[int, ...]


def windows_of(node: OperatorNode, size: Sequence[int]) -> OnnxWindows:
    """The windows of a node. Raises UnsupportedError where its numbers don't fit each other."""
    rank = len(size)
    stride = node.integers("strides") or (1,) * rank
    dilation = node.integers("dilations") or (1,) * rank
    lengths = node.x().shape[2:]
    if not {len(stride), len(dilation), len(lengths)} == {rank} or not 1 <= rank <= 3:
        raise node.unsupported(f"windows of {rank} axes over {len(lengths)}")
    if min(*size, *stride, *dilation) < 1:
        raise node.unsupported("windows, steps and distances are at least 1")
    padding = _padding(node, lengths, size, stride, dilation)
    for n, ends, k in zip(lengths, padding, size, strict=True):
        if (n + max(ends[0], 0) + max(ends[1], 0)) * k > MAX_PLACES:
            raise node.unsupported(f"windows of {k} elements over {n} with padding {ends}")
    return OnnxWindows(stride, padding, dilation)


def _padding(
    node: OperatorNode,
    lengths: Sequence[int],
    size: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
) -> list[tuple[int, int]]:
    rank, automatic = len(size), node.text("auto_pad", "NOTSET")
    if automatic == "VALID":
        return [(0, 0)] * rank
    if automatic in ("SAME_UPPER", "SAME_LOWER"):
        reach = [spread * (n - 1) + 1 for n, spread in zip(size, dilation, strict=True)]
        total = [
            max((-(-n // step) - 1) * step + span - n, 0)
            for n, step, span in zip(lengths, stride, reach, strict=True)
        ]
        return windows.shared(total, automatic == "SAME_LOWER")
    pads = node.integers("pads") or (0,) * 2 * rank
    if len(pads) != 2 * rank:
        raise node.unsupported(f"{len(pads)} widths of padding for {rank} axes")
    return [(pads[i], pads[i + rank]) for i in range(rank)]


def convolved(node: OperatorNode, x: Staged, weight: Staged, bias: Staged | None = None) -> Staged:
    """The convolution that a node says, of values."""
    if weight.ndim != x.ndim:
        raise node.unsupported(f"a weight of {weight.ndim} axes for x of {x.ndim}")
    how = windows_of(node, weight.shape[2:])
    return windows.conv(x, weight, bias, *how, groups=node.integer("group", 1))


@rule("Conv")
def _conv(node: OperatorNode) -> Staged:
    return convolved(node, node.x(0), node.x(1), node.get(2))


@rule("ConvTranspose")
def _conv_transpose(node: OperatorNode) -> Staged:
    """``output_shape`` or SAME say the lengths of the result, and so the padding."""
    x, weight, automatic = node.x(0), node.x(1), node.text("auto_pad", "NOTSET")
    stride, padding, dilation = windows_of(node, weight.shape[2:])
    lengths = node.integers("output_shape")
    if lengths is None and automatic.startswith("SAME"):
        lengths = tuple(n * s for n, s in zip(x.shape[2:], stride, strict=True))
    more, groups = node.integers("output_padding") or 0, node.integer("group", 1)
    return windows.conv_transpose(
        x, weight, node.get(2), stride, padding, more, groups, dilation, lengths,
        lower=automatic != "SAME_UPPER",
    )  # fmt: skip


@rule("Col2Im")
def _col_to_image(node: OperatorNode) -> Staged:
    image, block = node.known_integers(1) or [], node.known_integers(2) or []
    rank = len(image)
    stride, dilation = (node.integers(key) or (1,) * rank for key in ("strides", "dilations"))
    pads = node.integers("pads") or (0,) * 2 * rank
    padding = [(pads[i], pads[i + rank]) for i in range(rank)]
    return windows.col2im(node.x(), image, block, dilation, padding, stride)
