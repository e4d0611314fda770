"""One node of a symbol, as its operator sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import FileError
from gradwire.runtime.interchange.importing.imported import UnsupportedError

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.mxnet.arguments import Shape
    from gradwire.runtime.interchange.importing.mxnet.symbol import SymbolNode
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Staged

_Choice = TypeVar("_Choice")
Given: TypeAlias = "Callable[[int, Shape | None], Staged]"


@dataclass(frozen=True)
class MXNetCall:
    """A node with its stage and inputs. ``name`` is what its main block is to be called."""

    stage: Stage
    node: SymbolNode
    name: str
    given: Given
    """Gives an input by its number; the shape is for a parameter that has none yet."""
    is_read: bool = False
    """Whether other nodes read what it gives."""
    training: bool = False

    def __len__(self) -> int:
        return len(self.node.inputs)

    def x(self, number: int = 0, shape: Shape | None = None) -> Staged:
        """An input; raises FileError where the node has fewer."""
        if not 0 <= number < len(self):
            raise FileError(
                f"The node {self.node.name!r} has too few inputs for {self.node.operator}.",
                expected=f"{number + 1} or more",
                got=str(len(self)),
            )
        return self.given(number, shape)

    def all(self) -> list[Staged]:
        """All inputs; there must be one or more."""
        return [self.x(number) for number in range(max(len(self), 1))]

    def block(self, kind: str, *inputs: Staged | None, **parameters: Any) -> Staged:
        """The main block of the node, called like it."""
        return self.stage.block(kind, *inputs, name=self.name, **parameters)

    def choice(self, key: str, known: Mapping[str, _Choice], default: str) -> _Choice:
        """What ``known`` has for an attribute; raises UnsupportedError where it has nothing."""
        text = self.node.text(key, default)
        if text not in known:
            raise self.unsupported(f"{key}={text[:40]} is not known")
        return known[text]

    def unsupported(self, why: str) -> UnsupportedError:
        """The error of a use of the operator that no block can express."""
        return UnsupportedError(f"{self.node.operator} of the node {self.node.name!r}", why)


Operator: TypeAlias = "Callable[[MXNetCall], Staged | tuple[Staged, ...]]"
"""Puts up the blocks of a node and gives its outputs."""
