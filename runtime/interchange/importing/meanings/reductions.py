"""Reductions over axes, and totals so far."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.meanings.elementwise import log_add_exp
from gradwire.runtime.interchange.importing.staged import put

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged


def reduce(
    kind: str, x: Staged, axes: Sequence[int] | None = None, keepdims: bool = False
) -> Staged:
    """A block that reduces over axes: all of them for None, none for ()."""
    return x if axes == () else put(kind, x, axis=axes, keepdims=keepdims)


def norm(
    x: Staged,
    order: float | str | None = 2,
    axes: Sequence[int] | None = None,
    keepdims: bool = False,
) -> Staged:
    """The p-norm of the numbers along the axes."""
    if order in (None, 2, "fro"):
        return reduce("Norm", x, axes, keepdims) if x.ndim else put("Abs", x)
    size = put("Abs", x)
    if order == 1:
        return reduce("Sum", size, axes, keepdims)
    if order in (math.inf, -math.inf):
        return reduce("Max" if order == math.inf else "Min", size, axes, keepdims)
    if isinstance(order, str) or not order:
        raise UnsupportedError("norm", f"of order {order}")
    power = float(order)
    if power < 0:
        return reduce("Sum", size**power, axes, keepdims) ** (1 / power)
    return _power(reduce("Sum", _power(size, power), axes, keepdims), 1 / power)


def _power(x: Staged, power: float) -> Staged:
    """``x ** power``; the gradient at 0 is 0, where below 1 it would be infinite."""
    if power >= 1:
        return x**power
    zero = put("Equal", x, x.like(0))
    return put("Where", zero, x.like(0), put("Where", zero, x.like(1), x) ** power)


def mean_and_variance(x: Staged, axes: Sequence[int]) -> tuple[Staged, Staged]:
    """Mean and variance over axes, which stay with length 1."""
    mean, variance = (reduce(kind, x, tuple(axes), True) for kind in ("Mean", "Variance"))
    return mean, variance


def variance(
    x: Staged, axes: Sequence[int], less: float = 0.0, keepdims: bool = False, root: bool = False
) -> Staged:
    """The mean square distance from the mean, over ``n - less``; NaN where that is not above 0.

    Its ``root`` is a distance from the mean, whose gradient at 0 is 0.
    """
    count = math.prod(x.shape[axis] for axis in axes)
    left = count - less if count > less else math.nan
    if root and not math.isnan(left):
        x, axes = (x, axes) if x.ndim else (x.stage.reshape(x, (1,)), (0,))
        centred = x - put("Mean", x, axis=axes, keepdims=True)
        return put("Norm", centred, axis=axes, keepdims=keepdims) * (1 / math.sqrt(left))
    y = put("Variance", x, axis=axes, keepdims=keepdims)
    y = y if left == count else y * (count / left)
    return put("Sqrt", y) if root else y


def running(
    kind: str, x: Staged, axis: int, reverse: bool = False, exclusive: bool = False
) -> Staged:
    """The CumulativeSum or CumulativeProduct up to each element, with or without its own."""
    return put(kind, x, axis=axis, reverse=reverse, exclusive=exclusive)


def running_log_sum_exp(x: Staged, axis: int, reverse: bool = False) -> Staged:
    """Logarithms of the sums of exponentials up to each."""
    return running_by(log_add_exp, x, axis, reverse)


def running_by(
    function: Callable[[Staged, Staged], Staged], x: Staged, axis: int, reverse: bool = False
) -> Staged:
    """All elements up to each put together, by doubling the reach: log2(n) times."""
    length, reach, axis = x.shape[axis], 1, axis % x.ndim
    while reach < length:
        low, high = (x.stage.cut(x, axis, 0, length - reach), x.stage.cut(x, axis, reach, length))
        near, far = (low, high) if reverse else (high, low)
        ends = (length - reach, None) if reverse else (0, reach)
        parts = [x.stage.cut(x, axis, *ends), function(near, far)]
        x = put("Concat", *(parts[::-1] if reverse else parts), axis=axis)
        reach *= 2
    return x


def differences(x: Staged, axis: int = -1, times: int = 1) -> Staged:
    """Differences of neighbours, and of these."""
    for _step in range(times):
        after, before = x.stage.cut(x, axis, 1, None), x.stage.cut(x, axis, 0, -1)
        x = put("Xor", after, before) if x.dtype == "bool" else after - before
    return x
