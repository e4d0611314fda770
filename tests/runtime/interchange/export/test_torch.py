"""Source for PyTorch: every example is the same as in the runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from runtime.diagram import load
from runtime.engine import Session
from runtime.interchange.export import export_source
from runtime.interchange.export.systems.torch_rows import TORCH
from tests.runtime.calculus.cases import CASES, Case
from tests.runtime.interchange.export.comparing import compare
from tests.runtime.interchange.export.examples import EXAMPLES, in_float64
from tests.runtime.interchange.export.rows import gradients, written


@pytest.fixture(scope="module", autouse=True)
def installed() -> Any:
    return pytest.importorskip("torch", reason="PyTorch is not installed", exc_type=ImportError)


def read(tensor: Any) -> Any:
    return tensor.detach().numpy()


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_the_same_in_pytorch(name, tmp_path):
    compare(in_float64(name), "torch", tmp_path, read)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_primitive_is_the_same_in_pytorch(case: Case, installed):
    def tensor(array: Any) -> Any:
        return installed.as_tensor(TORCH.storable(np.array(array)))

    names = {"torch": installed, "F": installed.nn.functional}
    got, wanted = written(case, TORCH, names, tensor, read)
    wanted = TORCH.storable(wanted)
    assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_gradient_of_a_primitive_is_the_same_in_pytorch(case: Case, installed):
    def tensor(array: Any) -> Any:
        made = installed.as_tensor(TORCH.storable(np.array(array)))
        return made.requires_grad_(made.is_floating_point())

    def differentiated(result: Any) -> Any:
        leaves = [x for x in given if x.requires_grad]
        if not result.requires_grad or not leaves:
            return [None for _ in leaves]
        return installed.autograd.grad(result.sum(), leaves, allow_unused=True)

    given: list[Any] = []
    names = {"torch": installed, "F": installed.nn.functional}
    found, _ = written(
        case, TORCH, names, lambda x: given.append(tensor(x)) or given[-1], differentiated
    )
    for got, wanted in zip(found, gradients(case), strict=False):
        assert (got is None) == (wanted is None)
        if wanted is not None:
            np.testing.assert_allclose(read(got), wanted, rtol=1e-10, atol=1e-10)


def test_stops_and_straight_through_are_the_idioms_of_pytorch():
    source = export_source(Session(load(EXAMPLES["mxnet_seed"])), "torch").source
    assert "stop = triple.detach()  # a stop: no gradient goes back from here" in source
    source = export_source(Session(load(EXAMPLES["straight_through"])), "torch").source
    assert ".detach() + (" in source
