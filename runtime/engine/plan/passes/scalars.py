"""Replaces regions of scalars by one straight-line Python function on floats each.

Until a region has run some times it runs operation by operation, with equal results; then, with
the ``fast`` extra, as machine code if there are instructions for all of it.
Where Python raises and IEEE 754 would give inf or NaN (division by zero, overflow, log 0), the
region runs by its plain tasks.

A Python float multiplication costs a twentieth of a numpy call. Every value is rounded to its
dtype before anything reads it, so no number depends on what a region consists of:

- a float32 sum, difference, product, quotient or square root that is computed in float64 and then
  rounded has the bits that IEEE 754 requires;
- transcendental functions of float32 are computed in float64 and rounded, by their kernels too;
- floors of quotients of float32, which jump where a rounding differs, are left to their kernel.

Rounding costs twice as much as arithmetic. Values that don't depend on each other are rounded in
one call, and a local variable is reused once its value is dead: a function of thousands of
variables would not fit into the processor's cache.

Writing and compiling the function costs as much as some fifty runs operation by operation, so that
a region whose plan runs a few times, as for a recording or after an edit, has none. Both round the
same numbers at the same places: their results have the same bits, unless one is not finite.

The source consists of what rows of primitives spell and of numbered names; nothing of a diagram is
in it.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence
from functools import cache
from struct import Struct
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.runtime.calculus.dtypes import NUMPY
from gradwire.runtime.calculus.primitives.base import CAST
from gradwire.runtime.calculus.primitives.elementwise import FLOOR_DIVIDE
from gradwire.runtime.engine.plan import native
from gradwire.runtime.engine.plan.native.machine import address
from gradwire.runtime.engine.plan.passes.regions import Region, partition, readers_of, results_of
from gradwire.runtime.engine.plan.tasks import Arrays, PlainTask, Step, Task

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Primitive, Value


Function = Callable[..., Any]

_DEEPEST = 12
"""How many operations may be nested in one expression."""

_WIDEST = 32
"""How many values are rounded in one call."""

_FEWEST = 3
"""How many values are rounded faster in one call than one by one."""

_LISTED = 4
"""Inputs from which their block of memory is read as a whole, and elements for each of them."""

_EXACT = frozenset({
    "negative", "abs", "where", "maximum", "minimum", "relu", "sign", "floor", "ceil", "round",
    "floor_divide",
})  # fmt: skip
"""Primitives whose results are numbers of their dtype if their operands are."""

BUILT_IN: dict[str, Any] = {
    name: getattr(math, name)
    for name in (
        "pow", "sqrt", "exp", "expm1", "log", "log1p", "sin", "cos", "tan", "tanh", "atan2",
        "erf", "copysign", "floor", "ceil",
    )
} | {
    "abs": abs, "round": round, "float": float,
    "quotient": lambda a, b: float(np.floor_divide(np.float32(a), np.float32(b))),
}  # fmt: skip
"""The functions in expressions, by name."""

_VALUE = re.compile(r"\b(v\d+)\b")
"""A value in the source before registers are allocated."""

_INPUTS = ("a", "b", "c")
_NAMES = re.compile(r"\b[A-Za-z]\w*")


class Memory:
    """The blocks of memory in which scalars lie, as leaves of one dtype and results of regions."""

    def __init__(self, arrays: Arrays) -> None:
        self.blocks: list[Array] = []
        self._arrays = arrays
        self._known: dict[int, tuple[int, int]] = {}

    def place(self, value: Value) -> tuple[int, int]:
        """The number of the block that has a scalar, and its place there."""
        array = self._arrays[value]
        block = array.base
        if not (isinstance(block, np.ndarray) and block.ndim == 1 and block.dtype == array.dtype):
            block = array.reshape(1)
        if id(block) not in self._known:
            self._known[id(block)] = len(self.blocks), address(block)
            self.blocks.append(block)
        number, start = self._known[id(block)]
        return number, (address(array) - start) // block.itemsize


def _reader(block: Array) -> Callable[[], list[Any]]:
    """Returns the elements as a list; the same list as long as the bytes are the same."""
    before, numbers = b"", []

    def read() -> list[Any]:
        nonlocal before, numbers
        now = block.tobytes()
        if now != before:
            before, numbers = now, block.tolist()
        return numbers

    return read


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
            kinds[kind] = _function(task), _needs_rounding(task)
        steps.append((*kinds[kind], [slots[x] for x in task.inputs]))
    memory = Memory(arrays)
    places = [(slots[value], *memory.place(value)) for value in results]
    views = [block.data for block in memory.blocks]
    targets = [(at, views[block], place) for at, block, place in places]
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
    parameters = _INPUTS[: len(task.inputs)]
    return _compiled(",".join(parameters), _expression(task, parameters))


@cache
def _compiled(parameters: str, expression: str) -> Function:
    function: Function = eval(
        f"lambda {parameters}: {expression}", {**BUILT_IN, "__builtins__": {}}
    )
    return function


def scalar_function(
    tasks: Sequence[PlainTask], inputs: Sequence[Value], results: Sequence[Value], arrays: Arrays
) -> Step:
    """As ``operation_by_operation``, but one function."""
    code = _Code(tasks, inputs, results, arrays)
    for level in _levels(tasks):
        code.add(level)
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

    def __init__(
        self,
        tasks: Sequence[PlainTask],
        inputs: Sequence[Value],
        results: Sequence[Value],
        arrays: Arrays,
    ) -> None:
        self.lines: list[str] = []
        self.bound: dict[str, Any] = {"single": memoryview(bytearray(4)).cast("f")}
        """What the lines use, by name."""
        self._depth: dict[Value, int] = {}
        self._uses = Counter(x for task in tasks for x in _uses(task))
        memory = Memory(arrays)
        places = {value: memory.place(value) for value in inputs}
        counts = Counter(number for number, _ in places.values())
        for number, count in counts.items():
            if count >= max(_LISTED, memory.blocks[number].size / _LISTED):
                self.bound[f"x{number}"] = _reader(memory.blocks[number])
                self.lines.append(f" x{number}=x{number}()")
        self._targets = {value: "m{}[{}]".format(*memory.place(value)) for value in results}
        self.bound |= {f"m{i}": block.data for i, block in enumerate(memory.blocks)}
        self._names: dict[Value, str] = {}
        self._inputs = {
            value: f"{'x' if f'x{number}' in self.bound else 'm'}{number}[{place}]"
            for value, (number, place) in places.items()
        }

    def add(self, tasks: Sequence[PlainTask]) -> None:
        """Append the tasks of a level, first those whose numbers are rounded."""
        rounded = [task for task in tasks if _needs_rounding(task)]
        inner = [task for task in rounded if task.value not in self._targets]
        together = inner if len(inner) >= _FEWEST else []
        for start in range(0, len(together), _WIDEST):
            some = together[start : start + _WIDEST]
            singles = Struct(f"{len(some)}f")
            pack, unpack = f"pack{len(some)}", f"unpack{len(some)}"
            self.bound |= {pack: singles.pack, unpack: singles.unpack}
            texts = ",".join([self._text(task) for task in some])
            names = ",".join([self._name(task.value) for task in some])
            self.lines.append(f" {names},={unpack}({pack}({texts}))")
        for task in tasks:
            value = task.value
            if value in self._names:
                continue
            text, target = self._text(task), self._targets.get(value)
            if _needs_rounding(task):
                target = target or "single[0]"
                self.lines.append(f" {target}={text};{self._name(value)}={target}")
            else:
                self._assign(task, text, target)

    def _assign(self, task: PlainTask, text: str, target: str | None) -> None:
        value, depth = task.value, 1 + max(self._depth.get(x, 0) for x in task.inputs)
        if self._uses[value] == 1 and target is None and depth < _DEEPEST:
            self._names[value], self._depth[value] = f"({text})", depth
        else:
            copied = f";{target}=v{value.index}" if target else ""
            self.lines.append(f" {self._name(value)}={text}{copied}")

    def _read(self, value: Value) -> str:
        """An input, which is read once."""
        if self._uses[value] == 1:
            return self._inputs[value]
        self.lines.append(f" {self._name(value)}={self._inputs[value]}")
        return self._names[value]

    def _name(self, value: Value) -> str:
        name = self._names[value] = f"v{value.index}"
        return name

    def _text(self, task: PlainTask) -> str:
        operands = [self._names.get(x) or self._read(x) for x in task.inputs]
        return _expression(task, operands)


def _expression(task: PlainTask, operands: Sequence[str]) -> str:
    """The expression for what a task computes, from those for its operands."""
    if task.value.primitive is FLOOR_DIVIDE and task.value.dtype == "float32":
        return f"quotient({','.join(operands)})"
    if task.value.primitive is not CAST:
        parts = _spelled(task.value.primitive)
        return "".join(operands["abc".index(x)] if x in _INPUTS else x for x in parts)
    given, dtype = task.inputs[0].dtype, task.value.dtype
    if (given == "bool") == (dtype == "bool"):
        return operands[0]
    return f"{operands[0]}!=0" if dtype == "bool" else f"float({operands[0]})"


@cache
def _spelled(primitive: Primitive) -> list[str]:
    """Its expression, split at its inputs."""
    return re.split(r"\b([abc])\b", str(primitive.spelling.scalar))


def _uses(task: PlainTask) -> Sequence[Value]:
    """The inputs as often as they are written, or twice."""
    is_repeated = len(_spelled(task.value.primitive)) // 2 > len(task.inputs)
    return (*task.inputs, *task.inputs) if is_repeated else task.inputs


@cache
def is_known(primitive: Primitive) -> bool:
    """Whether a region may have it."""
    if primitive is CAST:
        return True
    names = _NAMES.findall(primitive.spelling.scalar or "unknown")
    return {*names} <= {*BUILT_IN, *_INPUTS, "if", "else", "and", "or", "not"}


def _needs_rounding(task: PlainTask) -> bool:
    """Whether the number that Python computes may not be one of its dtype."""
    value = task.value
    if value.dtype != "float32" or value.primitive.name in _EXACT:
        return False
    return value.primitive is not CAST or task.inputs[0].dtype == "float64"


def _levels(tasks: Sequence[PlainTask]) -> list[list[PlainTask]]:
    """Tasks by how many roundings in a row they need."""
    level: dict[Value, int] = {}
    found: dict[int, list[PlainTask]] = defaultdict(list)
    for task in tasks:
        here = max((level.get(x, 0) for x in task.inputs), default=0) + _needs_rounding(task)
        level[task.value] = here
        found[here].append(task)
    return [found[number] for number in sorted(found)]


def _with_registers(lines: Sequence[str]) -> list[str]:
    """The lines with few local variables: a name that is not read again is reused."""
    split = [_VALUE.split(line) for line in lines]  # text and names in turn
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


SMALLEST = 4
"""Tasks from which a function is faster than calls of kernels."""
WARM = 20
"""Runs before a function is written and compiled, which takes as long as some fifty runs."""

_RAISED = (ZeroDivisionError, OverflowError, ValueError)
_DTYPES = ("float32", "float64", "bool")


def scalars(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace every region of at least ``SMALLEST`` scalar tasks by one."""
    return _in_regions(tasks, kept, ScalarTask)


