"""Products, convolution and pooling."""

from __future__ import annotations

from collections.abc import Callable
from string import ascii_letters
from typing import TYPE_CHECKING

import numpy as np

from runtime.interchange.importing.imported import UnsupportedError
from runtime.interchange.importing.jax.operations.shapes import spread

if TYPE_CHECKING:
    from runtime.interchange.importing.jax.jaxprs import Params
    from runtime.interchange.importing.jax.operations.handlers import Whole
    from runtime.interchange.importing.stage import Stage
    from runtime.interchange.importing.staged import Staged


def dot_general(stage: Stage, params: Params, a: Staged, b: Staged) -> Staged:
    """Sums of products over some axes, for each element of the batch axes."""
    (over_a, over_b), (batch_a, batch_b) = params["dimension_numbers"]
    wanted = params.get("preferred_element_type")
    if not a.is_float and wanted is not None:
        a, b = (stage.cast(x, str(np.dtype(wanted))) for x in (a, b))
    product = _product(stage, a, b, over_a, over_b, batch_a, batch_b)
    if product is not None:
        return product
    subscripts = _subscripts(a.ndim, b.ndim, over_a, over_b, batch_a, batch_b)
    return stage.block("Einsum", a, b, subscripts=subscripts)


def _product(
    stage: Stage,
    a: Staged,
    b: Staged,
    over_a: tuple[int, ...],
    over_b: tuple[int, ...],
    batch_a: tuple[int, ...],
    batch_b: tuple[int, ...],
) -> Staged | None:
    """The MatMul that it is, if it is one."""
    if len(over_a) != 1:
        return None
    count = len(batch_a)
    leading = tuple(range(count))
    plain = tuple(batch_a) == tuple(batch_b) == leading
    if plain and not count and b.ndim == 2 and over_b[0] == 0 and over_a[0] == a.ndim - 1 >= 0:
        return a @ b
    if plain and a.ndim == b.ndim == count + 2:
        left = a if over_a[0] == count + 1 else stage.transpose(a, (*leading, count + 1, count))
        right = b if over_b[0] == count else stage.transpose(b, (*leading, count + 1, count))
        return left @ right
    if not count and a.ndim == b.ndim == 1:
        return a @ b
    return None


def _subscripts(
    rank_a: int,
    rank_b: int,
    over_a: tuple[int, ...],
    over_b: tuple[int, ...],
    batch_a: tuple[int, ...],
    batch_b: tuple[int, ...],
) -> str:
    """As of numpy.einsum: batch axes first, then the free axes of a, then those of b."""
    letters = iter(ascii_letters)
    names_a: dict[int, str] = {}
    names_b: dict[int, str] = {}
    for i, j in zip((*batch_a, *over_a), (*batch_b, *over_b), strict=True):
        names_a[i] = names_b[j] = next(letters)
    batch = "".join(names_a[i] for i in batch_a)
    free_a = [i for i in range(rank_a) if i not in names_a]
    free_b = [j for j in range(rank_b) if j not in names_b]
    names_a |= {i: next(letters) for i in free_a}
    names_b |= {j: next(letters) for j in free_b}
    out = batch + "".join(names_a[i] for i in free_a) + "".join(names_b[j] for j in free_b)
    left = "".join(names_a[i] for i in range(rank_a))
    right = "".join(names_b[j] for j in range(rank_b))
    return f"{left},{right}->{out}"


def conv_general_dilated(stage: Stage, params: Params, x: Staged, weight: Staged) -> Staged:
    """Cross-correlation of an image with filters, whatever the order of the axes."""
    axes = params["dimension_numbers"]
    if params["batch_group_count"] != 1 or x.ndim != 4:
        raise UnsupportedError("conv_general_dilated", "it is not over two axes")
    x, weight = stage.transpose(x, axes.lhs_spec), stage.transpose(weight, axes.rhs_spec)
    x, padding = _dilated(stage, x, params["lhs_dilation"], params["padding"])
    symmetric = all(before == after for before, after in padding)
    if not symmetric:
        x = stage.block("Pad", x, widths=((0, 0), (0, 0), *padding))
    y = stage.block(
        "Conv2D",
        x,
        weight,
        kernel=weight.shape[2:],
        stride=tuple(params["window_strides"]),
        padding=tuple(before for before, _ in padding) if symmetric else "valid",
        dilation=tuple(params["rhs_dilation"]),
        groups=params["feature_group_count"],
    )
    return stage.transpose(y, np.argsort(axes.out_spec).tolist())


def _dilated(
    stage: Stage, x: Staged, dilation: tuple[int, ...], padding: list[tuple[int, int]]
) -> tuple[Staged, list[tuple[int, int]]]:
    """An image with zeros between its elements, and without what negative padding cuts off."""
    kept = []
    for axis, (step, (low, high)) in enumerate(zip(dilation, padding, strict=True), 2):
        x = spread(stage, x, axis, step - 1, 0.0)
        x = stage.cut(x, axis, max(-low, 0), x.shape[axis] - max(-high, 0))
        kept.append((max(low, 0), max(high, 0)))
    return x, kept


def _pooled(kind: str) -> Callable[..., Staged]:
    def pooled(stage: Stage, params: Params, x: Staged) -> Staged:
        window, strides, padding = (
            list(params[key]) for key in ("window_dimensions", "window_strides", "padding")
        )
        dilated = any(d != 1 for key in ("base_dilation", "window_dilation") for d in params[key])
        over = [axis for axis, n in enumerate(window) if n != 1 or strides[axis] != 1]
        over += [axis for axis in range(x.ndim) if axis not in over][: max(0, 2 - len(over))]
        if dilated or len(over) != 2 or x.ndim != 4:
            raise UnsupportedError("reduce_window", "its window is not over two axes of an image")
        order = [axis for axis in range(4) if axis not in over] + sorted(over)
        y = stage.transpose(x, order)
        pairs = [padding[axis] for axis in sorted(over)]
        size = tuple(window[axis] for axis in sorted(over))
        y = _pool(stage, kind, y, size, tuple(strides[axis] for axis in sorted(over)), pairs)
        return stage.transpose(y, np.argsort(order).tolist())

    return pooled


def _pool(
    stage: Stage,
    kind: str,
    x: Staged,
    window: tuple[int, ...],
    stride: tuple[int, ...],
    padding: list[tuple[int, int]],
) -> Staged:
    value = -np.inf if kind == "MaxPool2D" else 0.0
    if any(any(pair) for pair in padding):
        x = stage.block("Pad", x, widths=((0, 0), (0, 0), *padding), value=value)
    y = stage.block(kind, x, window=window, stride=stride)
    return y if kind == "MaxPool2D" else y * float(np.prod(window))


def _pooled_least(stage: Stage, params: Params, x: Staged) -> Staged:
    return -_pooled("MaxPool2D")(stage, params, -x)


NETWORKS: dict[str, Whole] = {
    "conv_general_dilated": conv_general_dilated,
    "dot_general": dot_general,
    "reduce_window_max": _pooled("MaxPool2D"),
    "reduce_window_min": _pooled_least,
    "reduce_window_sum": _pooled("AvgPool2D"),
}
