"""Single layers in files written here: values against numpy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradwire.runtime.diagram.pages import all_blocks
from gradwire.runtime.engine import Session
from gradwire.runtime.interchange.importing.keras.importer import import_keras
from gradwire.runtime.interchange.importing.keras.model import snake_case
from gradwire.runtime.interchange.importing.options import ImportOptions
from tests.runtime.interchange.importing.keras.fixtures import layer, save, sequential

pytest.importorskip("h5py")
X = np.linspace(-2, 2, 24, dtype=np.float32).reshape(2, 3, 4)


def value(folder: Path, made: dict[str, Any], x: Any, *weights: Any) -> Any:
    """What a model of one layer gives."""

    def fill(file: Any) -> None:
        place = f"layers/{snake_case(made['class_name'])}/vars"
        for number, array in enumerate(weights):
            file[f"{place}/{number}"] = array

    document = sequential(made, shape=(None, *x.shape[1:]))
    found = import_keras(save(folder, document, fill), arrays={"x": x})
    (port,) = found.outputs.values()
    return Session(found.diagram).run().values[port]


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (layer("Flatten", "f"), X.reshape(2, 12)),
        (layer("Reshape", "r", target_shape=[-1, 2]), X.reshape(2, 6, 2)),
        (layer("Permute", "p", dims=[2, 1]), X.transpose(0, 2, 1)),
        (layer("ZeroPadding1D", "z", padding=[1, 2]), np.pad(X, ((0, 0), (1, 2), (0, 0)))),
        (layer("Cropping1D", "c", cropping=[1, 0]), X[:, 1:]),
        (layer("GlobalMaxPooling1D", "g"), X.max(1)),
        (layer("GlobalAveragePooling1D", "g", keepdims=True), X.mean(1, keepdims=True)),
        (
            layer("ReLU", "r", max_value=1.0, negative_slope=0.5),
            np.minimum(np.where(X > 0, X, X / 2), 1),
        ),
        (layer("LeakyReLU", "l", negative_slope=0.1), np.where(X > 0, X, X * 0.1)),
        (layer("Activation", "a", activation="relu6"), np.clip(X, 0, 6)),
        (layer("Activation", "a", activation="softsign"), X / (1 + np.abs(X))),
        (layer("Activation", "a", activation="hard_sigmoid"), np.clip(X + 3, 0, 6) / 6),
        (layer("Activation", "a", activation="linear"), X),
        (layer("Dropout", "d", rate=0.9), X),
        (layer("Rescaling", "s", scale=2.0, offset=-1.0), 2 * X - 1),
        (layer("Rescaling", "s", scale=[1.0, 2.0, 3.0, 4.0], offset=0.0), X * [1, 2, 3, 4]),
        (
            layer("Normalization", "n", axis=[-1], mean=[1.0, 2.0, 3.0, 4.0], variance=[4.0]),
            (X - [1, 2, 3, 4]) / 2,
        ),
        (layer("Normalization", "n", axis=[], mean=3.0, variance=4.0, invert=True), X * 2 + 3),
        (layer("RandomFlip", "f", mode="horizontal"), X),
        (layer("Softmax", "s", axis=1), np.exp(X) / np.exp(X).sum(1, keepdims=True)),
    ],
)  # fmt: skip
def test_a_layer_without_weights(tmp_path: Path, made: dict[str, Any], expected: Any):
    np.testing.assert_allclose(value(tmp_path, made, X), expected, rtol=1e-5, atol=1e-6)


def test_layers_with_weights(tmp_path: Path):
    kernel, bias = np.arange(8.0, dtype=np.float32).reshape(4, 2), np.ones(2, np.float32)
    dense = layer("Dense", "d", units=2, activation="linear")
    np.testing.assert_allclose(
        value(tmp_path, dense, X, kernel, bias), X @ kernel + bias, rtol=1e-5
    )
    norm = layer("LayerNormalization", "n", axis=[-1], epsilon=0.001, center=False)
    scale = np.array([1, 2, 3, 4], np.float32)
    centred = X - X.mean(-1, keepdims=True)
    expected = centred / np.sqrt(X.var(-1, keepdims=True) + 0.001) * scale
    np.testing.assert_allclose(value(tmp_path, norm, X, scale), expected, rtol=1e-4)


def test_normalization_by_what_it_has_learned(tmp_path: Path):
    made, (mean, variance) = layer("Normalization", "n", axis=[1]), np.ones((2, 3), np.float32)
    mean, variance = mean * [1, 2, 3], variance * [4, 9, 0]
    expected = (X - mean[:, None]) / np.maximum(np.sqrt(variance), 1e-7)[:, None]
    found = value(tmp_path, made, X, mean, variance, np.array(7))
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def of_convnext(kind: str, **config: Any) -> dict[str, Any]:
    own = {"module": "keras.src.applications.convnext", "registered_name": kind}
    return {**layer(kind, "own", **config), **own}


def test_a_layer_scale_is_a_parameter(tmp_path: Path):
    made = of_convnext("LayerScale", init_values=1e-6, projection_dim=4)
    gamma = np.array([1, 2, 3, 4], np.float32)
    np.testing.assert_allclose(value(tmp_path, made, X, gamma), X * gamma)


@pytest.mark.parametrize(
    ("made", "shape"),
    [
        (of_convnext("StochasticDepth", drop_path_rate=0.5), (2, 1, 1)),
        (layer("Dropout", "d", rate=0.5, noise_shape=[None, 1, 1]), (2, 1, 1)),
        (layer("SpatialDropout1D", "d", rate=0.5), (2, 1, 4)),
        (layer("Dropout", "d", rate=0.5), (2, 3, 4)),
    ],
)
def test_what_is_dropped_together_in_training(tmp_path: Path, made: dict[str, Any], shape: Any):
    path = save(tmp_path, sequential(made, shape=(None, 3, 4)))
    (used, trained) = (
        import_keras(path, ImportOptions(training=training), {"x": X}) for training in (False, True)
    )
    (port,) = used.outputs.values()
    np.testing.assert_array_equal(Session(used.diagram).run().values[port], X)
    run = Session(trained.diagram).run()
    (dropped,) = (
        path for path, block in all_blocks(trained.diagram) if block.type_name() == "Dropout"
    )
    factors = run.values[dropped.port("out")] / (X if shape == X.shape else 1)
    assert factors.shape == shape and set(factors.ravel()) <= {0, 2}
    np.testing.assert_allclose(run.values[port], X * factors)


def test_a_gru_that_resets_before_the_product(tmp_path: Path):
    rng = np.random.default_rng(0)
    kernel, recurrent = (rng.standard_normal((n, 6)).astype(np.float32) for n in (4, 2))
    bias = rng.standard_normal(6).astype(np.float32)
    made = layer("GRU", "g", units=2, reset_after=False)

    def sigmoid(z: Any) -> Any:
        return 1 / (1 + np.exp(-z))

    h = np.zeros((2, 2), np.float32)
    for x in X.transpose(1, 0, 2):
        own = x @ kernel + bias
        z, r = (
            sigmoid(own[:, :2] + h @ recurrent[:, :2]),
            sigmoid(own[:, 2:4] + h @ recurrent[:, 2:4]),
        )
        h = z * h + (1 - z) * np.tanh(own[:, 4:] + (r * h) @ recurrent[:, 4:])

    def fill(file: Any) -> None:
        for number, array in enumerate((kernel, recurrent, bias)):
            file[f"layers/gru/cell/vars/{number}"] = array

    path = save(tmp_path, sequential(made, shape=(None, 3, 4)), fill)
    found = import_keras(path, arrays={"x": X})
    got = Session(found.diagram).run().values[found.outputs["g"]]
    np.testing.assert_allclose(got, h, rtol=1e-4)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("Conv2DTranspose", "conv2d_transpose"), ("PReLU", "p_re_lu"), ("LSTM", "lstm"),
     ("MultiHeadAttention", "multi_head_attention"), ("SimpleRNN", "simple_rnn")],
)  # fmt: skip
def test_names_of_classes_in_the_file_of_weights(kind: str, expected: str):
    assert snake_case(kind) == expected


def operation(kind: str, name: str, *arguments: Any) -> dict[str, Any]:
    return {
        "module": "keras.src.ops.numpy", "class_name": kind, "config": {"name": name},
        "registered_name": None, "name": name,
        "inbound_nodes": [{"args": list(arguments), "kwargs": {}}],
    }  # fmt: skip


def test_functions_between_layers_and_their_stops(tmp_path: Path):
    def entry(name: str) -> dict[str, Any]:
        return {"class_name": "__keras_tensor__", "config": {"keras_history": [name, 0, 0]}}

    first = {
        **layer("InputLayer", "x", batch_shape=[2, 3, 4], dtype="float32"),
        "inbound_nodes": [],
    }
    layers = [
        first,
        operation("Multiply", "double", entry("x"), 2.0),
        operation("StopGradient", "stop", entry("double")),
        operation("Add", "sum", entry("stop"), entry("x")),
    ]
    config = {
        "name": "m",
        "layers": layers,
        "input_layers": [["x", 0, 0]],
        "output_layers": [["sum", 0, 0]],
    }
    document = {**layer("Functional", "m"), "config": config}
    found = import_keras(save(tmp_path, document), arrays={"x": X})
    np.testing.assert_allclose(Session(found.diagram).run().values[found.outputs["sum"]], 3 * X)
    assert [(r.kind, r.block) for r in found.remarks if r.kind == "cut"] == [("cut", "stop")]
