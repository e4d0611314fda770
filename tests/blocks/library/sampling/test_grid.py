"""Images read at places of a grid."""

from __future__ import annotations

import numpy as np
import pytest

from gradwire.blocks.errors import GradwireError
from gradwire.blocks.library.sampling.grid import GridSample
from gradwire.blocks.library.sampling.resize import Resize
from tests.blocks.single import gradients, value

IMAGE = np.random.default_rng(8).normal(size=(2, 3, 4, 5))
LINE = np.array([[[[0.0, 10, 20, 40]]]])


def _grid(*lengths: int, corners: bool = False) -> np.ndarray:
    """The places of a regular grid, the last axis first."""
    axes = [np.linspace(-1, 1, n) if corners else (np.arange(n) + 0.5) * 2 / n - 1 for n in lengths]
    return np.stack(np.meshgrid(*axes, indexing="ij")[::-1], -1)[None]


def _read(across: list[float], **parameters: object) -> list[float]:
    grid = np.array([[[[x, 0.0] for x in across]]])
    found: list[float] = value(GridSample(**parameters), x=LINE, grid=grid).ravel().tolist()
    return found


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("mode", ["linear", "nearest", "cubic"])
@pytest.mark.parametrize("corners", [False, True])
def test_the_grid_of_the_image_gives_the_image(mode: str, corners: bool) -> None:
    grid = np.repeat(_grid(4, 5, corners=corners), 2, 0)
    out = value(GridSample(mode=mode, align_corners=corners), x=IMAGE, grid=grid)
    np.testing.assert_allclose(out, IMAGE, atol=1e-12)
    volume = IMAGE.reshape(1, 1, 6, 4, 5)
    grid = _grid(6, 4, 5, corners=corners)
    out = value(GridSample(mode=mode, align_corners=corners), x=volume, grid=grid)
    np.testing.assert_allclose(out, volume, atol=1e-12)


@pytest.mark.parametrize(
    ("mode", "corners"), [("linear", True), ("cubic", True), ("linear", False)]
)
def test_a_finer_grid_resizes(mode: str, corners: bool) -> None:
    grid = np.repeat(_grid(7, 11, corners=corners), 2, 0)
    sample = GridSample(mode=mode, align_corners=corners, padding="border")
    coordinates = "align_corners" if corners else "half_pixel"
    resized = Resize(mode=mode, sizes=(7, 11), coordinates=coordinates)
    np.testing.assert_allclose(
        value(sample, x=IMAGE, grid=grid), value(resized, x=IMAGE), atol=1e-12
    )


@pytest.mark.parametrize(
    ("padding", "expected"),
    [
        ("zeros", [0, 0, 5, 20, 0]),
        ("border", [0, 0, 5, 40, 40]),
        ("reflection", [20, 0, 5, 40, 10]),
    ],
)
def test_beyond_the_image(padding: str, expected: list[float]) -> None:
    """Elements at −0.75, −0.25, 0.25 and 0.75; at 1 the border, which is half a 0."""
    across = [-2.25 - 1e-12, -0.75, -0.5, 1, 2.25]
    found = _read(across, padding=padding)
    assert found == pytest.approx(expected, abs=1e-9)


def test_the_gradient_of_a_place_is_the_slope_between_elements() -> None:
    grid = np.array([[[[-0.5, 0.0], [0.1, 0.0]]]])
    found = gradients(GridSample(), x=LINE, grid=grid)
    np.testing.assert_allclose(found["grid"][0, 0, :, 0], [20, 20])
    np.testing.assert_allclose(found["x"].ravel(), [0.5, 0.5 + 0.3, 0.7, 0])


def test_the_nearest_element_does_not_change_with_the_grid() -> None:
    found = gradients(GridSample(mode="nearest"), x=LINE, grid=np.zeros((1, 1, 1, 2)))
    assert not found["grid"].any()
    assert found["x"].sum() == 1


@pytest.mark.parametrize("shape", [(1, 2, 2, 3), (2, 2, 2, 2), (1, 2, 2), (1, 2, 2, 2, 3)], ids=str)
def test_a_grid_that_does_not_fit(shape: tuple[int, ...]) -> None:
    with pytest.raises(GradwireError, match="The grid doesn't fit x"):
        value(GridSample(), x=LINE, grid=np.zeros(shape))
