"""Source for NumPy: every example is the same as in the runtime, without autograd."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from gradwire.runtime.diagram import load, loads
from gradwire.runtime.engine import Session
from gradwire.runtime.interchange.export.source import export_source
from gradwire.runtime.interchange.export.systems.numpy_rows import NUMPY
from tests.runtime.calculus.cases import CASES, Case
from tests.runtime.interchange.export.comparing import compare
from tests.runtime.interchange.export.examples import EXAMPLES, in_float64, run
from tests.runtime.interchange.export.rows import written


@pytest.mark.sampled(one_in=7)
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_the_same_in_numpy(name, tmp_path):
    compare(in_float64(name), "numpy", tmp_path)


@pytest.mark.sampled(one_in=11)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_primitive_is_the_same_in_numpy(case: Case):
    got, wanted = written(case, NUMPY, {"np": np, "math": __import__("math")})
    assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12)


def test_float32_stays_float32(tmp_path):
    session = Session(load(EXAMPLES["training_spirals"]))
    _, gradients = run(session, "numpy", tmp_path)["loss_and_gradients"]()
    assert {gradient.dtype for gradient in gradients.values()} == {np.dtype(np.float32)}


def test_the_source_is_readable():
    source = export_source(Session(load(EXAMPLES["mxnet_seed"])), "numpy").source
    assert "stop = triple  # a stop: no gradient goes back from here" in source
    assert "plus = stop + a  # Add" in source
    assert '"b": None}' in source


def test_each_page_is_one_function_that_its_uses_call():
    source = export_source(Session(load(EXAMPLES["07_vanishing"])), "numpy").source
    assert len(re.findall(r"^def layer\(", source, re.MULTILINE)) == 1
    assert len(re.findall(r" = layer\(", source)) == 4
    assert len(re.findall(r" = four_layers\(", source)) == 2
    assert "def layer_backward(" in source


@pytest.mark.night
def test_the_source_imports_nothing_of_gradwire():
    for name in EXAMPLES:
        source = export_source(Session(load(EXAMPLES[name])), "numpy").source
        found = set(re.findall(r"^(?:import|from) (\w+)", source, re.MULTILINE))
        assert found <= {"numpy", "math", "pathlib", "safetensors"}


def test_a_diagram_without_a_loss_gives_its_outputs(tmp_path):
    text = """{"gradwire": 3, "pages": {"main": {"blocks": {
        "a": {"type": "Variable", "value": [1.0, 2.0], "dtype": "float64"},
        "twice": {"type": "Mul", "b": 2}}, "wires": {"twice.a": "a.out"}}}}"""
    outputs = run(Session(loads(text)), "numpy", tmp_path)["outputs"]()
    assert list(outputs) == ["twice.out"]
    np.testing.assert_array_equal(outputs["twice.out"], [2, 4])


def test_a_long_chain_of_blocks_is_exported(tmp_path):
    blocks = {"w": {"type": "Variable", "value": 1.5, "dtype": "float64"}, "loss": {"type": "Loss"}}
    blocks |= {f"neg{n}": {"type": "Neg"} for n in range(2000)}
    wires = {f"neg{n}.x": f"neg{n - 1}.out" for n in range(1, 2000)}
    wires |= {"neg0.x": "w.out", "loss.x": "neg1999.out"}
    record = {"gradwire": 3, "pages": {"main": {"blocks": blocks, "wires": wires}}}
    losses, gradients = run(Session(loads(json.dumps(record))), "numpy", tmp_path)[
        "loss_and_gradients"
    ]()
    assert (losses["loss.out"], gradients["w"]) == (1.5, 1.0)


def test_arrays_of_one_number_are_not_written_out(tmp_path):
    text = """{"gradwire": 3, "pages": {"main": {"blocks": {
        "a": {"type": "Variable", "value": [-0.0, 0.0, 0.0, 0.0, 0.0], "dtype": "float64"},
        "b": {"type": "Variable", "value": [0.5, 0.5, 0.5, 0.5, 0.5], "dtype": "float64"},
        "plus": {"type": "Add"}}, "wires": {"plus.a": "a.out", "plus.b": "b.out"}}}}"""
    source = export_source(Session(loads(text)), "numpy").source
    assert '"b": np.full((5,), 0.5, np.float64)' in source
    assert '"a": np.array([-0.0, 0.0, 0.0, 0.0, 0.0], np.float64)' in source


def test_the_backward_pass_says_what_its_names_mean():
    source = export_source(Session(load(EXAMPLES["dqn_target_stopped"])), "numpy").source
    forward, backward = source.split("    # The backward pass: from the losses to the variables")
    assert "# back through" in backward and "# back through" not in forward
