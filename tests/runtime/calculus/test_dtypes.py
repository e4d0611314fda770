"""Promotion is one table: the documented one, on every path that meets two dtypes."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradwire.blocks.errors import DTypeError
from gradwire.blocks.values import DTYPES
from gradwire.runtime.calculus import Trace, dtypes
from gradwire.runtime.calculus.dtypes import (
    PROMOTION,
    array_of,
    common_dtype,
    promote,
    promote_weak,
)
from tests.runtime.calculus.tracing import Traced, leaf, namespace, run

KINDS = {
    "bool": ["bool"],
    "signed": ["int8", "int16", "int32", "int64"],
    "unsigned": ["uint8", "uint16", "uint32", "uint64"],
    "float": ["float16", "float32", "float64"],
}
any_dtype = st.sampled_from(DTYPES)
floats = pytest.mark.parametrize("dtype", KINDS["float"])


def kind(dtype: str) -> str:
    return next(name for name, members in KINDS.items() if dtype in members)


def wider(a: str, b: str) -> str:
    return max(a, b, key=lambda name: np.dtype(name).itemsize)


def narrowest_signed(a: str, b: str) -> str | None:
    for name in KINDS["signed"]:
        if np.can_cast(a, name) and np.can_cast(b, name):
            return name
    return None


DOCUMENTED = {
    ("bool", "bool (int64 in arithmetic: a boolean counts as 0 or 1)"): wider,
    ("signed", "the wider"): wider,
    ("unsigned", "the wider"): wider,
    ("unsigned, signed", "the narrowest signed that holds both; uint64: an error"):
        narrowest_signed,
    ("float", "the wider"): wider,
}  # fmt: skip
"""What each row of the table in the module's docstring means."""


def rows() -> list[tuple[str, str]]:
    lines = [line for line in (dtypes.__doc__ or "").splitlines() if line.startswith("|")]
    cells = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines[2:]]
    return [(left, right) for left, right in cells]


def test_the_documented_table_is_the_table() -> None:
    assert rows() == list(DOCUMENTED)
    expected = {}
    for (row, _), result in DOCUMENTED.items():
        first, _, second = row.partition(", ")
        for a, b in product(KINDS[first], KINDS[second or first]):
            expected[a, b] = expected[b, a] = result(a, b)
    order = list(KINDS)
    for a, b in product(DTYPES, DTYPES):
        ranks = [{"unsigned": 1, "signed": 1}.get(kind(x), order.index(kind(x))) for x in (a, b)]
        if ranks[0] != ranks[1]:
            expected[a, b] = a if ranks[0] > ranks[1] else b
    assert {pair: result for pair, result in expected.items() if result} == PROMOTION


@pytest.mark.sampled(one_in=11)
@pytest.mark.parametrize(("a", "b"), list(product(DTYPES, DTYPES)))
def test_within_a_kind_numpy_agrees(a: str, b: str) -> None:
    integers = {"signed", "unsigned"}
    if kind(a) == kind(b) or ({kind(a), kind(b)} == integers and (a, b) in PROMOTION):
        assert PROMOTION[a, b] == np.promote_types(a, b).name


@given(any_dtype, any_dtype)
def test_commutative(a: str, b: str) -> None:
    assert PROMOTION.get((a, b)) == PROMOTION.get((b, a))
    assert PROMOTION[a, a] == a


@given(any_dtype, any_dtype, any_dtype)
def test_associative_where_defined(a: str, b: str, c: str) -> None:
    try:
        left, right = promote(promote(a, b), c), promote(a, promote(b, c))
    except DTypeError:
        return
    assert left == right
    assert common_dtype((a, False), (b, False), (c, False)) == (left, False)


