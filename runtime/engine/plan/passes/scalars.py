"""Regions of scalars as one straight-line Python function on floats.

A Python float multiply costs a twentieth of a numpy call. Every value is rounded to its dtype
before anything reads it, so it does not matter to any number what a region consists of:

- a float32 sum, difference, product, quotient or square root that is computed in float64 and
  then rounded has the bits that IEEE 754 asks for;
- the functions written here are within one unit in the last place of their kernels;
- those for which that would not hold are computed by their kernels.

Rounding costs as much as arithmetic: values that don't need each other are rounded in one call.
Where Python raises and IEEE 754 would give inf or NaN (division by zero, overflow, log 0), the
region runs by its plain tasks.

The source is made of this module's table and numbered names alone; nothing of a diagram is in it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from struct import Struct
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

_WIDEST = 32
"""How many values are rounded, or computed by a kernel, in one call."""

EXPRESSIONS = {
    "add": "({0}+{1})",
    "subtract": "({0}-{1})",
    "multiply": "({0}*{1})",
    "divide": "({0}/{1})",
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
    "equal": "({0}=={1})",
    "not_equal": "({0}!={1})",
    "less": "({0}<{1})",
    "less_equal": "({0}<={1})",
    "greater": "({0}>{1})",
    "greater_equal": "({0}>={1})",
}
"""Expressions that use each operand once, so that an operand may be an expression itself."""

STATEMENTS = {
    "square": "{0}*{0}",
    "power": "sqrt({0}) if {1}==0.5 else pow({0},{1})",
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

_EXACT = frozenset({
    "negative", "abs", "where", "maximum", "minimum", "relu", "sign", "floor", "ceil", "round",
})  # fmt: skip
"""What needs no rounding where its operands are rounded."""

_JUMPING = frozenset({"floor_divide", "remainder"})
"""What may differ by a whole step where its rounding differs: by the kernel in every dtype."""

_COARSE = frozenset({"exp", "expm1", "log", "log1p", "tan", "arctan2", "sigmoid", "softplus"})
"""Functions whose float32 kernel may be several units from the nearest float32."""

_FUNCTIONS: dict[str, Any] = {
    name: getattr(math, name)
    for name in (
        "pow", "sqrt", "exp", "expm1", "log", "log1p", "sin", "cos", "tan", "tanh", "atan2",
        "erf", "copysign", "floor", "ceil",
    )
} | {"abs": abs, "round": round, "float": float}  # fmt: skip
_RAISED = (ZeroDivisionError, OverflowError, ValueError)
_DTYPES = ("float32", "float64", "bool")
_KNOWN = EXPRESSIONS.keys() | STATEMENTS.keys() | _JUMPING | {"cast"}


def scalars(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace every region of at least ``SMALLEST`` scalar tasks by one."""
    return in_scalar_regions(tasks, kept, ScalarTask)


def in_scalar_regions(
    tasks: list[Task],
    kept: Collection[Value],
    kind: type[ScalarTask],
    fits: Callable[[PlainTask], bool] = lambda _: True,
) -> list[Task]:
    """Replace every region by a task of this kind; one stays where a task does not fit."""
    if not any(map(_kind, tasks)):
        return tasks
    items = partition(tasks, _kind)
    readers = readers_of(items)
    result: list[Task] = []
    for item in items:
        some = item.tasks if isinstance(item, Region) else (item,)
        plain = [task for task in some if isinstance(task, PlainTask) and fits(task)]
        if isinstance(item, Region) and len(some) == len(plain) >= SMALLEST:
            result.append(kind(plain, results_of(item, readers, kept)))
        else:
            result += some
    return result if any(isinstance(task, kind) for task in result) else tasks


def _kind(task: Task) -> str | None:
    if not isinstance(task, PlainTask) or task.value.primitive.name not in _KNOWN:
        return None
    fits = all(x.shape == () and x.dtype in _DTYPES for x in (task.value, *task.inputs))
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
        fast = self._function(arrays)
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

    def _function(self, arrays: Arrays) -> Step:
        body = _Body(self.tasks, self.inputs, self.values)
        lines = [f" v{i}=i{i}()" for i in range(len(self.inputs))] + body.lines
        lines += [f" o{i}[()]={body.names[value]}" for i, value in enumerate(self.values)]
        bound: dict[str, Any] = {f"i{i}": arrays[x].item for i, x in enumerate(self.inputs)}
        bound |= {f"o{i}": arrays[x] for i, x in enumerate(self.values)}
        bound |= _FUNCTIONS | body.calls
        head = f"def region({','.join(f'{name}={name}' for name in bound)}):\n"
        scope = {**bound, "__builtins__": {}}
        exec(compile(head + "\n".join(lines), "<scalars>", "exec"), scope)
        function: Step = scope["region"]
        return function

    def _plain(self, arrays: Arrays) -> list[Step]:
        """The tasks one by one, with arrays of their own for what stays inside."""
        inside = dict(arrays)
        for task in self.tasks:
            if task.value not in arrays:
                inside[task.value] = np.empty((), NUMPY[task.value.dtype])
        return [step for task in self.tasks for step in task.bind(inside)]


