"""What each ONNX operator is in blocks, a module for each family."""

from runtime.interchange.importing.onnx.operators import (
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

FAMILIES = (
    control, convolutions, drawing, elementwise, indexing, normalization, pooling, products,
    quantization, recurrent, reductions, regions, resizing, shapes, signals,
)  # fmt: skip
"""Modules that register rules."""
