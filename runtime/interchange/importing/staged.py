"""Values of a diagram under construction: traced, so that shapes and dtypes are known at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gradwire.blocks.block import Source
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import LimitError
from gradwire.blocks.limits import MAX_CONSTANT
from gradwire.blocks.terms import term_name
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.interchange.importing.imported import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gradwire.blocks.block import Block, Shape
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.interchange.importing.scopes import ModuleScope
    from gradwire.runtime.interchange.importing.stage import Stage

Operation: TypeAlias = "tuple[str, int]"
"""An operation of the model: its name, and a number that no other one has."""
Operand: TypeAlias = "Staged | bool | int | float"
MAX_HELD = 2**30
"""Elements of all constants of a model, while it is built."""


@dataclass(eq=False, slots=True)
class StagedBlock:
    """A block that will stand on some page, with what drives its inputs."""

    block: Block
    inputs: Mapping[str, Staged]
    scope: ModuleScope
    name: str = ""
    """The wanted name; empty for one by its type."""
    parameter: str = ""
    """The model's own name of the variable or input that this is."""
    body: ModuleScope | None = None
    """The scope of the body that this Scan runs."""
    operation: Operation | None = None
    """The operation of the model that it is a part of."""
    passes: bool | None = None
    """Whether gradient would come from it to what is trained, once somebody has asked."""


@dataclass(eq=False, slots=True)
class Staged:
    """One output of a staged block, or a constant that becomes a block once one reads it.

    Operators make blocks: ``x * 0.5``, ``x @ w``, ``x > 0``. A number takes the dtype of the value.
    """

    stage: Stage
    value: Value
    """The traced value."""
    source: StagedBlock | None = None
    port: str = "out"
    array: Array | None = None
    """Its numbers, where they depend on no input and no variable."""

    @property
    def shape(self) -> Shape:
        """Lengths of the axes."""
        return self.value.shape

    @property
    def dtype(self) -> str:
        """Name of the dtype."""
        return self.value.dtype

    @property
    def ndim(self) -> int:
        """The rank: the number of axes."""
        return self.value.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.value.size

    @property
    def is_float(self) -> bool:
        """Whether it may carry gradient."""
        return self.dtype.startswith("float")

    def _with(self, kind: str, other: Operand, swapped: bool = False) -> Staged:
        operand = other if isinstance(other, Staged) else self.like(other)
        pair = (operand, self) if swapped else (self, operand)
        return self.stage.block(kind, *pair)

    def like(self, number: bool | int | float) -> Staged:
        """A number in the dtype of this value."""
        return self.stage.constant(np.asarray(number, self.dtype))

    def __add__(self, other: Operand) -> Staged:
        return self._with("Add", other)

    def __radd__(self, other: Operand) -> Staged:
        return self._with("Add", other, swapped=True)

    def __sub__(self, other: Operand) -> Staged:
        return self._with("Sub", other)

    def __rsub__(self, other: Operand) -> Staged:
        return self._with("Sub", other, swapped=True)

    def __mul__(self, other: Operand) -> Staged:
        return self._with("Mul", other)

    def __rmul__(self, other: Operand) -> Staged:
        return self._with("Mul", other, swapped=True)

    def __truediv__(self, other: Operand) -> Staged:
        return self._with("Div", other)

    def __rtruediv__(self, other: Operand) -> Staged:
        return self._with("Div", other, swapped=True)

    def __pow__(self, other: Operand) -> Staged:
        return self._with("Pow", other)

    def __matmul__(self, other: Staged) -> Staged:
        return self._with("MatMul", other)

    def __neg__(self) -> Staged:
        return self.stage.block("Neg", self)

    def __gt__(self, other: Operand) -> Staged:
        return self._with("Greater", other)

    def __ge__(self, other: Operand) -> Staged:
        return self._with("GreaterEqual", other)

    def __lt__(self, other: Operand) -> Staged:
        return self._with("Less", other)

    def __le__(self, other: Operand) -> Staged:
        return self._with("LessEqual", other)

    def __repr__(self) -> str:
        return f"<staged {self.dtype}{list(self.shape)}>"


def put(kind: str, x: Staged, *more: Staged | None, **parameters: Any) -> Staged:
    """The only output of a new block on the stage of ``x``; see ``Stage.block``."""
    return x.stage.block(kind, x, *more, **parameters)


def name_result(name: str, result: object, made: Sequence[StagedBlock]) -> None:
    """Call the block of an operator's first output like its node, unless another one is already.

    ``made`` are the blocks that the operator added.
    """
    first = result[0] if isinstance(result, tuple) and result else result
    if isinstance(first, Staged) and first.source in made:
        if all(block.name != name for block in made):
            named(first, name)


def named(y: Staged, name: str) -> Staged:
    """A value whose block is called so, unless it has a name."""
    if y.source is not None and not y.source.name:
        y.source.name = name
    return y


def is_trained(block: StagedBlock) -> bool:
    """Whether it is a variable that training updates."""
    return isinstance(block.block, Source) and block.block.wants_gradient


def inputs_by_port(block: Block, inputs: Sequence[Staged | None]) -> dict[str, Staged]:
    """Inputs given by position, by the names of the block's ports."""
    given = list(inputs)
    found: dict[str, Staged] = {}
    for port in block.input_ports():
        if port.variadic:
            terms = [x for x in given if x is not None]
            found |= {term_name(port.name, i): x for i, x in enumerate(terms)}
            given = []
        elif given:
            x = given.pop(0)
            if x is not None:
                found[port.name] = x
    if given:
        raise UnsupportedError(block.type_name(), f"it takes {len(inputs) - len(given)} inputs")
    return found


def require_holdable(values: Iterable[Value], kind: str) -> None:
    """Raise LimitError for constants that an import would have to compute, and are too large."""
    for value in values:
        if value.size > MAX_CONSTANT:
            raise LimitError(
                f"{kind} makes too large a constant.",
                expected=f"at most {MAX_CONSTANT:,} elements",
                got=f"{value.size:,}",
            )


def require_few(elements: int) -> int:
    """The number of elements of all constants. Raises LimitError for one that is too large."""
    if elements > MAX_HELD:
        raise LimitError(
            "The constants of the model are too large together.",
            expected=f"at most {MAX_HELD:,} elements",
        )
    return elements


def leaves_of(value: Value) -> set[Value]:
    """The leaves that a value depends on."""
    pending, seen = [value], {value}
    while pending:
        for x in pending.pop().inputs:
            if x not in seen:
                seen.add(x)
                pending.append(x)
    return {x for x in seen if x.primitive is LEAF}
