"""Dtypes and their promotion, one table for every engine.

Kinds are ordered bool < integer < float, and the higher kind wins *without widening*:
``int64 + float16`` is float16 (as in JAX and PyTorch; NumPy would say float64).

| both …            | result                                                          |
|-------------------|-----------------------------------------------------------------|
| bool              | bool (int64 in arithmetic: a boolean counts as 0 or 1)          |
| signed            | the wider                                                       |
| unsigned          | the wider                                                       |
| unsigned, signed  | the narrowest signed that holds both; uint64: an error          |
| float             | the wider                                                       |

Python scalars are *weak*: they take the dtype of the other operand, unless their kind is higher
(``1.5`` with an integer is float32, ``2`` with a bool is int64). An integer out of the range
of its dtype is an error; a number too large for a float is infinite. Where a float is needed and an
integer or bool is given (division, exp, mean …), it becomes float32. ``sum`` and ``prod`` of
integers are int64; those of uint64 stay uint64.
"""

from __future__ import annotations

from functools import lru_cache, reduce
from typing import TYPE_CHECKING, TypeGuard

import numpy as np

from gradwire.blocks.errors import DTypeError
from gradwire.blocks.values import DTYPES, dtype_name

if TYPE_CHECKING:
    from gradwire.blocks.values import Array

NUMPY = {name: np.dtype(name) for name in DTYPES}
"""The numpy dtype of each name."""

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
FLOATS = frozenset({"float16", "float32", "float64"})
INTEGERS = frozenset(SIGNED + UNSIGNED)

DEFAULT_FLOAT = "float32"
DEFAULT_INT = "int64"

LARGEST_EXACT = {name: 2 ** (int(np.finfo(name).nmant) + 1) for name in FLOATS}
"""By float dtype, the integer up to which (of either sign) it holds every integer."""

_LIMITS = {name: (int(np.iinfo(name).min), int(np.iinfo(name).max)) for name in INTEGERS}
_LIMITS["bool"] = (0, 1)

_RANK = {"bool": 0} | dict.fromkeys(INTEGERS, 1) | dict.fromkeys(FLOATS, 2)


def is_float(dtype: str) -> bool:
    """Whether values of this dtype can have a gradient."""
    return dtype in FLOATS


def checked_dtype(dtype: str) -> str:
    """``dtype``; raises DTypeError unless it is the name of one."""
    if dtype not in NUMPY:
        raise DTypeError(f"There is no dtype {dtype!r}.", expected="one of " + ", ".join(DTYPES))
    return dtype


def _build_table() -> dict[tuple[str, str], str]:
    table: dict[tuple[str, str], str] = {}
    for a in DTYPES:
        for b in DTYPES:
            if _RANK[a] != _RANK[b]:
                table[a, b] = a if _RANK[a] > _RANK[b] else b
            elif (a in UNSIGNED) == (b in UNSIGNED):
                table[a, b] = a if NUMPY[a].itemsize >= NUMPY[b].itemsize else b
            else:
                signed, unsigned = (a, b) if a in SIGNED else (b, a)
                bits = max(NUMPY[signed].itemsize, 2 * NUMPY[unsigned].itemsize) * 8
                if bits <= 64:
                    table[a, b] = f"int{bits}"
    return table


PROMOTION = _build_table()
"""Result by pair of dtypes; a pair that is missing is an error."""


def promote(a: str, b: str) -> str:
    """The dtype of a result of ``a`` and ``b``; raises DTypeError for uint64 with signed."""
    try:
        return PROMOTION[a, b]
    except KeyError:
        raise DTypeError(
            f"{a} and {b} have no common dtype that holds both.",
            next_step="Cast one of them.",
        ) from None


def promote_weak(dtype: str, weak: str) -> str:
    """The dtype of a result of a value of ``dtype`` and a weak scalar of dtype ``weak``."""
    if _RANK[weak] <= _RANK[dtype]:
        return dtype
    return strong(weak)


