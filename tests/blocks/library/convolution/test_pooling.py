"""Pooling against reductions of the windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import gradwire.runtime.build as b
from gradwire.blocks.errors import GradwireError
from gradwire.blocks.library.convolution.pooling import (
    AvgPool1D,
    AvgPool2D,
    AvgPool3D,
    MaxPool1D,
    MaxPool2D,
    MaxPool3D,
)
from gradwire.runtime.engine import Session
from tests.blocks.single import gradients, value

if TYPE_CHECKING:
    from gradwire.blocks import Block

X = np.random.default_rng(4).normal(size=(2, 4, 6, 5))
LINE = np.arange(1.0, 6).reshape(1, 1, 5)


@pytest.mark.parametrize(("cls", "reduce"), [(MaxPool2D, np.max), (AvgPool2D, np.mean)])
def test_pooling(cls: type, reduce: object) -> None:
    image = X[:, :, :, :4]
    expected = reduce(image.reshape(2, 4, 3, 2, 2, 2), axis=(3, 5))
    np.testing.assert_allclose(value(cls(), x=image), expected)
    overlapping = value(cls(window=(3, 3), stride=(1, 2)), x=X)
    assert overlapping.shape == (2, 4, 4, 2)
    np.testing.assert_allclose(overlapping[1, 2, 3, 1], reduce(X[1, 2, 3:6, 2:5]))
    spread = value(cls(window=(3, 2), stride=(1, 1), dilation=(2, 3)), x=X)
    np.testing.assert_allclose(spread[1, 2, 1, 1], reduce(X[1, 2, 1:6:2, 1:5:3]))


@pytest.mark.parametrize(("cls", "reduce"), [(MaxPool1D, np.max), (AvgPool1D, np.mean)])
def test_pooling_of_signals(cls: type, reduce: object) -> None:
    out = value(cls(window=3, stride=2), x=X[0])
    np.testing.assert_allclose(out[:, :, 1], reduce(X[0, :, :, 2:5], axis=2))
    assert out.shape == (4, 6, 2)


@pytest.mark.parametrize(("cls", "reduce"), [(MaxPool3D, np.max), (AvgPool3D, np.mean)])
def test_pooling_of_volumes(cls: type, reduce: object) -> None:
    out = value(cls(window=(2, 3, 2), stride=(1, 2, 2), dilation=(2, 1, 1)), x=X[None])
    assert out.shape == (1, 2, 2, 2, 2)
    np.testing.assert_allclose(out[0, 1, 1, 0, 1], reduce(X[1, 1:4:2, 0:3, 2:4]))


@pytest.mark.parametrize(
    ("cls", "lengths"), [(AvgPool1D, (5,)), (AvgPool2D, (6, 5)), (AvgPool3D, (2, 3, 5))]
)
def test_a_window_of_all_elements_gives_their_mean(cls: type, lengths: tuple[int, ...]) -> None:
    x = np.random.default_rng(5).normal(size=(2, 4, *lengths))
    pool = cls(window=lengths[0] if len(lengths) == 1 else lengths)
    axes = tuple(range(2, 2 + len(lengths)))
    np.testing.assert_allclose(value(pool, x=x), x.mean(axes, keepdims=True))
    (dx,) = gradients(pool, x=x).values()
    np.testing.assert_allclose(dx, np.full(x.shape, 1 / np.prod(lengths)))


def test_padding_never_wins_and_counts_as_zeros() -> None:
    negative = -np.ones((1, 1, 2, 2))
    pad = {"window": (2, 2), "stride": (2, 2), "padding": (1, 1)}
    np.testing.assert_array_equal(value(MaxPool2D(**pad), x=negative), -np.ones((1, 1, 2, 2)))
    np.testing.assert_array_equal(value(AvgPool2D(**pad), x=negative), np.full((1, 1, 2, 2), -0.25))
    without = value(AvgPool2D(**pad, count_padding=False), x=negative)
    np.testing.assert_array_equal(without, negative)


def test_padding_may_differ_on_every_side() -> None:
    out = value(MaxPool1D(window=2, stride=1, padding=(1, 0)), x=LINE)
    np.testing.assert_array_equal(out.ravel(), [1, 2, 3, 4, 5])
    lower = value(AvgPool1D(window=2, stride=1, padding="same-lower"), x=LINE)
    np.testing.assert_array_equal(lower.ravel(), [0.5, 1.5, 2.5, 3.5, 4.5])


@pytest.mark.parametrize(
    ("parameters", "largest", "mean"),
    [
        ({"window": 2}, [2, 4, 5], [1.5, 3.5, 5]),
        ({"window": 3, "stride": 2}, [3, 5], [2, 4]),
        # The third window begins inside, the padding after it is counted and what ceil adds not.
        ({"window": 2, "stride": 3, "padding": 1}, [1, 4], [0.5, 3.5]),
        ({"window": 3, "stride": 3, "padding": 1}, [2, 5], [1, 4]),
        ({"window": 4, "stride": 3, "padding": 1}, [3, 5], [1.5, 3]),
        # A window that would begin in the padding at the end is left out.
        ({"window": 1, "stride": 3, "padding": 1}, [-np.inf, 3], [0, 3]),
    ],
)
def test_windows_rounded_up(
    parameters: dict[str, int], largest: list[float], mean: list[float]
) -> None:
    np.testing.assert_allclose(value(MaxPool1D(ceil=True, **parameters), x=LINE).ravel(), largest)
    np.testing.assert_allclose(value(AvgPool1D(ceil=True, **parameters), x=LINE).ravel(), mean)


@pytest.mark.parametrize("dilation", [1, 2, 3])
@pytest.mark.parametrize("padding", [(0, 2), (3, 1), (4, 4)])
@pytest.mark.parametrize("counts", [True, False])
def test_what_counts_in_a_mean(dilation: int, padding: tuple[int, int], counts: bool) -> None:
    """Ones with the padding as ones that count or zeros that don't, after which ceil adds more."""
    ones = np.ones((1, 1, 5))
    how = {"window": 3, "stride": 2, "dilation": dilation, "padding": padding, "ceil": True}
    out = value(AvgPool1D(**how, count_padding=counts), x=ones).ravel()
    inside = np.arange(-padding[0], 5 + padding[1] + 99)
    real, counted = (inside >= 0) & (inside < 5), inside < 5 + padding[1]
    for place, mean in enumerate(out):
        seen = 2 * place + dilation * np.arange(3)
        total = counted[seen].sum() if counts else real[seen].sum()
        assert mean == pytest.approx(real[seen].sum() / max(total, 1))


