"""Where arrays lie in memory, and what refers to it."""

from __future__ import annotations

import gc
import pickle

import numpy as np
import pytest

from gradwire.runtime.calculus import Trace
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.engine.plan.memory import allocate
from gradwire.runtime.engine.plan.tasks import is_unshared

FLOAT = np.dtype(np.float32)
VALUE = Trace().apply(LEAF, shape=(100, 30), dtype="float32")


@pytest.mark.parametrize("shape", [(100, 30), (1024,), (3, 1, 700), (1031, 1)], ids=str)
def test_arrays_begin_with_a_line_of_the_caches(shape: tuple[int, ...]) -> None:
    found = [allocate(VALUE, shape, FLOAT) for _ in range(8)]
    assert all(x.shape == shape and x.flags.c_contiguous and x.flags.writeable for x in found)
    assert {x.ctypes.data % 64 for x in found} == {0}
    for i, x in enumerate(found):
        x[...] = i
    assert all((x == i).all() for i, x in enumerate(found))


@pytest.mark.night
def test_a_view_shows_that_an_array_is_used() -> None:
    """A result may be overwritten only once nobody has a part of it."""
    given = [allocate(VALUE, (100, 30), FLOAT)]
    assert is_unshared(given, 0)
    for view in (lambda x: x[3:][2], lambda x: x.T, lambda x: x.reshape(-1), memoryview):
        part = view(given[0])
        assert not is_unshared(given, 0)
        del part
        gc.collect()
        assert is_unshared(given, 0)


def test_arrays_are_plain_ones_to_all_who_get_them() -> None:
    x = allocate(VALUE, (100, 30), FLOAT)
    x[...] = 7
    for copy in (x, x.copy(), pickle.loads(pickle.dumps(x)), x[1:], x + 1):
        assert type(copy) is np.ndarray