@pytest.mark.parametrize("signed", KINDS["signed"])
def test_uint64_with_signed_is_an_error(signed: str) -> None:
    with pytest.raises(DTypeError, match=f"uint64 and {signed} have no common dtype.*Cast"):
        promote("uint64", signed)
    with pytest.raises(DTypeError, match="no common dtype"):
        xp = namespace()
        xp.add(leaf(xp.trace, dtype="uint64"), leaf(xp.trace, dtype=signed))


def test_a_float_settles_uint64_with_signed() -> None:
    kinds = ("uint64", False), ("int8", False), ("float16", False)
    assert common_dtype(*kinds) == ("float16", False)


@pytest.mark.sampled(one_in=11)
@pytest.mark.parametrize(("a", "b"), sorted(PROMOTION))
def test_arithmetic_follows_the_table(a: str, b: str) -> None:
    xp = namespace()
    x, y = leaf(xp.trace, (2,), a), leaf(xp.trace, (2,), b)
    number = "int64" if a == b == "bool" else PROMOTION[a, b]
    for result in (x + y, x * y, x - y, xp.maximum(x, y), x**y):
        assert result.dtype == number
    assert (x / y).dtype == (number if kind(number) == "float" else "float32")
    assert xp.where(leaf(xp.trace, (2,), "bool"), x, y).dtype == PROMOTION[a, b]
    assert xp.concat([x, y]).dtype == xp.stack([x, y]).dtype == PROMOTION[a, b]
    assert xp.matmul(x, y).dtype == xp.einsum("i,i->", x, y).dtype == number
    assert (x < y).dtype == xp.equal(x, y).dtype == "bool"


WEAK = [
    ("bool", True, "bool"), ("bool", 2, "int64"), ("bool", 0.5, "float32"),
    ("int8", True, "int8"), ("int8", 2, "int8"), ("int8", 0.5, "float32"),
    ("uint64", 2, "uint64"), ("uint8", 0.5, "float32"), ("int64", 0.5, "float32"),
    ("float16", True, "float16"), ("float16", 2, "float16"), ("float16", 0.5, "float16"),
    ("float32", 0.5, "float32"), ("float64", 0.5, "float64"),
]  # fmt: skip


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize(("dtype", "scalar", "result"), WEAK)
def test_python_scalars_are_weak(dtype: str, scalar: Any, result: str) -> None:
    xp = namespace()
    x = leaf(xp.trace, (2,), dtype)
    arithmetic = "int64" if result == "bool" else result
    assert (x + scalar).dtype == (scalar - x).dtype == arithmetic
    assert (x + xp.scalar(scalar)).dtype == arithmetic
    assert (x + (xp.scalar(scalar) + xp.scalar(True))).dtype == (
        "int64" if arithmetic == "bool" else arithmetic
    )
    assert xp.where(leaf(xp.trace, (2,), "bool"), x, scalar).dtype == result
    assert xp.stack([leaf(xp.trace, (), dtype), scalar]).dtype == result
    weak = {bool: "bool", int: "int64", float: "float64"}[type(scalar)]
    assert promote_weak(dtype, weak) == result


def test_scalars_alone_are_the_defaults() -> None:
    xp = namespace()
    mask = leaf(xp.trace, (3,), "bool")
    assert xp.asarray(1.5).dtype == xp.asarray([1.5, 2]).dtype == "float32"
    assert xp.asarray(2).dtype == xp.asarray([1, 2]).dtype == "int64"
    assert xp.asarray(True).dtype == xp.asarray([True]).dtype == "bool"
    assert xp.where(mask, 1.0, 0.0).dtype == xp.where(mask, 1, 0.5).dtype == "float32"
    assert xp.where(mask, 1, 0).dtype == "int64"
    assert xp.exp(1).dtype == xp.exp(2.5).dtype == xp.mean([1, 2]).dtype == "float32"
    assert xp.full((2,), 1.5).dtype == "float32" and xp.full((2,), 1).dtype == "int64"
    assert xp.zeros((2,)).dtype == xp.eye(2).dtype == "float32"
    assert xp.arange(3).dtype == "int64"


