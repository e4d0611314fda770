"""A module for JAX, which differentiates by jax.value_and_grad."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gradwire.runtime.calculus import passes_gradient
from gradwire.runtime.interchange.export import module
from gradwire.runtime.interchange.export.code import indented, listed, string
from gradwire.runtime.interchange.export.graph import ExportGraph
from gradwire.runtime.interchange.export.systems.jax_rows import JAX
from gradwire.runtime.interchange.export.training import TrainedNames, training_source
from gradwire.runtime.interchange.export.writing import SourceWriter

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.export.content import ExportContent

_MODULE_NAMES = ("ARRAYS", "PARAMETERS", "TRAINABLE", "INPUTS", "CONNECTED", "parameters", "inputs",
                 "losses", "outputs", "loss_and_gradients")  # fmt: skip


_IMPORTS = {
    "": "import jax\nfrom jax import numpy as jnp",
    "lax.": "from jax import lax",
    "load_file": "from safetensors.flax import load_file",
}
_SETUP = 'jax.config.update("jax_enable_x64", True)\n\n'


def jax_module(content: ExportContent, arrays_file: str) -> tuple[str, dict[str, Array]]:
    """The source, and its large arrays."""
    writer = SourceWriter(JAX, ExportGraph(content.program, content.known, reads_all=True))
    writer.reserve(_MODULE_NAMES)
    trained = TrainedNames(content, "loss_and_gradients")
    writer.reserve(trained.names)
    data = module.data(content, writer)
    step, leaves = module.read(content, module.leaf_texts(content, writer), "jnp.uint32(step)")
    name = "losses" if content.heads else "outputs"
    lines = module.forward(content, writer, leaves)
    parts = [f"def {name}(parameters=PARAMETERS, inputs=INPUTS{step}):\n{indented(lines)}"]
    if content.heads:
        parts.append(_gradients("step" if step else ""))
        data += "\n" + _connected(content)
        parts += [_own(*own, counted=bool(step)) for own in trained.passes]
        parts += training_source(trained, "jnp")
    source = module.assembled(content, writer, arrays_file, _IMPORTS, data, parts, _SETUP)
    return source, writer.arrays


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
