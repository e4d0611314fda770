"""Functions that source for NumPy has where it calls them."""

from __future__ import annotations

from typing import Final

HELPERS: Final = {
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
    "_argsort": '''
def _argsort(x, axis, descending):
    """Indices that sort x; equal elements keep their order, also when descending."""
    if not descending:
        return np.argsort(x, axis=axis, kind="stable")
    back = np.flip(np.argsort(np.flip(x, axis), axis=axis, kind="stable"), axis)
    return x.shape[axis] - 1 - back
''',
    "_places": '''
def _places(window, stride, padding, dilation, image, positions):
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
    padded = np.pad(x, ((0, 0), (0, 0), *padding), constant_values=fill)
    positions = [
        (padded.shape[2 + a] - dilation[a] * (window[a] - 1) - 1) // stride[a] + 1 for a in (0, 1)
    ]
    out = np.empty((*window, *x.shape[:2], *positions), x.dtype)
    for i, j, rows, columns in _places(window, stride, padding, dilation, x.shape, positions):
        out[i, j] = padded[:, :, rows, columns]
    return out
''',
    "_fold": '''
def _fold(patches, shape, stride, padding, dilation):
    """Windows added back into images of a shape: what _windows does, backwards."""
    window, positions = patches.shape[:2], patches.shape[4:]
    (top, bottom), (left, right) = padding
    height, width = shape[2:]
    out = np.zeros((*shape[:2], top + height + bottom, left + width + right), patches.dtype)
    for i, j, rows, columns in _places(window, stride, padding, dilation, shape, positions):
        out[:, :, rows, columns] += patches[i, j]
    return out[:, :, top : top + height, left : left + width]
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
