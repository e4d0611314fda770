"""Parts and joins: values by numpy, gradients of what was left out, repeated, or added."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gradwire.blocks.errors import GradwireError, ParameterError
from gradwire.blocks.library.parts import (
    Concat,
    Gather,
    Pad,
    PickAlong,
    ScatterAlong,
    ScatterRows,
    Slice,
    Stack,
    TakeAlong,
)
from tests.blocks.single import Slope, floats, gradients, value

if TYPE_CHECKING:
    from gradwire.blocks import Block

X = np.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_concat(axis: int) -> None:
    parts = {f"parts.{i}": X + 10 * i for i in range(3)}
    np.testing.assert_array_equal(
        value(Concat(axis=axis), **parts), np.concatenate([*parts.values()], axis)
    )


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_stack(axis: int) -> None:
    parts = {f"parts.{i}": X + 10 * i for i in range(3)}
    np.testing.assert_array_equal(
        value(Stack(axis=axis), **parts), np.stack([*parts.values()], axis)
    )


def test_each_part_gets_its_own_gradient() -> None:
    seed = np.arange(5.0)
    found = gradients(Concat(), seed, **{"parts.0": floats(1, 2), "parts.1": floats(3, 4, 5)})
    np.testing.assert_array_equal(found["parts.0"], [0, 1])
    np.testing.assert_array_equal(found["parts.1"], [2, 3, 4])


@pytest.mark.parametrize(
    ("begin", "size", "part"),
    [
        ((), (), np.s_[:]),
        ((1,), (2,), np.s_[1:3]),
        ((1, 2), (-1, 1), np.s_[1:, 2:3]),
        ((0, 4), (3, 0), np.s_[:, 4:]),
    ],
)
def test_slice(begin: tuple[int, ...], size: tuple[int, ...], part: object) -> None:
    np.testing.assert_array_equal(value(Slice(begin=begin, size=size), x=X), X[part])
    expected = np.zeros_like(X)
    expected[part] = 1
    np.testing.assert_array_equal(gradients(Slice(begin=begin, size=size), x=X)["x"], expected)


def test_slice_refuses() -> None:
    with pytest.raises(ParameterError, match="begin has 1 entries, but size 2"):
        Slice.from_record({"begin": [0], "size": [1, 1]})
    with pytest.raises(GradwireError, match="outside"):
        value(Slice(begin=(2,), size=(2,)), x=X)
    with pytest.raises(GradwireError, match="outside"):
        value(Slice(begin=(4,), size=(-1,)), x=X)
    with pytest.raises(GradwireError, match="more axes than x has"):
        value(Slice(begin=(0, 0, 0), size=(1, 1, 1)), x=X)


def test_slice_label_reads_like_python() -> None:
    assert Slice(begin=(1, 2), size=(2, -1)).label() == "[1:3, 2:]"
    assert Slice().label() == "[:]"


def test_pad() -> None:
    block = Pad(widths=((1, 0), (0, 2)), value=-1.0)
    np.testing.assert_array_equal(
        value(block, x=X), np.pad(X, ((1, 0), (0, 2)), constant_values=-1)
    )
    np.testing.assert_array_equal(gradients(block, x=X)["x"], np.ones_like(X))
    assert value(Pad(widths=((1, 1),)), x=X).shape == (5, 4)
    with pytest.raises(GradwireError, match="more axes than x has"):
        value(Pad(widths=((0, 0),) * 3), x=X)


@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric", "wrap"])
@pytest.mark.parametrize("widths", [((2, 1),), ((0, 0), (3, 0)), ((7, 0), (1, 9))])
def test_pad_repeats_elements_as_numpy_does(mode: str, widths: tuple[tuple[int, int]]) -> None:
    whole = (*widths, (0, 0))[:2]
    found = value(Pad(widths=widths, mode=mode), x=X)
    np.testing.assert_array_equal(found, np.pad(X, whole, mode))
    counts = gradients(Pad(widths=widths, mode=mode), x=X)["x"]
    np.testing.assert_array_equal(counts, np.vectorize(lambda x: np.sum(found == x))(X))


def test_nothing_has_no_element_to_repeat() -> None:
    with pytest.raises(GradwireError, match="no element to repeat"):
        value(Pad(widths=((1, 0),), mode="edge"), x=np.zeros((0, 2)))


def test_gather_adds_up_the_gradients_of_repeated_rows() -> None:
    rows = np.array([2, 0, 2, -1])
    np.testing.assert_array_equal(value(Gather(), x=X, indices=rows), X[rows])
    found = gradients(Gather(), x=X, indices=rows)
    np.testing.assert_array_equal(found["x"], [[1] * 4, [0] * 4, [3] * 4])
    assert found["indices"] is None


def test_gather_along_another_axis() -> None:
    indices = np.array([[3, 3], [0, 1]])
    np.testing.assert_array_equal(
        value(Gather(axis=1), x=X, indices=indices), np.take(X, indices, axis=1)
    )


def test_pick() -> None:
    actions = np.array([3, 0, 2])
    np.testing.assert_array_equal(value(PickAlong(), x=X, indices=actions), [3, 4, 10])
    np.testing.assert_array_equal(value(PickAlong(axis=0), x=X, indices=np.array([2, 0, 1, 1])),
                                  [8, 1, 6, 7])  # fmt: skip
    expected = np.zeros_like(X)
    expected[range(3), actions] = 1
    np.testing.assert_array_equal(gradients(PickAlong(), x=X, indices=actions)["x"], expected)


@pytest.mark.parametrize(
    ("block", "inputs", "message"),
    [
        (Gather(), {"x": X, "indices": floats(1)}, "'indices' must be an integer"),
        (Gather(), {"x": X, "indices": np.array([3])}, "index 3 is out of range"),
        (PickAlong(), {"x": X, "indices": np.array([0, 1])}, r"indices of shape \(3,\)"),
        (PickAlong(), {"x": X, "indices": floats(0, 0, 0)}, "'indices' must be an integer"),
        (PickAlong(), {"x": X, "indices": np.array([0, 1, 9])}, "index 9 is out of range"),
        (PickAlong(axis=2), {"x": X, "indices": np.array([0])}, "Axis 2"),
        (Concat(), {"parts.0": X, "parts.1": X[:, :2]}, "can't be joined along axis 0"),
        (Stack(), {"parts.0": X, "parts.1": X[:, :2]}, "of one shape"),
        (Concat(), {}, "Nothing to join"),
    ],
    ids=str,
)
def test_what_does_not_fit(block: object, inputs: dict[str, object], message: str) -> None:
    with pytest.raises(GradwireError, match=message):
        value(block, **inputs)


def test_take_along() -> None:
    columns = np.array([[3, 0, 0], [1, -1, 1], [2, 2, 2]])
    found = value(TakeAlong(), x=X, indices=columns)
    np.testing.assert_array_equal(found, np.take_along_axis(X, columns, 1))
    counts = [[2, 0, 0, 1], [0, 2, 0, 1], [0, 0, 3, 0]]
    np.testing.assert_array_equal(gradients(TakeAlong(), x=X, indices=columns)["x"], counts)


def test_take_along_leaves_out_rows_without_an_index() -> None:
    columns = np.array([[3], [1]])
    np.testing.assert_array_equal(value(TakeAlong(), x=X, indices=columns), [[3], [5]])
    found = gradients(TakeAlong(), x=X, indices=columns)["x"]
    np.testing.assert_array_equal(found, [[0, 0, 0, 1], [0, 1, 0, 0], [0, 0, 0, 0]])


@pytest.mark.parametrize(
    ("indices", "message"),
    [
        (np.array([0, 1, 2]), "Indices don't fit x"),
        (np.zeros((4, 1), int), "Indices don't fit x"),
        (floats([0]), "'indices' must be an integer"),
        (np.array([[4]]), "index 4 is out of range"),
    ],
)
def test_indices_that_do_not_fit_are_refused(indices: np.ndarray, message: str) -> None:
    with pytest.raises(GradwireError, match=message):
        value(TakeAlong(), x=X, indices=indices)


UFUNCS = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}
REPEATED = np.array([2, 0, 2, -3])


@pytest.mark.parametrize("mode", UFUNCS)
@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_scattered_rows_are_numpys_ufunc_at(mode: str, dtype: str) -> None:
    x, updates = X.astype(dtype), (np.arange(16).reshape(4, 4) - 7).astype(dtype)
    expected = x.copy()
    UFUNCS[mode].at(expected, REPEATED, updates)
    found = value(ScatterRows(mode=mode), x=x, indices=REPEATED, updates=updates)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, expected)


def test_of_repeated_indices_the_last_update_is_set() -> None:
    updates = np.arange(16.0).reshape(4, 4)
    inputs = {"x": X, "indices": REPEATED, "updates": updates}
    np.testing.assert_array_equal(value(ScatterRows(), **inputs), [updates[3], X[1], updates[2]])
    found = gradients(ScatterRows(), **inputs)
    assert found["indices"] is None
    np.testing.assert_array_equal(found["x"][:, 0], [0, 1, 0])
    np.testing.assert_array_equal(found["updates"][:, 0], [0, 0, 1, 1])


def test_rows_take_arrays_of_indices_along_any_axis_and_one_update_for_all() -> None:
    indices = np.array([[0, 3], [1, 0]])
    expected = X.copy()
    np.add.at(expected, (slice(None), indices), 1)
    block = ScatterRows(mode="add", axis=-1)
    found = value(block, x=X, indices=indices, updates=np.array(1.0))
    np.testing.assert_array_equal(found, expected)
    grown = gradients(block, x=X, indices=indices, updates=floats(1))["updates"]
    np.testing.assert_array_equal(grown, [12])


def test_booleans_are_set() -> None:
    found = value(
        ScatterRows(), x=np.zeros(3, bool), indices=np.array([1]), updates=np.array([True])
    )
    np.testing.assert_array_equal(found, [False, True, False])


def test_scatter_along_leaves_rows_without_an_index_as_they_are() -> None:
    columns = np.array([[3, 3], [0, -1]])
    inputs = {"x": X, "indices": columns, "updates": floats([50, 60], [70, 80])}
    found = value(ScatterAlong(axis=1), **inputs)
    np.testing.assert_array_equal(found, [[0, 1, 2, 60], [70, 5, 6, 80], X[2]])
    slopes = gradients(ScatterAlong(axis=1), **inputs)
    np.testing.assert_array_equal(slopes["x"], [[1, 1, 1, 0], [0, 1, 1, 0], [1, 1, 1, 1]])
    np.testing.assert_array_equal(slopes["updates"], [[0, 1], [1, 1]])


@pytest.mark.parametrize(
    ("x", "updates", "slope_x", "slopes"),
    [
        (2.0, [3, 4, 5], 60, [40, 30, 24]),
        (2.0, [3, 0, 5], 0, [0, 30, 0]),
        (2.0, [0, 0, 5], 0, [0, 0, 0]),
        (0.0, [3, 4, 5], 60, [0, 0, 0]),
        (0.0, [3, 0, 5], 0, [0, 0, 0]),
    ],
)
def test_products_with_zeros_have_their_gradient(
    x: float, updates: list[float], slope_x: float, slopes: list[float]
) -> None:
    found = gradients(
        ScatterRows(mode="mul"), x=floats(x), indices=np.zeros(3, int), updates=floats(*updates)
    )
    np.testing.assert_array_equal(found["x"], [slope_x])
    np.testing.assert_array_equal(found["updates"], slopes)


def test_products_with_zeros_have_their_second_derivative() -> None:
    inputs = {"x": floats(2), "indices": np.zeros(3, int), "updates": floats(0, 3, 5)}
    slope = Slope(
        ScatterRows(mode="mul"), "updates", **inputs
    )  # of y², so that 2 y y' = 0 at y = 0
    np.testing.assert_allclose(slope.gradients(floats(1, 0, 0))["updates"], [2 * 30**2, 0, 0])


@pytest.mark.parametrize(("mode", "sign"), [("max", 1), ("min", -1)])
def test_ties_of_extremes_share_the_gradient(mode: str, sign: int) -> None:
    inputs = {"x": sign * floats(3, 9), "indices": np.array([0, 0, 0, 1])}
    found = gradients(ScatterRows(mode=mode), **inputs, updates=sign * floats(3, 1, 3, 5))
    np.testing.assert_allclose(found["x"], [1 / 3, 1])
    np.testing.assert_allclose(found["updates"], [1 / 3, 0, 1 / 3, 0])


@pytest.mark.parametrize("block", [ScatterRows(), ScatterAlong()], ids=str)
def test_what_is_not_written_stays(block: Block) -> None:
    none = np.zeros((0,) if isinstance(block, ScatterRows) else (0, 4), int)
    found = gradients(block, x=X, indices=none, updates=np.zeros((0, 4)))
    np.testing.assert_array_equal(found["x"], np.ones((3, 4)))


@pytest.mark.parametrize(
    ("block", "indices", "updates", "message"),
    [
        (ScatterRows(), np.array([0]), np.zeros((2, 4)), "doesn't broadcast"),
        (ScatterRows(), np.array([3]), np.zeros(4), "index 3 is out of range"),
        (ScatterRows(axis=2), np.array([0]), np.zeros(4), "Axis 2"),
        (ScatterRows(), floats(0), np.zeros(4), "'indices' must be an integer"),
        (ScatterAlong(), np.array([0]), np.zeros(1), "Indices don't fit x"),
        (ScatterAlong(), np.zeros((1, 5), int), np.zeros((1, 5)), "Indices don't fit x"),
        (ScatterAlong(), np.zeros((1, 2), int), np.zeros((1, 3)), "doesn't broadcast"),
    ],
)
def test_updates_that_do_not_fit_are_refused(
    block: Block, indices: np.ndarray, updates: np.ndarray, message: str
) -> None:
    with pytest.raises(GradwireError, match=message):
        value(block, x=X, indices=indices, updates=updates)


@pytest.mark.parametrize(
    ("parameters", "label"),
    [
        ({"begin": (1, 0), "size": (2, -1)}, "[1:3, 0:]"),
        ({"begin": (1, -3), "size": (-2, 2)}, "[1:-1, -3:-1]"),
        ({"begin": (-2, 0), "size": (2, 4), "step": (1, 2), "last": 1}, "[-2:, …, 0:4:2]"),
        ({}, "[:]"),
    ],
)
def test_a_slice_is_labelled_as_numpy_writes_it(parameters: Any, label: str) -> None:
    assert Slice(**parameters).label() == label


@pytest.mark.parametrize(
    "parameters",
    [
        {"begin": (1,)},
        {"begin": (1,), "size": (1,), "step": (1, 1)},
        {"begin": (1,), "size": (1,), "step": (0,)},
        {"begin": (1,), "size": (1,), "last": 2},
    ],
)
def test_a_slice_whose_lists_disagree_is_refused(parameters: Any) -> None:
    with pytest.raises(ParameterError, match=r"begin has|at least 1"):
        Slice(**parameters)
