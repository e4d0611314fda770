"""A plan: what the numpy engine executes. Pruned, constants folded, buffers allocated once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from blocks.errors import Location, RunError
from runtime.calculus.dtypes import NUMPY
from runtime.calculus.primitives.base import CONSTANT, LEAF

if TYPE_CHECKING:
    from runtime.calculus import Value

Array = NDArray[Any]

_UNREAD: Array = np.empty(0)


class Plan:
    """Computes some values of a trace, given its leaves.

    Values that nothing asked for are pruned; those that depend on constants alone are computed
    here, once. Every other value has its own buffer, allocated here; views share. Not safe for
    use by several threads at once.
    """

    def __init__(self, outputs: Sequence[Value]) -> None:
        self.leaves: dict[Value, Array] = {}
        self._arrays: dict[Value, Array] = {}
        self._fixed: set[Value] = set()
        self._steps: list[Callable[[], Any]] = []
        self._owners: list[Any] = []
        with np.errstate(all="ignore"):
            for value in _needed(outputs):
                self._add(value)

    def run(self) -> None:
        """Execute; ``leaves`` must be filled. Raises RunError naming the block that failed."""
        position = -1
        try:
            with np.errstate(all="ignore"):
                for position, step in enumerate(self._steps):  # noqa: B007  # read below
                    step()
        except (IndexError, ValueError, MemoryError, ArithmeticError) as error:
            owner = self._owners[position]
            raise RunError(
                f"The run failed: {error}.", location=Location(block=owner) if owner else None
            ) from error

    def read(self, value: Value) -> Array:
        """A copy of a value's result: it never aliases a buffer or an input."""
        return np.array(self._arrays[value])

    def _add(self, value: Value) -> None:
        primitive = value.primitive
        if primitive is LEAF:
            self.leaves[value] = self._arrays[value] = np.empty(value.shape, NUMPY[value.dtype])
            return
        if primitive is CONSTANT:
            self._arrays[value] = value.attributes["array"]
            self._fixed.add(value)
            return
        inputs = [self._arrays.get(source, _UNREAD) for source in value.inputs]
        fixed = all(source in self._fixed for source in value.inputs)
        if primitive.view:
            array = primitive.kernel(*inputs, **value.attributes)
            if fixed or not array.size or np.may_share_memory(array, inputs[0]):
                self._keep(value, array, fixed)
                return
            out = np.empty(value.shape, NUMPY[value.dtype])
            step = partial(_copy, primitive.kernel, inputs[0], out, value.attributes)
        else:
            out = np.empty(value.shape, NUMPY[value.dtype])
            step = partial(primitive.kernel, *inputs, out=out, **value.attributes)
        if fixed and _succeeds(step):
            self._keep(value, out, True)
            return
        self._arrays[value] = out
        self._steps.append(step)
        self._owners.append(value.owner)

    def _keep(self, value: Value, array: Array, fixed: bool) -> None:
        self._arrays[value] = array
        if fixed:
            self._fixed.add(value)


def _copy(kernel: Callable[..., Array], x: Array, out: Array, attributes: Any) -> None:
    np.copyto(out, kernel(x, **attributes))


def _succeeds(step: Callable[[], Any]) -> bool:
    """Run a step on constants now; one that fails is left to fail in the run, with its place."""
    try:
        step()
    except (IndexError, ValueError, ArithmeticError):
        return False
    return True


def _needed(outputs: Sequence[Value]) -> list[Value]:
    """All values the outputs depend on, in the order of evaluation."""
    needed = set(outputs)
    pending = list(needed)
    while pending:
        value = pending.pop()
        for slot, source in enumerate(value.inputs):
            if source not in needed and slot not in value.primitive.unread:
                needed.add(source)
                pending.append(source)
    return sorted(needed, key=lambda value: value.index)
