"""A module for NumPy: the forward pass, and the backward pass step by step, without autograd."""

from __future__ import annotations

from collections.abc import Sequence
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


def numpy_module(content: ExportContent, arrays_file: str) -> tuple[str, dict[str, Array]]:
    """The module, and its large arrays."""
    program = content.program
    writer = SourceWriter(NUMPY, ExportGraph(program, content.known))
    writer.reserve(_MODULE_NAMES)
    trained = TrainedNames(content, MAIN_FUNCTION)
    writer.reserve(trained.names)
    data = module.data(content, writer)
    if content.heads:
        passes = [_passes(content, writer, MAIN_FUNCTION, content.heads, content.trainable)]
        for name, heads, variables in trained.passes:
            passes.append(_passes(content, writer, name, heads, variables))
    else:
        passes = [_forward(content, writer)]
    training = training_source(trained) if content.heads else []
    pages = list(writer.functions.values())
    helpers = module.called_helpers(NUMPY.helpers, *pages, *passes)
    imports = []
    whole = "".join((data, *helpers, *pages, *passes, *training))
    if "math." in whole:
        imports.append("import math")
    if writer.arrays:
        imports.append("from pathlib import Path")
    imports += ["", "import numpy as np"] if imports else ["import numpy as np"]
    if writer.arrays:
        imports.append("from safetensors.numpy import load_file")
    top = module.heading(content, "NumPy") + "\n" + "\n".join(imports) + "\n"
    arrays = module.arrays_line(arrays_file) + "\n" if writer.arrays else ""
    source = module.joined([top + "\n" + arrays + data, *helpers, *pages, *passes, *training])
    return source, writer.arrays


def _read(content: ExportContent, writer: SourceWriter) -> tuple[str, dict[Value, str]]:
    """The arguments of a pass, and how it reads each leaf.

    The step, where random numbers count by it, is the first leaf: it gets its name in any case.
    """
    arguments, leaves = "parameters=PARAMETERS, inputs=INPUTS", module.leaf_texts(content, writer)
    step = content.program.trace.step
    if step is None:
        return arguments, leaves
    return f"{arguments}, step=0", {step: "np.uint32(step)", **leaves}


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
        module.result("losses", {str(head): code[v].text for head, v in values.items()}),
        module.result(
            "gradients",
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


def _forward(content: ExportContent, writer: SourceWriter) -> str:
    """A function that runs forward: the diagram has no loss."""
    program, graph = content.program, writer.graph
    ends = module.ends(content)
    signature, leaves = _read(content, writer)
    values = {port: graph.real(program.ports[port]) for port in ends}
    lines, code = writer.body(values.values(), leaves, Naming(graph, Sources()))
    lines = [
        '"""What nothing reads, by port: the diagram has no loss."""',
        *lines,
        "",
        module.result("outputs", {str(port): code[v].text for port, v in values.items()}),
        "return outputs",
    ]
    return f"def outputs({signature}):\n{indented(lines)}"
