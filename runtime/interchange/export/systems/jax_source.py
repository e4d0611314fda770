"""A module for JAX, which differentiates by jax.value_and_grad."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gradwire.runtime.calculus import passes_gradient
from gradwire.runtime.interchange.export import module
from gradwire.runtime.interchange.export.code import indented, listed, string
from gradwire.runtime.interchange.export.graph import ExportGraph
from gradwire.runtime.interchange.export.naming import Naming, Sources
from gradwire.runtime.interchange.export.systems.jax_rows import JAX
from gradwire.runtime.interchange.export.training import TrainedNames, training_source
from gradwire.runtime.interchange.export.writing import SourceWriter

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.export.content import ExportContent

_MODULE_NAMES = ("ARRAYS", "PARAMETERS", "TRAINABLE", "INPUTS", "CONNECTED", "parameters", "inputs",
                 "losses", "outputs", "loss_and_gradients")  # fmt: skip


def jax_module(content: ExportContent, arrays_file: str) -> tuple[str, dict[str, Array]]:
    """The source, and its large arrays."""
    writer = SourceWriter(JAX, ExportGraph(content.program, content.known, reads_all=True))
    writer.reserve(_MODULE_NAMES)
    trained = TrainedNames(content, "loss_and_gradients")
    writer.reserve(trained.names)
    data = module.data(content, writer)
    counted = content.program.trace.step is not None
    functions = [_forward(content, writer)]
    if content.heads:
        functions.append(_gradients("step" if counted else ""))
        data += "\n" + _connected(content)
        functions += [_own(trained, *own, counted=counted) for own in trained.passes]
        functions += training_source(trained, "jnp")
    pages = list(writer.functions.values())
    helpers = module.called_helpers(JAX.helpers, *pages, *functions)
    whole = "".join((*helpers, *pages, *functions))
    first = ["import math"] if "math." in whole else []
    first += ["from functools import partial"] if "@partial" in whole else []
    first += ["from pathlib import Path"] if writer.arrays else []
    first += [""] if first else []
    imports = [*first, "import jax", "from jax import numpy as jnp"]
    imports += ["from jax import lax"] if "lax." in whole else []
    imports += ["from safetensors.flax import load_file"] if writer.arrays else []
    top = module.heading(content, JAX.title) + "\n" + "\n".join(imports) + "\n\n"
    setup = 'jax.config.update("jax_enable_x64", True)\n\n'
    arrays = module.arrays_line(arrays_file) + "\n" if writer.arrays else ""
    source = module.joined([top + setup + arrays + data, *helpers, *pages, *functions])
    return source, writer.arrays


def _forward(content: ExportContent, writer: SourceWriter) -> str:
    """The function that runs forward: to the losses, or to what nothing reads."""
    program, graph = content.program, writer.graph
    leaves = module.leaf_texts(content, writer)
    signature = "parameters=PARAMETERS, inputs=INPUTS"
    if program.trace.step is not None:
        leaves = {program.trace.step: "jnp.uint32(step)", **leaves}
        signature += ", step=0"
    name, about = "losses", "The losses, by port."
    if not content.heads:
        name, about = "outputs", "What nothing reads, by port: the diagram has no loss."
    values = {str(port): graph.real(program.ports[port]) for port in module.ends(content)}
    lines, code = writer.body(values.values(), leaves, Naming(graph, Sources()))
    lines = [
        f'"""{about}"""',
        *lines,
        "",
        module.returned({port: code[value].text for port, value in values.items()}),
    ]
    return f"def {name}({signature}):\n{indented(lines)}"


def _gradients(step: str) -> str:
    """The function that gives losses and gradients; of the argument for the step, or nothing."""
    signature = f", {step}=0" if step else ""
    given = f", {step}" if step else ""
    return f'''def loss_and_gradients(
    parameters=PARAMETERS, inputs=INPUTS{signature}, heads=None, names=TRAINABLE
):
    """Losses, and the gradients of their sum; ``heads`` and ``names`` choose some of them.

    None is the gradient of a variable that no path connects with a loss.
    """
    heads = list(heads or CONNECTED)
    connected = [name for name in names if any(name in CONNECTED[head] for head in heads)]

    def total(wanted):
        found = losses({{**parameters, **wanted}}, inputs{given})
        found = {{head: found[head] for head in heads}}
        return sum(loss.sum() for loss in found.values()), found

    wanted = {{name: parameters[name] for name in connected}}
    (_, found), gradients = jax.value_and_grad(total, has_aux=True)(wanted)
    found = {{head: found[head] for head in heads}}  # jax sorts them
    return found, {{name: gradients.get(name) for name in names}}
'''


def _connected(content: ExportContent) -> str:
    """The variables of which some path that passes gradient leads to each loss."""
    program = content.program
    items = []
    for head in content.heads:
        live = {program.ports[head]}
        for value in reversed(program.trace.values[: program.forward_end]):
            if value in live:
                live |= {x for n, x in enumerate(value.inputs) if passes_gradient(value, n)}
        names = [path for path in content.trainable if program.leaves[path].value in live]
        items.append(f"{string(head)}: [{', '.join(map(string, names))}]")
    table = listed("CONNECTED = {", items, "}")
    about = "The variables that a path connects with each loss; the gradient of others is None."
    return f'{table}\n"""{about}"""\n'


def _own(
    trained: TrainedNames,
    name: str,
    heads: Sequence[str],
    variables: Sequence[str],
    *,
    counted: bool,
) -> str:
    """The losses and gradients that one optimiser follows."""
    step, given = (", step=0", ", step") if counted else ("", "")
    arguments = [
        f"parameters, inputs{given}",
        listed("heads=[", [string(head) for head in heads], "]", 60),
        listed("names=[", [string(path) for path in variables], "]", 60),
    ]
    lines = [
        '"""The losses that one optimiser follows, and their gradients."""',
        listed("return loss_and_gradients(", arguments, ")", 60),
    ]
    return f"def {name}(parameters=PARAMETERS, inputs=INPUTS{step}):\n{indented(lines)}"
