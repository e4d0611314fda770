"""Resized axes against interpolation written out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gradwire.blocks.errors import GradwireError, ParameterError
from gradwire.blocks.library.sampling.resize import Resize
from tests.blocks.single import gradients, value

if TYPE_CHECKING:
    from gradwire.blocks import Block

LINE = np.array([[[0.0, 10, 20, 40]]])
IMAGE = np.random.default_rng(6).normal(size=(2, 3, 4, 5))


def _line(**parameters: Any) -> list[float]:
    found: list[float] = value(Resize(**parameters), x=LINE).ravel().round(9).tolist()
    return found


def test_nearest_copies_elements() -> None:
    assert _line() == [0, 0, 10, 10, 20, 20, 40, 40]
    assert _line(sizes=(2,), coordinates="asymmetric", rounding="floor") == [0, 20]
    assert value(Resize(), x=np.array([[[3, 4]]], "uint8")).dtype == np.uint8


@pytest.mark.parametrize(
    ("rounding", "expected"),
    [
        ("round_prefer_floor", [0, 20]),
        ("round_prefer_ceil", [10, 40]),
        ("floor", [0, 20]),
        ("ceil", [10, 40]),
    ],
)
def test_halves_are_rounded_as_is_said(rounding: str, expected: list[float]) -> None:
    """The new elements lie at 0.5 and 2.5."""
    assert _line(scales=0.5, rounding=rounding) == expected


@pytest.mark.parametrize(
    ("coordinates", "sizes", "expected"),
    [
        ("half_pixel", (8,), [0, 2.5, 7.5, 12.5, 17.5, 25, 35, 40]),
        ("asymmetric", (8,), [0, 5, 10, 15, 20, 30, 40, 40]),
        ("align_corners", (7,), [0, 5, 10, 15, 20, 30, 40]),
        ("align_corners", (1,), [0]),
        ("half_pixel", (1,), [15]),
        ("pytorch_half_pixel", (1,), [0]),
        ("half_pixel_symmetric", (2,), [5, 30]),
    ],
)
def test_linear_interpolation(
    coordinates: str, sizes: tuple[int, ...], expected: list[float]
) -> None:
    assert _line(mode="linear", coordinates=coordinates, sizes=sizes) == expected


def test_a_scale_is_the_distance_even_where_it_does_not_fit() -> None:
    """Five elements, 1 / 1.3 apart; and the same ones about the centre."""
    places = np.clip((np.arange(5) + 0.5) / 1.3 - 0.5, 0, 3)
    expected = np.interp(places, range(4), LINE.ravel())
    assert _line(mode="linear", scales=1.3) == pytest.approx(expected)
    centred = np.clip(places + 2 * (1 - 5 / 5.2), 0, 3)
    found = _line(mode="linear", scales=1.3, coordinates="half_pixel_symmetric")
    assert found[1:] == pytest.approx(np.interp(centred, range(4), LINE.ravel())[1:])


def test_cubic_interpolation_is_exact_on_lines_inside() -> None:
    ramp = np.arange(8.0).reshape(1, 1, 8)
    out = value(Resize(mode="cubic", coefficient=-0.5, sizes=(16,)), x=ramp).ravel()
    np.testing.assert_allclose(out[4:-4], (np.arange(16) / 2 - 0.25)[4:-4])


def test_cubic_weights() -> None:
    """Half between two elements: a/8 and ½ − a/8, of the coefficient a."""
    out = value(Resize(mode="cubic", sizes=(7,), coordinates="align_corners"), x=LINE).ravel()
    a = -0.75
    weights = np.array([a / 8, 0.5 - a / 8, 0.5 - a / 8, a / 8])
    assert out[3] == pytest.approx(weights @ LINE.ravel())


def test_areas_are_means_of_what_they_touch() -> None:
    assert _line(mode="area", sizes=(2,)) == [5, 30]
    assert _line(mode="area", sizes=(3,)) == [5, 15, 30]
    assert _line(mode="area", sizes=(1,)) == [17.5]


def test_antialiasing_spreads_the_weights() -> None:
    """Halved: triangles that reach two elements to each side, of weights ⅛, ⅜, ⅜, ⅛."""
    plain = _line(mode="linear", antialias=True, sizes=(2,))
    assert plain == pytest.approx([(0 + 3 * 0 + 3 * 10 + 20) / 8, (10 + 3 * 20 + 3 * 40 + 40) / 8])
    inside = _line(mode="linear", antialias=True, exclude_outside=True, sizes=(2,))
    assert inside == pytest.approx([(3 * 0 + 3 * 10 + 20) / 7, (10 + 3 * 20 + 3 * 40) / 7])
    longer = {"mode": "linear", "sizes": (9,)}
    assert _line(**longer, antialias=True) == _line(**longer)


def test_axes_are_resized_one_after_another() -> None:
    both = value(Resize(mode="linear", sizes=(7, 3)), x=IMAGE)
    rows = value(Resize(mode="linear", sizes=(7,), axes=(2,)), x=IMAGE)
    np.testing.assert_allclose(value(Resize(mode="linear", sizes=(3,), axes=(-1,)), x=rows), both)
    assert value(Resize(scales=(2, 0.5)), x=IMAGE).shape == (2, 3, 8, 2)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic", "area"])
def test_the_gradient_is_the_transpose(mode: str) -> None:
    """Every new element gives all its weight back."""
    found = gradients(Resize(mode=mode, sizes=(6, 3)), x=IMAGE)["x"]
    assert found.sum() == pytest.approx(2 * 3 * 6 * 3)


@pytest.mark.parametrize(
    ("block", "shape", "message"),
    [
        (Resize(sizes=(3,)), (1, 1, 4, 4), "1 sizes for 2 axes"),
        (Resize(scales=(2.0, 2.0)), (1, 1, 4), "2 scales for 1 axes"),
        (Resize(axes=(5,)), (1, 1, 4), r"no axes \[5\]"),
        (Resize(axes=(2, -1)), (1, 1, 4), "one axis twice"),
        (Resize(scales=0.1), (1, 1, 4), "4 to 0"),
        (Resize(scales=1e300), (1, 1, 4), "too many elements"),
        (Resize(mode="area", sizes=(2**20,)), (1, 1, 4096), "too many elements"),
    ],
    ids=str,
)
def test_what_does_not_fit(block: Block, shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(GradwireError, match=message):
        value(block, x=np.ones(shape))


@pytest.mark.parametrize("record", [{"scales": 0}, {"scales": [1, -1]}, {"sizes": [0]}])
def test_parameters_out_of_range(record: dict[str, object]) -> None:
    with pytest.raises(ParameterError):
        Resize.from_record(record)
