"""Regions of scalars as one straight-line Python function on floats.

A Python float multiply costs a twentieth of a numpy call. Arithmetic inside a region is float64
and rounded to the dtype of a result when it leaves: a float32 result can differ from the plain
plan's by the rounding that was not done, at most a few units in the last place per operation,
and what leaves the range of float32 on the way alone stays finite. Where a number jumps (in
comparisons, floor, ceil, round, casts), float32 operands are rounded first: what is shown as equal
compares as equal. Where Python raises and IEEE 754 would give inf or NaN (division by zero,
overflow of float64, log 0), the region runs by its plain tasks, so those values are exact.

The source is made of this module's table and numbered names alone; nothing of a diagram is in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from ctypes import c_float
from typing import TYPE_CHECKING, Any

import numpy as np

from runtime.calculus.dtypes import NUMPY
from runtime.engine.plan.passes.regions import Region, partition, readers_of, results_of
from runtime.engine.plan.tasks import Arrays, PlainTask, Step, Task

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
    "floor_divide": "({0}//{1})",
    "remainder": "({0}%{1})",
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
    "logical_and": "({0} and {1})",
    "logical_or": "({0} or {1})",
    "logical_not": "(not {0})",
    "where": "({1} if {0} else {2})",
}
"""Expressions that use each operand once, so that an operand may be an expression itself."""

COMPARISONS = {
    "equal": "==",
    "not_equal": "!=",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
}
"""Operators between two numbers."""

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

_ROUNDED = frozenset({"floor_divide", "remainder", "floor", "ceil", "round"})
"""What jumps at numbers that a float32 can be: operands are rounded first, as those of casts."""

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
    known = any(value.primitive.name in table for table in (EXPRESSIONS, COMPARISONS, STATEMENTS))
    known = known or value.primitive.name == "cast"
    fits = known and all(x.shape == () and x.dtype in _DTYPES for x in (value, *task.inputs))
    return "scalars" if fits else None


class ScalarTask(Task):
    """A region of scalar tasks as one function."""

    def __init__(self, tasks: Sequence[PlainTask], values: Sequence[Value]) -> None:
        self.tasks = tasks
        self.values = values
        made = {task.value for task in tasks}
        self.inputs = list(dict.fromkeys(x for t in tasks for x in t.inputs if x not in made))

    @property
    def covers(self) -> Sequence[Value]:
        """The values of all its tasks."""
        return [task.value for task in self.tasks]

    def bind(self, arrays: Arrays) -> list[Step]:
        """One step; the plain steps behind it are made when they are first needed."""
        body = _Body(self.tasks, self.inputs, self.values)
        lines = [f" v{i}=i{i}()" for i in range(len(self.inputs))] + body.lines
        lines += [f" o{i}[()]={body.names[value]}" for i, value in enumerate(self.values)]
        bound: dict[str, Any] = {f"i{i}": arrays[x].item for i, x in enumerate(self.inputs)}
        bound |= {f"o{i}": arrays[x] for i, x in enumerate(self.values)}
        single = c_float()
        bound |= _FUNCTIONS | {"single": single, "order": _order(single)}
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


def _order(single: c_float) -> Callable[[float, float], float]:
    """``order(a, b)``: 1, 0, −1 or NaN for >, =, < or neither, both rounded to float32."""

    def order(a: float, b: float) -> float:
        single.value = a
        a = single.value
        single.value = b
        b = single.value
        if a == b:
            return 0.0
        return 1.0 if a > b else -1.0 if a < b else math.nan

    return order


class _Body:
    """Assignments in order; what is used once is written into the expression that uses it."""

    def __init__(
        self, tasks: Sequence[PlainTask], inputs: Sequence[Value], results: Sequence[Value]
    ) -> None:
        self.names = {value: f"v{i}" for i, value in enumerate(inputs)}
        self.lines: list[str] = []
        self._inputs = frozenset(inputs)
        self._rounded: dict[Value, str] = {}
        self._differences: dict[tuple[Value, Value], str] = {}
        held, uses = set(results), _uses(tasks)
        depth: dict[Value, int] = {}
        for number, task in enumerate(tasks, start=len(inputs)):
            value = task.value
            text = self._expression(value, task.inputs, number)
            deep = 1 + max((depth.get(x, 0) for x in task.inputs), default=0)
            if uses.get(value) == 1 and value not in held and deep < _DEEPEST:
                self.names[value], depth[value] = f"({text})", deep
                continue
            self.names[value] = f"v{number}"
            self.lines.append(f" v{number}={text}")

    def _expression(self, value: Value, inputs: Sequence[Value], number: int) -> str:
        name = value.primitive.name
        if name in COMPARISONS:
            return self._comparison(COMPARISONS[name], inputs[0], inputs[1], number)
        if name in _ROUNDED or (name == "cast" and value.dtype != "float32"):
            operands = [self._single(x, f"{number}_{slot}") for slot, x in enumerate(inputs)]
        else:
            operands = [self.names[x] for x in inputs]
        if name == "cast":
            if value.dtype == "bool":
                return f"{operands[0]}!=0" if inputs[0].dtype != "bool" else operands[0]
            return f"float({operands[0]})" if inputs[0].dtype == "bool" else operands[0]
        return (EXPRESSIONS.get(name) or STATEMENTS[name]).format(*operands)

    def _single(self, x: Value, number: str) -> str:
        """The name of a value that is rounded to its dtype."""
        if not self._unrounded(x):
            return self.names[x]
        if x not in self._rounded:
            self._rounded[x] = f"r{number}"
            self.lines += [f" single.value={self.names[x]}", f" r{number}=single.value"]
        return self._rounded[x]

    def _comparison(self, operator: str, a: Value, b: Value, number: int) -> str:
        """As it is, or of the difference to 0: rounding can matter only where that is small."""
        left, right = self.names[a], self.names[b]
        if not (self._unrounded(a) or self._unrounded(b)):
            return f"({left}{operator}{right})"
        if (b, a) in self._differences:
            return f"(0.0{operator}{self._differences[b, a]})"
        if (a, b) not in self._differences:
            self._differences[a, b] = name = f"d{number}"
            self.lines.append(f" {name}={left}-{right}")
            far = f"abs({name})>1e-6*abs({left})"
            self.lines.append(f" {name}={name} if {far} else order({left},{right})")
        return f"({self._differences[a, b]}{operator}0.0)"

    def _unrounded(self, x: Value) -> bool:
        return x.dtype == "float32" and x not in self._inputs


def _uses(tasks: Sequence[PlainTask]) -> dict[Value, int]:
    """How often each value is written; more than once where it must be a name."""
    uses: dict[Value, int] = {}
    for task in tasks:
        for x in task.inputs:
            uses[x] = uses.get(x, 0) + (1 if task.value.primitive.name in EXPRESSIONS else 2)
    return uses