def test_a_weak_scalar_keeps_its_digits_until_it_meets_something() -> None:
    third = run(lambda xp, x: x * (xp.scalar(1) / xp.scalar(3)), np.float64(1))
    assert third == 1 / 3


def test_arrays_and_numpy_scalars_keep_their_dtype() -> None:
    xp = namespace()
    x = leaf(xp.trace, (2,), "float16")
    for array in (np.float64(2), np.ones(2), np.float64([1, 2])):
        assert xp.asarray(array).dtype == "float64"
        for result in (x + array, array + x, array * x, array - x, array / x):
            assert result.dtype == "float64" and result.shape == (2,)
    assert (x + np.int8(2)).dtype == "float16"
    assert (np.float32(2) * x).dtype == "float32"
    assert (np.ones((3, 2)) @ x).shape == (3,)
    assert (np.ones(2) > x).dtype == "bool"


OUT_OF_RANGE = [
    ("int8", 128), ("int8", -129), ("uint8", -1), ("uint8", 256), ("int64", 2**63),
    ("uint64", 2**64), ("uint64", -1), ("int32", 2**31),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "number"), OUT_OF_RANGE)
def test_an_integer_that_its_dtype_does_not_hold_is_an_error(dtype: str, number: int) -> None:
    xp = namespace()
    x = leaf(xp.trace, (2,), dtype)
    for call in (
        lambda: x + number,
        lambda: xp.maximum(number, x),
        lambda: xp.full((2,), number, dtype),
        lambda: xp.asarray(number, dtype),
        lambda: xp.clip(x, number, None),
        lambda: xp.pad(x, ((1, 1),), number),
    ):
        with pytest.raises(DTypeError, match=rf"{number} doesn't fit {dtype}.*integer from"):
            call()


@pytest.mark.parametrize(("dtype", "number"), OUT_OF_RANGE)
def test_the_next_number_is_held(dtype: str, number: int) -> None:
    held = number - 1 if number > 0 else number + 1
    assert run(lambda xp, x: x + held, np.zeros((), dtype)) == held


@pytest.mark.parametrize("number", [0.5, np.nan, np.inf])
def test_a_fraction_is_no_integer(number: float) -> None:
    with pytest.raises(DTypeError, match="doesn't fit int64"):
        array_of(float(number), "int64")
    with pytest.raises(DTypeError, match="doesn't fit bool"):
        namespace().full((2,), 2, "bool")


@floats
def test_a_number_too_large_for_a_float_is_infinite(dtype: str) -> None:
    huge = float(np.finfo(dtype).max) * 2 if dtype != "float64" else float("inf")
    assert run(lambda xp, x: x + huge, np.zeros((), dtype)) == np.inf
    assert run(lambda xp, x: xp.full_like(x, 2**80), np.zeros((), "float16")) == np.inf


def test_an_integer_beyond_every_dtype_is_an_error() -> None:
    for number in (2**63, 2**70, -(2**70)):
        with pytest.raises(DTypeError, match="doesn't fit int64"):
            namespace().asarray(number)
    with pytest.raises(DTypeError):
        namespace().full((), 10**400, "float64")


@floats
def test_functions_of_floats_keep_their_width(dtype: str) -> None:
    xp = namespace()
    x = leaf(xp.trace, (2, 3), dtype)
    for result in (xp.exp(x), xp.mean(x), xp.softmax(x), xp.logsumexp(x), xp.norm(x, 1), xp.abs(x),
                   xp.sum(x), xp.prod(x), xp.cumulative_sum(x), xp.sort(x), x**2, x**0.5, 1 / x,
                   xp.relu(x), xp.round(x), xp.clip(x, 0, 1), xp.gradient(x * x, x)):  # fmt: skip
        assert result.dtype == dtype


