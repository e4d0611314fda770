"""A module for PyTorch: pages are modules, autograd differentiates, torch.optim trains."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.runtime.diagram.paths import ROOT, InstancePath
from gradwire.runtime.interchange.export import module
from gradwire.runtime.interchange.export.code import INDENT, indented
from gradwire.runtime.interchange.export.graph import ExportGraph
from gradwire.runtime.interchange.export.naming import Naming, Sources
from gradwire.runtime.interchange.export.systems.torch_modules import ModuleWriter
from gradwire.runtime.interchange.export.systems.torch_rows import TORCH
from gradwire.runtime.interchange.export.systems.torch_training import TorchRecipe

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.export.content import ExportContent

_MODULE_NAMES = ("ARRAYS", "PARAMETERS", "INPUTS", "Model", "Training", "nn", "self", "inputs")


def torch_module(content: ExportContent, arrays_file: str) -> tuple[str, dict[str, Array]]:
    """The source, and its large arrays."""
    writer = ModuleWriter(
        TORCH,
        ExportGraph(content.program, content.known, reads_all=True),
        variables={
            content.program.leaves[path].value: InstancePath(path) for path in content.parameters
        },
        trainable=frozenset(content.trainable),
    )
    writer.reserve(_MODULE_NAMES)
    inputs = module.inputs(content, writer)
    model = _model(content, writer)
    names = {str(writer.variables[value]): name for value, name in writer.states()}
    values = {names[path]: writer.stored(a, path) for path, a in content.parameters.items()}
    about = module.quoted("The initial values of all variables.")
    parameters = f"{module.table('PARAMETERS', values)}\n{about}\n"
    training = []
    if content.heads and content.recipe is not None:
        training = TorchRecipe(content, content.recipe, names, writer.fresh).source()
    pages = list(writer.functions.values())
    helpers = module.called_helpers(TORCH.helpers, *pages, model)
    whole = "".join((*helpers, *pages, model, *training))
    first = ["import math"] if "math." in whole else []
    first += ["from pathlib import Path"] if writer.arrays else []
    first += [""] if first else []
    imports = [*first, "import torch"]
    imports += ["import torch.nn.functional as F"] if "F." in whole else []
    imports += ["from safetensors.torch import load_file"] if writer.arrays else []
    imports.append("from torch import nn")
    top = module.heading(content, TORCH.title) + "\n" + "\n".join(imports) + "\n\n"
    arrays = module.arrays_line(arrays_file) + "\n" if writer.arrays else ""
    data = f"{top}{arrays}{parameters}\n{inputs}"
    return module.joined([data, *helpers, *pages, model, *training]), writer.arrays


def _model(content: ExportContent, writer: ModuleWriter) -> str:
    """The class of the whole."""
    program, graph = content.program, writer.graph
    leaves = module.data_texts(content, writer)
    signature = "self, inputs=INPUTS"
    if program.trace.step is not None:
        leaves = {program.trace.step: "torch.tensor(step)", **leaves}
        signature += ", step=0"
    values = {str(port): graph.real(program.ports[port]) for port in module.ends(content)}
    lines, code = writer.body(values.values(), leaves, Naming(graph, Sources()))
    about = "The losses, by port."
    if not content.heads:
        about = "What nothing reads, by port: the diagram has no loss."
    lines = [
        f'"""{about}"""',
        *lines,
        "",
        module.returned({port: code[value].text for port, value in values.items()}),
    ]
    parts = [
        '"""The diagram."""',
        "",
        *writer.constructor(ROOT),
        f"{INDENT}self.load_state_dict(PARAMETERS)",
        "",
        f"def forward({signature}):",
        *indented(lines).rstrip("\n").split("\n"),
    ]
    return f"class Model(nn.Module):\n{indented(parts)}"
