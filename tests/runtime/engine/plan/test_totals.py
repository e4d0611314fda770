"""Sums whose call is bound when memory is: the bits of the kernel, wherever arrays lie."""

from __future__ import annotations

import numpy as np
import pytest

from gradwire.runtime.calculus.kernels.summing import bound_total, total

SHAPES = [
    ((1, 1), (0, 1)),
    ((32, 1), (0, 1)),
    ((32, 16), (0,)),
    ((33, 257), (1,)),
    ((700, 8), (1,)),
    ((4, 5, 6), (0, 2)),
    ((0, 3), (0,)),
    ((9000, 2), (0,)),
    ((5,), ()),
]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64"])
@pytest.mark.parametrize(("shape", "axes"), SHAPES)
def test_bits(shape: tuple[int, ...], axes: tuple[int, ...], dtype: str) -> None:
    x = (np.random.default_rng(1).standard_normal(shape) * 9).astype(dtype)
    wide = np.float32 if dtype == "float16" else dtype
    expected = total(x, axes, wide).astype(dtype)
    out = np.full_like(expected, 7)
    step = bound_total(x, axes, out)
    if step is None:
        assert dtype == "float16" or shape in [(700, 8), (9000, 2)]
        return
    step()
    assert out.tobytes() == expected.tobytes()


def test_what_lies_in_another_order_is_left_to_the_kernel() -> None:
    x, out = np.ones((6, 4), np.float32), np.ones((4, 1), np.float32)
    assert bound_total(x.T, (1,), out) is None
    assert bound_total(x, (0,), np.ones((1, 4), np.float64)) is None
    assert bound_total(x, (0,), np.ones((1, 8), np.float32)[:, ::2]) is None
