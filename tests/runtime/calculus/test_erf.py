"""The error function of large arrays, which is computed some elements at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gradwire.runtime.calculus.kernels import erf


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_an_element_has_the_same_bits_wherever_it_is(dtype: str) -> None:
    x = (3 * np.random.default_rng(0).standard_normal(2 * erf._CHUNK + 77)).astype(dtype)
    x[:6] = 0.0, -0.0, np.inf, -np.inf, np.nan, -1e-3
    found, turned = np.empty_like(x), np.empty((2, x.size), dtype)[:, ::-1]
    erf.erf_kernel(x, out=found)
    erf.erf_kernel(np.stack([x, x]), out=turned)
    np.testing.assert_array_equal(turned, [found, found])
    for start in (0, 5, erf._CHUNK - 3, 2 * erf._CHUNK):
        few = np.empty(50, dtype)
        erf.erf_kernel(x[start : start + 50], out=few)
        np.testing.assert_array_equal(few, found[start : start + 50])
    exact = np.array([math.erf(a) for a in x])
    np.testing.assert_allclose(found.astype(float), exact, rtol=4 * np.finfo(dtype).eps)
    assert not np.signbit(found[0])
    assert np.signbit(found[1])
    assert found[5] < 0