@pytest.mark.parametrize("dtype", ["bool", *KINDS["signed"], *KINDS["unsigned"]])
def test_functions_of_integers(dtype: str) -> None:
    xp = namespace()
    x = leaf(xp.trace, (2, 3), dtype)
    long = "uint64" if dtype == "uint64" else "int64"
    number = "int64" if dtype == "bool" else dtype
    for result in (xp.sum(x), xp.prod(x), xp.cumulative_sum(x), xp.sum(x, 1)):
        assert result.dtype == long
    for result in (xp.exp(x), xp.mean(x), xp.softmax(x), xp.norm(x), xp.sqrt(x), x / 2, x / x):
        assert result.dtype == "float32"
    for result in (xp.max(x), xp.sort(x), xp.floor(x), xp.flip(x), xp.take(x, 0), x[0], x.T):
        assert result.dtype == dtype
    for result in (-x, xp.abs(x), xp.sign(x), x**2, xp.relu(x), xp.clip(x, 0, 1)):
        assert result.dtype == number
    assert xp.clip(x, 0.5, 1.0).dtype == "float32"


def test_casts() -> None:
    x = np.array([-1.9, -0.5, 0.0, 0.5, 1.9])
    for dtype in ("int8", "int64"):
        np.testing.assert_array_equal(run(lambda xp, x, d=dtype: xp.astype(x, d), x), np.trunc(x))
    np.testing.assert_array_equal(run(lambda xp, x: xp.astype(x, "bool"), x), x != 0)
    assert run(lambda xp, x: xp.astype(x, "bool"), np.float64(np.nan))
    xp = namespace()
    value = leaf(xp.trace)
    assert xp.astype(value, "float64") is value
    assert xp.astype(xp.scalar(2), "int64").weak is False
    narrow = Traced(lambda xp, x: xp.astype(x, "float16"), np.float64(1 / 3))
    assert narrow.value() == np.float16(1 / 3)
    assert narrow.gradient() == 1.0


@pytest.mark.parametrize(
    ("dtype", "other", "remarked"),
    [
        ("int64", "float32", True), ("int32", "float32", True), ("uint32", "float32", True),
        ("int16", "float32", False), ("uint8", "float16", False), ("int16", "float16", True),
        ("int32", "float64", False), ("int64", "float64", True), ("bool", "float16", False),
    ],
)  # fmt: skip
def test_integers_that_a_float_rounds_are_remarked_once(
    dtype: str, other: str, remarked: bool
) -> None:
    trace = Trace()
    trace.owner = "mul1"
    a, b = leaf(trace, dtype=dtype), leaf(trace, dtype=other)
    _ = a * b + a
    assert [(r.owner, r.code) for r in trace.remarks] == [("mul1", "rounded-integers")] * remarked
    assert all(f"{dtype} becomes {other}, which rounds" in r.text for r in trace.remarks)


@pytest.mark.parametrize("name", ["exp", "mean", "softmax"])
def test_functions_of_integers_remark_that_they_round(name: str) -> None:
    trace = Trace()
    getattr(trace.xp, name)(leaf(trace, (2,), "int64"))
    assert [r.code for r in trace.remarks] == ["rounded-integers"]


def test_a_cast_on_purpose_is_not_remarked() -> None:
    trace = Trace()
    trace.xp.exp(trace.xp.astype(leaf(trace, dtype="int64"), "float32"))
    assert not trace.remarks


@pytest.mark.parametrize(
    ("number", "lacking"),
    [
        (2048, set()), (2049, {"float16"}), (2**24, {"float16"}), (-(2**24), {"float16"}),
        (2**24 + 1, {"float16", "float32"}), (2**24 + 2, {"float16"}),
        (2**53 + 1, {"float16", "float32", "float64"}), (2**62, {"float16"}), (0, set()),
    ],
)  # fmt: skip
def test_holders_are_the_floats_that_hold_an_integer_exactly(number: int, lacking: set) -> None:
    assert dtypes.FLOATS - dtypes.holders(number) == lacking
