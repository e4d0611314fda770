"""Source for JAX: every example is the same as in the runtime."""

from __future__ import annotations

import numpy as np
import pytest

from gradwire.runtime.diagram import load
from gradwire.runtime.engine import Session
from gradwire.runtime.interchange.export.source import export_source
from gradwire.runtime.interchange.export.systems.jax_rows import JAX
from tests.runtime.calculus.cases import CASES, Case
from tests.runtime.interchange.export.comparing import compare
from tests.runtime.interchange.export.examples import EXAMPLES, in_float64
from tests.runtime.interchange.export.rows import written

pytestmark = pytest.mark.usefixtures("jax_in_float64")


@pytest.mark.sampled(one_in=31)
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_the_same_in_jax(name, tmp_path):
    compare(in_float64(name), "jax", tmp_path)


@pytest.mark.sampled(one_in=31)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_primitive_is_the_same_in_jax(case: Case, jax_in_float64):
    from functools import partial

    numpy = jax_in_float64.numpy
    names = {"jax": jax_in_float64, "jnp": numpy, "lax": jax_in_float64.lax, "partial": partial}
    got, wanted = written(case, JAX, names, numpy.asarray)
    assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12)


def test_stops_are_the_idiom_of_jax():
    source = export_source(Session(load(EXAMPLES["mxnet_seed"])), "jax").source
    assert "stop = lax.stop_gradient(triple)  # a stop: no gradient goes back from here" in source
    assert 'CONNECTED = {"loss.out": ["a"]}' in source
