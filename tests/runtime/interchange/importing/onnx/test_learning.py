"""Operators of ``ai.onnx.ml`` against the reference that onnx ships."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")

from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from gradwire.runtime.engine import Session
from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.onnx.importing import import_model
from tests.runtime.interchange.importing.onnx.models import texts

X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(4, 3)
WEIGHTS = [0.5, -1.0, 2.0, 1.0, 0.25, -0.5, -2.0, 1.5, 0.0]
LINEAR = {"coefficients": WEIGHTS, "intercepts": [0.5, -0.5, 0.25]}


def model(kind: str, x: Any, *outputs: str, **attributes: Any) -> Any:
    node = helper.make_node(kind, ["x"], outputs, domain="ai.onnx.ml", **attributes)
    dtype = helper.np_dtype_to_tensor_dtype(x.dtype)
    given = helper.make_tensor_value_info("x", dtype, x.shape)
    shown = [helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in outputs]
    graph = helper.make_graph([node], "g", [given], shown)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=opsets)


@pytest.mark.parametrize(
    ("kind", "x", "attributes"),
    [
        ("Scaler", X, {"offset": [1.0, 2.0, 3.0], "scale": [0.5, 2.0, 1.0]}),
        ("Scaler", X, {"offset": [1.0], "scale": [0.5]}),
        ("Normalizer", X, {"norm": "L1"}),
        ("Normalizer", X, {"norm": "L2"}),
        ("Normalizer", X, {"norm": "MAX"}),
        ("Binarizer", X, {"threshold": 0.5}),
        (
            "Imputer",
            np.where(X > 1, np.nan, X).astype(np.float32),
            {"imputed_value_floats": [1.0, 2.0, 3.0], "replaced_value_float": float("nan")},
        ),
        ("Imputer", X, {"imputed_value_floats": [7.0], "replaced_value_float": float(X[0, 0])}),
        ("OneHotEncoder", np.array([2, 5, 3]), {"cats_int64s": [3, 2]}),
        ("LinearRegressor", X, {"targets": 3, **LINEAR}),
        ("LinearRegressor", X, {"coefficients": [1.0, 2.0, 3.0], "intercepts": [4.0]}),
    ],
)
def test_values_are_those_of_the_reference(kind: str, x: Any, attributes: dict[str, Any]):
    made = model(kind, x, "y", **attributes)
    (wanted,) = ReferenceEvaluator(made).run(None, {"x": x})
    imported = import_model(made, examples={"x": x})
    found = Session(imported.diagram).run().values[imported.outputs["y"]]
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX"])
def test_a_linear_classifier_has_labels_and_scores(transform: str):
    given = {**LINEAR, "classlabels_ints": [7, 8, 9], "post_transform": transform}
    made = model("LinearClassifier", X, "label", "score", **given)
    wanted = ReferenceEvaluator(made).run(None, {"x": X})
    imported = import_model(made, examples={"x": X})
    assert set(imported.parameters) == {"LinearClassifier.weight", "LinearClassifier.bias"}
    run = Session(imported.diagram).run()
    for name, numbers in zip(("label", "score"), wanted, strict=True):
        found = run.values[imported.outputs[name]]
        np.testing.assert_allclose(found, numbers, rtol=1e-5, atol=1e-6)


def test_labels_that_are_texts_are_numbers_and_a_remark_says_so():
    given = {**LINEAR, "classlabels_strings": ["a", "b", "c"]}
    imported = import_model(model("LinearClassifier", X, "label", "score", **given))
    assert texts(imported, "lost") == ["Labels are numbers, which stand for a, b, c."]


@pytest.mark.parametrize(
    ("kind", "attributes", "why"),
    [
        ("OneHotEncoder", {"cats_strings": ["a"]}, "texts"),
        ("LinearRegressor", {"coefficients": [1.0]}, "1 coefficients"),
        ("LinearRegressor", {"targets": 3, "post_transform": "PROBIT", **LINEAR}, "PROBIT"),
        ("Normalizer", {"norm": "L3"}, "L3"),
    ],
)
def test_what_is_not_known_is_refused(kind: str, attributes: dict[str, Any], why: str):
    with pytest.raises(UnsupportedError, match=why):
        import_model(model(kind, X, "y", **attributes))
