"""The kernels of convolution: every image alone and beside others, and their transposes."""

from __future__ import annotations

import numpy as np
import pytest

from gradwire.runtime.calculus.primitives.convolution import CONV2D, CONV2D_W, CONV2D_X, Geometry

GEOMETRIES = {
    "pointwise": Geometry((1, 1)),
    "steps": Geometry((1, 1), (2, 1)),
    "padded": Geometry((3, 2), (1, 1), ((1, 2), (1, 0))),
    "dilated": Geometry((2, 3), (2, 1), ((0, 1), (2, 2)), (1, 2)),
}


@pytest.mark.parametrize("image", [(5, 7), (13, 12)])
@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("name", GEOMETRIES)
def test_transposes(name: str, groups: int, image: tuple[int, int]) -> None:
    """⟨C(x, w), g⟩ = ⟨x, X(g, w)⟩ = ⟨w, W(x, g)⟩; few and many places, some arrays with gaps."""
    geometry, rng = GEOMETRIES[name], np.random.default_rng(0)
    x = rng.standard_normal((3, 6, *image[::-1])).swapaxes(2, 3)
    w = rng.standard_normal((9, 6 // groups, *geometry.window))
    g = rng.standard_normal((3, 9, *geometry.output(image)))
    y, back, slope = np.empty_like(g), np.empty(x.shape), np.empty_like(w)
    CONV2D.kernel(x, w, out=y, geometry=geometry, groups=groups)
    CONV2D_X.kernel(g, w, out=back, shape=x.shape, geometry=geometry, groups=groups)
    CONV2D_W.kernel(x, g, out=slope, shape=w.shape, geometry=geometry, groups=groups)
    np.testing.assert_allclose([np.sum(x * back), np.sum(w * slope)], np.sum(y * g))


@pytest.mark.parametrize("image", [(5, 7), (13, 12)])
def test_single_elements_are_products_of_channels(image: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((3, 6, *image)), rng.standard_normal((9, 6, 1, 1))
    out = np.empty((3, 9, *image))
    CONV2D.kernel(x, w, out=out, geometry=Geometry((1, 1)), groups=1)
    np.testing.assert_allclose(out, np.einsum("fc,nchw->nfhw", w[..., 0, 0], x))
