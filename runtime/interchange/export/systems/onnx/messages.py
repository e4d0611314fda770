"""Messages of the onnx package, made from plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.runtime.interchange.export.systems.onnx.nodes import LoopBody

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.interchange.export.systems.onnx.nodes import Attribute, Function, OnnxNode

OPSET = 21
IR_VERSION = 10
"""The first that has metadata of nodes."""


def utf8(text: str) -> str:
    """Text that UTF-8 can encode: what it can't becomes a question mark."""
    return text.encode(errors="replace").decode()


class Messages:
    """Makes messages with ``onnx``, the package."""

    def __init__(self, onnx: Any) -> None:
        self._onnx = onnx

    def node(self, node: OnnxNode) -> Any:
        """A node, called as its first output."""
        attributes = {
            name: self._attribute(node.op, value) for name, value in node.attributes.items()
        }
        made = self._onnx.helper.make_node(
            node.op,
            node.inputs,
            node.outputs,
            name=node.outputs[0],
            domain=node.domain or None,
            **attributes,
        )
        self._tell(made, node.metadata)
        return made

    def _attribute(self, op: str, value: Attribute) -> Any:
        if op == "Cast":
            return self._dtype(str(value))
        if isinstance(value, LoopBody):
            return self.graph("step", value.nodes, value.inputs, value.outputs)
        return self.tensor("", value) if isinstance(value, np.ndarray) else value

    def graph(
        self,
        name: str,
        nodes: Sequence[OnnxNode],
        inputs: Mapping[str, Value],
        outputs: Mapping[str, Value],
        starts: Sequence[Any] = (),
    ) -> Any:
        """A graph; ``starts`` are the arrays that it begins with."""
        typed = [[self.typed(*item) for item in ends.items()] for ends in (inputs, outputs)]
        return self._onnx.helper.make_graph([*map(self.node, nodes)], name, *typed, [*starts])

    def _dtype(self, name: str) -> Any:
        return self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(name))

    def tensor(self, name: str, array: Array, role: str = "") -> Any:
        """An array; its role is in its metadata."""
        made = self._onnx.numpy_helper.from_array(np.ascontiguousarray(array), name or None)
        made.dims[:] = array.shape  # ascontiguousarray makes a scalar a vector
        self._tell(made, {"gradwire.role": role} if role else {})
        return made

    def typed(self, name: str, value: Value) -> Any:
        """The name, dtype and shape of a value."""
        return self._onnx.helper.make_tensor_value_info(name, self._dtype(value.dtype), value.shape)

    def opsets(self, *domains: str) -> list[Any]:
        """The versions of the domains that are used."""
        make = self._onnx.helper.make_opsetid
        return [make(domain, 1 if domain else OPSET) for domain in dict.fromkeys(domains)]

    def function(self, function: Function) -> Any:
        """A function that the model defines."""
        called = [node.domain for node in function.nodes]
        return self._onnx.helper.make_function(
            function.domain,
            function.name,
            list(function.inputs),
            list(function.outputs),
            [self.node(node) for node in function.nodes],
            self.opsets("", *called),
        )

    def _tell(self, made: Any, metadata: Mapping[str, str]) -> None:
        for key, text in metadata.items():
            entry = made.metadata_props.add()
            entry.key, entry.value = key, utf8(text)
