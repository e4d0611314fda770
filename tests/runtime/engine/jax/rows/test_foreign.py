"""Primitives of plug-ins are called on the host, whatever their names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")

from gradwire.runtime.calculus import Primitive
from gradwire.runtime.engine.jax.traced import failure
from tests.runtime.engine.jax.rows.comparing import Sheet, by_rows


def _mean_of_two(a: Any, b: Any, *, out: Any) -> None:
    np.divide(a + b, 2, out=out)


@pytest.mark.parametrize("name", ["mean_of_two", "add"])
def test_a_primitive_of_a_plug_in_is_called(name):
    mean = Primitive(name, lambda a, b: (a.shape, a.dtype), _mean_of_two, (None, None))
    sheet = Sheet()
    a, b = sheet.leaf(np.array([1.0, 2.0])), sheet.leaf(np.array([3.0, 6.0]))
    value = sheet.trace.apply(mean, a, b)
    assert by_rows([value], sheet.bound)[0].tolist() == [2.0, 4.0]
    assert failure(value, [sheet.bound[a], sheet.bound[b]]) is None


def test_a_view_of_a_plug_in_is_called():
    back = Primitive("back", lambda x: (x.shape, x.dtype), lambda x: x[::-1], (None,), view=True)
    sheet = Sheet()
    value = sheet.trace.apply(back, sheet.leaf(np.array([1, 2, 3])))
    assert by_rows([value], sheet.bound)[0].tolist() == [3, 2, 1]
