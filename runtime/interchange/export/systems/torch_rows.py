"""How PyTorch writes each primitive, and the functions that its source has where it calls them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from gradwire.runtime.interchange.export.code import index_text, python_loop
from gradwire.runtime.interchange.export.rows import (
    CLIP,
    STOP,
    SURROGATE,
    Choice,
    ExportError,
    ExportTarget,
    Row,
    loss_head,
    reshape,
    transposed,
)
from gradwire.runtime.interchange.export.systems.shared_source import shared_helpers

if TYPE_CHECKING:
    from collections.abc import Mapping

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


def _storable(array: Array) -> Array:
    return array.astype(np.int64) if str(array.dtype) in _MASKS else array


def _over_axes(text: str) -> Choice:
    """A reduction; over no axes it is what is reduced, where PyTorch would reduce all."""
    return lambda value: text if value.attributes["axes"] else "a.clone()"


def _sum(value: Value) -> str:
    dtype = "" if value.dtype.startswith("float") else ", dtype=dtype"
    return _over_axes(f"a.sum(dim=axes, keepdim=True{dtype})")(value)


def _slice(value: Value) -> str:
    """PyTorch's steps go forward: along other axes places are selected."""
    index: tuple[slice, ...] = value.attributes["index"]
    back = [axis for axis, part in enumerate(index) if (part.step or 1) < 0]
    forward = tuple(slice(None) if i in back else part for i, part in enumerate(index))
    text = f"a[{index_text(forward)}]" if any(p != slice(None) for p in forward) else "a"
    for axis in back:
        places = list(range(*index[axis].indices(value.inputs[0].shape[axis])))
        text += f".index_select({axis}, torch.tensor({places}, dtype=torch.int64))"
    return text


def _cast(value: Value) -> str:
    mask = _MASKS.get(value.dtype)
    return f"a.to(dtype) & {mask}" if mask else "a.to(dtype)"


def _indexed(text: str) -> Choice:
    """What takes indices, of int64 only; ``before`` are the axes before that of them."""

    def choose(value: Value) -> str:
        index = "b" if value.inputs[1].dtype == "int64" else "b.long()"
        return text.format(b=index, before=":, " * value.attributes["axis"])

    return choose


