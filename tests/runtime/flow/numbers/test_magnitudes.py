"""The numeric states are what their definitions say, at the thresholds and in their order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradwire.runtime.engine.norms import all_finite
from gradwire.runtime.flow import State, Thresholds
from gradwire.runtime.flow.numbers.magnitudes import (
    LossScale,
    layout_of,
    measure,
    measure_each,
    scale_of,
)
from gradwire.runtime.flow.numbers.rules import classify, classify_each

ALONE = LossScale(1.0, 1.0)
NAN, INF = float("nan"), float("inf")


def state(values, scale=ALONE, thresholds=None, dtype="float64"):
    return classify(measure(np.array(values, dtype)), scale, thresholds or Thresholds())


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0, -2.0], State.CARRIES),
        ([1.0] * 9 + [0.0], State.PARTIAL),  # a tenth
        ([1.0] * 10 + [0.0], State.CARRIES),  # less
        ([0.0, 1.0], State.PARTIAL),
        ([0.0, -0.0], State.ZERO),
        ([1.01e-7], State.VANISHING),  # under the share of the loss's own
        ([0.99e-7], State.VANISHING),
        ([1.01e4], State.EXPLODING),
        ([0.99e4], State.CARRIES),
        ([NAN, 0.0], State.NONFINITE),
        ([INF], State.NONFINITE),
        ([-INF, 1.0], State.NONFINITE),
        ([], State.CARRIES),
    ],
)
def test_by_size_alone(values, expected):
    assert state(values) is expected


def test_vanishing_and_exploding_are_relative_too():
    assert state([0.99e-5], LossScale(1.0, 1.0)) is State.VANISHING
    assert state([1.01e-5], LossScale(1.0, 1.0)) is State.CARRIES
    assert state([0.99e-5], LossScale(1.0, 1e-4)) is State.CARRIES
    assert state([1.01], LossScale(1.01, 1e-4)) is State.EXPLODING
    assert state([0.99], LossScale(0.99, 1e-4)) is State.CARRIES
    assert state([1.0], LossScale(0.0)) is State.CARRIES
    assert state([0.99e-7], LossScale(1e-7, 1e-7)) is State.VANISHING


def test_subnormal_numbers_are_vanishing_whatever_the_thresholds():
    lax = Thresholds(vanishing=0.0, vanishing_relative=0.0)
    assert state([5e-324, 0.0], LossScale(5e-324, 5e-324), lax) is State.VANISHING
    assert state([6e-8], LossScale(6e-8, 6e-8), lax, "float16") is State.VANISHING
    assert state([2.0**-14], ALONE, lax, "float16") is State.CARRIES


def test_their_order():
    """NONFINITE, ZERO, EXPLODING, VANISHING, PARTIAL, CARRIES: the first that holds."""
    every = Thresholds(partial=0.0, vanishing=INF, exploding=-1.0)
    assert state([NAN, 0.0], thresholds=every) is State.NONFINITE
    assert state([0.0], thresholds=every) is State.ZERO
    assert state([1.0, 0.0], thresholds=every) is State.EXPLODING
    assert state([1.0, 0.0], thresholds=Thresholds(partial=0.0, vanishing=INF)) is State.VANISHING
    assert state([1.0, 0.0], thresholds=Thresholds(partial=0.0)) is State.PARTIAL


def test_the_scale_is_of_what_is_finite_and_not_zero():
    numbers = (NAN, INF, 0.0, 1.0, 3.0, 100.0)
    assert scale_of(measure_each({str(x): np.array([x]) for x in numbers})) == LossScale(100.0, 1.0)
    assert scale_of(measure_each({})) == LossScale(0.0, 1.0)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["float16", "float32", "float64"]),
            st.lists(
                st.floats(-1e3, 1e3) | st.sampled_from([0.0, NAN, INF, 1e-42, 1e-320, 1e300]),
                max_size=5,
            ),
        ),
        max_size=8,
    )
)
def test_many_arrays_measure_as_each_does(drawn):
    with np.errstate(over="ignore"):
        arrays = {str(i): np.array(x).astype(dtype) for i, (dtype, x) in enumerate(drawn)}
    sizes = measure_each(arrays)
    assert list(sizes) == list(arrays)
    twice = measure_each({name: 2 * x for name, x in arrays.items()}, layout_of(arrays))
    again = measure_each({name: 2 * x for name, x in arrays.items()})
    assert np.array_equal([*twice.values()], [*again.values()], equal_nan=True)
    wanted = all(np.isfinite(array).all() for array in arrays.values())
    assert all_finite([*arrays.values()]) == wanted
    scale = scale_of(sizes)
    states = classify_each(sizes, scale)
    for name, array in arrays.items():
        alone = measure(array)
        assert sizes[name][1:5] == alone[1:5]
        assert np.allclose((sizes[name].rms, sizes[name].peak), (alone.rms, alone.peak), 1e-5, 0.0,
                           equal_nan=True)  # fmt: skip
        assert states.get(name, State.CARRIES) is classify(sizes[name], scale)


@given(
    st.lists(st.lists(st.sampled_from([0.0, 1.0, -2.0, 1e-42, INF, NAN]), max_size=3), max_size=4)
)
def test_a_group_measures_as_its_arrays_joined(parts):
    arrays = {str(i): np.array(part, np.float32) for i, part in enumerate(parts)}
    sizes = measure_each(arrays).combined({"all": [*arrays, "missing"], "none": ["missing"]})
    assert set(sizes) == ({"all"} if arrays else set())
    for size in sizes.values():
        joined = measure(np.concatenate(list(arrays.values())))
        assert size[1:] == joined[1:] or (np.isnan(joined.peak) and np.isnan(size.peak))
        assert np.isclose(size.rms, joined.rms, 1e-5, 0.0, equal_nan=True)
