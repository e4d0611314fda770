"""Graphs and functions: nodes by name, with their attributes, and what their inputs name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import FileError
from gradwire.runtime.interchange.importing.tensorflow.tensors import array_of, dtype_of, shape_of

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.importing.tensorflow.messages import Message

MAX_NODES = 200_000
"""Nodes of all graphs and functions of a file together, at most."""
_NORMALISED = ("y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2")
_OUTPUTS: Mapping[str, tuple[str, ...]] = {
    "TopKV2": ("values", "indices"),
    "FusedBatchNorm": _NORMALISED, "FusedBatchNormV2": _NORMALISED,
    "FusedBatchNormV3": (*_NORMALISED, "reserve_space_3"),
    "SparseSoftmaxCrossEntropyWithLogits": ("loss", "backprop"),
    "SoftmaxCrossEntropyWithLogits": ("loss", "backprop"),
}  # fmt: skip
"""Names of outputs where there are several; all others have one, which may be a list."""


class NodeReference(NamedTuple):
    """What an input names: an output of a node, or an argument of the function."""

    node: str
    port: str
    """The name of the output; empty in a graph, and for arguments."""
    number: int


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


@dataclass(frozen=True)
class TensorFlowNode:
    """A node with its attributes; ``after`` are nodes that run before it and give it nothing."""

    name: str
    operator: str
    attributes: TensorFlowAttributes
    inputs: tuple[NodeReference, ...]
    after: tuple[str, ...]

    def output(self, reference: NodeReference) -> int:
        """The number of the output that a reference names."""
        names = _OUTPUTS.get(self.operator, ())
        if reference.port in names:
            return names.index(reference.port)
        return reference.number

    @cached_property
    def path(self) -> tuple[str, ...]:
        """The parts of its name: the scopes that it is in, then its own."""
        return tuple(part for part in self.name.split("/") if part) or (self.name,)


@dataclass(frozen=True)
class TensorFlowGraph:
    """Nodes by name. A function has arguments and returns too, in order."""

    name: str
    nodes: Mapping[str, TensorFlowNode]
    arguments: tuple[str, ...] = ()
    returns: tuple[NodeReference, ...] = ()


@dataclass(frozen=True)
class FunctionLibrary:
    """A graph with the functions that it may call."""

    graph: TensorFlowGraph
    functions: Mapping[str, TensorFlowGraph]


def library_of(message: Message) -> FunctionLibrary:
    """The graphs of a message. Raises FileError where names are missing or there are too many."""
    count = len(message.nodes) + sum(len(f.nodes) for f in message.library.functions)
    if count > MAX_NODES:
        raise FileError(
            "The graph has too many nodes.", expected=f"at most {MAX_NODES:,}", got=f"{count:,}"
        )
    functions = {f.signature.name: _function(f) for f in message.library.functions}
    return FunctionLibrary(TensorFlowGraph("", _nodes(message.nodes, "the graph")), functions)


def _function(message: Message) -> TensorFlowGraph:
    name = message.signature.name
    returns = []
    for output in message.signature.outputs:
        if output.name not in message.returns:
            raise FileError(f"The function {name!r} doesn't return {output.name!r}.")
        returns.append(reference(message.returns[output.name]))
    arguments = tuple(argument.name for argument in message.signature.inputs)
    return TensorFlowGraph(
        name, _nodes(message.nodes, f"the function {name!r}"), arguments, tuple(returns)
    )


def _nodes(messages: Message, where: str) -> dict[str, TensorFlowNode]:
    found: dict[str, TensorFlowNode] = {}
    for message in messages:
        if not message.name or message.name in found:
            raise FileError(
                f"Two nodes of {where} are called {message.name!r}, or one has no name."
            )
        data = tuple(reference(text) for text in message.inputs if not text.startswith("^"))
        after = tuple(text[1:] for text in message.inputs if text.startswith("^"))
        attributes = TensorFlowAttributes(message.name, message.attributes)
        found[message.name] = TensorFlowNode(
            message.name, message.operator, attributes, data, after
        )
    return found


def reference(text: str) -> NodeReference:
    """What a text names: ``node``, ``node:1`` or, in a function, ``node:port:1``."""
    parts = text.split(":")
    number = parts[-1] if len(parts) > 1 else "0"
    if len(parts) > 3 or not (number.isascii() and number.isdecimal() and len(number) < 8):
        raise FileError(f"The input {text[:200]!r} names no output.")
    return NodeReference(parts[0], parts[1] if len(parts) == 3 else "", int(number))
