"""Constants of a frozen graph that were variables before, and become variables again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gradwire.runtime.interchange.importing.tensorflow.operators.resources import constant

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.tensorflow.call import TensorFlowCall
    from gradwire.runtime.interchange.importing.tensorflow.graph import (
        TensorFlowGraph,
        TensorFlowNode,
    )
    from gradwire.runtime.interchange.importing.tensorflow.items import Item

_READ = re.compile(r"(?:/Read)?(?:/ReadVariableOp(?:_\d+)?)?(?:/resource|/read)?$")
_NUMBER = re.compile(r"_\d+$")
_ROLES = {
    "MatMul": "kernel", "BatchMatMulV2": "kernel", "Conv2D": "kernel", "Conv3D": "kernel",
    "DepthwiseConv2dNative": "kernel", "Conv2DBackpropInput": "kernel", "Tensordot": "kernel",
    "BiasAdd": "bias", "GatherV2": "embeddings",
}  # fmt: skip
_NORMALISED = ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
_STATISTICS = {1: "gamma", 2: "beta", 3: "moving_mean", 4: "moving_variance"}
_READERS = frozenset({"Identity", "ReadVariableOp", "ResourceGather"})
_PASSING = frozenset({"Identity", "Reshape", "ExpandDims", "Transpose", "Cast"})
_OPERATIONS = {*_ROLES, *_NORMALISED, "Cast", "Add", "AddV2", "convolution", "add", "Reshape"}
_OPERATIONS |= {"FusedBatchNormV3/ReadVariableOp", "separable_conv2d", "depthwise", "ExpandDims"}
"""Names of nodes that read a variable without one of its own."""


class FrozenConstants:
    """Puts up the constants of a graph: as variables if they were some."""

    def __init__(self, graph: TensorFlowGraph) -> None:
        self._graph = graph
        self._readers: dict[str, list[tuple[TensorFlowNode, int]]] = {}
        for node in graph.nodes.values():
            for number, reference in enumerate(node.inputs):
                self._readers.setdefault(reference.node, []).append((node, number))
        self._marked = any(self._is_read_as_variable(node) for node in graph.nodes.values())
        self._taken: set[str] = set()

    def put_up(self, call: TensorFlowCall) -> Item:
        """The Constant, or the Variable, of a node."""
        item = constant(call)
        node = self._graph.nodes.get(call.node.name)
        if node is not call.node or not self._was_variable(node):
            return item
        array = call.attributes.array("value")
        stem = _READ.sub("", node.name) or node.name
        role, trainable = self._role(node)
        module, _, last = stem.rpartition("/")
        own = role if role and _NUMBER.sub("", last) in _OPERATIONS else last
        if last.isdecimal():  # a number of an argument, which says nothing
            module, own = "", role or "variable"
        name = f"{module}/{own}" if module else own
        if name in self._taken:
            name, own = stem, own if last.isdecimal() else last
        self._taken.add(name)
        path = tuple(part for part in module.split("/") if part)
        return call.stage.variable(name, array, trainable, path, own)

    def _was_variable(self, node: TensorFlowNode) -> bool:
        if node.attributes.tensor_dtype("value") not in (1, 2, 19):
            return False
        if self._marked:
            return self._is_read_as_variable(node)
        weighs = any(reader.operator in _ROLES for reader, _ in self._readers.get(node.name, ()))
        return weighs and node.attributes.array("value").size > 1

    def _is_read_as_variable(self, node: TensorFlowNode) -> bool:
        """Whether a constant has what freezing leaves of a variable: a node that only read it."""
        if node.operator != "Const":
            return False
        return any(
            reader.operator in _READERS and reader.path[-1].startswith(("ReadVariableOp", "read"))
            for reader, _ in self._reached(node)
        )

    def _role(self, node: TensorFlowNode) -> tuple[str, bool]:
        """What a variable is called by what reads it, and whether it is trained."""
        for reader, number in self._reached(node):
            if reader.operator in _NORMALISED and number in _STATISTICS:
                return _STATISTICS[number], number < 3
            if reader.operator in _ROLES:
                return _ROLES[reader.operator], True
        return "", True

    def _reached(self, node: TensorFlowNode) -> Iterator[tuple[TensorFlowNode, int]]:
        """What reads a node, and what reads that where it only passes the numbers on."""
        pending, seen = [node.name], {node.name}
        while pending:
            for reader, number in self._readers.get(pending.pop(), ()):
                yield reader, number
                if reader.operator in _PASSING and reader.name not in seen:
                    seen.add(reader.name)
                    pending.append(reader.name)
