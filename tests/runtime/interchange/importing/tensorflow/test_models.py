"""Models that TensorFlow saved: numbers, pages, parameters and stops."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from gradwire.blocks.errors import FileError
from gradwire.runtime.diagram import check, dumps, loads
from gradwire.runtime.engine import Session
from gradwire.runtime.interchange.importing.options import ImportOptions
from gradwire.runtime.interchange.importing.tensorflow.importer import (
    import_graph_def,
    import_saved_model,
)
from gradwire.runtime.interchange.importing.tensorflow.recognition import (
    is_graph_def,
    is_saved_model,
)
from tests.runtime.interchange.importing.tensorflow.fixtures import (
    DATA,
    Archive,
    difference,
    graph_file,
)

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported

pytest.importorskip("onnx", reason="protobuf comes with it")
ARCHIVE = Archive("models.npz")
AGENT = ARCHIVE.case("agent")
INPUTS = {key.removeprefix("in/"): array for key, array in AGENT.items() if key.startswith("in/")}
FOLDER = DATA / "q_learning"


@pytest.fixture(scope="module")
def saved() -> Imported:
    return import_saved_model(FOLDER, arrays=INPUTS)


def test_a_saved_model_has_the_loss_and_gradients_of_tensorflow(saved: Imported):
    assert not check(saved.diagram)
    done = Session(loads(dumps(saved.diagram))).backward()
    assert difference(done.values[saved.outputs["output_0"]], AGENT["loss"]) <= 1e-5
    for name in ("hidden/kernel", "hidden/bias", "values/kernel"):
        gradient = done.gradients[saved.parameters[name]]
        assert difference(gradient, AGENT[f"gradient/{name}"]) <= 1e-4


def test_functions_and_scopes_are_pages_and_a_function_called_twice_is_one(saved: Imported):
    assert set(saved.diagram.pages) == {"main", "values", "prediction", "target"}
    uses = [b for b in saved.diagram.main.blocks.values() if b.type_name() == "Page"]
    assert [use.page for use in uses].count("values") == 2
    assert saved.parameters["hidden/bias"] == "values/bias"


def test_what_is_not_trained_is_frozen(saved: Imported):
    blocks = saved.diagram.pages["values"].blocks
    assert not blocks["seen"].trainable and blocks["kernel"].trainable


def test_the_stop_is_where_the_model_has_it(saved: Imported):
    cuts = [remark for remark in saved.remarks if remark.kind == "cut"]
    assert [remark.block for remark in cuts] == ["target/StopGradient"]


def test_open_lengths_follow_the_options():
    shapes = {"states": (3, 4), "following": (3, 4), "rewards": (3,), "actions": (3,)}
    made = import_saved_model(FOLDER / "saved_model.pb", ImportOptions(shapes=shapes))
    assert Session(made.diagram).run().values["states.out"].shape == (3, 4)
    made = import_saved_model(FOLDER)
    assert any(r.kind == "specialised" and "'states'" in r.text for r in made.remarks)
    with pytest.raises(FileError, match="no input 'stats'"):
        import_saved_model(FOLDER, ImportOptions(shapes={"stats": (3, 4)}))


def test_constants_of_a_frozen_graph_are_variables_again(tmp_path: Path):
    made = import_graph_def(graph_file(AGENT, tmp_path), arrays=INPUTS)
    done = Session(made.diagram).backward()
    assert difference(done.values[made.outputs["Identity"]], AGENT["loss"]) <= 1e-5
    wanted = {a.shape: a for key, a in AGENT.items() if key.startswith("gradient/")}
    found = {done.gradients[path].shape: done.gradients[path] for path in made.parameters.values()}
    for shape, gradient in wanted.items():
        assert difference(found[shape], gradient) <= 1e-4


@pytest.mark.parametrize("name", ["perceptron", "images"])
def test_a_frozen_keras_model_gives_what_it_gives_in_tensorflow(name: str, tmp_path: Path):
    case = ARCHIVE.case(name)
    made = import_graph_def(graph_file(case, tmp_path), arrays={"x": case["x"]})
    (port,) = made.outputs.values()
    done = Session(made.diagram).backward([port], out_gradients={port: 2 * case["y"]})
    assert difference(done.values[port], case["y"]) <= 1e-5
    gradients = [done.gradients[path] for path in made.parameters.values()]
    for key, wanted in case.items():
        if key.startswith("gradient"):
            near = (g for g in gradients if g is not None and g.shape == wanted.shape)
            assert min(difference(g, wanted) for g in near) <= 1e-4


def test_files_are_recognised_by_content(tmp_path: Path):
    graph = graph_file(AGENT, tmp_path)
    head = graph.read_bytes()[:4096]
    assert is_graph_def(head, graph) and not is_saved_model(head, graph)
    saved = FOLDER / "saved_model.pb"
    assert is_saved_model(saved.read_bytes()[:4096], saved) and is_saved_model(b"", FOLDER)
    assert not is_graph_def(saved.read_bytes()[:4096], saved)
    for other in (b"", b"\x0a", b'{"nodes": []}', b"PK\x03\x04", b"\x08\x07\x12\x04test"):
        assert not is_graph_def(other, graph) and not is_saved_model(other, graph)
    assert not is_saved_model(b"", tmp_path)


def test_inputs_have_numbers_of_their_own_by_default():
    values = Session(import_saved_model(FOLDER).diagram).run().values
    assert np.any(values["states.out"] != values["following.out"])
