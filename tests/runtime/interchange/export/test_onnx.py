"""Models for ONNX: every example has the values of the runtime in onnxruntime."""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gradwire.runtime.calculus.primitives.base import CONSTANT
from gradwire.runtime.diagram import load, loads
from gradwire.runtime.engine import Session
from gradwire.runtime.interchange.export.rows import ExportError
from gradwire.runtime.interchange.export.source import exported_files
from gradwire.runtime.interchange.export.systems.onnx.model import IR_VERSION, Messages
from gradwire.runtime.interchange.export.systems.onnx.nodes import NodeList
from gradwire.runtime.interchange.export.systems.onnx.writing import row_of
from tests.runtime.calculus.cases import CASES, Case
from tests.runtime.calculus.tracing import compute
from tests.runtime.interchange.export.examples import EXAMPLES, in_float64
from tests.runtime.interchange.export.rows import traced
from tests.runtime.interchange.export.test_hostile import TEXTS

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram

WITHOUT_OPERATOR = {"inverse", "solve", "cholesky"}
"""Primitives that ONNX can't compute; test_rows shows that they are refused."""
FILE = Path("model.onnx")


@pytest.fixture(scope="module")
def onnx() -> Any:
    return pytest.importorskip("onnx", reason="ONNX is not installed")


@pytest.fixture(scope="module", autouse=True)
def onnxruntime() -> Any:
    return pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")


def written(diagram: Diagram, onnx: Any) -> Any:
    """The model of a diagram, checked."""
    model = onnx.load_from_string(exported_files(Session(diagram), "onnx", FILE)[FILE])
    onnx.checker.check_model(model, full_check=True)
    return model


def computed(model: Any, onnxruntime: Any, **fed: Any) -> dict[str, Any]:
    """The outputs by name."""
    names = [output.name for output in model.graph.output]
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors: it warns of inputs that have values
    providers = ["CPUExecutionProvider"]
    runner = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=providers)
    return dict(zip(names, runner.run(names, fed), strict=True))


@pytest.mark.sampled(one_in=7)
@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("dtype", ["as it is", "float64"])
def test_an_example_is_the_same_in_onnx(name, dtype, onnx, onnxruntime):
    diagram = load(EXAMPLES[name]) if dtype == "as it is" else in_float64(name)
    outputs = computed(written(diagram, onnx), onnxruntime)
    session = Session(diagram)
    values = session.run().values
    assert [port for port in outputs if port in session.losses] == list(session.losses)
    for port, got in outputs.items():
        wanted = values[port]
        assert wanted is not None
        assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype), port
        tolerance = 1e-12 if wanted.dtype == np.float64 else 1e-5
        np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance, err_msg=port)


def alone(case: Case, onnx: Any) -> tuple[Any, Any]:
    """A model of one case, checked, and what the kernels give."""
    trace, result, bound = traced(case)
    make, names = Messages(onnx), {x: f"x{x.index}" for x in bound}
    body = NodeList(tuple(names.values()))
    for value in trace.values:
        if value.primitive is CONSTANT:
            names[value] = body.constant(value.attributes["array"])
        elif value not in names:
            names[value] = row_of(value)(body, value, [names[x] for x in value.inputs])
    body.copy(names[result], "result")
    graph = onnx.helper.make_graph(
        [make.node(node) for node in body.nodes],
        "case",
        [],
        [make.typed("result", result)],
        [make.tensor(names[x], array) for x, array in bound.items()],
    )
    model = onnx.helper.make_model(graph, opset_imports=make.opsets(""), ir_version=IR_VERSION)
    onnx.checker.check_model(model, full_check=True)
    return model, compute(result, bound)


def in_float32(case: Case) -> Case:
    arrays = (x.astype(np.float32) if x.dtype == np.float64 else x for x in case.inputs)
    return replace(case, inputs=tuple(arrays))


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.primitive not in WITHOUT_OPERATOR], ids=str
)
def test_a_primitive_is_the_same_in_onnx(case: Case, onnx, onnxruntime):
    model, wanted = alone(case, onnx)
    try:
        got, tolerance = computed(model, onnxruntime)["result"], 1e-12
    except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:
        model, wanted = alone(in_float32(case), onnx)
        got, tolerance = computed(model, onnxruntime)["result"], 1e-5
    assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


def test_stops_and_losses_are_identities_that_say_so(onnx):
    nodes = written(load(EXAMPLES["mxnet_seed"]), onnx).graph.node
    told = {node.output[0]: {p.key: p.value for p in node.metadata_props} for node in nodes}
    assert told["stop"] == {"gradwire.stop_gradient": "true", "gradwire.block": "stop"}
    assert json.loads(told["loss.out"]["gradwire.loss"])["normalization"] == "none"
    assert {node.op_type for node in nodes if node.output[0] in ("stop", "loss.out")} == {
        "Identity"
    }


def test_a_surrogate_names_the_value_that_gets_the_gradient(onnx):
    nodes = written(load(EXAMPLES["straight_through"]), onnx).graph.node
    (straight,) = [node for node in nodes if node.output[0] == "straight"]
    told = {p.key: p.value for p in straight.metadata_props}
    assert (list(straight.input), told["gradwire.surrogate"]) == (["round_block"], "x_block")


def test_arrays_have_their_paths_and_roles(onnx):
    model = written(load(EXAMPLES["09_frozen_middle"]), onnx)
    roles = {array.name: array.metadata_props[0].value for array in model.graph.initializer}
    program = Session(load(EXAMPLES["09_frozen_middle"])).program
    variables = set(program.trainable)
    assert {name for name, role in roles.items() if role == "variable"} == variables
    assert {name for name, role in roles.items() if role == "frozen"} == (
        set(program.sources("variable")) - variables
    )


def test_each_page_is_one_function_that_its_uses_call(onnx):
    model = written(load(EXAMPLES["07_vanishing"]), onnx)
    assert [(f.domain, f.name) for f in model.functions] == [
        ("gradwire.page", "layer"),
        ("gradwire.page", "four_layers"),
    ]
    (_, outer) = model.functions
    assert Counter(node.op_type for node in outer.node)["layer"] == 4
    assert Counter(node.op_type for node in model.graph.node)["four_layers"] == 2


def test_random_numbers_are_those_of_the_step_that_is_fed(onnx, onnxruntime):
    diagram = in_float64("training_gan")
    model = written(diagram, onnx)
    session = Session(diagram)
    session.step_number = 3
    wanted = session.run().values
    fed = {"ring.x": wanted["ring.x"], "step": np.array(3, np.uint32)}
    outputs = computed(model, onnxruntime, **fed)
    assert outputs["G_loss.out"] != computed(model, onnxruntime)["G_loss.out"]
    np.testing.assert_allclose(outputs["G_loss.out"], wanted["G_loss.out"], rtol=1e-12)


def test_titles_of_any_text_are_written(onnx):
    record = json.loads(EXAMPLES["mxnet_seed"].read_text(encoding="utf-8"))
    for text in TEXTS:
        written(loads(json.dumps(record | {"title": text})), onnx)


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    monkeypatch.setitem(sys.modules, "onnx.helper", None)
    with pytest.raises(ExportError, match=r'pip install "gradwire\[interchange\]"'):
        exported_files(Session(load(EXAMPLES["mxnet_seed"])), "onnx", FILE)
