"""Transposed convolution is the transpose of convolution."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest

import gradwire.runtime.build as b
from gradwire.blocks.errors import GradwireError
from gradwire.blocks.library.convolution.convolutions import Conv1D, Conv2D, Conv3D
from gradwire.blocks.library.convolution.transposed import (
    ConvTranspose1D,
    ConvTranspose2D,
    ConvTranspose3D,
)
from gradwire.runtime.engine import Session
from tests.blocks.single import value

if TYPE_CHECKING:
    from gradwire.blocks import Block

DRAW = np.random.default_rng(5)
HOW = [
    {"stride": (2, 3, 1), "dilation": (1, 1, 2), "groups": 2},
    {"stride": (1, 2, 2), "padding": (1, 0, 1), "groups": 1},
]


def _of(cls: type[Block], rank: int, how: dict[str, object], **more: object) -> Block:
    def cut(given: object) -> object:
        return given if not isinstance(given, tuple) else given[:rank] if rank > 1 else given[0]

    return cls(**{name: cut(given) for name, given in (how | more).items()})


@pytest.mark.parametrize("how", HOW, ids=str)
@pytest.mark.parametrize(
    ("convolution", "transposed"),
    [(Conv1D, ConvTranspose1D), (Conv2D, ConvTranspose2D), (Conv3D, ConvTranspose3D)],
)
def test_both_have_the_same_inner_products(
    convolution: type[Block], transposed: type[Block], how: dict[str, object]
) -> None:
    """⟨g, conv(x)⟩ = ⟨convᵀ(g), x⟩, where the lengths of x leave no rest."""
    rank = convolution.axes
    weight = DRAW.normal(size=(4, 4 // how["groups"], 3, 2, 2)[: rank + 2])
    g = DRAW.normal(size=(2, 4, 3, 2, 3)[: rank + 2])
    back = value(_of(transposed, rank, how), x=g, weight=weight)
    x = DRAW.normal(size=back.shape)
    out = value(_of(convolution, rank, how), x=x, weight=weight)
    np.testing.assert_allclose(np.sum(g * out), np.sum(back * x))


def test_every_element_puts_the_filter_into_the_output() -> None:
    out = value(ConvTranspose1D(stride=2), x=[[[1.0, 10.0]]], weight=[[[1.0, 2.0, 3.0]]])
    np.testing.assert_array_equal(out.ravel(), [1, 2, 13, 20, 30])


@pytest.mark.parametrize(("padding", "extra"), list(product([0, 1, (0, 2)], [0, 1, 2, 3])))
def test_output_padding_goes_on_where_padding_cuts(padding: object, extra: int) -> None:
    """What is cut off the end comes back first, then zeros."""
    before, after = (padding, padding) if isinstance(padding, int) else padding
    x, weight = DRAW.normal(size=(1, 2, 3)), DRAW.normal(size=(2, 3, 3))
    whole = value(ConvTranspose1D(stride=4), x=x, weight=weight)
    longer = np.pad(whole, ((0, 0), (0, 0), (0, extra)))
    out = value(
        ConvTranspose1D(stride=4, padding=padding, output_padding=extra), x=x, weight=weight
    )
    np.testing.assert_allclose(out, longer[:, :, before : longer.shape[2] - after])


@pytest.mark.parametrize("padding", ["same", "same-lower"])
@pytest.mark.parametrize(("stride", "kernel"), [(2, 3), (2, 4), (3, 1), (1, 2)])
def test_same_padding_leaves_the_length_times_the_stride(
    padding: str, stride: int, kernel: int
) -> None:
    x, weight = DRAW.normal(size=(1, 2, 5)), DRAW.normal(size=(2, 1, kernel))
    out = value(ConvTranspose1D(stride=stride, padding=padding), x=x, weight=weight)
    assert out.shape == (1, 1, 5 * stride)
    odd = (kernel - stride) % 2 and kernel > stride
    first = max(kernel - stride, 0) // 2 + bool(odd and padding == "same-lower")
    whole = value(ConvTranspose1D(stride=stride), x=x, weight=weight)
    reached = whole[:, :, first : first + 5 * stride]
    np.testing.assert_allclose(out[:, :, : reached.shape[2]], reached)


def test_own_variables_take_their_shapes() -> None:
    x = b.input("x", np.ones((1, 4, 5, 5), "float32"))
    how = {"filters": 6, "kernel": (2, 3), "groups": 2}
    session = Session(b.build(b.block("ConvTranspose2D", x, b.own(), b.own(), name="up", **how)))
    shapes = {name: array.shape for name, array in session.values.items()}
    assert shapes == {"up/weight": (4, 3, 2, 3), "up/bias": (6,)}


@pytest.mark.parametrize(
    ("block", "shapes", "message"),
    [
        (ConvTranspose2D(), ((1, 2, 3, 3), (3, 1, 2, 2)), r"\(2, filters/1, height, width\)"),
        (ConvTranspose2D(groups=2), ((1, 3, 3, 3), (3, 1, 2, 2)), "divisible by 2"),
        (ConvTranspose1D(filters=3), ((1, 2, 3), (2, 1, 2)), "Expected 3, got 1"),
        (ConvTranspose1D(padding=3), ((1, 2, 1), (2, 1, 2)), "cuts all of the output off"),
        (ConvTranspose3D(), ((1, 2, 3), (2, 1, 2)), r"\(batch, channels, depth, height, width\)"),
    ],
    ids=str,
)
def test_what_does_not_fit(
    block: Block, shapes: tuple[tuple[int, ...], tuple[int, ...]], message: str
) -> None:
    with pytest.raises(GradwireError, match=message):
        value(block, x=np.ones(shapes[0]), weight=np.ones(shapes[1]))
