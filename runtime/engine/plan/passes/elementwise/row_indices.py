"""One element of each row, by an index: that of a class among the scores of all classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.calculus.primitives.gather import ADD_ALONG, TAKE_ALONG, checked
from gradwire.runtime.engine.plan.graph import is_zero
from gradwire.runtime.engine.plan.tasks import PlainTask, Task

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value

Array = NDArray[Any]


def is_alone(task: Task) -> bool:
    """Whether all of a row is 0 but for the element of one index."""
    if not isinstance(task, PlainTask) or task.value.primitive is not ADD_ALONG:
        return False
    return is_zero(task.inputs[0]) and is_one_for_each(task)


def is_one_for_each(task: PlainTask) -> bool:
    """Whether a task reads or writes one element of each row, by its index in it."""
    x, index = task.inputs[:2]
    last = len(x.shape) - 1
    fits = task.value.attributes["axis"] == last and index.shape == (*x.shape[:-1], 1)
    return fits and x.dtype in ("float32", "float64")


def indices_of(task: PlainTask) -> Sequence[Value]:
    """The indices by which a task reads or writes elements."""
    return task.inputs[1:2] if task.value.primitive in (TAKE_ALONG, ADD_ALONG) else ()


def count_from_0(indices: Array, length: int, out: Array) -> None:
    """Count indices from 0; raises IndexError for one that is out of range."""
    found = checked(indices, length).astype(np.intp)
    np.remainder(found, length, out=out, casting="unsafe")
