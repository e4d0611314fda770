"""How NumPy writes each primitive."""

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
from gradwire.runtime.interchange.export.systems.numpy_helpers import HELPERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradwire.runtime.calculus import Value


def dtype_text(dtype: str) -> str:
    """A dtype by NumPy's name for it."""
    return "np.bool_" if dtype == "bool" else f"np.{dtype}"


def _reduction(name: str) -> Row:
    return Row(lambda v, a: f"np.{name}({a[0]}, axis={_axes(v)}, keepdims=True)")


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


def _clip(value: Value, a: Sequence[Code]) -> str:
    return f"np.clip({a[0]}, {value.attributes['lo']!r}, {value.attributes['hi']!r})"


def _one_hot(value: Value, a: Sequence[Code]) -> str:
    depth, dtype = value.attributes["depth"], dtype_text(value.dtype)
    return f"({a[0]:p}[..., None] == np.arange({depth})).astype({dtype})"


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


def _geometry(value: Value) -> str:
    found = value.attributes["geometry"]
    return f"{found.stride}, {found.padding}, {found.dilation}"


def _divided(name: str, helper: str, operator: str) -> Row:
    def write(value: Value, a: Sequence[Code]) -> str:
        if value.dtype.startswith("float"):
            return f"np.{name}({a[0]}, {a[1]})"
        return f"{helper}({a[0]}, {a[1]})"

    return Row(write)


def _along(write: str) -> Row:
    def written(value: Value, a: Sequence[Code]) -> str:
        return f"_along_axis({write}, {a[0]}, {a[1]}, {a[2]}, axis={value.attributes['axis']})"

    return Row(written)


def _functions(*names: str) -> dict[str, Row | Refused]:
    return {name: call(f"np.{name}({{0}})") for name in names}


STOPS = "a stop: no gradient goes back from here"

