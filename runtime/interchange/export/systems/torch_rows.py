"""How PyTorch writes each primitive."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.export.code import (
    Code,
    axes_text,
    index_text,
    is_nothing,
    nested,
    number_text,
    shape_text,
    slices_text,
)
from gradwire.runtime.interchange.export.loops import python_loop
from gradwire.runtime.interchange.export.rows import (
    ExportError,
    ExportTarget,
    SpelledRow,
    call,
    reshape,
    transpose,
)
from gradwire.runtime.interchange.export.systems.torch_helpers import HELPERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value

_MASKS = {"uint16": "0xFFFF", "uint32": "0xFFFFFFFF"}
"""Integers that PyTorch stores but hardly computes with: they are int64, cut to their bits."""

_GROWING = {"add", "subtract", "multiply", "power", "negative", "left_shift"}
"""Primitives whose results may be larger than their dtype holds."""


def dtype_text(dtype: str) -> str:
    """A dtype by PyTorch's name for it. Raises ExportError for one that it can't compute with."""
    if dtype == "uint64":
        raise ExportError(
            "PyTorch does not compute with uint64.", next_step="Cast it to int64, or use NumPy."
        )
    return "torch.int64" if dtype in _MASKS else f"torch.{dtype}"


def _wrapped(value: Value, text: str) -> str:
    mask = _MASKS.get(value.dtype)
    return f"({text}) & {mask}" if mask and value.primitive.name in _GROWING else text


def _axis(value: Value) -> int:
    axis: int = value.attributes["axis"]
    return axis


def _axes(value: Value) -> tuple[int, ...]:
    axes: tuple[int, ...] = value.attributes["axes"]
    return axes


def _reduction(template: str) -> SpelledRow:
    """A reduction; over no axes it is what is reduced, where PyTorch would reduce all."""

    def write(value: Value, a: Sequence[Code]) -> str:
        if not _axes(value):
            return f"{a[0]:p}.clone()"
        return template.format(a[0], axes=axes_text(_axes(value)), dtype=dtype_text(value.dtype))

    return SpelledRow(write)


def _sum(value: Value, a: Sequence[Code]) -> str:
    dtype = "" if value.dtype.startswith("float") else f", dtype={dtype_text(value.dtype)}"
    if not _axes(value):
        return f"{a[0]:p}.clone()"
    return f"{a[0]:p}.sum(dim={axes_text(_axes(value))}, keepdim=True{dtype})"


def _slice(value: Value, a: Sequence[Code]) -> str:
    index: tuple[slice, ...] = value.attributes["index"]
    shape = value.inputs[0].shape
    forward = tuple(slice(None) if (part.step or 1) < 0 else part for part in index)
    text = (
        f"{a[0]:p}[{index_text(forward)}]"
        if any(p != slice(None) for p in forward)
        else (f"{a[0]:p}")
    )
    for axis, part in enumerate(index):
        if (part.step or 1) < 0:
            places = list(range(*part.indices(shape[axis])))
            text += f".index_select({axis}, torch.tensor({places}, dtype=torch.int64))"
    return text


def _embed(value: Value, a: Sequence[Code]) -> str:
    how = value.attributes
    fill = number_text(np.asarray(how["fill"]))
    return f"_embed({a[0]}, {shape_text(how['shape'])}, {slices_text(how['index'])}, {fill})"


def _cast(value: Value, a: Sequence[Code]) -> str:
    text = f"{a[0]:p}.to({dtype_text(value.dtype)})"
    mask = _MASKS.get(value.dtype)
    return f"({text} & {mask})" if mask else text


def _take(value: Value, a: Sequence[Code]) -> str:
    every = ":, " * _axis(value)
    return f"{a[0]:p}[{every}{_index(value, a)}]"


def _index(value: Value, a: Sequence[Code]) -> str:
    return a[1].text if value.inputs[1].dtype == "int64" else f"{a[1]:p}.long()"


def _along(reduce: str) -> SpelledRow:
    def write(value: Value, a: Sequence[Code]) -> str:
        return f'_along_axis("{reduce}", {a[0]}, {_index(value, a)}, {a[2]}, {_axis(value)})'

    return SpelledRow(write)


def _einsum(value: Value, a: Sequence[Code]) -> str:
    terms = ",".join(value.attributes["terms"])
    operands = ", ".join(code.text for code in a)
    return f'torch.einsum("{terms}->{value.attributes["output"]}", {operands})'


def read_on(value: Value) -> bool:
    """Whether anything reads a value further on."""
    later = value.trace.values[value.index + 1 :]
    return any(x is value for other in later for x in other.inputs)


def _loss_head(value: Value, a: Sequence[Code]) -> str:
    how = value.attributes
    scale, normalization = how["scale"], how["normalization"]
    if (scale, normalization) == (1.0, "none") and not read_on(value):
        return a[0].text
    given = f'{scale!r}, "{normalization}", {number_text(np.asarray(how["threshold"]))}'
    return f"_LossHead.apply({a[0]}, {given})"


def _clip_gradient(value: Value, a: Sequence[Code]) -> str:
    how = value.attributes
    by = "norm" if how["by"] == "norm" else "value"
    return f'_ClipGradient.apply({a[0]}, {how["limit"]!r}, "{by}")'


ROWS = {
    "cast": SpelledRow(_cast),
    "reshape": reshape(", keepdim=True)"),
    "sum": SpelledRow(_sum),
    "max": _reduction("{0:p}.amax(dim={axes}, keepdim=True)"),
    "min": _reduction("{0:p}.amin(dim={axes}, keepdim=True)"),
    "any": _reduction("{0:p}.any(dim={axes}, keepdim=True)"),
    "all": _reduction("{0:p}.all(dim={axes}, keepdim=True)"),
    "logsumexp": _reduction("{0:p}.logsumexp(dim={axes}, keepdim=True)"),
    "permute_dims": transpose("permute"),
    "flip": SpelledRow(lambda v, a: f"{a[0]:p}.flip({shape_text(_axes(v))})"),
    "slice": SpelledRow(_slice),
    "embed": SpelledRow(_embed),
    "take": SpelledRow(_take),
    "scatter_add": SpelledRow(
        lambda v, a: f"_scatter_add({a[0]}, {_index(v, a)}, {a[2]}, {_axis(v)})"
    ),
    "take_along_axis": SpelledRow(
        lambda v, a: f"_take_along_axis({a[0]}, {_index(v, a)}, {_axis(v)})"
    ),
    "add_along_axis": SpelledRow(
        lambda v, a: f"_add_along_axis({a[0]}, {_index(v, a)}, {a[2]}, {_axis(v)})"
    ),
    "set_along_axis": SpelledRow(
        lambda v, a: f"_set_along_axis({a[0]}, {_index(v, a)}, {a[2]}, {_axis(v)})"
    ),
    "multiply_along_axis": _along("prod"),
    "maximum_along_axis": _along("amax"),
    "minimum_along_axis": _along("amin"),
    "einsum": SpelledRow(_einsum),
    "stop_gradient": call("{0:p}.detach()", remark="a stop: no gradient goes back from here"),
    "surrogate": call(
        "{0:p}.detach() + ({1:p} - {1:p}.detach())",
        remark="the first one's value, the second one's gradient",
    ),
    "clip_gradient": SpelledRow(_clip_gradient, remark="the gradient is limited on its way back"),
    "loss_head": SpelledRow(_loss_head, remark="a loss: the backward pass begins here"),
}
"""What takes more than an expression."""


def _array(array: Array) -> str:
    return f"torch.tensor({nested(array)}, dtype={dtype_text(str(array.dtype))})"


def _full(shape: tuple[int, ...], number: Array) -> str:
    dtype = dtype_text(str(number.dtype))
    if is_nothing(number):
        return f"torch.zeros({shape_text(shape)}, dtype={dtype})"
    if number == 1:
        return f"torch.ones({shape_text(shape)}, dtype={dtype})"
    return f"torch.full({shape_text(shape)}, {number_text(number)}, dtype={dtype})"


def _arange(array: Array) -> str:
    return f"torch.arange({array.size}, dtype={dtype_text(str(array.dtype))})"


def _storable(array: Array) -> Array:
    return array.astype(np.int64) if str(array.dtype) in _MASKS else array


TORCH = ExportTarget(
    "torch",
    "PyTorch",
    ROWS,
    HELPERS,
    dtype=dtype_text,
    number=_array,
    full=_full,
    array=_array,
    arange=_arange,
    storable=_storable,
    wrapped=_wrapped,
    loop=python_loop("torch.stack({})", "{}.flip(0)"),
    reserved=frozenset({"torch", "F", "math", "Path", "load_file"}),
)
