"""The model of a diagram: its graph, its functions, and the arrays that it begins with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.library.views import ViewBlock
from gradwire.runtime import extras
from gradwire.runtime.interchange.export import module
from gradwire.runtime.interchange.export.graph import ExportGraph
from gradwire.runtime.interchange.export.naming import Naming, Sources
from gradwire.runtime.interchange.export.rows import ExportError
from gradwire.runtime.interchange.export.systems.onnx.nodes import LoopBody, NodeList
from gradwire.runtime.interchange.export.systems.onnx.writing import GraphWriter
from gradwire.runtime.version import __version__

if TYPE_CHECKING:
    from types import ModuleType

    from onnx import (
        FunctionProto,
        GraphProto,
        NodeProto,
        OperatorSetIdProto,
        TensorProto,
        ValueInfoProto,
    )

    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.diagram.paths import PortPath
    from gradwire.runtime.interchange.export.content import ExportContent
    from gradwire.runtime.interchange.export.systems.onnx.nodes import Attribute, Function, OnnxNode


OPSET = 21
IR_VERSION = 10
"""The first that has metadata of nodes."""


def utf8(text: str) -> str:
    """Text that UTF-8 can encode: what it can't becomes a question mark."""
    return text.encode(errors="replace").decode()


class Messages:
    """Makes messages with ``onnx``, the package."""

    def __init__(self, onnx: ModuleType) -> None:
        self._onnx = onnx

    def node(self, node: OnnxNode) -> NodeProto:
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

    def _attribute(self, op: str, value: Attribute) -> object:
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
        starts: Sequence[TensorProto] = (),
    ) -> GraphProto:
        """A graph; ``starts`` are the arrays that it begins with."""
        typed = [[self.typed(*item) for item in ends.items()] for ends in (inputs, outputs)]
        return self._onnx.helper.make_graph([*map(self.node, nodes)], name, *typed, [*starts])

    def _dtype(self, name: str) -> int:
        found: int = self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(name))
        return found

    def tensor(self, name: str, array: Array, role: str = "") -> TensorProto:
        """An array; its role is in its metadata."""
        made = self._onnx.numpy_helper.from_array(np.ascontiguousarray(array), name or None)
        made.dims[:] = array.shape  # ascontiguousarray makes a scalar a vector
        self._tell(made, {"gradwire.role": role} if role else {})
        return made

    def typed(self, name: str, value: Value) -> ValueInfoProto:
        """The name, dtype and shape of a value."""
        return self._onnx.helper.make_tensor_value_info(name, self._dtype(value.dtype), value.shape)

    def opsets(self, *domains: str) -> list[OperatorSetIdProto]:
        """The versions of the domains that are used."""
        make = self._onnx.helper.make_opsetid
        return [make(domain, 1 if domain else OPSET) for domain in dict.fromkeys(domains)]

    def function(self, function: Function) -> FunctionProto:
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

    def _tell(self, made: NodeProto | TensorProto, metadata: Mapping[str, str]) -> None:
        for key, text in metadata.items():
            entry = made.metadata_props.add()
            entry.key, entry.value = key, utf8(text)


LARGEST = 2**31 - 1
"""Bytes of a message of protobuf."""
STEP = "step"
"""The input for the number of the step, by which random numbers are drawn."""


def onnx_model(content: ExportContent) -> bytes:
    """The model as the bytes of its file.

    Raises ExportError where the onnx package is missing, and for what ONNX can't express.
    """
    onnx = _package()
    program = content.program
    graph = ExportGraph(program, content.known, reads_all=True)
    writer = GraphWriter(graph, Naming(graph, Sources()))
    leaves = {leaf.value: utf8(path) for path, leaf in program.leaves.items()}
    if program.trace.step is not None:
        leaves[program.trace.step] = NodeList(tuple(leaves.values())).fresh(STEP)
    outputs = {utf8(str(port)): program.ports[port] for port in _ends(content)}
    body = writer.main(outputs, leaves)
    functions = list(writer.functions.values())
    read = {name for node in body.nodes for name in node.reads()}
    starts, inputs = _starts(content, leaves)
    make = Messages(onnx)
    made = make.graph(
        utf8(content.title) or "diagram",
        body.nodes,
        {leaves[value]: value for value in inputs},
        outputs,
        [
            make.tensor(name, array, role)
            for name, (array, role) in starts.items()
            if role != "constant" or name in read
        ],
    )
    model = onnx.helper.make_model(
        made,
        functions=[make.function(function) for function in functions],
        opset_imports=make.opsets("", *(function.domain for function in functions)),
        ir_version=IR_VERSION,
        producer_name="gradwire",
        producer_version=__version__,
    )
    if model.ByteSize() > LARGEST:
        raise ExportError(
            "The model has more than 2 GiB, which is more than an ONNX file can have.",
            next_step="Export for another system: it stores arrays beside the source.",
        )
    data: bytes = model.SerializeToString()
    return data


def _package() -> ModuleType:
    """The onnx package, which is an extra."""
    extras.require("onnx", "Writing ONNX", ExportError)
    import onnx  # before its modules: see attach_stub
    import onnx.helper
    import onnx.numpy_helper

    package: ModuleType = onnx
    return package


def _ends(content: ExportContent) -> Iterable[PortPath]:
    """The losses, and what nothing reads on the page that runs."""
    program = content.program
    if not content.heads:
        return module.ends(content)
    wires = [wire for i in program.flat.instances.values() for wire in i.wires.values()]
    read = {program.flat.source(source) for _, source in wires}
    left = [
        port
        for port, value in program.ports.items()
        if port not in read
        and port not in content.heads
        and value.primitive.name not in ("leaf", "constant")
        and "/" not in port.block
        and not isinstance(program.block(port.block), ViewBlock)
    ]
    return [*content.heads, *left]


def _starts(
    content: ExportContent, leaves: Mapping[Value, str]
) -> tuple[dict[str, tuple[Array, str]], list[Value]]:
    """The arrays by name, each with its role, and the leaves that are fed."""
    program = content.program
    trainable = set(content.trainable)
    starts: dict[str, tuple[Array, str]] = {}
    inputs = []

    def add(path: str, array: Array, role: str) -> None:
        value = program.leaves[path].value
        starts[leaves[value]] = np.asarray(array).astype(value.dtype).reshape(value.shape), role

    for path, array in content.parameters.items():
        add(path, array, "variable" if path in trainable else "frozen")
    for path, array in content.constants.items():
        add(path, array, "constant")
    for path, given in content.inputs.items():
        inputs.append(program.leaves[path].value)
        if given is not None:
            add(path, given, "input")
    if program.trace.step is not None:
        inputs.append(program.trace.step)
        starts[leaves[program.trace.step]] = np.zeros((), np.uint32), "input"
    return starts, inputs
