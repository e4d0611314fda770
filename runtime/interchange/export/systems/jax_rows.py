"""How JAX writes each primitive."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.export.code import (
    Array,
    Code,
    axes_text,
    index_text,
    is_nothing,
    nested,
    number_text,
    shape_text,
    slices_text,
)
from gradwire.runtime.interchange.export.rows import (
    Refused,
    Row,
    Target,
    call,
    infix,
    prefix,
    reshape,
    transpose,
)
from gradwire.runtime.interchange.export.systems.jax_helpers import HELPERS
from gradwire.runtime.interchange.export.systems.torch_rows import read_on

if TYPE_CHECKING:
    from collections.abc import Sequence

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


def _reduction(name: str) -> Row:
    return Row(lambda v, a: f"jnp.{name}({a[0]}, axis={_axes(v)}, keepdims=True)")


def _sum(value: Value, a: Sequence[Code]) -> str:
    dtype = "" if value.dtype.startswith("float") else f", dtype={dtype_text(value.dtype)}"
    return f"{a[0]:p}.sum(axis={_axes(value)}, keepdims=True{dtype})"


def _cumulative(value: Value, a: Sequence[Code]) -> str:
    return f"jnp.cumsum({a[0]}, axis={_axis(value)}, dtype={dtype_text(value.dtype)})"


def _clip(value: Value, a: Sequence[Code]) -> str:
    return f"_clip({a[0]}, {value.attributes['lo']!r}, {value.attributes['hi']!r})"


def _one_hot(value: Value, a: Sequence[Code]) -> str:
    depth, dtype = value.attributes["depth"], dtype_text(value.dtype)
    return f"({a[0]:p}[..., None] == jnp.arange({depth})).astype({dtype})"


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


def _along(combine: str) -> Row:
    def write(value: Value, a: Sequence[Code]) -> str:
        return f"_along_axis({combine}, {a[0]}, {a[1]}, {a[2]}, axis={_axis(value)})"

    return Row(write)


def _geometry(value: Value) -> str:
    found = value.attributes["geometry"]
    return f"{found.stride}, {found.padding}, {found.dilation}"


def _groups(value: Value) -> str:
    return f"{_geometry(value)}, {value.attributes['groups']}"


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


def _functions(*names: str) -> dict[str, Row | Refused]:
    return {name: call(f"jnp.{name}({{0}})") for name in names}


ROWS: dict[str, Row | Refused] = {
    "leaf": Refused("what is bound to it is not known"),
    "constant": Refused("it is written as a number or an array, never computed"),
    "wire": call("{0}"),
    "cast": Row(lambda v, a: f"{a[0]:p}.astype({dtype_text(v.dtype)})"),
    "broadcast_to": Row(lambda v, a: f"jnp.broadcast_to({a[0]}, {shape_text(v.shape)})"),
    "reshape": reshape(", keepdims=True)"),
    "add": infix("+"),
    "subtract": infix("-"),
    "multiply": infix("*"),
    "divide": infix("/"),
    "floor_divide": call("lax.stop_gradient(jnp.floor_divide({0}, {1}))"),
    "remainder": call("_remainder({0}, {1})"),
    "power": infix("**"),
    "maximum": call("jnp.maximum({0}, {1})", numbers=True),
    "minimum": call("jnp.minimum({0}, {1})", numbers=True),
    "arctan2": call("_arctan2({0}, {1})"),
    "negative": prefix("-"),
    **_functions("abs", "square", "sqrt", "exp", "expm1", "log", "log1p", "sin", "cos", "tan"),
    **_functions("tanh", "sign", "floor", "ceil", "round", "isnan", "isfinite"),
    **_functions("arcsin", "arccos", "arctan", "sinh", "cosh", "arcsinh", "arccosh", "arctanh"),
    "sigmoid": call("jax.nn.sigmoid({0})"),
    "softplus": call("jax.nn.softplus({0})"),
    "relu": call("jax.nn.relu({0})"),
    "erf": call("lax.erf({0})"),
    "clip": Row(_clip),
    "equal": infix("=="),
    "not_equal": infix("!="),
    "less": infix("<"),
    "less_equal": infix("<="),
    "greater": infix(">"),
    "greater_equal": infix(">="),
    "logical_and": infix("&"),
    "logical_or": infix("|"),
    "logical_xor": infix("^"),
    "logical_not": prefix("~"),
    "bitwise_and": infix("&"),
    "bitwise_or": infix("|"),
    "bitwise_xor": infix("^"),
    "left_shift": infix("<<"),
    "right_shift": infix(">>"),
    "where": call("jnp.where({0}, {1}, {2})", numbers=True),
    "sum": Row(_sum),
    "max": _reduction("max"),
    "min": _reduction("min"),
    "any": _reduction("any"),
    "all": _reduction("all"),
    "argmax": Row(lambda v, a: f"{a[0]:p}.argmax(axis={_axis(v)}, keepdims=True)"),
    "argmin": Row(lambda v, a: f"{a[0]:p}.argmin(axis={_axis(v)}, keepdims=True)"),
    "logsumexp": Row(lambda v, a: f"jax.nn.logsumexp({a[0]}, axis={_axes(v)}, keepdims=True)"),
    "softmax": Row(lambda v, a: f"jax.nn.softmax({a[0]}, axis={_axis(v)})"),
    "log_softmax": Row(lambda v, a: f"jax.nn.log_softmax({a[0]}, axis={_axis(v)})"),
    "cumulative_sum": Row(_cumulative),
    "permute_dims": transpose("transpose"),
    "flip": Row(lambda v, a: f"jnp.flip({a[0]}, {_axes(v)})"),
    "slice": Row(lambda v, a: f"{a[0]:p}[{index_text(v.attributes['index'])}]"),
    "embed": Row(_embed),
    "concat": Row(lambda v, a: f"jnp.concatenate([{_joined(a)}], axis={_axis(v)})"),
    "take": Row(lambda v, a: f'jnp.take({a[0]}, {a[1]}, axis={_axis(v)}, mode="wrap")'),
    "scatter_add": Row(_scatter_add),
    "take_along_axis": Row(_take_along),
    "add_along_axis": Row(lambda v, a: f"_add_along_axis({a[0]}, {a[1]}, {a[2]}, axis={_axis(v)})"),
    "set_along_axis": Row(lambda v, a: f"_set_along_axis({a[0]}, {a[1]}, {a[2]}, axis={_axis(v)})"),
    "multiply_along_axis": _along("jnp.multiply"),
    "maximum_along_axis": _along("jnp.maximum"),
    "minimum_along_axis": _along("jnp.minimum"),
    "argsort": Row(
        lambda v, a: f"_argsort({a[0]}, {_axis(v)}, descending={v.attributes['descending']})"
    ),
    "one_hot": Row(_one_hot),
    "matmul": infix("@", numbers=False),
    "einsum": Row(_einsum),
    "inverse": call("jnp.linalg.inv({0})"),
    "solve": call("jnp.linalg.solve({0}, {1})"),
    "cholesky": call("jnp.linalg.cholesky({0})"),
    "determinant": call("jnp.linalg.det({0})"),
    "log_determinant": call("jnp.linalg.slogdet({0})[1]"),
    "determinant_sign": call("jnp.linalg.slogdet({0})[0]"),
    "conv2d": Row(lambda v, a: f"_conv2d({a[0]}, {a[1]}, {_groups(v)})"),
    "conv2d_x": Row(lambda v, a: f"_conv2d_x({a[0]}, {a[1]}, {shape_text(v.shape)}, {_groups(v)})"),
    "conv2d_w": Row(lambda v, a: f"_conv2d_w({a[0]}, {a[1]}, {shape_text(v.shape)}, {_groups(v)})"),
    "windows": Row(
        lambda v, a: (
            f"_windows({a[0]}, {v.attributes['geometry'].window}, {_geometry(v)}, "
            f"fill={number_text(np.asarray(v.attributes['fill']))})"
        )
    ),
    "fold": Row(lambda v, a: f"_fold({a[0]}, {shape_text(v.shape)}, {_geometry(v)})"),
    "stop_gradient": call(
        "lax.stop_gradient({0})", remark="a stop: no gradient goes back from here"
    ),
    "surrogate": call(
        "lax.stop_gradient({0}) + ({1:p} - lax.stop_gradient({1}))",
        remark="the first one's value, the second one's gradient",
    ),
    "clip_gradient": Row(_clip_gradient, remark="the gradient is limited on its way back"),
    "loss_head": Row(_loss_head, remark="a loss: the backward pass begins here"),
}
"""A row for each primitive."""


def _array(array: Array) -> str:
    return f"jnp.array({nested(array)}, {dtype_text(str(array.dtype))})"


def _full(shape: tuple[int, ...], number: Array) -> str:
    dtype = dtype_text(str(number.dtype))
    if is_nothing(number):
        return f"jnp.zeros({shape_text(shape)}, {dtype})"
    if number == 1:
        return f"jnp.ones({shape_text(shape)}, {dtype})"
    return f"jnp.full({shape_text(shape)}, {number_text(number)}, {dtype})"


JAX = Target(
    "jax",
    "JAX",
    ROWS,
    HELPERS,
    number=lambda array: f"{dtype_text(str(array.dtype))}({number_text(array)})",
    full=_full,
    array=_array,
    arange=lambda array: f"jnp.arange({array.size}, dtype={dtype_text(str(array.dtype))})",
    reserved=frozenset({"jax", "jnp", "lax", "partial", "math", "Path", "load_file"}),
)
