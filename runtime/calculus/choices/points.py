"""Points at which systems differ: tests of the numbers around a block."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus.choices.choice import Site

Point = Callable[["Site"], Any]


def zero(site: Site) -> Any:
    """The input is 0."""
    return site.x == 0


def nan(site: Site) -> Any:
    """The input is NaN."""
    return np.isnan(site.x)


def tie(site: Site) -> Any:
    """Both inputs are equal."""
    return site.a == site.b


def any_input(test: Callable[[Array], Any]) -> Point:
    """Some float input passes a test."""

    def at(site: Site) -> Any:
        found = [np.asarray(test(x)) for x in site.floats]
        rows = [each.any(axis=tuple(range(1, each.ndim))) for each in found]
        if len({row.shape for row in rows}) > 1:
            return np.array(any(map(np.any, rows)))
        return np.logical_or.reduce(rows)

    return at


def dtype_of(*names: str) -> Point:
    """Some input has one of these dtypes, also where its rows have no elements."""
    return lambda site: np.full(site.x.shape[:1], any(x.dtype.name in names for x in site.inputs))


def not_finite(site: Site) -> Any:
    """The gradient that arrives is ∞ or NaN."""
    return site.everywhere() & ~np.isfinite(_arriving(site))


def infinite(site: Site) -> Any:
    """The gradient that arrives is ∞."""
    return site.everywhere() & np.isinf(_arriving(site))


def nothing_arrives(site: Site) -> Any:
    """The gradient that arrives is 0."""
    return site.everywhere() & (_arriving(site) == 0)


def special(site: Site) -> Any:
    """The gradient that arrives is 0, ∞ or NaN."""
    return nothing_arrives(site) | not_finite(site)


def ordinary(x: Array) -> Any:
    """Finite and not 0."""
    return np.isfinite(x) & (x != 0)


def _arriving(site: Site) -> Any:
    """By element where the output has the shape of the input, else that of any element."""
    if site.arriving.shape in ((), site.x.shape):
        return site.arriving
    bad = site.arriving[~np.isfinite(site.arriving)]
    return bad[0] if bad.size else site.arriving.ravel()[0] if site.arriving.size else 1.0


def both_true(site: Site) -> Any:
    """Both inputs are the boolean true."""
    return np.equal(site.a, True) & np.equal(site.b, True) & (site.a.dtype == bool)


def overflowing_power(site: Site) -> Any:
    """An integer to a power that its dtype does not hold."""
    a, b = site.a, site.b
    if a.dtype.kind not in "iu":
        return site.everywhere(False)
    return np.abs(a.astype(float)) ** b.astype(float) >= float(np.iinfo(a.dtype).max)


def limit(site: Site) -> Any:
    """The input lies on a limit of a Clip, where its gradient is 1."""
    # Only Clip, which has these parameters, names this point.
    found = [site.x == bound for bound in (site.block.min, site.block.max) if bound is not None]  # type: ignore[attr-defined]
    is_closed = found and not site.block.open  # type: ignore[attr-defined]
    return np.logical_or.reduce(found) if is_closed else site.everywhere(False)


def huge(x: Array) -> Any:
    """Finite, but the square is not."""
    return np.isfinite(x) & ~np.isfinite(x * x)


def subnormal(x: Array) -> Any:
    """Not 0, and below the smallest normal number."""
    return (np.abs(x) < np.finfo(x.dtype).tiny) & (x != 0)


def huge_half(site: Site) -> Any:
    """Elements of a float16 whose squares it does not hold."""
    return site.everywhere(site.x.dtype == np.float16) & huge(site.x)


def vanishing(x: Array) -> Any:
    """Not 0, but no longer a normal number, or the smallest."""
    return (np.abs(x) <= np.finfo(x.dtype).tiny) & (x != 0)


def squares_lost(site: Site) -> Any:
    """The sum of the squares of finite numbers is 0 or infinite."""
    a, b = site.a, site.b
    total = a * a + b * b
    return np.isfinite(a) & np.isfinite(b) & ((total == 0) | np.isinf(total))


def square_lost(site: Site) -> Any:
    """The square of a finite b that is not 0 is 0 or infinite."""
    b = site.b
    return np.isfinite(b) & (b != 0) & ((b * b == 0) | np.isinf(b * b))


def set_twice(site: Site) -> Any:
    """Indices of a block that sets elements repeat, along its axis."""
    # Only scatter blocks, which have an axis and a mode, name this point.
    indices, axis = site.inputs[1], site.block.axis  # type: ignore[attr-defined]
    along = axis if site.block.type_name() == "ScatterAlong" else 0
    ordered = np.sort(indices % max(1, site.x.shape[axis]), along)
    repeats = np.any(np.diff(ordered, axis=along) == 0)
    return site.everywhere(bool(repeats) and site.block.mode == "set")  # type: ignore[attr-defined]


def saturated(site: Site) -> Any:
    """A probability within a rounding step of 0 or 1, where that has no gradient."""
    step = np.finfo(site.x.dtype).eps
    return getattr(site.block, "clips", False) & ((site.x < step) | (site.x > 1 - step))


def no_length(site: Site) -> Any:
    """A row of an input is 0."""
    return (site.a == 0).all(-1) | (site.b == 0).all(-1)


def length_zero(site: Site) -> Any:
    """All elements along the axes are 0."""
    return site.along(site.x == 0)


def lone_square_lost(site: Site) -> Any:
    """The only element along the axis is neither 0 nor infinite, but its square is."""
    x = site.x
    if x.dtype.kind != "f" or x.shape[-1:] != (1,):
        return site.everywhere(False)
    lost = ~np.isfinite(x * x) | (x * x < np.finfo(x.dtype).tiny)
    return lost & ordinary(x)


def tied_windows(site: Site) -> Any:
    """Windows whose largest element is there twice, or that have NaN."""
    windows = _windows(site)
    largest = windows == windows.max(-1, keepdims=True)
    return _by_place((largest.sum(-1) > 1) | np.isnan(windows).any(-1))


def cancelling_windows(site: Site) -> Any:
    """Windows whose numbers cancel but for rounding, in which a smaller one is lost."""
    windows = _windows(site)
    sizes, step = np.abs(windows), np.finfo(windows.dtype).eps
    rounding = step * sizes.max(-1)
    smallest = np.where(sizes > 0, sizes, np.inf).min(-1)
    cancels = np.abs(windows.sum(-1)) <= windows.shape[-1] * rounding
    return _by_place(cancels & (smallest < rounding))


def overflowing(x: Array) -> Any:
    """∞ or NaN, or twice as much would be."""
    return ~np.isfinite(x + x)


def interpolated(point: Point) -> Point:
    """A point of a Resize that computes weighted sums."""
    return lambda site: point(site) & (getattr(site.block, "mode", "") != "nearest")


def _by_place(found: Any) -> Any:
    return found.any(axis=tuple(range(1, found.ndim)))


def _windows(site: Site) -> Array:
    """The windows of a pooling in arrays (N, C, lengths…): (N, C, places…, elements)."""
    block: Any = site.block
    from gradwire.blocks.library.convolution.windows import each  # blocks that are there by now

    window, dilation = each(block.window), each(block.dilation)
    reach = tuple(d * (k - 1) + 1 for k, d in zip(window, dilation, strict=True))
    axes = tuple(range(2, 2 + len(window)))
    windows = sliding_window_view(site.x, reach, axis=axes)
    places: tuple[Any, ...] = (..., *(slice(None, None, d) for d in dilation))
    seen: Array = windows[places]
    return seen.reshape(*seen.shape[: -len(window)], math.prod(window))
