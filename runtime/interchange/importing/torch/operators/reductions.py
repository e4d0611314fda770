"""Sums, means, extremes and norms along axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.torch.operators.shapes import cat, diagonal
from gradwire.runtime.interchange.importing.torch.operators.table import axes, operator

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Staged

Dim: TypeAlias = "int | Sequence[int] | None"
_SAME = {
    "sum": "Sum",
    "mean": "Mean",
    "amax": "Max",
    "amin": "Min",
    "logsumexp": "LogSumExp",
    "prod": "Prod",
    "any": "AnyTrue",
    "all": "AllTrue",
}


def _reduced(stage: Stage, kind: str, x: Staged, dim: Dim, keepdim: bool) -> Staged:
    return stage.block(kind, x, axis=axes(dim, x.ndim), keepdims=keepdim) if x.ndim else x


def _enter(name: str, kind: str) -> None:
    @operator(name)
    def _(
        stage: Stage, x: Staged, dim: Dim = None, keepdim: bool = False, dtype: Any = None
    ) -> Staged:
        if isinstance(dtype, str):
            x = stage.cast(x, dtype)
        elif kind in ("AnyTrue", "AllTrue"):
            x = stage.cast(x, "bool")
        elif kind in ("Sum", "Prod") and x.dtype == "bool":
            x = stage.cast(x, "int64")
        return _reduced(stage, kind, x, dim, keepdim)


for _name, _kind in _SAME.items():
    _enter(_name, _kind)


TOO_FEW = (
    "This variance is NaN, 0 ÷ 0: it divides by one less than the number of elements, which is 1. "
    "Give it more of them, or unbiased=False (correction=0)."
)
"""What is said of a variance, or standard deviation, of one element."""


@operator("var.correction", "var.dim", "var")
def var(
    stage: Stage,
    x: Staged,
    dim: Dim | bool = None,
    correction: float | bool | None = 1,
    keepdim: bool = False,
    unbiased: bool | None = None,
) -> Staged:
    """The mean square distance from the mean, over ``n - correction``."""
    over, count, left = _divided(stage, x, dim, correction, unbiased)
    biased = stage.block("Variance", x, axis=over, keepdims=keepdim)
    return biased if left == count else biased * (count / left)


def _divided(
    stage: Stage,
    x: Staged,
    dim: Dim | bool,
    correction: float | bool | None,
    unbiased: bool | None,
) -> tuple[tuple[int, ...], int, float]:
    """The axes of a variance, how many elements they have, and by what it is divided."""
    if isinstance(dim, bool):  # var(x, unbiased)
        dim, correction = None, dim
    if unbiased is not None:
        correction = unbiased
    less = 1.0 if correction is None else float(correction)
    over = axes(dim, x.ndim)
    count = math.prod(x.shape[axis] for axis in over)
    if count == less == 1:
        stage.remark("note", TOO_FEW)
    return over, count, count - less if count > less else math.nan


@operator("std.correction", "std.dim", "std")
def std(
    stage: Stage,
    x: Staged,
    dim: Dim | bool = None,
    correction: float | bool | None = 1,
    keepdim: bool = False,
    unbiased: bool | None = None,
) -> Staged:
    """The square root of the variance, as a distance from the mean: its gradient at 0 is 0."""
    over, _, left = _divided(stage, x, dim, correction, unbiased)
    if math.isnan(left):  # of too few elements: NaN, with its gradient
        return stage.block("Sqrt", stage.block("Variance", x, axis=over, keepdims=keepdim) * left)
    if not x.ndim:
        over, x = (0,), stage.reshape(x, (1,))
    centred = x - stage.block("Mean", x, axis=over, keepdims=True)
    return stage.block("Norm", centred, axis=over, keepdims=keepdim) * (1 / math.sqrt(left))


@operator("var_mean")
def var_mean(stage: Stage, x: Staged, dim: Dim = None, **kwargs: Any) -> list[Staged]:
    """Variance and mean."""
    mean = stage.block("Mean", x, axis=axes(dim, x.ndim), keepdims=kwargs.get("keepdim", False))
    return [var(stage, x, dim, **kwargs), mean]


@operator("std_mean")
def std_mean(stage: Stage, x: Staged, dim: Dim = None, **kwargs: Any) -> list[Staged]:
    """Standard deviation and mean."""
    mean = stage.block("Mean", x, axis=axes(dim, x.ndim), keepdims=kwargs.get("keepdim", False))
    return [std(stage, x, dim, **kwargs), mean]


@operator("linalg_norm")
def linalg_norm(
    stage: Stage,
    x: Staged,
    order: float | str | None = None,
    dim: Dim = None,
    keepdim: bool = False,
    dtype: Any = None,
) -> Staged:
    """The p-norm of a vector, or a norm of matrices."""
    over = axes(dim, x.ndim)
    if order in (None, "fro") or len(over) == 1:
        return norm(stage, x, order, dim, keepdim)
    if isinstance(order, str) or abs(order) not in (1, math.inf):
        raise UnsupportedError("linalg_norm", f"of order {order} of matrices")
    summed, compared = over if abs(order) == 1 else over[::-1]
    sums = stage.block("Sum", stage.block("Abs", x), axis=(summed,), keepdims=True)
    y = stage.block("Max" if order > 0 else "Min", sums, axis=(compared,), keepdims=True)
    if keepdim:
        return y
    return stage.reshape(y, [n for i, n in enumerate(x.shape) if i not in over])


@operator("norm", "linalg_vector_norm")
def norm(
    stage: Stage,
    x: Staged,
    order: float | str | None = 2,
    dim: Dim = None,
    keepdim: bool = False,
    dtype: Any = None,
) -> Staged:
    """The p-norm of the numbers along the axes."""
    size = stage.block("Abs", x)
    if order in (None, 2, "fro"):
        return _reduced(stage, "Norm", x, dim, keepdim) if x.ndim else size
    if order == 1:
        return _reduced(stage, "Sum", size, dim, keepdim)
    if order in (math.inf, -math.inf):
        return _reduced(stage, "Max" if order == math.inf else "Min", size, dim, keepdim)
    if isinstance(order, str) or not order:
        raise UnsupportedError("norm", f"of order {order}")
    powers = _reduced(stage, "Sum", size ** float(order), dim, keepdim)
    return powers ** (1 / float(order))


@operator("nansum")
def nansum(
    stage: Stage, x: Staged, dim: Dim = None, keepdim: bool = False, dtype: Any = None
) -> Staged:
    """The sum of what is a number."""
    x = stage.cast(x, dtype) if isinstance(dtype, str) else x
    there = stage.block("Where", stage.block("IsNaN", x), x.like(0), x)
    return _reduced(stage, "Sum", there, dim, keepdim)


@operator("aminmax")
def aminmax(
    stage: Stage, x: Staged, *, dim: int | None = None, keepdim: bool = False
) -> list[Staged]:
    """The smallest and the largest number along an axis, or of all."""
    return [_reduced(stage, kind, x, dim, keepdim) for kind in ("Min", "Max")]


@operator("dist")
def dist(stage: Stage, a: Staged, b: Staged, p: float = 2) -> Staged:
    """The norm of a difference."""
    return norm(stage, a - b, p)


@operator("count_nonzero")
def count_nonzero(stage: Stage, x: Staged, dim: Dim = None) -> Staged:
    """How many numbers differ from 0."""
    there = stage.cast(stage.block("NotEqual", x, x.like(0)), "int64")
    return _reduced(stage, "Sum", there, dim, keepdim=False)


@operator("cumsum")
def cumsum(stage: Stage, x: Staged, dim: int, dtype: Any = None) -> Staged:
    """Sums of all numbers up to each."""
    x = stage.cast(x, dtype) if isinstance(dtype, str) else x
    x = stage.cast(x, "int64") if x.dtype == "bool" else x
    return stage.block("CumulativeSum", x, axis=dim)


@operator("cumprod")
def cumprod(stage: Stage, x: Staged, dim: int, dtype: Any = None) -> Staged:
    """Products of all numbers up to each."""
    x = stage.cast(x, dtype) if isinstance(dtype, str) else x
    return stage.block("CumulativeProduct", x, axis=dim)


@operator("logcumsumexp")
def logcumsumexp(stage: Stage, x: Staged, dim: int) -> Staged:
    """Logarithms of the sums of exponentials up to each."""
    top = stage.block(
        "StopGradient", stage.block("Max", x, axis=(dim % x.ndim,), keepdims=True),
        name="numerical stability",
    )  # fmt: skip
    total = stage.block("CumulativeSum", stage.block("Exp", x - top), axis=dim)
    return stage.block("Log", total) + top


@operator("diff")
def diff(
    stage: Stage,
    x: Staged,
    n: int = 1,
    dim: int = -1,
    prepend: Staged | None = None,
    append: Staged | None = None,
) -> Staged:
    """Differences of neighbours, where more numbers may come before and after."""
    parts = [part for part in (prepend, x, append) if part is not None]
    x = cat(stage, parts, dim)
    for _step in range(n):
        x = stage.cut(x, dim, 1, None) - stage.cut(x, dim, 0, -1)
    return x


@operator("trace")
def trace(stage: Stage, x: Staged) -> Staged:
    """The sum of the diagonal."""
    return stage.block("Sum", diagonal(stage, x))