def test_counting_needs_no_more_memory_than_there_is() -> None:
    """Nothing is counted where nothing is padded, and not more than a constant may have."""
    wide = b.broadcast(b.constant("x", 1.0), shape=(1, 1, 2**33))
    assert Session(b.build(b.avg_pool1d(wide, name="pool"))).program.ports
    padded = Session(b.build(b.avg_pool1d(wide, padding=1, count_padding=False, name="pool")))
    with pytest.raises(GradwireError, match="too many windows to count"):
        padded.run()


def test_tied_pixels_share_the_gradient() -> None:
    found = gradients(MaxPool2D(), x=np.ones((1, 1, 2, 2)))["x"]
    np.testing.assert_array_equal(found, np.full((1, 1, 2, 2), 0.25))
    found = gradients(MaxPool3D(), x=np.ones((1, 1, 2, 2, 2)))["x"]
    np.testing.assert_array_equal(found, np.full((1, 1, 2, 2, 2), 0.125))


@pytest.mark.parametrize(
    ("block", "x", "message"),
    [
        (MaxPool2D(window=(9, 1)), X, "doesn't fit an image of 6"),
        (AvgPool2D(), X[0], r"Expected \(batch, channels, height, width\)"),
        (MaxPool3D(), X, r"Expected \(batch, channels, depth, height, width\)"),
        (AvgPool1D(), X, r"Expected \(batch, channels, length\)"),
    ],
    ids=str,
)
def test_what_does_not_fit(block: Block, x: np.ndarray, message: str) -> None:
    with pytest.raises(GradwireError, match=message):
        value(block, x=x)
