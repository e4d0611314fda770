"""How JAX writes each primitive, and the functions that its source has where it calls them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from gradwire.runtime.interchange.export.code import jax_loop
from gradwire.runtime.interchange.export.rows import (
    CLIP,
    STOP,
    SURROGATE,
    ExportTarget,
    Row,
    loss_head,
    reshape,
    transposed,
)
from gradwire.runtime.interchange.export.systems.shared_source import shared_helpers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gradwire.runtime.calculus import Value


def _sum(value: Value) -> str:
    dtype = "" if value.dtype.startswith("float") else ", dtype=dtype"
    return f"a.sum(axis=axes, keepdims=True{dtype})"


def _embed(value: Value) -> str:
    whole = np.asarray(value.attributes["fill"]).astype(value.dtype)
    return f"{JAX.full(value.attributes['shape'], whole)}.at[slices].set(a)"


def _take_along(value: Value) -> str:
    """Negative indices count from the end."""
    length = value.inputs[0].shape[value.attributes["axis"]]
    return f"jnp.take_along_axis(a, b % {length}, axis=axis)"


ROWS: Final[Mapping[str, Row]] = {
    "reshape": reshape(", keepdims=True)"),
    "sum": _sum,
    "permute_dims": transposed("a.transpose(axes)"),
    "embed": _embed,
    "scatter_add": lambda value: f"a.at[{':, ' * value.attributes['axis']}b].add(c)",
    "take_along_axis": _take_along,
    "set_along_axis": "_set_along_axis(a, b, c, axis=axis)",
    "multiply_along_axis": "_along_axis(jnp.multiply, a, b, c, axis=axis)",
    "maximum_along_axis": "_along_axis(jnp.maximum, a, b, c, axis=axis)",
    "minimum_along_axis": "_along_axis(jnp.minimum, a, b, c, axis=axis)",
    "einsum": "jnp.einsum(equation, inputs)",
    "stop_gradient": f"lax.stop_gradient(a){STOP}",
    "surrogate": f"lax.stop_gradient(a) + (b - lax.stop_gradient(b)){SURROGATE}",
    "clip_gradient": f"_clip_gradient(a, limit, by){CLIP}",
    "loss_head": loss_head("_loss_head(a, scale, normalization, threshold)"),
}
"""What takes more than an expression of the primitive's own row."""
HELPERS: Final = {
    **shared_helpers("jnp", stable="stable=True", is_pure=True),
    "_loss_head": '''
@partial(jax.custom_vjp, nondiff_argnums=(1, 2, 3))
def _loss_head(x, scale, normalization, threshold):
    """The same value; its gradient is scale / n, whatever comes from behind."""
    return x


def _loss_head_forward(x, scale, normalization, threshold):
    n = 1
    if normalization == "batch":
        n = x.shape[0]
    elif normalization == "valid":
        n = jnp.maximum(1, jnp.sum(x > threshold)).astype(x.dtype)
    return x, jnp.full(x.shape, scale / n, x.dtype)


def _loss_head_backward(scale, normalization, threshold, gradient, g):
    return (gradient,)


_loss_head.defvjp(_loss_head_forward, _loss_head_backward)
''',
    "_clip_gradient": '''
@partial(jax.custom_vjp, nondiff_argnums=(1, 2))
def _clip_gradient(x, limit, by):
    """The same value; the gradient is limited: each number, or the norm of all."""
    return x


def _clip_gradient_forward(x, limit, by):
    return x, None


def _clip_gradient_backward(limit, by, _, g):
    if by == "value":
        return (jnp.clip(g, -limit, limit),)
    norm = jnp.sqrt(jnp.sum(g * g))
    return (jnp.where(norm > limit, g * (limit / jnp.where(norm > limit, norm, 1)), g),)


_clip_gradient.defvjp(_clip_gradient_forward, _clip_gradient_backward)
''',
    "_clip": '''
def _clip(x, lo, hi):
    """x between bounds; its gradient is 1 on them too."""
    cut = lax.stop_gradient(jnp.clip(x, lo, hi)).astype(x.dtype)
    return jnp.where(cut == x, x, cut)
''',
    "_remainder": '''
def _remainder(a, b):
    """a - b * floor(a / b), with the gradients 1 and -floor(a / b)."""
    value = lax.stop_gradient(jnp.remainder(a, b))
    if not jnp.issubdtype(value.dtype, jnp.floating):
        return value
    moved = a - b * lax.stop_gradient(jnp.floor_divide(a, b))
    return value + (moved - lax.stop_gradient(moved))
''',
    "_arctan2": '''
def _arctan2(a, b):
    """The angle of the point (b, a); its gradient at the origin is 0."""
    origin = (a == 0) & (b == 0)
    safe = jnp.arctan2(a, jnp.where(origin, 1, b))
    return jnp.where(origin, lax.stop_gradient(jnp.arctan2(a, b)), safe)
''',
    "_add_along_axis": '''
def _add_along_axis(x, indices, updates, axis):
    """x with updates added where jnp.take_along_axis reads."""
    places = list(jnp.ix_(*map(jnp.arange, indices.shape)))
    places[axis] = indices
    return x.at[tuple(places)].add(updates)
''',
    "_set_along_axis": '''
def _set_along_axis(x, indices, updates, axis):
    """x with updates where jnp.take_along_axis reads; of repeated indices the last one counts."""
    places = list(jnp.ix_(*map(jnp.arange, indices.shape)))
    places[axis] = indices
    return x.at[tuple(places)].set(updates)
''',
    "_along_axis": '''
def _along_axis(combine, x, indices, updates, axis):
    """x combined with updates, one after the other, where jnp.take_along_axis reads."""

    def put(j, out):
        places = list(jnp.ix_(*map(jnp.arange, indices.shape)))
        places[axis] = lax.dynamic_slice_in_dim(indices, j, 1, axis)
        update = lax.dynamic_slice_in_dim(updates, j, 1, axis)
        return out.at[tuple(places)].set(combine(out[tuple(places)], update))

    return lax.fori_loop(0, indices.shape[axis], put, x)
''',
    "_conv2d": '''
def _conv2d(x, w, stride, padding, dilation, groups):
    """Cross-correlation of images (N, C, H, W) with filters (F, C / groups, h, w)."""
    return lax.conv_general_dilated(
        x,
        w,
        stride,
        padding,
        rhs_dilation=dilation,
        feature_group_count=groups,
        precision=lax.Precision.HIGHEST,
    )
''',
    "_conv2d_x": '''
def _conv2d_x(g, w, shape, *how):
    """The gradient of _conv2d by its images, which have a shape."""
    _, back = jax.vjp(lambda x: _conv2d(x, w, *how), jnp.zeros(shape, g.dtype))
    return back(g)[0]
''',
    "_conv2d_w": '''
def _conv2d_w(x, g, shape, *how):
    """The gradient of _conv2d by its filters, which have a shape."""
    _, back = jax.vjp(lambda w: _conv2d(x, w, *how), jnp.zeros(shape, g.dtype))
    return back(g)[0]
''',
}
"""Source of functions, by name. Those that one calls come with it."""
JAX = ExportTarget(
    "jax",
    "JAX",
    "jnp",
    ROWS,
    HELPERS,
    dtype=lambda dtype: "jnp.bool_" if dtype == "bool" else f"jnp.{dtype}",
    loop=jax_loop,
    reserved=frozenset({"jax", "jnp", "lax", "partial", "math", "Path", "load_file"}),
)
