"""Convolution against plain loops."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gradwire.blocks.errors import GradwireError, ParameterError
from gradwire.blocks.library.convolution.convolutions import Conv1D, Conv2D, Conv3D
from tests.blocks.single import value

DRAW = np.random.default_rng(4)
X = DRAW.normal(size=(2, 4, 6, 5))


def _convolve(
    x: np.ndarray, w: np.ndarray, stride: tuple[int, int], dilation: tuple[int, int], groups: int
) -> np.ndarray:
    (n, c, height, width), (o, per, kh, kw) = x.shape, w.shape
    rows = (height - dilation[0] * (kh - 1) - 1) // stride[0] + 1
    columns = (width - dilation[1] * (kw - 1) - 1) // stride[1] + 1
    out = np.zeros((n, o, rows, columns))
    for f, i, j, k, m in np.ndindex(o, rows, columns, kh, kw):
        first = f // (o // groups) * per
        y, z = i * stride[0] + k * dilation[0], j * stride[1] + m * dilation[1]
        out[:, f, i, j] += x[:, first : first + per, y, z] @ w[f, :, k, m]
    assert c == per * groups
    return out


@pytest.mark.parametrize("stride", [(1, 1), (2, 1)])
@pytest.mark.parametrize("dilation", [(1, 1), (2, 2)])
@pytest.mark.parametrize("groups", [1, 2])
def test_convolution(stride: tuple[int, int], dilation: tuple[int, int], groups: int) -> None:
    weight, bias = DRAW.normal(size=(6, 4 // groups, 3, 2)), DRAW.normal(size=6)
    block = Conv2D(stride=stride, dilation=dilation, groups=groups)
    expected = _convolve(X, weight, stride, dilation, groups)
    np.testing.assert_allclose(value(block, x=X, weight=weight), expected)
    np.testing.assert_allclose(
        value(block, x=X, weight=weight, bias=bias), expected + bias[:, None, None]
    )


def test_explicit_padding_is_on_both_sides() -> None:
    weight = DRAW.normal(size=(1, 4, 3, 3))
    padded = np.pad(X, ((0, 0), (0, 0), (2, 2), (1, 1)))
    np.testing.assert_allclose(
        value(Conv2D(padding=(2, 1)), x=X, weight=weight),
        value(Conv2D(), x=padded, weight=weight),
    )


@pytest.mark.parametrize("stride", [(1, 1), (2, 3), (4, 4)])
@pytest.mark.parametrize("kernel", [(1, 1), (3, 2), (4, 5)])
def test_same_padding_keeps_the_length_over_the_stride(
    stride: tuple[int, int], kernel: tuple[int, int]
) -> None:
    weight = DRAW.normal(size=(1, 4, *kernel))
    out = value(Conv2D(padding="same", stride=stride), x=X, weight=weight)
    assert out.shape == (2, 1, math.ceil(6 / stride[0]), math.ceil(5 / stride[1]))


def test_same_padding_puts_an_odd_one_at_the_end() -> None:
    image = np.arange(4.0).reshape(1, 1, 1, 4)
    out = value(Conv2D(padding="same"), x=image, weight=np.array([[[[1.0, 10.0]]]]))
    np.testing.assert_array_equal(out.ravel(), [10, 21, 32, 3])


def test_same_lower_padding_puts_an_odd_one_at_the_start() -> None:
    image = np.arange(4.0).reshape(1, 1, 1, 4)
    out = value(Conv2D(padding="same-lower"), x=image, weight=np.array([[[[1.0, 10.0]]]]))
    np.testing.assert_array_equal(out.ravel(), [0, 10, 21, 32])


def test_padding_may_differ_on_every_side() -> None:
    weight = DRAW.normal(size=(1, 4, 3, 3))
    padded = np.pad(X, ((0, 0), (0, 0), (2, 0), (0, 3)))
    np.testing.assert_allclose(
        value(Conv2D(padding=((2, 0), (0, 3))), x=X, weight=weight),
        value(Conv2D(), x=padded, weight=weight),
    )


@pytest.mark.parametrize("padding", ["valid", "same", 1, (2, 0)])
def test_a_signal_is_an_image_of_one_row(padding: object) -> None:
    signal, weight, bias = X[:, :, 0], DRAW.normal(size=(6, 2, 3)), DRAW.normal(size=6)
    how = {"valid": "valid", "same": "same", 1: (0, 1), (2, 0): ((0, 0), (2, 0))}[padding]
    image = Conv2D(stride=(1, 2), padding=how, groups=2)
    np.testing.assert_allclose(
        value(Conv1D(stride=2, padding=padding, groups=2), x=signal, weight=weight, bias=bias),
        value(image, x=signal[:, :, None], weight=weight[:, :, None], bias=bias)[:, :, 0],
    )


@pytest.mark.parametrize("groups", [1, 2])
def test_a_volume_is_the_sum_of_the_images_of_its_slices(groups: int) -> None:
    volume = DRAW.normal(size=(2, 4, 6, 5, 4))
    weight, bias = DRAW.normal(size=(2, 4 // groups, 3, 2, 2)), DRAW.normal(size=2)
    block = Conv3D(stride=(2, 1, 2), dilation=(1, 2, 1), padding=(1, 0, 1), groups=groups)
    out = value(block, x=volume, weight=weight, bias=bias)
    padded = np.pad(volume, ((0, 0), (0, 0), (1, 1), (0, 0), (1, 1)))
    for place in range(out.shape[2]):
        slices = [
            _convolve(padded[:, :, 2 * place + k], weight[:, :, k], (1, 2), (2, 1), groups)
            for k in range(3)
        ]
        np.testing.assert_allclose(out[:, :, place], sum(slices) + bias[:, None, None])


@pytest.mark.parametrize(
    ("block", "inputs", "message"),
    [
        (Conv2D(), {"x": X[0], "weight": X}, r"Expected \(batch, channels, height, width\)"),
        (Conv2D(), {"x": X, "weight": X[:, :3]}, r"\(filters, 4/1, height, width\)"),
        (Conv2D(filters=3), {"x": X, "weight": X}, "Expected 3, got 2"),
        (Conv2D(), {"x": X, "weight": X, "bias": np.zeros(3)}, r"Expected \(2,\), got \(3,\)"),
        (Conv2D(), {"x": X, "weight": np.zeros((1, 4, 7, 1))}, "doesn't fit an image of 6"),
        (Conv1D(), {"x": X, "weight": X}, r"Expected \(batch, channels, length\)"),
        (Conv3D(), {"x": X, "weight": X}, r"\(batch, channels, depth, height, width\)"),
    ],
    ids=str,
)
def test_what_does_not_fit(block: object, inputs: dict[str, object], message: str) -> None:
    with pytest.raises(GradwireError, match=message):
        value(block, **inputs)


@pytest.mark.parametrize("record", [{"stride": [0, 1]}, {"padding": [-1, 0]}, {"padding": "full"},
                                    {"kernel": [3]}, {"groups": 0}, {"padding": [[1, 0]]},
                                    {"padding": [[1, 0], [0, -1]]}])  # fmt: skip
def test_parameters_out_of_range(record: dict[str, object]) -> None:
    with pytest.raises(ParameterError):
        Conv2D.from_record(record)
