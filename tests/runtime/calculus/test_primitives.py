"""What every primitive owes: tracing tells the truth, and its rules are its derivatives."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from gradwire.runtime.calculus import Primitive, Value, primitives, sweep
from gradwire.runtime.calculus.dtypes import is_float
from tests.runtime.calculus.cases import CASES, Case
from tests.runtime.calculus.tracing import Array, Function, Traced, slope

WEIGHTS = np.random.default_rng(11)

every_case = pytest.mark.parametrize("case", CASES, ids=str)
every_smooth_case = pytest.mark.parametrize(
    "case", [case for case in CASES if any(case.open) and not case.surrogate], ids=str
)


def table() -> list[Primitive]:
    """All primitives, found in the modules of the families."""
    package = primitives
    modules = [
        importlib.import_module(f"{package.__name__}.{module.name}")
        for module in pkgutil.iter_modules(package.__path__)
    ]
    return list({p for module in modules for p in vars(module).values() if type(p) is Primitive})


def weights(shape: tuple[int, ...]) -> Array:
    """Weights of the outputs, so that no two elements are summed alike."""
    return WEIGHTS.normal(size=shape)


def test_names_are_those_of_one_primitive_each() -> None:
    names = [primitive.name for primitive in table()]
    assert len(set(names)) == len(names)


@every_case
def test_result_is_the_formula(case: Case) -> None:
    traced = Traced(case.call, *case.inputs)
    assert case.primitive in traced.primitives
    wanted = np.asarray(case.formula(*case.inputs))
    assert traced.out.shape == wanted.shape
    np.testing.assert_allclose(traced.value(), wanted, rtol=1e-12, atol=1e-12)


NARROW = [
    pytest.param(case, dtype, id=f"{case}, {dtype}")
    for case in CASES
    for dtype in case.dtypes
    if any(x.dtype.kind == "f" for x in case.inputs)
]


@pytest.mark.sampled(one_in=17)
@pytest.mark.parametrize(("case", "dtype"), NARROW)
def test_narrow_floats_stay_narrow(case: Case, dtype: str) -> None:
    inputs = [x.astype(dtype) if x.dtype.kind == "f" else x for x in case.inputs]
    traced = Traced(case.call, *inputs)
    if is_float(traced.out.dtype):
        assert traced.out.dtype == dtype
    tolerance = 2e-2 if dtype == "float16" else 1e-5
    wanted = case.formula(*[x.astype(float) if x.dtype.kind == "f" else x for x in inputs])
    np.testing.assert_allclose(traced.value(), wanted, rtol=tolerance, atol=tolerance)
    for x, found in zip(traced.leaves, traced.gradients(), strict=True):
        if found is not None:
            assert (found.dtype, found.shape) == (x.dtype, x.shape)
            traced.read(found)


@every_case
def test_closed_slots_give_none(case: Case) -> None:
    traced = Traced(case.call, *case.inputs)
    assert tuple(found is not None for found in traced.gradients()) == case.open


@every_smooth_case
def test_first_derivative(case: Case) -> None:
    traced = Traced(case.call, *case.inputs)
    seed = weights(traced.out.shape)
    found = dict(zip(traced.leaves, traced.gradients(seed), strict=True))
    compare(case, traced, lambda *x: seed * traced.value(*x), found)


@pytest.mark.sampled(one_in=11)
@every_smooth_case
def test_second_derivative(case: Case) -> None:
    traced = Traced(case.call, *case.inputs)
    for first in traced.gradients(weights(traced.out.shape)):
        if first is not None:
            seed = weights(first.shape).astype(first.dtype)
            found = sweep([(first, traced.trace.xp.asarray(seed))], traced.leaves)
            compare(case, traced, lambda *x, v=first, s=seed: s * traced.read(v, *x), found)


def compare(case: Case, traced: Traced, function: Function, found: Mapping[Value, Any]) -> None:
    """Gradients against central differences; a missing one is one that does not change."""
    for slot, x in enumerate(traced.leaves):
        if x.dtype == "float64":  # differences of others are too coarse
            direction = weights(x.shape)
            value = found.get(x)
            along = 0.0 if value is None else float(np.sum(direction * traced.read(value)))
            numeric = slope(function, case.inputs, slot, direction)
            assert along == pytest.approx(numeric, rel=1e-6, abs=1e-6)


@pytest.mark.sampled(one_in=11)
@pytest.mark.parametrize("primitive", sorted(table(), key=repr), ids=repr)
def test_a_rule_for_every_slot(primitive: Primitive) -> None:
    case = next(case for case in CASES if case.primitive == primitive.name)
    traced = Traced(case.call, *case.inputs)
    value = next(v for v in traced.trace.values if v.primitive is primitive)
    slots = range(len(value.inputs))
    assert primitive.variadic or len(primitive.rules) == len(slots)
    assert primitive.unread <= set(slots)


@pytest.mark.parametrize("primitive", sorted(table(), key=repr), ids=repr)
def test_a_closed_slot_says_why(primitive: Primitive) -> None:
    is_closed = None in primitive.rules and not primitive.stops
    reason = primitive.no_derivative
    if is_closed:
        assert reason is not None, (
            f"{primitive.name} has a slot without a derivative: say why, with "
            "no_derivative=NoDerivative(…) in its row."
        )
        assert reason.why[0].islower(), "it follows the name of a block"
        assert not reason.why.endswith(".")
    else:
        assert reason is None, f"{primitive.name} has all derivatives: drop its no_derivative."
