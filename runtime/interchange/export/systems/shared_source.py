"""Functions that sources of several systems have where they call them, alike but for names."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_PLACES = '''
def _places(window, stride, dilation, positions):
    """For each place (i, j) of a window, the pixels that it sees in a padded image."""
    for i in range(window[0]):
        for j in range(window[1]):
            top, left = i * dilation[0], j * dilation[1]
            rows = slice(top, top + (positions[0] - 1) * stride[0] + 1, stride[0])
            columns = slice(left, left + (positions[1] - 1) * stride[1] + 1, stride[1])
            yield i, j, rows, columns
'''
_WINDOWS = '''
def _windows(x, window, stride, padding, dilation, fill):
    """Every window of images (N, C, H, W): (rows, columns, N, C, down, across)."""
    padded = _padded(x, padding, fill)
    positions = [
        (padded.shape[2 + a] - dilation[a] * (window[a] - 1) - 1) // stride[a] + 1 for a in (0, 1)
    ]
    places = _places(window, stride, dilation, positions)
    seen = [padded[:, :, rows, columns] for _, _, rows, columns in places]
    return xp.stack(seen).reshape(*window, *x.shape[:2], *positions)
'''
_FOLD = '''
def _fold(patches, shape, stride, padding, dilation):
    """Windows added back into images of a shape: what _windows does, backwards."""
    (top, bottom), (left, right) = padding
    height, width = shape[2:]
    whole = (*shape[:2], top + height + bottom, left + width + right)
    out = xp.zeros(whole, dtype=patches.dtype)
    for i, j, rows, columns in _places(patches.shape[:2], stride, dilation, patches.shape[4:]):
        ADDED
    return out[:, :, top : top + height, left : left + width]
'''
_PADDED = '''
def _padded(x, padding, fill):
    """Images with what is added around them."""
    return xp.pad(x, ((0, 0), (0, 0), *padding), constant_values=fill)
'''
_ARGSORT = '''
def _argsort(x, axis, descending):
    """Indices that sort x; equal elements keep their order, also when descending."""
    if not descending:
        return xp.argsort(x, axis=axis, STABLE)
    back = xp.flip(xp.argsort(xp.flip(x, axis), axis=axis, STABLE), axis)
    return x.shape[axis] - 1 - back
'''


def shared_helpers(xp: str, stable: str = "", is_pure: bool = False) -> Mapping[str, str]:
    """Those of a system whose module is ``xp``; ``stable`` is how it is asked for a stable order.

    Arrays of one that ``is_pure`` are never changed.
    """
    added = "out[:, :, rows, columns] += patches[i, j]"
    if is_pure:
        added = "out = out.at[:, :, rows, columns].add(patches[i, j])"
    texts = {"_places": _PLACES, "_windows": _WINDOWS, "_fold": _FOLD.replace("ADDED", added)}
    if stable:
        texts |= {"_padded": _PADDED, "_argsort": _ARGSORT.replace("STABLE", stable)}
    return {name: text.replace("xp.", f"{xp}.") for name, text in texts.items()}
