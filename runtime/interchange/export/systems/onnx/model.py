"""The model of a diagram: its graph, its functions, and the arrays that it begins with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.blocks.library.views import ViewBlock
from gradwire.runtime import extras
from gradwire.runtime.interchange.export import module
from gradwire.runtime.interchange.export.graph import ExportGraph
from gradwire.runtime.interchange.export.naming import Naming, Sources
from gradwire.runtime.interchange.export.rows import ExportError
from gradwire.runtime.interchange.export.systems.onnx.messages import IR_VERSION, Messages, utf8
from gradwire.runtime.interchange.export.systems.onnx.nodes import NodeList
from gradwire.runtime.interchange.export.systems.onnx.writing import GraphWriter
from gradwire.runtime.version import __version__

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.interchange.export.content import ExportContent

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


def _package() -> Any:
    """The onnx package, which is an extra."""
    extras.require("onnx", "Writing ONNX", ExportError)
    import onnx  # before its modules: see attach_stub
    import onnx.helper
    import onnx.numpy_helper

    return onnx


def _ends(content: ExportContent) -> Iterable[Any]:
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
