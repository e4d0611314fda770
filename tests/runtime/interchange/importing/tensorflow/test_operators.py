"""Operators of TensorFlow: values, gradients and None are those that TensorFlow found."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gradwire.runtime.diagram import check, dumps, loads
from gradwire.runtime.engine import Session
from gradwire.runtime.interchange.importing.options import ImportOptions
from gradwire.runtime.interchange.importing.stage import Stage
from gradwire.runtime.interchange.importing.staged import Staged
from gradwire.runtime.interchange.importing.tensorflow.call import TensorFlowCall
from gradwire.runtime.interchange.importing.tensorflow.graph import TensorFlowAttributes
from gradwire.runtime.interchange.importing.tensorflow.importer import import_graph_def
from gradwire.runtime.interchange.importing.tensorflow.operators import control
from gradwire.runtime.interchange.importing.tensorflow.operators.table import OPERATORS
from tests.runtime.interchange.importing.tensorflow.fixtures import Archive, difference, graph_file

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported

pytest.importorskip("onnx", reason="protobuf comes with it")
ARCHIVE = Archive("operators.npz")


@pytest.mark.sampled(one_in=7)
@pytest.mark.parametrize("name", ARCHIVE.cases)
def test_an_operator_does_what_it_does_in_tensorflow(name: str, tmp_path: Path):
    case = ARCHIVE.case(name)
    made = import_graph_def(graph_file(case, tmp_path))
    assert not check(made.diagram)
    done = Session(loads(dumps(made.diagram))).backward()
    (port,) = made.outputs.values()
    assert difference(done.values[port], case["loss"]) <= 2e-5
    for parameter, path in made.parameters.items():
        wanted = case.get("gradient" + parameter.partition("/")[0].removeprefix("x"))
        gradient = done.gradients[path]
        assert (gradient is None) == (wanted is None), parameter
        if gradient is not None and wanted is not None:
            assert difference(gradient, wanted) <= 1e-4, parameter


def kinds(made: Imported) -> list[str]:
    return [block.type_name() for block in made.diagram.main.blocks.values()]


def test_a_loop_of_more_than_a_few_steps_is_a_scan(tmp_path: Path):
    made = import_graph_def(graph_file(ARCHIVE.case("while"), tmp_path))
    assert kinds(made).count("Scan") == 1 and made.diagram.main.blocks["while"].steps == 4
    assert not [remark for remark in made.remarks if remark.kind == "unrolled"]


@pytest.mark.parametrize("few", [0, 100])
@pytest.mark.parametrize("name", ["while", "scan"])
def test_a_loop_computes_the_same_written_out_and_as_a_scan(
    name: str, few: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(control, "FEW_STEPS", few)
    case = ARCHIVE.case(name)
    made = import_graph_def(graph_file(case, tmp_path))
    every = [b.type_name() for page in made.diagram.pages.values() for b in page.blocks.values()]
    assert ("Scan" in every) == (few == 0)
    assert any(remark.kind == "unrolled" for remark in made.remarks) == (few == 100)
    done = Session(loads(dumps(made.diagram))).backward()
    (port,) = made.outputs.values()
    assert difference(done.values[port], case["loss"]) <= 2e-5
    for parameter, path in made.parameters.items():
        wanted = case["gradient" + parameter.partition("/")[0].removeprefix("x")]
        gradient = done.gradients[path]
        assert gradient is not None and difference(gradient, wanted) <= 1e-4


def test_the_steps_of_a_loop_but_the_first_share_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(control, "FEW_STEPS", 100)
    made = import_graph_def(graph_file(ARCHIVE.case("while"), tmp_path))
    uses = [block for block in made.diagram.main.blocks.values() if block.type_name() == "Page"]
    assert len(uses) == 4 and len({use.page for use in uses}) == 2


def test_steps_are_cut_as_tensorflow_cuts_them(tmp_path: Path):
    made = import_graph_def(graph_file(ARCHIVE.case("floor"), tmp_path))
    assert [remark.kind for remark in made.remarks] == ["cut"]


GRADIENTS_OF_EQUAL = {
    # TensorFlow's _MaximumGrad: where(x >= y, grad, 0) for x, and the rest for y.
    ("Maximum", (1, 2, 3), (1, 3, 2)): [(1, 0, 1), (0, 1, 0)],
    ("Minimum", (1, 2, 3), (1, 3, 2)): [(1, 1, 0), (0, 0, 1)],
    # _ClipByValueGrad: all for x but where x < low or x > high.
    ("ClipByValue", (1, 2, 3, 4), (1, 3, 0, 0), (4, 4, 3, 3)): [
        (1, 0, 1, 0), (0, 1, 0, 0), (0, 0, 0, 1),
    ],
    # _MinOrMaxGrad: shared evenly.
    ("Max", (3, 1, 3)): [(0.5, 0, 0.5)],
}  # fmt: skip
"""What gets the gradient of equal numbers, by the operator and its inputs."""


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("given", GRADIENTS_OF_EQUAL)
def test_equal_numbers_have_the_gradient_that_they_have_in_tensorflow(given, constant: bool):
    """With variables for all inputs, or for the first of them alone."""
    name, first, *others = given
    stage = Stage()
    x = stage.variable("x", np.asarray(first, "f4"))
    more = [
        stage.constant(np.asarray(y, "f4")) if constant else stage.variable("y", np.array(y, "f4"))
        for y in others
    ]
    inputs = [x, *more, *([stage.constant(np.array([0]))] if name == "Max" else [])]
    node: Any = SimpleNamespace(name=name, operator=name, attributes=TensorFlowAttributes(name, {}))
    nothing: Any = None
    y = OPERATORS[name](TensorFlowCall(stage, node, name, tuple(inputs), nothing, nothing))
    assert isinstance(y, Staged)
    total = stage.block("Sum", y)
    variables = [x] if constant else [x, *more]
    for variable, wanted in zip(variables, GRADIENTS_OF_EQUAL[given], strict=False):
        found = stage.example(stage.block("Gradient", total, variable))
        np.testing.assert_array_equal(found, np.asarray(wanted, "f4"))


@pytest.mark.parametrize("training", [False, True])
def test_a_model_may_be_imported_as_in_training(training: bool, tmp_path: Path):
    file = graph_file(ARCHIVE.case("batch_norm"), tmp_path)
    made = import_graph_def(file, ImportOptions(training=training))
    (block,) = (b for b in made.diagram.main.blocks.values() if b.type_name() == "BatchNorm")
    assert block.mode == ("batch" if training else "running")
