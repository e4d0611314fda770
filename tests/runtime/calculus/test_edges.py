"""The choices of our own where systems disagree, and the corners of the numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradwire.runtime.calculus import sweep
from tests.runtime.calculus.tracing import Traced, gradient, leaf, namespace, run

inf, nan = np.inf, np.nan


def array(*items: Any) -> Any:
    return np.array(items, np.float64)


# (function, where, derivative there)
KINKS = [
    (lambda xp, x: xp.abs(x), 0.0, 0.0),
    (lambda xp, x: xp.relu(x), 0.0, 0.0),
    (lambda xp, x: xp.maximum(x, 0.0), 0.0, 0.5),
    (lambda xp, x: xp.minimum(0.0, x), 0.0, 0.5),
    (lambda xp, x: xp.maximum(x, x), 2.0, 1.0),
    (lambda xp, x: xp.clip(x, 0, 1), 0.0, 1.0),
    (lambda xp, x: xp.clip(x, 0, 1), 1.0, 1.0),
    (lambda xp, x: xp.clip(x, 0, 1), 1.0 + 1e-12, 0.0),
    (lambda xp, x: xp.clip(x, None, 0), -3.0, 1.0),
    (lambda xp, x: xp.sign(x), 0.0, 0.0),
    (lambda xp, x: xp.round(x), 0.5, 0.0),
    (lambda xp, x: xp.floor(x), 1.0, 0.0),
    (lambda xp, x: xp.ceil(x), 1.0, 0.0),
    (lambda xp, x: xp.sqrt(x), 0.0, inf),
    (lambda xp, x: xp.log(x), 0.0, inf),
    (lambda xp, x: x**2, 0.0, 0.0),
    (lambda xp, x: x**1, 0.0, 1.0),
    (lambda xp, x: x**0, 0.0, 0.0),
    (lambda xp, x: x**1.0, 0.0, 1.0),
    (lambda xp, x: x**0.5, 0.0, inf),
    (lambda xp, x: x**3, -2.0, 12.0),
    (lambda xp, x: xp.power(0.0, x), 2.0, 0.0),
    (lambda xp, x: xp.power(0.0, x), 0.0, 0.0),
    (lambda xp, x: xp.power(0.0, x), -1.0, -inf),
    (lambda xp, x: xp.power(-2.0, x), 2.0, nan),
    (lambda xp, x: xp.norm(x), 0.0, 0.0),
    (lambda xp, x: xp.arctan2(x, 0.0), 0.0, 0.0),
    (lambda xp, x: xp.softplus(x), -800.0, 0.0),
    (lambda xp, x: xp.softplus(x), 800.0, 1.0),
    (lambda xp, x: xp.sigmoid(x), -800.0, 0.0),
    (lambda xp, x: xp.where(xp.greater(x, 0), xp.sqrt(x), 0.0), 0.0, nan),
    (lambda xp, x: xp.where(xp.greater(x, 0), xp.sqrt(xp.where(xp.greater(x, 0), x, 1.0)), 0.0),
     0.0, 0.0),
]  # fmt: skip


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("number", range(len(KINKS)))
def test_derivatives_at_kinks(number: int) -> None:
    function, place, slope = KINKS[number]
    np.testing.assert_equal(gradient(function, np.float64(place)), np.float64(slope))


def test_ties_share_the_gradient() -> None:
    tied = array([3, 1, 3], [0, 0, 0])
    np.testing.assert_array_equal(
        gradient(lambda xp, x: xp.max(x, 1), tied), [[0.5, 0, 0.5], [1 / 3] * 3]
    )
    np.testing.assert_array_equal(gradient(lambda xp, x: xp.min(x), tied)[1], [1 / 3] * 3)
    pool = gradient(lambda xp, x: xp.max_pool(x, (2, 2), (2, 2)), np.ones((1, 1, 2, 2)))
    np.testing.assert_array_equal(pool, np.full((1, 1, 2, 2), 0.25))


def test_the_power_of_zero_has_a_mixed_derivative() -> None:
    """d/db of ``b·a^(b−1)`` is 1/a at b = 0, and so is d/da of ``aᵇ·log a``."""
    traced = Traced(lambda xp, a, b: a**b, array(4, 0.5), array(0, 0))
    xp, (a, b) = traced.trace.xp, traced.leaves
    mixed = xp.gradient(xp.gradient(traced.out, a), b)
    np.testing.assert_array_equal(traced.read(mixed), [0.25, 2])
    other = xp.gradient(xp.gradient(traced.out, b), a)
    np.testing.assert_array_equal(traced.read(other), [0.25, 2])


def test_remainders_have_no_second_derivative() -> None:
    a, b = array(7, 0, -1, 5, nan), array(3, 0, inf, nan, 2)
    traced = Traced(lambda xp, a, b: xp.remainder(a, b), a, b)
    xp, slope = traced.trace.xp, traced.gradients()[1]
    assert slope is not None
    for wrt in traced.leaves:
        np.testing.assert_array_equal(traced.read(xp.gradient(slope, wrt)), np.zeros(5))


@pytest.mark.parametrize("base", [0, nan, inf, 5e-324, -5e-324, 2.3e-308])
def test_the_power_of_zero_is_flat_everywhere(base: float) -> None:
    assert gradient(lambda xp, a, b: a**b, array(base), array(0)) == [0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_logsumexp_of_large_numbers_shares_the_gradient(dtype: str) -> None:
    x = np.full((2, 2), 1e8 if dtype == "float32" else 1e17, dtype)
    np.testing.assert_array_equal(gradient(lambda xp, x: xp.logsumexp(x), x), np.full((2, 2), 0.25))


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_nan_sends_the_gradient_to_both_sides(name: str) -> None:
    a, b = array(nan, 1, nan, 2), array(1, nan, nan, 2)
    for slot in (0, 1):
        found = gradient(lambda xp, a, b: getattr(xp, name)(a, b), a, b, slot=slot)
        np.testing.assert_array_equal(found, [1, 1, 1, 0.5])


CLOSED = [
    lambda xp, x: x > 0,
    lambda xp, x: xp.equal(x, x),
    lambda xp, x: xp.isnan(x),
    lambda xp, x: xp.argmax(x),
    lambda xp, x: xp.argsort(x),
    lambda xp, x: xp.astype(x, "int64"),
    lambda xp, x: xp.astype(x, "bool"),
    lambda xp, x: xp.any(x),
    lambda xp, x: xp.stop_gradient(x),
    lambda xp, x: xp.astype(xp.astype(x, "int64"), "float64"),
    lambda xp, x: xp.one_hot(xp.astype(x, "int64"), 3),
    lambda xp, x: xp.take(array(1, 2, 3), xp.astype(x, "int64")),
    lambda xp, x: xp.where(x > 0, 1.0, 2.0),
    lambda xp, x: xp.full_like(x, 3.0) + xp.zeros_like(x),
    lambda xp, x: xp.surrogate(x, xp.zeros_like(x)),
]


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("number", range(len(CLOSED)))
def test_none_is_not_zero(number: int) -> None:
    assert Traced(CLOSED[number], array(0.5, 1.5)).gradients() == [None]


def test_a_stop_cuts_its_path_only_and_all_orders() -> None:
    def function(xp: Any, x: Any) -> Any:
        return x * xp.stop_gradient(x)

    assert gradient(function, np.float64(3)) == 3
    traced = Traced(function, np.float64(3))
    first = traced.gradients()[0]
    assert first is not None and sweep([(first, traced.trace.xp.ones_like(first))],
                                       traced.leaves) == {}  # fmt: skip


@pytest.mark.parametrize("x", [array(nan, inf, -inf), np.array([1, 2]), np.array([True])])
def test_a_stop_returns_what_it_got(x: Any) -> None:
    out = run(lambda xp, x: xp.stop_gradient(x), x)
    assert out.dtype == x.dtype
    np.testing.assert_array_equal(out, x)


def test_surrogate_sends_all_gradient_to_the_soft_side() -> None:
    traced = Traced(lambda xp, x: xp.surrogate(xp.round(x), 2 * x), array(0.4, 1.6))
    np.testing.assert_array_equal(traced.value(), [0, 2])
    np.testing.assert_array_equal(traced.gradient(), [2, 2])


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ({}, 1.0),
        ({"scale": 3.0}, 3.0),
        ({"scale": 3.0, "normalization": "batch"}, 0.75),
        ({"scale": 3.0, "normalization": "valid"}, 1.0),
        ({"normalization": "valid", "threshold": 100.0}, 1.0),
    ],
)
def test_a_loss_head_ignores_what_arrives(how: Any, expected: float) -> None:
    def function(xp: Any, x: Any) -> Any:
        return 100 * xp.loss_head(x, **how)

    x = array(-1, 1, 2, 3)
    np.testing.assert_array_equal(gradient(function, x), np.full(4, expected))
    assert Traced(lambda xp, x: xp.stop_gradient(xp.loss_head(x, **how)), x).gradients() == [None]


# ---- corners of the numbers ---------------------------------------------------------------


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin", "sort", "argsort", "prod",
                                  "cumulative_sum", "sum", "mean", "any", "all"])  # fmt: skip
def test_nan_is_where_numpy_has_it(name: str) -> None:
    numpy = {"cumulative_sum": np.cumsum}.get(name) or getattr(np, name)
    for x in (array(1, nan, 0, inf), array(nan), array(inf, -inf, 2)):
        with np.errstate(all="ignore"):
            wanted = numpy(x)
        np.testing.assert_array_equal(run(lambda xp, x: getattr(xp, name)(x), x), wanted)


@pytest.mark.parametrize("name", ["maximum", "minimum", "sign", "clip", "relu", "abs", "round"])
def test_nan_wins_elementwise(name: str) -> None:
    more = {"maximum": (0.0,), "minimum": (0.0,), "clip": (0.0, 1.0)}.get(name, ())
    out = run(lambda xp, x: getattr(xp, name)(x, *more), array(nan, 0.5))
    assert np.isnan(out[0]) and not np.isnan(out[1])


@pytest.mark.parametrize("arriving", [inf, -inf, nan])
@pytest.mark.parametrize(
    ("function", "where"),
    [
        (lambda xp, x: xp.relu(x), [-1.0, 0.0]),
        (lambda xp, x: xp.clip(x, 0, 1), [-1.0, 2.0]),
        (lambda xp, x: xp.clip(x, None, 1), [1.5, 2.0]),
        (lambda xp, x: xp.maximum(x, 5.0), [-1.0, 2.0]),
    ],
)
def test_what_is_cut_off_stays_0_whatever_arrives(
    function: Any, where: list[float], arriving: float
) -> None:
    assert gradient(function, array(*where), seed=arriving).tolist() == [0.0, 0.0]


def test_nan_spreads_through_the_gradient_of_max() -> None:
    assert np.isnan(gradient(lambda xp, x: xp.max(x), array(1, nan))).all()


def test_sorting_is_stable_both_ways() -> None:
    x = array(2, 1, 2, 1)
    order = run(lambda xp, x: xp.argsort(x), x)
    np.testing.assert_array_equal(order, [1, 3, 0, 2])
    order = run(lambda xp, x: xp.argsort(x, descending=True), x)
    np.testing.assert_array_equal(order, [0, 2, 1, 3])


def test_softmax_of_extremes() -> None:
    def softmax(xp: Any, x: Any) -> Any:
        return xp.softmax(x)

    np.testing.assert_array_equal(run(softmax, array(-inf, 0)), [0, 1])
    np.testing.assert_allclose(run(softmax, array(1e300, 1e300)), [0.5, 0.5])
    assert np.isnan(run(softmax, array(-inf, -inf))).all()
    assert np.isnan(run(softmax, array(inf, 0))).any()
    masked = gradient(lambda xp, x: xp.softmax(x), array(-inf, 0, 1), seed=array(0, 1, 0))
    p = 1 / (1 + np.e)
    np.testing.assert_allclose(masked, [0, p * (1 - p), -p * (1 - p)])


def test_log_softmax_of_large_numbers_keeps_its_digits() -> None:
    x = np.array([1000.0, 1000.5], "float32")
    exact = -np.log1p(np.exp([0.5, -0.5]))
    np.testing.assert_allclose(run(lambda xp, x: xp.log_softmax(x), x), exact, rtol=1e-6)
    np.testing.assert_allclose(run(lambda xp, x: xp.softmax(x), x), np.exp(exact), rtol=1e-6)


def test_logsumexp_of_extremes() -> None:
    def function(xp: Any, x: Any) -> Any:
        return xp.logsumexp(x)

    assert run(function, array(-inf, -inf)) == -inf
    assert run(function, array(inf, 0)) == inf
    assert run(function, array(-1e300, 1e300)) == 1e300
    assert np.isnan(run(function, array(nan, 0)))
    assert run(function, np.float64(7)) == 7
    np.testing.assert_allclose(run(function, array(1000, 1000)), 1000 + np.log(2))


def test_float16_adds_up_in_float32() -> None:
    ones = np.ones((4096, 2), "float16")
    assert run(lambda xp, x: xp.sum(x, 0), ones)[0] == 4096
    assert run(lambda xp, x: xp.mean(x, 0), ones)[0] == 1
    assert run(lambda xp, x: xp.cumulative_sum(x, 0), ones)[-1, 0] == 4096
    assert run(lambda xp, x: xp.norm(x, 0), 300 * ones[:1])[0] == 300
    assert run(lambda xp, x: xp.mean(x), np.full(70000, 2.0, "float16")) == 2
    assert run(lambda xp, x: xp.softmax(x, 0), ones)[0, 0] == 1 / 4096
    assert run(lambda xp, x: xp.logsumexp(x, 0), ones)[0] == np.float16(1 + np.log(4096))
    assert gradient(lambda xp, x: xp.mean(x), np.ones(70000, "float16"))[0] == np.float16(1 / 70000)


def test_a_mean_of_equal_numbers_is_that_number() -> None:
    for n in range(1, 200):
        assert run(lambda xp, x: xp.mean(x), np.ones(n, "float32")) == 1


def test_integers_wrap_round_and_keep_all_their_digits() -> None:
    big = np.array([2**62, 2**62 - 1])
    np.testing.assert_array_equal(run(lambda xp, x: xp.sum(x), big), 2**63 - 1)
    assert run(lambda xp, x: x + x, big)[0] == -(2**63)
    assert run(lambda xp, x: xp.max(x), big) == 2**62
    assert run(lambda xp, x: xp.clip(x, 0, 2**62 - 1), big)[0] == 2**62 - 1
    assert run(lambda xp, x: -x, np.array([1], "uint8"))[0] == 255
    assert run(lambda xp, x: x**2, np.array([7], "int8"))[0] == 49
    assert run(lambda xp, x: x**3, np.array([-2]))[0] == -8
    assert run(lambda xp, x: x**-1.0, np.array([4]))[0] == 0.25


def test_a_negative_power_that_is_computed_fails_when_it_runs() -> None:
    with pytest.raises(ValueError, match="negative"):
        run(lambda xp, x, y: x**y, np.array([2]), np.array([-1]))


@pytest.mark.parametrize("index", [3, -4])
@pytest.mark.parametrize("dtype", ["int8", "int64", "uint64"])
def test_an_index_out_of_range_fails_when_it_runs(index: int, dtype: str) -> None:
    if index < 0 and dtype == "uint64":
        index = 2**63
    x, i = array(1, 2, 3), np.array([0, index], dtype)
    for call in (
        lambda xp, x, i: xp.take(x, i),
        lambda xp, x, i: xp.take_along_axis(x, i, 0),
        lambda xp, x, i: xp.scatter_add(x, i, array(1, 1)),
        lambda xp, x, i: xp.add_along_axis(x, i, xp.asarray(array(1, 1)), 0),
    ):
        with pytest.raises(IndexError, match=f"index {index} is out of range.*length 3"):
            run(call, x, i)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint32", "int64", "uint64"])
def test_every_integer_dtype_can_index(dtype: str) -> None:
    x, i = array([1, 2, 3], [4, 5, 6]), np.array([1, 0, 1], dtype)
    np.testing.assert_array_equal(run(lambda xp, x, i: xp.take(x, i), x, i), x[[1, 0, 1]])
    along = run(lambda xp, x, i: xp.take_along_axis(x, i, 0), x, i[None])
    np.testing.assert_array_equal(along, [[4, 2, 6]])
    added = run(lambda xp, x, i: xp.scatter_add(x, i, np.ones((3, 3))), x, i)
    np.testing.assert_array_equal(added, x + array([1], [2]))
    np.testing.assert_array_equal(gradient(lambda xp, x, i: xp.take(x, i), x, i),
                                  np.array([[1.0] * 3, [2.0] * 3]))  # fmt: skip
    assert run(lambda xp, i: xp.one_hot(i, 2), i).tolist() == [[0, 1], [1, 0], [0, 1]]


def test_a_scalar_index_takes_its_axis_away() -> None:
    x = array([1, 2], [3, 4])
    taken = Traced(lambda xp, x, i: xp.take(x, i, 1), x, np.array(1))
    np.testing.assert_array_equal(taken.value(), [2, 4])
    np.testing.assert_array_equal(taken.gradient(), [[0, 1], [0, 1]])


EMPTY = [
    (lambda xp, x: xp.sum(x), 0.0),
    (lambda xp, x: xp.prod(x), 1.0),
    (lambda xp, x: xp.prod(x, 0), np.ones(3)),
    (lambda xp, x: xp.sum(x, 0), np.zeros(3)),
    (lambda xp, x: xp.max(x, 1), np.zeros(0)),
    (lambda xp, x: xp.mean(x, 1), np.zeros(0)),
    (lambda xp, x: xp.softmax(x), np.zeros((0, 3))),
    (lambda xp, x: xp.norm(x), 0.0),
    (lambda xp, x: xp.any(x > 0), False),
    (lambda xp, x: xp.all(x > 0), True),
    (lambda xp, x: x @ xp.ones((3, 2), "float64"), np.zeros((0, 2))),
    (lambda xp, x: xp.ones((2, 0), "float64") @ x, np.zeros((2, 3))),
    (lambda xp, x: xp.ones((2, 4, 0), "float64") @ x, np.zeros((2, 4, 3))),
    (lambda xp, x: xp.stack([x, x]) @ xp.ones((3, 2), "float64"), np.zeros((2, 0, 2))),
    (lambda xp, x: x + xp.ones((1, 3), "float64"), np.zeros((0, 3))),
    (lambda xp, x: xp.concat([x, x, array([1, 2, 3])]), np.array([[1, 2, 3]])),
    (lambda xp, x: xp.reshape(x, (-1, 3)), np.zeros((0, 3))),
    (lambda xp, x: xp.sort(x, 0), np.zeros((0, 3))),
    (lambda xp, x: xp.cumulative_sum(x), np.zeros((0, 3))),
    (lambda xp, x: xp.pad(x, ((1, 0), (0, 0))), np.zeros((1, 3))),
    (lambda xp, x: xp.take(x, np.zeros(0, int)), np.zeros((0, 3))),
    (lambda xp, x: xp.take(x, np.array([1]), 1), np.zeros((0, 1))),
    (lambda xp, x: xp.einsum("ij->j", x), np.zeros(3)),
    (lambda xp, x: xp.flip(x.T)[1:], np.zeros((2, 0))),
]


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("number", range(len(EMPTY)))
def test_empty_arrays(number: int) -> None:
    function, expected = EMPTY[number]
    traced = Traced(function, np.zeros((0, 3)))
    np.testing.assert_array_equal(traced.value(), expected)
    if traced.out.dtype == "float64":
        assert traced.gradient().shape == (0, 3)


def test_empty_batch_of_images() -> None:
    traced = Traced(lambda xp, x, w: xp.conv2d(x, w), np.ones((0, 2, 4, 4)), np.ones((3, 2, 3, 3)))
    assert traced.value().shape == (0, 3, 2, 2)
    np.testing.assert_array_equal(traced.gradient(1), np.zeros((3, 2, 3, 3)))
    assert traced.gradient(0).shape == (0, 2, 4, 4)


@pytest.mark.parametrize(
    "function",
    [
        lambda xp, x: xp.sum(x),
        lambda xp, x: xp.mean(x),
        lambda xp, x: xp.max(x, keepdims=True),
        lambda xp, x: xp.prod(x),
        lambda xp, x: xp.logsumexp(x),
        lambda xp, x: xp.flip(x),
        lambda xp, x: xp.permute_dims(x, ()),
        lambda xp, x: xp.squeeze(xp.expand_dims(x, 0), 0),
        lambda xp, x: x[...],
        lambda xp, x: x[None][0],
        lambda xp, x: xp.reshape(x, (1, 1))[0, 0],
        lambda xp, x: xp.broadcast_to(x, ()),
        lambda xp, x: xp.pad(x, ()),
        lambda xp, x: xp.einsum("->", x),
    ],
)
def test_scalars_are_arrays_too(function: Any) -> None:
    traced = Traced(function, np.float64(3))
    assert traced.out.shape == () and traced.value() == 3 and traced.gradient() == 1


def test_argmax_of_a_scalar() -> None:
    assert run(lambda xp, x: xp.argmax(x), np.float64(3)) == 0
    assert run(lambda xp, x: xp.argmax(x, keepdims=True), array([1, 2])).tolist() == [[1]]


@pytest.mark.parametrize(
    ("a", "b"),
    [((3,), (1, 3)), ((), (1,)), ((), (1, 1)), ((1, 3), (0, 3)), ((2, 1), (2, 0)), ((1,), (0, 1))],
)
def test_gradients_have_the_shape_of_their_value(a: Any, b: Any) -> None:
    """Also where broadcasting adds axes and no elements, or takes all elements away."""
    traced = Traced(lambda xp, x, y: x * y, np.ones(a), np.ones(b))
    copies = np.broadcast_shapes(a, b)
    for slot, shape in enumerate((a, b)):
        found = traced.gradient(slot)
        assert found.shape == shape
        assert found.sum() == np.ones(copies).sum()


@pytest.mark.parametrize(
    "index", [0, -1, (slice(None), 1), (..., 0), (None, 0), (slice(-1, None, -2), ..., None),
              (0, slice(1, 1)), np.int64(1), (slice(np.int8(0), 5), slice(None, -1))],
)  # fmt: skip
def test_indexing_is_numpys(index: Any) -> None:
    x = np.random.default_rng(0).normal(size=(2, 3, 4))
    traced = Traced(lambda xp, x: x[index], x)
    np.testing.assert_array_equal(traced.value(), x[index])
    hit = np.zeros_like(x)
    hit[index] = 1
    np.testing.assert_array_equal(traced.gradient(), hit)


def test_what_needs_no_work_adds_nothing() -> None:
    xp = namespace()
    x = leaf(xp.trace, (2, 3))
    same = (xp.reshape(x, (2, 3)), xp.reshape(x, (-1, 3)), xp.broadcast_to(x, (2, 3)), x[:, ...],
            xp.permute_dims(x, (0, 1)), xp.astype(x, "float64"), xp.sum(x, ()), xp.clip(x),
            xp.pad(x, ((0, 0), (0, 0))), xp.flip(x, ()), xp.asarray(x))  # fmt: skip
    assert all(value is x for value in same) and len(xp.trace.values) == 1