ROWS: dict[str, Row | Refused] = {
    "leaf": Refused("what is bound to it is not known"),
    "constant": Refused("it is written as a number or an array, never computed"),
    "wire": call("{0}"),
    "cast": Row(lambda v, a: f"{a[0]:p}.astype({dtype_text(v.dtype)})"),
    "broadcast_to": Row(lambda v, a: f"np.broadcast_to({a[0]}, {shape_text(v.shape)})"),
    "reshape": reshape(", keepdims=True)"),
    "add": infix("+"),
    "subtract": infix("-"),
    "multiply": infix("*"),
    "divide": infix("/"),
    "floor_divide": _divided("floor_divide", "_quotient", "//"),
    "remainder": _divided("remainder", "_remainder", "%"),
    "power": infix("**"),
    "maximum": call("np.maximum({0}, {1})", numbers=True),
    "minimum": call("np.minimum({0}, {1})", numbers=True),
    "arctan2": call("np.arctan2({0}, {1})", numbers=True),
    "negative": prefix("-"),
    **_functions("abs", "square", "sqrt", "exp", "expm1", "log", "log1p", "sin", "cos", "tan"),
    **_functions("tanh", "sign", "floor", "ceil", "isnan", "isfinite"),
    **_functions("arcsin", "arccos", "arctan", "sinh", "cosh", "arcsinh", "arccosh", "arctanh"),
    "round": call("np.rint({0})"),
    "sigmoid": call("_sigmoid({0})"),
    "softplus": call("np.logaddexp({0}, 0)"),
    "relu": call("np.maximum({0}, 0)"),
    "erf": call("_erf({0})"),
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
    "where": call("np.where({0}, {1}, {2})", numbers=True),
    "sum": Row(_sum),
    "max": _reduction("max"),
    "min": _reduction("min"),
    "any": _reduction("any"),
    "all": _reduction("all"),
    "argmax": Row(lambda v, a: f"{a[0]:p}.argmax(axis={v.attributes['axis']}, keepdims=True)"),
    "argmin": Row(lambda v, a: f"{a[0]:p}.argmin(axis={v.attributes['axis']}, keepdims=True)"),
    "logsumexp": Row(lambda v, a: f"_logsumexp({a[0]}, {_axes(v)})"),
    "softmax": Row(lambda v, a: f"_softmax({a[0]}, {v.attributes['axis']})"),
    "log_softmax": Row(lambda v, a: f"_log_softmax({a[0]}, {v.attributes['axis']})"),
    "cumulative_sum": Row(_cumulative),
    "permute_dims": transpose("transpose"),
    "flip": Row(lambda v, a: f"np.flip({a[0]}, {_axes(v)})"),
    "slice": Row(lambda v, a: f"{a[0]:p}[{index_text(v.attributes['index'])}]"),
    "embed": Row(_embed),
    "concat": Row(
        lambda v, a: f"np.concatenate([{', '.join(map(str_of, a))}], axis={v.attributes['axis']})"
    ),
    "take": Row(lambda v, a: f"np.take({a[0]}, {a[1]}, axis={v.attributes['axis']})"),
    "scatter_add": Row(
        lambda v, a: f"_scatter_add({a[0]}, {a[1]}, {a[2]}, axis={v.attributes['axis']})"
    ),
    "take_along_axis": Row(
        lambda v, a: f"np.take_along_axis({a[0]}, {a[1]}, axis={v.attributes['axis']})"
    ),
    "add_along_axis": Row(
        lambda v, a: f"_add_along_axis({a[0]}, {a[1]}, {a[2]}, axis={v.attributes['axis']})"
    ),
    "set_along_axis": _along("np.ndarray.__setitem__"),
    "multiply_along_axis": _along("np.multiply.at"),
    "maximum_along_axis": _along("np.maximum.at"),
    "minimum_along_axis": _along("np.minimum.at"),
    "argsort": Row(
        lambda v, a: (
            f"_argsort({a[0]}, {v.attributes['axis']}, descending={v.attributes['descending']})"
        )
    ),
    "one_hot": Row(_one_hot),
    "matmul": infix("@", numbers=False),
    "einsum": Row(_einsum),
    "inverse": call("np.linalg.inv({0})"),
    "solve": call("np.linalg.solve({0}, {1})"),
    "cholesky": call("_cholesky({0})"),
    "determinant": call("np.linalg.det({0})"),
    "log_determinant": call("np.linalg.slogdet({0})[1]"),
    "determinant_sign": call("np.linalg.slogdet({0})[0]"),
    "conv2d": Row(
        lambda v, a: f"_conv2d({a[0]}, {a[1]}, {_geometry(v)}, groups={v.attributes['groups']})"
    ),
    "conv2d_x": Row(
        lambda v, a: (
            f"_conv2d_x({a[0]}, {a[1]}, {shape_text(v.shape)}, {_geometry(v)}, "
            f"groups={v.attributes['groups']})"
        )
    ),
    "conv2d_w": Row(
        lambda v, a: (
            f"_conv2d_w({a[0]}, {a[1]}, {shape_text(v.shape)}, {_geometry(v)}, "
            f"groups={v.attributes['groups']})"
        )
    ),
    "windows": Row(
        lambda v, a: (
            f"_windows({a[0]}, {v.attributes['geometry'].window}, {_geometry(v)}, "
            f"fill={_plain(v.attributes['fill'])})"
        )
    ),
    "fold": Row(lambda v, a: f"_fold({a[0]}, {shape_text(v.shape)}, {_geometry(v)})"),
    "stop_gradient": call("{0}", remark=STOPS),
    "surrogate": call("{0}", remark="the gradient goes back to the other input instead"),
    "clip_gradient": call("{0}", remark="the gradient is limited on its way back"),
    "loss_head": call("{0}", remark="a loss: the backward pass begins here"),
}
"""A row for each primitive."""


def _array(array: Array) -> str:
    return f"np.array({nested(array)}, {dtype_text(str(array.dtype))})"


def _full(shape: tuple[int, ...], number: Array) -> str:
    dtype = dtype_text(str(number.dtype))
    if is_nothing(number):
        return f"np.zeros({shape_text(shape)}, {dtype})"
    if number == 1:
        return f"np.ones({shape_text(shape)}, {dtype})"
    return f"np.full({shape_text(shape)}, {number_text(number)}, {dtype})"


NUMPY = Target(
    "numpy",
    "NumPy",
    ROWS,
    HELPERS,
    number=lambda array: f"{dtype_text(str(array.dtype))}({number_text(array)})",
    full=_full,
    array=_array,
    arange=lambda array: f"np.arange({array.size}, dtype={dtype_text(str(array.dtype))})",
    reserved=frozenset({"np", "math", "Path", "load_file"}),
)