ROWS: Final[Mapping[str, Row]] = {
    "cast": _cast,
    "reshape": reshape(", keepdim=True)"),
    "sum": _sum,
    "max": _over_axes("a.amax(dim=axes, keepdim=True)"),
    "min": _over_axes("a.amin(dim=axes, keepdim=True)"),
    "any": _over_axes("a.any(dim=axes, keepdim=True)"),
    "all": _over_axes("a.all(dim=axes, keepdim=True)"),
    "logsumexp": _over_axes("a.logsumexp(dim=axes, keepdim=True)"),
    "permute_dims": transposed("a.permute(axes)"),
    "flip": "a.flip(axes)",
    "slice": _slice,
    "embed": "_embed(a, shape, slices, fill)",
    "take": _indexed("a[{before}{b}]"),
    "scatter_add": _indexed("_scatter_add(a, {b}, c, axis)"),
    "take_along_axis": _indexed("_take_along_axis(a, {b}, axis)"),
    "add_along_axis": _indexed("_add_along_axis(a, {b}, c, axis)"),
    "set_along_axis": _indexed("_set_along_axis(a, {b}, c, axis)"),
    "multiply_along_axis": _indexed('_along_axis("prod", a, {b}, c, axis)'),
    "maximum_along_axis": _indexed('_along_axis("amax", a, {b}, c, axis)'),
    "minimum_along_axis": _indexed('_along_axis("amin", a, {b}, c, axis)'),
    "einsum": "torch.einsum(equation, inputs)",
    "stop_gradient": f"a.detach(){STOP}",
    "surrogate": f"a.detach() + (b - b.detach()){SURROGATE}",
    "clip_gradient": f"_ClipGradient.apply(a, limit, by){CLIP}",
    "loss_head": loss_head("_LossHead.apply(a, scale, normalization, threshold)"),
}
"""What takes more than an expression of the primitive's own row."""
HELPERS: Final = {
    **shared_helpers("torch"),
    "_LossHead": '''
class _LossHead(torch.autograd.Function):
    """The same value; its gradient is scale / n, whatever comes from behind."""

    @staticmethod
    def forward(ctx, x, scale, normalization, threshold):
        n = 1
        if normalization == "batch":
            n = x.shape[0]
        elif normalization == "valid":
            n = max(1, int((x > threshold).sum()))
        ctx.gradient = torch.full_like(x, scale / n)
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return ctx.gradient, None, None, None
''',
    "_ClipGradient": '''
class _ClipGradient(torch.autograd.Function):
    """The same value; the gradient is limited: each number, or the norm of all."""

    @staticmethod
    def forward(ctx, x, limit, by):
        ctx.limit, ctx.by = limit, by
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        if ctx.by == "value":
            return g.clamp(-ctx.limit, ctx.limit), None, None
        norm = torch.linalg.vector_norm(g)
        return (g * (ctx.limit / norm) if norm > ctx.limit else g), None, None
''',
    "_arctan2": '''
def _arctan2(a, b):
    """The angle of the point (b, a); its gradient at the origin is 0."""
    origin = (a == 0) & (b == 0)
    safe = torch.atan2(a, torch.where(origin, 1.0, b))
    return torch.where(origin, torch.atan2(a, b).detach() + 0 * safe, safe)
''',
    "_embed": '''
def _embed(x, shape, index, fill):
    """An array of ``fill`` with x at ``index``: what a slice does, backwards."""
    places = [
        torch.tensor(list(range(n))[part], dtype=torch.int64) for n, part in zip(shape, index)
    ]
    out = torch.full(shape, fill, dtype=x.dtype)
    return out.index_put(torch.meshgrid(*places, indexing="ij"), x)
''',
    "_scatter_add": '''
def _scatter_add(x, indices, updates, axis):
    """x with updates added at indices along an axis; those of repeated indices add up."""
    rest = updates.shape[axis + indices.ndim :]
    rows = updates.reshape(*updates.shape[:axis], indices.numel(), *rest)
    return x.index_add(axis, indices.reshape(-1) % x.shape[axis], rows)
''',
    "_take_along_axis": '''
def _take_along_axis(x, indices, axis):
    """One element for each place along an axis; negative indices count from the end."""
    return x.gather(axis, indices % x.shape[axis])
''',
    "_add_along_axis": '''
def _add_along_axis(x, indices, updates, axis):
    """x with updates added where _take_along_axis reads."""
    return x.scatter_add(axis, indices % x.shape[axis], updates)
''',
    "_set_along_axis": '''
def _set_along_axis(x, indices, updates, axis):
    """x with updates where _take_along_axis reads; of repeated indices the last one counts."""
    places = indices % x.shape[axis]
    order = torch.arange(indices.numel()).reshape(indices.shape)
    last = torch.zeros(x.shape, dtype=torch.int64).scatter_reduce(axis, places, order, "amax")
    stays = last.gather(axis, places) == order
    return x.scatter(axis, places, torch.where(stays, updates, updates.detach()))
''',
    "_along_axis": '''
def _along_axis(reduce, x, indices, updates, axis):
    """x reduced with updates where _take_along_axis reads."""
    return x.scatter_reduce(axis, indices % x.shape[axis], updates, reduce)
''',
    "_padded": '''
def _padded(x, padding, fill):
    """Images with what is added around them."""
    (top, bottom), (left, right) = padding
    return F.pad(x, (left, right, top, bottom), value=fill)
''',
    "_conv2d": '''
def _conv2d(x, w, stride, padding, dilation, groups):
    """Convolution with any padding."""
    return F.conv2d(_padded(x, padding, 0.0), w, None, stride, 0, dilation, groups)
''',
    "_conv2d_x": '''
def _conv2d_x(g, w, shape, stride, padding, dilation, groups):
    """The gradient of _conv2d by its images, which have a shape."""
    (top, bottom), (left, right) = padding
    height, width = shape[2:]
    whole = (*shape[:2], top + height + bottom, left + width + right)
    found = torch.nn.grad.conv2d_input(whole, w, g, stride, 0, dilation, groups)
    return found[:, :, top : top + height, left : left + width]
''',
    "_conv2d_w": '''
def _conv2d_w(x, g, shape, stride, padding, dilation, groups):
    """The gradient of _conv2d by its filters, which have a shape."""
    padded = _padded(x, padding, 0.0)
    return torch.nn.grad.conv2d_weight(padded, shape, g, stride, 0, dilation, groups)
''',
}
"""Source of functions, by name. Those that one calls come with it."""
TORCH = ExportTarget(
    "torch",
    "PyTorch",
    "torch",
    ROWS,
    HELPERS,
    dtype=dtype_text,
    storable=_storable,
    wrapped=_wrapped,
    loop=python_loop("torch.stack({})", "{}.flip(0)"),
    reserved=frozenset({"torch", "F", "math", "Path", "load_file"}),
)
