"""Sums, means, extremes and norms along axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.meanings import reductions
from gradwire.runtime.interchange.importing.meanings.shapes import diagonal, squeeze
from gradwire.runtime.interchange.importing.staged import put
from gradwire.runtime.interchange.importing.torch.operators.shapes import cat
from gradwire.runtime.interchange.importing.torch.operators.table import Operator, axes, enter

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged

Dim: TypeAlias = "int | Sequence[int] | None"
TOO_FEW = (
    "This variance is NaN, 0 ÷ 0: it divides by one less than the number of elements, which is 1. "
    "Give it more of them, or unbiased=False (correction=0)."
)
"""What is said of a variance, or standard deviation, of one element."""


def _over(x: Staged, dim: Dim) -> tuple[int, ...]:
    """The axes of a reduction: none of a tensor without axes, whichever are named."""
    return axes(dim, x.ndim) if x.ndim else ()


def _reduced(kind: str, x: Staged, dim: Dim = None, keepdim: bool = False) -> Staged:
    return reductions.reduce(kind, x, _over(x, dim), keepdim)


def _typed(reduced: Callable[..., Staged], of_bool: str = "bool") -> Operator:
    """In a dtype, and with results in it, where one is given; booleans in one of their own."""

    def row(x: Staged, *args: Any, dtype: str | None = None, **more: Any) -> Staged:
        own = of_bool if x.dtype == "bool" else x.dtype
        y = reduced(x.stage.cast(x, dtype or own), *args, **more)
        return y if dtype is None else x.stage.cast(y, dtype)

    return row


def _sum(kind: str, of_bool: str = "bool") -> Operator:
    return _typed(partial(_reduced, kind), of_bool)


def _truth(kind: str) -> Operator:
    return lambda x, dim=None, keepdim=False: _reduced(kind, x.stage.cast(x, "bool"), dim, keepdim)


def _variance(root: bool) -> Callable[..., Staged]:
    def row(
        x: Staged,
        dim: Dim | bool = None,
        correction: float | bool | None = 1,
        keepdim: bool = False,
        unbiased: bool | None = None,
    ) -> Staged:
        if isinstance(dim, bool):  # var(x, unbiased)
            dim, correction = None, dim
        correction = correction if unbiased is None else unbiased
        less = 1.0 if correction is None else float(correction)
        over = axes(dim, x.ndim)
        if math.prod(x.shape[axis] for axis in over) == less == 1:
            x.stage.remark("note", TOO_FEW)
        return reductions.variance(x, over, less, keepdim, root)

    return row


def _with_mean(row: Callable[..., Staged]) -> Operator:
    def both(x: Staged, dim: Dim | bool = None, **more: Any) -> list[Staged]:
        over = axes(None if isinstance(dim, bool) else dim, x.ndim)
        mean = put("Mean", x, axis=over, keepdims=more.get("keepdim", False))
        return [row(x, dim, **more), mean]

    return both


def _matrix_norm(
    x: Staged, order: float | str | None = None, dim: Dim = None, keepdim: bool = False
) -> Staged:
    """The p-norm of a vector, or a norm of matrices."""
    over = axes(dim, x.ndim)
    if order in (None, "fro") or len(over) == 1:
        return reductions.norm(x, order, _over(x, dim), keepdim)
    if isinstance(order, str) or abs(order) not in (1, math.inf):
        raise UnsupportedError("linalg_norm", f"of order {order} of matrices")
    summed, compared = over if abs(order) == 1 else over[::-1]
    sums = put("Sum", put("Abs", x), axis=(summed,), keepdims=True)
    y = put("Max" if order > 0 else "Min", sums, axis=(compared,), keepdims=True)
    return y if keepdim else squeeze(y, over)


enter({
    "sum": _sum("Sum", "int64"), "prod": _sum("Prod", "int64"), "mean": _sum("Mean"),
    "amax": _sum("Max"), "amin": _sum("Min"), "logsumexp": _sum("LogSumExp"),
    "any": _truth("AnyTrue"), "all": _truth("AllTrue"),
    "nansum": lambda x, *args, **more: _sum("Sum", "int64")(
        put("Where", put("IsNaN", x), x.like(0), x), *args, **more
    ),
    "count_nonzero": lambda x, dim=None: _reduced(
        "Sum", x.stage.cast(put("NotEqual", x, x.like(0)), "int64"), dim
    ),
    "aminmax": lambda x, *, dim=None, keepdim=False: [
        _reduced(kind, x, dim, keepdim) for kind in ("Min", "Max")
    ],
    "var.correction var.dim var": _variance(root=False),
    "std.correction std.dim std": _variance(root=True),
    "var_mean": _with_mean(_variance(root=False)), "std_mean": _with_mean(_variance(root=True)),
    "linalg_norm": _typed(_matrix_norm),
    "norm linalg_vector_norm": _typed(lambda x, order=2, dim=None, keepdim=False: (
        reductions.norm(x, order, _over(x, dim), keepdim)
    )),
    "dist": lambda a, b, p=2: reductions.norm(a - b, p),
    "cumsum": _typed(partial(reductions.running, "CumulativeSum"), "int64"),
    "cumprod": _typed(partial(reductions.running, "CumulativeProduct")),
    "logcumsumexp": reductions.running_log_sum_exp,
    "diff": lambda x, n=1, dim=-1, prepend=None, append=None: reductions.differences(
        cat([part for part in (prepend, x, append) if part is not None], dim), dim, n
    ),
    "trace": lambda x: put("Sum", diagonal(x)),
})  # fmt: skip
