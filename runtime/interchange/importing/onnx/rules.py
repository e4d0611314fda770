"""What each ONNX operator is in blocks, a module for each family."""

from gradwire.runtime.interchange.importing.onnx import learning
from gradwire.runtime.interchange.importing.onnx.operators import (
    control,
    convolutions,
    drawing,
    elementwise,
    indexing,
    normalization,
    pooling,
    products,
    quantization,
    recurrent,
    reductions,
    regions,
    resizing,
    shapes,
    signals,
)
from gradwire.runtime.interchange.importing.onnx.operators.node import RULES

FAMILIES = (
    control, convolutions, drawing, elementwise, indexing, learning, normalization, pooling,
    products, quantization, recurrent, reductions, regions, resizing, shapes, signals,
)  # fmt: skip
"""Modules that register rules."""

__all__ = ["FAMILIES", "RULES"]
