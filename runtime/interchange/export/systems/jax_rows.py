"""How JAX writes each primitive."""

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
from gradwire.runtime.interchange.export.loops import jax_loop
from gradwire.runtime.interchange.export.rows import (
    ExportTarget,
    SpelledRow,
    call,
    reshape,
    transpose,
)
from gradwire.runtime.interchange.export.systems.jax_helpers import HELPERS
from gradwire.runtime.interchange.export.systems.torch_rows import read_on

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value


def dtype_text(dtype: str) -> str:
    """A dtype by JAX's name for it."""
    return "jnp.bool_" if dtype == "bool" else f"jnp.{dtype}"


def _axis(value: Value) -> int:
    axis: int = value.attributes["axis"]
    return axis


def _axes(value: Value) -> str:
    axes: tuple[int, ...] = value.attributes["axes"]
    return axes_text(axes)


def _sum(value: Value, a: Sequence[Code]) -> str:
    dtype = "" if value.dtype.startswith("float") else f", dtype={dtype_text(value.dtype)}"
    return f"{a[0]:p}.sum(axis={_axes(value)}, keepdims=True{dtype})"


def _einsum(value: Value, a: Sequence[Code]) -> str:
    terms = ",".join(value.attributes["terms"])
    return f'jnp.einsum("{terms}->{value.attributes["output"]}", {_joined(a)})'


def _joined(a: Sequence[Code]) -> str:
    return ", ".join(code.text for code in a)


def _embed(value: Value, a: Sequence[Code]) -> str:
    how = value.attributes
    whole = np.asarray(how["fill"]).astype(value.dtype)
    return f"{_full(how['shape'], whole)}.at[{slices_text(how['index'])}].set({a[0]})"


def _scatter_add(value: Value, a: Sequence[Code]) -> str:
    every = ":, " * _axis(value)
    return f"{a[0]:p}.at[{every}{a[1]}].add({a[2]})"


def _take_along(value: Value, a: Sequence[Code]) -> str:
    """Negative indices count from the end."""
    length = value.inputs[0].shape[_axis(value)]
    return f"jnp.take_along_axis({a[0]}, {a[1]:p} % {length}, axis={_axis(value)})"


def _along(combine: str) -> SpelledRow:
    def write(value: Value, a: Sequence[Code]) -> str:
        return f"_along_axis({combine}, {a[0]}, {a[1]}, {a[2]}, axis={_axis(value)})"

    return SpelledRow(write)


def _loss_head(value: Value, a: Sequence[Code]) -> str:
    how = value.attributes
    scale, normalization = how["scale"], how["normalization"]
    if (scale, normalization) == (1.0, "none") and not read_on(value):
        return a[0].text
    given = f'{scale!r}, "{normalization}", {number_text(np.asarray(how["threshold"]))}'
    return f"_loss_head({a[0]}, {given})"


def _clip_gradient(value: Value, a: Sequence[Code]) -> str:
    how = value.attributes
    by = "norm" if how["by"] == "norm" else "value"
    return f'_clip_gradient({a[0]}, {how["limit"]!r}, "{by}")'


ROWS = {
    "reshape": reshape(", keepdims=True)"),
    "sum": SpelledRow(_sum),
    "permute_dims": transpose("transpose"),
    "embed": SpelledRow(_embed),
    "scatter_add": SpelledRow(_scatter_add),
    "take_along_axis": SpelledRow(_take_along),
    "set_along_axis": SpelledRow(
        lambda v, a: f"_set_along_axis({a[0]}, {a[1]}, {a[2]}, axis={_axis(v)})"
    ),
    "multiply_along_axis": _along("jnp.multiply"),
    "maximum_along_axis": _along("jnp.maximum"),
    "minimum_along_axis": _along("jnp.minimum"),
    "einsum": SpelledRow(_einsum),
    "stop_gradient": call(
        "lax.stop_gradient({0})", remark="a stop: no gradient goes back from here"
    ),
    "surrogate": call(
        "lax.stop_gradient({0}) + ({1:p} - lax.stop_gradient({1}))",
        remark="the first one's value, the second one's gradient",
    ),
    "clip_gradient": SpelledRow(_clip_gradient, remark="the gradient is limited on its way back"),
    "loss_head": SpelledRow(_loss_head, remark="a loss: the backward pass begins here"),
}
"""What takes more than an expression."""


def _array(array: Array) -> str:
    return f"jnp.array({nested(array)}, {dtype_text(str(array.dtype))})"


def _full(shape: tuple[int, ...], number: Array) -> str:
    dtype = dtype_text(str(number.dtype))
    if is_nothing(number):
        return f"jnp.zeros({shape_text(shape)}, {dtype})"
    if number == 1:
        return f"jnp.ones({shape_text(shape)}, {dtype})"
    return f"jnp.full({shape_text(shape)}, {number_text(number)}, {dtype})"


JAX = ExportTarget(
    "jax",
    "JAX",
    ROWS,
    HELPERS,
    dtype=dtype_text,
    number=lambda array: f"{dtype_text(str(array.dtype))}({number_text(array)})",
    full=_full,
    array=_array,
    arange=lambda array: f"jnp.arange({array.size}, dtype={dtype_text(str(array.dtype))})",
    loop=jax_loop,
    reserved=frozenset({"jax", "jnp", "lax", "partial", "math", "Path", "load_file"}),
)
