"""Recognises what several blocks compute together, by the last of them: softmax, mean, GELU."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from blocks.block import Shape
    from runtime.interchange.importing.stage import Stage
    from runtime.interchange.importing.staged import Staged

Form: TypeAlias = "str | float | tuple[Form, ...]"
"""An expression: the letter x, a number, or the type of a block with the forms of its inputs."""
_COMMUTE = frozenset({"Add", "Mul"})
_CUBE: Final = ("Pow", "x", 3.0)
_INNER: Final = ("Mul", 0.7978846, ("Add", "x", ("Mul", 0.044715, _CUBE)))
_GELU_TANH: Final = ("Mul", "x", ("Mul", 0.5, ("Add", 1.0, ("Tanh", _INNER))))
_GELU: Final = (
    "Mul", ("Mul", 0.5, "x"), ("Sub", 1.0, ("Erf", ("Mul", ("Neg", "x"), 0.70710678)))
)  # fmt: skip


def recognised(stage: Stage, y: Staged) -> Staged:
    """The block that computes what ``y`` does, or ``y``; what it replaces is then left out."""
    for pattern in _PATTERNS.get(_kind(y), ()):
        found = pattern(stage, y)
        if found is not None:
            return found
    return y


def _kind(x: Staged) -> str:
    return "" if x.source is None else x.source.block.type_name()


def _inputs(x: Staged) -> list[Staged]:
    return [] if x.source is None else list(x.source.inputs.values())


def _axes(x: Staged) -> tuple[int, ...]:
    """The axes that a reduction is over."""
    assert x.source is not None
    (whole,) = _inputs(x)
    axis = getattr(x.source.block, "axis", None)
    if axis is None:
        return tuple(range(whole.ndim))
    return (axis,) if isinstance(axis, int) else tuple(axis)


def _bare(x: Staged) -> Staged:
    """What is reshaped."""
    while _kind(x) == "Reshape":
        (x,) = _inputs(x)
    return x


def _reduction(x: Staged, kind: str, of: Staged) -> tuple[int, ...] | None:
    """The axes over which ``x`` reduces ``of``, if it does and lies along it."""
    bare = _bare(x)
    if _kind(bare) != kind or _inputs(bare)[0] is not of:
        return None
    axes = _axes(bare)
    kept = tuple(1 if i in axes else n for i, n in enumerate(of.shape))
    return axes if _padded(x.shape, of.ndim) == kept else None


def _padded(shape: Shape, rank: int) -> Shape:
    return (1,) * (rank - len(shape)) + shape


def _shift(x: Staged) -> tuple[Staged, tuple[int, ...]] | None:
    """From ``x - stop(max(x))``: x and the axes."""
    if _kind(x) != "Sub":
        return None
    whole, stop = _inputs(x)
    stop = _bare(stop)
    if _kind(stop) != "StopGradient":
        return None
    highest = _bare(_inputs(stop)[0])
    if _kind(highest) == "Where":  # 0 where it is infinite
        highest = (
            _inputs(highest)[-1] if _inputs(highest)[1].array is not None else _inputs(highest)[1]
        )
    if _kind(highest) == "Maximum":  # with -inf
        highest = next((x for x in _inputs(highest) if x.array is None), highest)
    highest = _bare(highest)
    if _kind(highest) != "Max" or _inputs(highest)[0] is not whole:
        return None
    return whole, _axes(highest)


def _exponentials(x: Staged) -> tuple[Staged, tuple[int, ...]] | None:
    return _shift(_inputs(x)[0]) if _kind(x) == "Exp" else None


def _softmax(stage: Stage, y: Staged) -> Staged | None:
    """``exp(x - max) / sum(exp(x - max))``."""
    above, below = _inputs(y)
    found = _exponentials(above)
    if found is None or len(found[1]) != 1 or _reduction(below, "Sum", above) != found[1]:
        return None
    return stage.block("Softmax", found[0], axis=found[1][0])


def _log_softmax(stage: Stage, y: Staged) -> Staged | None:
    """``(x - max) - log(sum(exp(x - max)))``."""
    shifted, total = _inputs(y)
    found = _shift(shifted)
    total = _bare(total)
    if found is None or len(found[1]) != 1 or _kind(total) != "Log":
        return None
    sums = _bare(_inputs(total)[0])
    powers = _inputs(sums)[0] if _kind(sums) == "Sum" else sums
    if _exponentials(powers) != found or _axes(sums) != found[1]:
        return None
    return stage.block("LogSoftmax", found[0], axis=found[1][0])


def _log_sum_exp(stage: Stage, y: Staged) -> Staged | None:
    """``log(abs(sum(exp(x - max)))) + max``."""
    logarithm, highest = _inputs(y)
    if _kind(_bare(highest)) != "StopGradient" or _kind(logarithm) != "Log":
        return None
    sums = _inputs(logarithm)[0]
    if _kind(sums) == "Abs":
        (sums,) = _inputs(sums)
    bare = _bare(sums)
    found = _exponentials(_inputs(bare)[0]) if _kind(bare) == "Sum" else None
    if found is None or _axes(bare) != found[1] or y.size * _count(found) != found[0].size:
        return None
    keepdims = y.ndim == found[0].ndim
    return stage.block("LogSumExp", found[0], axis=found[1], keepdims=keepdims)


def _count(found: tuple[Staged, tuple[int, ...]]) -> int:
    """The number of elements that are reduced to one."""
    x, axes = found
    return int(np.prod([x.shape[axis] for axis in axes], dtype=np.int64))


def _mean(stage: Stage, y: Staged) -> Staged | None:
    """A sum divided by the number of its terms."""
    total, count = _inputs(y)
    if _kind(total) != "Sum" or count.array is None or count.size != 1:
        return None
    (x,) = _inputs(total)
    axes = _axes(total)
    if float(count.array.reshape(())) != _count((x, axes)):
        return None
    assert total.source is not None
    return stage.block("Mean", x, axis=getattr(total.source.block, "axis", None))


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
    inputs = _inputs(y)
    if _kind(y) != kind or len(inputs) != len(parts):
        return False
    for order in (inputs, inputs[::-1]) if kind in _COMMUTE else (inputs,):
        trial = dict(found)
        if all(_matches(x, part, trial) for x, part in zip(order, parts, strict=True)):
            found.update(trial)
            return True
    return False


_PATTERNS: dict[str, list[Callable[[Stage, Staged], Staged | None]]] = {
    "Add": [_log_sum_exp],
    "Div": [_softmax, _mean],
    "Mul": [_gelu],
    "Sub": [_log_softmax],
}
