"""The reductions of rows for which there is machine code."""

from __future__ import annotations

from gradwire.runtime.calculus.primitives.gather import TAKE_ALONG
from gradwire.runtime.calculus.primitives.reduce import LOG_SOFTMAX, LOGSUMEXP, MAX, MIN, SOFTMAX
from gradwire.runtime.engine.plan.passes.elementwise.row_indices import is_one_for_each
from gradwire.runtime.engine.plan.passes.elementwise.row_shapes import axes_reduced
from gradwire.runtime.engine.plan.tasks import PlainTask, Task

FOLDS = frozenset({"sum", "max", "min", "any", "all"})
"""The names of those of which numpy's function is a ufunc's."""

_OF_POWERS = frozenset({SOFTMAX, LOG_SOFTMAX, LOGSUMEXP})
_SLOW = _OF_POWERS | {MAX, MIN}


def is_reduction(task: Task) -> bool:
    """Whether a task makes one element of a row, or all of a row of the whole row."""
    primitive = task.values[0].primitive
    return primitive.name in FOLDS or primitive in _OF_POWERS | {TAKE_ALONG}


def is_slow_if_short(task: Task) -> bool:
    """Whether a task is a reduction for which numpy takes long where rows are short, or several
    passes, and for which there is code.
    """
    return isinstance(task, PlainTask) and task.value.primitive in _SLOW and reduces(task)


def reduces(task: PlainTask, axes: int = 1) -> bool:
    """Whether a reduction or softmax is along so many of the last axes, and of a dtype for which
    there is code.
    """
    value, source = task.value, task.inputs[0]
    if axes_reduced(task) != axes:
        return False
    if value.primitive in _OF_POWERS:
        return value.dtype == "float32"
    if value.primitive is TAKE_ALONG:
        return is_one_for_each(task)
    dtypes = ("bool",) if value.primitive.name in ("any", "all") else ("float32", "float64")
    return source.dtype in dtypes
