"""Numbers inside messages, checked before anything is allocated for them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.errors import FileError
from gradwire.blocks.limits import MAX_CONSTANT
from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.stored import from_bytes, valid_shape

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.importing.tensorflow.messages import Message

STRING, RESOURCE, VARIANT = 7, 20, 21
_DTYPES = {
    1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 9: "int64",
    10: "bool", 17: "uint16", 19: "float16", 22: "uint32", 23: "uint64",
}  # fmt: skip
_FIELDS = {"float32": "floats", "float64": "doubles", "int64": "int64s", "bool": "flags"}
_FIELDS |= {"uint32": "uint32s", "uint64": "uint64s", "float16": "halves"}
_REFERENCE = 100
"""What is added to the number of a dtype for a variable of TensorFlow 1."""


def dtype_of(number: int, where: str) -> str:
    """The name of a dtype. Raises UnsupportedError for one that no value has."""
    plain = number % _REFERENCE
    if plain not in _DTYPES:
        raise UnsupportedError(where, f"no value has TensorFlow's dtype {plain}")
    return _DTYPES[plain]


def shape_of(shape: Message, where: str) -> Shape:
    """The lengths of the axes, -1 where they are open. Raises FileError for ones that can't be."""
    return valid_shape((axis.length for axis in shape.axes), where, least=-1)


def array_of(tensor: Message, where: str) -> Array:
    """The numbers of a tensor. Those that are left out are like the last one.

    Raises FileError where they don't fit the shape, UnsupportedError for dtypes without values.
    """
    dtype = np.dtype(dtype_of(tensor.dtype, where))
    shape = shape_of(tensor.shape, where)
    count = math.prod(shape)
    if any(length < 0 for length in shape) or count > MAX_CONSTANT:
        raise FileError(f"{where} has no size that can be held.", got=str(shape))
    if tensor.content:
        return from_bytes(tensor.content, dtype.name, shape, where)
    given = getattr(tensor, _FIELDS.get(dtype.name, "ints"))
    if len(given) > count:
        raise FileError(f"{where} has more numbers than its shape.", got=str(shape))
    numbers = np.asarray(given, np.uint16 if dtype == np.float16 else None)
    numbers = numbers.view(dtype) if dtype == np.float16 else numbers.astype(dtype)
    filled = np.full(count, numbers[-1] if len(numbers) else 0, dtype)
    filled[: len(numbers)] = numbers
    return filled.reshape(shape)
