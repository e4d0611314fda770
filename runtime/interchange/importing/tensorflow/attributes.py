"""Attributes of nodes, by what an operator expects of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.interchange.importing.tensorflow.tensors import array_of, dtype_of, shape_of

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.importing.tensorflow.messages import Message


@dataclass(frozen=True)
class TensorFlowAttributes:
    """The attributes of one node; every method takes the default for a missing one."""

    node: str
    messages: Mapping[str, Message]

    def __contains__(self, key: str) -> bool:
        return key in self.messages

    def flag(self, key: str, default: bool = False) -> bool:
        """A boolean."""
        return bool(self.messages[key].flag) if key in self.messages else default

    def whole(self, key: str, default: int = 0) -> int:
        """An integer."""
        return int(self.messages[key].whole) if key in self.messages else default

    def number(self, key: str, default: float = 0.0) -> float:
        """A float."""
        return float(self.messages[key].number) if key in self.messages else default

    def text(self, key: str, default: str = "") -> str:
        """Text; what is no UTF-8 becomes question marks."""
        if key not in self.messages:
            return default
        return bytes(self.messages[key].text).decode("utf-8", "replace")

    def wholes(self, key: str) -> tuple[int, ...]:
        """Integers."""
        return tuple(self.messages[key].list.wholes) if key in self.messages else ()

    def dtype(self, key: str) -> str:
        """The name of a dtype. Raises UnsupportedError for one that no value has."""
        number = self.messages[key].dtype if key in self.messages else 0
        return dtype_of(number, f"The node {self.node!r}")

    def dtype_number(self, key: str) -> int:
        """The number of a dtype, of one without values too."""
        return int(self.messages[key].dtype) if key in self.messages else 0

    def shape(self, key: str) -> Shape | None:
        """Lengths of axes, -1 where they are open; None where their number is."""
        message = self.messages[key].shape if key in self.messages else None
        if message is None or message.unknown:
            return None
        return shape_of(message, f"The node {self.node!r}")

    def array(self, key: str) -> Array:
        """The numbers of a tensor."""
        return array_of(self.messages[key].tensor, f"The node {self.node!r}")

    def texts(self, key: str) -> tuple[bytes, ...]:
        """The strings of a tensor."""
        return tuple(self.messages[key].tensor.texts)

    def tensor_dtype(self, key: str) -> int:
        """The number of the dtype of a tensor."""
        return int(self.messages[key].tensor.dtype) if key in self.messages else 0

    def function(self, key: str) -> str:
        """The name of a function."""
        return str(self.messages[key].function.name) if key in self.messages else ""

    def functions(self, key: str) -> tuple[str, ...]:
        """The names of functions."""
        found = self.messages[key].list.functions if key in self.messages else ()
        return tuple(str(function.name) for function in found)
