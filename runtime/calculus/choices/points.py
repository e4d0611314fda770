"""Points at which systems differ: tests of the numbers around a block.

``POINTS`` has those that the table of choices names; the functions are what several of them need.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from gradwire.blocks.importing.kinds import is_clip
from gradwire.runtime.calculus.dtypes import SIGNED, UNSIGNED

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus.choices.choice import Site

Point = Callable[["Site"], "Array"]


def any_input(test: Callable[[Array], Array]) -> Point:
    """Some float input passes a test."""

    def at(site: Site) -> Array:
        found = [np.asarray(test(x)) for x in site.floats]
        rows = [each.any(axis=tuple(range(1, each.ndim))) for each in found]
        if len({row.shape for row in rows}) > 1:
            return np.array(any(map(np.any, rows)))
        return np.asarray(np.logical_or.reduce(rows))

    return at


def dtype_of(*names: str) -> Point:
    """Some input has one of these dtypes, also where its rows have no elements."""
    return lambda site: np.full(site.x.shape[:1], any(x.dtype.name in names for x in site.inputs))


def not_finite(site: Site) -> Array:
    """The gradient that arrives is ∞ or NaN."""
    return np.asarray(site.everywhere() & ~np.isfinite(_arriving(site)))


def infinite(site: Site) -> Array:
    """The gradient that arrives is ∞."""
    return np.asarray(site.everywhere() & np.isinf(_arriving(site)))


def nothing_arrives(site: Site) -> Array:
    """The gradient that arrives is 0."""
    return np.asarray(site.everywhere() & (_arriving(site) == 0))


def _arriving(site: Site) -> Array | float:
    """By element where the output has the shape of the input, else that of any element."""
    if site.arriving.shape in ((), site.x.shape):
        return site.arriving
    bad = site.arriving[~np.isfinite(site.arriving)]
    return bad[0] if bad.size else site.arriving.ravel()[0] if site.arriving.size else 1.0


def overflowing_power(site: Site) -> Array:
    """An integer to a power that its dtype does not hold."""
    a, b = site.a, site.b
    if a.dtype.kind not in "iu":
        return site.everywhere(False)
    return np.asarray(np.abs(a.astype(float)) ** b.astype(float) >= float(np.iinfo(a.dtype).max))


def limit(site: Site) -> Array:
    """The input lies on a limit of a Clip, where its gradient is 1."""
    block = site.block
    if not is_clip(block) or block.open:
        return site.everywhere(False)
    found = [site.x == bound for bound in (block.min, block.max) if bound is not None]
    return np.asarray(np.logical_or.reduce(found)) if found else site.everywhere(False)


def huge(x: Array) -> Array:
    """Finite, but the square is not."""
    return np.asarray(np.isfinite(x) & ~np.isfinite(x * x))


def _ordinary(x: Array) -> Any:
    """Finite and not 0."""
    return np.asarray(np.isfinite(x) & (x != 0))


def subnormal(x: Array) -> Array:
    """Not 0, and below the smallest normal number."""
    return np.asarray((np.abs(x) < np.finfo(x.dtype).tiny) & (x != 0))


def huge_half(site: Site) -> Array:
    """Elements of a float16 whose squares it does not hold."""
    return np.asarray(site.everywhere(site.x.dtype == np.float16) & huge(site.x))


def vanishing(x: Array) -> Array:
    """Not 0, but no longer a normal number, or the smallest."""
    return np.asarray((np.abs(x) <= np.finfo(x.dtype).tiny) & (x != 0))


def square_lost(site: Site) -> Array:
    """The square of a finite b that is not 0 is 0 or infinite."""
    b = site.b
    return np.asarray(_ordinary(b) & ((b * b == 0) | np.isinf(b * b)))


def set_twice(site: Site) -> Array:
    """Indices of a block that sets elements repeat, along its axis."""
    # Only scatter blocks, which have an axis and a mode, name this point.
    indices, axis = site.inputs[1], site.block.axis  # type: ignore[attr-defined]
    along = axis if site.block.type_name() == "ScatterAlong" else 0
    ordered = np.sort(indices % max(1, site.x.shape[axis]), along)
    repeats = np.any(np.diff(ordered, axis=along) == 0)
    return site.everywhere(bool(repeats) and site.block.mode == "set")  # type: ignore[attr-defined]


def lone_square_lost(site: Site) -> Array:
    """The only element along the axis is neither 0 nor infinite, but its square is."""
    x = site.x
    if x.dtype.kind != "f" or x.shape[-1:] != (1,):
        return site.everywhere(False)
    lost = ~np.isfinite(x * x) | (x * x < np.finfo(x.dtype).tiny)
    return np.asarray(lost & _ordinary(x))


def tied_windows(site: Site) -> Array:
    """Windows whose largest element is there twice, or that have NaN."""
    windows = _windows(site)
    largest = windows == windows.max(-1, keepdims=True)
    return _by_place((largest.sum(-1) > 1) | np.isnan(windows).any(-1))


def cancelling_windows(site: Site) -> Array:
    """Windows whose numbers cancel but for rounding, in which a smaller one is lost."""
    windows = _windows(site)
    sizes, step = np.abs(windows), np.finfo(windows.dtype).eps
    rounding = step * sizes.max(-1)
    smallest = np.where(sizes > 0, sizes, np.inf).min(-1)
    cancels = np.abs(windows.sum(-1)) <= windows.shape[-1] * rounding
    return _by_place(cancels & (smallest < rounding))


def _by_place(found: Array) -> Array:
    return np.asarray(found.any(axis=tuple(range(1, found.ndim))))


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


def _smoothed(point: Point) -> Point:
    """A point of a Resize that computes weighted sums."""
    return lambda site: point(site) & (getattr(site.block, "mode", "") != "nearest")


def _saturated(site: Site) -> Any:
    """A probability within a rounding step of 0 or 1, where that has no gradient."""
    step = np.finfo(site.x.dtype).eps
    return np.asarray(getattr(site.block, "clips", False) & ((site.x < step) | (site.x > 1 - step)))


def _no_length(site: Site) -> Any:
    """A row of an input is 0."""
    return np.asarray((site.a == 0).all(-1) | (site.b == 0).all(-1))


def _half(site: Site) -> Any:
    """The input is a float16."""
    return site.everywhere(site.x.dtype == np.float16)


def _lost_length(site: Site) -> Any:
    """The length of a row is infinite in float16."""
    lengths = np.linalg.norm(site.x.astype(float), axis=-1)
    return (site.x.dtype == np.float16) & np.isinf(lengths.astype(np.float16))


POINTS: Mapping[str, Point] = {
    "everywhere": lambda s: s.everywhere(),
    "∞ arrives": infinite,
    "∞ or NaN arrives": not_finite,
    "by norm, where ∞ arrives": lambda s: infinite(s) & (getattr(s.block, "by", "") == "norm"),
    "0 · ∞ further back": lambda s: s.everywhere(False),
    "x = 0": lambda s: s.x == 0,
    "x = −1": lambda s: s.x == -1,
    "x = 1 or x = −1": lambda s: np.abs(s.x) == 1,
    "x = NaN": lambda s: np.isnan(s.x),
    "x = ∞ or x = −∞": lambda s: np.isinf(s.x),
    "x = ∞, or nearly": lambda s: np.isinf(s.x * s.x) & (s.x > 0),
    "x = min or x = max": limit,
    "x = 0 where 0 arrives, as behind a Where": lambda s: (s.x == 0) & nothing_arrives(s),
    "x so large that 1 − out is lost in rounding where ∞ arrives": (
        lambda s: infinite(s) & (np.abs(s.x) > 8)
    ),
    "x < −5, where Φ is lost in rounding and ∞ arrives": lambda s: infinite(s) & (s.x < -5),
    "x² is not finite": lambda s: ~np.isfinite(s.x * s.x),
    "|x| so large that its square is infinite": lambda s: huge(s.x),
    "|x| so large that its square is infinite where ∞ arrives": lambda s: infinite(s) & huge(s.x),
    "|x| so large that its cube is infinite in float16": (
        lambda s: _half(s) & np.isinf(s.x * s.x * s.x)
    ),
    "a square that float16 does not hold where ∞ arrives": lambda s: infinite(s) & huge_half(s),
    "squares that float16 does not hold": huge_half,
    "sums that float16 does not hold on the way": (
        lambda s: (s.x.dtype == np.float16) & any_input(huge)(s)
    ),
    "a length that float16 does not hold": _lost_length,
    "a = b": lambda s: s.a == s.b,
    "a = ±∞": lambda s: np.isinf(s.a),
    "a < 0": lambda s: s.a < 0,
    "a = 0 and b ≥ 0": lambda s: (s.a == 0) & (s.b >= 0),
    "a = 0 and b < 0": lambda s: (s.a == 0) & (s.b < 0),
    "b = 0": lambda s: s.b == 0,
    "b = 0 and a = 0 or NaN": lambda s: (s.b == 0) & ((s.a == 0) | np.isnan(s.a)),
    "b = 0 where ∞ or NaN arrives": lambda s: (s.b == 0) & not_finite(s),
    "b so small or large that b² is 0 or ∞": square_lost,
    "b so small or large that a/b² is 0 or ∞ where 0 or ∞ arrives": (
        lambda s: (nothing_arrives(s) | not_finite(s)) & ~_ordinary(s.a / s.b / s.b)
    ),
    "a / b is infinite": lambda s: np.isfinite(s.a) & (s.b != 0) & np.isinf(s.a / s.b),
    "a = b = 0 (or a² + b² so small that it is 0)": lambda s: s.a * s.a + s.b * s.b == 0,
    "a² + b² is 0 or infinite": (
        lambda s: np.isfinite(s.a) & np.isfinite(s.b) & ~_ordinary(s.a * s.a + s.b * s.b)
    ),
    "a or b subnormal where ∞ arrives": (lambda s: infinite(s) & (subnormal(s.a) | subnormal(s.b))),
    "a side is NaN": any_input(np.isnan),
    "a side is 0": _no_length,
    "a side is 0 in float16": lambda s: (s.x.dtype == np.float16) & _no_length(s),
    "a side is 0, the other infinite or NaN": (
        lambda s: _no_length(s) & ~np.isfinite(s.a + s.b).all(-1)
    ),
    "a difference of NaN": lambda s: np.isnan(s.a - s.b),
    "a logit is infinite (or overflows times the target)": lambda s: ~np.isfinite(s.a * s.a),
    "a probability that is 1 in rounding where ∞ arrives": lambda s: infinite(s) & _half(s),
    "probability 0 or 1": _saturated,
    "the squares overflow": any_input(huge),
    "an element is infinite, or its square": any_input(lambda x: ~np.isfinite(x * x)),
    "an element or a product is infinite, NaN or subnormal": any_input(
        lambda x: ~np.isfinite(x * x) | vanishing(x)
    ),
    "an element is ∞ or NaN, or sums overflow": _smoothed(any_input(lambda x: ~np.isfinite(x + x))),
    "elements where ∞ or NaN arrives": _smoothed(not_finite),
    "elements of which none is 0 and the product is infinite or vanishes": (
        lambda s: np.any(~np.isfinite(s.x * s.x) | vanishing(s.x), -1) & np.all(s.x != 0)
    ),
    "elements whose product is infinite where 0 arrives": (
        lambda s: np.any(~np.isfinite(s.x * s.x), -1) & nothing_arrives(s).any(-1)
    ),
    "elements so small that x / length vanishes where ∞ arrives": (
        lambda s: infinite(s) & np.any(vanishing(s.x), -1, keepdims=True)
    ),
    "numbers that cancel, beside which others are lost in rounding": cancelling_windows,
    "ties or NaN in a window": tied_windows,
    "length 0": lambda s: s.along(s.x == 0),
    "length 0 where ∞ or NaN arrives": lambda s: s.along(s.x == 0) & not_finite(s),
    "a single element whose square overflows or vanishes": lone_square_lost,
    "a place that is set twice": set_twice,
    "both are true": lambda s: np.equal(s.a, True) & np.equal(s.b, True) & (s.a.dtype == bool),
    "booleans": dtype_of("bool"),
    "integers": dtype_of(*SIGNED, *UNSIGNED),
    "integers and booleans": dtype_of("bool", *SIGNED, *UNSIGNED),
    "narrow integers": dtype_of(*SIGNED[:3], *UNSIGNED[:3]),
    "uint8": dtype_of("uint8"),
    "uint8, uint16 and uint32": dtype_of(*UNSIGNED[:3]),
    "a product of uint32 from 2⁶³ on": dtype_of("uint32"),
    "uint64": dtype_of("uint64"),
    "int64 and uint64": dtype_of("int64", "uint64"),
    "large int64 and uint64": (
        lambda s: s.everywhere(s.x.dtype in (np.int64, np.uint64)) & (np.abs(s.x) >= 100)
    ),
    "an integer power that overflows": overflowing_power,
}
"""By what the table calls them."""
