"""How NumPy writes each primitive."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.export.code import (
    Code,
    axes_text,
    is_nothing,
    nested,
    number_text,
    shape_text,
    slices_text,
)
from gradwire.runtime.interchange.export.loops import python_loop
from gradwire.runtime.interchange.export.rows import (
    ExportTarget,
    SpelledRow,
    call,
    reshape,
    transpose,
)
from gradwire.runtime.interchange.export.systems.numpy_helpers import HELPERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value


def dtype_text(dtype: str) -> str:
    """A dtype by NumPy's name for it."""
    return "np.bool_" if dtype == "bool" else f"np.{dtype}"


def _axes(value: Value) -> str:
    axes: tuple[int, ...] = value.attributes["axes"]
    return axes_text(axes)


def _sum(value: Value, a: Sequence[Code]) -> str:
    if value.dtype == "float16":  # which loses whole elements beyond 2048
        total = f"{a[0]:p}.sum(axis={_axes(value)}, dtype=np.float32, keepdims=True)"
        return f"{total}.astype(np.float16)"
    return f"{a[0]:p}.sum(axis={_axes(value)}, keepdims=True)"


def _cumulative(value: Value, a: Sequence[Code]) -> str:
    axis = value.attributes["axis"]
    if value.dtype == "float16":
        return f"{a[0]:p}.cumsum(axis={axis}, dtype=np.float32).astype(np.float16)"
    return f"{a[0]:p}.cumsum(axis={axis})"


def _einsum(value: Value, a: Sequence[Code]) -> str:
    terms = f"{','.join(value.attributes['terms'])}->{value.attributes['output']}"
    return f'np.einsum("{terms}", {", ".join(map(str_of, a))}, optimize=True)'


def str_of(code: Code) -> str:
    """The text of an expression."""
    return code.text


def _embed(value: Value, a: Sequence[Code]) -> str:
    how = value.attributes
    index, fill = slices_text(how["index"]), how["fill"]
    shape = shape_text(how["shape"])
    return (
        f"_embed({a[0]}, {shape}, {index})"
        if is_nothing(np.asarray(fill))
        else (f"_embed({a[0]}, {shape}, {index}, {_plain(fill)})")
    )


def _plain(number: float) -> str:
    return number_text(np.asarray(number))


def _divided(name: str, helper: str, operator: str) -> SpelledRow:
    def write(value: Value, a: Sequence[Code]) -> str:
        if value.dtype.startswith("float"):
            return f"np.{name}({a[0]}, {a[1]})"
        return f"{helper}({a[0]}, {a[1]})"

    return SpelledRow(write)


def _along(write: str) -> SpelledRow:
    def written(value: Value, a: Sequence[Code]) -> str:
        return f"_along_axis({write}, {a[0]}, {a[1]}, {a[2]}, axis={value.attributes['axis']})"

    return SpelledRow(written)


STOPS = "a stop: no gradient goes back from here"

ROWS = {
    "reshape": reshape(", keepdims=True)"),
    "floor_divide": _divided("floor_divide", "_quotient", "//"),
    "remainder": _divided("remainder", "_remainder", "%"),
    "sum": SpelledRow(_sum),
    "cumulative_sum": SpelledRow(_cumulative),
    "permute_dims": transpose("transpose"),
    "embed": SpelledRow(_embed),
    "set_along_axis": _along("np.ndarray.__setitem__"),
    "multiply_along_axis": _along("np.multiply.at"),
    "maximum_along_axis": _along("np.maximum.at"),
    "minimum_along_axis": _along("np.minimum.at"),
    "einsum": SpelledRow(_einsum),
    "stop_gradient": call("{0}", remark=STOPS),
    "surrogate": call("{0}", remark="the gradient goes back to the other input instead"),
    "clip_gradient": call("{0}", remark="the gradient is limited on its way back"),
    "loss_head": call("{0}", remark="a loss: the backward pass begins here"),
}
"""What takes more than an expression."""


def _array(array: Array) -> str:
    return f"np.array({nested(array)}, {dtype_text(str(array.dtype))})"


def _full(shape: tuple[int, ...], number: Array) -> str:
    dtype = dtype_text(str(number.dtype))
    if is_nothing(number):
        return f"np.zeros({shape_text(shape)}, {dtype})"
    if number == 1:
        return f"np.ones({shape_text(shape)}, {dtype})"
    return f"np.full({shape_text(shape)}, {number_text(number)}, {dtype})"


NUMPY = ExportTarget(
    "numpy",
    "NumPy",
    ROWS,
    HELPERS,
    dtype=dtype_text,
    number=lambda array: f"{dtype_text(str(array.dtype))}({number_text(array)})",
    full=_full,
    array=_array,
    arange=lambda array: f"np.arange({array.size}, dtype={dtype_text(str(array.dtype))})",
    loop=python_loop("np.stack({})", "{}[::-1]"),
    reserved=frozenset({"np", "math", "Path", "load_file"}),
)
