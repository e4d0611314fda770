"""The operations of a region, collected one by one.

Powers are compiled for the exponents that a region is given: a square costs one product, and a
power whose exponent may be any number twenty times as much.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from gradwire.runtime.calculus.primitives.elementwise import SUBTRACT
from gradwire.runtime.calculus.primitives.reduce import LOGSUMEXP
from gradwire.runtime.engine.compiler.regions import MemoryPlace, Recipe
from gradwire.runtime.engine.plan.native import Operation, is_simple

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.plan.tasks import Arrays, PlainTask, Step


Exponents: TypeAlias = "Mapping[Value, float]"
"""The exponents, half of small integers, of some powers."""


def attributes_of(value: Value, exponents: Exponents) -> tuple[tuple[str, Hashable], ...]:
    """The attributes of an operation on elements, and its exponent if it is one of these."""
    known = (("exponent", exponents[value]),) if value in exponents else ()
    return (*value.attributes.items(), *known)


def for_exponents(
    tasks: Sequence[PlainTask],
    inputs: Sequence[Value],
    arrays: Arrays,
    step: Callable[[Exponents], Step],
) -> Step:
    """The step of a region; if powers in it have one exponent each for all elements, one that takes
    the step for those that the arrays then have.
    """
    known = set(inputs)
    given = {
        task.value: arrays[task.inputs[1]]
        for task in tasks
        if task.value.primitive.name == "power"
        and task.inputs[1].size == 1
        and task.inputs[1] in known
    }
    if not given:
        return step({})
    made: dict[tuple[float | None, ...], Step] = {}

    def step_for_exponents() -> None:
        found = tuple(x if is_simple(x := array.item()) else None for array in given.values())
        if found not in made:
            pairs = zip(given, found, strict=True)
            made[found] = step({power: x for power, x in pairs if x is not None})
        made[found]()

    return step_for_exponents


class Program:
    """Collects the operations of a recipe."""

    def __init__(self) -> None:
        self._operands: list[tuple[str, MemoryPlace]] = []
        self._operations: list[Operation] = []
        self._wide: list[bool] = []
        self._shifted: dict[int, tuple[int, int, int]] = {}
        self._summed: dict[int, tuple[int, int]] = {}

    def read(self, dtype: str, place: MemoryPlace) -> int:
        """Append an operand, before all operations; returns its number."""
        self._operands.append((dtype, place))
        return len(self._operands) - 1

    def put(self, name: str, dtype: str, *inputs: int, is_wide: bool, attributes: Any = ()) -> int:
        """Append an operation; returns its number."""
        self._operations.append(Operation(name, dtype, inputs, attributes))
        self._wide.append(is_wide)
        return len(self._operands) + len(self._operations) - 1

    def softmax(self, x: int) -> int:
        """``eˣ / Σ eˣ``, shifted by the largest element."""
        _, power, total = self._powers(x)
        total = self.put("cast", "float32", total, is_wide=False)
        share = self.put("reciprocal", "float32", total, is_wide=False)
        return self.put("multiply", "float32", power, share, is_wide=True)

    def log_softmax(self, x: int) -> int:
        """``x − log Σ eˣ``, shifted by the largest element."""
        away, _, total = self._powers(x)
        log = self.put("log_of_powers", "float32", total, is_wide=False)
        return self.put("subtract", "float32", away, log, is_wide=True)

    def logsumexp(self, x: int) -> int:
        """``log Σ eˣ`` of a row, shifted by the largest element, unless that is ±∞ or NaN."""
        top = self.put("max", "float32", x, is_wide=False)
        power = self.put("decay", "float32", self.put("subtract", "float32", x, top, is_wide=True),
                         is_wide=True)  # fmt: skip
        total = self.put("sum", "float64", power, is_wide=False)
        log = self.put("log_of_powers", "float32", total, is_wide=False)
        found = self.put("add", "float32", top, log, is_wide=False)
        is_finite = self.put("isfinite", "bool", top, is_wide=False)
        total = self.put("cast", "float32", total, is_wide=False)
        total = self.put("where", "float32", is_finite, total, top, is_wide=False)
        self._summed[x] = power, total
        return self.put("where", "float32", is_finite, found, top, is_wide=False)

    def share(self, x: int) -> int:
        """``exp(x − log Σ eˣ)`` for an x of ``logsumexp``, by its powers."""
        power, total = self._summed[x]
        factor = self.put("reciprocal", "float32", total, is_wide=False)
        return self.put("multiply", "float32", power, factor, is_wide=True)

    def _powers(self, x: int) -> tuple[int, int, int]:
        """``x − max x``, e to the power of that, and its sum as float64; once for each x."""
        if x not in self._shifted:
            top = self.put("top", "float32", x, is_wide=False)
            away = self.put("subtract", "float32", x, top, is_wide=True)
            power = self.put("decay", "float32", away, is_wide=True)
            total = self.put("sum", "float64", power, is_wide=False)
            self._shifted[x] = away, power, total
        return self._shifted[x]

    def chosen(self, x: int, index: int, dtype: str) -> int:
        """The element of this index."""
        alone = self.put("at", dtype, index, x, is_wide=True)
        return self.put("union", dtype, alone, is_wide=False)

    def alone(self, x: int, index: int, dtype: str) -> int:
        """0 but for one element of a row, of this index."""
        return self.put("at", dtype, index, self.without_sign(x, dtype), is_wide=True)

    def without_sign(self, x: int, dtype: str) -> int:
        """``x + 0``."""
        return self.put("without_sign", dtype, x, is_wide=False)

    def total(self, x: int, squares: bool, is_wide: bool) -> int:
        """The sum of a row, or of its squares, as float64; also of one element."""
        if is_wide:
            return self.put("squares" if squares else "sum", "float64", x, is_wide=False)
        x = self.put("cast", "float64", x, is_wide=False)
        return self.put("square" if squares else "cast", "float64", x, is_wide=False)

    def recipe(
        self,
        columns: int,
        results: tuple[tuple[int, MemoryPlace], ...],
        totals: tuple[int, ...],
        added: tuple[int, ...],
    ) -> Recipe:
        """The whole."""
        operations, wide = tuple(self._operations), tuple(self._wide)
        return Recipe(columns, tuple(self._operands), operations, wide, results, totals, added)


def is_share(task: PlainTask, makers: Mapping[Value, PlainTask]) -> bool:
    """Whether a task is ``x − log Σ eˣ``, of which the power is a share of a sum at hand."""
    if task.value.primitive is not SUBTRACT:
        return False
    x, log = task.inputs
    taken = makers.get(log)
    return taken is not None and taken.value.primitive is LOGSUMEXP and taken.inputs[0] is x
