"""A node of an ONNX graph, as the rules of the operators see it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.limits import MAX_CONSTANT
from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.onnx.tensors import DTYPES, dtype_name
from gradwire.runtime.interchange.importing.staged import Staged

if TYPE_CHECKING:
    from types import NotImplementedType

    from onnx import AttributeProto, GraphProto

    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.importing.onnx.graphs import GraphReader
    from gradwire.runtime.interchange.importing.stage import Stage

Number = TypeVar("Number", int, float)
Item: TypeAlias = "Staged | list[Staged] | None"
"""What a name in a graph stands for: a value, a sequence of values, or nothing (optional)."""
Result: TypeAlias = "Item | tuple[Item, ...]"
"""The outputs of a node; several are a tuple."""
Rule: TypeAlias = "Callable[[OperatorNode], Result | NotImplementedType]"
"""What makes blocks of a node; NotImplemented leaves it to the operator's body in the standard."""


@dataclass(eq=False, slots=True)
class OperatorNode:
    """Inputs by position, attributes by name, and the stage that the node's blocks go to."""

    operator: str
    stage: Stage
    graphs: GraphReader
    inputs: list[Item]
    attributes: Mapping[str, AttributeProto]
    wanted: Sequence[str]
    """Names of the outputs, empty ones for those that nothing reads."""
    opset: int
    training: bool = False
    """Whether operators with two modes are as in training."""
    name: str = ""

    def unsupported(self, why: str) -> UnsupportedError:
        """An error that says why this node has no blocks."""
        return UnsupportedError(self.operator, why)

    def wants(self, index: int) -> bool:
        """Whether anything may read an output."""
        return index < len(self.wanted) and bool(self.wanted[index])

    def has(self, index: int) -> bool:
        """Whether an input is given."""
        return self._item(index) is not None

    def _item(self, index: int) -> Item:
        return self.inputs[index] if index < len(self.inputs) else None

    def get(self, index: int) -> Staged | None:
        """The value of an optional input."""
        return self.x(index) if self.has(index) else None

    def x(self, index: int = 0) -> Staged:
        """The value of an input."""
        item = self._item(index)
        if not isinstance(item, Staged):
            what = "missing" if item is None else "a sequence"
            raise self.unsupported(f"its input {index} is {what}")
        return item

    def values(self, start: int = 0) -> list[Staged]:
        """All inputs from ``start`` on, which must be values."""
        return [self.x(index) for index in range(start, len(self.inputs))]

    def sequence(self, index: int = 0) -> list[Staged]:
        """An input that is a sequence."""
        item = self._item(index)
        if not isinstance(item, list):
            raise self.unsupported(f"its input {index} is no sequence")
        return item

    def known(self, index: int) -> Array:
        """The numbers of an input, which must be known when the diagram is made."""
        return self.stage.numbers(self.x(index), self.operator)

    def known_integer(self, index: int, default: int | None = None) -> int:
        """A single whole number that an input gives; ``default`` where it is left out."""
        if default is not None and not self.has(index):
            return default
        array = self.known(index)
        if array.size != 1:
            raise self.unsupported(f"its input {index} is not a single number")
        return int(array.item())

    def known_integers(self, index: int, attribute: str = "") -> list[int] | None:
        """Whole numbers that an input gives, or an attribute in older models."""
        if self.has(index):
            return [int(i) for i in np.atleast_1d(self.known(index)).ravel()]
        given = self.integers(attribute) if attribute else None
        return None if given is None else list(given)

    def integer(self, name: str, default: int = 0) -> int:
        """A whole number among the attributes."""
        return int(self.attributes[name].i) if name in self.attributes else default

    def number(self, name: str, default: float = 0.0) -> float:
        """A number among the attributes, float32 in its shortest decimal form."""
        found = self.attributes.get(name)
        return default if found is None else float(str(np.float32(found.f)))

    def text(self, name: str, default: str = "") -> str:
        """A text among the attributes."""
        found = self.attributes.get(name)
        return default if found is None else found.s.decode("utf-8", "replace")

    def integers(self, name: str) -> tuple[int, ...] | None:
        """Whole numbers among the attributes."""
        return tuple(map(int, self.attributes[name].ints)) if name in self.attributes else None

    def numbers(self, name: str) -> tuple[float, ...] | None:
        """Numbers among the attributes."""
        return tuple(map(float, self.attributes[name].floats)) if name in self.attributes else None

    def texts(self, name: str) -> list[str] | None:
        """Texts among the attributes."""
        found = self.attributes.get(name)
        return None if found is None else [s.decode("utf-8", "replace") for s in found.strings]

    def array(self, name: str) -> Array:
        """A tensor among the attributes."""
        return self.graphs.array(self.attributes[name].t)

    def body(self, name: str) -> GraphProto:
        """A graph among the attributes."""
        if name not in self.attributes:
            raise self.unsupported(f"its graph {name!r} is missing")
        return self.attributes[name].g

    def dtype(self, name: str, default: str = "") -> str:
        """A dtype among the attributes. Raises UnsupportedError for one that no value has."""
        code = self.integer(name)
        if not code and default:
            return default
        if code not in DTYPES:
            raise self.unsupported(f"there are no values of dtype {dtype_name(code)}")
        return DTYPES[code]

    def axis(self, default: int, ndim: int | None = None) -> int:
        """The attribute ``axis``, counted from the front. Raises UnsupportedError outside."""
        axis, rank = self.integer("axis", default), self.x().ndim if ndim is None else ndim
        if not -rank <= axis < max(rank, 1):
            raise self.unsupported(f"axis {axis} of {rank} axes")
        return axis % max(rank, 1)


def require_small(node: OperatorNode, shape: Sequence[int]) -> tuple[int, ...]:
    """A shape that may be allocated. Raises UnsupportedError for one that may not."""
    if any(length < 0 for length in shape) or math.prod(shape) > MAX_CONSTANT or len(shape) > 64:
        shown = ", ".join(str(length) for length in shape[:8])
        raise node.unsupported(f"the shape ({shown}) is too large")
    return tuple(shape)


def is_variable(x: Staged) -> bool:
    """Whether it is a parameter."""
    return x.source is not None and x.source.block.type_name() == "Variable"


def halves(ends: Sequence[Number]) -> list[tuple[Number, Number]]:
    """What is given for the start of each axis and then for the end of each, as pairs."""
    return list(zip(ends[: len(ends) // 2], ends[len(ends) // 2 :], strict=True))


RULES: dict[str, Rule] = {}
"""The rule of each operator of the domain of ONNX itself."""


def rule(*operators: str) -> Callable[[Rule], Rule]:
    """Registers a function as the rule of operators."""

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(operators, function))
        return function

    return register
