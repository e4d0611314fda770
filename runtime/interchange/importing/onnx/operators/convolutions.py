"""Convolutions, those of other data than images included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.interchange.importing.onnx.operators.node import Node, rule
from gradwire.runtime.interchange.importing.onnx.operators.shapes import pad

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged


Widths: TypeAlias = "tuple[tuple[int, int], ...]"
MAX_PLACES = 2**26
"""Elements in all windows along an axis."""


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows over the axes after the batch and the channels."""

    size: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    padding: Widths

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.size)

    def parameters(self, size: str = "kernel") -> dict[str, Any]:
        """Parameters of blocks for this rank, which have bare numbers for one axis."""
        padding = [a if a == b else (a, b) for a, b in self.padding]
        same = all(a == b for a, b in self.padding)
        given: dict[str, tuple[Any, ...]] = {
            size: self.size,
            "stride": self.stride,
            "padding": tuple(padding) if same else self.padding,
            "dilation": self.dilation,
        }
        if not any(map(any, self.padding)):
            del given["padding"]
        if self.rank == 1:
            return {name: value[0] for name, value in given.items()}
        return dict(given)


def windows_of(node: Node, size: Sequence[int]) -> Windows:
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
    return Windows(tuple(size), stride, dilation, padding)


def _padding(
    node: Node,
    lengths: Sequence[int],
    size: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
) -> Widths:
    rank, automatic = len(size), node.text("auto_pad", "NOTSET")
    if automatic == "VALID":
        return ((0, 0),) * rank
    if automatic in ("SAME_UPPER", "SAME_LOWER"):
        reach = [spread * (n - 1) + 1 for n, spread in zip(size, dilation, strict=True)]
        total = [
            max((-(-n // step) - 1) * step + span - n, 0)
            for n, step, span in zip(lengths, stride, reach, strict=True)
        ]
        return shared(total, automatic)
    pads = node.integers("pads") or (0,) * 2 * rank
    if len(pads) != 2 * rank:
        raise node.unsupported(f"{len(pads)} widths of padding for {rank} axes")
    return tuple((pads[i], pads[i + rank]) for i in range(rank))


def shared(total: Sequence[int], automatic: str) -> Widths:
    """Padding before and after; an odd one goes after with SAME_UPPER, else before."""
    halves = [(n // 2, n - n // 2) for n in total]
    return tuple(halves if automatic == "SAME_UPPER" else [ends[::-1] for ends in halves])


@rule("Conv")
def _conv(node: Node) -> Staged:
    x, weight = node.x(0), node.x(1)
    if weight.ndim != x.ndim:
        raise node.unsupported(f"a weight of {weight.ndim} axes for x of {x.ndim}")
    windows = windows_of(node, weight.shape[2:])
    return convolved(x, weight, node.get(2), windows, node.integer("group", 1))


def convolved(
    x: Staged, weight: Staged, bias: Staged | None, windows: Windows, groups: int
) -> Staged:
    """The convolution block of the windows' rank; negative padding cuts off."""
    for axis, (before, after) in enumerate(windows.padding, 2):
        if before < 0 or after < 0:
            x = x.stage.cut(x, axis, max(-before, 0), x.shape[axis] - max(-after, 0))
    padding = tuple((max(before, 0), max(after, 0)) for before, after in windows.padding)
    given = replace(windows, padding=padding).parameters()
    kind = f"Conv{windows.rank}D"
    return x.stage.block(kind, x, weight, bias, groups=groups, **given)


@rule("ConvTranspose")
def _conv_transpose(node: Node) -> Staged:
    x, weight = node.x(0), node.x(1)
    windows = windows_of(node, weight.shape[2:])
    extra = node.integers("output_padding") or (0,) * windows.rank
    windows, extra = _cut_to(node, windows, extra)
    given = windows.parameters() | {
        "output_padding": extra[0] if windows.rank == 1 else tuple(extra),
        "groups": node.integer("group", 1),
    }
    return node.stage.block(f"ConvTranspose{windows.rank}D", x, weight, node.get(2), **given)


def _cut_to(
    node: Node, windows: Windows, extra: tuple[int, ...]
) -> tuple[Windows, tuple[int, ...]]:
    """What ``output_shape`` or SAME make of the padding, and of the zeros at the end."""
    automatic, wanted = node.text("auto_pad", "NOTSET"), node.integers("output_shape")
    lengths = node.x().shape[2:]
    if wanted is None and automatic not in ("SAME_UPPER", "SAME_LOWER"):
        return windows, extra
    wanted = wanted or tuple(n * s for n, s in zip(lengths, windows.stride, strict=True))
    total = [
        s * (n - 1) + more + (k - 1) * d + 1 - out
        for n, s, k, d, more, out in zip(
            lengths, windows.stride, windows.size, windows.dilation, extra, wanted, strict=True
        )
    ]
    extra = tuple(more + max(-n, 0) for more, n in zip(extra, total, strict=True))
    return replace(windows, padding=shared([max(n, 0) for n in total], automatic)), extra


@rule("Col2Im")
def _col_to_image(node: Node) -> Staged:
    """Adds columns up where their windows are: a transposed convolution with unit filters."""
    columns, stage = node.x(), node.stage
    image, block = node.known_integers(1) or [], node.known_integers(2) or []
    rank, size = len(image), int(np.prod(block))
    stride = node.integers("strides") or (1,) * rank
    dilation = node.integers("dilations") or (1,) * rank
    pads = node.integers("pads") or (0,) * 2 * rank
    padding = tuple((pads[i], pads[i + rank]) for i in range(rank))
    places = [
        (n + sum(ends) - d * (k - 1) - 1) // s + 1
        for n, ends, k, s, d in zip(image, padding, block, stride, dilation, strict=True)
    ]
    channels = columns.shape[1] // size
    x = stage.reshape(columns, (columns.shape[0] * channels, size, *places))
    unit = np.eye(size, dtype=columns.dtype).reshape(size, 1, *block)
    given = Windows(tuple(block), stride, dilation, padding).parameters()
    y = stage.block(f"ConvTranspose{rank}D", x, stage.constant(unit), **given)
    lacking = [n - got for n, got in zip(image, y.shape[2:], strict=True)]
    y = pad(y, [(0, 0), (0, 0), *((0, n) for n in lacking)])
    return stage.reshape(y, (columns.shape[0], channels, *image))
