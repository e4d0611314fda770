import numpy as np
import pytest

from gradwire.app.canvas.scene.arrays import distinct


@pytest.mark.parametrize(
    "values",
    [
        np.array([3, 1, 3, 2, 1], np.intp),
        np.array([2.5, -1.0, 2.5]),
        np.array([7], np.int32),
        np.zeros(0, np.intp),
    ],
    ids=["several", "floats", "one", "none"],
)
def test_distinct_values_are_in_order_and_of_the_same_type(values):
    found = distinct(values)
    assert found.tolist() == sorted(set(values.tolist()))
    assert found.dtype == values.dtype
