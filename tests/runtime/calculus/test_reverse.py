"""The reverse sweep: all orders, many heads, and None where nothing connects."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from gradwire.runtime.calculus import BackwardRules, Trace, Value, passes_gradient, sweep, unwrap
from tests.runtime.calculus.tracing import Array, Traced, compute, derivative, gradient, leaf

X = np.linspace(0.2, 1.4, 7)

# (function, its first, second and third derivatives)
FUNCTIONS: list[tuple[Callable[..., Any], list[Callable[[Array], Any]]]] = [
    (lambda xp, x: xp.exp(2 * x), [lambda x, k=k: 2**k * np.exp(2 * x) for k in (1, 2, 3)]),
    (lambda xp, x: xp.sin(x), [np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x)]),
    (lambda xp, x: xp.log(x), [lambda x: 1 / x, lambda x: -(x**-2), lambda x: 2 * x**-3]),
    (lambda xp, x: x**4, [lambda x: 4 * x**3, lambda x: 12 * x**2, lambda x: 24 * x]),
    (lambda xp, x: x**-0.5,
     [lambda x: -0.5 * x**-1.5, lambda x: 0.75 * x**-2.5, lambda x: -1.875 * x**-3.5]),
    (lambda xp, x: xp.tanh(x),
     [lambda x: 1 - np.tanh(x) ** 2, lambda x: -2 * np.tanh(x) * (1 - np.tanh(x) ** 2),
      lambda x: (1 - np.tanh(x) ** 2) * (6 * np.tanh(x) ** 2 - 2)]),
    (lambda xp, x: 1 / (1 + x),
     [lambda x: -((1 + x) ** -2), lambda x: 2 * (1 + x) ** -3, lambda x: -6 * (1 + x) ** -4]),
    (lambda xp, x: xp.erf(x),
     [lambda x: 2 / math.sqrt(math.pi) * np.exp(-x * x),
      lambda x: -4 * x / math.sqrt(math.pi) * np.exp(-x * x),
      lambda x: (8 * x * x - 4) / math.sqrt(math.pi) * np.exp(-x * x)]),
    (lambda xp, x: x * xp.sqrt(x) * x,
     [lambda x: 2.5 * x**1.5, lambda x: 3.75 * x**0.5, lambda x: 1.875 * x**-0.5]),
    (lambda xp, x: xp.relu(x) * x, [lambda x: 2 * x, lambda x: 2 + 0 * x, lambda x: 0 * x]),
    (lambda xp, x: xp.prod(xp.stack([x, x, x]), 0),
     [lambda x: 3 * x**2, lambda x: 6 * x, lambda x: 6 + 0 * x]),
]  # fmt: skip


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("number", range(len(FUNCTIONS)))
@pytest.mark.parametrize("order", [1, 2, 3])
def test_derivatives_to_third_order(number: int, order: int) -> None:
    function, exact = FUNCTIONS[number]
    np.testing.assert_allclose(derivative(function, X, order), exact[order - 1](X), rtol=1e-10)


def test_zeros_in_a_product_have_exact_derivatives() -> None:
    def product(xp: Any, x: Any) -> Any:
        return xp.prod(x)

    x = np.array([0.0, 2.0, 0.0, 3.0])
    np.testing.assert_array_equal(gradient(product, x), np.zeros(4))
    second = derivative(product, x, 2)
    np.testing.assert_array_equal(second, [6, 0, 6, 0])  # rows of the Hessian, summed


def test_hessian_vector_products() -> None:
    """H·v as the gradient of ⟨∇f, v⟩, and forward over reverse by differences."""
    rng = np.random.default_rng(1)
    a, x, v = rng.normal(size=(4, 4)), rng.normal(size=4), rng.normal(size=4)

    def function(xp: Any, x: Any) -> Any:
        return 0.5 * (x @ a @ x)

    def product(xp: Any, x: Any) -> Any:
        return xp.gradient(xp.sum(xp.gradient(function(xp, x), x) * v), x)

    np.testing.assert_allclose(Traced(product, x).value(), (a + a.T) / 2 @ v, rtol=1e-12)


def test_hessian_vector_product_of_a_network() -> None:
    rng = np.random.default_rng(2)
    data, w, v = rng.normal(size=(5, 3)), rng.normal(size=(3, 2)), rng.normal(size=(3, 2))

    def loss(xp: Any, w: Any) -> Any:
        return xp.mean(xp.logsumexp(xp.tanh(data @ w), -1))

    def product(xp: Any, w: Any) -> Any:
        return xp.gradient(xp.gradient(loss(xp, w), w) * v, w)

    step = 1e-6
    ahead, behind = (gradient(loss, w + sign * step * v) for sign in (1, -1))
    np.testing.assert_allclose(Traced(product, w).value(), (ahead - behind) / (2 * step), rtol=1e-6)


def test_gradient_of_a_gradient_penalty_respects_stops() -> None:
    def penalty(xp: Any, x: Any) -> Any:
        slope = xp.gradient(x**3, x)
        return xp.stop_gradient(slope) * x + slope

    # d(3x²|stopped · x + 3x²) = 3x² + 6x
    assert gradient(penalty, np.float64(2)) == 12 + 12


# ---- heads and wanted values --------------------------------------------------------------


def test_heads_add_up() -> None:
    trace = Trace()
    x = leaf(trace)
    a, b = trace.xp.exp(x), x * 3
    seeds = [(a, trace.xp.asarray(np.float64(2))), (b, trace.xp.asarray(np.float64(5))),
             (b, trace.xp.asarray(np.float64(1)))]  # fmt: skip
    found = sweep(seeds, [x])[x]
    assert compute(found, {x: np.float64(0)}) == 2 + 3 * 6


def test_a_head_on_the_way_of_another() -> None:
    trace = Trace()
    x = leaf(trace)
    y = x * 2
    z = y * 5
    one = trace.xp.ones_like(x)
    found = sweep([(z, one), (y, one)], [x, y, z])
    values = [compute(found[v], {x: np.float64(1)}) for v in (x, y, z)]
    assert values == [12, 6, 1]


def test_a_value_is_its_own_gradient() -> None:
    trace = Trace()
    x = leaf(trace)
    one = trace.xp.ones_like(x)
    assert sweep([(x, one)], [x]) == {x: one}


def test_nothing_asked_nothing_swept() -> None:
    trace = Trace()
    x = leaf(trace)
    y = trace.xp.exp(x)
    count = len(trace.values)
    assert sweep([], [x]) == {} and sweep([(y, x)], []) == {}
    assert len(trace.values) == count


def test_only_what_is_wanted_is_swept() -> None:
    trace = Trace()
    x, y = leaf(trace), leaf(trace)
    for _ in range(50):
        y = trace.xp.sin(y)
    out, one = x * y, trace.xp.ones_like(x)
    count = len(trace.values)
    assert list(sweep([(out, one)], [x])) == [x]
    assert len(trace.values) - count < 5


def test_unconnected_is_missing() -> None:
    trace = Trace()
    x, y = leaf(trace), leaf(trace)
    out = trace.xp.exp(x) + trace.xp.stop_gradient(y)
    assert list(sweep([(out, trace.xp.ones_like(out))], [x, y])) == [x]


def test_a_value_after_the_head_is_unconnected() -> None:
    trace = Trace()
    x = leaf(trace)
    head, later = trace.xp.exp(x), trace.xp.sin(x)
    found = sweep([(head, trace.xp.ones_like(head))], [x, later])
    assert list(found) == [x]


def test_derivatives_know_the_owner_of_what_they_derive() -> None:
    trace = Trace()
    x = leaf(trace)
    trace.owner = "block"
    y = trace.xp.tanh(x)
    trace.owner = None
    found = sweep([(y, trace.xp.ones_like(y))], [x])
    assert found[x].owner == "block" and trace.owner is None


def test_a_gradient_without_a_path_is_zero_and_remarked() -> None:
    trace = Trace()
    trace.owner = "grad1"
    x, y = leaf(trace, (2,)), leaf(trace)
    out = trace.xp.gradient(y * y, x)
    np.testing.assert_array_equal(compute(out, {}), [0, 0])
    (owner, text, *_), = trace.remarks  # fmt: skip
    assert owner == "grad1" and "No path" in text


def test_a_marker_is_seen_through() -> None:
    trace = Trace()
    x = leaf(trace)
    first, second = trace.xp.wire(x), trace.xp.wire(trace.xp.wire(x))
    assert unwrap(second) is x and unwrap(x) is x
    y = first * second
    found = sweep([(y, trace.xp.ones_like(y))], [first, second, x])
    values = [compute(found[v], {x: np.float64(3)}) for v in (first, second, x)]
    assert values == [3, 3, 6]


def test_gradient_with_respect_to_a_wire_is_that_of_its_source() -> None:
    trace = Trace()
    x = leaf(trace)
    y = trace.xp.wire(x) * trace.xp.wire(x)
    assert compute(trace.xp.gradient(y, trace.xp.wire(x)), {x: np.float64(3)}) == 6


def test_passing_is_read_off_the_rules() -> None:
    trace = Trace()
    xp = trace.xp
    x, mask = leaf(trace), leaf(trace, (), "bool")
    assert passes_gradient(xp.exp(x), 0)
    assert not passes_gradient(xp.stop_gradient(x), 0)
    assert not passes_gradient(xp.astype(x, "int64"), 0) and not passes_gradient(
        xp.astype(mask, "float64"), 0
    )
    assert [passes_gradient(xp.where(mask, x, x), slot) for slot in range(3)] == [False, True, True]
    joined = xp.concat([x[None], x[None]])
    assert passes_gradient(joined, 0) and passes_gradient(joined, 1)


def test_long_chains_need_no_recursion() -> None:
    trace = Trace()
    x = leaf(trace)
    y = x
    for _ in range(5000):
        y = y * 1.0
    assert compute(sweep([(y, trace.xp.ones_like(y))], [x])[x], {x: np.float64(1)}) == 1


def test_rules_may_pass_more_and_see_every_value() -> None:
    class Through(BackwardRules):
        """Goes back through stops, and notes what it goes back through."""

        def __init__(self) -> None:
            self.seen: list[str] = []

        def passes(self, value: Value, slot: int) -> bool:
            return value.primitive.stops or super().passes(value, slot)

        def total(self, value: Value, parts: Sequence[Value]) -> Value:
            self.seen.append(f"{value.primitive.name}×{len(parts)}")
            return super().total(value, parts)

        def contribution(self, adjoint: Value, value: Value, slot: int) -> Value:
            if value.primitive.stops:
                return adjoint
            return super().contribution(adjoint, value, slot)

    trace = Trace()
    x = leaf(trace)
    y = trace.xp.stop_gradient(x) * x
    one, rules = trace.xp.ones_like(y), Through()
    closed, opened = sweep([(y, one)], [x])[x], sweep([(y, one)], [x], rules)[x]
    assert [compute(g, {x: np.float64(3)}) for g in (closed, opened)] == [3, 6]
    assert rules.seen == ["multiply×1", "stop_gradient×1", "leaf×2"]
