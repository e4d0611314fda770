"""A module for NumPy: the forward pass, and the backward pass step by step, without autograd."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gradwire.runtime.calculus import sweep
from gradwire.runtime.interchange.export import module
from gradwire.runtime.interchange.export.code import indented, remark
from gradwire.runtime.interchange.export.graph import ExportGraph
from gradwire.runtime.interchange.export.naming import Naming, Sources
from gradwire.runtime.interchange.export.systems.numpy_rows import NUMPY
from gradwire.runtime.interchange.export.training import TrainedNames, training_source
from gradwire.runtime.interchange.export.writing import BACK, SourceWriter

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.diagram.paths import PortPath
    from gradwire.runtime.interchange.export.content import ExportContent

MAIN_FUNCTION = "loss_and_gradients"
_MODULE_NAMES = ("ARRAYS", "PARAMETERS", "TRAINABLE", "INPUTS", "parameters", "inputs",
                 "losses", "gradients", "outputs", MAIN_FUNCTION)  # fmt: skip

_HEADLINE = (
    "# The backward pass: from the losses to the variables, in reverse order. d_x is the gradient",
    "# of the sum of the losses by x; it is 1 at each loss, and factors of 1 are left out.",
)


_IMPORTS = {
    "": "import numpy as np",
    "load_file": "from safetensors.numpy import load_file",
}


def numpy_module(content: ExportContent, arrays_file: str) -> tuple[str, dict[str, Array]]:
    """The module, and its large arrays."""
    writer = SourceWriter(NUMPY, ExportGraph(content.program, content.known))
    writer.reserve(_MODULE_NAMES)
    trained = TrainedNames(content, MAIN_FUNCTION)
    writer.reserve(trained.names)
    data = module.data(content, writer)
    if content.heads:
        parts = [_passes(content, writer, MAIN_FUNCTION, content.heads, content.trainable)]
        parts += [_passes(content, writer, *own) for own in trained.passes]
        parts += training_source(trained)
    else:
        arguments, leaves = _read(content, writer)
        lines = module.forward(content, writer, leaves)
        parts = [f"def outputs({arguments}):\n{indented(lines)}"]
    return module.assembled(content, writer, arrays_file, _IMPORTS, data, parts), writer.arrays


def _read(content: ExportContent, writer: SourceWriter) -> tuple[str, Mapping[Value, str]]:
    """The arguments of a pass, and how it reads each leaf."""
    step, leaves = module.read(content, module.leaf_texts(content, writer), "np.uint32(step)")
    return f"parameters=PARAMETERS, inputs=INPUTS{step}", leaves


def _passes(
    content: ExportContent,
    writer: SourceWriter,
    name: str,
    heads: Sequence[PortPath],
    variables: Sequence[str],
) -> str:
    """A function that runs forward and backward."""
    program, graph, sources = content.program, writer.graph, Sources()
    targets = {path: program.leaves[path].value for path in variables}
    seeds = [
        (program.ports[head], program.trace.xp.ones_like(program.ports[head])) for head in heads
    ]
    found = sweep(seeds, targets.values(), sources)
    naming = Naming(graph, sources)
    signature, leaves = _read(content, writer)
    values = {head: graph.real(program.ports[head]) for head in heads}
    gradients = {
        path: None if found.get(value) is None else graph.real(found[value])
        for path, value in targets.items()
    }
    wanted = [*values.values(), *(g for g in gradients.values() if g is not None)]
    lines, code = writer.body(wanted, leaves, naming)
    about = f"The losses {', '.join(map(remark, heads))}, and the gradients of their sum."
    lines = [
        f'"""{about if len(about) < 90 else "The losses, and the gradients of their sum."}',
        "",
        "None is the gradient of a variable that no path connects with a loss.",
        '"""',
        *lines,
        "",
        module.dictionary("losses = ", {str(head): code[v].text for head, v in values.items()}),
        module.dictionary(
            "gradients = ",
            {path: "None" if v is None else code[v].text for path, v in gradients.items()},
        ),
        "return losses, gradients",
    ]
    return f"def {name}({signature}):\n{indented(_phased(lines))}"


def _phased(lines: list[str]) -> list[str]:
    """With a headline where the backward pass begins."""
    for at, line in enumerate(lines):
        if f"# {BACK}" in line:
            before = lines[:at] if at and not lines[at - 1] else [*lines[:at], ""]
            return [*before, *_HEADLINE, "", *lines[at:]]
    return lines