def common_dtype(*kinds: tuple[str, bool]) -> tuple[str, bool]:
    """The dtype of a result of operands of (dtype, weak), and whether the result is weak too.

    Raises DTypeError for uint64 with signed, unless a float decides.
    """
    firm = sorted((dtype for dtype, weak in kinds if not weak), key=_RANK.__getitem__, reverse=True)
    weak = reduce(promote, (dtype for dtype, weak in kinds if weak), "bool")
    if not firm:
        return weak, True
    return promote_weak(reduce(promote, firm), weak), False


def strong(weak: str) -> str:
    """The dtype that a weak scalar has on its own."""
    return (weak, DEFAULT_INT, DEFAULT_FLOAT)[_RANK[weak]]


def is_scalar(x: object) -> TypeGuard[bool | int | float]:
    """Whether ``x`` is a Python number or boolean; numpy scalars have a dtype and are not."""
    return isinstance(x, bool | int | float) and not isinstance(x, np.generic)


def scalar_dtype(scalar: bool | int | float) -> str:
    """The weak dtype of a Python scalar, which keeps full precision until it meets a value."""
    if isinstance(scalar, bool):
        return "bool"
    return DEFAULT_INT if isinstance(scalar, int) else "float64"


def to_float(dtype: str) -> str:
    """``dtype`` if it is a float, else float32."""
    return dtype if dtype in FLOATS else DEFAULT_FLOAT


def to_number(dtype: str) -> str:
    """``dtype``, but int64 for bool."""
    return DEFAULT_INT if dtype == "bool" else dtype


def rounds(integer: str, dtype: str) -> bool:
    """Whether some integers of a dtype are rounded in the float ``dtype``."""
    return integer in INTEGERS and dtype in FLOATS and _LIMITS[integer][1] > LARGEST_EXACT[dtype]


def require_fit(x: bool | int | float, dtype: str) -> None:
    """Raise DTypeError for a number that an integer or boolean dtype can't hold."""
    if dtype not in _LIMITS:
        return
    low, high = _LIMITS[dtype]
    if not (low <= x <= high and x == int(x)):
        raise DTypeError(f"{x} doesn't fit {dtype}.", expected=f"an integer from {low} to {high}")


def holders(x: int) -> frozenset[str]:
    """The dtypes that hold an integer exactly: those of integers, and floats."""
    integers = {name for name in INTEGERS if _LIMITS[name][0] <= x <= _LIMITS[name][1]}
    digits = abs(x) // (x & -x or 1)
    return frozenset(
        integers
        | {
            name
            for name in FLOATS
            if digits <= LARGEST_EXACT[name] and abs(x) <= int(np.finfo(name).max)
        }
    )


def array_of(x: object, dtype: str | None = None) -> Array:
    """A read-only copy of data in ``dtype``; by default in its own, float32 for lists of floats.

    Raises DTypeError unless the data are numbers or booleans, and for a Python scalar that an
    integer or boolean dtype can't hold.
    """
    if x.__class__ is int:
        return _integer_array(x, dtype)
    return _array_of(x, dtype)


@lru_cache(maxsize=1024)
def _integer_array(x: int, dtype: str | None) -> Array:
    """``array_of``, of which derivatives of many values share one."""
    return _array_of(x, dtype)


def _array_of(x: object, dtype: str | None) -> Array:
    if dtype is not None and is_scalar(x):
        require_fit(x, dtype)
    try:
        array = np.array(float(x) if dtype in FLOATS and is_scalar(x) else x)
    except (ValueError, OverflowError) as error:
        raise DTypeError(f"This is not an array: {error}.", got=repr(x)[:60]) from None
    if dtype_name(array) not in NUMPY:
        raise DTypeError(
            f"An array of {array.dtype} can't be traced.", expected="one of " + ", ".join(DTYPES)
        )
    if dtype is None and isinstance(x, list | tuple) and array.dtype == np.float64:
        dtype = DEFAULT_FLOAT
    if dtype is not None and array.dtype != (wanted := NUMPY[checked_dtype(dtype)]):
        with np.errstate(all="ignore"):
            array = array.astype(wanted)
    array.setflags(write=False)
    return array
