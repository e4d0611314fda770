"""Recognises what several blocks compute together, by the last of them, such as a softmax."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Staged


def kind_of(x: Staged) -> str:
    """The type of the block that gives a value; empty for constants."""
    return "" if x.source is None else x.source.block.type_name()


def inputs_of(x: Staged) -> list[Staged]:
    """What drives that block."""
    return [] if x.source is None else list(x.source.inputs.values())


def axes_of(x: Staged) -> tuple[int, ...]:
    """The axes that a reduction is over."""
    assert x.source is not None
    (whole,) = inputs_of(x)
    axis = getattr(x.source.block, "axis", None)
    if axis is None:
        return tuple(range(whole.ndim))
    return (axis,) if isinstance(axis, int) else tuple(axis)


def bare(x: Staged) -> Staged:
    """What is reshaped."""
    while kind_of(x) == "Reshape":
        (x,) = inputs_of(x)
    return x


Form: TypeAlias = "str | float | tuple[Form, ...]"
"""An expression: the letter x, a number, or the type of a block with the forms of its inputs."""
_COMMUTE = frozenset({"Add", "Mul"})
_CUBE: Final = ("Pow", "x", 3.0)
_INNER: Final = ("Mul", 0.7978846, ("Add", "x", ("Mul", 0.044715, _CUBE)))
_GELU_TANH: Final = ("Mul", "x", ("Mul", 0.5, ("Add", 1.0, ("Tanh", _INNER))))
_ROW_MEAN: Final = "row Mean"
"""A Mean over the last axis alone, which may be reshaped."""
_CENTRED: Final = ("Sub", "x", (_ROW_MEAN, "x"))
_VARIANCES: Final = (
    (_ROW_MEAN, ("Square", _CENTRED)),
    ("Sub", (_ROW_MEAN, ("Square", "x")), ("Square", (_ROW_MEAN, "x"))),
)
_GELU: Final = (
    "Mul", ("Mul", 0.5, "x"), ("Sub", 1.0, ("Erf", ("Mul", ("Neg", "x"), 0.70710678)))
)  # fmt: skip


def recognised(stage: Stage, y: Staged) -> Staged:
    """The block that computes what ``y`` does, or ``y``; what it replaces is then left out."""
    for pattern in _PATTERNS.get(kind_of(y), ()):
        found = pattern(stage, y)
        if found is not None:
            return found
    return y


def _reduction(x: Staged, kind: str, of: Staged) -> tuple[int, ...] | None:
    """The axes over which ``x`` reduces ``of``, if it does and lies along it."""
    reduced = bare(x)
    if kind_of(reduced) != kind or inputs_of(reduced)[0] is not of:
        return None
    axes = axes_of(reduced)
    kept = tuple(1 if i in axes else n for i, n in enumerate(of.shape))
    return axes if _padded(x.shape, of.ndim) == kept else None


def _padded(shape: Shape, rank: int) -> Shape:
    return (1,) * (rank - len(shape)) + shape


def _shift(x: Staged) -> tuple[Staged, tuple[int, ...]] | None:
    """From ``x - stop(max(x))``: x and the axes."""
    if kind_of(x) != "Sub":
        return None
    whole, stop = inputs_of(x)
    stop = bare(stop)
    if kind_of(stop) != "StopGradient":
        return None
    highest = bare(inputs_of(stop)[0])
    if kind_of(highest) == "Where":  # 0 where it is infinite
        highest = next((x for x in inputs_of(highest)[1:] if x.array is None), highest)
    if kind_of(highest) == "Maximum":  # with -inf
        highest = next((x for x in inputs_of(highest) if x.array is None), highest)
    highest = bare(highest)
    if kind_of(highest) != "Max" or inputs_of(highest)[0] is not whole:
        return None
    return whole, axes_of(highest)


def _exponentials(x: Staged) -> tuple[Staged, tuple[int, ...]] | None:
    return _shift(inputs_of(x)[0]) if kind_of(x) == "Exp" else None


def _softmax(stage: Stage, y: Staged) -> Staged | None:
    """``exp(x - max) / sum(exp(x - max))``."""
    above, below = inputs_of(y)
    found = _exponentials(above)
    if found is None or len(found[1]) != 1 or _reduction(below, "Sum", above) != found[1]:
        return None
    return stage.block("Softmax", found[0], axis=found[1][0])


def _log_softmax(stage: Stage, y: Staged) -> Staged | None:
    """``(x - max) - log(sum(exp(x - max)))``."""
    shifted, total = inputs_of(y)
    found = _shift(shifted)
    total = bare(total)
    if found is None or len(found[1]) != 1 or kind_of(total) != "Log":
        return None
    sums = bare(inputs_of(total)[0])
    powers = inputs_of(sums)[0] if kind_of(sums) == "Sum" else sums
    if _exponentials(powers) != found or axes_of(sums) != found[1]:
        return None
    return stage.block("LogSoftmax", found[0], axis=found[1][0])


def _log_sum_exp(stage: Stage, y: Staged) -> Staged | None:
    """``log(abs(sum(exp(x - max)))) + max``."""
    logarithm, highest = inputs_of(y)
    if kind_of(bare(highest)) != "StopGradient" or kind_of(logarithm) != "Log":
        return None
    sums = inputs_of(logarithm)[0]
    if kind_of(sums) == "Where":  # the size of a sum
        sums = inputs_of(sums)[1]
    total = bare(sums)
    found = _exponentials(inputs_of(total)[0]) if kind_of(total) == "Sum" else None
    if found is None or axes_of(total) != found[1] or y.size * _count(found) != found[0].size:
        return None
    keepdims = y.ndim == found[0].ndim
    return stage.block("LogSumExp", found[0], axis=found[1], keepdims=keepdims)


def _count(found: tuple[Staged, tuple[int, ...]]) -> int:
    """The number of elements that are reduced to one."""
    x, axes = found
    return int(np.prod([x.shape[axis] for axis in axes], dtype=np.int64))


def _mean(stage: Stage, y: Staged) -> Staged | None:
    """A sum divided by the number of its terms."""
    reshaped, count = inputs_of(y)
    total = bare(reshaped)
    if kind_of(total) != "Sum" or count.array is None or count.size != 1:
        return None
    (x,) = inputs_of(total)
    axes = axes_of(total)
    keepdims = reshaped is not total
    kept = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
    if float(count.array.reshape(())) != _count((x, axes)):
        return None
    if keepdims and _padded(reshaped.shape, x.ndim) != kept:
        return None
    assert total.source is not None
    axis = getattr(total.source.block, "axis", None)
    return stage.block("Mean", x, axis=axis, keepdims=keepdims)


def _gelu(stage: Stage, y: Staged) -> Staged | None:
    for form, kind in ((_GELU_TANH, "tanh"), (_GELU, "none")):
        found: dict[str, Staged] = {}
        if _matches(y, form, found):
            return stage.block("Gelu", found["x"], approximate=kind)
    return None


def _matches(y: Staged, form: Form, found: dict[str, Staged]) -> bool:
    """Whether an expression has a form; ``found`` gets what the letters stand for."""
    if isinstance(form, float):
        return y.array is not None and y.size == 1 and abs(float(y.array.max()) - form) < 1e-4
    if isinstance(form, str):
        return found.setdefault(form, y) is y
    kind, *parts = form
    if kind == _ROW_MEAN:
        y = bare(y)
        if kind_of(y) != "Mean" or axes_of(y) not in ((inputs_of(y)[0].ndim - 1,), (-1,)):
            return False
    inputs = inputs_of(y)
    if kind_of(y) != ("Mean" if kind == _ROW_MEAN else kind) or len(inputs) != len(parts):
        return False
    for order in (inputs, inputs[::-1]) if kind in _COMMUTE else (inputs,):
        trial = dict(found)
        if all(_matches(x, part, trial) for x, part in zip(order, parts, strict=True)):
            found.update(trial)
            return True
    return False


def _layer_norm(stage: Stage, y: Staged) -> Staged | None:
    """``(x - mean) / sqrt(variance + epsilon) * weight + bias``, with its factors in any order."""
    product, bias = inputs_of(y)
    above, below = _factors(product)
    centred = [factor for factor in above if kind_of(factor) == "Sub"]
    weights = [factor for factor in above if factor not in centred and factor.array is None]
    if len(centred) != 1 or len(weights) != 1 or len(below) != 1 or kind_of(below[0]) != "Sqrt":
        return None
    (total,), (weight,) = inputs_of(below[0]), weights
    found: dict[str, Staged] = {}
    if kind_of(total) != "Add" or not _matches(centred[0], _CENTRED, found):
        return None
    x, (variance, epsilon) = found["x"], inputs_of(total)
    if not weight.shape == bias.shape == x.shape[-1:] != ():
        return None
    variance = bare(variance)
    if kind_of(variance) == "Maximum":  # with 0, against rounding
        variance = next((bare(v) for v in inputs_of(variance) if v.array is None), variance)
    ones = [f for f in above if f.array is not None and bool((f.array == 1).all())]
    if len(ones) != len(above) - 2 or epsilon.array is None or epsilon.size != 1:
        return None
    if not any(_matches(variance, form, dict(found)) for form in _VARIANCES):
        return None
    number = float(f"{float(epsilon.array.reshape(())):.7g}")
    return stage.block("LayerNorm", x, weight, bias, epsilon=number)


def _factors(x: Staged) -> tuple[list[Staged], list[Staged]]:
    """The factors of a product above and below the line."""
    x = bare(x) if kind_of(bare(x)) in ("Mul", "Div") else x
    if kind_of(x) not in ("Mul", "Div"):
        return [x], []
    one, other = (_factors(factor) for factor in inputs_of(x))
    if kind_of(x) == "Div":
        other = other[::-1]
    return [*one[0], *other[0]], [*one[1], *other[1]]


_PATTERNS: dict[str, list[Callable[[Stage, Staged], Staged | None]]] = {
    "Add": [_log_sum_exp, _layer_norm],
    "Div": [_softmax, _mean],
    "Mul": [_gelu],
    "Sub": [_log_softmax],
}
