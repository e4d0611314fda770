"""What each ONNX operator is in blocks, a module for each family."""

from gradwire.runtime.interchange.importing.onnx.operators import (
    arithmetic,
    control,
    images,
    learning,
    quantization,
    recurrent,
    shapes,
    signals,
    windows,
)
from gradwire.runtime.interchange.importing.onnx.operators.node import RULES

FAMILIES = (
    arithmetic, control, images, learning, quantization, recurrent, shapes, signals, windows,
)  # fmt: skip
"""Modules that register rules."""

__all__ = ["FAMILIES", "RULES"]
