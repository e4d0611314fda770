"""Local derivatives: against central differences, for single numbers, elements and Jacobians."""

from __future__ import annotations

import numpy as np
import pytest

from gradwire.runtime.build import build, exp, loss, mul, softmax, sum, tanh, variable
from gradwire.runtime.diagram.paths import InstancePath
from gradwire.runtime.engine import Session
from gradwire.runtime.lessons.derivative.local import local_block


def local(expression, name):
    session = Session(build(loss(sum(expression), name="L")))
    found = local_block(session.program, InstancePath(name), session.run().values)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("make", "slope"),
    [(tanh, lambda x: 1 - np.tanh(x) ** 2), (exp, np.exp)],
    ids=["tanh", "exp"],
)
def test_functions_work_element_by_element(make, slope):
    x = np.array([[-1.0, 0.3], [2.0, 0.0]])
    found = local(make(variable("x", x), name="f"), "f").derivative("out", "x")
    np.testing.assert_allclose(found.elementwise, slope(x), rtol=1e-6)
    diagonal = np.diag(found.jacobian.reshape(4, 4)).reshape(2, 2)
    np.testing.assert_allclose(diagonal, slope(x), rtol=1e-6)
    assert np.count_nonzero(found.jacobian) <= 4


def test_a_broadcast_input_has_a_derivative_for_each_element_of_the_output():
    a, b = variable("a", [2.0, 3.0]), variable("b", [[1.0, 10.0], [5.0, 7.0]])
    found = local(mul(a, b, name="f"), "f").derivative("out", "a")
    np.testing.assert_array_equal(found.elementwise, [[1, 10], [5, 7]])
    assert found.jacobian.shape == (2, 2, 2)
    np.testing.assert_array_equal(found.jacobian.sum((0, 1)), [6, 17])


def test_softmax_has_a_jacobian_and_nothing_elementwise():
    z = np.array([2.0, 1.0, 0.1])
    found = local(softmax(variable("z", z), name="f"), "f").derivative("out", "x")
    p = np.exp(z) / np.exp(z).sum()
    assert found.elementwise is None
    np.testing.assert_allclose(found.jacobian, np.diag(p) - np.outer(p, p), atol=1e-6)


def test_a_large_jacobian_is_left_out():
    found = local(softmax(variable("z", np.ones(100)), name="f"), "f").derivative("out", "x")
    assert found.jacobian is None


def test_single_numbers():
    block = local(mul(variable("a", 2.0), variable("b", 5.0), name="f"), "f")
    assert (block.number("out", "a"), block.number("out", "b")) == (5, 2)
    assert block.returned({"out": np.float64(4)}) == {"a": 20, "b": 8}


def test_sources_have_none():
    session = Session(build(loss(variable("x", 1.0), name="L")))
    assert local_block(session.program, InstancePath("x"), session.run().values) is None
