"""Small ONNX models as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from onnx import ModelProto

    from gradwire.runtime.interchange.importing.imported import Imported

HEAD = '<ir_version: 10, opset_import: ["" : 21, "own" : 1]>'


def model_of(text: str, **stored: np.ndarray) -> ModelProto:
    """The model with this graph, and functions after it; ``stored`` are its tensors."""
    from onnx import numpy_helper, parser

    model = parser.parse_model(f"{HEAD} {text}")
    model.graph.initializer.extend(
        numpy_helper.from_array(array, name.replace("__", ".")) for name, array in stored.items()
    )
    return model


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(3).standard_normal(shape).astype(np.float32)


def texts(imported: Imported, kind: str) -> list[str]:
    return [remark.text for remark in imported.remarks if remark.kind == kind]