class _Body:
    """Assignments, level by level: a level ends where values must be rounded.

    What is used once and needs no rounding is written into the expression that uses it.
    """

    def __init__(
        self, tasks: Sequence[PlainTask], inputs: Sequence[Value], results: Sequence[Value]
    ) -> None:
        self.names = {value: f"v{i}" for i, value in enumerate(inputs)}
        self.lines: list[str] = []
        self.calls: dict[str, Any] = {}
        """What the lines call, by name."""
        self._depth: dict[Value, int] = {}
        self._results = frozenset(results)
        self._uses = _uses(tasks)
        for level in _levels(tasks):
            self._call_kernels([task for task in level if left_to_kernel(task.value)])
            self._round([task for task in level if _needs_rounding(task)])
            for task in level:
                if not left_to_kernel(task.value) and not _needs_rounding(task):
                    self._assign(task)

    def _assign(self, task: PlainTask) -> None:
        value, text = task.value, self._expression(task)
        depth = 1 + max((self._depth.get(x, 0) for x in task.inputs), default=0)
        if self._uses.get(value) == 1 and value not in self._results and depth < _DEEPEST:
            self.names[value], self._depth[value] = f"({text})", depth
        else:
            self.lines.append(f" {self._name(value)}={text}")

    def _round(self, tasks: Sequence[PlainTask]) -> None:
        for some in _batches(tasks):
            texts = [self._expression(task) for task in some]
            targets = [self._name(task.value) for task in some]
            if len(some) == 1:
                self.calls["single"] = memoryview(bytearray(4)).cast("f")
                self.lines += [f" single[0]={texts[0]}", f" {targets[0]}=single[0]"]
                continue
            singles = Struct(f"{len(some)}f")
            pack, unpack = f"pack{len(some)}", f"unpack{len(some)}"
            self.calls |= {pack: singles.pack, unpack: singles.unpack}
            self.lines.append(f" {','.join(targets)}={unpack}({pack}({','.join(texts)}))")

    def _call_kernels(self, tasks: Sequence[PlainTask]) -> None:
        alike: dict[tuple[str, str], list[PlainTask]] = defaultdict(list)
        for task in tasks:
            alike[task.value.primitive.name, task.value.dtype].append(task)
        for members in alike.values():
            for some in _batches(members):
                slots = range(len(some[0].inputs))
                operands = [self.names[t.inputs[slot]] for slot in slots for t in some]
                targets = ",".join([self._name(task.value) for task in some])
                name = f"call{len(self.calls)}"
                self.calls[name] = _kernel_call(some[0], len(some))
                self.lines.append(f" {targets},={name}({','.join(operands)})")

    def _name(self, value: Value) -> str:
        return self.names.setdefault(value, f"v{len(self.names)}")

    def _expression(self, task: PlainTask) -> str:
        operands = [self.names[x] for x in task.inputs]
        name = task.value.primitive.name
        if name != "cast":
            return (EXPRESSIONS.get(name) or STATEMENTS[name]).format(*operands)
        given, dtype = task.inputs[0].dtype, task.value.dtype
        if (given == "bool") == (dtype == "bool"):
            return operands[0]
        return f"{operands[0]}!=0" if dtype == "bool" else f"float({operands[0]})"


def left_to_kernel(value: Value) -> bool:
    """Whether a value is computed by its kernel, as a number next to it will not do."""
    name = value.primitive.name
    return name in _JUMPING or (name in _COARSE and value.dtype == "float32")


def _needs_rounding(task: PlainTask) -> bool:
    """Whether the number that Python computes may not be one of its dtype."""
    value = task.value
    if value.dtype != "float32" or value.primitive.name in _EXACT or left_to_kernel(value):
        return False
    return value.primitive.name != "cast" or task.inputs[0].dtype == "float64"


def _levels(tasks: Sequence[PlainTask]) -> list[list[PlainTask]]:
    """Tasks by how many roundings or kernels in a row they need."""
    level: dict[Value, int] = {}
    found: dict[int, list[PlainTask]] = defaultdict(list)
    for task in tasks:
        here = max((level.get(x, 0) for x in task.inputs), default=0)
        here += left_to_kernel(task.value) or _needs_rounding(task)
        level[task.value] = here
        found[here].append(task)
    return [found[number] for number in sorted(found)]


def _batches(tasks: Sequence[PlainTask]) -> Iterator[Sequence[PlainTask]]:
    for start in range(0, len(tasks), _WIDEST):
        yield tasks[start : start + _WIDEST]


def _kernel_call(task: PlainTask, count: int) -> Callable[..., list[float]]:
    """A function of all first operands, then all second ones: the kernel's results."""
    operands = np.empty((len(task.inputs), count), NUMPY[task.value.dtype])
    out = np.empty(count, operands.dtype)
    pack, rows = Struct(f"{operands.size}{operands.dtype.char}").pack_into, tuple(operands)
    memory = operands.data

    def call(*numbers: float) -> list[float]:
        pack(memory, 0, *numbers)
        task.kernel(*rows, out=out)
        results: list[float] = out.tolist()
        return results

    return call


def _uses(tasks: Sequence[PlainTask]) -> dict[Value, int]:
    """How often each value is written; more than once where it must be a name."""
    uses: dict[Value, int] = {}
    for task in tasks:
        for x in task.inputs:
            uses[x] = uses.get(x, 0) + (2 if task.value.primitive.name in STATEMENTS else 1)
    return uses
