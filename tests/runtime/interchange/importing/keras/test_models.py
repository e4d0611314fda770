"""Models that Keras saved: losses, gradients and what else they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gradwire.runtime.diagram import check, dumps, loads
from gradwire.runtime.engine import Session
from gradwire.runtime.interchange.importing.keras.importer import import_keras
from gradwire.runtime.interchange.importing.keras.recognition import is_keras
from gradwire.runtime.interchange.importing.options import ImportOptions
from tests.runtime.interchange.importing.keras.fixtures import (
    INPUTS,
    closest,
    given,
    gradients,
    imported,
)
from tests.runtime.interchange.importing.tensorflow.fixtures import DATA, Archive, difference

pytest.importorskip("h5py")
ARCHIVE = Archive("keras.npz")


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("name", INPUTS)
def test_a_model_has_the_loss_and_gradients_of_keras(name: str):
    case, made = ARCHIVE.case(name), imported(name)
    assert not check(made.diagram)
    done = Session(loads(dumps(made.diagram))).backward()
    assert difference(done.values[made.outputs["loss"]], case["loss"]) <= 1e-5
    (shown,) = (port for output, port in made.outputs.items() if output != "loss")
    assert difference(done.values[shown], case["y"]) <= 1e-5
    for parameter, wanted in gradients(case).items():
        gradient = done.gradients[made.parameters[parameter]]
        assert gradient is not None and closest(gradient, wanted) <= 1e-4, parameter


def test_what_keras_does_not_train_is_frozen():
    made = imported("perceptron")
    done = Session(made.diagram).backward()
    fixed = {name for name, path in made.parameters.items() if done.gradients.get(path) is None}
    assert fixed == {
        "frozen/kernel", "frozen/bias", "batch_normalization/moving_mean",
        "batch_normalization/moving_variance",
    }  # fmt: skip


def test_layers_are_pages_or_blocks_called_like_them():
    diagram = imported("images").diagram
    blocks = diagram.main.blocks
    assert blocks["scores"].type_name() == "Linear" and "stem" in diagram.pages
    assert blocks["sum"].type_name() == "Add" and blocks["max_pooling2d"].type_name() == "MaxPool2D"


def test_recurrent_layers_are_scans():
    diagram = imported("words").diagram
    scans = [
        b
        for page in diagram.pages.values()
        for b in page.blocks.values()
        if b.type_name() == "Scan"
    ]
    assert len(scans) == 5 and all(scan.steps == 7 for scan in scans)


def test_a_shared_layer_keeps_one_set_of_variables():
    made = imported("attention")
    assert [name for name in made.parameters if name.startswith("norm/")] == [
        "norm/gamma",
        "norm/beta",
    ]
    assert {"norm", "norm_2"} <= set(made.diagram.main.blocks)


@pytest.mark.parametrize(
    ("name", "kind", "lr"),
    [("perceptron", "adam", 0.02), ("images", "sgd", 0.1), ("words", "rmsprop", 1e-3),
     ("attention", "adamw", 1e-3)],
)  # fmt: skip
def test_the_optimiser_is_the_recipe(name: str, kind: str, lr: float):
    (rule,) = imported(name).diagram.training.optimisers
    assert (rule.method.kind, rule.method.lr) == (kind, pytest.approx(lr))


def test_in_training_statistics_are_those_of_the_batch():
    case = ARCHIVE.case("perceptron")
    options = ImportOptions(training=True)
    made = import_keras(DATA / "perceptron.keras", options, given("perceptron", case))
    blocks = made.diagram.main.blocks
    assert blocks["batch_normalization"].mode == "batch" and blocks["dropout"].mode == "train"
    assert any("running statistics" in remark.text for remark in made.remarks)


def test_the_batch_follows_the_options():
    options = ImportOptions(shapes={"picture": (3, 12, 12, 3)})
    made = import_keras(DATA / "images.keras", options)
    values = Session(made.diagram).run().values
    assert values["picture.out"].shape[0] == 3 and np.all(values["target.out"] == 0)


def test_files_are_recognised_by_content(tmp_path: Path):
    path = DATA / "words.keras"
    assert is_keras(path.read_bytes()[:100], path)
    other = tmp_path / "other.zip"
    other.write_bytes(b"PK\x03\x04 and nothing else")
    assert not is_keras(other.read_bytes(), other) and not is_keras(b"{}", other)
