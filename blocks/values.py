"""Arrays as stored in a diagram: immutable, comparable, and exact in JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic_core import core_schema

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue

DType: TypeAlias = Literal[
    "bool",
    "int8", "int16", "int32", "int64",
    "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64",
]  # fmt: skip
FloatDType: TypeAlias = Literal["float16", "float32", "float64"]

DTYPES: tuple[str, ...] = get_args(DType)
"""Names of the dtypes that values may have."""

_NAMES = {np.dtype(name): name for name in DTYPES}
"""numpy composes the name of a dtype anew whenever it is read."""

_NONFINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_UNSIGNED_ONLY = 2.0**63
_WEAK = {"bool": "bool", "int64": "int64", "float64": "float32"}


Array: TypeAlias = NDArray[Any]
"""An array of any dtype."""
Json: TypeAlias = "Mapping[str, Json] | Sequence[Json] | str | float | bool | None"
"""What JSON can say."""
JsonObject: TypeAlias = "dict[str, Json]"


def dtype_name(array: Array) -> str:
    """The name of an array's dtype."""
    return _NAMES.get(array.dtype) or array.dtype.name


def _plain(data: object) -> object:
    """JSON data with the strings "nan", "inf" and "-inf" converted to numbers."""
    if isinstance(data, str):
        if data not in _NONFINITE:
            raise ValueError(f'{data!r} is not a number; of strings only "nan", "inf", "-inf" are')
        return _NONFINITE[data]
    return [_plain(item) for item in data] if isinstance(data, list | tuple) else data


def _array(data: object) -> Array:
    """A new read-only array; see Tensor for the data it takes."""
    if isinstance(data, dict):
        array = _empty(data)
    elif isinstance(data, list | tuple | str):
        array = _nested(_plain(data))
    else:
        try:
            array = np.array(data)
        except RuntimeError as error:  # PyTorch's, of a tensor that takes gradients
            raise ValueError(str(error).rstrip(".")) from None
    if dtype_name(array) not in DTYPES:
        raise ValueError(f"not an array of numbers or booleans: dtype {array.dtype}")
    array.setflags(write=False)
    return array


def _nested(data: object) -> Array:
    try:
        array = np.array(data)
    except ValueError as error:
        if "inhomogeneous" in str(error):
            raise ValueError("rows of different lengths; an array needs equal rows") from None
        raise
    if not array.size:
        return array.astype(np.float64)
    if array.dtype == np.float64 and np.any(np.abs(array) >= _UNSIGNED_ONLY):
        return _large_integers(data, array)
    return array


def _large_integers(data: object, floats: Array) -> Array:
    """The data as uint64, if it has only integers, which numpy would round to floats."""
    if not all(type(item) is int for item in np.array(data, dtype=object).flat):
        return floats
    try:
        return np.array(data, dtype=np.uint64)
    except OverflowError:
        raise ValueError("integers below 0 and from 2⁶³ on have no dtype in common") from None


def _empty(data: Mapping[str, object]) -> Array:
    shape = data.get("shape")
    if set(data) != {"shape"} or not isinstance(shape, list | tuple) or 0 not in shape:
        raise ValueError('an array is nested lists, or {"shape": …} if it has no elements')
    return np.zeros(shape)


def _jsonable(array: Array) -> Json:
    """Nested lists, with float16 and float32 as their shortest decimals, not as float64 digits."""
    if 0 in array.shape[:-1]:
        return {"shape": list(array.shape)}
    if array.dtype.kind == "f" and array.dtype != np.float64:
        array = array.astype("U32").astype(np.float64)
    numbers: Json = array.tolist()
    if array.dtype.kind != "f" or np.isfinite(array).all():
        return numbers

    def safe(item: Json) -> Json:
        if isinstance(item, list):
            return [safe(i) for i in item]
        return str(item) if isinstance(item, float) and not math.isfinite(item) else item

    return safe(numbers)


