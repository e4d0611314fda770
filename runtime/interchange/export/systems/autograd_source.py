"""A module for a system that differentiates by itself: the forward pass, and how to ask for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runtime.calculus import passes_gradient
from runtime.interchange.export import module
from runtime.interchange.export.code import string
from runtime.interchange.export.graph import Graph
from runtime.interchange.export.naming import Naming, Sources
from runtime.interchange.export.training import Trained, training_source
from runtime.interchange.export.writing import Writer, indented, listed

if TYPE_CHECKING:
    from runtime.calculus import Value
    from runtime.interchange.export.code import Array
    from runtime.interchange.export.content import Content
    from runtime.interchange.export.rows import Target

_MODULE_NAMES = ("ARRAYS", "PARAMETERS", "TRAINABLE", "INPUTS", "CONNECTED", "parameters", "inputs",
                 "step", "losses", "gradients", "outputs", "total", "loss_and_gradients",
                 "heads", "names")  # fmt: skip


@dataclass(frozen=True)
class System:
    """What differs between systems that differentiate by themselves."""

    target: Target
    imports: Sequence[str]
    loads: str
    """The module that loads safetensors."""
    step: str
    """The number of the step as a scalar of the system."""
    xp: str
    gradients: Callable[[str], list[str]]
    """The functions that give losses and gradients; of the argument for the step, or nothing."""
    lists_connected: bool = False
    """Whether variables that a path connects with a loss are listed: the system gives zeros."""


def autograd_module(
    content: Content, arrays_file: str, system: System
) -> tuple[str, dict[str, Array]]:
    """The module, and its large arrays."""
    writer = Writer(system.target, Graph(content.program, content.known, reads_all=True))
    writer.reserve(_MODULE_NAMES)
    trained = Trained(content, "loss_and_gradients")
    writer.reserve(trained.names)
    data = module.data(content, writer)
    counted = content.program.trace.step is not None
    functions = [_forward(content, writer, system)]
    if content.heads:
        functions += system.gradients("step" if counted else "")
        if system.lists_connected:
            data += "\n" + _connected(content)
        functions += [_own(trained, *own, counted=counted) for own in trained.passes]
        functions += training_source(trained, system.xp)
    pages = list(writer.functions.values())
    helpers = module.called_helpers(system.target.helpers, *pages, *functions)
    whole = "".join((*helpers, *pages, *functions))
    first = ["import math"] if "math." in whole else []
    first += ["from functools import partial"] if "@partial" in whole else []
    first += ["from pathlib import Path"] if writer.arrays else []
    lines = [*first, *([""] if first else []), *system.imports]
    lines = [line for line in lines if not line.endswith(" as F") or "F." in whole]
    lines = [line for line in lines if not line.endswith("import lax") or "lax." in whole]
    if writer.arrays:
        lines.append(f"from {system.loads} import load_file")
    top = module.heading(content, system.target.title) + "\n" + "\n".join(lines) + "\n\n"
    setup = 'jax.config.update("jax_enable_x64", True)\n\n' if system.lists_connected else ""
    arrays = module.arrays_line(arrays_file) + "\n" if writer.arrays else ""
    source = module.joined([top + setup + arrays + data, *helpers, *pages, *functions])
    return source, writer.arrays


def _forward(content: Content, writer: Writer, system: System) -> str:
    """The function that runs forward: to the losses, or to what nothing reads."""
    program, graph = content.program, writer.graph
    leaves = module.leaf_texts(content, writer)
    signature = "parameters=PARAMETERS, inputs=INPUTS"
    if program.trace.step is not None:
        leaves[program.trace.step] = system.step
        signature += ", step=0"
    name, about = (
        ("losses", "The losses, by port.")
        if content.heads
        else ("outputs", "What nothing reads, by port: the diagram has no loss.")
    )
    ends = module.ends(content)
    values: dict[str, Value] = {str(port): graph.real(program.ports[port]) for port in ends}
    lines, code = writer.body(values.values(), leaves, Naming(graph, Sources()))
    lines = [
        f'"""{about}"""',
        *lines,
        "",
        module.returned({port: code[value].text for port, value in values.items()}),
    ]
    return f"def {name}({signature}):\n{indented(lines)}"


def _connected(content: Content) -> str:
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
    trained: Trained, name: str, heads: Sequence[str], variables: Sequence[str], *, counted: bool
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
