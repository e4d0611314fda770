"""Values of what is compiled, by every schedule: any axes, any memory, any vectors."""

from __future__ import annotations

import random
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest

from gradwire.runtime.engine.plan.native import machine
from tests.runtime.engine.compiler.stores import NUMPY, check, expected, results

pytest.importorskip("llvmlite")

SHAPES = [(7,), (40,), (3, 21), (70, 2), (4, 9, 5), (3, 1, 6), (2, 3, 4, 5), (1, 1)]
LENGTHS = [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 33, 40, 64, 70]
NAMES = [*NUMPY, "cumulative_sum", "copy"]


def drawn(*shape: int, dtype: str = "float32") -> Any:
    return np.random.default_rng(0).standard_normal(shape).astype(dtype)


@pytest.mark.sampled(one_in=11)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("how", NUMPY)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_any_axes_of_arrays_in_any_order(shape: tuple[int, ...], how: str, dtype: str) -> None:
    for order in permutations(range(len(shape))):
        x = drawn(*(shape[i] for i in order), dtype=dtype).transpose(np.argsort(order))
        for count in range(1, len(shape) + 1):
            for axes in combinations(range(len(shape)), count):
                check(how, x, axes=axes)


@pytest.mark.sampled(one_in=19)
@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize("seed", range(95))
def test_random_shapes(seed: int, lanes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays that are parts of others, in any order; some with infinities, NaN and −0."""
    monkeypatch.setattr(machine, "lanes", lambda: lanes)
    chosen = random.Random(seed)
    rank = chosen.randint(1, 4)
    shape = [chosen.choice(LENGTHS[: 14 - 3 * (rank - 1)]) for _ in range(rank)]
    whole = [n + chosen.choice([0, 0, 1, 3]) for n in shape]
    order = chosen.sample(range(rank), rank)
    x = drawn(*(whole[i] for i in order), dtype=chosen.choice(["float32", "float64"]))
    x = x.transpose(np.argsort(order))[tuple(slice(-n, None) for n in shape)]
    if chosen.random() < 0.3:
        x = x[tuple(slice(None, None, chosen.choice([1, -1, 2])) for _ in shape)]
    if chosen.random() < 0.3:
        special(x)
    for name in NAMES:
        if name == "copy":
            check(name, x)
        elif name == "cumulative_sum":
            check(name, x, axis=chosen.randrange(rank))
        else:
            axes = sorted(chosen.sample(range(rank), chosen.randint(1, rank)))
            check(name, x, axes=tuple(axes))


def special(x: Any) -> None:
    """Put what is no finite number, and −0, at some places."""
    at = np.random.default_rng(1).random(x.shape)
    for least, number in ((0.8, -0.0), (0.9, np.inf), (0.93, -np.inf), (0.96, np.nan)):
        x[at > least] = number


@pytest.mark.parametrize("how", NUMPY)
def test_parts_of_arrays_and_arrays_that_are_repeated(how: str) -> None:
    x = drawn(6, 20, 8)
    for part in (x[:, 1:-2, 3:], x[::2, ::3], x[:, ::-1], x[1], x[..., ::2]):
        check(how, part, axes=(1,))
    check(how, np.broadcast_to(x[:, :1], x.shape), axes=(1,))


def test_running_sums_of_views_with_gaps_and_in_reverse() -> None:
    x = drawn(4, 9, 5, 20).transpose(2, 0, 1, 3)[::2, :, 1:, 2:]
    check("cumulative_sum", x, axis=3)
    for each in (drawn(33, 53)[:, ::-1], drawn(33, 53)[::-1], drawn(5, 16)):
        check("cumulative_sum", each, axis=1)
        check("cumulative_sum", each, axis=0)


@pytest.mark.parametrize(("dtype", "to"), [("float32", "float64"), ("float64", "float32")])
def test_copies_convert(dtype: str, to: str) -> None:
    x = drawn(9, 33, dtype=dtype) * 1e30
    special(x)
    for each in (x, x.T, x[:, 1:], x[::2, ::-1], x[:1, :1]):
        check("copy", each, dtype=to)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("name", NAMES[:-1])
def test_what_is_no_number_wins_and_the_sign_of_zero_stays(name: str, axis: int) -> None:
    x = drawn(5, 19, 3)
    x[2, 17, 1], x[0, 0, 0], x[1, :, 2] = np.nan, np.nan, -np.inf
    x[3, 4], x[4, 18, 2], x[0, 3] = np.inf, np.nan, -0.0
    check(name, x, **({"axis": axis} if name == "cumulative_sum" else {"axes": (axis,)}))
    zeros = np.full((20, 40), -0.0, np.float32)
    for _, found in results("sum", zeros, axes=(1,)):
        assert np.signbit(found).all()


@pytest.mark.parametrize(
    ("shape", "axis"), [((70_000, 3), 0), ((3, 4_096), 1), ((2, 5_000, 70), 1), ((1, 70_000), 1)]
)
def test_long_axes_have_no_larger_errors_than_numpy(shape: tuple[int, ...], axis: int) -> None:
    x = (1 + np.random.default_rng(0).random(shape)).astype(np.float32)
    exact = expected("sum", x, axes=(axis,))
    for _, found in results("sum", x, axes=(axis,)):
        np.testing.assert_allclose(found, exact, rtol=2e-6)