class Tensor:
    """An immutable array of numbers or booleans, of any shape and one of ``DTYPES``.

    ``Tensor([[1, 2]])`` is int64, ``Tensor(0.5)`` float64; an array keeps its dtype. Equal
    tensors have equal dtype, shape and bytes (so NaN equals NaN). ``{"shape": [0, 3]}`` is an
    array without elements, whose shape lists can't express. Raises ValueError for ragged lists
    and for anything that is not a number.
    """

    __slots__ = ("array",)
    array: Array

    def __init__(self, data: ArrayLike | Tensor | Mapping[str, object]) -> None:
        array = data.array if isinstance(data, Tensor) else _array(data)
        object.__setattr__(self, "array", array)

    @classmethod
    def adopt(cls, array: Array) -> Tensor:
        """A tensor that has this very array in place of a copy; nobody may write to it any more."""
        if dtype_name(array) not in DTYPES:
            return cls(array)
        array.setflags(write=False)
        tensor = object.__new__(cls)
        object.__setattr__(tensor, "array", array)
        return tensor

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Tensor is immutable")

    def __reduce__(self) -> tuple[type[Tensor], tuple[Array]]:
        """For copy.deepcopy and pickle, which would set its attribute."""
        return Tensor, (self.array,)

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return self.array.shape

    @property
    def dtype(self) -> str:
        """Name of the dtype, one of ``DTYPES``."""
        return dtype_name(self.array)

    def to_json(self) -> Json:
        """Nested lists (a bare number for rank 0), non-finite numbers as strings; see Tensor for
        arrays without elements.
        """
        return _jsonable(self.array)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tensor):
            return NotImplemented
        a, b = self.array, other.array
        return a is b or (a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes())

    def __hash__(self) -> int:
        return hash((self.dtype, self.array.shape, self.array.tobytes()))

    def __repr__(self) -> str:
        if self.array.size <= 8:
            return f"Tensor({self.to_json()!r}, {self.dtype})"
        return f"Tensor(shape={self.shape}, {self.dtype})"

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: object, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls,
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda tensor: tensor.to_json()
            ),
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {
            "description": "A number, a boolean, or nested arrays of them with equal rows; "
            'non-finite numbers as "nan", "inf", "-inf"; without elements its shape.',
            "anyOf": [
                {"type": "number"},
                {"type": "boolean"},
                {"enum": ["nan", "inf", "-inf"]},
                {"type": "array"},
                {
                    "type": "object",
                    "properties": {"shape": {"type": "array", "items": {"type": "integer"}}},
                    "required": ["shape"],
                    "additionalProperties": False,
                },
            ],
        }


def fitted(value: Tensor, dtype: str) -> Tensor:
    """The value converted to ``dtype``.

    Rounding to a narrower float is allowed. Raises ValueError if an integer or boolean dtype would
    change a number, or if a finite number is too large for a float dtype.
    """
    if value.dtype == dtype:
        return value
    with np.errstate(all="ignore"):
        array = value.array.astype(dtype)
    if np.dtype(dtype).kind == "f":
        kept = np.isfinite(array) == np.isfinite(value.array)
    else:
        kept = array == value.array
    if not np.all(kept):
        changed = value.array[~np.asarray(kept)].flat[0]
        raise ValueError(f"{changed} is not representable as {dtype}")
    return Tensor(array)


class PortLiteral:
    """The value of an unwired input port: ``3``, ``[1.0, 2.0]`` or ``{"dtype": …, "value": …}``.

    A bare scalar is *weak*: it takes the dtype of the other operand (``3 * float16`` is float16).
    Lists are float32, int64 or bool unless a dtype is given.
    """

    __slots__ = ("dtype", "tensor", "typed")
    tensor: Tensor
    dtype: str
    typed: bool

    def __init__(self, data: Any, dtype: str | None = None) -> None:
        if isinstance(data, PortLiteral):
            data, dtype = data.tensor, dtype or (data.dtype if data.typed else None)
        elif isinstance(data, dict) and set(data) != {"shape"}:
            if set(data) != {"dtype", "value"}:
                raise ValueError('a typed literal is {"dtype": …, "value": …}')
            data, dtype = data["value"], data["dtype"]
        tensor = Tensor(data)
        if dtype is None and isinstance(data, np.ndarray | np.generic):
            # JSON has three dtypes; an array of another one needs its dtype stated.
            dtype = tensor.dtype if tensor.dtype not in _WEAK else None
        if dtype is not None:
            if dtype not in DTYPES:
                raise ValueError(f"unknown dtype {dtype!r}; one of {', '.join(DTYPES)}")
            tensor = fitted(tensor, dtype)
        object.__setattr__(self, "tensor", tensor)
        object.__setattr__(self, "typed", dtype is not None)
        object.__setattr__(self, "dtype", dtype or _WEAK.get(tensor.dtype, tensor.dtype))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a PortLiteral is immutable")

    def __reduce__(self) -> tuple[type[PortLiteral], tuple[Tensor, str | None]]:
        """For copy.deepcopy and pickle, which would set its attributes."""
        return PortLiteral, (self.tensor, self.dtype if self.typed else None)

    @property
    def weak(self) -> bool:
        """Whether it is a bare scalar, which takes the dtype of the other operand."""
        return not self.typed and not self.tensor.shape

    @property
    def array(self) -> Array:
        """The value in its own dtype; weak scalars keep full precision."""
        return self.tensor.array if self.weak else self.tensor.array.astype(self.dtype)

    def to_json(self) -> Json:
        """The value alone, or with its dtype if one was given."""
        value = self.tensor.to_json()
        return {"dtype": self.dtype, "value": value} if self.typed else value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PortLiteral):
            return NotImplemented
        return (self.tensor, self.dtype, self.typed) == (other.tensor, other.dtype, other.typed)

    def __hash__(self) -> int:
        return hash((self.tensor, self.dtype, self.typed))

    def __repr__(self) -> str:
        return f"PortLiteral({self.to_json()!r})"

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: object, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(cls)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        value = Tensor.__get_pydantic_json_schema__(schema, handler)
        typed = {
            "type": "object",
            "properties": {"dtype": {"enum": list(DTYPES)}, "value": {"anyOf": value["anyOf"]}},
            "required": ["dtype", "value"],
            "additionalProperties": False,
        }
        return value | {"anyOf": [*value["anyOf"], typed]}
