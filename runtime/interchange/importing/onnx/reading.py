"""Reads a model from its file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gradwire.blocks.errors import FileError
from gradwire.runtime.diagram.files.regular import read_regular
from gradwire.runtime.diagram.files.storage import system_errors
from gradwire.runtime.interchange.importing.wire import require_harmless

if TYPE_CHECKING:
    from onnx import ModelProto

MAX_BYTES = 2 << 30
"""Bytes of a file, the most that protobuf reads."""
MOST = {"messages": 5_000_000, "numbers": 50_000_000, "nodes": 200_000}
"""What a file may have; each message takes about a hundred bytes once it is parsed."""


def read_model(path: Path) -> ModelProto:
    """The model in a file. Raises FileError where there is none."""
    from onnx import ModelProto

    with system_errors(path, "read"):
        data = read_regular(path, MAX_BYTES)
    require_harmless(data, ModelProto.DESCRIPTOR, MOST)
    return parsed(data)


def parsed(data: bytes) -> ModelProto:
    """The model in bytes that are harmless. Raises FileError where there is none."""
    from google.protobuf.message import DecodeError
    from onnx import ModelProto

    model = ModelProto()
    try:
        model.ParseFromString(data)
    except (DecodeError, ValueError, RecursionError) as error:
        raise FileError(
            "The file is damaged, or no ONNX model.", next_step="Save it again."
        ) from error
    if not model.HasField("graph"):
        raise FileError("The file has no graph.", expected="an ONNX model")
    return model
