"""Functions that source for PyTorch has where it calls them."""

from __future__ import annotations

from typing import Final

HELPERS: Final = {
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
def _padded(x, padding, fill=0.0):
    """Images with what is added around them."""
    (top, bottom), (left, right) = padding
    return F.pad(x, (left, right, top, bottom), value=fill)
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
    padded = _padded(x, padding, fill)
    positions = [
        (padded.shape[2 + a] - dilation[a] * (window[a] - 1) - 1) // stride[a] + 1 for a in (0, 1)
    ]
    places = _places(window, stride, dilation, positions)
    seen = [padded[:, :, rows, columns] for _, _, rows, columns in places]
    return torch.stack(seen).reshape(*window, *x.shape[:2], *positions)
''',
    "_fold": '''
def _fold(patches, shape, stride, padding, dilation):
    """Windows added back into images of a shape: what _windows does, backwards."""
    (top, bottom), (left, right) = padding
    height, width = shape[2:]
    out = patches.new_zeros((*shape[:2], top + height + bottom, left + width + right))
    for i, j, rows, columns in _places(patches.shape[:2], stride, dilation, patches.shape[4:]):
        out[:, :, rows, columns] += patches[i, j]
    return out[:, :, top : top + height, left : left + width]
''',
    "_conv2d": '''
def _conv2d(x, w, stride, padding, dilation, groups):
    """Convolution with any padding."""
    return F.conv2d(_padded(x, padding), w, None, stride, 0, dilation, groups)
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
    padded = _padded(x, padding)
    return torch.nn.grad.conv2d_weight(padded, shape, g, stride, 0, dilation, groups)
''',
}
"""Source of functions, by name. Those that one calls come with it."""
