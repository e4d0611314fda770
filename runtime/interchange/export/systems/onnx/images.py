"""How ONNX writes convolution and windows over images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.calculus.primitives.convolution import Geometry
    from gradwire.runtime.interchange.export.systems.onnx.nodes import NodeList, Rows


def _pads(geometry: Geometry) -> tuple[int, int, int, int]:
    """Top, left, bottom, right."""
    (top, bottom), (left, right) = geometry.padding
    return top, left, bottom, right


def _conv2d(body: NodeList, value: Value, a: Sequence[str]) -> str:
    geometry: Geometry = value.attributes["geometry"]
    return body.node(
        "Conv",
        *a,
        kernel_shape=geometry.window,
        strides=geometry.stride,
        pads=_pads(geometry),
        dilations=geometry.dilation,
        group=value.attributes["groups"],
    )


def _conv2d_x(body: NodeList, value: Value, a: Sequence[str]) -> str:
    """The transpose; rows and columns that no window reached are added again."""
    geometry: Geometry = value.attributes["geometry"]
    places = value.inputs[0].shape[2:]
    missed = [
        value.shape[2 + i]
        + sum(geometry.padding[i])
        - (places[i] - 1) * geometry.stride[i]
        - geometry.dilation[i] * (geometry.window[i] - 1)
        - 1
        for i in (0, 1)
    ]
    return body.node(
        "ConvTranspose",
        *a,
        kernel_shape=geometry.window,
        strides=geometry.stride,
        pads=_pads(geometry),
        output_padding=missed,
        dilations=geometry.dilation,
        group=value.attributes["groups"],
    )


def _conv2d_w(body: NodeList, value: Value, a: Sequence[str]) -> str:
    """A convolution with images as channels: strides and dilations change places."""
    groups = value.attributes["groups"]
    images, outputs = a
    if groups == 1:
        return _by_filters(body, value, images, outputs)
    parts = [_split(body, x, groups) for x in (images, outputs)]
    found = [_by_filters(body, value, x, g) for x, g in zip(*parts, strict=True)]
    return body.node("Concat", *found, axis=0)


def _split(body: NodeList, x: str, groups: int) -> tuple[str, ...]:
    return body.several("Split", groups, x, axis=1, num_outputs=groups)


def _by_filters(body: NodeList, value: Value, images: str, outputs: str) -> str:
    geometry: Geometry = value.attributes["geometry"]
    swap = (1, 0, 2, 3)
    found = body.node(
        "Conv",
        body.node("Transpose", images, perm=swap),
        body.node("Transpose", outputs, perm=swap),
        strides=geometry.dilation,
        pads=_pads(geometry),
        dilations=geometry.stride,
    )
    ends = body.integers(*geometry.window)
    found = body.node("Slice", found, body.integers(0, 0), ends, body.integers(2, 3))
    return body.node("Transpose", found, perm=swap)


def _windows(body: NodeList, value: Value, a: Sequence[str]) -> str:
    """Every place of the window is a slice with steps; they are stacked."""
    geometry: Geometry = value.attributes["geometry"]
    top, left, bottom, right = _pads(geometry)
    widths = body.integers(0, 0, top, left, 0, 0, bottom, right)
    padded = body.node("Pad", a[0], widths, body.number(value.attributes["fill"], value.dtype))
    rows, columns = value.shape[4:]
    axes, steps = body.integers(2, 3), body.integers(*geometry.stride)
    seen = []
    for i in range(geometry.window[0]):
        for j in range(geometry.window[1]):
            first = i * geometry.dilation[0], j * geometry.dilation[1]
            last = (
                first[0] + (rows - 1) * geometry.stride[0] + 1,
                first[1] + (columns - 1) * geometry.stride[1] + 1,
            )
            ends = body.integers(*first), body.integers(*last)
            seen.append(body.node("Slice", padded, *ends, axes, steps))
    stacked = body.node("Concat", *seen, axis=0)
    return body.node("Reshape", stacked, body.integers(*value.shape))


def _fold(body: NodeList, value: Value, a: Sequence[str]) -> str:
    geometry: Geometry = value.attributes["geometry"]
    high, wide, images, channels, *places = value.inputs[0].shape
    columns = body.node("Transpose", a[0], perm=(2, 3, 0, 1, 4, 5))
    shape = images, channels * high * wide, places[0] * places[1]
    return body.node(
        "Col2Im",
        body.node("Reshape", columns, body.integers(*shape)),
        body.integers(*value.shape[2:]),
        body.integers(*geometry.window),
        strides=geometry.stride,
        pads=_pads(geometry),
        dilations=geometry.dilation,
    )


IMAGES: Rows = {
    "conv2d": _conv2d,
    "conv2d_x": _conv2d_x,
    "conv2d_w": _conv2d_w,
    "windows": _windows,
    "fold": _fold,
}
"""Rows of primitives that work on images (N, C, H, W)."""
