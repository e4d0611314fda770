"""A mistake is an error while tracing, and says which shapes and dtypes did not fit."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradwire.blocks.errors import DTypeError, ShapeError, TraceError
from gradwire.runtime.calculus import Trace, Value
from tests.runtime.calculus.tracing import leaf, namespace

Call = Callable[..., Any]

# (call of xp, a float32[2, 3] x, an int64[4] i and a bool[2] m; error; what its text has)
MISTAKES: list[tuple[Call, type[TraceError], list[str]]] = [
    (lambda xp, x, i, m: x + i, ShapeError, ["[2, 3]", "[4]", "axis -1", "3 and 4"]),
    (lambda xp, x, i, m: x + m, ShapeError, ["[2, 3]", "[2]", "Reshape"]),
    (lambda xp, x, i, m: xp.where(m, x, x), ShapeError, ["[2]", "[2, 3]"]),
    (lambda xp, x, i, m: xp.where(x, x, x), DTypeError, ["bool", "float32", "x > 0"]),
    (lambda xp, x, i, m: x & x, DTypeError, ["bool", "float32"]),
    (lambda xp, x, i, m: ~i, DTypeError, ["bool", "int64"]),
    (lambda xp, x, i, m: xp.bitwise_and(x, x), DTypeError, ["integers or booleans", "float32"]),
    (lambda xp, x, i, m: xp.left_shift(m, m), DTypeError, ["integers", "bool"]),
    (lambda xp, x, i, m: x @ x, ShapeError, ["[2, 3]", "3 columns", "2 rows", "Transpose"]),
    (lambda xp, x, i, m: i @ x, ShapeError, ["[4]", "[2, 3]", "4 columns", "2 rows"]),
    (lambda xp, x, i, m: x @ i, ShapeError, ["[2, 3]", "[4]", "3 columns", "4 rows"]),
    (lambda xp, x, i, m: x @ 2, ShapeError, ["[2, 3]", "[]", "Mul"]),
    (lambda xp, x, i, m: xp.ones((2, 3, 3)) @ xp.ones((5, 3, 3)), ShapeError, ["[2]", "[5]"]),
    (lambda xp, x, i, m: xp.einsum("ij,j->i", x, i), ShapeError, ["'j'", "3 and 4"]),
    (lambda xp, x, i, m: xp.einsum("ijk->i", x), TraceError, ["'ijk'", "rank 2"]),
    (lambda xp, x, i, m: xp.einsum("i,j->ij", x), TraceError, ["2 terms", "1 arrays"]),
    (lambda xp, x, i, m: xp.einsum("ii->i", x), TraceError, ["twice", "'ii'"]),
    (lambda xp, x, i, m: xp.einsum("ij->k", x), TraceError, ["'k'"]),
    (lambda xp, x, i, m: xp.einsum("ij->ii", x), TraceError, ["'ii'", "once"]),
    (lambda xp, x, i, m: xp.einsum("..->..", x), TraceError, ["twice"]),
    (lambda xp, x, i, m: xp.einsum("ié->i", x), TraceError, ["letters"]),
    (lambda xp, x, i, m: xp.reshape(x, (4, 2)), ShapeError, ["[2, 3]", "6 elements", "[4, 2]"]),
    (lambda xp, x, i, m: xp.reshape(x, (4, -1)), ShapeError, ["[2, 3]", "[4, -1]"]),
    (lambda xp, x, i, m: xp.reshape(x, (-1, -1)), ShapeError, ["[2, 3]", "one may be -1"]),
    (lambda xp, x, i, m: xp.reshape(x, (-2, -3)), ShapeError, ["[2, 3]", "[-2, -3]"]),
    (lambda xp, x, i, m: xp.reshape(x, (0, -1)), ShapeError, ["[2, 3]", "[0, -1]"]),
    (lambda xp, x, i, m: xp.broadcast_to(x, (3, 2)), ShapeError, ["[2, 3]", "[3, 2]"]),
    (lambda xp, x, i, m: xp.broadcast_to(x, (3,)), ShapeError, ["[2, 3]", "[3]"]),
    (lambda xp, x, i, m: xp.concat([x, i]), ShapeError, ["[2, 3]", "[4]", "axis 0"]),
    (lambda xp, x, i, m: xp.concat([x, xp.ones((3, 2))], 1), ShapeError, ["[3, 2]", "axis 1"]),
    (lambda xp, x, i, m: xp.concat([1.0, 2.0]), ShapeError, ["Scalars", "Stack"]),
    (lambda xp, x, i, m: xp.concat([]), ShapeError, ["at least one array"]),
    (lambda xp, x, i, m: xp.stack([x, i]), ShapeError, ["[2, 3]", "[4]"]),
    (lambda xp, x, i, m: xp.permute_dims(x, (0, 0)), ShapeError, ["[0, 0]", "[2, 3]"]),
    (lambda xp, x, i, m: xp.permute_dims(x, (0,)), ShapeError, ["[0]", "[2, 3]", "0 … 1"]),
    (lambda xp, x, i, m: xp.squeeze(x, 0), ShapeError, ["Axis 0", "[2, 3]", "length 1"]),
    (lambda xp, x, i, m: xp.expand_dims(x, 4), ShapeError, ["Axis 4", "rank 3"]),
    (lambda xp, x, i, m: xp.sum(x, 2), ShapeError, ["Axis 2", "rank 2", "-2 to 1"]),
    (lambda xp, x, i, m: xp.sum(x, (0, -2)), ShapeError, ["(0, -2)", "twice"]),
    (lambda xp, x, i, m: xp.softmax(1.0), ShapeError, ["Axis -1", "scalar"]),
    (lambda xp, x, i, m: xp.sort(x, -3), ShapeError, ["Axis -3"]),
    (lambda xp, x, i, m: xp.mean(xp.ones((0, 3)), 0), ShapeError, ["[0, 3]", "axis 0"]),
    (lambda xp, x, i, m: xp.max(xp.ones((0,))), ShapeError, ["maximum", "[0]"]),
    (lambda xp, x, i, m: xp.argmax(xp.ones((3, 0)), 1), ShapeError, ["argmax", "[3, 0]"]),
    (lambda xp, x, i, m: xp.logsumexp(xp.ones((0,))), ShapeError, ["logsumexp", "[0]"]),
    (lambda xp, x, i, m: xp.softmax(xp.ones((2, 0))), ShapeError, ["softmax", "[2, 0]"]),
    (lambda xp, x, i, m: xp.take(i, x), DTypeError, ["integers", "float32", "Cast"]),
    (lambda xp, x, i, m: xp.take(x, m), DTypeError, ["integers", "bool"]),
    (lambda xp, x, i, m: xp.take(x, i, 2), ShapeError, ["Axis 2", "rank 2"]),
    (lambda xp, x, i, m: xp.take_along_axis(x, i, 0), ShapeError, ["[4]", "[2, 3]", "axis 0"]),
    (lambda xp, x, i, m: xp.scatter_add(x, i, x), ShapeError, ["[4, 3]", "[2, 3]"]),
    (lambda xp, x, i, m: xp.one_hot(x, 3), DTypeError, ["integers", "float32"]),
    (lambda xp, x, i, m: xp.one_hot(i, 3, "float"), DTypeError, ["'float'", "float32"]),
    (lambda xp, x, i, m: xp.one_hot(i, -1), ShapeError, ["-1", "negative"]),
    (lambda xp, x, i, m: xp.pad(x, ((1, 1),)), ShapeError, ["[(1, 1)]", "[2, 3]"]),
    (lambda xp, x, i, m: xp.pad(x, ((1, 1), (-1, 0))), ShapeError, ["-1", "≥ 0"]),
    (lambda xp, x, i, m: xp.pad(i, ((1, 1),), 0.5), DTypeError, ["0.5 doesn't fit int64"]),
    (lambda xp, x, i, m: xp.pad(m, ((1, 1),), 2), DTypeError, ["2 doesn't fit bool"]),
    (lambda xp, x, i, m: x[2], ShapeError, ["Index 2", "axis 0", "length 2"]),
    (lambda xp, x, i, m: x[0, -4], ShapeError, ["Index -4", "axis 1", "length 3"]),
    (lambda xp, x, i, m: x[0, 0, 0], ShapeError, ["3 indices", "[2, 3]"]),
    (lambda xp, x, i, m: x[..., 0, ...], ShapeError, ["[2, 3]", "Ellipsis"]),
    (lambda xp, x, i, m: x[i], DTypeError, ["Value", "xp.take"]),
    (lambda xp, x, i, m: x[np.array([0, 1])], DTypeError, ["ndarray", "xp.take"]),
    (lambda xp, x, i, m: x[True], DTypeError, ["bool"]),
    (lambda xp, x, i, m: x[1.0], DTypeError, ["float"]),
    (lambda xp, x, i, m: x[::0], DTypeError, ["step that is not 0"]),
    (lambda xp, x, i, m: x[i:], DTypeError, ["static integers"]),
    (lambda xp, x, i, m: xp.slice_(x, (0,), (1,)), ShapeError, ["[0]", "[1]", "2"]),
    (lambda xp, x, i, m: xp.slice_(x, (0, 2), (1, 2)), ShapeError, ["2 to 4", "axis 1", "[2, 3]"]),
    (lambda xp, x, i, m: xp.slice_(x, (0, -1), (1, 1)), ShapeError, ["-1 to 0", "[2, 3]"]),
    (lambda xp, x, i, m: xp.astype(x, "complex64"), DTypeError, ["'complex64'", "float64"]),
    (lambda xp, x, i, m: xp.zeros((2,), "half"), DTypeError, ["'half'"]),
    (lambda xp, x, i, m: xp.arange(3, dtype="int"), DTypeError, ["'int'"]),
    (lambda xp, x, i, m: xp.arange(0, 3, 0), ShapeError, ["not 0"]),
    (lambda xp, x, i, m: xp.ones((2, -1)), ShapeError, ["[2, -1]", "negative"]),
    (lambda xp, x, i, m: xp.eye(-1), ShapeError, ["[-1]"]),
    (lambda xp, x, i, m: x + "3", DTypeError, ["str", "'3'"]),
    (lambda xp, x, i, m: x * [1, 2, 3], DTypeError, ["list", "[1, 2, 3]"]),
    (lambda xp, x, i, m: x + None, DTypeError, ["NoneType"]),
    (lambda xp, x, i, m: x * 1j, DTypeError, ["complex"]),
    (lambda xp, x, i, m: xp.asarray(1j), DTypeError, ["complex128"]),
    (lambda xp, x, i, m: xp.asarray("word"), DTypeError, ["<U4", "float64"]),
    (lambda xp, x, i, m: xp.asarray([[1], [1, 2]]), DTypeError, ["not an array", "[[1], [1, 2]]"]),
    (lambda xp, x, i, m: xp.asarray([x, x]), DTypeError, ["list", "xp.stack"]),
    (lambda xp, x, i, m: i**-1, DTypeError, ["int64", "-1", "Cast"]),
    (lambda xp, x, i, m: xp.clip(x, 1, 0), TraceError, ["lo = 1", "hi = 0"]),
    (lambda xp, x, i, m: xp.clip(x, float("nan"), 0), TraceError, ["lo = nan"]),
    (lambda xp, x, i, m: xp.conv2d(x, x), ShapeError, ["image", "rank 4", "[2, 3]"]),
    (lambda xp, x, i, m: xp.conv2d(xp.ones((1, 3, 5, 5)), xp.ones((4, 2, 3, 3))), ShapeError,
     ["[4, 2, 3, 3]", "[1, 3, 5, 5]", "1 group"]),
    (lambda xp, x, i, m: xp.conv2d(xp.ones((1, 4, 5, 5)), xp.ones((3, 2, 3, 3)), groups=2),
     ShapeError, ["[3, 2, 3, 3]", "divisible"]),
    (lambda xp, x, i, m: xp.conv2d(xp.ones((1, 1, 2, 5)), xp.ones((1, 1, 3, 3))), ShapeError,
     ["spans 3", "2 rows"]),
    (lambda xp, x, i, m: xp.max_pool(xp.ones((1, 1, 4, 4)), (2, 2), (0, 1)), ShapeError,
     ["stride (0, 1)", "at least 1"]),
    (lambda xp, x, i, m: xp.max_pool(x, (2, 2), (2, 2)), ShapeError, ["max_pool", "[2, 3]"]),
    (lambda xp, x, i, m: xp.max_pool(xp.ones((1, 1, 2, 4, 4)), (3, 1, 1), (1, 1, 1)), ShapeError,
     ["spans 3", "2 elements along axis 2"]),
    (lambda xp, x, i, m: xp.conv(x, xp.ones((1, 1, 1, 1, 1)), (1,) * 3, ((0, 0),) * 3, (1,) * 3),
     ShapeError, ["conv needs", "[2, 3]"]),
    (lambda xp, x, i, m: xp.inverse(x), ShapeError, ["square", "[2, 3]"]),
    (lambda xp, x, i, m: xp.surrogate(x, i), ShapeError, ["[4]", "[2, 3]"]),
    (lambda xp, x, i, m: xp.loss_head(i), DTypeError, ["int64", "float32", "Cast"]),
    (lambda xp, x, i, m: xp.loss_head(1.0, normalization="batch"), ShapeError, ["[]", "batch"]),
    (lambda xp, x, i, m: xp.loss_head(x, normalization="mean"), TraceError, ["'mean'", "valid"]),
    (lambda xp, x, i, m: xp.gradient(i, x), DTypeError, ["int64", "'of'"]),
    (lambda xp, x, i, m: xp.gradient(x, i), DTypeError, ["int64", "'wrt'"]),
    (lambda xp, x, i, m: xp.random_normal((2,), 0, "int64"), DTypeError, ["int64"]),
    (lambda xp, x, i, m: xp.random_uniform((-2,), 0), ShapeError, ["[-2]"]),
    (lambda xp, x, i, m: xp.broadcast_arrays(x, i), ShapeError, ["[2, 3]", "[4]"]),
    (lambda xp, x, i, m: bool(x), DTypeError, ["float32[2, 3]", "truth", "xp.where"]),
    (lambda xp, x, i, m: 1 if m[0] else 0, DTypeError, ["bool[]", "xp.where"]),
    (lambda xp, x, i, m: 0 < x < 1, DTypeError, ["bool[2, 3]"]),
    (lambda xp, x, i, m: len(x[0, 0]), ShapeError, ["scalar"]),
    (lambda xp, x, i, m: list(x[0, 0]), ShapeError, ["scalar"]),
    (lambda xp, x, i, m: x == 0, DTypeError, ["float32[2, 3]", "xp.equal"]),
    (lambda xp, x, i, m: x != x[0], DTypeError, ["float32[2, 3]", "xp.not_equal"]),
]  # fmt: skip


@pytest.mark.sampled(one_in=7)
@pytest.mark.parametrize("number", range(len(MISTAKES)))
def test_says_what_did_not_fit(number: int) -> None:
    call, error, fragments = MISTAKES[number]
    trace = Trace()
    inputs = (leaf(trace, (2, 3), "float32"), leaf(trace, (4,), "int64"), leaf(trace, (2,), "bool"))
    with pytest.raises(error) as caught:
        call(trace.xp, *inputs)
    text = str(caught.value)
    assert [part for part in fragments if part not in text] == [], text
    assert re.match(r"[A-Za-z\[\d-]", text) and text.rstrip("'\")]").endswith((".", "…")), text


def test_a_source_of_open_shape_can_not_be_traced() -> None:
    from gradwire.blocks.library.sources import Variable

    with pytest.raises(ShapeError, match="left open"):
        namespace().leaf(Variable(shape=(None, 2)))
    assert namespace().leaf(Variable(shape=(None, 2)), (3, 2)).shape == (3, 2)


def test_values_are_told_apart_by_identity() -> None:
    xp = namespace()
    a, b = leaf(xp.trace), leaf(xp.trace)
    assert {a: 1, b: 2}[b] == 2 and a in [a, None] and a is not b
    assert a != "a" and a != None  # noqa: E711  # only numbers and values can be meant elementwise


def test_rows_can_be_iterated_over() -> None:
    xp = namespace()
    rows = list(leaf(xp.trace, (3, 2)))
    assert [row.shape for row in rows] == [(2,)] * 3
    assert all(isinstance(row, Value) for row in rows)


def test_a_value_of_another_trace_is_refused_by_either() -> None:
    ours, other = namespace(), namespace()
    x, kept = leaf(ours.trace, (2,)), leaf(other.trace, (2,))
    for mix in (lambda: x + kept, lambda: kept + x, lambda: ours.concat([x, kept])):
        with pytest.raises(TraceError, match="kept from another trace"):
            mix()
    assert ours.trace.values == [x] and other.trace.values == [kept]
