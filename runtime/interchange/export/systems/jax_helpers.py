"""Functions that source for JAX has where it calls them."""

from __future__ import annotations

from typing import Final

HELPERS: Final = {
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
    "_argsort": '''
def _argsort(x, axis, descending):
    """Indices that sort x; equal elements keep their order, also when descending."""
    if not descending:
        return jnp.argsort(x, axis=axis, stable=True)
    back = jnp.flip(jnp.argsort(jnp.flip(x, axis), axis=axis, stable=True), axis)
    return x.shape[axis] - 1 - back
''',
    "_places": '''
def _places(window, stride, dilation, positions):
    """For each place (i, j) of a window, the pixels that it sees in a padded image."""
    for i in range(window[0]):
        for j in range(window[1]):
            top, left = i * dilation[0], j * dilation[1]
            rows = slice(top, top + (positions[0] - 1) * stride[0] + 1, stride[0])
            columns = slice(left, left + (positions[1] - 1) * stride[1] + 1, stride[1])
            yield i, j, rows, columns
''',
    "_windows": '''
def _windows(x, window, stride, padding, dilation, fill):
    """Every window of images (N, C, H, W): (rows, columns, N, C, down, across)."""
    padded = jnp.pad(x, ((0, 0), (0, 0), *padding), constant_values=fill)
    positions = [
        (padded.shape[2 + a] - dilation[a] * (window[a] - 1) - 1) // stride[a] + 1 for a in (0, 1)
    ]
    places = _places(window, stride, dilation, positions)
    seen = [padded[:, :, rows, columns] for _, _, rows, columns in places]
    return jnp.stack(seen).reshape(*window, *x.shape[:2], *positions)
''',
    "_fold": '''
def _fold(patches, shape, stride, padding, dilation):
    """Windows added back into images of a shape: what _windows does, backwards."""
    (top, bottom), (left, right) = padding
    height, width = shape[2:]
    out = jnp.zeros((*shape[:2], top + height + bottom, left + width + right), patches.dtype)
    for i, j, rows, columns in _places(patches.shape[:2], stride, dilation, patches.shape[4:]):
        out = out.at[:, :, rows, columns].add(patches[i, j])
    return out[:, :, top : top + height, left : left + width]
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
