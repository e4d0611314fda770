"""Computes a region of scalars operation by operation, with the arithmetic of its function.

Writing and compiling the function costs as much as some fifty runs of this, so that a region whose
plan runs a few times, as for a recording or after an edit, has none. Both round the same numbers at
the same places: their results have the same bits, unless one is not finite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from gradwire.runtime.engine.plan.passes.scalar.scalar_code import (
    BUILT_IN,
    expression_of,
    is_by_kernel,
    kernel_call,
    needs_rounding,
)
from gradwire.runtime.engine.plan.passes.scalar.scalar_memory import Outputs

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.plan.tasks import Arrays, PlainTask, Step

_PARAMETERS = ("a", "b", "c")
Function = Callable[..., Any]


def operation_by_operation(
    tasks: Sequence[PlainTask], inputs: Sequence[Value], results: Sequence[Value], arrays: Arrays
) -> Step:
    """A function that computes the tasks from the arrays of the inputs into those of the results.

    It raises ZeroDivisionError, OverflowError or ValueError where IEEE 754 has an infinity or NaN.
    """
    slots = {value: at for at, value in enumerate((*inputs, *(t.value for t in tasks)))}
    readers = [arrays[value].item for value in inputs]
    kinds: dict[tuple[str, ...], tuple[Function, bool]] = {}
    steps = []
    for task in tasks:
        kind = task.value.primitive.name, task.value.dtype, *[x.dtype for x in task.inputs]
        if kind not in kinds:
            kinds[kind] = _function(task), needs_rounding(task)
        steps.append((*kinds[kind], [slots[x] for x in task.inputs]))
    outputs = Outputs(results, arrays)
    targets = [(slots[value], *outputs.element(value)) for value in results]
    single = memoryview(bytearray(4)).cast("f")

    def run() -> None:
        numbers = [read() for read in readers]
        for function, is_rounded, sources in steps:
            number = function(*[numbers[at] for at in sources])
            if is_rounded:
                single[0] = number
                number = single[0]
            numbers.append(number)
        for at, block, place in targets:
            block[place] = numbers[at]

    return run


def _function(task: PlainTask) -> Function:
    """One operation on numbers of Python."""
    if is_by_kernel(task.value):
        call = kernel_call(task, 1)
        return lambda *numbers: call(*numbers)[0]
    parameters = _PARAMETERS[: len(task.inputs)]
    return _compiled(",".join(parameters), expression_of(task, parameters))


@cache
def _compiled(parameters: str, expression: str) -> Function:
    function: Function = eval(
        f"lambda {parameters}: {expression}", {**BUILT_IN, "__builtins__": {}}
    )
    return function
