"""Writes a region of scalars as the source of one straight-line Python function on floats.

A Python float multiplication costs a twentieth of a numpy call. Every value is rounded to its
dtype before anything reads it, so no number depends on what a region consists of:

- a float32 sum, difference, product, quotient or square root that is computed in float64 and then
  rounded has the bits that IEEE 754 requires;
- transcendental functions of float32 are computed in float64 and rounded, by their kernels too;
- quotients and remainders that jump where a rounding differs are left to their kernels.

Rounding costs twice as much as arithmetic. Values that don't depend on each other are rounded in
one call, and a local variable is reused once its value is dead: a function of thousands of
variables would not fit into the processor's cache.

The source consists of what rows of primitives spell and of numbered names; nothing of a diagram is
in it.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from struct import Struct
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.runtime.calculus.dtypes import NUMPY
from gradwire.runtime.calculus.primitives.base import CAST
from gradwire.runtime.engine.plan.passes.scalar.scalar_memory import Inputs, Outputs

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Primitive, Value
    from gradwire.runtime.engine.plan.tasks import Arrays, PlainTask, Step

_DEEPEST = 12
"""How many operations may be nested in one expression."""

_WIDEST = 32
"""How many values are rounded, or computed by a kernel, in one call."""

_FEWEST = 3
"""How many values are rounded faster in one call than one by one."""

KERNELS = frozenset({"floor_divide", "remainder"})
"""Primitives that jump where a rounding differs: computed by their kernels in every dtype."""

_EXACT = frozenset({
    "negative", "abs", "where", "maximum", "minimum", "relu", "sign", "floor", "ceil", "round",
})  # fmt: skip
"""Primitives whose results are numbers of their dtype if their operands are."""

BUILT_IN: dict[str, Any] = {
    name: getattr(math, name)
    for name in (
        "pow", "sqrt", "exp", "expm1", "log", "log1p", "sin", "cos", "tan", "tanh", "atan2",
        "erf", "copysign", "floor", "ceil",
    )
} | {"abs": abs, "round": round, "float": float}  # fmt: skip
"""The functions in expressions, by name."""

_NAME = re.compile(r"\b(v\d+)\b")
"""A value in the source before registers are allocated."""


def scalar_function(
    tasks: Sequence[PlainTask], inputs: Sequence[Value], results: Sequence[Value], arrays: Arrays
) -> Step:
    """A function that computes the tasks from the arrays of the inputs into those of the results.

    It raises ZeroDivisionError, OverflowError or ValueError where IEEE 754 has an infinity or NaN.
    """
    code = _Code(tasks, Inputs(inputs, arrays), Outputs(results, arrays))
    bound = BUILT_IN | code.bound
    head = f"def region({','.join(f'{name}={name}' for name in bound)}):\n"
    scope: dict[str, Any] = {**bound, "__builtins__": {}}
    exec(compile(head + "\n".join(_with_registers(code.lines)), "<scalars>", "exec"), scope)
    function: Step = scope["region"]
    return function


class _Code:
    """The lines of the function, level by level: a level ends where values must be rounded.

    A value that is used once and needs no rounding is written into the expression that uses it.
    """

    def __init__(self, tasks: Sequence[PlainTask], inputs: Inputs, outputs: Outputs) -> None:
        self.lines: list[str] = []
        self.bound: dict[str, Any] = {"single": memoryview(bytearray(4)).cast("f")}
        """What the lines use, by name."""
        self._inputs = inputs
        self._names: dict[Value, str] = {}
        self._depth: dict[Value, int] = {}
        self._outputs = outputs
        self._uses = _uses(tasks)
        for level in _levels(tasks):
            self._call_kernels([task for task in level if is_by_kernel(task.value)])
            self._round([task for task in level if needs_rounding(task)])
            for task in level:
                if not is_by_kernel(task.value) and not needs_rounding(task):
                    self._assign(task)
        self.lines[:0] = [f" {name}={name}()" for name in inputs.readers]
        self.bound |= inputs.readers | outputs.blocks

    def _assign(self, task: PlainTask) -> None:
        value, text = task.value, self._expression(task)
        depth = 1 + max((self._depth.get(x, 0) for x in task.inputs), default=0)
        if self._uses[value] == 1 and value not in self._outputs and depth < _DEEPEST:
            self._names[value], self._depth[value] = f"({text})", depth
        else:
            self._store(f"{self._new_name(value)}={text}", [value])

    def _round(self, tasks: Sequence[PlainTask]) -> None:
        tasks = [task for task in tasks if not self._read_rounded(task)]
        alone = [task for task in tasks if task.value in self._outputs]
        batched = [task for task in tasks if task.value not in self._outputs]
        if len(batched) < _FEWEST:
            alone, batched = tasks, []
        for task in alone:
            self._round_one(task)
        for some in _batches(batched):
            singles = Struct(f"{len(some)}f")
            pack, unpack = f"pack{len(some)}", f"unpack{len(some)}"
            self.bound |= {pack: singles.pack, unpack: singles.unpack}
            texts = ",".join([self._expression(task) for task in some])
            names = ",".join([self._new_name(task.value) for task in some])
            self.lines.append(f" {names},={unpack}({pack}({texts}))")

    def _round_one(self, task: PlainTask) -> None:
        """Write the number into memory of its dtype, that of the result if it is one."""
        value, text = task.value, self._expression(task)
        target = self._outputs.target(value) if value in self._outputs else "single[0]"
        self.lines.append(f" {target}={text};{self._new_name(value)}={target}")

    def _read_rounded(self, task: PlainTask) -> bool:
        """Whether a cast of an input could be left to numpy, which casts all inputs in one call."""
        text = self._inputs.as_float32(task.inputs[0]) if _is_cast(task) else None
        if text is None:
            return False
        self._names[task.value] = text
        if self._uses[task.value] > 1 or task.value in self._outputs:
            self._store(f"{self._new_name(task.value)}={text}", [task.value])
        return True

    def _call_kernels(self, tasks: Sequence[PlainTask]) -> None:
        alike: dict[tuple[str, str], list[PlainTask]] = defaultdict(list)
        for task in tasks:
            alike[task.value.primitive.name, task.value.dtype].append(task)
        for members in alike.values():
            for some in _batches(members):
                slots = range(len(some[0].inputs))
                operands = [self._operand(t.inputs[slot]) for slot in slots for t in some]
                targets = ",".join([self._new_name(task.value) for task in some])
                name = f"call{len(self.bound)}"
                self.bound[name] = kernel_call(some[0], len(some))
                self._store(
                    f"{targets},={name}({','.join(operands)})", [task.value for task in some]
                )

    def _store(self, line: str, values: Sequence[Value]) -> None:
        """Append an assignment, and copy what it computes to the results."""
        copies = [
            f";{self._outputs.target(value)}={self._names[value]}"
            for value in values
            if value in self._outputs
        ]
        self.lines.append(f" {line}{''.join(copies)}")

    def _new_name(self, value: Value) -> str:
        name = self._names[value] = f"v{value.index}"
        return name

    def _operand(self, value: Value) -> str:
        if value not in self._names:
            self._names[value] = text = self._inputs.read(value)
            if self._uses[value] > 1:
                self._store(f"{self._new_name(value)}={text}", [])
        return self._names[value]

    def _expression(self, task: PlainTask) -> str:
        return expression_of(task, [self._operand(x) for x in task.inputs])


def expression_of(task: PlainTask, operands: Sequence[str]) -> str:
    """The expression for what a task computes, from those for its operands."""
    if not _is_cast(task):
        parts, _ = _spelled(str(task.value.primitive.spelling.scalar))
        return "".join(operands["abc".index(x)] if x in _INPUTS else x for x in parts)
    given, dtype = task.inputs[0].dtype, task.value.dtype
    if (given == "bool") == (dtype == "bool"):
        return operands[0]
    return f"{operands[0]}!=0" if dtype == "bool" else f"float({operands[0]})"


_INPUTS = ("a", "b", "c")
_NAMES = re.compile(r"\b[A-Za-z]\w*")


@cache
def _spelled(text: str) -> tuple[list[str], bool]:
    """An expression, split at its inputs, and whether one stands there twice: it must be a name."""
    parts = re.split(r"\b([abc])\b", text)
    return parts, len(parts) // 2 > len({*parts[1::2]})


@cache
def is_known(primitive: Primitive) -> bool:
    """Whether a region may have it."""
    if primitive is CAST or primitive.name in KERNELS:
        return True
    names = _NAMES.findall(primitive.spelling.scalar or "unknown")
    return {*names} <= {*BUILT_IN, *_INPUTS, "if", "else", "and", "or", "not"}


def is_by_kernel(value: Value) -> bool:
    """Whether a value is computed by its kernel."""
    return value.primitive.name in KERNELS


def _is_cast(task: PlainTask) -> bool:
    return task.value.primitive is CAST


def needs_rounding(task: PlainTask) -> bool:
    """Whether the number that Python computes may not be one of its dtype."""
    value = task.value
    if value.dtype != "float32" or value.primitive.name in _EXACT or is_by_kernel(value):
        return False
    return not _is_cast(task) or task.inputs[0].dtype == "float64"


def _levels(tasks: Sequence[PlainTask]) -> list[list[PlainTask]]:
    """Tasks by how many roundings or kernels in a row they need."""
    level: dict[Value, int] = {}
    found: dict[int, list[PlainTask]] = defaultdict(list)
    for task in tasks:
        here = max((level.get(x, 0) for x in task.inputs), default=0)
        here += is_by_kernel(task.value) or needs_rounding(task)
        level[task.value] = here
        found[here].append(task)
    return [found[number] for number in sorted(found)]


def _batches(tasks: Sequence[PlainTask]) -> Iterator[Sequence[PlainTask]]:
    for start in range(0, len(tasks), _WIDEST):
        yield tasks[start : start + _WIDEST]


def kernel_call(task: PlainTask, count: int) -> Callable[..., list[float]]:
    """A function of all first operands, then all second ones, that returns the kernel's results."""
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


def _uses(tasks: Sequence[PlainTask]) -> Counter[Value]:
    """How often each value is written; more than once where it must be a name."""
    uses: Counter[Value] = Counter()
    for task in tasks:
        repeats = _spelled(str(task.value.primitive.spelling.scalar))[1]
        for x in task.inputs:
            uses[x] += 2 if repeats else 1
    return uses


def _with_registers(lines: Sequence[str]) -> list[str]:
    """The lines with few local variables: a name that is not read again is reused."""
    split = [_NAME.split(line) for line in lines]  # text and names in turn
    last = {name: i for i, parts in enumerate(split) for name in parts[1::2]}
    register: dict[str, str] = {}
    free: list[str] = []
    for i, parts in enumerate(split):
        names = parts[1::2]
        fresh = [name for name in names if name not in register]
        for name in names:  # what is read is free before the results are placed
            if last.get(name) == i and name in register:
                free.append(register[name])
                del last[name]
        for name in dict.fromkeys(fresh):
            register[name] = free.pop() if free else f"r{len(register)}"
        free += [register[name] for name in dict.fromkeys(fresh) if last[name] == i]
        parts[1::2] = [register[name] for name in names]
    return ["".join(parts) for parts in split]