def native_scalars(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """The same of regions that machine code can compute."""
    return _in_regions(
        tasks, kept, NativeScalarTask, lambda x: native.compiles_straight(x.value, x.inputs)
    )


def _in_regions(
    tasks: list[Task],
    kept: Collection[Value],
    kind: type[ScalarTask],
    fits: Callable[[PlainTask], bool] = lambda _: True,
) -> list[Task]:
    """Replace every region in which all tasks fit by a task of this kind."""
    if sum(_kind(task) is not None for task in tasks) < SMALLEST:
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
    if not isinstance(task, PlainTask) or not is_known(task.value.primitive):
        return None
    for x in (task.value, *task.inputs):  # ``all`` would take twice as long
        if x.shape or x.dtype not in _DTYPES:
            return None
    return "scalars"


class ScalarTask(Task):
    """A region of scalar tasks as one function."""

    one_block = True

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
        """One step, for which a function is compiled when it has run ``WARM`` times."""
        ours = {x: arrays[x] for x in (*self.inputs, *self.values)}
        step = self._with_plain(operation_by_operation, ours)
        runs = 0

        def run() -> None:
            nonlocal step, runs
            if runs == WARM:
                step = self._compiled(ours)
            runs += 1
            step()

        return [run]

    def _compiled(self, arrays: Arrays) -> Step:
        """The region as one function."""
        return self._with_plain(scalar_function, arrays)

    def _with_plain(self, make: Callable[..., Step], arrays: Arrays) -> Step:
        """A step with the plain steps behind it, which are made when they are first needed."""
        fast = make(self.tasks, self.inputs, self.values, arrays)
        plain: list[Step] = []

        def run() -> None:
            try:
                fast()
            except _RAISED:
                if not plain:
                    plain.extend(self._plain(arrays))
                for step in plain:
                    step()

        return run

    def _plain(self, arrays: Arrays) -> list[Step]:
        """The tasks one by one, with arrays of their own for what stays inside."""
        inside = dict(arrays)
        for task in self.tasks:
            if task.value not in arrays:
                inside[task.value] = np.empty((), NUMPY[task.value.dtype])
        return [step for task in self.tasks for step in task.bind(inside)]


class NativeScalarTask(ScalarTask):
    """A region as one function of machine code."""

    def _compiled(self, arrays: Arrays) -> Step:
        operands = [arrays[x] for x in (*self.inputs, *self.values)]
        frame = np.array([array.ctypes.data for array in operands])
        call, address = native.compiled_straight(self._line()), frame.ctypes.data

        def run(_kept: object = (operands, frame)) -> None:
            call(address)

        return run

    def _line(self) -> native.Line:
        numbers = {x: i for i, x in enumerate(self.inputs)}
        numbers |= {t.value: i for i, t in enumerate(self.tasks, start=len(numbers))}
        operations = [
            native.Operation(
                native.native_name(t.value.primitive),
                t.value.dtype,
                tuple(numbers[x] for x in t.inputs),
            )
            for t in self.tasks
        ]
        return native.Line(
            tuple(x.dtype for x in self.inputs),
            tuple(operations),
            tuple(numbers[x] for x in self.values),
        )
