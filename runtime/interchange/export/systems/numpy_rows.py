"""How NumPy writes each primitive, and the functions that its source has where it calls them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from gradwire.runtime.interchange.export.code import is_nothing, python_loop
from gradwire.runtime.interchange.export.rows import (
    CLIP,
    LOSS,
    STOP,
    Choice,
    ExportTarget,
    Row,
    reshape,
    transposed,
)
from gradwire.runtime.interchange.export.systems.shared_source import shared_helpers

if TYPE_CHECKING:
    from collections.abc import Mapping


def _summed(text: str) -> Choice:
    """A sum; float16, which loses whole elements beyond 2048, is added in float32."""
    wide = text.format(", dtype=np.float32") + ".astype(np.float16)"
    return lambda value: wide if value.dtype == "float16" else text.format("")


def _divided(floats: str, integers: str) -> Choice:
    return lambda value: floats if value.dtype.startswith("float") else integers


ROWS: Final[Mapping[str, Row]] = {
    "reshape": reshape(", keepdims=True)"),
    "floor_divide": _divided("np.floor_divide(a, b)", "_quotient(a, b)"),
    "remainder": _divided("np.remainder(a, b)", "_remainder(a, b)"),
    "sum": _summed("a.sum(axis=axes{}, keepdims=True)"),
    "cumulative_sum": _summed("a.cumsum(axis=axis{})"),
    "permute_dims": transposed("a.transpose(axes)"),
    "embed": lambda value: (
        "_embed(a, shape, slices)"
        if is_nothing(np.asarray(value.attributes["fill"]))
        else "_embed(a, shape, slices, fill)"
    ),
    "set_along_axis": "_along_axis(np.ndarray.__setitem__, a, b, c, axis=axis)",
    "multiply_along_axis": "_along_axis(np.multiply.at, a, b, c, axis=axis)",
    "maximum_along_axis": "_along_axis(np.maximum.at, a, b, c, axis=axis)",
    "minimum_along_axis": "_along_axis(np.minimum.at, a, b, c, axis=axis)",
    "einsum": "np.einsum(equation, inputs, optimize=True)",
    "stop_gradient": f"a{STOP}",
    "surrogate": "a  # the gradient goes back to the other input instead",
    "clip_gradient": f"a{CLIP}",
    "loss_head": f"a{LOSS}",
}
"""What takes more than an expression of the primitive's own row."""
HELPERS: Final = {
    **shared_helpers("np", stable='kind="stable"'),
    "_sigmoid": '''
def _sigmoid(x):
    """1 / (1 + exp(-x)); where exp(-x) overflows it is 0."""
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))
''',
    "_erf": '''
def _erf(x):
    """The error function, element by element."""
    return np.vectorize(math.erf, otypes=[float])(x).astype(x.dtype)
''',
    "_softmax": '''
def _softmax(x, axis):
    """Shares that add up to 1 along an axis."""
    grown = np.exp(x - x.max(axis=axis, keepdims=True))
    return grown / grown.sum(axis=axis, keepdims=True)
''',
    "_log_softmax": '''
def _log_softmax(x, axis):
    """The logarithms of softmax; shifted first, so that no digits are lost."""
    shifted = x - x.max(axis=axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))
''',
    "_logsumexp": '''
def _logsumexp(x, axis):
    """log(sum(exp(x))), shifted by the largest element unless that is infinite."""
    top = x.max(axis=axis, keepdims=True)
    shift = np.where(np.isfinite(top), top, np.zeros_like(top))
    return np.log(np.exp(x - shift).sum(axis=axis, keepdims=True)) + shift
''',
    "_quotient": '''
def _quotient(a, b):
    """The whole quotient of integers."""
    if not np.all(b):
        raise ZeroDivisionError("an integer has no quotient by 0")
    return np.floor_divide(a, b)
''',
    "_remainder": '''
def _remainder(a, b):
    """The remainder of integers."""
    if not np.all(b):
        raise ZeroDivisionError("an integer has no remainder by 0")
    return np.remainder(a, b)
''',
    "_cholesky": '''
def _cholesky(x):
    """The lower triangle L with L @ L.T = x; of the symmetric part of x."""
    return np.linalg.cholesky((x + np.swapaxes(x, -1, -2)) / 2)
''',
    "_embed": '''
def _embed(x, shape, index, fill=0):
    """An array of ``fill`` with x at ``index``: what a slice does, backwards."""
    out = np.full(shape, fill, x.dtype)
    out[index] = x
    return out
''',
    "_scatter_add": '''
def _scatter_add(x, indices, updates, axis):
    """x with updates added at indices along an axis; those of repeated indices add up."""
    out = x.copy()
    np.add.at(out, (slice(None),) * axis + (indices,), updates)
    return out
''',
    "_add_along_axis": '''
def _add_along_axis(x, indices, updates, axis):
    """x with updates added where np.take_along_axis reads."""
    out = x.copy()
    places = list(np.ix_(*map(np.arange, indices.shape)))
    places[axis] = indices
    np.add.at(out, tuple(places), updates)
    return out
''',
    "_along_axis": '''
def _along_axis(write, x, indices, updates, axis):
    """x with updates written, one after the other, where np.take_along_axis reads."""
    out = x.copy()
    places = list(np.ix_(*map(np.arange, indices.shape)))
    places[axis] = indices
    write(out, tuple(places), updates)
    return out
''',
    "_conv2d": '''
def _conv2d(x, w, stride, padding, dilation, groups):
    """Cross-correlation of images (N, C, H, W) with filters (F, C / groups, h, w)."""
    patches = _windows(x, w.shape[2:], stride, padding, dilation, 0)
    parts = np.split(patches, groups, axis=3)
    filters = np.split(w, groups)
    pairs = zip(parts, filters)
    return np.concatenate(
        [np.einsum("ijncyx,fcij->nfyx", p, f, optimize=True) for p, f in pairs], axis=1
    )
''',
    "_conv2d_x": '''
def _conv2d_x(g, w, shape, stride, padding, dilation, groups):
    """The gradient of _conv2d by its images, which have a shape."""
    pairs = zip(np.split(g, groups, axis=1), np.split(w, groups))
    patches = [np.einsum("nfyx,fcij->ijncyx", part, f, optimize=True) for part, f in pairs]
    return _fold(np.concatenate(patches, axis=3), shape, stride, padding, dilation)
''',
    "_conv2d_w": '''
def _conv2d_w(x, g, shape, stride, padding, dilation, groups):
    """The gradient of _conv2d by its filters, which have a shape."""
    patches = _windows(x, shape[2:], stride, padding, dilation, 0)
    pairs = zip(np.split(patches, groups, axis=3), np.split(g, groups, axis=1))
    return np.concatenate(
        [np.einsum("ijncyx,nfyx->fcij", p, part, optimize=True) for p, part in pairs]
    )
''',
}
"""Source of functions, by name. Those that one calls come with it."""
NUMPY = ExportTarget(
    "numpy",
    "NumPy",
    "np",
    ROWS,
    HELPERS,
    dtype=lambda dtype: "np.bool_" if dtype == "bool" else f"np.{dtype}",
    loop=python_loop("np.stack({})", "{}[::-1]"),
    reserved=frozenset({"np", "math", "Path", "load_file"}),
)
