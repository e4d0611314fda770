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

Python scalars are *weak*: they take the dtype of what they meet, unless their kind is higher
(``1.5`` with an integer is float32, ``2`` with a bool is int64). Where a float is needed and an
integer or bool is given (division, exp, mean …), it becomes float32. ``sum`` and ``prod`` of
integers are int64, of unsigned uint64.
"""

from __future__ import annotations

import numpy as np

from blocks.errors import DTypeError
from blocks.values import DTYPES

NUMPY = {name: np.dtype(name) for name in DTYPES}
"""The numpy dtype of each name."""

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
FLOATS = frozenset({"float16", "float32", "float64"})
INTEGERS = frozenset(SIGNED + UNSIGNED)

DEFAULT_FLOAT = "float32"
DEFAULT_INT = "int64"

_RANK = {"bool": 0} | dict.fromkeys(INTEGERS, 1) | dict.fromkeys(FLOATS, 2)


def is_float(dtype: str) -> bool:
    """Whether values of that dtype can have a gradient."""
    return dtype in FLOATS


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


def strong(weak: str) -> str:
    """What a weak scalar becomes where nothing tells it otherwise."""
    return (weak, DEFAULT_INT, DEFAULT_FLOAT)[_RANK[weak]]


def scalar_dtype(scalar: bool | int | float) -> str:
    """The weak dtype of a Python scalar; full precision is kept until it meets something."""
    if isinstance(scalar, bool | np.bool_):
        return "bool"
    return DEFAULT_INT if isinstance(scalar, int | np.integer) else "float64"


def to_float(dtype: str) -> str:
    """``dtype`` if it is a float, else float32."""
    return dtype if dtype in FLOATS else DEFAULT_FLOAT


def to_number(dtype: str) -> str:
    """``dtype``, but int64 for bool."""
    return DEFAULT_INT if dtype == "bool" else dtype
