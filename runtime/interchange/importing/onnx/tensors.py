"""Numbers stored in a model or beside it, checked before anything is allocated for them."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.errors import FileError
from gradwire.runtime.diagram.files.regular import open_regular
from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.stored import (
    from_bytes,
    require_size,
    valid_shape,
)

if TYPE_CHECKING:
    from onnx import TensorProto

    from gradwire.blocks.block import Shape
    from gradwire.blocks.values import Array

DTYPES = {
    1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64",
    9: "bool", 10: "float16", 11: "float64", 12: "uint32", 13: "uint64",
}  # fmt: skip
"""Names of dtypes by the number that ONNX gives them."""
CODES = {name: code for code, name in DTYPES.items()}
EXTERNAL = 1
"""The data location of a tensor whose numbers lie in another file."""
_FIELDS = {"float32": "float_data", "float64": "double_data", "int64": "int64_data"}
_FIELDS |= dict.fromkeys(("uint32", "uint64"), "uint64_data")


def array_of(tensor: TensorProto, folder: Path | None = None) -> Array:
    """The numbers of a tensor. ``folder`` is that of the model, for numbers in other files.

    Raises UnsupportedError for dtypes that no value has, FileError where the data don't fit.
    """
    dtype, where = DTYPES.get(tensor.data_type), f"The tensor {tensor.name!r}"
    if dtype is None:
        why = f"there are no values of dtype {dtype_name(tensor.data_type)}"
        raise UnsupportedError(where, why)
    shape = valid_shape(tensor.dims, where)
    if tensor.data_location == EXTERNAL:
        raw = _external(tensor, folder, shape, np.dtype(dtype).itemsize)
    elif tensor.HasField("raw_data"):
        raw = tensor.raw_data
    else:
        return _typed(tensor, dtype, shape)
    return from_bytes(raw, dtype, shape, where)


def dtype_name(code: int) -> str:
    """The name of an ONNX element type."""
    from onnx import TensorProto

    known = {value: key for key, value in TensorProto.DataType.items()}
    return str(known.get(code, code)).lower()


def _typed(tensor: TensorProto, dtype: str, shape: tuple[int, ...]) -> Array:
    """Numbers in the field of their dtype; short ones are bits in that of int32."""
    stored = getattr(tensor, _FIELDS.get(dtype, "int32_data"))
    require_size(f"The tensor {tensor.name!r}", shape, len(stored), unit="numbers")
    if dtype == "float16":
        bits = np.asarray(stored, np.int32).astype(np.uint16)
        return bits.view(np.float16).reshape(shape)
    wide = np.asarray(stored, np.int32 if dtype not in _FIELDS else None)
    return wide.astype(dtype).reshape(shape)


def _external(tensor: TensorProto, folder: Path | None, shape: Shape, each: int) -> bytes:
    """The bytes of a tensor in a file inside the model's folder, links followed."""
    where = {entry.key: entry.value for entry in tensor.external_data}
    location = where.get("location", "")
    if folder is None:
        raise FileError(
            f"The data of the tensor {tensor.name!r} lie in a file that is not at hand."
        )
    offset = _natural(where.get("offset", "0"), tensor.name)
    length = _natural(where.get("length", str(math.prod(shape) * each)), tensor.name)
    require_size(f"The tensor {tensor.name!r}", shape, length, each)
    try:
        with open_regular(folder / location, folder) as file:
            if os.fstat(file.fileno()).st_size < offset + length:
                raise FileError(f"It ends before the data of the tensor {tensor.name!r} do.")
            file.seek(offset)
            return file.read(length)
    except (OSError, ValueError, FileError) as error:
        why = error.what if isinstance(error, FileError) else f"{error}."
        raise FileError(
            f"The data of the tensor {tensor.name!r} lie in no file of the model's folder that can "
            f"be read: {why}",
            got=repr(location[:200]),
            next_step="Put the file beside the model.",
        ) from error


def _natural(text: str, tensor: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise FileError(f"The place of the data of the tensor {tensor!r} is no number.")
    return int(text)
