"""One node of a graph, as its operator sees it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import FileError
from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.staged import Staged
from gradwire.runtime.interchange.importing.tensorflow.items import (
    ChangedVariable,
    Handle,
    Item,
    TensorList,
)

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.tensorflow.evaluation import FunctionRunner
    from gradwire.runtime.interchange.importing.tensorflow.graph import (
        TensorFlowAttributes,
        TensorFlowNode,
    )
    from gradwire.runtime.interchange.importing.tensorflow.variables import TensorFlowVariables


@dataclass(frozen=True)
class TensorFlowCall:
    """A node with its stage and inputs. ``name`` is what its main block is to be called."""

    stage: Stage
    node: TensorFlowNode
    name: str
    items: tuple[Item, ...]
    variables: TensorFlowVariables
    run: FunctionRunner
    training: bool = False

    @property
    def attributes(self) -> TensorFlowAttributes:
        """The node's attributes."""
        return self.node.attributes

    def __len__(self) -> int:
        return len(self.items)

    def item(self, number: int) -> Item:
        """An input, whatever it is; raises FileError where the node has fewer."""
        if not -len(self) <= number < len(self):
            raise FileError(
                f"The node {self.node.name!r} has too few inputs for {self.node.operator}.",
                got=str(len(self)),
            )
        return self.items[number]

    def x(self, number: int = 0) -> Staged:
        """An input that is a value; raises FileError where it is none."""
        item = self.item(number)
        if isinstance(item, Handle):  # a variable of TensorFlow 1 is its value too
            item = self.variables.read(item, self.node)
        if isinstance(item, ChangedVariable):
            raise item.error
        if not isinstance(item, Staged):
            raise self.unsupported(f"its input {number} is no tensor of numbers")
        return item

    def xs(self, stop: int | None = None) -> list[Staged]:
        """The inputs up to one, all values."""
        return [self.x(number) for number in range(len(self))[:stop]]

    def list(self, number: int = 0) -> TensorList:
        """An input that is a list of tensors."""
        item = self.item(number)
        if not isinstance(item, TensorList):
            raise self.unsupported(f"its input {number} is no list of tensors")
        return item

    def handle(self, number: int = 0) -> Handle:
        """An input that is a variable."""
        item = self.item(number)
        if not isinstance(item, Handle):
            raise self.unsupported(f"its input {number} is no variable")
        return item

    def numbers(self, number: int) -> Array:
        """The numbers of an input that must be known, such as a shape or an axis."""
        return self.stage.numbers(self.x(number), f"{self.node.operator} {self.node.name}")

    def wholes(self, number: int) -> tuple[int, ...]:
        """An input of known integers, flat."""
        return tuple(int(n) for n in np.ravel(self.numbers(number)))

    def whole(self, number: int) -> int:
        """An input that is one known integer."""
        found = self.wholes(number)
        if len(found) != 1:
            raise self.unsupported(f"its input {number} is not one integer")
        return found[0]

    def axes(self, number: int, rank: int) -> tuple[int, ...]:
        """An input of known axes, none negative. Raises UnsupportedError for others."""
        found = self.wholes(number)
        if any(not -rank <= axis < rank for axis in found):
            raise self.unsupported(f"its axes {found[:8]} are not those of rank {rank}")
        return tuple(axis % rank for axis in found)

    def axis(self, number: int, rank: int) -> int:
        """An input that is one known axis."""
        found = self.axes(number, rank)
        if len(found) != 1:
            raise self.unsupported(f"its input {number} is not one axis")
        return found[0]

    def shape(self, number: int) -> Shape:
        """An input that is a known shape; raises UnsupportedError for negative lengths."""
        found = self.wholes(number)
        if any(length < 0 for length in found):
            raise self.unsupported(f"its input {number} is no shape")
        return found

    def unsupported(self, why: str) -> UnsupportedError:
        """The error of a use of the operator that no block can express."""
        return UnsupportedError(f"{self.node.operator} of the node {self.node.name!r}", why)


Operator: TypeAlias = "Callable[[TensorFlowCall], Item | tuple[Item, ...]]"
"""Puts up the blocks of a node and gives its outputs."""
