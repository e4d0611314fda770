"""Regions of scalars as one straight-line Python function on floats.

A Python float multiply costs a twentieth of a numpy call. Arithmetic inside a region is float64
and rounded to the dtype of a result when it leaves: a float32 result can differ from the plain
plan's by the rounding that was not done, at most a few units in the last place per operation.
Where Python raises and IEEE 754 would give inf or NaN (division by zero, overflow, log 0), the
region runs by its plain tasks, so those values are exact.

The source is made of this module's table and numbered names alone; nothing of a diagram is in it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from runtime.calculus.dtypes import NUMPY
from runtime.engine.lowerings.regions import Region, partition, readers_of, results_of
from runtime.engine.task import Arrays, PlainTask, Step, Task

if TYPE_CHECKING:
    from runtime.calculus import Value

SMALLEST = 4
"""Tasks from which a region is worth the way in and out."""

_DEEPEST = 12
"""How many operations are written into one expression."""

EXPRESSIONS = {
    "add": "({0}+{1})",
    "subtract": "({0}-{1})",
    "multiply": "({0}*{1})",
    "divide": "({0}/{1})",
    "power": "pow({0},{1})",
    "negative": "(-{0})",
    "abs": "abs({0})",
    "sqrt": "sqrt({0})",
    "exp": "exp({0})",
    "expm1": "expm1({0})",
    "log": "log({0})",
    "log1p": "log1p({0})",
    "sin": "sin({0})",
    "cos": "cos({0})",
    "tan": "tan({0})",
    "tanh": "tanh({0})",
    "arctan2": "atan2({0},{1})",
    "erf": "erf({0})",
    "sigmoid": "(1.0/(1.0+exp(-{0})))",
    "equal": "({0}=={1})",
    "not_equal": "({0}!={1})",
    "less": "({0}<{1})",
    "less_equal": "({0}<={1})",
    "greater": "({0}>{1})",
    "greater_equal": "({0}>={1})",
    "logical_and": "({0} and {1})",
    "logical_or": "({0} or {1})",
    "logical_not": "(not {0})",
    "where": "({1} if {0} else {2})",
}
"""Expressions that use each operand once, so that an operand may be an expression itself."""

STATEMENTS = {
    "square": "{0}*{0}",
    "maximum": "{0} if {0}>{1} or {0}!={0} else {1}",
    "minimum": "{0} if {0}<{1} or {0}!={0} else {1}",
    "relu": "{0} if {0}>0.0 or {0}!={0} else 0.0",
    "sign": "{0} if {0}!={0} else float(({0}>0.0)-({0}<0.0))",
    "floor": "copysign(floor({0}),{0})",
    "ceil": "copysign(ceil({0}),{0})",
    "round": "copysign(round({0}),{0})",
    "softplus": "log1p(exp(-abs({0})))+({0} if {0}>0.0 else 0.0)",
}
"""Expressions that use an operand several times: it must be a name."""

_FUNCTIONS: dict[str, Any] = {
    name: getattr(math, name)
    for name in (
        "pow", "sqrt", "exp", "expm1", "log", "log1p", "sin", "cos", "tan", "tanh", "atan2",
        "erf", "copysign", "floor", "ceil",
    )
} | {"abs": abs, "round": round, "float": float}  # fmt: skip
_RAISED = (ZeroDivisionError, OverflowError, ValueError)
_DTYPES = ("float32", "float64", "bool")


def scalars(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace every region of at least ``SMALLEST`` scalar tasks by one."""
    items = partition(tasks, _kind)
    if not any(isinstance(item, Region) and len(item.tasks) >= SMALLEST for item in items):
        return tasks
    readers = readers_of(items)
    result: list[Task] = []
    for item in items:
        if not isinstance(item, Region):
            result.append(item)
        elif len(item.tasks) < SMALLEST:
            result += item.tasks
        else:
            plain = [task for task in item.tasks if isinstance(task, PlainTask)]
            result.append(ScalarTask(plain, results_of(item, readers, kept)))
    return result


def _kind(task: Task) -> str | None:
    if not isinstance(task, PlainTask):
        return None
    value = task.value
    known = value.primitive.name in EXPRESSIONS or value.primitive.name in STATEMENTS
    if value.primitive.name == "cast":
        known = True
    fits = known and all(x.shape == () and x.dtype in _DTYPES for x in (value, *task.inputs))
    return "scalars" if fits else None


class ScalarTask(Task):
    """A region of scalar tasks as one function."""

    def __init__(self, tasks: Sequence[PlainTask], values: Sequence[Value]) -> None:
        self.tasks = tasks
        self.values = values
        made = {task.value for task in tasks}
        self.inputs = list(dict.fromkeys(x for t in tasks for x in t.inputs if x not in made))

    def bind(self, arrays: Arrays) -> list[Step]:
        """One step; the plain steps behind it are made when they are first needed."""
        names = {value: f"v{i}" for i, value in enumerate(self.inputs)}
        lines = [f" {name}=i{i}()" for i, name in enumerate(names.values())]
        lines += _body(self.tasks, names, set(self.values))
        lines += [f" o{i}[()]={names[value]}" for i, value in enumerate(self.values)]
        bound: dict[str, Any] = {f"i{i}": arrays[x].item for i, x in enumerate(self.inputs)}
        bound |= {f"o{i}": arrays[x] for i, x in enumerate(self.values)}
        bound |= _FUNCTIONS
        head = f"def region({','.join(f'{name}={name}' for name in bound)}):\n"
        scope = {**bound, "__builtins__": {}}
        exec(compile(head + "\n".join(lines), "<scalars>", "exec"), scope)
        fast: Step = scope["region"]
        plain: list[Step] = []

        def run() -> None:
            try:
                fast()
            except _RAISED:
                if not plain:
                    plain.extend(self._plain(arrays))
                for step in plain:
                    step()

        return [run]

    def _plain(self, arrays: Arrays) -> list[Step]:
        """The tasks one by one, with arrays of their own for what stays inside."""
        inside = dict(arrays)
        for task in self.tasks:
            if task.value not in arrays:
                inside[task.value] = np.empty((), NUMPY[task.value.dtype])
        return [step for task in self.tasks for step in task.bind(inside)]


def _body(tasks: Sequence[PlainTask], names: dict[Value, str], results: set[Value]) -> list[str]:
    """Assignments in order; what is used once is written into the expression that uses it."""
    uses: dict[Value, int] = {}
    for task in tasks:
        for x in task.inputs:
            uses[x] = uses.get(x, 0) + (1 if task.value.primitive.name in EXPRESSIONS else 2)
    depth: dict[Value, int] = {}
    lines = []
    for number, task in enumerate(tasks, start=len(names)):
        value = task.value
        operands = [names[x] for x in task.inputs]
        text = _expression(value, operands, task.inputs)
        deep = 1 + max((depth.get(x, 0) for x in task.inputs), default=0)
        if uses.get(value) == 1 and value not in results and deep < _DEEPEST:
            names[value], depth[value] = f"({text})", deep
            continue
        names[value] = f"v{number}"
        lines.append(f" v{number}={text}")
    return lines


def _expression(value: Value, operands: Sequence[str], inputs: Sequence[Value]) -> str:
    name = value.primitive.name
    if name == "cast":
        if value.dtype == "bool":
            return f"{operands[0]}!=0" if inputs[0].dtype != "bool" else operands[0]
        return f"float({operands[0]})" if inputs[0].dtype == "bool" else operands[0]
    template = EXPRESSIONS.get(name) or STATEMENTS[name]
    return template.format(*operands)
