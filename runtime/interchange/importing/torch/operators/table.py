"""The table itself: functions by the names of aten operators, and what their arguments mean.

A row takes the operator's arguments as its schema orders them, and the stage before them where no
tensor may be among these: ``with_stage``. Tensors are staged values, dtypes the names of ours;
devices, layouts, formats of memory and generators are None. An overload of its own, ``max.dim``,
comes before the operator, ``max``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, TypeVar

import numpy as np

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.staged import Staged

Number: TypeAlias = "bool | int | float"
Operand: TypeAlias = "Staged | bool | int | float"
Result: TypeAlias = "Staged | Sequence[Staged | None] | None"
"""None among several is a result that no block can express, which is refused if it is used."""
Operator: TypeAlias = Callable[..., Result]

_Function = TypeVar("_Function", bound=Operator)

_TABLE: dict[str, Operator] = {}
BFLOAT16 = 13
DTYPES = {
    1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "float16", 7: "float32",
    8: "float64", 12: "bool", BFLOAT16: "float32", 28: "uint16", 34: "uint32", 35: "uint64",
}  # fmt: skip
"""The dtypes by PyTorch's numbers in files; bfloat16 is computed with its range, in float32."""
_KINDS = {"b": 0, "i": 1, "u": 1, "f": 2}


def operator(*names: str, with_stage: bool = False) -> Callable[[_Function], _Function]:
    """Enter a function into the table under the names of the operators that it adds."""

    def entered(function: _Function) -> _Function:
        enter({" ".join(names): function}, with_stage)
        return function

    return entered


def enter(rows: Mapping[str, Operator], with_stage: bool = False) -> None:
    """Enter functions into the table by the names, one or several, of what they add."""
    for names, row in rows.items():
        for name in names.split():
            assert name not in _TABLE, name
            _TABLE[name] = row if with_stage else _without_stage(row)


def find(name: str) -> Operator | None:
    """The row of an operator, ``add.Tensor``, as one that takes the stage; None for no row."""
    return _TABLE.get(name) or _TABLE.get(name.partition(".")[0])


def _without_stage(row: Operator) -> Operator:
    return lambda _, *args, **more: row(*args, **more)


def of_pair(function: Operator) -> Operator:
    """The row of a meaning of two operands, see ``pair``."""
    return lambda a, b, *args, **more: function(*pair(a, b), *args, **more)


def kind_of(dtype: str) -> int:
    """0 for booleans, 1 for integers, 2 for floats: the higher kind wins."""
    return _KINDS[np.dtype(dtype).kind]


def dtype_of(number: Number) -> str:
    """The dtype of a number of Python's."""
    return "bool" if isinstance(number, bool) else "int64" if isinstance(number, int) else "float32"


def like(number: Operand, x: Staged) -> Staged:
    """A number as PyTorch takes it beside ``x``: in its dtype, unless its own kind is higher."""
    if isinstance(number, Staged):
        return number
    own = dtype_of(number)
    return x.stage.constant(
        np.asarray(number, x.dtype if kind_of(own) <= kind_of(x.dtype) else own)
    )


def pair(a: Operand, b: Operand) -> tuple[Staged, Staged]:
    """Two operands as values, where a tensor without axes gives way to one with them."""
    reference = a if isinstance(a, Staged) else b
    if not isinstance(reference, Staged):
        raise UnsupportedError("arithmetic", "both operands are plain numbers")
    stage, a, b = reference.stage, like(a, reference), like(b, reference)
    if a.ndim and not b.ndim and kind_of(b.dtype) <= kind_of(a.dtype):
        b = stage.cast(b, a.dtype)
    elif b.ndim and not a.ndim and kind_of(a.dtype) <= kind_of(b.dtype):
        a = stage.cast(a, b.dtype)
    return a, b


def axes(dim: int | Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    """Axes counted from 0; none given means all."""
    if dim is None or (not isinstance(dim, int) and not len(dim)):
        return tuple(range(ndim))
    several = (dim,) if isinstance(dim, int) else dim
    return tuple(axis % ndim if ndim else 0 for axis in several)


def pairs(values: int | Sequence[int], count: int) -> tuple[int, ...]:
    """One number for each of ``count`` axes."""
    given = (values,) if isinstance(values, int) else tuple(values)
    return given * count if len(given) == 1 else given
